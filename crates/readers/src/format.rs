//! What a format is to the rest of perfblame: a row in the table of `formats.rs`.

use perfblame_cct::{EventSink, Grain, NameKinds, Placement, Profile, ProfileBuilder, Times};

use crate::error::ReadError;
use crate::input::Input;
use crate::scripts::ScriptOptions;

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
    /// For what tracers of an operating system write; none for other formats.
    pub tracer: Option<Tracer>,
}

/// What else is to be known of a format that a tracer of an operating system writes.
pub struct Tracer {
    /// Hands the events to a sink; none where the format keeps no events apart.
    pub read: Option<ReadTrace>,
    /// Why a file that was cut off is no trace, where its end says what its events are.
    pub cut_off: Option<&'static str>,
    /// How to record stacks with the tool.
    pub how_to_record_stacks: &'static str,
}

/// Reads an input and hands its events to a sink, if it has such events.
pub type ReadTrace = fn(Input, &ReadOptions, &mut dyn EventSink) -> Result<TraceRead, ReadError>;

/// What was read: a trace that has been handed to the sink, or a profile like any other.
#[derive(Debug)]
pub enum TraceRead {
    /// The sink has seen the events, and filled the profile.
    Trace(Box<Profile>, Placement),
    /// There were no such events; the sink was not asked.
    Profile(Box<Profile>),
}
