//! The default explanation: the smallest set of functions and contexts that accounts for the change beyond noise.
//!
//! Every context's own cost is given to one *group*. Most belong to their function, whatever the context, so that a
//! function slower in forty places is one finding. What is below a call that is new, or below one whose whole subtree
//! grew alike (it is called more often), belongs to that call. Each group then has one cost per run, and is tested
//! against the scatter that all groups together show ([`noise`](crate::noise)). What stays is sorted by its share of
//! the change. Costs of the runtime itself (idle, garbage collection, the engine) are counted apart and never blamed.

mod costs;
mod findings;
mod moved;
mod scale;
mod tops;
mod verdict;

#[cfg(test)]
mod tests;

use perfblame_cct::{Cells, MetricId, NodeId, Sides};
use perfblame_matching::Joint;

use crate::noise::{Noise, Sampling, Spread};
use costs::Costs;

/// The costs of one run.
#[derive(Clone, Copy, Debug)]
pub struct RunCosts<'a> {
    /// Its self values, over the nodes of its side.
    pub cells: &'a Cells,
    /// The metric that is compared.
    pub metric: MetricId,
    /// The metric that counts calls, where there is one.
    pub calls: Option<MetricId>,
    /// The metric that counts samples, where values are the times between samples.
    pub samples: Option<MetricId>,
    /// What values are multiplied with to make runs comparable (work done, decimals).
    pub factor: f64,
    /// What one sample stands for, in the metric's unit; 0 for values that are exact.
    pub quantum: f64,
}

/// All there is to judge by.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Both trees as one.
    pub joint: &'a Joint,
    /// The runs of each side.
    pub runs: Sides<&'a [RunCosts<'a>]>,
    /// Every event was counted and nothing was timed: the same work has the same values.
    pub exact: bool,
    /// Values are time spent waiting.
    pub waits: bool,
}

/// What to look for.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SuspectOptions {
    /// Differences below this do not count, in the metric's unit; from the noise when not given.
    pub min_delta: Option<f64>,
}

/// What is the case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verdict {
    /// Slower (or more of whatever is measured), beyond chance and the threshold.
    Regressed,
    /// Faster, beyond chance and the threshold.
    Improved,
    /// No difference that matters.
    #[default]
    Unchanged,
    /// The runs cannot tell.
    Inconclusive,
}

impl Verdict {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regressed => "regressed",
            Self::Improved => "improved",
            Self::Unchanged => "unchanged",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// How a context changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SuspectKind {
    /// It takes longer each time.
    Slower,
    /// It is called more often.
    MoreCalls,
    /// It was not there before.
    New,
    /// It waits longer.
    Waits,
    /// Its cost came from elsewhere.
    Moved,
    /// It takes less (improvements only).
    Faster,
    /// It is called less often (improvements only).
    FewerCalls,
    /// It is gone (improvements only).
    Gone,
}

impl SuspectKind {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::MoreCalls => "more-calls",
            Self::New => "new",
            Self::Waits => "waits",
            Self::Moved => "moved",
            Self::Faster => "faster",
            Self::FewerCalls => "fewer-calls",
            Self::Gone => "gone",
        }
    }
}

/// A value and what it lies between with 95 % confidence.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Interval {
    /// The best guess.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A function that explains part of the change, in the contexts where it does.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Rows of the joint tree, the largest difference first.
    pub contexts: Vec<NodeId>,
    /// How it changed.
    pub kind: SuspectKind,
    /// Cost in each run before.
    pub before: Vec<f64>,
    /// Cost in each run after.
    pub after: Vec<f64>,
    /// After minus before, for one run.
    pub delta: Interval,
    /// Corrected for having looked in many places; none when no side has two runs.
    pub p_value: Option<f64>,
    /// Calls in a mean run of each side, where they were counted.
    pub calls: Option<Sides<f64>>,
    /// Where it answers for its calls: a row of the function below that takes most of it, and which part.
    pub inside: Option<(NodeId, f64)>,
}

/// A part of the runtime that cost something.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RuntimeChange {
    /// One of its rows in the joint tree.
    pub row: NodeId,
    /// Mean cost before.
    pub before: f64,
    /// Mean cost after.
    pub after: f64,
}

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// What is the case.
    pub verdict: Verdict,
    /// Total of each run before, idle time left out.
    pub before: Vec<f64>,
    /// Total of each run after, idle time left out.
    pub after: Vec<f64>,
    /// After minus before.
    pub change: Interval,
    /// The chance of such a change of the total between runs of the same code; none when no side has two runs.
    pub p_value: Option<f64>,
    /// Differences below this did not count.
    pub threshold: f64,
    /// What got slower, the largest first.
    pub suspects: Vec<Finding>,
    /// What got faster, the largest first.
    pub improvements: Vec<Finding>,
    /// What grew in one place by what it lost in another.
    pub moved: Vec<Finding>,
    /// How many more functions changed beyond chance, by too little to matter beside the suspects, and their sum.
    pub minor: (usize, f64),
    /// The runtime's own costs.
    pub runtime: Vec<RuntimeChange>,
    /// What part of `change` none of the above accounts for.
    pub unexplained: f64,
    /// How much slower everything is alike, as a factor; 1 when runs differ by no more than they do within a side.
    pub common: f64,
    /// Runs on each side that would tell, when runs are what is missing.
    pub runs_needed: Option<u32>,
    /// The slowdown of the total that would have been noticed, as a part of the total before; none when no side has two
    /// runs.
    pub noticed: Option<f64>,
}

/// Explains what changed between two sets of runs.
pub fn suspects(evidence: &Evidence<'_>, options: SuspectOptions) -> Explanation {
    let mut costs = Costs::of(evidence);
    let scale = scale::scale(&costs);
    costs.apply(&scale);
    let visible = costs.visible(evidence);
    let spreads: Vec<Spread> = costs.spreads(&visible);
    let sampling = Sampling { quantum: costs.quantum, exact: evidence.exact };
    let noise = Noise::learn(sampling, &spreads);
    let tops = tops::tops(evidence, &costs, &visible, &noise, &scale);
    findings::explain(evidence, &costs, &visible, &noise, &scale, &tops, options)
}
