//! `perfblame.toml`: what to build and run, and when to stop.
//!
//! What stands at the top of the file holds for every workload that does not say otherwise. A key that nobody knows is
//! an error with its line and the key that was probably meant: a misspelt `bugdet` must not be a budget of ten minutes.

mod command;
mod reading;

use std::path::Path;
use std::time::Duration;

use perfblame_analysis::MinDelta;

pub use command::{Command, CommandError};
pub use reading::ConfigError;

use crate::Failure;

/// The file's name, at the root of the repository.
pub const FILE: &str = "perfblame.toml";

/// What the file says.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// What is run, in the file's order.
    pub workloads: Vec<Workload>,
    /// How much is kept in the git directory.
    pub cache: CacheLimits,
}

/// Something to run.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// What it is called.
    pub name: String,
    /// Builds it, in a shell at the root of the checkout; nothing to build when not given.
    pub build: Option<String>,
    /// Runs it; `{input}` stands for one of the inputs.
    pub run: Command,
    /// Files or words, one run each; a single empty one when there are none.
    pub inputs: Vec<String>,
    /// Where it runs, below the root of the checkout.
    pub directory: Option<String>,
    /// Variables that are set for building and running, by name.
    pub environment: Vec<(String, String)>,
    /// The profiler's name; chosen by what the program is when not given.
    pub profiler: Option<String>,
    /// Runs of each side before the first look.
    pub min_runs: u32,
    /// Runs of each side at most.
    pub max_runs: u32,
    /// Time for the runs of one input, both sides together.
    pub budget: Duration,
    /// Runs of each side that are not counted.
    pub warmup: u32,
    /// Whether both sides must print the same.
    pub output: Output,
    /// Differences below this do not count; from the noise when not given.
    pub min_delta: Option<MinDelta>,
    /// Unchanged is clear once the total is known this well, as a part of it.
    pub precision: f64,
    /// The metric; what the profiler is best compared by when not given.
    pub metric: Option<String>,
}

/// What is asked of standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Output {
    /// Both sides print the same.
    #[default]
    Same,
    /// Whatever they print.
    Ignore,
}

/// How much is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheLimits {
    /// Bytes of built checkouts.
    pub trees: u64,
    /// Bytes of profiles.
    pub profiles: u64,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { trees: 8 << 30, profiles: 1 << 30 }
    }
}

/// Runs of each side before the first look, unless told: what the statistics need at least.
pub const MIN_RUNS: u32 = 3;
/// Runs of each side at most, unless told.
pub const MAX_RUNS: u32 = 20;
/// Time for one input, unless told.
pub const BUDGET: Duration = Duration::from_secs(600);
/// How well a total is known when nothing changed, unless told: the part below which `diff` calls a change small.
pub const PRECISION: f64 = 0.05;

impl Config {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        reading::config(text)
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let what = format!("cannot use {}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| {
            let failure = Failure::new(what.clone(), "there is no such file");
            match error.kind() {
                std::io::ErrorKind::NotFound => failure.help("`perfblame init` writes one"),
                _ => Failure::new(what.clone(), error),
            }
        })?;
        Self::parse(&text).map_err(|error| Failure {
            help: error.help.clone(),
            ..Failure::new(what, format!("line {}: {}", error.line, error.message))
        })
    }
}

#[cfg(test)]
mod tests;
