//! What made it slower: two sets of runs in, the shortest honest explanation out.
//!
//! Costs are in the metric's own unit and for one run (the side's typical one), never summed over runs, so that sides
//! with unequal numbers of runs compare.

mod answer;
mod changed;
mod comparable;
mod compare;
mod critical_graph;
mod different;
mod for_work;
mod functions;
mod inferred;
mod labels;
mod metric;
mod paths;
mod stages;
mod suspect;
mod waits;
mod warnings;
mod was;

pub use answer::{
    CodeChange, CriticalGraph, CriticalNode, Diff, DiffRow, DiffTree, Estimate, Fate, Method,
    PathFunction, RankedPath, RuntimeCost, SideTotals, Suspect, SuspectKind, Verdict,
};
pub use changed::{ChangedFunction, ChangedKind, CodePlace};
pub use compare::{diff, diff_with_tree};
pub use functions::{FunctionChange, FunctionTable};
pub use paths::ranked_paths;
pub use perfblame_blame::HeatScale;
pub use perfblame_cct::{Side, Sides};
pub use stages::{
    Candidate, PartTotal, StagePart, StageReason, StagedSubtree, Stages, Threshold, WeightChange,
};
pub use waits::{is_busy, is_waiting};

use perfblame_cct::Unit;
use perfblame_words::counted;

use crate::Quantity;
use crate::ask::Cancelled;

/// What to compare, and how.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DiffQuery {
    /// How to explain the difference.
    pub method: Method,
    /// The metric; the first one that has values on both sides when not given.
    pub metric: Option<String>,
    /// Differences below this do not count; from the measured noise when not given.
    pub min_delta: Option<MinDelta>,
    /// How values are made comparable.
    pub normalize: Normalize,
    /// What the program got done before and after, in whatever unit: one value for the side, or one for each run.
    pub work: Option<Sides<Vec<f64>>>,
    /// What changed in the code between the two sides, as far as that is known: stages go by it.
    pub changes: Option<Vec<ChangedFunction>>,
}

/// The least difference that counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MinDelta {
    /// In the metric's unit, whatever that is.
    Absolute(f64),
    /// In nanoseconds, bytes or things that are counted; the metric must be of that kind.
    Of(Quantity, f64),
    /// A part of the total before: 0.02 is 2 %.
    Share(f64),
}

impl MinDelta {
    /// How much that is of a total, in the metric's unit.
    pub fn of(self, total: f64) -> f64 {
        match self {
            Self::Absolute(value) | Self::Of(_, value) => value,
            Self::Share(share) => share * total,
        }
    }

    /// Refuses a unit that the metric does not have: milliseconds say nothing about bytes.
    pub fn fits(self, metric: &str, unit: &Unit) -> Result<(), DiffError> {
        match self {
            Self::Of(given, _) if given.unit() != *unit => {
                Err(DiffError::Threshold { given, metric: metric.to_owned(), unit: unit.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// How values of different runs are made comparable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Normalize {
    /// As the work done says, where it is known; otherwise as they are.
    #[default]
    None,
    /// Every run has the same total: shares are compared.
    Total,
    /// Every run makes the same number of calls: costs per call are compared.
    Calls,
}

impl From<Cancelled> for DiffError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// A comparison that cannot be made.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum DiffError {
    /// One side does not have the metric.
    #[error("{side} has no metric `{wanted}`")]
    Metric {
        /// Which one.
        side: Side,
        /// What was asked for.
        wanted: String,
        /// What both sides have.
        known: Vec<String>,
    },
    /// The two sides have no metric in common.
    #[error("before and after share no metric")]
    NothingInCommon {
        /// What the before side has.
        before: Vec<String>,
        /// What the after side has.
        after: Vec<String>,
    },
    /// The least difference that counts has a unit that the metric does not have.
    #[error("the smallest difference is given as {given}, but {metric} is measured in {}", unit.name())]
    Threshold {
        /// What the least difference is.
        given: Quantity,
        /// The metric.
        metric: String,
        /// Its unit.
        unit: Unit,
    },
    /// `work` does not fit the runs.
    #[error("{side} has {}, but work is given for {given}", counted(*runs as u64, "run", "runs"))]
    Work {
        /// Which one.
        side: Side,
        /// How many runs it has.
        runs: usize,
        /// How many values of work were given.
        given: usize,
    },
    /// Only the changes are known, and the method needs the sources to tell which change explains what.
    #[error("a list of changes does not explain suspects")]
    NoSources {
        /// The method.
        method: Method,
    },
    /// Nobody wants the answer any more.
    #[error("cancelled")]
    Cancelled,
}
