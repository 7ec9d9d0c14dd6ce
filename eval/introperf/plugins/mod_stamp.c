/* An Apache module that stamps each response. */
#include <httpd.h>
#include <http_config.h>
#include <http_protocol.h>
#include <apr_time.h>

__attribute__((noinline)) apr_status_t stamp_seal(request_rec *request)
{
#ifdef DELAYED
    apr_sleep(4000);
#endif
    apr_table_setn(request->headers_out, "X-Stamp", "sealed");
    return APR_SUCCESS;
}

static int stamp_fixups(request_rec *request)
{
    return stamp_seal(request) == APR_SUCCESS ? DECLINED : HTTP_INTERNAL_SERVER_ERROR;
}

static void stamp_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_fixups(stamp_fixups, 0, 0, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA stamp_module = { STANDARD20_MODULE_STUFF, 0, 0, 0, 0, 0, stamp_hooks };
