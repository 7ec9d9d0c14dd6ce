//! Every input format, one module each: bytes in, a [`Profile`] out.
//!
//! Formats are recognised by their bytes, never by a file's name. A damaged record costs that record and is counted in
//! the profile's warnings; a profile that cannot be trusted is a [`ReadError`].

mod building;
mod encodings;
mod error;
mod format;
mod formats;
mod input;
mod os_trace;
mod read_ahead;
mod scripts;
mod tally;
mod unreadable;
mod v8;
mod zip;

use perfblame_cct::{EventSink, Profile};

pub use error::{ReadError, ReadErrorKind};
pub use format::{Format, ReadOptions, ReadTrace, TraceRead, Tracer};
pub use formats::{FORMATS, detect, format_named, perf_data, perfblame_file};
pub use input::{Input, ReadSeek};
pub use scripts::{ScriptNames, ScriptOptions, source_map_never_panics};
pub use tally::Tally;

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
        let found = match format.tracer.as_ref().and_then(|tracer| tracer.read) {
            Some(read_trace) => read_trace(input, options, sink)?,
            None => TraceRead::Profile(Box::new((format.read)(input, options)?)),
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
        return Err(ReadError::new(ReadErrorKind::UnknownFormat));
    };
    let mut profile = read(format, input).map_err(|error| {
        let help = match &error.kind {
            // Recognised by its first bytes, and then no more could be had.
            ReadErrorKind::Io(_) => Some("the file looks cut off or damaged; get a complete copy"),
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
