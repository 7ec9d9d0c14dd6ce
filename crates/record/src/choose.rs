//! Which profiler fits a program, and why.

use crate::command::{Kind, find};
use crate::{Profiler, Program, RecordError};

/// A profiler that fits, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The profiler.
    pub profiler: Profiler,
    /// What about the program says so.
    pub because: String,
}

/// Finds the profiler that fits a program by what its command is.
pub fn choose(program: &Program) -> Result<Choice, RecordError> {
    let found = find(program)?;
    let profiler = match found.kind {
        Kind::JavaLauncher | Kind::Jar | Kind::JavaWrapper => Profiler::Jfr,
        Kind::Python => Profiler::PySpy,
        Kind::NodeLauncher | Kind::NodeScript | Kind::NodeWrapper => Profiler::NodeCpuProf,
        // perf sees every process, so that it also fits a script of native programs.
        Kind::Elf => Profiler::Perf,
        Kind::Other(what) if what.contains("script") => Profiler::Perf,
        Kind::Other(why) => {
            return Err(RecordError::NoProfilerFits {
                program: found.path.display().to_string(),
                why,
            });
        }
    };
    Ok(Choice { profiler, because: found.because })
}
