//! Which contexts explain a difference, and how sure that is.
//!
//! Works on matched trees and plain numbers: no files, no clocks, no rendering.
#![warn(missing_docs)]

mod paths;

pub use paths::{HeatScale, Path, PathNode, RankedPaths, rank_functions, rank_paths};
