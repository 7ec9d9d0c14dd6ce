//! Makes profiles: finds the profiler that fits, runs the program under it, keeps what the program said and did.
//!
//! All code that is about one platform or one profiler's habits is here. A caller says what to run ([`Program`]), asks
//! [`choose`] which profiler fits or names one, and calls [`record_run`] once per run; [`run_plain`] is the same run
//! without a profiler. What comes back ([`Recorded`]) names complete files only: a profile has its final name from the
//! moment it is whole, and a run that was cancelled, timed out or failed to make one leaves nothing behind, neither
//! files nor processes.
//!
//! Profilers are rows of one table ([`Profiler`]); a new one is a module with a function that runs a program and
//! returns files.
#![warn(missing_docs)]

mod child;
mod choose;
pub mod chrome;
mod command;
mod elf;
mod error;
mod family;
mod install;
mod java;
pub mod java_exact;
mod node;
mod origin;
mod os;
mod output;
mod perf;
mod profiler;
mod program;
mod python;
mod record;
mod uftrace;

pub use choose::{Choice, choose};
pub use error::RecordError;
pub use origin::{FileOrigin, origins_of};
pub use os::{OsEvents, OsTrace, RunDelay, Running};
pub use profiler::{CallGraph, JavaExact, NativeEvent, Profiler, Settings, Tried};
pub use program::{Input, Output, Program};
pub use record::{Recorded, frequency_for, record_run, record_running, run_plain};
