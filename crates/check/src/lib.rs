//! Two revisions of a program: check out, build, run interleaved, stop when the answer is clear.
#![warn(missing_docs)]

pub mod config;
mod failure;
mod git;
mod home;
mod key;
mod process;
mod sequential;
mod trees;
mod watch;

pub use config::Config;
pub use failure::Failure;
pub use git::{Git, Revision};
pub use home::{Busy, Home, Lock};
pub use key::key;
pub use sequential::{Decided, Plan, Runs, Side, decide};
pub use trees::{Built, Recipe, Trees};
pub use watch::{Event, Unwatched, Watch};
