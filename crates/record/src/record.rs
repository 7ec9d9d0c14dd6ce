//! One run with a profiler: a folder of its own for what is unfinished, the profiler's part, then the final names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use perfblame_disk::Scratch;

use crate::child::{self, Ended, Limits};
use crate::{Profiler, Program, RecordError, RunDelay, Running, Settings};
use crate::{command, java, node, os, perf, python, uftrace};

/// A run and what came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recorded {
    /// Complete profiles, that of the program's own process first, then by size. None without a profiler, and none when the program failed
    /// before there was anything to profile.
    ///
    /// The first is `FOLDER/NAME.EXTENSION`; those of further processes and workers are in `FOLDER/NAME.others`, so
    /// that a folder still holds one file per run.
    pub profiles: Vec<PathBuf>,
    /// How the program ended; profiles of programs that failed are kept, too.
    pub status: ExitStatus,
    /// From the program's start to its end; with perf and uftrace, their own start and end are in it.
    pub wall: Duration,
    /// CPU time of the program and its descendants. With uftrace, its own is in it; what perf itself takes is taken off
    /// as far as it takes as much for a program that does nothing.
    pub cpu: Duration,
    /// Memory of its largest process, in bytes.
    pub peak_memory: u64,
    /// Samples per second that were asked for; nothing for exact profiles.
    pub frequency: Option<u32>,
    /// CPU time of the tracer itself, where that is known.
    pub tracer_cpu: Option<Duration>,
    /// How long threads waited for processors, where that was watched.
    pub delays: Vec<RunDelay>,
    /// What is worth knowing: a fallback that was taken, a limit that was met.
    pub notes: Vec<String>,
}

/// Fewer samples than these tell little about a program.
const ENOUGH_SAMPLES: f64 = 300.0;

/// A higher frequency than the usual one, for a program too short to get enough samples; nothing when the usual one
/// does, or none does better.
pub fn frequency_for(profiler: Profiler, cpu: Duration) -> Option<u32> {
    let usual = profiler.default_frequency()?;
    let most = match profiler {
        Profiler::Perf => 9_999,
        Profiler::NodeCpuProf => 10_000,
        Profiler::PySpy => 1_000,
        // Flight recorders do not keep shorter periods than their usual one.
        Profiler::Jfr | Profiler::Uftrace | Profiler::JavaExact => return None,
        // Waiting is seen whatever the rate, and the first run is not to be thrown away for a tick more.
        Profiler::OsTrace => return None,
    };
    let wanted = (ENOUGH_SAMPLES / cpu.as_secs_f64().max(0.001)).ceil() as u32;
    (wanted > usual).then_some(wanted.min(most))
}

/// Runs a program once under a profiler. The profile is `folder/name.EXTENSION`, complete or not there.
///
/// A program that fails is no error: its status is in the answer, and so is the profile. `cancel` and the program's
/// timeout end all its processes and leave no file. A profile of that name which is there already is never replaced.
pub fn record_run(
    profiler: Profiler,
    program: &Program,
    settings: &Settings,
    folder: &Path,
    name: &str,
    cancel: &AtomicBool,
) -> Result<Recorded, RecordError> {
    make(profiler, program, settings, (folder, name), cancel, |run| match profiler {
        Profiler::Jfr | Profiler::JavaExact => java::record(run),
        Profiler::Perf => perf::record(run),
        Profiler::OsTrace => os::record(run),
        Profiler::PySpy => python::record(run),
        Profiler::NodeCpuProf => node::record(run),
        Profiler::Uftrace => uftrace::record(run),
    })
}

/// Traces a process or a machine that runs already, as [`Profiler::OsTrace`] does. Ends after the duration that is set,
/// or when cancelled, and keeps what there is.
pub fn record_running(
    running: Running,
    settings: &Settings,
    folder: &Path,
    name: &str,
    cancel: &AtomicBool,
) -> Result<Recorded, RecordError> {
    let nothing = Program::new(std::iter::empty::<std::ffi::OsString>());
    let place = (folder, name);
    make(Profiler::OsTrace, &nothing, settings, place, cancel, |run| {
        os::record_running(run, running)
    })
}

/// A folder for what is unfinished, the profiler's part, the final names.
fn make(
    profiler: Profiler,
    program: &Program,
    settings: &Settings,
    (folder, name): (&Path, &str),
    cancel: &AtomicBool,
    record: impl FnOnce(&Run<'_>) -> Result<Made, RecordError>,
) -> Result<Recorded, RecordError> {
    let folder = &std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let target = folder.join(format!("{name}.{}", profiler.extension()));
    let others = folder.join(format!("{name}.others"));
    for path in [&target, &others] {
        if path.symlink_metadata().is_ok() {
            return Err(RecordError::Exists(path.clone()));
        }
    }
    let scratch = scratch(folder, name)?;
    let frequency = settings.frequency.or(profiler.default_frequency());
    let run = Run {
        profiler,
        program,
        settings,
        scratch: scratch.path(),
        frequency: frequency.unwrap_or(1).max(1),
        limits: Limits { timeout: program.timeout, cancel },
    };
    let made = record(&run)?;
    let mut recorded = Recorded { notes: made.notes, ..Recorded::of(made.ended) };
    recorded.tracer_cpu = made.tracer_cpu;
    recorded.delays = made.delays;
    recorded.frequency = frequency.filter(|_| !profiler.is_exact());
    if made.files.is_empty() {
        // A program that failed may have done so before a profiler could see it, and its status says more.
        if recorded.status.success() {
            return Err(RecordError::NoProfile { profiler, why: made.complaint, help: made.help });
        }
        recorded.notes.push("there is no profile, because the program failed early".to_owned());
    }
    recorded.profiles = settle(made.files, &target, &others)?;
    Ok(recorded)
}

/// Runs a program once without a profiler: for timing, for warming up, and for what profiling costs.
pub fn run_plain(program: &Program, cancel: &AtomicBool) -> Result<Recorded, RecordError> {
    let limits = Limits { timeout: program.timeout, cancel };
    let mut command = command::plain(program)?;
    let ended = child::run(&mut command, limits)?;
    Ok(Recorded::of(ended))
}

impl Recorded {
    fn of(ended: Ended) -> Self {
        let Ended { status, wall, cpu, peak_memory, .. } = ended;
        let (profiles, notes) = (Vec::new(), Vec::new());
        Self {
            profiles,
            status,
            wall,
            cpu,
            peak_memory,
            frequency: None,
            tracer_cpu: None,
            delays: Vec::new(),
            notes,
        }
    }
}

/// What a profiler's module is told.
pub struct Run<'a> {
    pub profiler: Profiler,
    pub program: &'a Program,
    pub settings: &'a Settings,
    /// For files of any name; an absolute path.
    pub scratch: &'a Path,
    pub frequency: u32,
    pub limits: Limits<'a>,
}

/// What a profiler's module hands back.
pub struct Made {
    pub ended: Ended,
    /// Complete files in the scratch folder.
    pub files: Vec<PathBuf>,
    pub notes: Vec<String>,
    /// CPU time of the profiler itself, where it could be told apart.
    pub tracer_cpu: Option<Duration>,
    /// How long threads waited for processors, where that was watched.
    pub delays: Vec<RunDelay>,
    /// Why there may be no file, in the profiler's words or ours.
    pub complaint: String,
    pub help: Option<String>,
}

impl Made {
    /// Of a run that ended.
    pub fn of(ended: Ended, files: Vec<PathBuf>) -> Self {
        Self {
            ended,
            files,
            notes: Vec::new(),
            tracer_cpu: None,
            delays: Vec::new(),
            complaint: String::new(),
            help: None,
        }
    }
}

/// Files in a folder whose names end so: first those of the program's own process, so that every run puts the same one
/// first, then the largest, as the busiest process has the most to tell. `owner` finds the process and the thread in a
/// name.
pub fn files_in(
    folder: &Path,
    extension: &str,
    root: u32,
    owner: impl Fn(&str) -> Option<(u32, u32)>,
) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = entries.filter(|path| path.extension().is_some_and(|end| end == extension));
    let mut files: Vec<_> = ours
        .filter_map(|path| Some((path.metadata().ok()?.len(), path)))
        .filter(|(size, _)| *size > 0)
        .collect();
    let rank = |path: &Path| {
        let owner = path.file_name().and_then(|name| owner(name.to_str()?));
        // Main threads before workers.
        (owner.is_none_or(|(process, _)| process != root), owner.map(|(_, thread)| thread > 0))
    };
    files.sort_by(|a, b| {
        rank(&a.1).cmp(&rank(&b.1)).then_with(|| b.0.cmp(&a.0)).then_with(|| a.1.cmp(&b.1))
    });
    files.into_iter().map(|(_, path)| path).collect()
}

/// Gives complete files their names.
fn settle(files: Vec<PathBuf>, target: &Path, others: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let mut settled = Vec::new();
    let mut files = files.into_iter();
    let first = files.next();
    let rest: Vec<PathBuf> = files.collect();
    if !rest.is_empty() {
        fs::create_dir(others).map_err(RecordError::file("create", others))?;
    }
    for file in rest {
        let to = others.join(file.file_name().unwrap_or_default());
        fs::rename(&file, &to).map_err(RecordError::file("write", &to))?;
        settled.push(to);
    }
    // Last, so that where it is, all is.
    if let Some(first) = first {
        fs::rename(&first, target).map_err(RecordError::file("write", target))?;
        settled.insert(0, target.to_owned());
    }
    Ok(settled)
}

/// A folder beside the target for what is not whole yet, with what killed processes left there removed.
pub fn scratch(folder: &Path, name: &str) -> Result<Scratch, RecordError> {
    Scratch::remove_abandoned(folder, child::is_gone);
    Scratch::create(folder, name).map_err(RecordError::file("create", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_programs_are_sampled_more_often() {
        let millis = Duration::from_millis;
        assert_eq!(frequency_for(Profiler::Perf, millis(1000)), None);
        assert_eq!(frequency_for(Profiler::Perf, millis(100)), Some(3000));
        assert_eq!(frequency_for(Profiler::Perf, millis(0)), Some(9_999));
        assert_eq!(frequency_for(Profiler::Jfr, millis(1)), None);
    }
}
