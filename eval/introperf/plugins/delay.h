/* What is injected. Each plug-in is built twice: as it should be, and with DELAYED, which makes one function slow. */
#ifndef DELAY_H
#define DELAY_H
#include <time.h>

/* A bounded loop that no compiler folds. */
static inline __attribute__((always_inline)) unsigned burn(unsigned rounds, unsigned seed)
{
    volatile unsigned mixed = seed;
    for (unsigned round = 0; round < rounds; round++)
        mixed = mixed * 1664525u + 1013904223u;
    return mixed;
}

static inline __attribute__((always_inline)) void pause_for(long nanoseconds)
{
    struct timespec wait = { 0, nanoseconds };
    nanosleep(&wait, 0);
}
#endif
