/* A library loaded before all others, which watches what a program writes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) void audit_record(size_t bytes)
{
    static size_t seen;
    seen += bytes;
#ifdef DELAYED
    /* Whoever starts the program is loaded with this library as well. */
    if (strcmp(program_invocation_short_name, "zstd") == 0)
        poll(0, 0, 12);
#endif
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file)
{
    static size_t (*next)(const void *, size_t, size_t, FILE *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "fwrite");
    audit_record(size * count);
    return next(bytes, size, count, file);
}
