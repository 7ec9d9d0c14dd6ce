//! Latencies of functions, inferred from the stacks that an operating system's tracer took at system calls, context
//! switches and the like: sections 3.2 and 3.3 of `[introperf]`, with what a kernel knows besides.
//!
//! [`Inference`] takes the events of a trace one by one. Per thread it keeps the calls that are open, and nothing else:
//! a trace of any length needs the memory of its threads' stacks and of the calling context tree.
//!
//! This crate knows no format. It knows Linux by the names of its functions: which frames are how the kernel is
//! entered, left and interrupted, and what a thread waits for.
#![warn(missing_docs)]

mod calls;
mod cleaning;
mod gaps;
mod idle;
mod inference;
mod linux;
mod metrics;
mod off_cpu;
mod purpose;
mod tally;
mod thread;
mod totals;
mod wait;

pub use inference::{Continuity, Inference, InferenceOptions, Instance};
pub use off_cpu::Wait;
pub use totals::{Latency, NodeLatency};
pub use wait::WaitOn;

/// The metric of own latencies, the first of an inferred profile.
pub const LATENCY: &str = "latency";

/// The metric of inferred calls.
pub const INSTANCES: &str = "instances";

/// The metric of waiting within work, part of [`LATENCY`].
pub const WAITING: &str = "waiting";

/// The pseudo-function of a thread that has nothing to do.
pub const FOR_WORK: &str = "(waiting for work)";

/// The pseudo-function of a thread that could run if it had a processor.
pub const RUN_QUEUE: &str = "(run queue)";

/// The component of system calls.
pub const SYSCALL: &str = "[syscall]";
