/* A Redis module: GRADE text. Debian ships no header for modules, so the few calls it needs are declared here. */
#include <string.h>
#include "delay.h"

typedef struct RedisModuleCtx Context;
typedef struct RedisModuleString Text;
typedef int (*Command)(Context *, Text **, int);
typedef int (*GetApi)(const char *, void *);

static int (*create_command)(Context *, const char *, Command, const char *, int, int, int);
static int (*set_attributes)(Context *, const char *, int, int);
static const char *(*text_bytes)(const Text *, size_t *);
static int (*reply_number)(Context *, long long);

__attribute__((noinline)) unsigned grade_score(const char *text, size_t length)
{
    unsigned score = 7;
    for (size_t at = 0; at < length; at++)
        score = score * 31 + (unsigned char)text[at];
#ifdef DELAYED
    score ^= burn(400000, score) & 1;
#endif
    return score;
}

static int grade(Context *context, Text **arguments, int count)
{
    size_t length = 0;
    const char *text = count > 1 ? text_bytes(arguments[1], &length) : "";
    return reply_number(context, grade_score(text, length));
}

int RedisModule_OnLoad(Context *context, Text **arguments, int count)
{
    GetApi get_api;
    (void)arguments;
    (void)count;
    /* A context starts with the function that hands out all others. */
    memcpy(&get_api, context, sizeof get_api);
    get_api("RedisModule_CreateCommand", &create_command);
    get_api("RedisModule_SetModuleAttribs", &set_attributes);
    get_api("RedisModule_StringPtrLen", &text_bytes);
    get_api("RedisModule_ReplyWithLongLong", &reply_number);
    set_attributes(context, "grade", 1, 1);
    return create_command(context, "grade", grade, "readonly", 0, 0, 0);
}
