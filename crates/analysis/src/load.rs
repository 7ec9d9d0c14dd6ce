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
    Input, ReadError, ReadErrorKind, ReadOptions, ScriptNames, ScriptOptions, Tally, TraceRead,
    perfblame_file, read, read_trace,
};

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
    /// There is nothing to read.
    #[error("{0}")]
    NoInput(String),
}

impl LoadError {
    /// An error about one input.
    pub fn new(name: impl fmt::Display, kind: impl Into<LoadErrorKind>) -> Self {
        Self { name: name.to_string(), kind: kind.into() }
    }

    /// What to do next, where we know.
    pub fn help(&self) -> Option<&str> {
        match &self.kind {
            LoadErrorKind::Read(error) => error.help.as_deref(),
            LoadErrorKind::NoInput(_) => None,
        }
    }
}

/// The runs of one input, once it has been read.
type Slot = Mutex<Option<Result<Vec<Profile>, LoadError>>>;

/// Reads inputs as runs, one each. `tally` counts the bytes read, for whoever shows progress.
#[expect(clippy::needless_pass_by_value, reason = "callers make their options for one call")]
pub fn load(sources: &[Source], options: LoadOptions, tally: &Tally) -> Result<Loaded, LoadError> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(sources.len());
    let next = AtomicUsize::new(0);
    let done: Vec<Slot> = sources.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((source, slot)) = {
            let row = next.fetch_add(1, Ordering::Relaxed);
            sources.get(row).zip(done.get(row))
        } {
            let result = load_one(source, &options, tally);
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
            (None, _) => {
                let kind = LoadErrorKind::NoInput("it was not read".to_owned());
                return Err(LoadError::new(source.name(), kind));
            }
        }
    }
    let Some(first) = profiles.first_mut() else {
        let name = left_out.first().map_or("the input", String::as_str);
        let kind = LoadErrorKind::NoInput("no file in this folder is a profile".to_owned());
        return Err(LoadError::new(name, kind));
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

/// Opens an input.
pub(crate) fn open(source: &Source, tally: Tally) -> Result<Input, LoadError> {
    let input = match source {
        Source::File(path) | Source::Found(path) => Input::open_counted(path, tally),
        Source::Stdin => Input::from_stream_counted(Box::new(std::io::stdin()), tally),
    };
    input.map_err(|error| LoadError::new(source.name(), explained(error)))
}

/// The runs of one input: one, but for files that keep several apart. Profilers that write a file for each process and
/// worker leave a folder of the others beside the first (`run-1.others` beside `run-1.cpuprofile`); all are one run.
fn load_one(
    source: &Source,
    options: &LoadOptions,
    tally: &Tally,
) -> Result<Vec<Profile>, LoadError> {
    let mut runs = load_file(source, options, tally.clone())?;
    if let [run] = runs.as_mut_slice() {
        for other in source.others() {
            match load_file(&other, options, tally.clone()) {
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

fn load_file(
    source: &Source,
    options: &LoadOptions,
    tally: Tally,
) -> Result<Vec<Profile>, LoadError> {
    let failed = |error: ReadError| LoadError::new(source.name(), explained(error));
    let input = open(source, tally)?;
    let names = match options.names {
        Names::Normalised => NameKinds::default(),
        Names::AsRecorded => NameKinds::none(),
    };
    let runs = if perfblame_file::sniff(&input) {
        let runs = stored_runs(input, options).map_err(failed)?;
        runs.into_iter().map(|run| normalise(run, names)).collect()
    } else {
        let beside = match source {
            Source::File(path) | Source::Found(path) => path.parent(),
            Source::Stdin => None,
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
        vec![profile.map_err(failed)?]
    };
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

/// The operating system's words without their number, and a next step where it has none.
pub(crate) fn explained(error: ReadError) -> ReadError {
    let ReadErrorKind::Io(io) = &error.kind else { return error };
    match io.kind() {
        std::io::ErrorKind::NotFound => ReadError {
            kind: ReadErrorKind::Unsupported("there is no such file".to_owned()),
            ..error
        },
        std::io::ErrorKind::PermissionDenied => {
            ReadError { kind: ReadErrorKind::Unsupported("permission denied".to_owned()), ..error }
        }
        _ => error,
    }
}
