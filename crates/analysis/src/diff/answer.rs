//! The parts of an answer.

pub use perfblame_blame::{SuspectKind, Verdict};
use perfblame_cct::{Metric, Sides, Warning};

use super::{DiffError, FunctionTable, Stages};
use crate::FunctionView;

/// How the difference was explained.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// The smallest set of contexts that explains the change, with significance over runs.
    #[default]
    Suspects,
    /// The critical graph of `[zam]`.
    CriticalGraph,
    /// Call paths ranked by their cost difference, `[introperf]`.
    Paths,
    /// Differences by the code change behind them, `[parcs]`.
    Stages,
}

impl Method {
    /// The word on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Suspects => "suspects",
            Self::CriticalGraph => "critical-graph",
            Self::Paths => "paths",
            Self::Stages => "stages",
        }
    }

    /// Fails for methods that need the sources to tell which change explains what.
    pub fn goes_by_changes_alone(self) -> Result<(), DiffError> {
        match self {
            Self::Stages => Ok(()),
            method => Err(DiffError::NoSources { method }),
        }
    }
}

/// Before against after.
#[derive(Clone, PartialEq, Debug)]
pub struct Diff {
    /// How it was explained.
    pub method: Method,
    /// What is compared.
    pub metric: Metric,
    /// What is the case.
    pub verdict: Verdict,
    /// The side before.
    pub before: SideTotals,
    /// The side after.
    pub after: SideTotals,
    /// After minus before: how much, and between what with 95 % confidence; none when there is too little to say.
    pub change: Estimate,
    /// The chance of a difference like this between runs of the same code; none with one run on each side.
    pub p_value: Option<f64>,
    /// Differences below this were not looked at.
    pub threshold: f64,
    /// How values were made comparable, in words; none when they were taken as they are.
    pub normalised: Option<String>,
    /// What got slower, the largest share first. Shares are of all that grew: together with what the runtime grew by they
    /// add up to at most 1.
    pub suspects: Vec<Suspect>,
    /// What got faster, the largest first.
    pub improvements: Vec<Suspect>,
    /// What grew in one place by what something else lost: no slowdown.
    pub moved: Vec<Suspect>,
    /// Functions that changed beyond chance by too little to matter beside the suspects: how many, and their sum.
    pub minor: (usize, f64),
    /// Idle time, garbage collection, the engine: reported, never blamed.
    pub runtime: Vec<RuntimeCost>,
    /// What part of `change` nothing in `suspects`, `improvements` and `runtime` explains: never more than all of it.
    pub unexplained: f64,
    /// The slowdown of the total that would have been noticed, as a part of the total before; none with one run on each
    /// side.
    pub noticed: Option<f64>,
    /// Self costs by function, the largest change first.
    pub functions: FunctionTable,
    /// Runs on each side that would tell, when the verdict is inconclusive and runs are what is missing.
    pub runs_needed: Option<u32>,
    /// The critical graph, when asked for.
    pub graph: Option<CriticalGraph>,
    /// The ranked paths, when asked for (and for pages that draw them).
    pub paths: Vec<RankedPath>,
    /// Both trees taken apart by what changed in the code, when asked for.
    pub stages: Option<Stages>,
    /// What was wrong or surprising.
    pub warnings: Vec<Warning>,
}

/// What one side is made of.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SideTotals {
    /// The runs' inputs, as the user named them.
    pub inputs: Vec<String>,
    /// Total of each run, idle time left out, after normalisation.
    pub totals: Vec<f64>,
    /// The typical total.
    pub total: Estimate,
}

/// A value and what it lies between.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Estimate {
    /// Median of the runs, or the best guess.
    pub median: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

/// A function that explains part of the change, in the contexts where it does.
#[derive(Clone, PartialEq, Debug)]
pub struct Suspect {
    /// Place in the list, from 1.
    pub rank: usize,
    /// The function, as it is after (before when it is gone).
    pub function: FunctionView,
    /// How it changed.
    pub kind: SuspectKind,
    /// The heaviest of its contexts, from the root to the function itself.
    pub path: Vec<FunctionView>,
    /// Rows of the [`DiffTree`] of its contexts, the heaviest first.
    pub contexts: Vec<usize>,
    /// Typical cost of those contexts before.
    pub before: f64,
    /// Typical cost of those contexts after.
    pub after: f64,
    /// After minus before, with its interval.
    pub delta: Estimate,
    /// Cost in each run of a side.
    pub runs: Sides<Vec<f64>>,
    /// The chance of this between runs of the same code, corrected for having looked in many places.
    pub p_value: Option<f64>,
    /// Its part of all that grew (of all that shrank, for improvements), 0 to 1.
    pub share: f64,
    /// Calls in a typical run of each side, where they were counted.
    pub calls: Option<Sides<f64>>,
    /// What it was called before, when it has another name now.
    pub was: Option<FunctionView>,
    /// More to know, in short sentences ("was matched by its callees, 80 % sure").
    pub notes: Vec<String>,
    /// The code changes that touch it; none unless they are known.
    pub changes: Vec<CodeChange>,
}

impl Suspect {
    /// A suspect at the end of a call path, with its typical costs. What else is known of it is up to whoever found it.
    pub fn new(kind: SuspectKind, path: Vec<FunctionView>, costs: Sides<f64>) -> Self {
        let delta = costs.after - costs.before;
        Self {
            rank: 0,
            function: path.last().cloned().unwrap_or_default(),
            kind,
            path,
            contexts: Vec::new(),
            before: costs.before,
            after: costs.after,
            delta: Estimate { median: delta, low: delta, high: delta },
            runs: Sides::default(),
            p_value: None,
            share: 0.0,
            calls: None,
            was: None,
            notes: Vec::new(),
            changes: Vec::new(),
        }
    }
}

/// A code change that touches a suspect.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CodeChange {
    /// `added`, `deleted`, `modified` or `renamed`.
    pub kind: String,
    /// The function that was changed; empty for what is outside of functions.
    pub function: String,
    /// Where it is.
    pub file: String,
    /// First and last line.
    pub lines: Option<(u32, u32)>,
    /// The commit.
    pub commit: Option<String>,
    /// The first line of its message.
    pub title: Option<String>,
    /// Headers of the hunks.
    pub hunks: Vec<String>,
    /// What it has to do with the suspect, in words.
    pub why: Option<String>,
    /// How well it explains the suspect, 0 to 1.
    pub score: Option<f64>,
}

/// A pseudo-frame of the runtime.
#[derive(Clone, PartialEq, Debug)]
pub struct RuntimeCost {
    /// The frame, such as `(garbage collector)`.
    pub function: FunctionView,
    /// Typical cost before.
    pub before: f64,
    /// Typical cost after.
    pub after: f64,
}

/// The critical graph: a tree whose leaves are the causes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CriticalGraph {
    /// Parents first; the first is the root.
    pub nodes: Vec<CriticalNode>,
    /// The least difference that counts.
    pub threshold: f64,
    /// Calls without a name or with one letter that were handed to their callers.
    pub pruned: usize,
}

/// A call that got slower.
#[derive(Clone, PartialEq, Debug)]
pub struct CriticalNode {
    /// Its row.
    pub id: usize,
    /// Its caller's row.
    pub parent: Option<usize>,
    /// The function.
    pub function: FunctionView,
    /// Mean cost before; none for a call without partner.
    pub before: Option<f64>,
    /// Mean cost after.
    pub after: f64,
    /// Nothing below it explains it.
    pub cause: bool,
}

/// A call path from root to leaf with its cost difference.
#[derive(Clone, PartialEq, Debug)]
pub struct RankedPath {
    /// Place in the list, from 1.
    pub rank: usize,
    /// Summed difference to the equal path before; in full when there is none. The sum of its functions' deltas.
    pub cost: f64,
    /// True when there is no such path before.
    pub new: bool,
    /// From the root to the leaf.
    pub functions: Vec<PathFunction>,
}

/// A function on a ranked path.
#[derive(Clone, PartialEq, Debug)]
pub struct PathFunction {
    /// The function.
    pub function: FunctionView,
    /// Its cost after, without what it calls.
    pub latency: f64,
    /// After minus before; on a new path, all of it.
    pub delta: f64,
    /// Its place among the functions of the path by latency, from 1.
    pub rank: usize,
}

/// Both trees as one, as a table in pre-order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DiffTree {
    /// The functions that rows point to.
    pub functions: Vec<FunctionView>,
    /// Parents first.
    pub rows: Vec<DiffRow>,
}

/// A context with its costs in a typical run (mean over the runs, so that they add up).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DiffRow {
    /// The caller's row.
    pub parent: Option<u32>,
    /// Row of its function in [`DiffTree::functions`].
    pub function: u32,
    /// Its own cost before.
    pub before: f64,
    /// Its own cost after.
    pub after: f64,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a context.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fate {
    /// It is on both sides.
    #[default]
    Kept,
    /// It is only after.
    New,
    /// It is only before.
    Gone,
    /// It has another caller, or a frame more or less above it.
    Moved,
    /// It has another name.
    Renamed,
}
