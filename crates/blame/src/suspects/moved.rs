//! Costs that only moved: what grew by what something beside it lost is no slowdown.
//!
//! A cost has moved only where what moved is recognised: a call that goes by another name below the same caller, or the
//! same cost taken over from the caller, from a call beside it or from a callee. That something else got faster
//! somewhere is no reason to acquit.

use std::collections::BTreeMap;

use perfblame_cct::{NodeId, Sides};

use super::costs::{Costs, Visible};
use super::scale::Scale;
use super::{Evidence, Finding, SuspectKind};
use crate::noise::Noise;

/// What lost less than this part of a gain did not give it away.
const MOST_LOST: f64 = 0.5;
/// Two costs together are the same as before where they differ by less than this part of what moved.
const SAME_COST: f64 = 0.5;
/// A caller or callee may lose within its noise what a refactored function takes over, where it is the same cost up to
/// this part of it.
const SAME_COST_IN_NOISE: f64 = 0.25;
/// A call beside a new one lost beyond chance.
const CERTAIN: f64 = 0.01;
/// A call that lost the same cost as the one beside it gained need not have lost it beyond all doubt.
const LIKELY: f64 = 0.2;

/// Takes out of the suspects what only moved.
pub(super) fn take(
    evidence: &Evidence<'_>,
    costs: &Costs,
    visible: &Visible,
    noise: &Noise,
    scale: &Scale,
    suspects: &mut Vec<Finding>,
    improvements: &mut Vec<Finding>,
) -> Vec<Finding> {
    let mut moved = take_renamed(evidence, suspects, improvements);
    moved.append(&mut take_shifted(evidence, costs, visible, noise, scale, suspects));
    moved
}

/// Who may have given a cost away.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum From {
    /// The callers' own cost: a function was extracted, or is no longer inlined.
    Callers,
    /// Calls of this class beside it.
    Beside(u32),
    /// Callees of this class: they were inlined, or do less.
    Callees(u32),
}

/// Takes out what grew by what its callers, a callee or a call beside it lost, even where that loss alone would be too
/// small a finding: they lost beyond chance, most of what was gained, and both together cost the same.
fn take_shifted(
    evidence: &Evidence<'_>,
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
        let gained: Vec<f64> = suspect.before.iter().chain(&suspect.after).copied().collect();
        let took_over = |(whose, from): (&From, &Vec<f64>)| {
            let lost = difference(from);
            if lost.delta > suspect.delta.value * -MOST_LOST {
                return false;
            }
            let both: Vec<f64> =
                gained.iter().zip(from).map(|(gained, lost)| gained + lost).collect();
            let both = difference(&both);
            let off = both.delta / suspect.delta.value;
            let taken = match whose {
                // There are many calls beside a new one, and some of them lose by chance.
                From::Beside(_) if suspect.kind == SuspectKind::New => {
                    lost.p() < CERTAIN && off.abs() < SAME_COST_IN_NOISE
                }
                From::Beside(_) => {
                    let same = off.abs() < SAME_COST_IN_NOISE && lost.p() < LIKELY;
                    same || (lost.interval().1 < 0.0 && off < SAME_COST)
                }
                From::Callers | From::Callees(_) => {
                    off.abs() < SAME_COST_IN_NOISE || (lost.interval().1 < 0.0 && off < SAME_COST)
                }
            };
            taken && both.interval().0 <= 0.0
        };
        let stays = !beside(evidence, costs, visible, &suspect.contexts).iter().any(took_over);
        if !stays {
            suspect.kind = SuspectKind::Moved;
            moved.push(suspect.clone());
        }
        stays
    });
    moved
}

/// The costs in every run of whatever is next to these contexts.
fn beside(
    evidence: &Evidence<'_>,
    costs: &Costs,
    visible: &Visible,
    contexts: &[NodeId],
) -> BTreeMap<From, Vec<f64>> {
    let mut sums: BTreeMap<From, Vec<f64>> = BTreeMap::new();
    let mut add = |from: From, values: &[f64]| {
        let sum = sums.entry(from).or_insert_with(|| vec![0.0; costs.count()]);
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    };
    let class = |at: usize| evidence.joint.class[visible.rows[at] as usize];
    let places: Vec<usize> = contexts.iter().filter_map(|row| visible.place_of(*row)).collect();
    let mut callers: Vec<usize> =
        places.iter().filter_map(|at| visible.parent[*at]).map(|parent| parent as usize).collect();
    callers.sort_unstable();
    callers.dedup();
    for caller in callers {
        add(From::Callers, visible.own(caller));
        for sibling in visible.children(caller).filter(|sibling| !places.contains(sibling)) {
            add(From::Beside(class(sibling)), visible.whole(sibling));
        }
    }
    for place in places {
        for callee in visible.children(place) {
            add(From::Callees(class(callee)), visible.whole(callee));
        }
    }
    sums
}

/// Takes out new calls and gone ones below the same caller that cost the same: one call under another name.
fn take_renamed(
    evidence: &Evidence<'_>,
    suspects: &mut Vec<Finding>,
    improvements: &mut Vec<Finding>,
) -> Vec<Finding> {
    let joint = evidence.joint;
    // Of a function that calls itself, whoever calls it from outside.
    let caller = |finding: &Finding| {
        let row = *finding.contexts.first()?;
        let class = joint.class[row.index()];
        let above = joint.tree.ancestors(row).map(|row| joint.class[row.index()]);
        above.into_iter().find(|above| *above != class)
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
