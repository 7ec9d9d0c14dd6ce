//! From groups of costs to findings: tested, sorted, cut to what explains the change.

use std::collections::BTreeMap;

use perfblame_cct::{NodeId, Sides};

use super::costs::{Costs, Visible, for_each_run};
use super::scale::Scale;
use super::tops::{HARDLY_THERE, Top, TopReason};
use super::verdict::{Found, Total, judge, scaled_totals};
use super::{Evidence, Explanation, Finding, Interval, RuntimeChange, SuspectKind, SuspectOptions};
use crate::fdr::adjusted;
use crate::noise::{Difference, Noise};
use crate::permutation::permutation_test;

/// Expected share of false findings among those that are reported.
const FALSE_DISCOVERIES: f64 = 0.01;
/// Without a threshold of the user's, less than this part of the total is no finding.
const LEAST_SHARE: f64 = 2.5e-3;
/// Beside a suspect, one that is this much smaller explains nothing.
const BESIDE: f64 = 0.1;
/// The same where one side has a single run, which may be a bad day.
const FALSE_DISCOVERIES_OF_ONE: f64 = 1e-4;
/// With one run on each side: findings that sampling and the usual spread make this unlikely are worth listing.
const WORTH_LISTING: f64 = 0.01;
/// A suspect may be what something else lost only if at least this part of it was lost anywhere.
const MOST_LOST: f64 = 0.5;
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

    /// The cost of every group in every run, and without scaling.
    fn costs(&self, evidence: &Evidence<'_>, costs: &Costs) -> Vec<f64> {
        let count = costs.count();
        let mut sums = vec![0.0; costs.classes * count];
        for_each_run(evidence, |run, side, run_costs| {
            let joint = evidence.joint;
            let place = &joint.row_of[side];
            for (node, _, value) in run_costs.cells.of(run_costs.metric) {
                let row = place[node.index()].index();
                if !costs.runtime[row] {
                    sums[self.of_row[row] as usize * count + run] +=
                        value as f64 * costs.factors[run];
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
    let sums = groups.costs(evidence, costs);
    let count = costs.count();
    let values = |class: usize| &sums[class * count..(class + 1) * count];
    let total = Total::of(costs, noise);
    let threshold = options.min_delta.unwrap_or_else(|| {
        (total.typical() * LEAST_SHARE)
            .max(2.0 * costs.quantum / costs.runs.before.min(costs.runs.after).max(1) as f64)
    });
    let single = costs.runs.iter().all(|runs| *runs < 2);
    let tested = test(costs, noise, scale, threshold, single, &values);
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
        findings.push(finding(evidence, costs, &groups, group, values(group.class), single));
    }
    let (mut suspects, mut improvements): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.delta.value > 0.0);
    let moved =
        take_moved(evidence, costs, visible, noise, scale, &mut suspects, &mut improvements);
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
    };
    let judged = judge(costs, noise, scale, &total, found);
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

/// The cross-check without assumptions: the runs of the two sides are apart by more than a few of them explain.
fn runs_agree(costs: &Costs, values: &[f64]) -> bool {
    let (before, after) = values.split_at(costs.runs.before);
    let (p, least) = permutation_test(before, after);
    p <= (2.0 * least).max(0.05)
}

fn finding(
    evidence: &Evidence<'_>,
    costs: &Costs,
    groups: &Groups<'_>,
    group: &Tested,
    values: &[f64],
    single: bool,
) -> Finding {
    let (before, after) = values.split_at(costs.runs.before);
    let (low, high) = group.difference.interval();
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
        contexts,
        kind,
        before: before.to_vec(),
        after: after.to_vec(),
        delta: Interval { value: group.difference.delta, low, high },
        p_value: (!single).then_some(group.adjusted),
        calls,
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

/// Takes out what only grew by what something else lost: calls that go by another name, and costs that left one
/// place below a caller for another.
fn take_moved(
    evidence: &Evidence<'_>,
    costs: &Costs,
    visible: &Visible,
    noise: &Noise,
    scale: &Scale,
    suspects: &mut Vec<Finding>,
    improvements: &mut Vec<Finding>,
) -> Vec<Finding> {
    let mut moved = take_renamed(evidence, suspects, improvements);
    moved.append(&mut take_extracted(evidence, costs, visible, noise, scale, suspects));
    moved.append(&mut take_shifted(costs, visible, noise, scale, suspects));
    if improvements.is_empty() {
        return moved;
    }
    let roots = |finding: &Finding| -> Vec<NodeId> {
        let root = |row: &NodeId| evidence.joint.tree.ancestors(*row).last().unwrap_or(*row);
        let mut roots: Vec<NodeId> = finding.contexts.iter().map(root).collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    };
    let lost: Vec<(Vec<NodeId>, f64, SuspectKind)> = (improvements.iter())
        .map(|finding| (roots(finding), finding.delta.value.abs(), finding.kind))
        .collect();
    let all = scaled_totals(costs, visible);
    let whole = noise.difference(&all.before, &all.after, scale.error);
    suspects.retain_mut(|suspect| {
        let delta = suspect.delta.value;
        // Another function of another task got faster for reasons of its own. And a function that was not there before
        // has its cost from one that is gone, or from beside it, which was looked at already.
        let here = roots(suspect);
        let lost: f64 = (lost.iter())
            .filter(|(roots, ..)| roots.iter().any(|root| here.binary_search(root).is_ok()))
            .filter(|(_, _, kind)| suspect.kind != SuspectKind::New || *kind == SuspectKind::Gone)
            .map(|(_, amount, _)| amount)
            .sum();
        // Less was lost than gained: whatever moved, this is more.
        if lost < delta * MOST_LOST {
            return true;
        }
        let mut stayed = whole.interval().0 > 0.0;
        // Of a suspect in one main context, every caller must have grown as well.
        if let Some(at) = suspect.contexts.first().and_then(|row| visible.place_of(*row)) {
            let own = |at: usize| {
                let Sides { before, after } = costs.sides(visible.whole(at));
                after.mean - before.mean
            };
            if own(at) > delta * 0.5 {
                let mut above = visible.parent[at];
                while let (true, Some(parent)) = (stayed, above) {
                    let Sides { before, after } = costs.sides(visible.whole(parent as usize));
                    let difference = noise.difference(&before, &after, scale.error);
                    stayed = difference.interval().0 > 0.0;
                    above = visible.parent[parent as usize];
                }
            }
        }
        if !stayed {
            suspect.kind = SuspectKind::Moved;
            moved.push(suspect.clone());
        }
        stayed
    });
    moved
}

/// Takes out new calls that may do what their callers did themselves: a function was extracted, or is no longer inlined.
/// Callers and calls together did not grow beyond chance.
fn take_extracted(
    evidence: &Evidence<'_>,
    costs: &Costs,
    visible: &Visible,
    noise: &Noise,
    scale: &Scale,
    suspects: &mut Vec<Finding>,
) -> Vec<Finding> {
    let tree = &evidence.joint.tree;
    let mut moved = Vec::new();
    suspects.retain_mut(|suspect| {
        if suspect.kind != SuspectKind::New {
            return true;
        }
        let mut callers: Vec<NodeId> =
            suspect.contexts.iter().filter_map(|row| tree.parent(*row)).collect();
        callers.sort_unstable();
        callers.dedup();
        let mut own = vec![0.0; costs.count()];
        for at in callers.into_iter().filter_map(|caller| visible.place_of(caller)) {
            own.iter_mut().zip(visible.own(at)).for_each(|(sum, own)| *sum += own);
        }
        let new = suspect.before.iter().chain(&suspect.after);
        let both: Vec<f64> = own.iter().zip(new).map(|(own, new)| own + new).collect();
        let Sides { before, after } = costs.sides(&both);
        let grew = noise.difference(&before, &after, scale.error).interval().0 > 0.0;
        if !grew {
            suspect.kind = SuspectKind::Moved;
            moved.push(suspect.clone());
        }
        grew
    });
    moved
}

/// Takes out what grew by what its caller, a callee or a call beside it lost, even where that loss alone would be too
/// small a finding: one of them lost beyond chance, most of what was gained, and both together did not grow.
fn take_shifted(
    costs: &Costs,
    visible: &Visible,
    noise: &Noise,
    scale: &Scale,
    suspects: &mut Vec<Finding>,
) -> Vec<Finding> {
    let difference = |values: &[f64]| {
        let Sides { before, after } = costs.sides(values);
        noise.difference(&before, &after, scale.error)
    };
    let mut moved = Vec::new();
    suspects.retain_mut(|suspect| {
        let [row] = suspect.contexts[..] else { return true };
        let Some(at) = visible.place_of(row) else { return true };
        let gained: Vec<f64> = suspect.before.iter().chain(&suspect.after).copied().collect();
        let took_over = |from: &[f64]| {
            let lost = difference(from);
            if lost.delta > suspect.delta.value * -MOST_LOST || lost.interval().1 >= 0.0 {
                return false;
            }
            let both: Vec<f64> =
                gained.iter().zip(from).map(|(gained, lost)| gained + lost).collect();
            difference(&both).interval().0 <= 0.0
        };
        let parent = visible.parent[at].map(|parent| parent as usize);
        let from_caller = parent.is_some_and(|parent| took_over(visible.own(parent)));
        let mut beside = parent.into_iter().flat_map(|parent| visible.children(parent));
        let shifted = from_caller
            || beside.any(|sibling| sibling != at && took_over(visible.whole(sibling)))
            || visible.children(at).any(|callee| took_over(visible.whole(callee)));
        if shifted {
            suspect.kind = SuspectKind::Moved;
            moved.push(suspect.clone());
        }
        !shifted
    });
    moved
}

/// Takes out new calls and gone ones below the same caller that cost the same: one call under another name.
fn take_renamed(
    evidence: &Evidence<'_>,
    suspects: &mut Vec<Finding>,
    improvements: &mut Vec<Finding>,
) -> Vec<Finding> {
    let joint = evidence.joint;
    let caller = |finding: &Finding| {
        let parent = finding.contexts.first().and_then(|row| joint.tree.parent(*row));
        parent.map(|parent| joint.class[parent.index()])
    };
    let half = |finding: &Finding| (finding.delta.high - finding.delta.low) / 2.0;
    let mut moved = Vec::new();
    suspects.retain_mut(|suspect| {
        if suspect.kind != SuspectKind::New {
            return true;
        }
        let same = |gone: &Finding| {
            let off = (suspect.delta.value + gone.delta.value).abs();
            gone.kind == SuspectKind::Gone
                && caller(gone) == caller(suspect)
                && off <= half(suspect).hypot(half(gone))
        };
        let Some(at) = improvements.iter().position(same) else { return true };
        improvements.remove(at);
        suspect.kind = SuspectKind::Moved;
        moved.push(suspect.clone());
        false
    });
    moved
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
