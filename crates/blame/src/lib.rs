//! Which contexts explain a difference, and how sure that is.
//!
//! Works on matched trees and plain numbers: no files, no clocks, no rendering.
#![warn(missing_docs)]

mod critical_graph;

pub use critical_graph::{
    Call, CriticalGraph, CriticalNode, CriticalOptions, LeastDelta, Markers, Timelines,
    critical_graph,
};
