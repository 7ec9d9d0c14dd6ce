//! One assembly of a suspect: whatever found it, it is put together here from the finding and both trees as one.

use perfblame_blame::{Finding, Interval};
use perfblame_cct::{Layer, NodeId, Sides};
use perfblame_matching::Joint;

use super::{Estimate, RuntimeCost, Suspect};
use crate::FunctionView;

/// A suspect made of a finding. Its rank and its share depend on the others: [`rank`] gives it both.
pub(super) fn suspect(joint: &Joint, finding: &Finding) -> Option<Suspect> {
    let heaviest = *finding.contexts.first()?;
    let path = joint.tree.path(heaviest).into_iter().map(|node| view(joint, node)).collect();
    let runs = Sides { before: finding.before.clone(), after: finding.after.clone() };
    let costs = runs.as_ref().map(|runs| mean(runs));
    let inside = finding.inside.map(|(row, share)| {
        let name = view(joint, row).name;
        format!("`{name}` takes {:.0} % of it", share.min(1.0) * 100.0)
    });
    Some(Suspect {
        notes: inside.into_iter().collect(),
        contexts: finding.contexts.iter().map(|row| row.index()).collect(),
        delta: estimate(finding.delta),
        runs,
        p_value: finding.p_value,
        calls: finding.calls,
        ..Suspect::new(finding.kind, path, costs)
    })
}

/// The suspects made of findings, in their order; shares are parts of `whole`.
pub(super) fn suspects(joint: &Joint, findings: &[Finding], whole: f64) -> Vec<Suspect> {
    let mut suspects: Vec<Suspect> =
        findings.iter().filter_map(|finding| suspect(joint, finding)).collect();
    rank(&mut suspects, whole);
    suspects
}

/// Numbers suspects in their order and gives each its share of `whole`; where that is nothing, so are the shares.
pub(super) fn rank(suspects: &mut [Suspect], whole: f64) {
    for (row, suspect) in suspects.iter_mut().enumerate() {
        suspect.rank = row + 1;
        suspect.share =
            if whole == 0.0 { 0.0 } else { (suspect.delta.median / whole).clamp(0.0, 1.0) };
    }
}

/// The part of a change that nothing explains: it never exceeds the change, nor does it have the other sign.
pub(super) fn unexplained(change: f64, explained: f64) -> f64 {
    (change - explained).clamp(change.min(0.0), change.max(0.0))
}

/// What the runtime grew by (or shrank by, for a sign of −1), all its parts that did. Idle time is no part of a total.
pub(super) fn runtime_growth(runtime: &[RuntimeCost], sign: f64) -> f64 {
    let parts = runtime.iter().filter(|cost| cost.function.layer != Layer::Idle);
    parts.map(|cost| ((cost.after - cost.before) * sign).max(0.0)).sum()
}

/// The function of a context.
pub(super) fn view(joint: &Joint, node: NodeId) -> FunctionView {
    FunctionView::of(&joint.symbols, joint.symbols.frame(joint.tree.frame(node)).function)
}

pub(super) fn estimate(interval: Interval) -> Estimate {
    Estimate { median: interval.value, low: interval.low, high: interval.high }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unexplained_is_part_of_the_change() {
        for (change, explained, left) in [
            (100.0, 80.0, 20.0),
            (100.0, 130.0, 0.0),
            (100.0, -40.0, 100.0),
            (-950.0, 840.0, -950.0),
            (-950.0, -900.0, -50.0),
            (-950.0, -1000.0, 0.0),
            (0.0, 40.0, 0.0),
        ] {
            let off = unexplained(change, explained) - left;
            assert!(off.abs() < 1e-9, "{change} {explained}");
        }
    }
}
