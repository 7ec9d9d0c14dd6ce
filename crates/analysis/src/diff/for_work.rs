//! Waiting that only follows the length of the recording.
//!
//! One trace does not always tell whether a thread waits for work or within it; two sides with several runs tell more.
//! - Where a thread does next to nothing but wait, before and after, for all of its life or within one long call, the
//!   wait is as long as the recording and explains nothing. So are sleeps, if each is as long as before: that is what
//!   timers do. Threads that do a good part of the program's work are another matter: what they wait for may delay it.
//! - Where most of the waiting in a place is known to be for work, the rest of it is as well: in a short run a thread
//!   comes round too seldom for its loop to be seen.
//!
//! Such waiting is moved aside, to the pseudo-function that inference uses. The first rule holds for samples by the clock
//! as well, where the names of functions tell who waits, though not how often.

mod leaves;
mod traced;

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use perfblame_cct::{MetricId, NodeId, RunSet, Side, Sides, Unit};
use perfblame_latency::{LATENCY, WAITING};
use perfblame_matching::Joint;

use traced::{Steady, Traced, Waiting};

/// The metric of samples by the clock, which hit threads that wait as well as those that run.
const WALL: &str = "wall";

/// Both sides without waiting that follows from the length of the recordings; none where nothing is to be moved.
pub(super) fn set_aside(
    sets: Sides<&RunSet>,
    ids: Sides<MetricId>,
    joint: &Joint,
) -> Option<Sides<RunSet>> {
    let both = |name: &str| {
        sets.zip(ids).iter().all(|(set, id)| {
            let metric = &set.metrics[id.index()];
            metric.name == name && metric.unit == Unit::Nanoseconds
        })
    };
    let traced = both(LATENCY) && sets.iter().any(|set| set.metric(WAITING).is_some());
    if !traced && !both(WALL) {
        return None;
    }
    let sides = Sides::of(|side| Traced::of(sets[side], ids[side], &joint.row_of[side]));
    let steady = steady_rows(&sides);
    let known = rows_for_work(&sides);
    if steady.is_empty() && known.is_empty() {
        return None;
    }
    let mut moved = false;
    let settled = Sides::of(|side| {
        let traced = &sides[side];
        let mut set = sets[side].clone();
        for (run, looked) in set.runs.iter_mut().zip(&traced.runs) {
            let goes = |cell: &Waiting| {
                let everywhere = steady.contains(&cell.row);
                everywhere || cell.may_be_for_work() && known.contains(&cell.row)
            };
            let moves: Vec<&Waiting> = looked.waits.iter().filter(|cell| goes(cell)).collect();
            if !moves.is_empty() {
                moved = true;
                run.cells = traced.without(&run.cells, &moves);
            }
        }
        set
    });
    moved.then_some(settled)
}

/// Places where threads do next to nothing but wait, in every run of both sides.
fn steady_rows(sides: &Sides<Traced>) -> HashSet<NodeId> {
    let found = sides.as_ref().map(|side| {
        let mut rows: BTreeMap<NodeId, Steady> = BTreeMap::new();
        for run in &side.runs {
            for (row, steady) in run.steady() {
                let slot = rows.entry(row).or_default();
                *slot = slot.and(&steady);
            }
        }
        rows
    });
    let mut rows = HashSet::new();
    for (row, before) in &found.before {
        if found.after.get(row).is_some_and(|after| Steady::holds(before, after)) {
            rows.insert(*row);
        }
    }
    rows
}

/// Places where most of the waiting is known to be for work, in all runs of both sides together.
fn rows_for_work(sides: &Sides<Traced>) -> HashSet<NodeId> {
    let mut sums: HashMap<NodeId, [i64; 2]> = HashMap::new();
    for run in Side::BOTH.into_iter().flat_map(|side| &sides[side].runs) {
        for (row, value) in &run.for_work {
            sums.entry(*row).or_default()[0] += value;
        }
        for wait in run.waits.iter().filter(|wait| wait.may_be_for_work()) {
            sums.entry(wait.row).or_default()[1] += wait.total;
        }
    }
    let mostly =
        |(row, [idle, unsure]): (NodeId, [i64; 2])| (idle >= unsure && idle > 0).then_some(row);
    sums.into_iter().filter_map(mostly).collect()
}

#[cfg(test)]
mod tests;
