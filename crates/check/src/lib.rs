//! Two revisions of a program: check out, build, run interleaved, stop when the answer is clear.
//!
//! [`check()`] compares two revisions of the repository around a folder as `perfblame.toml` says, [`bisect()`] finds the
//! commit among many, [`init`] writes the file, [`hook`] has git start checks. Everything kept lies in the git directory
//! ([`Home`]); the user's index and working tree are never touched.
#![warn(missing_docs)]

mod attribution;
mod bench;
mod bisect;
mod check;
pub mod config;
mod failure;
mod home;
pub mod hook;
pub mod init;
mod machine;
mod metric;
mod process;
mod sequential;
mod stored;
mod trees;
mod watch;
pub mod web;

pub use attribution::ChangedCode;
pub use bisect::{Walk, bisect};
pub use check::{CheckOptions, Session, Times, check};
pub use config::Config;
pub use failure::Failure;
pub use home::{Busy, Home, Lock};
pub use sequential::{
    CollectedRuns, Decided, Ended, FALSE_ALARM, Plan, Reading, Runs, SetBy, decide,
};
pub use stored::stored_runs;
pub use trees::{Built, Recipe, Trees};
pub use watch::{CheckEvent, Unwatched, Watch};

use perfblame_changes::{Repository, Snapshot};
use perfblame_keys::key;
