/* A Perl extension, Meter::read, as xsubpp would write it. */
#include <EXTERN.h>
#include <perl.h>
#include <XSUB.h>
#include "delay.h"

__attribute__((noinline)) int meter_settle(int value)
{
#ifdef DELAYED
    pause_for(1500000);
#endif
    return value * 3 + 1;
}

XS(XS_Meter_read)
{
    dXSARGS;
    int value = items > 0 ? (int)SvIV(ST(0)) : 0;
    ST(0) = sv_2mortal(newSViv(meter_settle(value)));
    XSRETURN(1);
}

XS_EXTERNAL(boot_Meter)
{
    dXSARGS;
    PERL_UNUSED_VAR(items);
    newXS("Meter::read", XS_Meter_read, __FILE__);
    XSRETURN_YES;
}
