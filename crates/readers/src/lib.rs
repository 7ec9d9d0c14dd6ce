//! Every input format, one module each: bytes in, a [`Profile`] out.
//!
//! Formats are recognised by their bytes, never by a file's name. A damaged record costs that record and is counted in
//! the profile's warnings; a profile that cannot be trusted is a [`ReadError`].

mod art_trace;
mod bpftrace;
mod bpftrace_events;
mod byte_memo;
mod caliper;
#[allow(dead_code, reason = "readers of call graphs use one part or the other")]
mod call_graph;
mod callgrind;
mod cpuprofile;
mod csv;
mod dhat;
mod dtrace;
mod error;
mod firefox;
mod folded;
mod format;
mod ftrace;
mod ghc;
mod gprof;
mod heapprofile;
mod hpctoolkit;
mod hprof_text;
mod input;
mod instruments;
mod java;
mod jfr;
#[allow(dead_code, unused_imports, reason = "readers of JSON formats use one part or the other")]
mod json;
mod macos_sample;
mod module_frame;
pub mod native;
mod nettrace;
mod os_trace;
mod otlp;
mod outline;
pub mod perf_data;
mod perf_script;
mod perf_trace;
pub mod perfblame_file;
mod perfview;
mod pmcstat;
mod pprof;
mod pprof_legacy;
mod protobuf;
mod pstats;
mod pyinstrument;
mod read_ahead;
mod safari;
mod sample_type;
mod scripts;
mod simpleperf;
mod speedscope;
mod stackprof;
mod strace;
mod symbolize;
mod tau;
mod text;
mod timemory;
mod trace_event;
mod unreadable;
mod v8_log;
mod vsprof;
mod vtune;
mod xctrace;
mod xml;
mod xperf;
mod zip;

use perfblame_cct::{EventSink, Profile};

pub use error::{ReadError, ReadErrorKind};
pub use format::{FORMATS, Format, ReadOptions, detect};
pub use input::{Input, ReadSeek, Tally};
pub use os_trace::{Read as TraceRead, how_to_record_stacks};
pub use scripts::{ScriptNames, ScriptOptions, source_map_never_panics};
pub use symbolize::{Symbolized, symbolize};

/// Reads whatever an input holds.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    read_as(input, |format, input| (format.read)(input, options))
}

/// Reads whatever an input holds, and hands the events to `sink` if it is a trace of the operating system: stacks at
/// system calls and context switches. The trace goes by without being kept.
pub fn read_trace(
    input: Input,
    options: &ReadOptions,
    sink: &mut dyn EventSink,
) -> Result<TraceRead, ReadError> {
    let mut placement = None;
    let profile = read_as(input, |format, input| {
        let found = match format.name {
            name if name == perf_script::FORMAT.name => {
                perf_script::read_trace(input, options, sink)?
            }
            name if name == perf_data::FORMAT.name => perf_data::read_trace(input, options, sink)?,
            name if name == strace::FORMAT.name => strace::read_trace(input, options, sink)?,
            name if name == ftrace::FORMAT.name => ftrace::read_trace(input, options, sink)?,
            name if name == perf_trace::FORMAT.name => {
                perf_trace::read_trace(input, options, sink)?
            }
            name if name == bpftrace_events::FORMAT.name => {
                bpftrace_events::read_trace(input, options, sink)?
            }
            _ => TraceRead::Profile(Box::new((format.read)(input, options)?)),
        };
        match found {
            TraceRead::Trace(profile, place) => {
                placement = Some(place);
                Ok(*profile)
            }
            TraceRead::Profile(profile) => Ok(*profile),
        }
    })?;
    Ok(match placement {
        Some(placement) => TraceRead::Trace(Box::new(profile), placement),
        None => TraceRead::Profile(Box::new(profile)),
    })
}

fn read_as(
    input: Input,
    read: impl FnOnce(&'static Format, Input) -> Result<Profile, ReadError>,
) -> Result<Profile, ReadError> {
    if input.head().is_empty() {
        return Err(ReadError::new(ReadErrorKind::Empty));
    }
    let Some(format) = detect(&input) else {
        if let Some(error) = unreadable::explained(input.head()) {
            return Err(error);
        }
        let help = "`perfblame show --help` lists the formats";
        return Err(ReadError::new(ReadErrorKind::UnknownFormat).help(help));
    };
    let mut profile = read(format, input).map_err(|error| {
        let help = match &error.kind {
            // Recognised by its first bytes, and then no more could be had.
            ReadErrorKind::Io(_) => {
                Some("the file looks cut off or damaged; get a whole copy of it")
            }
            _ => None,
        };
        let help = error.help.or_else(|| help.map(str::to_owned));
        ReadError { format: Some(format.name), help, ..error }
    })?;
    // A stored profile knows what it was read from first.
    if profile.info.format.is_empty() {
        format.name.clone_into(&mut profile.info.format);
    }
    Ok(profile)
}
