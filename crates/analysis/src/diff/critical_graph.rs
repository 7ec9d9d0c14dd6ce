//! The answer of `--method critical-graph`: `[zam]`, for those who know it and to reproduce it.

use perfblame_blame::{
    Call, CriticalOptions, LeastDelta, Markers, Timelines, critical_graph as compare,
};
use perfblame_cct::{Layer, MetricId, Side, Sides, Unit, Warning};
use perfblame_matching::Wanted;

use super::{CriticalGraph, CriticalNode, Diff, DiffQuery, MinDelta, Verdict, suspect};
use crate::{FunctionView, Loaded};

/// What the paper's evaluation takes for the least difference that counts.
const LEAST_NANOSECONDS: f64 = 50e6;

/// The same for what is not time: the paper's timelines take some seconds, of which its 50 ms are about this share.
const LEAST_SHARE: f64 = 0.01;

/// Stands where a function has its component.
const THREAD: &str = "(thread)";

/// Explains a difference by its critical graph. `metrics` is the compared metric on each side, `scale` what the stored
/// values of each run are multiplied with.
pub(super) fn explain(
    diff: &mut Diff,
    before: &Loaded,
    after: &Loaded,
    metrics: Sides<MetricId>,
    scale: Sides<&[f64]>,
    query: &DiffQuery,
    wanted: Wanted<'_>,
) {
    let loaded = Sides { before, after };
    let runs = loaded.map(|side| side.runs.runs.len());
    let scale = loaded.map_with_side(|side, loaded| {
        let metric = &loaded.runs.metrics[metrics[side].index()];
        let factor = |run: usize| scale[side].get(run).copied().unwrap_or(1.0) * metric.shown(1);
        (0..runs[side]).map(factor).collect::<Vec<f64>>()
    });
    let least = match query.min_delta {
        Some(MinDelta::Absolute(least) | MinDelta::Of(_, least)) => LeastDelta::Absolute(least),
        Some(MinDelta::Share(share)) => LeastDelta::Share(share),
        None if diff.metric.unit == Unit::Nanoseconds => LeastDelta::Absolute(LEAST_NANOSECONDS),
        None => LeastDelta::Share(LEAST_SHARE),
    };
    let graph = compare(
        &Timelines { runs: &before.runs, metric: metrics.before, scale: &scale.before },
        &Timelines { runs: &after.runs, metric: metrics.after, scale: &scale.after },
        &CriticalOptions { least, markers: Markers::LeftOut },
        wanted,
    );
    diff.warnings.extend(unpaired(runs));
    diff.warnings.extend(some(graph.too_different, "matched-by-key", || {
        "callees in a very different order were matched by name only".to_owned()
    }));
    diff.warnings.extend(some(graph.roles_together, "thread-roles-together", || {
        "threads of the cheapest roles are combined in `(other threads)`".to_owned()
    }));
    let nodes: Vec<CriticalNode> = (graph.nodes.into_iter().enumerate())
        .map(|(id, node)| CriticalNode {
            id,
            parent: node.parent,
            function: match node.call {
                Call::Root => pseudo("(root)", None),
                Call::Thread(role) => pseudo(&role, Some(THREAD)),
                Call::Function(function) => FunctionView::of(&after.runs.symbols, function),
            },
            before: node.before,
            after: node.after,
            cause: node.cause,
        })
        .collect();
    // Calls that got faster are not in the graph, so that this is all it can tell.
    let causes = nodes.iter().filter(|node| node.cause);
    diff.verdict = match causes.clone().next() {
        Some(_) => Verdict::Regressed,
        None => Verdict::Unchanged,
    };
    let explained: f64 = causes.map(|node| node.after - node.before.unwrap_or(0.0)).sum();
    diff.unexplained = suspect::unexplained(diff.change.median, explained);
    // What the other methods found is no part of this one's answer.
    diff.suspects.clear();
    diff.improvements.clear();
    diff.moved.clear();
    diff.minor = (0, 0.0);
    diff.runs_needed = None;
    diff.threshold = graph.least;
    diff.graph = Some(CriticalGraph { nodes, threshold: graph.least, pruned: graph.pruned });
}

fn pseudo(name: &str, component: Option<&str>) -> FunctionView {
    FunctionView {
        name: name.to_owned(),
        component: component.map(str::to_owned),
        layer: Layer::Runtime,
        ..FunctionView::default()
    }
}

/// The runs of the longer side that have no partner.
fn unpaired(runs: Sides<usize>) -> Option<Warning> {
    let longer = if runs.before > runs.after { Side::Before } else { Side::After };
    let (most, least) = (runs[longer], runs[longer.other()]);
    some(most - least, "unpaired-runs", || {
        let first = match least {
            1 => format!("first of the {most} runs {longer} has"),
            _ => format!("first {least} of the {most} runs {longer} have"),
        };
        format!(
            "this method compares runs in pairs; only the {first} a partner, the rest were left out"
        )
    })
}

fn some(count: usize, code: &str, message: impl FnOnce() -> String) -> Option<Warning> {
    (count > 0).then(|| Warning { code: code.to_owned(), message: message(), count: count as u64 })
}

#[cfg(test)]
mod tests;
