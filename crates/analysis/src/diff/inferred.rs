//! Inferred latencies contain waiting: a suspect that grew because it waits longer says so, and for what.

use perfblame_cct::{MetricId, RunSet, Side, Sides};
use perfblame_latency::{LATENCY, WAITING, WaitOn};
use perfblame_matching::Joint;

use super::{Diff, Suspect, SuspectKind};

/// A suspect waits when at least this part of its growth is waiting.
const MOSTLY: f64 = 0.5;

/// Calls suspects that mostly wait what they are.
pub(super) fn explain(
    diff: &mut Diff,
    sets: Sides<&RunSet>,
    joint: &Joint,
    factors: &Sides<Vec<f64>>,
) {
    if diff.metric.name != LATENCY || sets.iter().all(|set| set.metric(WAITING).is_none()) {
        return;
    }
    let all = waiting(sets, joint, factors, WAITING);
    let kinds: Vec<(WaitOn, Vec<f64>)> = WaitOn::ALL
        .into_iter()
        .map(|on| (on, waiting(sets, joint, factors, &format!("{WAITING} on {}", on.name()))))
        .collect();
    for suspect in diff.suspects.iter_mut().chain(&mut diff.improvements) {
        let grown = |by_row: &[f64]| -> f64 {
            suspect.contexts.iter().filter_map(|row| by_row.get(*row)).sum()
        };
        let share = grown(&all) / suspect.delta.median;
        if !share.is_finite() || share < MOSTLY {
            continue;
        }
        let mut parts: Vec<(WaitOn, f64)> = (kinds.iter())
            .map(|(on, by_row)| (*on, grown(by_row) / suspect.delta.median))
            .filter(|(_, share)| *share >= 0.1)
            .collect();
        parts.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        name(suspect, &parts);
    }
}

fn name(suspect: &mut Suspect, parts: &[(WaitOn, f64)]) {
    if suspect.delta.median > 0.0 {
        suspect.kind = SuspectKind::Waits;
    }
    let named: Vec<String> = (parts.iter())
        .map(|(on, share)| format!("{} {:.0} %", on.name(), (share * 100.0).min(100.0)))
        .collect();
    if !named.is_empty() {
        suspect.notes.push(format!("waits: {} of the difference", named.join(", ")));
    }
}

/// How much more every row of both trees waits after, in a typical run.
fn waiting(
    sets: Sides<&RunSet>,
    joint: &Joint,
    factors: &Sides<Vec<f64>>,
    metric: &str,
) -> Vec<f64> {
    let mut grown = vec![0.0; joint.tree.len()];
    for (side, sign) in [(Side::Before, -1.0), (Side::After, 1.0)] {
        let set = sets[side];
        let place = &joint.row_of[side];
        let Some(metric): Option<MetricId> = set.metric(metric) else { continue };
        for (run, factor) in set.runs.iter().zip(&factors[side]) {
            let share = sign * factor / set.runs.len() as f64;
            for (node, _, value) in run.cells.of(metric) {
                grown[place[node.index()].index()] += value as f64 * share;
            }
        }
    }
    grown
}
