//! What happens, for whoever shows it.

use std::path::Path;
use std::time::Duration;

use perfblame_analysis::Verdict;

use crate::Snapshot;

/// Something that happens.
#[derive(Clone, Debug)]
pub enum CheckEvent<'a> {
    /// Another check holds the lock.
    Waiting {
        /// Who.
        holder: &'a str,
    },
    /// A revision is checked out.
    CheckingOut {
        /// Which.
        revision: &'a Snapshot,
    },
    /// A revision is built.
    Building {
        /// Which.
        revision: &'a Snapshot,
        /// How.
        command: &'a str,
        /// Where its words go.
        log: &'a Path,
    },
    /// A build ended, well or not.
    Built {
        /// Of what.
        revision: &'a Snapshot,
    },
    /// The program is started.
    Running {
        /// The workload.
        workload: &'a str,
        /// Its input; empty when it has none.
        input: &'a str,
        /// The revision.
        revision: &'a Snapshot,
        /// Runs of each side so far.
        done: u32,
        /// Runs of each side at most.
        most: u32,
    },
    /// The runs so far were compared.
    Looked {
        /// The workload.
        workload: &'a str,
        /// Its input.
        input: &'a str,
        /// Runs of each side.
        runs: u32,
        /// What they say.
        verdict: Verdict,
        /// Whether that is clear.
        clear: bool,
    },
    /// A step of a bisection is done, or anything else worth a line.
    Note {
        /// The line.
        text: &'a str,
    },
    /// What the runs took, and everything around them but builds.
    Took {
        /// The programs themselves, under their profilers.
        runs: Duration,
        /// All.
        all: Duration,
    },
}

/// Hears what happens.
pub trait Watch: Sync {
    /// Something happens.
    fn event(&self, event: &CheckEvent<'_>);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn event(&self, _: &CheckEvent<'_>) {}
}
