//! The formats perfblame reads: a row in a table each. Adding one means a module with its
//! [`Format`], a line here and a sample file.

use perfblame_cct::{Grain, Profile, Times};

use crate::callgrind;
use crate::cpuprofile;
use crate::error::ReadError;
use crate::firefox;
use crate::folded;
use crate::input::Input;
use crate::jfr;
use crate::otlp;
use crate::perf_data;
use crate::perf_script;
use crate::perfblame_file;
use crate::pprof;
use crate::speedscope;
use crate::trace_event;
use crate::{cpuprofile, heapprofile, safari, trace_event};

/// What a reader is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// What tells contexts apart.
    pub grain: Grain,
    /// Whether samples and calls are kept by time.
    pub times: Times,
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
    speedscope::FORMAT,
    firefox::FORMAT,
    cpuprofile::FORMAT,
    trace_event::CHROME,
    trace_event::FORMAT,
    perf_script::FORMAT,
    folded::FORMAT,
    Format {
        name: "chrome trace",
        producers: "Chrome and DevTools (Performance panel, chrome://tracing), Puppeteer, Lighthouse",
        sniff: trace_event::sniff_chrome,
        read: trace_event::read,
    },
    Format {
        name: "trace event",
        producers: "Perfetto (JSON), uftrace, VizTracer, rustc, Bazel, Hermes and others",
        sniff: trace_event::sniff,
        read: trace_event::read,
    },
    Format {
        name: "cpuprofile",
        producers: "V8: DevTools, Node (`--cpu-prof`), the inspector protocol",
        sniff: cpuprofile::sniff,
        read: cpuprofile::read,
    },
    Format {
        name: "heapprofile",
        producers: "V8's sampling heap profiler: DevTools, Node (`--heap-prof`)",
        sniff: heapprofile::sniff,
        read: heapprofile::read,
    },
    Format {
        name: "safari recording",
        producers: "Safari Web Inspector (Timelines)",
        sniff: safari::sniff,
        read: safari::read,
    },
    Format {
        name: "folded",
        producers: "FlameGraph, inferno, py-spy, rbspy, async-profiler, bpftrace, DTrace scripts",
        sniff: folded::sniff,
        read: folded::read,
    },
];

/// The format that claims an input.
pub fn detect(input: &Input) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.sniff)(input))
}
