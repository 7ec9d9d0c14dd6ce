//! The experiments of `[introperf]`, section 5, rerun on Linux with programs of Debian.
//!
//! Every step leaves its result in a work folder under a name made from what went into it: a start that was interrupted
//! goes on where it stopped. [`mod@cases`] says what is run, [`mod@recording`] how it is traced, [`mod@rank`] how well
//! the cause is found, [`mod@exact`] what is known of every call, [`mod@document`] how it is told beside the paper's
//! figures.

pub mod answer;
pub mod case;
pub mod cases;
pub mod causes;
pub mod document;
pub mod exact;
pub mod inference;
pub mod machine;
pub mod overhead;
pub mod plain;
pub mod programs;
pub mod rank;
pub mod recording;
pub mod script;
