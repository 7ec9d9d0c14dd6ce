//! Some runs of a set: chosen one by one, or grouped by what they are labelled with.
//!
//! Runs of a set share one tree, so that a part of the runs is a list of their rows and copies nothing. Costs of a part
//! are sums over these rows.

use std::collections::BTreeMap;

use crate::rebuild::moved_times;
use crate::runs::BESIDE;
use crate::union::sum;
use crate::{Cct, Cells, Metric, NodeId, Run, RunSet};

/// Runs that have the same value of a label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RunGroup {
    /// The value; none for runs without the label. A run that has several, since it was made of several profiles,
    /// belongs to the group of all of them: `a + b`.
    pub value: Option<String>,
    /// Rows of [`RunSet::runs`], in their order.
    pub runs: Vec<usize>,
}

impl Run {
    /// The values of a label, sorted: mostly one or none.
    pub fn label<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let of_key = self.labels().iter().filter(move |(label, _)| label == key);
        of_key.map(|(_, value)| value.as_str())
    }
}

impl RunSet {
    /// The rows of the runs that `keep` wants, in their order. It gets each run with its row.
    pub fn select(&self, keep: impl Fn(usize, &Run) -> bool) -> Vec<usize> {
        (self.runs.iter().enumerate())
            .filter(|(row, run)| keep(*row, run))
            .map(|(row, _)| row)
            .collect()
    }

    /// Groups the runs by a label. Groups are sorted by value, and runs without the label come last, so that the order
    /// in which runs arrived does not matter. Every run is in one group.
    pub fn group_by(&self, label: &str) -> Vec<RunGroup> {
        let mut groups: BTreeMap<(bool, String), Vec<usize>> = BTreeMap::new();
        for (row, run) in self.runs.iter().enumerate() {
            let values: Vec<&str> = run.label(label).collect();
            let group = groups.entry((values.is_empty(), values.join(BESIDE)));
            group.or_default().push(row);
        }
        (groups.into_iter())
            .map(|((is_without, value), runs)| RunGroup {
                value: (!is_without).then_some(value),
                runs,
            })
            .collect()
    }

    /// The self values of some runs added up, over the nodes, threads and metrics of the set. Rows that there are not
    /// count nothing.
    pub fn sum_of(&self, runs: &[usize]) -> Cells {
        let chosen = runs.iter().filter_map(|row| self.runs.get(*row));
        sum(chosen.map(|run| &run.cells), self.metrics.len())
    }

    /// Some runs as a set of their own, in the order of `runs`: what a comparison takes as one side. Contexts in which
    /// none of them has a value are left out. Symbols and threads stay those of the whole set.
    pub fn subset(&self, runs: &[usize]) -> Self {
        let chosen: Vec<&Run> = runs.iter().filter_map(|row| self.runs.get(*row)).collect();
        let row_of = self.rows_used(&chosen);
        let place = |node: NodeId| row_of.get(node.index()).copied().flatten();
        let kept = || self.tree.nodes().filter(|node| place(*node).is_some());
        let parents = kept().map(|node| self.tree.parent(node).and_then(place)).collect();
        let frames = kept().map(|node| self.tree.frame(node)).collect();
        let moved = |run: &&Run| Run {
            cells: run.cells.moved(place),
            timeline: run.timeline.as_ref().map(|times| moved_times(times, place)),
            ..(*run).clone()
        };
        let period = |row: usize| {
            let mut periods = chosen.iter().map(|run| run.periods.get(row).copied().flatten());
            let first = periods.next().flatten();
            first.filter(|_| periods.all(|period| period == first))
        };
        let metric = |(row, metric): (usize, &Metric)| Metric {
            period: metric.period.or_else(|| period(row)),
            ..metric.clone()
        };
        Self {
            symbols: self.symbols.clone(),
            threads: self.threads.clone(),
            metrics: self.metrics.iter().enumerate().map(metric).collect(),
            tree: Cct::from_preorder(self.tree.grain(), parents, frames),
            runs: chosen.iter().map(moved).collect(),
        }
    }

    /// Rows that the nodes of these runs get when the others are left out.
    fn rows_used(&self, runs: &[&Run]) -> Vec<Option<NodeId>> {
        let mut is_used = vec![false; self.tree.len()];
        for run in runs {
            let timed = run.timeline.iter().flat_map(|times| {
                let samples = times.samples.iter().map(|sample| sample.node);
                samples.chain(times.calls.iter().map(|call| call.node))
            });
            for node in run.cells.keys().map(|(node, _)| node).chain(timed) {
                is_used[node.index()] = true;
            }
        }
        for node in self.tree.nodes().rev() {
            if let Some(parent) = self.tree.parent(node) {
                is_used[parent.index()] |= is_used[node.index()];
            }
        }
        let mut next = 0;
        (is_used.into_iter())
            .map(|used| {
                let row = used.then(|| NodeId::new(next));
                next += usize::from(used);
                row
            })
            .collect()
    }
}
