//! What to run: the command, where, with what around it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A program to run, once or many times.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Variables set besides those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// What it reads.
    pub stdin: Input,
    /// Where its output goes.
    pub stdout: Output,
    /// Where its complaints go.
    pub stderr: Output,
    /// It is ended after this long.
    pub timeout: Option<Duration>,
}

impl Program {
    /// A command in the current folder that reads nothing and prints where we print.
    pub fn new(command: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            directory: PathBuf::from("."),
            environment: Vec::new(),
            stdin: Input::Empty,
            stdout: Output::Inherit,
            stderr: Output::Inherit,
            timeout: None,
        }
    }
}

/// What a program reads.
///
/// The terminal is not on offer: programs run in a process group of their own, which a terminal stops when it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    Empty,
    /// What this process would read, for a single run.
    Inherit,
    /// A file, from its start at every run.
    File(PathBuf),
}

/// Where a program's output goes. It arrives there byte for byte as without a profiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Where ours goes.
    Inherit,
    /// Into a file, which is replaced.
    File(PathBuf),
    /// Nowhere.
    Discard,
}
