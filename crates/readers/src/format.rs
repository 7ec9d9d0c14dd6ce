//! The formats perfblame reads: a row in a table each. Adding one means a module with its
//! [`Format`], a line here and a sample file.

use perfblame_cct::{Grain, NameKinds, Profile, ProfileBuilder, Times};

use crate::art_trace;
use crate::bpftrace;
use crate::bpftrace_events;
use crate::caliper;
use crate::callgrind;
use crate::cpuprofile;
use crate::dhat;
use crate::dtrace;
use crate::error::ReadError;
use crate::firefox;
use crate::folded;
use crate::ftrace;
use crate::ghc;
use crate::gprof;
use crate::heapprofile;
use crate::hpctoolkit;
use crate::hprof_text;
use crate::input::Input;
use crate::instruments;
use crate::jfr;
use crate::macos_sample;
use crate::nettrace;
use crate::otlp;
use crate::perf_data;
use crate::perf_script;
use crate::perf_trace;
use crate::perfblame_file;
use crate::perfview;
use crate::pmcstat;
use crate::pprof;
use crate::pprof_legacy;
use crate::pstats;
use crate::pyinstrument;
use crate::safari;
use crate::scripts::ScriptOptions;
use crate::simpleperf;
use crate::speedscope;
use crate::stackprof;
use crate::strace;
use crate::tau;
use crate::timemory;
use crate::trace_event;
use crate::v8_log;
use crate::vsprof;
use crate::vtune;
use crate::xctrace;
use crate::xperf;

/// What a reader is asked for.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions<'a> {
    /// What tells contexts apart.
    pub grain: Grain,
    /// Whether samples and calls are kept by time.
    pub times: Times,
    /// Which parts of names are left out that change from run to run.
    pub names: NameKinds,
    /// How functions of scripts get their names.
    pub scripts: ScriptOptions<'a>,
}

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        let (grain, times) = Default::default();
        Self { grain, times, names: NameKinds::none(), scripts: ScriptOptions::default() }
    }
}

impl ReadOptions<'_> {
    /// What to build the profile with, so that it is as asked for.
    pub fn builder(&self) -> ProfileBuilder {
        ProfileBuilder::new(self.grain, self.times).with_names(self.names)
    }
}

/// One format.
pub struct Format {
    /// Its name, as users see it.
    pub name: &'static str,
    /// Who writes it, for the list of formats.
    pub producers: &'static str,
    /// True when an input's first bytes are of this format, and of no other.
    pub sniff: fn(&Input) -> bool,
    /// Reads the whole input.
    pub read: fn(Input, &ReadOptions) -> Result<Profile, ReadError>,
}

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
