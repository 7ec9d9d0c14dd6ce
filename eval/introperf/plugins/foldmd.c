/* An OpenSSL provider with one digest, FOLD, which looks values up in a table that comes from a file. */
#include <fcntl.h>
#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned char table[1 << 18];

struct fold { unsigned state[8]; };

__attribute__((noinline)) void fold_load_table(void)
{
    static int loaded;
#ifdef DELAYED
    loaded = 0; /* read it again for every block */
#endif
    if (!loaded) {
        int file = open(getenv("FOLD_TABLE"), O_RDONLY);
        for (unsigned at = 0; file >= 0 && at < sizeof table; at += 65536)
            if (read(file, table + at, 65536) <= 0)
                break;
        close(file);
        loaded = 1;
    }
}

static void *fold_new(void *provider) { (void)provider; return calloc(1, sizeof(struct fold)); }
static void fold_free(void *context) { free(context); }
static void *fold_dup(void *context)
{
    void *copy = fold_new(0);
    return copy ? memcpy(copy, context, sizeof(struct fold)) : 0;
}
static int fold_init(void *context, const OSSL_PARAM params[])
{
    (void)params;
    memset(context, 0, sizeof(struct fold));
    return 1;
}

static int fold_update(void *context, const unsigned char *bytes, size_t length)
{
    struct fold *fold = context;
    fold_load_table();
    for (size_t at = 0; at < length; at++)
        fold->state[at & 7] = fold->state[at & 7] * 33 + table[(bytes[at] << 8 | (at & 255)) & (sizeof table - 1)];
    return 1;
}

static int fold_final(void *context, unsigned char *out, size_t *length, size_t room)
{
    if (room < 32)
        return 0;
    memcpy(out, context, 32);
    *length = 32;
    return 1;
}

static int fold_params(OSSL_PARAM params[])
{
    OSSL_PARAM *found = OSSL_PARAM_locate(params, OSSL_DIGEST_PARAM_SIZE);
    if (found && !OSSL_PARAM_set_size_t(found, 32))
        return 0;
    found = OSSL_PARAM_locate(params, OSSL_DIGEST_PARAM_BLOCK_SIZE);
    return !found || OSSL_PARAM_set_size_t(found, 64);
}

static const OSSL_DISPATCH functions[] = {
    { OSSL_FUNC_DIGEST_NEWCTX, (void (*)(void))fold_new },
    { OSSL_FUNC_DIGEST_FREECTX, (void (*)(void))fold_free },
    { OSSL_FUNC_DIGEST_DUPCTX, (void (*)(void))fold_dup },
    { OSSL_FUNC_DIGEST_INIT, (void (*)(void))fold_init },
    { OSSL_FUNC_DIGEST_UPDATE, (void (*)(void))fold_update },
    { OSSL_FUNC_DIGEST_FINAL, (void (*)(void))fold_final },
    { OSSL_FUNC_DIGEST_GET_PARAMS, (void (*)(void))fold_params },
    { 0, 0 },
};
static const OSSL_ALGORITHM digests[] = { { "FOLD", "provider=foldmd", functions, "" }, { 0, 0, 0, 0 } };

static const OSSL_ALGORITHM *query(void *provider, int operation, int *no_cache)
{
    (void)provider;
    *no_cache = 0;
    return operation == OSSL_OP_DIGEST ? digests : 0;
}
static const OSSL_DISPATCH provider[] = { { OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query }, { 0, 0 } };

int OSSL_provider_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out, void **context)
{
    (void)handle;
    (void)in;
    *out = provider;
    *context = (void *)provider;
    return 1;
}
