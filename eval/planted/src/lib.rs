//! Trust, measured: noisy runs over real trees, with a change planted in one side and with none, and how often each
//! method names it.
//!
//! The generator knows the truth; the methods see only files. [`case`] decides what is planted where, [`noise`] makes
//! runs of it, [`files`] writes them in real formats, [`answer`] asks the methods, [`score`] compares with the truth.

pub mod answer;
pub mod base;
pub mod case;
pub mod evaluate;
pub mod files;
pub mod keep;
mod names;
pub mod noise;
pub mod plant;
pub mod program;
pub mod random;
pub mod score;
pub mod scratch;
pub mod table;
