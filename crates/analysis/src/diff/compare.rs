//! From two loaded sides to an answer.

use perfblame_blame::{Evidence, Explanation, Finding, RunCosts, SuspectOptions, suspects};
use perfblame_cct::{Measure, Metric, MetricId, RunSet, Sides, Unit, Warning};
use perfblame_matching::{Identity, Joint, Link, SideTree, Wanted, join, match_anchored_while};

use super::comparable::{Scaling, quantum, unequal_lengths};
use super::different::{different_programs, different_work};
use super::functions::SelfCosts;
use super::metric::choose;
use super::suspect::runtime_growth;
use super::{
    Diff, DiffError, DiffQuery, DiffRow, DiffTree, Estimate, Fate, FunctionTable, Method,
    RuntimeCost, SideTotals, critical_graph, for_work, inferred, labels, paths, stages, suspect,
    waits, warnings, was,
};
use crate::ask::{Ask, Phase};
use crate::{FunctionView, Loaded};

/// Compares two sides.
pub fn diff(
    before: &Loaded,
    after: &Loaded,
    query: &DiffQuery,
    ask: &Ask,
) -> Result<Diff, DiffError> {
    compare(before, after, query, ask, |_, _, _| ()).map(|(diff, ())| diff)
}

/// Compares two sides and draws both trees as one, which pages and [`attribute`](crate::attribute) need.
pub fn diff_with_tree(
    before: &Loaded,
    after: &Loaded,
    query: &DiffQuery,
    ask: &Ask,
) -> Result<(Diff, DiffTree), DiffError> {
    compare(before, after, query, ask, |drawn, joint, runs| {
        drawn.unwrap_or_else(|| tree(joint, runs))
    })
}

/// Compares two sides. `also` sees the tree, where the method drew it, and what trees are drawn from.
fn compare<T>(
    before: &Loaded,
    after: &Loaded,
    query: &DiffQuery,
    ask: &Ask,
    also: impl FnOnce(Option<DiffTree>, &Joint, &Sides<Vec<RunCosts<'_>>>) -> T,
) -> Result<(Diff, T), DiffError> {
    ask.enter(Phase::Identifying)?;
    let is_wanted = || ask.is_wanted();
    let wanted = Wanted::so_long_as(&is_wanted);
    let metric = choose(&before.runs, &after.runs, query.metric.as_deref())?;
    if let Some(least) = query.min_delta {
        least.fits(&metric.metric.name, &metric.metric.unit)?;
    }
    let sets = Sides { before: &before.runs, after: &after.runs };
    let ids = metric.ids;
    let scaling = Scaling::of(sets, ids, query)?;
    let weights = sets.zip(ids).map(|(set, metric)| self_weights(set, metric));
    let sides = sets.map_with_side(|side, set| SideTree {
        symbols: &set.symbols,
        tree: &set.tree,
        weights: &weights[side],
    });
    let staged = (query.method == Method::Stages).then(|| {
        let labels = match &query.changes {
            Some(changes) => labels::of_changes(&sides, changes),
            None => labels::inferred(&sides),
        };
        (stages::take_apart(&sides, &labels, &metric.metric, wanted), labels)
    });
    let own;
    let (identity, matching) = if let Some((staged, _)) = &staged {
        (&staged.identity, &staged.matching)
    } else {
        let identity = Identity::of_while(&sides.before, &sides.after, wanted);
        ask.enter(Phase::Matching)?;
        let matching = match_anchored_while(&sides.before, &sides.after, &identity, wanted);
        own = (identity, matching);
        (&own.0, &own.1)
    };
    // Whatever ended early is not complete.
    ask.go_on()?;
    let joint = join(&sides.before, &sides.after, identity, matching);
    let settled = for_work::set_aside(sets, ids, &joint);
    let sets = settled.as_ref().map_or(sets, Sides::as_ref);
    let runs = Sides::of(|side| {
        // Values are as users see them from here on.
        let shown = sets[side].metrics[ids[side].index()].shown(1);
        let calls = sets[side].metric("calls").filter(|calls| *calls != ids[side]);
        let samples = samples_of(sets[side], ids[side]);
        let of_run = sets[side].runs.iter().zip(&scaling.factors[side]);
        of_run
            .map(|(run, factor)| RunCosts {
                cells: &run.cells,
                metric: ids[side],
                calls,
                samples,
                factor: factor * shown,
                quantum: quantum(&metric.metric, run, ids[side]),
            })
            .collect::<Vec<_>>()
    });
    let evidence = Evidence {
        joint: &joint,
        runs: runs.as_ref().map(Vec::as_slice),
        exact: metric.metric.measure == Measure::Exact && metric.metric.unit != Unit::Nanoseconds,
        waits: waits::is_waiting(&metric.metric),
    };
    let typical = |runs: &[RunCosts<'_>]| {
        let totals = runs.iter().map(|run| run.cells.total(run.metric) as f64 * run.factor);
        totals.sum::<f64>() / runs.len().max(1) as f64
    };
    let min_delta = query.min_delta.map(|least| least.of(typical(&runs.before)));
    ask.enter(Phase::Explaining)?;
    let found = suspects(&evidence, SuspectOptions { min_delta });
    let mut diff = answer(before, after, query, metric.metric, &joint, &runs, &found);
    diff.normalised = scaling.words;
    let findings = found.suspects.iter().chain(&found.improvements);
    let explained = findings.map(|finding| finding.delta.value).sum::<f64>() / found.change.value;
    // What was set aside is no longer where it was recorded.
    let moved = settled
        .as_ref()
        .map(|sets| sets.as_ref().zip(ids).map(|(set, metric)| self_weights(set, metric)));
    let own_costs = SelfCosts::of(&joint, &runs, moved.as_ref().unwrap_or(&weights));
    diff.functions = own_costs.table(&joint);
    let lengths = unequal_lengths(before, after, query, explained);
    let programs = different_programs(&own_costs, &joint);
    let work = different_work(&own_costs, &joint, sets, query)
        .filter(|_| programs.is_none() && lengths.is_none());
    // Whoever compares the wrong things has to know it before anything else.
    diff.warnings.splice(0..0, programs.into_iter().chain(work));
    diff.warnings.extend(lengths);
    waits::explain(&mut diff, sets, ids, &joint, &scaling.factors, query);
    inferred::explain(&mut diff, sets, &joint, &scaling.factors);
    was::annotate(&mut diff.suspects, &joint, identity, &sides);
    was::annotate(&mut diff.improvements, &joint, identity, &sides);
    ask.go_on()?;
    let mut drawn = None;
    match query.method {
        Method::Suspects => {}
        Method::CriticalGraph => {
            let factors = scaling.factors.as_ref().map(Vec::as_slice);
            critical_graph::explain(&mut diff, before, after, ids, factors, query, wanted);
            ask.go_on()?;
        }
        Method::Paths => {
            let tree = drawn.insert(tree(&joint, &runs));
            let (ranked, folded) = paths::ranked_paths(tree, &diff.metric);
            diff.paths = ranked;
            diff.warnings.extend(folded);
        }
        Method::Stages => {
            if let Some((staged, labels)) = &staged {
                let (sides, runs, changes) = (&sides, &runs, query.changes.as_deref());
                stages::explain(&mut diff, &stages::Taken { staged, sides, runs, labels, changes });
            }
        }
    }
    let also = also(drawn, &joint, &runs);
    Ok((diff, also))
}

/// The metric that counts the samples of a metric whose values are times between samples.
fn samples_of(set: &RunSet, metric: MetricId) -> Option<MetricId> {
    let timed = &set.metrics[metric.index()];
    let sampled = timed.measure == Measure::Sampled && timed.unit == Unit::Nanoseconds;
    set.metric("samples").filter(|samples| sampled && *samples != metric)
}

fn answer(
    before: &Loaded,
    after: &Loaded,
    query: &DiffQuery,
    metric: Metric,
    joint: &Joint,
    runs: &Sides<Vec<RunCosts<'_>>>,
    found: &Explanation,
) -> Diff {
    let side = |loaded: &Loaded, totals: &[f64]| SideTotals {
        inputs: loaded.names.clone(),
        totals: totals.to_vec(),
        total: typical(totals),
    };
    let runtime: Vec<RuntimeCost> = (found.runtime.iter())
        .map(|cost| RuntimeCost {
            function: suspect::view(joint, cost.row),
            before: cost.before,
            after: cost.after,
        })
        .collect();
    // Shares are of all that grew or shrank, which is more than the change where both happened.
    let sum = |findings: &[Finding]| findings.iter().map(|it| it.delta.value).sum::<f64>();
    let change = found.change.value;
    let grown = change.max(sum(&found.suspects) + runtime_growth(&runtime, 1.0));
    let shrunk = change.min(sum(&found.improvements) - runtime_growth(&runtime, -1.0));
    let explained = change - found.unexplained;
    let mut warnings = warnings::of_inputs(before, after);
    if runs.iter().any(|runs| runs.len() < 2) {
        warnings.push(Warning {
            code: "few-runs".to_owned(),
            message: "only one run on a side, so the difference may be noise; record three or more runs on each side"
                .to_owned(),
            count: 1,
        });
    }
    Diff {
        method: query.method,
        metric: Metric { decimals: 0, ..metric },
        verdict: found.verdict,
        before: side(before, &found.before),
        after: side(after, &found.after),
        change: suspect::estimate(found.change),
        p_value: found.p_value,
        threshold: found.threshold,
        normalised: None,
        suspects: suspect::suspects(joint, &found.suspects, grown),
        improvements: suspect::suspects(joint, &found.improvements, shrunk),
        moved: suspect::suspects(joint, &found.moved, 0.0),
        minor: found.minor,
        runtime,
        unexplained: suspect::unexplained(change, explained),
        functions: FunctionTable::default(),
        runs_needed: found.runs_needed,
        noticed: found.noticed,
        graph: None,
        paths: Vec::new(),
        stages: None,
        warnings,
    }
}

/// The median of the runs and the range they lie in.
fn typical(totals: &[f64]) -> Estimate {
    let mut sorted = totals.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else {
        return Estimate::default();
    };
    let middle = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    };
    Estimate { median, low: *low, high: *high }
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

fn tree(joint: &Joint, runs: &Sides<Vec<RunCosts<'_>>>) -> DiffTree {
    let mut costs = Sides::same(vec![0.0; joint.tree.len()]);
    for (side, runs) in runs.each() {
        let place = &joint.row_of[side];
        for run in runs {
            let share = run.factor / runs.len() as f64;
            for (node, _, value) in run.cells.of(run.metric) {
                costs[side][place[node.index()].index()] += value as f64 * share;
            }
        }
    }
    let rows = joint.tree.nodes().map(|node| {
        let row = node.index();
        let function = joint.symbols.frame(joint.tree.frame(node)).function;
        DiffRow {
            parent: joint.tree.parent(node).map(|parent| parent.index() as u32),
            function: function.index() as u32,
            before: costs.before[row],
            after: costs.after[row],
            fate: match (joint.node.before[row], joint.node.after[row], joint.link[row]) {
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
