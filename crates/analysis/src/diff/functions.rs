//! Self costs by function, sorted by their change: the plain table that stands below every explanation.
//!
//! It holds no statistics and leaves nothing to a model, so that a reader can check the suspects against it, and has
//! something to go by where one run on each side allows only a guess.

use perfblame_blame::RunCosts;
use perfblame_cct::{Layer, NodeId, Side, Sides};
use perfblame_matching::{Joint, for_both_sides};

use super::suspect;
use crate::FunctionView;

/// Rows of the table; the rest is counted.
const MOST_ROWS: usize = 15;

/// A change below this part of the larger total is not visible in any rendering.
const VISIBLE: f64 = 1e-3;

/// Where all changes are that small, those count that are this part of the largest.
const OF_THE_LARGEST: f64 = 0.05;

/// Functions with their self costs, the largest change first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FunctionTable {
    /// At most fifteen rows.
    pub rows: Vec<FunctionChange>,
    /// How many more functions changed.
    pub more: usize,
    /// What those changed by together.
    pub rest: f64,
}

/// A function's own cost in a mean run of each side.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionChange {
    /// The function, as it is after (before when it is gone).
    pub function: FunctionView,
    /// Mean self cost before.
    pub before: f64,
    /// Mean self cost after.
    pub after: f64,
}

impl FunctionChange {
    /// After minus before.
    pub fn delta(&self) -> f64 {
        self.after - self.before
    }
}

/// The self cost of every function of both sides in a mean run. Idle time is left out.
pub(super) struct SelfCosts {
    pub(super) functions: Vec<SelfCost>,
    pub(super) total: Sides<f64>,
}

/// What one function costs itself.
pub(super) struct SelfCost {
    /// One of its rows in the joint tree.
    pub(super) row: NodeId,
    pub(super) layer: Layer,
    pub(super) costs: Sides<f64>,
    /// Which sides have it at all, be it only as a caller.
    pub(super) present: Sides<bool>,
}

impl SelfCosts {
    /// `weights` are the self values of every node, all runs of a side added up.
    pub(super) fn of(
        joint: &Joint,
        runs: &Sides<Vec<RunCosts<'_>>>,
        weights: &Sides<Vec<i64>>,
    ) -> Self {
        let classes = joint.class.iter().max().map_or(0, |most| *most as usize + 1);
        let sums = for_both_sides(joint.tree.len(), |side| {
            of_side(joint, side, &runs[side], &weights[side], classes)
        });
        let mut rows: Vec<Option<NodeId>> = vec![None; classes];
        let mut present = vec![Sides::same(false); classes];
        for (row, class) in joint.class.iter().enumerate() {
            let (class, node) = (*class as usize, joint.node.as_ref().map(|nodes| nodes[row]));
            // The name after is the one that people look for.
            if rows[class].is_none() || (node.after.is_some() && !present[class].after) {
                rows[class] = Some(NodeId::new(row));
            }
            present[class].before |= node.before.is_some();
            present[class].after |= node.after.is_some();
        }
        let mut total = Sides::same(0.0);
        let mut functions = Vec::new();
        for (class, row) in rows.into_iter().enumerate() {
            let Some(row) = row else { continue };
            let function = joint.symbols.frame(joint.tree.frame(row)).function;
            let layer = joint.symbols.function(function).layer;
            if layer == Layer::Idle {
                continue;
            }
            let costs = sums.as_ref().map(|sums| sums[class]);
            total.before += costs.before;
            total.after += costs.after;
            functions.push(SelfCost { row, layer, costs, present: present[class] });
        }
        Self { functions, total }
    }

    /// The table.
    pub(super) fn table(&self, joint: &Joint) -> FunctionTable {
        let delta = |cost: &SelfCost| cost.costs.after - cost.costs.before;
        let mut changed: Vec<&SelfCost> =
            self.functions.iter().filter(|cost| delta(cost) != 0.0).collect();
        changed.sort_by(|a, b| {
            let size = |cost: &SelfCost| delta(cost).abs();
            size(b).total_cmp(&size(a)).then(a.row.cmp(&b.row))
        });
        let least = self.total.before.abs().max(self.total.after.abs()) * VISIBLE;
        let largest = changed.first().map_or(0.0, |cost| delta(cost).abs());
        let least = least.min(largest * OF_THE_LARGEST);
        let visible = changed.iter().take_while(|cost| delta(cost).abs() >= least).count();
        let (shown, hidden) = changed.split_at(visible.min(MOST_ROWS));
        let row = |cost: &&SelfCost| FunctionChange {
            function: suspect::view(joint, cost.row),
            before: cost.costs.before,
            after: cost.costs.after,
        };
        FunctionTable {
            rows: shown.iter().map(row).collect(),
            more: hidden.len(),
            rest: hidden.iter().map(|cost| delta(cost)).sum(),
        }
    }
}

/// The self cost of every class in a mean run of a side.
fn of_side(
    joint: &Joint,
    side: Side,
    runs: &[RunCosts<'_>],
    weights: &[i64],
    classes: usize,
) -> Vec<f64> {
    let mut sums = vec![0.0; classes];
    let Some(first) = runs.first() else { return sums };
    let class = |node: usize| joint.class[joint.row_of[side][node].index()] as usize;
    let share = 1.0 / runs.len() as f64;
    // Runs that are as large as each other were added up already.
    if runs.iter().all(|run| run.factor.to_bits() == first.factor.to_bits()) {
        for (node, weight) in weights.iter().enumerate() {
            sums[class(node)] += *weight as f64 * first.factor * share;
        }
        return sums;
    }
    for run in runs {
        for (node, _, value) in run.cells.of(run.metric) {
            sums[class(node.index())] += value as f64 * run.factor * share;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use perfblame_cct::merge_runs;
    use perfblame_fixtures::profile;

    use super::*;
    use crate::{Ask, Diff, DiffQuery, Loaded, diff};

    /// A run for each drawing.
    fn side(runs: &[String]) -> Loaded {
        let runs = merge_runs(runs.iter().map(|run| profile(run)).collect());
        Loaded { names: Vec::new(), runs }
    }

    /// `main` calls each function so often.
    fn run(calls: &[(&str, usize)]) -> String {
        let names = calls.iter().flat_map(|(name, times)| vec![*name; *times]);
        let names: Vec<&str> = names.collect();
        format!("{}\n{}", "main ".repeat(names.len()), names.join(" "))
    }

    fn compared(before: &[String], after: &[String]) -> Diff {
        diff(&side(before), &side(after), &DiffQuery::default(), &Ask::default()).unwrap()
    }

    #[test]
    fn functions_are_sorted_by_the_change_of_their_self_cost() {
        let before = [run(&[("parse", 10), ("draw", 20), ("old", 4)])];
        let after = [run(&[("parse", 11), ("draw", 9), ("load", 6)])];
        let table = compared(&before, &after).functions;
        let rows: Vec<_> =
            table.rows.iter().map(|row| (&*row.function.name, row.before, row.after)).collect();
        let expected =
            [("draw", 20.0, 9.0), ("load", 0.0, 6.0), ("old", 4.0, 0.0), ("parse", 10.0, 11.0)];
        assert_eq!(rows, expected);
        assert_eq!((table.more, table.rest), (0, 0.0));
    }

    #[test]
    fn costs_are_those_of_a_mean_run() {
        let before = [run(&[("parse", 10)]), run(&[("parse", 20)])];
        let after = [run(&[("parse", 30)]), run(&[("parse", 30)]), run(&[("parse", 33)])];
        let table = compared(&before, &after).functions;
        let [parse] = &*table.rows else { panic!("{table:?}") };
        assert_eq!((parse.before, parse.after, parse.delta()), (15.0, 31.0, 16.0));
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let names: Vec<String> = (1..=20).map(|number| format!("f{number}")).collect();
        let calls: Vec<(&str, usize)> =
            names.iter().enumerate().map(|(row, name)| (name.as_str(), row + 1)).collect();
        let table = compared(&[run(&[("main", 1)])], &[run(&calls)]).functions;
        assert_eq!(table.rows.len(), 15);
        assert_eq!(table.rows[0].function.name, "f20");
        // `main` itself lost a sample.
        assert_eq!((table.more, table.rest), (6, 1.0 + 2.0 + 3.0 + 4.0 + 5.0 - 1.0));
    }

    #[test]
    fn a_small_change_is_shown_where_there_is_no_larger_one() {
        let (before, after) = (run(&[("parse", 5000)]), run(&[("parse", 5001), ("draw", 2)]));
        let table = compared(&[before], &[after]).functions;
        let names: Vec<&str> = table.rows.iter().map(|row| &*row.function.name).collect();
        assert_eq!(names, ["draw", "parse"]);
    }

    #[test]
    fn equal_sides_have_no_rows() {
        let runs = [run(&[("parse", 10), ("draw", 20)])];
        assert_eq!(compared(&runs, &runs).functions, FunctionTable::default());
    }
}
