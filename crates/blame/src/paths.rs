//! Call paths ranked by what they cost more than before: section 3.4 and algorithm 3 of `[introperf]`.
//!
//! | here | there |
//! |---|---|
//! | own cost | *µ_own*, a node's latency without its callees' (`LatencyNormalization`) |
//! | a path | *p*, the contexts from a root down to a leaf (`getPathSet`) |
//! | cost | *c*, over the path the sum of own cost after minus before (`DiffRankPaths`) |
//! | rank | the place of a function in its path by own cost, and of a path among all |
//!
//! Latencies of a caller contain those of its callees. Summed up along a path as they are, a millisecond in a leaf
//! would count once for every frame above it, and `main` would be the costliest function of every path; so we rank by
//! normalised latencies throughout, which are the self costs that a tree stores.
//!
//! Where we depart, and why:
//! - A path before need not end where the path after ends. The paper compares sets of paths to leaves; a function that
//!   called nothing after but something before would make its whole path new.
//! - What a metric did not see has no path: a context whose whole subtree has no cost after is no leaf, and its caller
//!   is.
//! - Idle time is left out: waiting for work is nobody's cost.
//!
//! One pass down the table gives the sums of all paths; no path is written out before it is known to be wanted.

use std::cmp::Ordering;

/// A context as both sides see it; all of them are a table in which callers come first.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PathNode {
    /// The caller's row.
    pub parent: Option<u32>,
    /// Own cost in a typical run before; none where the context was not there.
    pub before: Option<f64>,
    /// Own cost in a typical run after; none where the context is gone.
    pub after: Option<f64>,
    /// Nothing ran: left out with everything below it.
    pub idle: bool,
}

/// A path from a root down to a leaf of the after side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Path {
    /// The row of its leaf.
    pub leaf: u32,
    /// Summed difference of own costs; in full when it is new.
    pub cost: f64,
    /// There is no such path before.
    pub new: bool,
}

/// All paths of the after side, ranked.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RankedPaths {
    /// The costliest first; of equals the first in the tree.
    pub paths: Vec<Path>,
    /// How many nodes each of them has, in the same order.
    pub lengths: Vec<u32>,
}

impl RankedPaths {
    /// How many paths are the first `percent` of all, rounded up: the paper's top-N %.
    pub fn top(&self, percent: f64) -> usize {
        let share = (percent / 100.0).clamp(0.0, 1.0);
        ((self.paths.len() as f64 * share).ceil() as usize).min(self.paths.len())
    }

    /// How many of the first paths hold at most `nodes` nodes together, of at most `paths`: one at least, if there is
    /// one. Paths can be very deep, and whoever writes them out needs a bound.
    pub fn within(&self, paths: usize, nodes: usize) -> usize {
        let mut left = nodes;
        let fits = |length: &&u32| {
            let enough = left >= **length as usize;
            left = left.saturating_sub(**length as usize);
            enough
        };
        let count = self.lengths.iter().take(paths).take_while(fits).count();
        count.max(1).min(self.paths.len())
    }
}

/// Ranks the paths of a tree by what they cost more than before.
pub fn rank_paths(nodes: &[PathNode]) -> RankedPaths {
    let above = |row: usize| {
        let parent = nodes[row].parent.map(|parent| parent as usize);
        parent.filter(|parent| *parent < row)
    };
    // From the root down: the sum in full, the sum of differences, and how many nodes; none is what is left out.
    let mut sums: Vec<Option<(f64, f64, u32)>> = Vec::with_capacity(nodes.len());
    for (row, node) in nodes.iter().enumerate() {
        let top = above(row).map_or(Some((0.0, 0.0, 0)), |parent| sums[parent]);
        let sum = |(full, difference, length): (f64, f64, u32)| {
            let cost = node.after.filter(|_| !node.idle)?;
            Some((full + cost, difference + (cost - node.before.unwrap_or(0.0)), length + 1))
        };
        sums.push(top.and_then(sum));
    }
    let mut calls = vec![false; nodes.len()];
    let mut found: Vec<(Path, u32)> = Vec::new();
    for (row, node) in nodes.iter().enumerate().rev() {
        let Some((full, difference, length)) = sums[row] else { continue };
        let is_leaf = !calls[row] && node.after.is_some_and(|cost| cost != 0.0);
        if is_leaf {
            let new = node.before.is_none();
            let cost = if new { full } else { difference };
            found.push((Path { leaf: row as u32, cost, new }, length));
        }
        if (is_leaf || calls[row])
            && let Some(parent) = above(row)
        {
            calls[parent] = true;
        }
    }
    found.sort_unstable_by(|(one, _), (other, _)| {
        costlier(one.cost, other.cost).then(one.leaf.cmp(&other.leaf))
    });
    let (paths, lengths) = found.into_iter().unzip();
    RankedPaths { paths, lengths }
}

/// The place of each of some functions by own cost, from 1; of equals the first comes first.
pub fn rank_functions(own: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..own.len()).collect();
    order.sort_by(|one, other| costlier(own[*one], own[*other]));
    let mut ranks = vec![0; own.len()];
    for (place, row) in order.into_iter().enumerate() {
        ranks[row] = place + 1;
    }
    ranks
}

/// A colour for each cost, on a scale of powers of ten as in the paper's heat maps.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HeatScale {
    low: f64,
    high: f64,
}

impl HeatScale {
    /// The scale of some costs, from the least above zero to the greatest.
    pub fn of(costs: impl IntoIterator<Item = f64>) -> Self {
        let none = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        costs.into_iter().filter(|cost| *cost > 0.0).fold(none, |scale, cost| Self {
            low: scale.low.min(cost.log10()),
            high: scale.high.max(cost.log10()),
        })
    }

    /// How hot a cost is: 1 for the greatest, 0 for what is not above zero, and for all others something between.
    pub fn heat(&self, cost: f64) -> f64 {
        /// The least cost above zero is told apart from none.
        const COLDEST: f64 = 0.05;
        if cost <= 0.0 || cost.is_nan() || self.low > self.high {
            return 0.0;
        }
        let width = self.high - self.low;
        let place = if width > 0.0 { (cost.log10() - self.low) / width } else { 1.0 };
        COLDEST + (1.0 - COLDEST) * place.clamp(0.0, 1.0)
    }
}

fn costlier(one: f64, other: f64) -> Ordering {
    // Zero has two signs, and they are the same cost.
    (other + 0.0).total_cmp(&(one + 0.0))
}

#[cfg(test)]
mod tests;
