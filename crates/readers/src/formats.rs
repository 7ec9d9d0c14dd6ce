//! The formats perfblame reads: a module and a row in the table each. Adding one means a module with its
//! [`Format`], a line in the table and a sample file.

mod art_trace;
mod bpftrace;
mod bpftrace_events;
mod caliper;
mod callgrind;
mod cpuprofile;
mod dhat;
mod dtrace;
mod firefox;
mod folded;
mod ftrace;
mod ghc;
mod gprof;
mod heapprofile;
mod hpctoolkit;
mod hprof_text;
mod instruments;
mod jfr;
mod macos_sample;
mod nettrace;
mod otlp;
pub mod perf_data;
mod perf_script;
mod perf_trace;
pub mod perfblame_file;
mod perfview;
mod pmcstat;
mod pprof;
mod pprof_legacy;
mod pstats;
mod pyinstrument;
mod safari;
mod simpleperf;
mod speedscope;
mod stackprof;
mod strace;
mod tau;
mod timemory;
mod trace_event;
mod v8_log;
mod vsprof;
mod vtune;
mod xctrace;
mod xperf;

use crate::format::Format;
use crate::input::Input;

/// Every format, those with the surest signature first.
pub const FORMATS: &[Format] = &[
    perfblame_file::FORMAT,
    jfr::FORMAT,
    perf_data::FORMAT,
    callgrind::FORMAT,
    otlp::FORMAT,
    pprof::FORMAT,
    pprof_legacy::FORMAT,
    speedscope::FORMAT,
    firefox::FORMAT,
    cpuprofile::FORMAT,
    heapprofile::FORMAT,
    safari::FORMAT,
    trace_event::CHROME,
    trace_event::FORMAT,
    v8_log::PREPROCESSED,
    v8_log::FORMAT,
    nettrace::FORMAT,
    simpleperf::FORMAT,
    art_trace::FORMAT,
    pstats::FORMAT,
    perfview::FORMAT,
    stackprof::FORMAT,
    dhat::FORMAT,
    pyinstrument::FORMAT,
    hpctoolkit::FORMAT,
    timemory::FORMAT,
    caliper::FORMAT,
    macos_sample::FORMAT,
    xctrace::FORMAT,
    instruments::FORMAT,
    ghc::FORMAT,
    gprof::FORMAT,
    hprof_text::FORMAT,
    tau::FORMAT,
    vtune::FORMAT,
    vsprof::FORMAT,
    xperf::FORMAT,
    pmcstat::FORMAT,
    strace::FORMAT,
    perf_trace::FORMAT,
    ftrace::FORMAT,
    bpftrace_events::FORMAT,
    bpftrace::FORMAT,
    dtrace::FORMAT,
    perf_script::FORMAT,
    folded::FORMAT,
];

/// The format that claims an input.
pub fn detect(input: &Input) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.sniff)(input))
}

/// The format of a name, as [`perfblame_cct::Info::format`] states it.
pub fn format_named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
