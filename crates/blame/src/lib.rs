//! Which contexts explain a difference, and how sure that is.
//!
//! Works on matched trees and plain numbers: no files, no clocks, no rendering.
#![warn(missing_docs)]

mod fdr;
mod noise;
mod permutation;
mod special;
mod suspects;

pub use suspects::{
    Evidence, Explanation, Finding, Interval, Kind, Options, RunCosts, RuntimeChange, Verdict,
    suspects,
mod critical_graph;

pub use critical_graph::{
    Call, CriticalGraph, CriticalNode, CriticalOptions, LeastDelta, Markers, Timelines,
    critical_graph,
};
