//! The formats perfblame reads: a row in a table each. Adding one means a module, a line here and a sample file.

use perfblame_cct::{Grain, Profile, Times};

use crate::error::ReadError;
use crate::folded;
use crate::input::Input;
use crate::perf_data;

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
    Format {
        name: "perf.data",
        producers: "Linux perf record",
        sniff: perf_data::sniff,
        read: perf_data::read,
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
