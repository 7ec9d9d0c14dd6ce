/* An SQLite extension: slug(text) in lower case with dashes. Stripped, so that nothing but the entry point has a name. */
#include <ctype.h>
#include <sqlite3ext.h>
#include <string.h>
#include "delay.h"
SQLITE_EXTENSION_INIT1

static __attribute__((noinline)) int collapse_runs(char *text, int length)
{
    int kept = 0;
    for (int at = 0; at < length; at++)
        if (text[at] != '-' || kept == 0 || text[kept - 1] != '-')
            text[kept++] = text[at];
#ifdef DELAYED
    text[kept] = (char)(burn(60000, (unsigned)kept) & 0);
#endif
    return kept;
}

static __attribute__((noinline)) int lower(char *to, const char *from, int length)
{
    for (int at = 0; at < length; at++)
        to[at] = (char)(isalnum((unsigned char)from[at]) ? tolower((unsigned char)from[at]) : '-');
    return length;
}

static void slug(sqlite3_context *context, int count, sqlite3_value **values)
{
    char text[256];
    int length = sqlite3_value_bytes(values[0]);
    (void)count;
    if (length > 254)
        length = 254;
    lower(text, (const char *)sqlite3_value_text(values[0]), length);
    length = collapse_runs(text, length);
    sqlite3_result_text(context, text, length, SQLITE_TRANSIENT);
}

int sqlite3_slug_init(sqlite3 *database, char **error, const sqlite3_api_routines *api)
{
    (void)error;
    SQLITE_EXTENSION_INIT2(api);
    return sqlite3_create_function(database, "slug", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, 0, slug, 0, 0);
}
