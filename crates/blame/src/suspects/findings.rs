//! From groups of costs to findings: tested, sorted, cut to what explains the change.

use std::collections::BTreeMap;

use perfblame_cct::{NodeId, Sides};

use super::costs::{Costs, RunValues, Visible, for_each_run};
use super::moved;
use super::scale::Scale;
use super::tops::{HARDLY_THERE, Top, TopReason};
use super::verdict::{Found, Total, judge};
use super::{Evidence, Explanation, Finding, Interval, RuntimeChange, SuspectKind, SuspectOptions};
use crate::fdr::adjusted;
use crate::noise::{Difference, Noise, Sampling};
use crate::permutation::permutation_test;

/// Expected share of false findings among those that are reported.
const FALSE_DISCOVERIES: f64 = 0.02;
/// Without a threshold of the user's, less than this part of the total is no finding.
const LEAST_SHARE: f64 = 2.5e-3;
/// The same for values that are counted: a difference is a difference.
const LEAST_SHARE_OF_COUNTS: f64 = 1e-6;
/// With one run on each side, so many functions are listed where none changed beyond chance.
const MOST_GUESSES: usize = 5;
/// Beside a suspect, one that is this much smaller explains nothing.
const BESIDE: f64 = 0.1;
/// The same where one side has a single run, which may be a bad day.
const FALSE_DISCOVERIES_OF_ONE: f64 = 1e-4;
/// With one run on each side: findings that sampling and the usual spread make this unlikely are worth listing.
const WORTH_LISTING: f64 = 0.01;
/// A function that takes at least this part of what a call answers for is named with it.
const MOST_INSIDE: f64 = 0.7;
/// Contexts are listed until they hold this part of a finding.
const LISTED: f64 = 0.99;

/// The group that answers for each row, and the calls that answer for subtrees.
struct Groups<'a> {
    of_row: Vec<u32>,
    tops: &'a [Top],
    /// Rows that are tops, by place in `tops`.
    top_of_row: hashbrown::HashMap<usize, usize>,
}

impl<'a> Groups<'a> {
    fn of(evidence: &Evidence<'_>, tops: &'a [Top]) -> Self {
        let mut of_row = evidence.joint.class.clone();
        for top in tops {
            of_row[evidence.joint.tree.subtree(top.row)].fill(top.class);
        }
        let top_of_row = tops.iter().enumerate().map(|(at, top)| (top.row.index(), at)).collect();
        Self { of_row, tops, top_of_row }
    }

    /// The cost of every group in every run.
    fn sums(&self, evidence: &Evidence<'_>, costs: &Costs, values: &[RunValues]) -> Vec<f64> {
        let count = costs.count();
        let mut sums = vec![0.0; costs.classes * count];
        for_each_run(evidence, |run, side, run_costs| {
            let joint = evidence.joint;
            let place = &joint.row_of[side];
            let RunValues { metric, factor } = values[run];
            for (node, _, value) in run_costs.cells.of(metric) {
                let row = costs.owners.of_row(place[node.index()].index());
                if !costs.runtime[row] {
                    sums[self.of_row[row] as usize * count + run] += value as f64 * factor;
                }
            }
        });
        sums
    }
}

/// A group that was tested.
struct Tested {
    class: usize,
    difference: Difference,
    adjusted: f64,
    found: bool,
}

pub(super) fn explain(
    evidence: &Evidence<'_>,
    costs: &Costs,
    visible: &Visible,
    noise: &Noise,
    scale: &Scale,
    tops: &[Top],
    options: SuspectOptions,
) -> Explanation {
    let groups = Groups::of(evidence, tops);
    let sums = groups.sums(evidence, costs, &costs.values);
    let recorded = groups.sums(evidence, costs, &costs.recorded);
    let count = costs.count();
    let values = |class: usize| &sums[class * count..(class + 1) * count];
    let total = Total::of(costs, Sampling { quantum: costs.quantum, exact: evidence.exact });
    let threshold = options.min_delta.unwrap_or_else(|| {
        let fewest = costs.runs.before.min(costs.runs.after).max(1) as f64;
        let share = if evidence.exact { LEAST_SHARE_OF_COUNTS } else { LEAST_SHARE };
        (total.typical() * share).max(2.0 * costs.quantum / fewest)
    });
    let single = costs.runs.iter().all(|runs| *runs < 2);
    let mut tested = test(costs, noise, scale, threshold, single, &values);
    if single && !evidence.waits && !tested.iter().any(|group| group.found) {
        guess(&mut tested, threshold);
    }
    let mut findings: Vec<Finding> = Vec::new();
    let mut minor = (0, 0.0);
    let largest = (tested.iter().filter(|group| group.found))
        .map(|group| group.difference.delta.abs())
        .fold(0.0, f64::max);
    for group in tested.iter().filter(|group| group.found) {
        if group.difference.delta.abs() < (largest * BESIDE).max(threshold) {
            minor.0 += 1;
            minor.1 += group.difference.delta;
            continue;
        }
        let runs = &recorded[group.class * count..(group.class + 1) * count];
        let shown = Shown::of(costs, group, values(group.class), runs);
        findings.push(finding(evidence, costs, &groups, group, shown, single));
    }
    let (mut suspects, mut improvements): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.delta.value > 0.0);
    let moved =
        moved::take(evidence, costs, visible, noise, scale, &mut suspects, &mut improvements);
    let by_size = |a: &Finding, b: &Finding| {
        let size = |finding: &Finding| finding.delta.value.abs();
        size(b).total_cmp(&size(a)).then_with(|| a.contexts.cmp(&b.contexts))
    };
    suspects.sort_by(by_size);
    improvements.sort_by(by_size);
    let runtime = runtime(evidence, costs);
    let explained: f64 = (suspects.iter().chain(&improvements).chain(&moved))
        .map(|finding| finding.delta.value)
        .sum::<f64>()
        + runtime
            .iter()
            .filter(|cost| !is_idle(evidence, cost.row))
            .map(|cost| cost.after - cost.before)
            .sum::<f64>();
    let found = Found {
        suspects: &suspects,
        improvements: &improvements,
        moved: &moved,
        threshold,
        asked: options.min_delta.is_some(),
        exact: evidence.exact,
    };
    let judged = judge(costs, &total, found);
    Explanation {
        verdict: judged.verdict,
        before: costs.totals[..costs.runs.before].to_vec(),
        after: costs.totals[costs.runs.before..].to_vec(),
        change: total.change,
        p_value: total.p_value,
        threshold,
        unexplained: total.change.value - explained,
        suspects,
        improvements,
        moved,
        minor,
        runtime,
        common: scale.common,
        runs_needed: judged.runs_needed,
        noticed: total.noticed(),
    }
}

/// With one run on each side and nothing beyond chance: what changed most is the best guess.
fn guess(tested: &mut [Tested], threshold: f64) {
    let mut order: Vec<usize> = (0..tested.len()).collect();
    order.sort_by(|a, b| {
        let size = |row: &usize| tested[*row].difference.delta.abs();
        size(b).total_cmp(&size(a)).then(a.cmp(b))
    });
    for row in order.into_iter().take(MOST_GUESSES) {
        tested[row].found = tested[row].difference.delta.abs() >= threshold;
    }
}

fn test<'v>(
    costs: &Costs,
    noise: &Noise,
    scale: &Scale,
    threshold: f64,
    single: bool,
    values: &impl Fn(usize) -> &'v [f64],
) -> Vec<Tested> {
    // What could never be found is not tested, so that it does not weigh on what could.
    let enough = |class: &usize| {
        let Sides { before, after } = costs.sides(values(*class));
        before.mean.max(after.mean) >= threshold.max(2.0 * costs.quantum)
    };
    let classes: Vec<usize> = (0..costs.classes).filter(enough).collect();
    let differences: Vec<Difference> = (classes.iter())
        .map(|class| {
            let Sides { before, after } = costs.sides(values(*class));
            noise.difference(&before, &after, scale.error)
        })
        .collect();
    let p_values: Vec<f64> = differences.iter().map(Difference::p).collect();
    let adjusted = adjusted(&p_values);
    let allowed = match costs.runs {
        _ if single => WORTH_LISTING,
        Sides { before: 1, .. } | Sides { after: 1, .. } => FALSE_DISCOVERIES_OF_ONE,
        _ => FALSE_DISCOVERIES,
    };
    (classes.into_iter().zip(differences).zip(adjusted))
        .map(|((class, difference), adjusted)| {
            let found = adjusted <= allowed
                && difference.delta.abs() >= threshold
                && (single || runs_agree(costs, values(class)));
            Tested { class, difference, adjusted, found }
        })
        .collect()
}

/// The cross-check without assumptions: the runs of the two sides are apart by more than a few of them explain. Their
/// order is looked at, not their size: on a busy machine one run in a thousand costs a hundred times as much.
fn runs_agree(costs: &Costs, values: &[f64]) -> bool {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let above = values.iter().filter(|other| *other > value).count();
        // Equal values share their places.
        below as f64 - above as f64
    };
    let ranks: Vec<f64> = values.iter().map(rank).collect();
    let (before, after) = ranks.split_at(costs.runs.before);
    let (p, least) = permutation_test(before, after);
    p <= least.max(0.05)
}

fn finding(
    evidence: &Evidence<'_>,
    costs: &Costs,
    groups: &Groups<'_>,
    group: &Tested,
    Shown { runs: values, delta }: Shown<'_>,
    single: bool,
) -> Finding {
    let (before, after) = values.split_at(costs.runs.before);
    let contexts = contexts(evidence, costs, groups, group);
    let calls = calls(evidence, &contexts);
    let mean = costs.sides(values).map(|side| side.mean);
    let alike = contexts.first().is_some_and(|row| {
        let top = groups.top_of_row.get(&row.index()).map(|at| groups.tops[*at].reason);
        top == Some(TopReason::Alike)
    });
    let more_calls = calls.is_some_and(|Sides { before, after }| {
        let (calls, cost) = (after / before, mean.after / mean.before);
        before > 0.0 && after > 0.0 && calls.ln() / cost.ln() > 0.5
    });
    // Growth alike is what more calls look like, unless there was next to nothing to grow from.
    let often = mean.after.max(mean.before) < HARDLY_THERE * mean.after.min(mean.before);
    let by_calls = more_calls || (alike && calls.is_none() && often);
    let kind = match group.difference.delta > 0.0 {
        true if mean.before == 0.0 => SuspectKind::New,
        true if evidence.waits => SuspectKind::Waits,
        true if by_calls => SuspectKind::MoreCalls,
        true => SuspectKind::Slower,
        false if mean.after == 0.0 => SuspectKind::Gone,
        false if by_calls => SuspectKind::FewerCalls,
        false => SuspectKind::Faster,
    };
    Finding {
        kind,
        before: before.to_vec(),
        after: after.to_vec(),
        delta,
        p_value: (!single).then_some(group.adjusted),
        inside: inside(evidence, costs, groups, &contexts),
        contexts,
        calls,
    }
}

/// The function that takes most of what a call answers for, where it is another one.
fn inside(
    evidence: &Evidence<'_>,
    costs: &Costs,
    groups: &Groups<'_>,
    contexts: &[NodeId],
) -> Option<(NodeId, f64)> {
    let top = *contexts.first().filter(|row| groups.top_of_row.contains_key(&row.index()))?;
    let joint = evidence.joint;
    let mut of_class: BTreeMap<u32, (f64, NodeId)> = BTreeMap::new();
    for row in joint.tree.subtree(top) {
        let change = costs.row_self.after[row] - costs.row_self.before[row];
        let entry = of_class.entry(joint.class[row]).or_insert((0.0, NodeId::new(row)));
        entry.0 += change;
    }
    let row = top.index();
    let whole = costs.row_inclusive.after[row] - costs.row_inclusive.before[row];
    let most = of_class.iter().max_by(|a, b| (a.1.0 / whole).total_cmp(&(b.1.0 / whole)))?;
    let share = most.1.0 / whole;
    (*most.0 != joint.class[row] && share >= MOST_INSIDE).then_some((most.1.1, share))
}

/// What is shown of a group: its costs as they were recorded, which are not quite what is tested.
struct Shown<'a> {
    runs: &'a [f64],
    delta: Interval,
}

impl<'a> Shown<'a> {
    fn of(costs: &Costs, group: &Tested, tested: &'a [f64], recorded: &'a [f64]) -> Self {
        let (low, high) = group.difference.interval();
        let Sides { before, after } = costs.sides(recorded);
        let ratio = (after.mean - before.mean) / group.difference.delta;
        // Where the two point in different directions, it is whole runs that differ.
        let (runs, ratio) = if ratio > 0.0 { (recorded, ratio) } else { (tested, 1.0) };
        let value = group.difference.delta * ratio;
        Self { runs, delta: Interval { value, low: low * ratio, high: high * ratio } }
    }
}

/// The rows where the group's difference is, the largest first.
fn contexts(
    evidence: &Evidence<'_>,
    costs: &Costs,
    groups: &Groups<'_>,
    group: &Tested,
) -> Vec<NodeId> {
    let tree = &evidence.joint.tree;
    let sign = group.difference.delta.signum();
    let mut rows: Vec<(f64, NodeId)> = Vec::new();
    let mut row = 0;
    while row < tree.len() {
        let node = NodeId::new(row);
        let top = groups.top_of_row.contains_key(&row);
        if groups.of_row[row] as usize == group.class && !costs.runtime[row] {
            let values = if top { &costs.row_inclusive } else { &costs.row_self };
            let delta = (values.after[row] - values.before[row]) * sign;
            if delta > 0.0 {
                rows.push((delta, node));
            }
        }
        row = if top { tree.subtree(node).end } else { row + 1 };
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let all: f64 = rows.iter().map(|(delta, _)| delta).sum();
    let mut sum = 0.0;
    rows.into_iter()
        .take_while(|(delta, _)| {
            let more = sum < all * LISTED;
            sum += delta;
            more
        })
        .map(|(_, node)| node)
        .collect()
}

/// Calls of these contexts in a mean run before and after.
fn calls(evidence: &Evidence<'_>, contexts: &[NodeId]) -> Option<Sides<f64>> {
    let rows: hashbrown::HashSet<NodeId> = contexts.iter().copied().collect();
    let mut sums = Sides::same(0.0);
    let mut counted = true;
    for_each_run(evidence, |_, side, run| {
        let Some(calls) = run.calls else {
            counted = false;
            return;
        };
        let joint = evidence.joint;
        let place = &joint.row_of[side];
        let sum: i64 = (run.cells.of(calls))
            .filter(|(node, _, _)| rows.contains(&place[node.index()]))
            .fold(0i64, |sum, (_, _, value)| sum.saturating_add(value));
        sums[side] += sum as f64;
    });
    let calls = sums.zip(evidence.runs).map(|(sum, runs)| sum / runs.len().max(1) as f64);
    (counted && calls.iter().any(|calls| *calls > 0.0)).then_some(calls)
}

/// What the runtime itself cost, the largest change first.
fn runtime(evidence: &Evidence<'_>, costs: &Costs) -> Vec<RuntimeChange> {
    let joint = evidence.joint;
    let mut of_class: BTreeMap<u32, (NodeId, Sides<f64>)> = BTreeMap::new();
    for_each_run(evidence, |_, side, run| {
        let place = &joint.row_of[side];
        let share = run.factor / costs.runs[side] as f64;
        for (node, _, value) in run.cells.of(run.metric) {
            let row = place[node.index()];
            if !costs.runtime[row.index()] {
                continue;
            }
            let (_, costs) =
                of_class.entry(joint.class[row.index()]).or_insert((row, Sides::same(0.0)));
            costs[side] += value as f64 * share;
        }
    });
    let mut changes: Vec<_> = (of_class.into_values())
        .map(|(row, Sides { before, after })| RuntimeChange { row, before, after })
        .collect();
    changes.sort_by(|a, b| {
        let size = |change: &RuntimeChange| (change.after - change.before).abs();
        size(b).total_cmp(&size(a)).then(a.row.cmp(&b.row))
    });
    changes
}

fn is_idle(evidence: &Evidence<'_>, row: NodeId) -> bool {
    let joint = evidence.joint;
    let function = joint.symbols.frame(joint.tree.frame(row)).function;
    joint.symbols.function(function).layer == perfblame_cct::Layer::Idle
}
