//! From two loaded sides to an answer.

use perfblame_cct::{Metric, MetricId, RunSet};
use perfblame_matching::{Identity, Joint, Link, Side, join, match_anchored};

use super::{Diff, DiffError, DiffQuery, DiffRow, DiffTree, Estimate, Fate, SideTotals, Verdict};
use crate::{FunctionView, Loaded};

/// Compares two sides.
pub fn diff(before: &Loaded, after: &Loaded, query: &DiffQuery) -> Result<Diff, DiffError> {
    let metric = choose(&before.runs, &after.runs, query.metric.as_deref())?;
    let weights = [(&before.runs, metric.before), (&after.runs, metric.after)]
        .map(|(set, metric)| self_weights(set, metric));
    let old = Side { symbols: &before.runs.symbols, tree: &before.runs.tree, weights: &weights[0] };
    let new = Side { symbols: &after.runs.symbols, tree: &after.runs.tree, weights: &weights[1] };
    let identity = Identity::of(&old, &new);
    let matching = match_anchored(&old, &new, &identity);
    let joint = join(&old, &new, &identity, &matching);
    let tree = tree(&joint, &weights, [before.runs.runs.len(), after.runs.runs.len()]);
    let totals = |side: &Loaded, metric: MetricId| {
        let totals: Vec<f64> =
            side.runs.runs.iter().map(|run| run.cells.total(metric) as f64).collect();
        let mut sorted = totals.clone();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        let (low, high) = (sorted.first().copied(), sorted.last().copied());
        let total = Estimate { median, low: low.unwrap_or(0.0), high: high.unwrap_or(0.0) };
        SideTotals { inputs: side.names.clone(), totals, total }
    };
    let (before_totals, after_totals) =
        (totals(before, metric.before), totals(after, metric.after));
    let change = after_totals.total.median - before_totals.total.median;
    Ok(Diff {
        method: query.method,
        metric: metric.metric,
        verdict: Verdict::Inconclusive,
        before: before_totals,
        after: after_totals,
        change: Estimate { median: change, low: change, high: change },
        p_value: None,
        threshold: 0.0,
        normalised: None,
        suspects: Vec::new(),
        improvements: Vec::new(),
        runtime: Vec::new(),
        unexplained: change,
        runs_needed: None,
        graph: None,
        paths: Vec::new(),
        tree,
        warnings: Vec::new(),
    })
}

/// The metric of both sides.
struct Chosen {
    before: MetricId,
    after: MetricId,
    metric: Metric,
}

fn choose(before: &RunSet, after: &RunSet, wanted: Option<&str>) -> Result<Chosen, DiffError> {
    let partner = |metric: &Metric| {
        let same = |other: &Metric| other.name == metric.name && other.unit == metric.unit;
        after.metrics.iter().position(same).map(MetricId::new)
    };
    let has_values =
        |set: &RunSet, metric: MetricId| set.runs.iter().any(|run| run.cells.total(metric) != 0);
    let rows = before.metrics.iter().enumerate();
    let common: Vec<(MetricId, MetricId)> =
        rows.filter_map(|(row, metric)| Some((MetricId::new(row), partner(metric)?))).collect();
    let chosen = |(before_metric, after_metric): (MetricId, MetricId)| Chosen {
        before: before_metric,
        after: after_metric,
        metric: before.metrics[before_metric.index()].clone(),
    };
    if let Some(wanted) = wanted {
        let name = |pair: &(MetricId, MetricId)| before.metrics[pair.0.index()].name.clone();
        return common.iter().find(|pair| name(pair) == wanted).copied().map(chosen).ok_or_else(
            || DiffError::Metric {
                side: if before.metric(wanted).is_none() { "before" } else { "after" },
                wanted: wanted.to_owned(),
                known: common.iter().map(name).collect(),
            },
        );
    }
    let valued =
        |pair: &&(MetricId, MetricId)| has_values(before, pair.0) || has_values(after, pair.1);
    let names = |set: &RunSet| set.metrics.iter().map(|metric| metric.name.clone()).collect();
    let first = common.iter().find(valued).or(common.first());
    first
        .copied()
        .map(chosen)
        .ok_or_else(|| DiffError::NothingInCommon { before: names(before), after: names(after) })
}

/// Self weight of every node, all runs added up.
fn self_weights(set: &RunSet, metric: MetricId) -> Vec<i64> {
    let mut weights = vec![0i64; set.tree.len()];
    for run in &set.runs {
        for (node, _, value) in run.cells.of(metric) {
            weights[node.index()] = weights[node.index()].saturating_add(value);
        }
    }
    weights
}

fn tree(joint: &Joint, weights: &[Vec<i64>; 2], runs: [usize; 2]) -> DiffTree {
    let mean = |side: usize, node: Option<perfblame_cct::NodeId>| {
        let weight = node.map_or(0, |node| weights[side][node.index()]);
        weight as f64 / runs[side].max(1) as f64
    };
    let rows = joint.tree.nodes().map(|node| {
        let row = node.index();
        let function = joint.symbols.frame(joint.tree.frame(node)).function;
        DiffRow {
            parent: joint.tree.parent(node).map(|parent| parent.index() as u32),
            function: function.index() as u32,
            before: mean(0, joint.before[row]),
            after: mean(1, joint.after[row]),
            fate: match (joint.before[row], joint.after[row], joint.link[row]) {
                (None, _, _) => Fate::New,
                (_, None, _) => Fate::Gone,
                (_, _, Link::Same) => Fate::Kept,
                (_, _, Link::Renamed) => Fate::Renamed,
                _ => Fate::Moved,
            },
        }
    });
    let functions =
        joint.symbols.functions().map(|(id, _)| FunctionView::of(&joint.symbols, id)).collect();
    DiffTree { rows: rows.collect(), functions }
}
