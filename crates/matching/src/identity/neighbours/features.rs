//! The classes of callers and callees of open functions.

use std::ops::RangeInclusive;

use perfblame_cct::Side;

use super::super::call_graph::{CallGraph, ROOT};
use super::super::work::{FunctionRow, NONE, Work};

/// A feature: the class of a neighbour, and whether it calls (0) or is called (1).
pub(super) type Feature = u64;

/// The heaviest so many neighbours of each kind are looked at.
const MOST_FEATURES: usize = 32;

/// Square roots of shares are in this unit: a share of 1 is 1024.
pub(super) const UNIT: u32 = 1024;

/// Features of one side's open functions.
pub(super) struct Features {
    start: Vec<u32>,
    /// Sorted by feature within a function. The weight is the square root of the neighbour's share of what is known,
    /// so that a callee that got ten times slower does not drown all others.
    items: Vec<(Feature, u32)>,
    /// All of them sorted by feature, then by the component of the function that has it.
    index: Vec<(Feature, u32, FunctionRow)>,
    /// By function, how much of its callers' and callees' weight has a class, of 1024; none without any.
    known: Vec<[Option<u32>; 2]>,
}

impl Features {
    pub fn of(work: &Work<'_>, graph: &CallGraph, side: Side) -> Self {
        let rows = work.class[side].len();
        let mut features = Self {
            start: Vec::with_capacity(rows + 1),
            items: Vec::new(),
            index: Vec::new(),
            known: vec![[None; 2]; rows],
        };
        let mut scratch: Vec<(Feature, u64)> = Vec::new();
        for row in 0..rows as FunctionRow {
            features.start.push(features.items.len() as u32);
            if !work.is_open(side, row) {
                continue;
            }
            for (kind, edges) in [&graph.callers, &graph.callees].into_iter().enumerate() {
                scratch.clear();
                let (mut all, mut known) = (0u64, 0u64);
                for (neighbour, weight) in edges.of_function(row) {
                    let class = match *neighbour {
                        ROOT => ROOT,
                        // Calling itself is a feature of its own.
                        this if this == row => NONE,
                        other if work.is_open(side, other) => {
                            all = all.saturating_add(*weight);
                            continue;
                        }
                        other => work.class[side][other as usize],
                    };
                    all = all.saturating_add(*weight);
                    known = known.saturating_add(*weight);
                    scratch.push((u64::from(class) << 1 | kind as u64, *weight));
                }
                if all > 0 {
                    let part = u128::from(known) * u128::from(UNIT) / u128::from(all);
                    features.known[row as usize][kind] = Some(part as u32);
                }
                scratch.sort_unstable();
                scratch.dedup_by(|later, first| {
                    let same = later.0 == first.0;
                    if same {
                        first.1 = first.1.saturating_add(later.1);
                    }
                    same
                });
                if scratch.len() > MOST_FEATURES {
                    scratch.sort_by_key(|(feature, weight)| (std::cmp::Reverse(*weight), *feature));
                    scratch.truncate(MOST_FEATURES);
                    scratch.sort_unstable();
                }
                for (feature, weight) in &scratch {
                    let share = u128::from(*weight) * u128::from(UNIT * UNIT) / u128::from(known);
                    features.items.push((*feature, (share as u64).isqrt() as u32));
                    features.index.push((*feature, work.home[side][row as usize], row));
                }
            }
            let start = features.start[row as usize] as usize;
            features.items[start..].sort_unstable();
        }
        features.start.push(features.items.len() as u32);
        features.index.sort_unstable();
        features
    }

    /// The features of an open function with their weights, sorted.
    pub fn of_row(&self, row: FunctionRow) -> &[(Feature, u32)] {
        let row = row as usize;
        &self.items[self.start[row] as usize..self.start[row + 1] as usize]
    }

    /// The open functions that have a feature.
    pub fn sharing(&self, feature: Feature) -> &[(Feature, u32, FunctionRow)] {
        self.range((feature, 0)..=(feature, u32::MAX))
    }

    /// The open functions of a component that have a feature.
    pub fn sharing_at_home(&self, feature: Feature, home: u32) -> &[(Feature, u32, FunctionRow)] {
        self.range((feature, home)..=(feature, home))
    }

    fn range(&self, keys: RangeInclusive<(Feature, u32)>) -> &[(Feature, u32, FunctionRow)] {
        let start = self.index.partition_point(|row| (row.0, row.1) < *keys.start());
        let end = self.index.partition_point(|row| (row.0, row.1) <= *keys.end());
        &self.index[start..end]
    }

    /// How much of the callers' (0) or callees' (1) weight has a class, of 1024; none without any.
    pub fn known(&self, row: FunctionRow, kind: usize) -> Option<u32> {
        self.known[row as usize][kind]
    }

    /// The classes of the callers, as features.
    pub fn callers_of(&self, row: FunctionRow) -> Vec<Feature> {
        let callers = self.of_row(row).iter().map(|(feature, _)| *feature);
        callers.filter(|feature| feature & 1 == 0).collect()
    }

    /// Every feature of every component once, with how many of its open functions have it.
    pub fn counts(&self) -> impl Iterator<Item = ((Feature, u32), u32)> {
        let groups = self.index.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1));
        groups.map(|group| ((group[0].0, group[0].1), group.len() as u32))
    }
}
