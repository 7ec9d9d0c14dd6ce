//! Calls that answer for everything below them: those that are new or gone, and those called more or less often.
//!
//! A new call brings its whole subtree along, and a call made twice as often doubles all of it. In both cases the
//! functions below did nothing wrong, however much more they cost.

use perfblame_cct::{Layer, NodeId, Side, Sides};

use super::Evidence;
use super::costs::{Costs, Visible};
use super::scale::Scale;
use crate::noise::{Difference, Noise};
use crate::special::{chi_squared_tail, student_quantile};

/// Why a call answers for what is below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TopReason {
    /// It is only after.
    New,
    /// It is only before.
    Gone,
    /// All of it grew or shrank alike.
    Alike,
}

/// A call that answers for its subtree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Top {
    /// Its row in the joint tree.
    pub(super) row: NodeId,
    /// The class that is to blame: its own, or its caller's.
    pub(super) class: u32,
    /// Why.
    pub(super) reason: TopReason,
}

/// So many samples must be missing on the other side before a call counts as new or gone.
const MISSED_SAMPLES: f64 = 6.0;
/// A subtree is looked into where its change is this unlikely to be chance.
const LOOK: f64 = 0.01;
/// Parts that differ this clearly in how they grew did not grow alike.
const APART: f64 = 0.01;
/// Parts that grew alike may differ by this much of their growth: no two calls are quite the same.
const ABOUT: f64 = 0.3;
/// A part that is so many standard deviations off strays.
const FAR_OFF: f64 = 3.0;
/// Parts that stray by less than this part of the change do not matter.
const MISFIT: f64 = 0.15;
/// A subtree that grew or shrank by more than this factor is hardly there on one side.
pub(super) const HARDLY_THERE: f64 = 8.0;
/// A callee with this part of the change is the one to look at.
const NEARLY_ALL: f64 = 0.9;
/// A function with this part of a change answers for itself.
const ONE_FUNCTION: f64 = 0.8;
/// A function that also changed elsewhere, by this part of its change here, changed itself.
const ELSEWHERE: f64 = 0.3;
/// Work on growth alike, in values read: beyond it subtrees are taken apart instead.
const BUDGET: usize = 50_000_000;

/// Finds the calls that answer for their subtrees; none is below another.
pub(super) fn tops(
    evidence: &Evidence<'_>,
    costs: &Costs,
    visible: &Visible,
    noise: &Noise,
    scale: &Scale,
) -> Vec<Top> {
    let runs = costs.count().saturating_sub(2) as f64;
    // The same for all contexts, so that it is worked out once.
    let clear = student_quantile(LOOK, noise.freedom + runs);
    let look = Look { evidence, costs, visible, noise, scale, clear };
    let mut sums = Sums::new(costs.classes);
    let mut tops = Vec::new();
    let mut budget = BUDGET;
    let mut at = 0;
    // Pre-order, with subtrees skipped once they are accounted for.
    while at < visible.len() {
        let skip = visible.end[at] as usize;
        if let Some(top) = look.on_one_side(at, &mut sums) {
            tops.push(top);
            at = skip;
            continue;
        }
        let whole = look.difference(visible.whole(at));
        if !look.is_clear(&whole) {
            // Its own parts may still have changed, but not so that they would not cancel out.
            at += 1;
            continue;
        }
        let size = (skip - at) * costs.count();
        if size <= budget && skip > at + 1 {
            budget -= size;
            if look.grew_alike(at, &whole, &mut sums) {
                let lowest = look.first_called_more(at);
                let row = NodeId::new(visible.rows[lowest] as usize);
                let class = evidence.joint.class[row.index()];
                tops.push(Top { row, class, reason: TopReason::Alike });
                at = skip;
                continue;
            }
        }
        at += 1;
    }
    tops
}

struct Look<'a> {
    evidence: &'a Evidence<'a>,
    costs: &'a Costs,
    visible: &'a Visible,
    noise: &'a Noise,
    scale: &'a Scale,
    /// Differences of so many standard errors are clear ones.
    clear: f64,
}

impl Look<'_> {
    fn is_clear(&self, difference: &Difference) -> bool {
        difference.is_beyond(self.clear)
    }

    fn difference(&self, values: &[f64]) -> Difference {
        let Sides { before, after } = self.costs.sides(values);
        self.noise.difference(&before, &after, self.scale.error)
    }

    fn means(&self, at: usize) -> Sides<f64> {
        let row = self.visible.rows[at] as usize;
        self.costs.row_inclusive.as_ref().map(|costs| costs[row])
    }

    /// The call is on one side only, and that is no accident of sampling.
    fn on_one_side(&self, at: usize, sums: &mut Sums) -> Option<Top> {
        let Sides { before, after } = self.means(at);
        let (missing, there, reason) = if before == 0.0 && after > 0.0 {
            (Side::Before, after, TopReason::New)
        } else if after == 0.0 && before > 0.0 {
            (Side::After, before, TopReason::Gone)
        } else {
            return None;
        };
        // Had the caller cost as little before as it did, how many samples of this call would there have been?
        let caller = match self.visible.parent[at] {
            Some(parent) => {
                let means = self.means(parent as usize);
                (means[missing] / means[missing.other()]).min(1.0)
            }
            None => 1.0,
        };
        let runs = self.costs.runs[missing] as f64;
        if there * caller * runs < MISSED_SAMPLES * self.costs.quantum || caller == 0.0 {
            return None;
        }
        // A chain of calls that were never sampled before is not one of new calls: what costs is at its end. But a
        // new function answers for a known one that it calls.
        let chain = self.chain(at);
        let is_new = |place: &&usize| {
            let class = self.class(**place) as usize;
            self.costs.class_total[missing][class] == 0.0 && self.is_application(**place)
        };
        let new = chain.iter().rev().find(is_new).copied();
        let lowest = new.or(chain.last().copied()).unwrap_or(at);
        let sign = if missing == Side::Before { 1.0 } else { -1.0 };
        // One function that does nearly all of it, in whatever contexts, answers for itself, unless it does so only
        // here.
        if let Some((change, class)) = self.most_changed(lowest, sign, sums)
            && class != self.class(lowest)
            && change > there * ONE_FUNCTION
        {
            let own = self.costs.sides(self.costs.of_class(class as usize)).map(|side| side.mean);
            let elsewhere = (own.after - own.before) * sign - change;
            if new.is_none() || elsewhere > change * ELSEWHERE {
                return None;
            }
        }
        let row = NodeId::new(self.visible.rows[lowest] as usize);
        Some(Top { row, class: self.answers(row), reason })
    }

    /// The function is the program's own: nobody adds functions to libraries.
    fn is_application(&self, at: usize) -> bool {
        let joint = self.evidence.joint;
        let row = NodeId::new(self.visible.rows[at] as usize);
        let function = joint.symbols.frame(joint.tree.frame(row)).function;
        joint.symbols.function(function).layer == Layer::Application
    }

    /// The class that answers for a new or gone call: its own, or the caller's when the call is of something built in,
    /// which has no code that anybody could have changed.
    fn answers(&self, row: NodeId) -> u32 {
        let joint = self.evidence.joint;
        let place = |row: NodeId| {
            let function = joint.symbols.frame(joint.tree.frame(row)).function;
            let function = joint.symbols.function(function);
            function.component.or(function.file)
        };
        let class = joint.class[row.index()];
        match joint.tree.parent(row) {
            Some(parent) if place(row).is_none() && place(parent).is_some() => {
                joint.class[parent.index()]
            }
            _ => class,
        }
    }

    /// All parts of a subtree changed by the same factor, and it is not one part that changed.
    fn grew_alike(&self, at: usize, whole: &Difference, sums: &mut Sums) -> bool {
        let Sides { before, after } = self.costs.sides(self.visible.whole(at));
        if before.mean <= 0.0 || after.mean <= 0.0 {
            return false;
        }
        // Growth is looked at from the smaller side, so that it is the same whichever side came first.
        let small = if after.mean < before.mean { Side::After } else { Side::Before };
        let large = small.other();
        let ratio = (after.mean / before.mean).max(before.mean / after.mean);
        let end = self.visible.end[at] as usize;
        let runs = self.costs.runs.map(|runs| runs as f64);
        let (mut squares, mut parts, mut apart) = (0.0, 0.0, 0.0);
        let mut rest = Sides { before: before.mean, after: after.mean };
        let mut test = |means: Sides<f64>| {
            // What nobody could have seen changing says nothing.
            let (little, much) = (means[small], means[large]);
            if little * ratio + much < 2.0 * self.costs.quantum {
                return;
            }
            let off = much - ratio * little;
            let about = ABOUT * (ratio - 1.0) * little;
            let variance = self.noise.trend(much) / runs[large]
                + ratio * ratio * self.noise.trend(little) / runs[small]
                + about * about;
            squares += off * off / variance;
            parts += 1.0;
            if off * off > variance * FAR_OFF * FAR_OFF {
                apart += off.abs();
            }
        };
        for place in at..end {
            let row = self.visible.rows[place] as usize;
            let means = self.costs.row_self.as_ref().map(|costs| costs[row]);
            rest = rest.zip(means).map(|(rest, mean)| rest - mean);
            test(means);
        }
        test(rest.map(|rest| rest.max(0.0)));
        if self.one_call_strays(at, ratio, small, whole) {
            return false;
        }
        // Of very many parts a few always stray; what they stray by must matter.
        let differ =
            chi_squared_tail(squares, parts - 1.0) < APART && apart > whole.delta.abs() * MISFIT;
        if parts < 2.0 || differ {
            return false;
        }
        // Without the function that changed most, did the others change?
        let sign = whole.delta.signum();
        let Some((_, largest)) = self.most_changed(at, sign, sums) else { return false };
        let mut others = self.visible.whole(at).to_vec();
        for place in (at..end).filter(|place| self.class(*place) == largest) {
            for (other, own) in others.iter_mut().zip(self.visible.own(place)) {
                *other -= own;
            }
        }
        let others = self.difference(&others);
        // Where one side has next to nothing, nothing speaks against growth alike; then only costs spread over many
        // parts speak for it.
        let least = if ratio > HARDLY_THERE { 0.5 } else { 0.1 };
        self.is_clear(&others)
            && others.delta.signum() == whole.delta.signum()
            && others.delta.abs() > whole.delta.abs() * least
    }

    /// Costs that are spread thinly stray by little each; all of them below one call stray together.
    fn one_call_strays(&self, at: usize, ratio: f64, small: Side, whole: &Difference) -> bool {
        (at + 1..self.visible.end[at] as usize).any(|call| {
            let means = self.means(call);
            let (off, variance) = self.off(means, ratio, small);
            let about = ABOUT * (ratio - 1.0) * means[small];
            off.abs() > whole.delta.abs() * MISFIT
                && off * off > (variance + about * about) * FAR_OFF * FAR_OFF
        })
    }

    /// By how much a cost is off from what it would be had it grown by a factor from the `small` side to the
    /// other, and the variance of that.
    fn off(&self, means: Sides<f64>, ratio: f64, small: Side) -> (f64, f64) {
        let large = small.other();
        let runs = self.costs.runs.map(|runs| runs.max(1) as f64);
        let (little, much) = (means[small], means[large]);
        let expected = self.noise.trend(much.max(ratio * little)) / runs[large];
        let variance = expected + ratio * ratio * self.noise.trend(little) / runs[small];
        (much - ratio * little, variance)
    }

    /// Of a chain of calls that grew together, the one that is called more often: what is beside the chain did not grow
    /// above it, and did below. Where nothing tells, the lowest.
    fn first_called_more(&self, at: usize) -> usize {
        let chain = self.chain(at);
        let Sides { before, after } = self.means(at);
        let small = if after < before { Side::After } else { Side::Before };
        let ratio = (after / before).max(before / after);
        let mut best = (0.0, chain.len() - 1);
        let mut sum = 0.0;
        for (place, pair) in chain.windows(2).enumerate().rev() {
            let (caller, callee) = (self.means(pair[0]), self.means(pair[1]));
            let beside = caller.zip(callee).map(|(caller, callee)| (caller - callee).max(0.0));
            let fits = |ratio: f64| {
                let (off, variance) = self.off(beside, ratio, small);
                -(off * off / variance + variance.ln()) / 2.0
            };
            sum += fits(ratio) - fits(1.0);
            if sum > best.0 {
                best = (sum, place);
            }
        }
        chain[best.1]
    }

    fn class(&self, at: usize) -> u32 {
        self.evidence.joint.class[self.visible.rows[at] as usize]
    }

    /// The function whose own cost, over all its contexts below a call, changed most in one direction, and by how much.
    fn most_changed(&self, at: usize, sign: f64, sums: &mut Sums) -> Option<(f64, u32)> {
        for place in at..self.visible.end[at] as usize {
            let row = self.visible.rows[place] as usize;
            let change = self.costs.row_self.after[row] - self.costs.row_self.before[row];
            sums.add(self.class(place), change * sign);
        }
        sums.take_largest()
    }

    /// From a call down to the lowest one that holds nearly all of its change, with those between.
    fn chain(&self, at: usize) -> Vec<usize> {
        let change = |at: usize| {
            let Sides { before, after } = self.means(at);
            after - before
        };
        let mut chain = vec![at];
        let mut at = at;
        while let Some(child) =
            (self.visible.children(at)).find(|child| change(*child) / change(at) >= NEARLY_ALL)
        {
            at = child;
            chain.push(at);
        }
        chain
    }
}

/// Sums by class, used again for every subtree: most have few classes, and the table of all is long.
struct Sums {
    of: Vec<Option<f64>>,
    /// The classes that have one.
    touched: Vec<u32>,
}

impl Sums {
    fn new(classes: usize) -> Self {
        Self { of: vec![None; classes], touched: Vec::new() }
    }

    fn add(&mut self, class: u32, change: f64) {
        let sum = &mut self.of[class as usize];
        if sum.is_none() {
            self.touched.push(class);
        }
        *sum = Some(sum.unwrap_or(0.0) + change);
    }

    /// The largest sum and its class, the lowest of equals; all sums are gone then.
    fn take_largest(&mut self) -> Option<(f64, u32)> {
        let sums = self.touched.drain(..).map(|class| (self.of[class as usize].take(), class));
        let sums = sums.filter_map(|(sum, class)| Some((sum?, class)));
        sums.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
    }
}
