//! Which contexts explain a difference, and how sure that is.
//!
//! Works on matched trees and plain numbers: no files, no clocks, no rendering.
#![warn(missing_docs)]

mod critical_graph;
mod fdr;
mod noise;
mod paths;
mod permutation;
mod special;
mod stages;
mod suspects;

pub use perfblame_matching::Wanted;

pub use critical_graph::{
    Call, CriticalGraph, CriticalNode, CriticalOptions, LeastDelta, Markers, Timelines,
    critical_graph,
};
pub use paths::{HeatScale, Path, PathNode, RankedPaths, rank_functions, rank_paths};
pub use stages::{
    Adjusted, Excised, Label, LabelledTree, Reason, Staged, WeightMatching, match_weights,
    share_overlap, stages,
};
pub use suspects::{
    Evidence, Explanation, Finding, Interval, RunCosts, RuntimeChange, SuspectKind, SuspectOptions,
    Verdict, suspects,
};
