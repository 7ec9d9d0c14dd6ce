//! Answers about revisions: a check of two, and a bisection of many.
//!
//! Plain data like every answer. Making the runs is another crate's business, and so is rendering.

use std::path::PathBuf;

use perfblame_cct::Warning;

use crate::{Attribution, Diff, DiffTree, Verdict};

/// Two revisions compared, in all workloads and inputs.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// The revision before.
    pub base: RevisionView,
    /// The revision after.
    pub head: RevisionView,
    /// What is the case: the gravest of all.
    pub verdict: Verdict,
    /// One for each workload and input, in the order of the configuration.
    pub comparisons: Vec<Comparison>,
    /// What is worth knowing about all of it.
    pub warnings: Vec<Warning>,
}

/// A revision.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RevisionView {
    /// As it was asked for.
    pub name: String,
    /// The commit; none for uncommitted changes.
    pub commit: Option<String>,
    /// The first line of its message.
    pub subject: String,
    /// Who made it.
    pub author: String,
}

impl RevisionView {
    /// The first letters of the commit, or what else it is.
    pub fn short(&self) -> &str {
        match &self.commit {
            Some(commit) => commit.get(..9).unwrap_or(commit),
            None => "working tree",
        }
    }
}

/// One workload with one input.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The workload.
    pub workload: String,
    /// The input; none when it takes none.
    pub input: Option<String>,
    /// The profiler.
    pub profiler: Option<String>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Both sides ran.
    Compared(Box<Compared>),
    /// Something failed.
    Failed(FailureView),
}

/// A comparison with what the changed code has to do with it.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// The comparison; its verdict is held against all looks at the runs.
    pub diff: Diff,
    /// Both trees as one.
    pub tree: DiffTree,
    /// Why no more runs were made.
    pub ended: String,
    /// What the changed code has to do with it.
    pub code: Attribution,
}

impl Compared {
    /// Code changed, and the workload runs none of it, on neither side; nor did anything outside of functions change.
    pub fn is_unreached(&self) -> bool {
        self.code.is_unreached()
    }
}

/// Something that failed, in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FailureView {
    /// What.
    pub what: String,
    /// Why: a few lines.
    pub why: String,
    /// What to do next.
    pub help: Option<String>,
    /// The whole log.
    pub log: Option<PathBuf>,
}

impl Comparison {
    /// The comparison, unless something failed.
    pub fn compared(&self) -> Option<&Compared> {
        match &self.outcome {
            Outcome::Compared(compared) => Some(compared),
            Outcome::Failed(_) => None,
        }
    }

    /// `parse`, or `parse, large.json`.
    pub fn title(&self) -> String {
        match &self.input {
            Some(input) => format!("{}, {input}", self.workload),
            None => self.workload.clone(),
        }
    }
}

impl Check {
    /// The gravest verdict: a slowdown anywhere is one; then what cannot be told; then an improvement.
    pub fn gravest(comparisons: &[Comparison]) -> Verdict {
        let of = |verdict: Verdict| {
            let found = comparisons.iter().filter_map(Comparison::compared);
            found.into_iter().any(|compared| compared.diff.verdict == verdict)
        };
        [Verdict::Regressed, Verdict::Inconclusive, Verdict::Improved]
            .into_iter()
            .find(|verdict| of(*verdict))
            .unwrap_or(Verdict::Unchanged)
    }

    /// Comparisons that failed.
    pub fn failed(&self) -> impl Iterator<Item = (&Comparison, &FailureView)> {
        self.comparisons.iter().filter_map(|comparison| match &comparison.outcome {
            Outcome::Failed(failure) => Some((comparison, failure)),
            Outcome::Compared(_) => None,
        })
    }
}

/// Which commit of many.
#[derive(Clone, PartialEq, Debug)]
pub struct Bisection {
    /// Where it was fast.
    pub good: RevisionView,
    /// Where it is slow.
    pub bad: RevisionView,
    /// What was tried, in order.
    pub steps: Vec<BisectStep>,
    /// The commit that made it slower; several when those between could not be told.
    pub suspects: Vec<RevisionView>,
    /// What that commit did to the workload, against its parent.
    pub check: Option<Check>,
    /// What is worth knowing.
    pub warnings: Vec<Warning>,
}

/// A commit that was tried.
#[derive(Clone, PartialEq, Debug)]
pub struct BisectStep {
    /// The commit.
    pub revision: RevisionView,
    /// What it is.
    pub state: BisectState,
    /// Why, in words.
    pub why: String,
}

/// What a commit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BisectState {
    /// As fast as the good one.
    Good,
    /// As slow as the bad one.
    Bad,
    /// It cannot be told, or not be built.
    Skipped,
    /// It changes nothing that could matter.
    Innocent,
}

impl BisectState {
    /// The word in logs and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skipped => "skipped",
            Self::Innocent => "innocent",
        }
    }
}
