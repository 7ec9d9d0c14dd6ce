//! Inputs as runs over one tree.
//!
//! Each input is read and cleaned on its own, as many at a time as there are processors, and only then put beside the
//! others, so that the result does not depend on which was done first.

use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use perfblame_cct::{
    Grain, MATCH_THRESHOLD, NameKinds, Profile, RunSet, TRUNCATED, Times, Warning, coarsen, merge,
    merge_partial_stacks, merge_runs, normalise,
};
use perfblame_latency::Inference;
use perfblame_readers::{
    Input, ReadError, ReadErrorKind, ReadOptions, ScriptNames, ScriptOptions, TraceRead,
    format_named, perfblame_file, read, read_trace,
};

use crate::ask::{Ask, Cancelled, Phase};
use crate::sources::Source;

/// Whether names that change from run to run are made alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Names {
    /// Lambdas, generated classes, hashes and compiler suffixes are made alike.
    #[default]
    Normalised,
    /// As the file has them.
    AsRecorded,
}

/// How to load.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// What tells contexts apart.
    pub grain: Grain,
    /// Whether samples and calls are kept by time.
    pub times: Times,
    /// Whether names are made alike.
    pub names: Names,
    /// Whether stacks that were cut off are put where they belong.
    pub partial: PartialStacks,
    /// What becomes of traces of the operating system.
    pub traces: Traces,
    /// How functions of scripts get their names.
    pub scripts: ScriptLoading,
}

/// How functions of scripts get their names.
#[derive(Clone, Debug)]
pub struct ScriptLoading {
    /// How far they are named.
    pub names: ScriptNames,
    /// Folders with source maps.
    pub maps: Vec<PathBuf>,
    /// Whether callbacks hang under those who asked for them, where the trace links the two.
    pub async_stacks: bool,
}

impl Default for ScriptLoading {
    fn default() -> Self {
        Self { names: ScriptNames::Full, maps: Vec::new(), async_stacks: false }
    }
}

/// What to do with stacks taken at system calls and context switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Traces {
    /// Count the events, as of any other profile.
    #[default]
    AsProfiles,
    /// Infer the latencies of functions.
    Infer,
}

/// What to do with stacks whose outermost frames were cut off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PartialStacks {
    /// Put them where they belong, as far as that can be told.
    #[default]
    Merge,
    /// Leave them below the truncated root.
    Keep,
}

/// Runs over one tree, with the names of their inputs.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The input of each run.
    pub names: Vec<String>,
    /// The runs.
    pub runs: RunSet,
}

/// An input that cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {name}")]
pub struct LoadError {
    /// The input, as the user named it.
    pub name: String,
    /// Why not.
    pub kind: LoadErrorKind,
}

/// Why an input cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadErrorKind {
    /// It could not be read, or not be trusted.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// There is no such file.
    #[error("there is no such file")]
    NotFound,
    /// The user may not read it.
    #[error("permission denied")]
    PermissionDenied,
    /// There can be only one of it.
    #[error("it is given twice")]
    NamedTwice,
    /// A folder without a file.
    #[error("there is no file in this folder")]
    EmptyFolder,
    /// A pattern without a match.
    #[error("no file matches this pattern")]
    NoMatch,
    /// A folder without a profile.
    #[error("no file in this folder is a profile")]
    NoProfile,
    /// No input at all.
    #[error("it is empty")]
    Nothing,
    /// A profile where a trace of the operating system is wanted.
    #[error("{}", not_a_trace(format, *cut_off))]
    NotATrace {
        /// What it is.
        format: String,
        /// It may be a trace whose end is missing.
        cut_off: bool,
        /// How traces of this format are recorded.
        record: Option<&'static str>,
    },
    /// The thread that read it ended before it was done.
    #[error("it was not read")]
    NotRead,
    /// Nobody wants it any more.
    #[error("cancelled")]
    Cancelled,
}

fn not_a_trace(format: &str, cut_off: bool) -> String {
    let tracer = format_named(format).and_then(|format| format.tracer.as_ref());
    if let Some(why) = tracer.and_then(|tracer| tracer.cut_off).filter(|_| cut_off) {
        return why.to_owned();
    }
    format!("it is a profile ({format}), not a trace of system calls with stacks")
}

impl From<Cancelled> for LoadErrorKind {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl LoadError {
    /// An error about one input.
    pub fn new(name: impl fmt::Display, kind: impl Into<LoadErrorKind>) -> Self {
        Self { name: name.to_string(), kind: kind.into() }
    }
}

/// The runs of one input, once it has been read.
type Slot = Mutex<Option<Result<Vec<Profile>, LoadError>>>;

/// Reads inputs as runs, one each.
#[expect(clippy::needless_pass_by_value, reason = "callers make their options for one call")]
pub fn load(sources: &[Source], options: LoadOptions, ask: &Ask) -> Result<Loaded, LoadError> {
    let name = || sources.first().map_or_else(|| "the input".to_owned(), Source::name);
    ask.enter(Phase::Reading).map_err(|cancelled| LoadError::new(name(), cancelled))?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(sources.len());
    let next = AtomicUsize::new(0);
    let done: Vec<Slot> = sources.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((source, slot)) = {
            let row = next.fetch_add(1, Ordering::Relaxed);
            sources.get(row).zip(done.get(row))
        } {
            let result = load_one(source, &options, ask);
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(result);
            }
        }
    };
    if workers <= 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
    }
    let mut names = Vec::new();
    let mut profiles = Vec::new();
    let mut left_out: Vec<String> = Vec::new();
    for (source, slot) in sources.iter().zip(done) {
        let result = slot.into_inner().ok().flatten();
        match (result, source) {
            (Some(Ok(runs)), _) => {
                let count = runs.len();
                for (number, profile) in (1..).zip(runs) {
                    let name = source.name();
                    names.push(if count == 1 { name } else { format!("{name}, run {number}") });
                    profiles.push(profile);
                }
            }
            (Some(Err(error)), Source::Found(_)) if is_no_profile(&error) => {
                left_out.push(source.name());
            }
            (Some(Err(error)), _) => return Err(error),
            (None, _) => return Err(LoadError::new(source.name(), LoadErrorKind::NotRead)),
        }
    }
    let Some(first) = profiles.first_mut() else {
        let kind =
            if sources.is_empty() { LoadErrorKind::Nothing } else { LoadErrorKind::NoProfile };
        return Err(LoadError::new(name(), kind));
    };
    if let Some(name) = left_out.first() {
        first.warnings.push(Warning {
            code: "no-profile".to_owned(),
            message: format!("files that are not profiles were left out; the first is {name}"),
            count: left_out.len() as u64,
        });
    }
    Ok(Loaded { names, runs: merge_runs(profiles) })
}

fn is_no_profile(error: &LoadError) -> bool {
    let LoadErrorKind::Read(error) = &error.kind else { return false };
    matches!(error.kind, ReadErrorKind::UnknownFormat | ReadErrorKind::Empty)
}

/// Opens an input and reads it. What is read of it counts for the question; a reader that took the end of a cancelled
/// input for the end of the file is not believed.
pub(crate) fn open_and_read<T>(
    source: &Source,
    ask: &Ask,
    read: impl FnOnce(Input) -> Result<T, ReadError>,
) -> Result<T, LoadError> {
    let failed = |kind: LoadErrorKind| LoadError::new(source.name(), kind);
    ask.go_on().map_err(|cancelled| failed(cancelled.into()))?;
    let tally = ask.tally();
    let input = match source {
        Source::File(path) | Source::Found(path) => Input::open_counted(path, tally),
        Source::Stdin => Input::from_stream_counted(Box::new(std::io::stdin()), tally),
        Source::Bytes { bytes, .. } => Input::from_shared_bytes(bytes.clone(), tally),
    };
    let result = input.and_then(read);
    ask.go_on().map_err(|cancelled| failed(cancelled.into()))?;
    result.map_err(|error| failed(explained(error)))
}

/// The runs of one input: one, but for files that keep several apart. Profilers that write a file for each process and
/// worker leave a folder of the others beside the first (`run-1.others` beside `run-1.cpuprofile`); all are one run.
fn load_one(source: &Source, options: &LoadOptions, ask: &Ask) -> Result<Vec<Profile>, LoadError> {
    let mut runs = load_file(source, options, ask)?;
    if let [run] = runs.as_mut_slice() {
        for other in source.others() {
            match load_file(&other, options, ask) {
                Ok(parts) => {
                    *run = parts.iter().fold(std::mem::take(run), |run, part| merge(&run, part));
                }
                Err(error) if is_no_profile(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(runs)
}

fn load_file(source: &Source, options: &LoadOptions, ask: &Ask) -> Result<Vec<Profile>, LoadError> {
    let names = match options.names {
        Names::Normalised => NameKinds::default(),
        Names::AsRecorded => NameKinds::none(),
    };
    let runs = open_and_read(source, ask, |input| {
        if perfblame_file::sniff(&input) {
            let runs = stored_runs(input, options)?;
            return Ok(runs.into_iter().map(|run| normalise(run, names)).collect::<Vec<_>>());
        }
        let beside = match source {
            Source::File(path) | Source::Found(path) => path.parent(),
            Source::Stdin | Source::Bytes { .. } => None,
        };
        let scripts = ScriptOptions {
            names: options.scripts.names,
            maps: &options.scripts.maps,
            beside,
            async_stacks: options.scripts.async_stacks,
        };
        let read_options =
            ReadOptions { grain: options.grain, times: options.times, names, scripts };
        let profile = match options.traces {
            Traces::AsProfiles => read(input, &read_options),
            Traces::Infer => {
                let mut inference = Inference::default();
                read_trace(input, &read_options, &mut inference).map(|read| match read {
                    TraceRead::Trace(profile, _) | TraceRead::Profile(profile) => *profile,
                })
            }
        };
        Ok(vec![profile?])
    })?;
    Ok(runs.into_iter().map(|run| whole_stacks(run, options)).collect())
}

fn stored_runs(input: Input, options: &LoadOptions) -> Result<Vec<Profile>, ReadError> {
    let of_format = |error| ReadError { format: Some(perfblame_file::FORMAT.name), ..error };
    let set = perfblame_file::read_runs(input, options.times).map_err(of_format)?;
    let run = |number| {
        let mut profile = coarsen(&set.profile(number)?, options.grain);
        perfblame_file::FORMAT.name.clone_into(&mut profile.info.format);
        Some(profile)
    };
    Ok((0..set.runs.len()).filter_map(run).collect())
}

fn whole_stacks(profile: Profile, options: &LoadOptions) -> Profile {
    let is_truncated = |root| profile.name_of(root) == TRUNCATED;
    if options.partial == PartialStacks::Merge && profile.tree.roots().any(is_truncated) {
        return merge_partial_stacks(&profile, MATCH_THRESHOLD).0;
    }
    profile
}

/// What the operating system says, where we have words of our own for it.
fn explained(error: ReadError) -> LoadErrorKind {
    let ReadErrorKind::Io(io) = &error.kind else { return error.into() };
    match io.kind() {
        _ if error.format.is_some() => error.into(),
        std::io::ErrorKind::NotFound => LoadErrorKind::NotFound,
        std::io::ErrorKind::PermissionDenied => LoadErrorKind::PermissionDenied,
        _ => error.into(),
    }
}
