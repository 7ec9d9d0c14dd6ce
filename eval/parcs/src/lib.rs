//! The experiment of `[parcs]`, section 5, rerun: real Java programs, two close releases each, five inputs each.
//!
//! Every step leaves its result in a work folder under a name made from what went into it: a start that was interrupted
//! goes on where it stopped, and what has not changed is not done again. [`mod@programs`] says what is run,
//! [`mod@experiment`] in which order, [`mod@compare`] what is measured, [`mod@document`] how it is told beside the
//! paper's figures.

pub mod attribution;
pub mod chart;
pub mod code;
pub mod compare;
pub mod document;
pub mod experiment;
pub mod inputs;
pub mod maven;
pub mod paper;
pub mod programs;
pub mod run;
pub mod stored_sides;
