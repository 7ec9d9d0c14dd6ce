//! What a method says about two folders of files, whichever method it is.
//!
//! Methods are asked in this process through the entry the command line uses, on the written files; on a sample of
//! cases the command line itself is asked as well, and both answers must be equal.

mod cli;
mod counts;
mod self_difference;

use std::path::Path;

use anyhow::{Result, bail};
use perfblame_analysis::{
    Ask, Diff, DiffQuery, Estimate, Loaded, Method, MinDelta, Sides, SuspectKind, Verdict, diff,
};

pub use cli::{Cli, command};

use crate::base::load_files;
use crate::program::Key;
use self_difference::Listed;

/// A method under test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tested {
    /// perfblame's default.
    Suspects,
    /// ZAM's, with the threshold that perfblame gives it.
    CriticalGraph,
    /// ZAM's, with µ = 1 % of the total before.
    CriticalGraphOnePercent,
    /// Functions by the difference of their mean self time, those that grew by 1 % of the total before.
    SelfDifference,
    /// The same without a threshold: the first ten, as a person reads a sorted table.
    SelfSorted,
    /// Functions by their sample counts: one dispersion, Student's t.
    Counts,
}

/// The share of the total before below which the two rankings without statistics say nothing.
pub const ONE_PERCENT: f64 = 0.01;

impl Tested {
    pub const ALL: [Self; 6] = [
        Self::Suspects,
        Self::CriticalGraph,
        Self::CriticalGraphOnePercent,
        Self::SelfDifference,
        Self::SelfSorted,
        Self::Counts,
    ];

    /// Those that drawn runs are asked about.
    pub const ON_DRAWN_RUNS: [Self; 4] =
        [Self::Suspects, Self::CriticalGraph, Self::CriticalGraphOnePercent, Self::SelfDifference];

    /// Those that recorded runs are asked about; the critical graph goes by the order of calls, which is not kept.
    pub const ON_RECORDED_RUNS: [Self; 4] =
        [Self::Suspects, Self::SelfDifference, Self::SelfSorted, Self::Counts];

    /// The word on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Suspects => "suspects",
            Self::CriticalGraph => "critical-graph",
            Self::CriticalGraphOnePercent => "critical-graph-1%",
            Self::SelfDifference => "self-difference",
            Self::SelfSorted => "self-sorted",
            Self::Counts => "counts",
        }
    }

    /// The inverse of [`Tested::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tested| tested.name() == name)
    }

    /// True for answers that drop functions without a name or with a one-letter name.
    pub fn prunes(self) -> bool {
        matches!(self, Self::CriticalGraph | Self::CriticalGraphOnePercent)
    }

    /// True for what perfblame itself answers, on the command line too.
    pub fn is_perfblame(self) -> bool {
        self == Self::Suspects || self.prunes()
    }

    fn query(self, work: Option<Sides<f64>>) -> DiffQuery {
        let (method, min_delta) = match self {
            Self::CriticalGraph => (Method::CriticalGraph, None),
            Self::CriticalGraphOnePercent => {
                (Method::CriticalGraph, Some(MinDelta::Share(ONE_PERCENT)))
            }
            _ => (Method::Suspects, None),
        };
        let work = work.map(|work| work.map(|work| vec![work]));
        DiffQuery { method, min_delta, work, ..DiffQuery::default() }
    }
}

/// An answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    pub verdict: Verdict,
    /// What it blames, the worst first.
    pub blamed: Vec<Blamed>,
    /// How much the total changed, where the method says it with an interval.
    pub change: Option<Estimate>,
}

/// A function that is blamed.
#[derive(Clone, PartialEq, Debug)]
pub struct Blamed {
    pub function: Key,
    /// From the root to the function.
    pub path: Vec<Key>,
    /// The chance of it between runs of the same code, where the method says it.
    pub p_value: Option<f64>,
}

/// Reads both sides of a case: `before` and `after` of a folder.
pub fn load_sides(folder: &Path) -> Result<Sides<Loaded>> {
    Sides::try_of(|side| load_files(&folder.join(side.name())))
}

/// Asks a method about both sides of a case.
pub fn ask(sides: &Sides<Loaded>, tested: Tested, work: Option<Sides<f64>>) -> Result<Answer> {
    match tested {
        Tested::SelfDifference => {
            let listed = Listed { least: ONE_PERCENT, most: usize::MAX };
            return Ok(self_difference::answer(sides, work, listed));
        }
        Tested::SelfSorted => {
            let listed = Listed { least: 0.0, most: 10 };
            return Ok(self_difference::answer(sides, work, listed));
        }
        Tested::Counts => return Ok(counts::answer(sides)),
        Tested::Suspects | Tested::CriticalGraph | Tested::CriticalGraphOnePercent => {}
    }
    let answer = diff(&sides.before, &sides.after, &tested.query(work), &Ask::default())?;
    if tested.prunes() && answer.graph.is_none() {
        bail!("no critical graph in the answer");
    }
    Ok(if tested.prunes() { of_graph(&answer) } else { of_suspects(&answer) })
}

/// Stands where a function of a critical graph has its component when it is a thread.
const THREAD: &str = "(thread)";

fn of_suspects(diff: &Diff) -> Answer {
    let blamed = diff.suspects.iter().filter(|suspect| suspect.kind != SuspectKind::Moved);
    let blamed = blamed.map(|suspect| Blamed {
        function: Key::of(&suspect.function),
        path: suspect.path.iter().map(Key::of).collect(),
        p_value: suspect.p_value,
    });
    Answer { verdict: diff.verdict, blamed: blamed.collect(), change: Some(diff.change) }
}

/// The leaves of the graph, the largest difference first.
fn of_graph(diff: &Diff) -> Answer {
    let nodes = diff.graph.as_ref().map_or(&[][..], |graph| &graph.nodes);
    let mut paths: Vec<Vec<Key>> = Vec::with_capacity(nodes.len());
    let mut leaves: Vec<(f64, usize)> = Vec::new();
    for (row, node) in nodes.iter().enumerate() {
        // The root of the graph stands for the program, the one below for a thread: no calls.
        let mut path =
            node.parent.and_then(|parent| paths.get(parent)).cloned().unwrap_or_default();
        if node.parent.is_some() && node.function.component.as_deref() != Some(THREAD) {
            path.push(Key::of(&node.function));
        }
        if node.cause && node.parent.is_some() {
            leaves.push((node.after - node.before.unwrap_or(0.0), row));
        }
        paths.push(path);
    }
    leaves.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let blamed = leaves.into_iter().map(|(_, row)| Blamed {
        function: Key::of(&nodes[row].function),
        path: paths[row].clone(),
        p_value: None,
    });
    Answer { verdict: diff.verdict, blamed: blamed.collect(), change: None }
}
