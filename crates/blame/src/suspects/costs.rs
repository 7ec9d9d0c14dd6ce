//! Costs of all runs over the joint tree, in as little memory as the questions allow.
//!
//! Most contexts cost too little to matter. Per-run values are kept for functions and for the contexts that are worth
//! a look; for all others the mean of each side will do.

use perfblame_cct::{Layer, NodeId, Side, Sides};
use perfblame_matching::for_both_sides;

use super::{Evidence, RunCosts};
use crate::noise::Spread;
use crate::suspects::scale::Scale;

/// Contexts below this part of the total are not looked at on their own; their functions still are.
const VISIBLE_SHARE: f64 = 2e-4;

/// What all runs cost, by function and by context.
pub(super) struct Costs {
    /// How many runs there are on each side.
    pub(super) runs: Sides<usize>,
    /// What one sample stands for; 0 for exact values.
    pub(super) quantum: f64,
    /// Self cost of every class in every run: `class * runs + run`, the before side's runs first.
    pub(super) class_self: Vec<f64>,
    /// How many classes there are.
    pub(super) classes: usize,
    /// Mean self cost of every row, by side.
    pub(super) row_self: Sides<Vec<f64>>,
    /// Mean inclusive cost of every row, by side; without what the runtime itself costs.
    pub(super) row_inclusive: Sides<Vec<f64>>,
    /// True for rows that are the runtime's own, never to be blamed.
    pub(super) runtime: Vec<bool>,
    /// Total of every run, idle time left out.
    pub(super) totals: Vec<f64>,
    /// Total of every run without the runtime's own costs: what can be blamed.
    pub(super) blamable: Vec<f64>,
    /// What costs of each run are multiplied with.
    pub(super) factors: Vec<f64>,
}

impl Costs {
    pub(super) fn of(evidence: &Evidence<'_>) -> Self {
        let joint = evidence.joint;
        let layers = Layers::of(evidence);
        let runs = evidence.runs.map(<[_]>::len);
        let count = runs.before + runs.after;
        let classes = joint.class.iter().max().map_or(0, |most| *most as usize + 1);
        let mut class_self = vec![0.0; classes * count];
        let mut totals = vec![0.0; count];
        let mut blamable = vec![0.0; count];
        for_each_run(evidence, |run, side, costs| {
            let place = &joint.row_of[side];
            for (node, _, value) in costs.cells.of(costs.metric) {
                let row = place[node.index()].index();
                let value = value as f64 * costs.factor;
                if !layers.runtime[row] {
                    class_self[joint.class[row] as usize * count + run] += value;
                    blamable[run] += value;
                }
                if !layers.idle[row] {
                    totals[run] += value;
                }
            }
        });
        let mut quanta: Vec<f64> =
            (evidence.runs.into_iter().flatten()).map(|run| run.quantum * run.factor).collect();
        quanta.sort_by(f64::total_cmp);
        Self {
            runs,
            quantum: quanta.get(quanta.len() / 2).copied().unwrap_or(0.0),
            class_self,
            classes,
            row_self: Sides::default(),
            row_inclusive: Sides::default(),
            runtime: layers.runtime,
            totals,
            blamable,
            factors: evidence.runs.into_iter().flatten().map(|run| run.factor).collect(),
        }
    }

    /// How many runs there are in all.
    pub(super) fn count(&self) -> usize {
        self.runs.before + self.runs.after
    }

    /// The self costs of a class, by run.
    pub(super) fn of_class(&self, class: usize) -> &[f64] {
        &self.class_self[class * self.count()..(class + 1) * self.count()]
    }

    /// Scales all runs.
    pub(super) fn apply(&mut self, scale: &Scale) {
        let count = self.count();
        for (row, value) in self.class_self.iter_mut().enumerate() {
            *value *= scale.factors[row % count.max(1)];
        }
        for (factor, scale) in self.factors.iter_mut().zip(&scale.factors) {
            *factor *= scale;
        }
    }

    /// Means and spreads on both sides, of functions and of contexts: functions show how small costs scatter, contexts
    /// with all they call how large ones do.
    pub(super) fn spreads(&self, visible: &Visible) -> Vec<Spread> {
        let mut spreads: Vec<Spread> =
            (0..self.classes).flat_map(|class| self.sides(self.of_class(class))).collect();
        for at in 0..visible.len() {
            let whole = visible.whole(at);
            // A call that does nearly all of what its caller does says the same twice.
            let again = visible.parent[at].is_some_and(|parent| {
                let above = visible.whole(parent as usize);
                whole.iter().sum::<f64>() > above.iter().sum::<f64>() * 0.9
            });
            if !again {
                spreads.extend(self.sides(whole));
            }
        }
        spreads
    }

    /// Mean and spread of one cost, by side.
    pub(super) fn sides(&self, values: &[f64]) -> Sides<Spread> {
        let (before, after) = values.split_at(self.runs.before);
        Sides { before: Spread::of(before), after: Spread::of(after) }
    }

    /// Fills the means of all rows, and finds the contexts that are worth a look, with their costs in every run.
    pub(super) fn visible(&mut self, evidence: &Evidence<'_>) -> Visible {
        let joint = evidence.joint;
        let rows = joint.tree.len();
        let Self { runtime, factors, runs, .. } = self;
        let of = for_both_sides(rows, |side| {
            let share = 1.0 / runs[side] as f64;
            let mut means = vec![0.0; rows];
            let first_run = if side == Side::Before { 0 } else { runs.before };
            for (costs, factor) in evidence.runs[side].iter().zip(&factors[first_run..]) {
                let factor = factor * share;
                for_each_value(evidence, side, *costs, |row, value| {
                    if !runtime[row] {
                        means[row] += value * factor;
                    }
                });
            }
            let whole = inclusive(evidence, &means);
            (means, whole)
        });
        self.row_self = Sides { before: of.before.0, after: of.after.0 };
        self.row_inclusive = Sides { before: of.before.1, after: of.after.1 };
        let total = self
            .row_inclusive
            .as_ref()
            .map(|costs| -> f64 { joint.tree.roots().map(|root| costs[root.index()]).sum() });
        let least = (total.before.max(total.after) * VISIBLE_SHARE).max(self.quantum);
        let shown = |row: &u32| {
            let row = *row as usize;
            self.row_inclusive.before[row].max(self.row_inclusive.after[row]) >= least
        };
        let shown: Vec<u32> = (0..rows as u32).filter(shown).collect();
        let count = factors.len();
        let mut place = vec![u32::MAX; rows];
        for (at, row) in shown.iter().enumerate() {
            place[*row as usize] = at as u32;
        }
        let mut visible = Visible {
            parent: Vec::with_capacity(shown.len()),
            end: vec![0; shown.len()],
            own: vec![0.0; shown.len() * count],
            whole: vec![0.0; shown.len() * count],
            rows: shown,
            runs: count,
        };
        // A row too small to be shown adds to the nearest one above it that is.
        let mut nearest = vec![u32::MAX; rows];
        for node in joint.tree.nodes() {
            let row = node.index();
            nearest[row] = match (place[row], joint.tree.parent(node)) {
                (u32::MAX, Some(parent)) => nearest[parent.index()],
                (at, _) => at,
            };
        }
        for_each_run(evidence, |run, side, costs| {
            let factor = factors[run];
            for_each_value(evidence, side, costs, |row, value| {
                if runtime[row] {
                    return;
                }
                let value = value * factor;
                if place[row] != u32::MAX {
                    visible.own[place[row] as usize * count + run] += value;
                }
                if nearest[row] != u32::MAX {
                    visible.whole[nearest[row] as usize * count + run] += value;
                }
            });
        });
        for at in 0..visible.rows.len() {
            let node = NodeId::new(visible.rows[at] as usize);
            let parent = joint.tree.parent(node).map(|parent| place[parent.index()]);
            visible.parent.push(parent.filter(|parent| *parent != u32::MAX));
            let end = joint.tree.subtree(node).end as u32;
            visible.end[at] = (at + visible.rows[at..].partition_point(|row| *row < end)) as u32;
        }
        for at in (0..visible.rows.len()).rev() {
            if let Some(parent) = visible.parent[at] {
                let (above, below) = visible.whole.split_at_mut(at * count);
                let into = &mut above[parent as usize * count..][..count];
                for (into, from) in into.iter_mut().zip(&below[..count]) {
                    *into += from;
                }
            }
        }
        visible
    }
}

fn inclusive(evidence: &Evidence<'_>, own: &[f64]) -> Vec<f64> {
    let tree = &evidence.joint.tree;
    let mut total = own.to_vec();
    for row in (0..total.len()).rev() {
        if let Some(parent) = tree.parent(NodeId::new(row)) {
            total[parent.index()] += total[row];
        }
    }
    total
}

/// Calls `visit` with every run: its number, its side, its costs.
pub(super) fn for_each_run<'a>(
    evidence: &Evidence<'a>,
    mut visit: impl FnMut(usize, Side, RunCosts<'a>),
) {
    let before = evidence.runs.before.iter().map(|costs| (Side::Before, costs));
    let after = evidence.runs.after.iter().map(|costs| (Side::After, costs));
    for (run, (side, costs)) in before.chain(after).enumerate() {
        visit(run, side, *costs);
    }
}

/// Calls `visit` with every row and value of a run.
fn for_each_value(
    evidence: &Evidence<'_>,
    side: Side,
    costs: RunCosts<'_>,
    mut visit: impl FnMut(usize, f64),
) {
    let joint = evidence.joint;
    let place = &joint.row_of[side];
    for (node, _, value) in costs.cells.of(costs.metric) {
        visit(place[node.index()].index(), value as f64);
    }
}

/// The contexts that are worth a look, in pre-order.
pub(super) struct Visible {
    /// Their rows in the joint tree.
    pub(super) rows: Vec<u32>,
    /// The place of the caller.
    pub(super) parent: Vec<Option<u32>>,
    /// One past the last descendant.
    pub(super) end: Vec<u32>,
    /// Self cost in every run.
    own: Vec<f64>,
    /// Inclusive cost in every run, with what is below and not shown.
    whole: Vec<f64>,
    runs: usize,
}

impl Visible {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn own(&self, at: usize) -> &[f64] {
        &self.own[at * self.runs..(at + 1) * self.runs]
    }

    pub(super) fn whole(&self, at: usize) -> &[f64] {
        &self.whole[at * self.runs..(at + 1) * self.runs]
    }

    /// The place of a row of the joint tree, when it is worth a look.
    pub(super) fn place_of(&self, row: NodeId) -> Option<usize> {
        self.rows.binary_search(&(row.index() as u32)).ok()
    }

    /// The places of the callees.
    pub(super) fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        let end = self.end[at] as usize;
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let child = next;
            (child < end).then(|| {
                next = self.end[child] as usize;
                child
            })
        })
    }
}

/// Whose rows the joint tree's are.
struct Layers {
    runtime: Vec<bool>,
    idle: Vec<bool>,
}

impl Layers {
    fn of(evidence: &Evidence<'_>) -> Self {
        let symbols = &evidence.joint.symbols;
        let tree = &evidence.joint.tree;
        let functions = symbols.functions().len();
        let (mut runtime, mut idle) = (vec![false; functions], vec![false; functions]);
        for (id, function) in symbols.functions() {
            // The engine's own time has no function; profilers put such frames in brackets.
            let bracketed = symbols.text(function.name).starts_with('(');
            idle[id.index()] = function.layer == Layer::Idle;
            runtime[id.index()] = match function.layer {
                Layer::Idle | Layer::GarbageCollection => true,
                Layer::Runtime => bracketed,
                _ => false,
            };
        }
        let rows = |of_function: &[bool]| {
            let of = |node| of_function[symbols.frame(tree.frame(node)).function.index()];
            tree.nodes().map(of).collect()
        };
        Self { runtime: rows(&runtime), idle: rows(&idle) }
    }
}
