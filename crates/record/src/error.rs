//! What can go wrong, and what to do then.

use std::path::PathBuf;
use std::time::Duration;

use crate::Profiler;
use crate::chrome::ChromeError;

/// A run that made no profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is nothing to run.
    #[error("no command given")]
    NoCommand,
    /// There is no such process.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// The program cannot be started.
    #[error("cannot start {program}")]
    Start {
        /// The program.
        program: String,
        /// Why not.
        source: std::io::Error,
    },
    /// No profiler fits the program.
    #[error("cannot tell which profiler suits {program}")]
    NoProfilerFits {
        /// The program.
        program: String,
        /// What it seems to be.
        why: String,
    },
    /// The profiler is not installed.
    #[error("{} is not installed", .profiler.name())]
    Missing {
        /// The profiler.
        profiler: Profiler,
        /// A command that installs it.
        install: String,
    },
    /// The profiler may not look at the program.
    #[error("{} is not permitted to profile here", .profiler.name())]
    NotPermitted {
        /// The profiler.
        profiler: Profiler,
        /// What it said.
        why: String,
        /// What permits it.
        help: String,
    },
    /// The program ran, or tried to, and there is no profile of it.
    #[error("{} wrote no profile", .profiler.name())]
    NoProfile {
        /// The profiler.
        profiler: Profiler,
        /// What it said.
        why: String,
        /// What to do.
        help: Option<String>,
    },
    /// A profile of this name is there already.
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    /// A file or folder of ours.
    #[error("cannot {what} {}", .path.display())]
    File {
        /// What we wanted to do with it.
        what: &'static str,
        /// Which one.
        path: PathBuf,
        /// Why we could not.
        source: std::io::Error,
    },
    /// The program took longer than it may.
    #[error("the program exceeded the timeout of {:.1} s", .after.as_secs_f64())]
    TimedOut {
        /// The time it was given.
        after: Duration,
    },
    /// A browser or a page.
    #[error(transparent)]
    Browser(ChromeError),
    /// Somebody asked to stop; the program was ended.
    #[error("recording cancelled")]
    Cancelled,
}

impl RecordError {
    /// Why, in a few lines; empty when the error says it all.
    pub fn why(&self) -> String {
        match self {
            Self::Start { source, .. } | Self::File { source, .. } => source.to_string(),
            Self::NoProfilerFits { why, .. }
            | Self::NotPermitted { why, .. }
            | Self::NoProfile { why, .. } => why.clone(),
            Self::Browser(error) => error.why(),
            _ => String::new(),
        }
    }

    /// What to do next.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::NoProfilerFits { .. } => {
                Some("choose one: `perfblame record java|native|python|node -- CMD`".to_owned())
            }
            Self::Missing { install, .. } => Some(format!("install it: `{install}`")),
            Self::NotPermitted { help, .. } => Some(help.clone()),
            Self::NoProfile { help, .. } => help.clone(),
            Self::Browser(error) => error.help(),
            Self::Exists(_) => Some("choose another folder or another name".to_owned()),
            Self::NoProcess(_) => Some("`ps -e` lists running processes".to_owned()),
            Self::NoCommand => {
                Some("put it after `--`: `perfblame record auto -- ./program`".to_owned())
            }
            Self::Start { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Some("give the path of a program in this folder: `./NAME`".to_owned())
            }
            _ => None,
        }
    }

    pub(crate) fn file(
        what: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }
}

impl From<ChromeError> for RecordError {
    fn from(error: ChromeError) -> Self {
        match error {
            ChromeError::Cancelled => Self::Cancelled,
            ChromeError::File { what, path, source } => Self::File { what, path, source },
            error => Self::Browser(error),
        }
    }
}
