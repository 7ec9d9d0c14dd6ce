//! Sides that should not be compared: profiles of two programs, or of two amounts of work.
//!
//! Both are found in the self costs by function, after functions were matched: a build that renamed or minified its
//! functions is still the same program. Whoever reads the answer gets these warnings first.

use hashbrown::HashSet;
use perfblame_cct::{Layer, Metric, RunSet, Side, Sides, Warning};
use perfblame_matching::Joint;

use super::functions::{SelfCost, SelfCosts};
use super::{DiffQuery, Normalize};

/// Two programs have less than this in common: of the costs of each side, and of the number of functions.
const IN_COMMON: f64 = 0.2;

/// Below this part of the costs in common, up to this part of the functions may have partners.
const NEXT_TO_NONE: f64 = 0.05;
const HELPERS: f64 = 0.5;

/// A profile of fewer functions than this says too little about its program.
const FEWEST_FUNCTIONS: usize = 5;

/// The program's own functions stand for it where they take at least this part of the cost; else libraries count, too.
const OWN_PART: f64 = 0.3;

/// Amounts of work that differ by less than this factor may be a slowdown.
const ANOTHER_AMOUNT: f64 = 2.0;

/// Where shares agree to this part, everything changed by the same factor.
const ALIKE: f64 = 0.9;

/// One function with more than this part of the cost can be slow by itself.
const DOMINANT: f64 = 0.5;

/// A function with at least this part of the cost counts as evidence that everything changed.
const NOTABLE: f64 = 0.01;

/// A warning where hardly any cost of either side is in functions that both have.
pub(super) fn different_programs(costs: &SelfCosts, joint: &Joint) -> Option<Warning> {
    let sum = |keep: &dyn Fn(&SelfCost) -> bool, side: Side| -> f64 {
        costs.functions.iter().filter(|cost| keep(cost)).map(|cost| cost.costs[side]).sum()
    };
    let own = |cost: &SelfCost| cost.layer == Layer::Application;
    let own_counts =
        Side::BOTH.into_iter().all(|side| sum(&own, side) >= costs.total[side] * OWN_PART);
    let counts = |cost: &SelfCost| match cost.layer {
        Layer::Application => true,
        Layer::Library | Layer::Plugin => !own_counts,
        Layer::Runtime | Layer::Kernel | Layer::Idle | Layer::GarbageCollection => false,
    };
    let whole = Sides::of(|side| sum(&counts, side));
    let part = |keep: &dyn Fn(&SelfCost) -> bool| {
        Sides::of(|side| sum(&|cost| counts(cost) && keep(cost), side) / whole[side])
    };
    if whole.iter().any(|whole| *whole <= 0.0) {
        return None;
    }
    let both = |cost: &SelfCost| cost.present.before && cost.present.after;
    // Callers without a cost of their own (threads, tasks, events, `main`) are alike in many programs.
    let number = |keep: &dyn Fn(&SelfCost) -> bool| {
        costs.functions.iter().filter(|cost| counts(cost) && keep(cost)).count()
    };
    let fewest =
        number(&|cost| cost.costs.before > 0.0).min(number(&|cost| cost.costs.after > 0.0));
    let common = number(&|cost| cost.costs.iter().all(|cost| *cost > 0.0));
    let shared = part(&both);
    let few_costs = shared.iter().all(|share| *share < IN_COMMON);
    // Where next to no cost is in common, helpers of the same name may be.
    let next_to_none = shared.iter().all(|share| *share < NEXT_TO_NONE);
    let allowed = if next_to_none { HELPERS } else { IN_COMMON };
    let few_functions = (common as f64) < fewest as f64 * allowed;
    if fewest < FEWEST_FUNCTIONS || !few_costs || !few_functions {
        return None;
    }
    // A minified build of the same program has other names everywhere, and names that say nothing.
    let telling = part(&|cost| says_something(name(joint, cost)));
    // One file whose functions all have other names is still one program.
    let files = Sides::of(|side| {
        let here = costs.functions.iter().filter(|cost| counts(cost) && cost.present[side]);
        here.filter_map(|cost| file(joint, cost)).collect::<HashSet<_>>()
    });
    let same_files = part(&|cost| {
        file(joint, cost).is_some_and(|file| files.iter().all(|files| files.contains(&file)))
    });
    if telling.iter().any(|part| *part < 0.5) || same_files.iter().all(|part| *part >= 0.5) {
        return None;
    }
    Some(Warning {
        code: "different-programs".to_owned(),
        message: format!(
            "these look like profiles of two different programs: functions that both have take {:.0} % of the cost before and {:.0} % of the cost after; check that both inputs are the ones you want to compare",
            shared.before.abs() * 100.0,
            shared.after.abs() * 100.0
        ),
        count: 1,
    })
}

/// A warning where all that was counted changed by one large factor, and nothing was said about the work done. `calls`
/// tell it best; without them costs have to.
pub(super) fn different_work(
    costs: &SelfCosts,
    joint: &Joint,
    sets: Sides<&RunSet>,
    query: &DiffQuery,
) -> Option<Warning> {
    if query.work.is_some() || query.normalize != Normalize::None {
        return None;
    }
    let calls = calls(joint, sets);
    let counted = calls.is_some();
    let amounts = calls.unwrap_or_else(|| costs.functions.iter().map(|it| it.costs).collect());
    let factor = factor_of_all(&amounts)?;
    let what = if counted {
        format!("every function was called about {factor:.1} times as often after as before")
    } else {
        format!(
            "every function costs about {factor:.1} times as much after as before, so that all shares stayed the same"
        )
    };
    let what = if factor < 1.0 {
        what.replace(&format!("{factor:.1} times as"), &format!("{factor:.2} times as"))
    } else {
        what
    };
    let or = if counted { "" } else { ", or on different machines" };
    Some(Warning {
        code: "different-work".to_owned(),
        message: format!(
            "{what}: the runs seem to have done different amounts of work{or}; state the amounts with `--work`, or compare shares with `--normalize total`"
        ),
        count: 1,
    })
}

/// The factor by which all amounts changed, where it is one and large.
fn factor_of_all(amounts: &[Sides<f64>]) -> Option<f64> {
    let whole = Sides::of(|side| amounts.iter().map(|amount| amount[side].max(0.0)).sum::<f64>());
    if whole.iter().any(|whole| *whole <= 0.0) {
        return None;
    }
    let factor = whole.after / whole.before;
    if !is_large(factor) {
        return None;
    }
    let (mut overlap, mut notable) = (0.0, 0);
    for amount in amounts {
        let share = Sides::of(|side| amount[side].max(0.0) / whole[side]);
        if share.before.max(share.after) > DOMINANT {
            return None;
        }
        overlap += share.before.min(share.after);
        notable += usize::from(share.before.min(share.after) >= NOTABLE);
    }
    (overlap >= ALIKE && notable >= FEWEST_FUNCTIONS).then_some(factor)
}

/// True for a factor between amounts of work that is not just a slowdown.
fn is_large(factor: f64) -> bool {
    factor.max(1.0 / factor) >= ANOTHER_AMOUNT
}

/// How often each function was called in a mean run, where both sides counted that; nothing where that is about as often.
fn calls(joint: &Joint, sets: Sides<&RunSet>) -> Option<Vec<Sides<f64>>> {
    let exact = |set: &RunSet| {
        let id = set.metric("calls")?;
        let metric: &Metric = &set.metrics[id.index()];
        (metric.measure == perfblame_cct::Measure::Exact).then_some(id)
    };
    let ids = Sides { before: exact(sets.before)?, after: exact(sets.after)? };
    // Most sides made about as many calls as each other, which their totals tell at once.
    let whole = sets.zip(ids).map(|(set, id)| {
        let calls = set.runs.iter().map(|run| run.cells.total(id) as f64);
        calls.sum::<f64>() / set.runs.len().max(1) as f64
    });
    if !is_large(whole.after / whole.before) {
        return Some(Vec::new());
    }
    let classes = joint.class.iter().max().map_or(0, |most| *most as usize + 1);
    let mut sums = vec![Sides::same(0.0); classes];
    for side in Side::BOTH {
        let (set, rows) = (sets[side], &joint.row_of[side]);
        let share = 1.0 / set.runs.len().max(1) as f64;
        for run in &set.runs {
            for (node, _, value) in run.cells.of(ids[side]) {
                let class = joint.class[rows[node.index()].index()] as usize;
                sums[class][side] += value as f64 * share;
            }
        }
    }
    Some(sums)
}

fn name<'a>(joint: &'a Joint, cost: &SelfCost) -> &'a str {
    joint.symbols.name(joint.symbols.frame(joint.tree.frame(cost.row)).function)
}

/// The last part of the path of the file, class or binary that a function is in.
fn file<'a>(joint: &'a Joint, cost: &SelfCost) -> Option<&'a str> {
    let function = joint.symbols.frame(joint.tree.frame(cost.row)).function;
    let component = joint.symbols.component(function)?;
    component.rsplit(['/', '\\']).next().filter(|file| !file.is_empty())
}

/// False for names that builds make up: of one or two letters, addresses, and what has no name.
fn says_something(name: &str) -> bool {
    let letters = name.chars().filter(|letter| letter.is_alphabetic()).count();
    letters > 2 && !name.starts_with("0x") && !name.starts_with(['(', '['])
}

#[cfg(test)]
mod tests;
