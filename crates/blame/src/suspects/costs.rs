//! Costs of all runs over the joint tree, in as little memory as the questions allow.
//!
//! Most contexts cost too little to matter. Per-run values are kept for functions and for the contexts that are worth
//! a look; for all others the mean of each side will do.

use perfblame_cct::{Cells, Layer, MetricId, NodeId, Side, Sides};
use perfblame_matching::for_both_sides;

use super::{Evidence, RunCosts};
use crate::noise::Spread;
use crate::suspects::scale::Scale;

/// Contexts below this part of the total are not looked at on their own; their functions still are.
const VISIBLE_SHARE: f64 = 2e-4;
/// Fewer samples than this in a run say less than their times.
const ENOUGH_SAMPLES: f64 = 200.0;
/// Where functions have this part of the time more or less than their samples say, samples are not all alike.
const UNEVEN: f64 = 0.8;

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
    /// Mean inclusive cost of every class, by side: added up over its contexts, so that recursion counts more than once.
    pub(super) class_total: Sides<Vec<f64>>,
    /// True for rows that are the runtime's own, never to be blamed.
    pub(super) runtime: Vec<bool>,
    /// Total of every run, idle time left out.
    pub(super) totals: Vec<f64>,
    /// What each run's costs are taken from, and what they are multiplied with.
    pub(super) values: Vec<RunValues>,
    /// The same for costs as they were recorded.
    pub(super) recorded: Vec<RunValues>,
    /// The rows that answer for others.
    pub(super) owners: Owners,
}

/// The row that answers for each row's own cost: its own, or the nearest above that has a name. All code of a stripped
/// program goes by the name of its file, and is not one function.
pub(super) struct Owners(Vec<u32>);

impl Owners {
    fn of(evidence: &Evidence<'_>) -> Self {
        let (symbols, tree) = (&evidence.joint.symbols, &evidence.joint.tree);
        let nameless: Vec<bool> =
            symbols.functions().map(|(_, function)| is_file(symbols.text(function.name))).collect();
        if !nameless.contains(&true) {
            return Self(Vec::new());
        }
        let mut owners: Vec<u32> = Vec::with_capacity(tree.len());
        for node in tree.nodes() {
            let without = nameless[symbols.frame(tree.frame(node)).function.index()];
            // Callers come first. Where nothing above has a name, the row is as good as any.
            let owner = tree.parent(node).filter(|_| without).map(|parent| owners[parent.index()]);
            let named = owner.filter(|owner| {
                let frame = tree.frame(NodeId::new(*owner as usize));
                !nameless[symbols.frame(frame).function.index()]
            });
            owners.push(named.unwrap_or(node.index() as u32));
        }
        Self(owners)
    }

    /// The row that answers for a row's own cost.
    pub(super) fn of_row(&self, row: usize) -> usize {
        self.0.get(row).map_or(row, |owner| *owner as usize)
    }
}

/// `[libc.so.6]` is where code is, `[libc.so.6+0x1234]` which code it is.
fn is_file(name: &str) -> bool {
    name.starts_with('[') && name.ends_with(']') && !name.contains("+0x")
}

/// Where the costs of a run are taken from.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunValues {
    pub(super) metric: MetricId,
    pub(super) factor: f64,
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
                    blamable[run] += value;
                }
                if !layers.idle[row] {
                    totals[run] += value;
                }
            }
        });
        let owners = Owners::of(evidence);
        let (recorded, quanta) = as_they_are(evidence);
        let (values, mut quanta) = by_samples(evidence, &layers.runtime, &blamable, classes)
            .unwrap_or_else(|| (recorded.clone(), quanta));
        for_each_run(evidence, |run, side, costs| {
            let RunValues { metric, factor } = values[run];
            for_each_value(evidence, &owners, side, costs.cells, metric, |row, value| {
                if !layers.runtime[row] {
                    class_self[joint.class[row] as usize * count + run] += value * factor;
                }
            });
        });
        quanta.sort_by(f64::total_cmp);
        Self {
            runs,
            quantum: quanta.get(quanta.len() / 2).copied().unwrap_or(0.0),
            class_self,
            classes,
            row_self: Sides::default(),
            row_inclusive: Sides::default(),
            class_total: Sides::default(),
            runtime: layers.runtime,
            totals,
            values,
            recorded,
            owners,
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
        for (values, scale) in self.values.iter_mut().zip(&scale.factors) {
            values.factor *= scale;
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
        Sides { before, after }.map(|values| Spread::of(values, self.quantum))
    }

    /// Fills the means of all rows, and finds the contexts that are worth a look, with their costs in every run.
    pub(super) fn visible(&mut self, evidence: &Evidence<'_>) -> Visible {
        let joint = evidence.joint;
        let rows = joint.tree.len();
        let Self { runtime, values, runs, classes, owners, .. } = self;
        let of = for_both_sides(rows, |side| {
            let share = 1.0 / runs[side] as f64;
            let mut means = vec![0.0; rows];
            let first_run = if side == Side::Before { 0 } else { runs.before };
            for (costs, values) in evidence.runs[side].iter().zip(&values[first_run..]) {
                let factor = values.factor * share;
                for_each_value(evidence, owners, side, costs.cells, values.metric, |row, value| {
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
        self.class_total = self.row_inclusive.as_ref().map(|costs| {
            let mut totals = vec![0.0; *classes];
            for (class, cost) in joint.class.iter().zip(costs) {
                totals[*class as usize] += cost;
            }
            totals
        });
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
        let count = values.len();
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
            let RunValues { metric, factor } = values[run];
            for_each_value(evidence, owners, side, costs.cells, metric, |row, value| {
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

/// Values as they are, and what one sample stands for in each run.
fn as_they_are(evidence: &Evidence<'_>) -> (Vec<RunValues>, Vec<f64>) {
    let runs = || evidence.runs.into_iter().flatten();
    let values = runs().map(|run| RunValues { metric: run.metric, factor: run.factor });
    (values.collect(), runs().map(|run| run.quantum * run.factor).collect())
}

/// Where times are those between samples: every sample of a run stands for the same time, so that together they are as
/// long as the run was. On a busy machine the time to the next sample also holds time in which nothing ran; samples
/// scatter far less. None where samples are not what the values were made of.
fn by_samples(
    evidence: &Evidence<'_>,
    runtime: &[bool],
    blamable: &[f64],
    classes: usize,
) -> Option<(Vec<RunValues>, Vec<f64>)> {
    let mut found = Vec::with_capacity(blamable.len());
    let mut of_class = vec![(0.0, 0.0); classes];
    for_each_run(evidence, |run, side, costs| {
        found.push(costs.samples.and_then(|samples| {
            of_class.fill((0.0, 0.0));
            let mut all = 0.0;
            let place = &evidence.joint.row_of[side];
            for (node, value, taken) in costs.cells.of_both(costs.metric, samples) {
                let row = place[node.index()].index();
                if !runtime[row] {
                    all += taken as f64;
                    let (time, count) = &mut of_class[evidence.joint.class[row] as usize];
                    *time += value as f64 * costs.factor;
                    *count += taken as f64;
                }
            }
            // Some writers merge samples of the same stack into one: then a sample is as long as its time says.
            let each = blamable[run] / all;
            let off: f64 = of_class.iter().map(|(time, count)| (time - count * each).abs()).sum();
            (all >= ENOUGH_SAMPLES && off <= blamable[run] * UNEVEN)
                .then_some(RunValues { metric: samples, factor: each })
        }));
    });
    let values: Vec<RunValues> = found.into_iter().collect::<Option<_>>()?;
    let quanta = values.iter().map(|values| values.factor).collect();
    Some((values, quanta))
}

/// Calls `visit` with every row and value of a run.
fn for_each_value(
    evidence: &Evidence<'_>,
    owners: &Owners,
    side: Side,
    cells: &Cells,
    metric: MetricId,
    mut visit: impl FnMut(usize, f64),
) {
    let joint = evidence.joint;
    let place = &joint.row_of[side];
    for (node, _, value) in cells.of(metric) {
        visit(owners.of_row(place[node.index()].index()), value as f64);
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
