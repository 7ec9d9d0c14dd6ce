//! `--method paths`, and the heat map of pages: the call paths of the after side, ranked by what they cost more than
//! before.

use perfblame_blame::{HeatScale, PathNode, rank_functions, rank_paths};
use perfblame_cct::{Layer, Metric, Unit, Warning};
use perfblame_words::counted;

use super::{DiffTree, Fate, PathFunction, RankedPath};

/// An answer holds so many paths at most.
const MOST_PATHS: usize = 1_000;

/// An answer's paths hold so many functions at most, all together: stacks can be very deep.
const MOST_FUNCTIONS: usize = 400_000;

/// The ranked paths of two trees, the costliest first, and a warning about those that are folded.
pub fn ranked_paths(tree: &DiffTree, metric: &Metric) -> (Vec<RankedPath>, Option<Warning>) {
    let nodes: Vec<PathNode> = (tree.rows.iter())
        .map(|row| PathNode {
            parent: row.parent,
            before: (row.fate != Fate::New).then_some(row.before),
            after: (row.fate != Fate::Gone).then_some(row.after),
            idle: tree.functions[row.function as usize].layer == Layer::Idle,
        })
        .collect();
    let ranked = rank_paths(&nodes);
    let kept = ranked.within(MOST_PATHS, MOST_FUNCTIONS);
    let (kept, folded) = ranked.paths.split_at(kept);
    let warning = (!folded.is_empty()).then(|| {
        let cost: f64 = folded.iter().map(|path| path.cost).sum();
        let most = folded.first().map_or(0.0, |path| path.cost);
        let rounded = |cost: f64| (cost * 1000.0).round() / 1000.0;
        let unit = if metric.unit == Unit::Count { &*metric.name } else { metric.unit.name() };
        Warning {
            code: "paths-folded".to_owned(),
            message: format!(
                "only the first {} listed; the others differ by {} {unit} in total, none by more than {}",
                counted(kept.len() as u64, "path is", "paths are"),
                rounded(cost),
                rounded(most),
            ),
            count: folded.len() as u64,
        }
    });
    let paths = (1..).zip(kept).map(|(rank, path)| {
        let above = |row: &usize| nodes[*row].parent.map(|parent| parent as usize);
        let mut rows: Vec<usize> = std::iter::successors(Some(path.leaf as usize), above).collect();
        rows.reverse();
        let own: Vec<f64> = rows.iter().map(|row| tree.rows[*row].after).collect();
        let functions =
            rows.iter().zip(&own).zip(rank_functions(&own)).map(|((row, own), rank)| {
                let before = if path.new { None } else { nodes[*row].before };
                PathFunction {
                    function: tree.functions[tree.rows[*row].function as usize].clone(),
                    latency: *own,
                    delta: own - before.unwrap_or(0.0),
                    rank,
                }
            });
        RankedPath { rank, cost: path.cost, new: path.new, functions: functions.collect() }
    });
    (paths.collect(), warning)
}

impl RankedPath {
    /// Where the function with the highest latency stands on the path: 0 is the root. None on an empty path.
    pub fn hottest(&self) -> Option<usize> {
        self.functions.iter().position(|function| function.rank == 1)
    }

    /// The colours of a heat map of paths: how hot a latency is among all of theirs, 0 to 1, by powers of ten.
    pub fn heat_scale(paths: &[Self]) -> HeatScale {
        let functions = paths.iter().flat_map(|path| &path.functions);
        HeatScale::of(functions.map(|function| function.latency))
    }
}

#[cfg(test)]
mod tests;
