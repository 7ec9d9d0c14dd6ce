//! What is the case, how many runs would tell, and what would have been noticed.
//!
//! The totals of both sides are compared by the same model as functions are, with what machines do to whole runs in
//! place of what was learnt from functions. Findings and total then make the verdict.

use perfblame_cct::Sides;

use super::costs::Costs;
use super::{Finding, Interval, Verdict};
use crate::noise::{Difference, Noise, Sampling, Spread};
use crate::special::student_quantile;

/// The totals of both sides, as recorded.
pub(super) struct Total {
    pub(super) change: Interval,
    /// None where no side has two runs.
    pub(super) p_value: Option<f64>,
    sides: Sides<Spread>,
    difference: Difference,
    /// All runs of one side are at least twice all of the other.
    apart: bool,
}

/// A change of the total that is this unlikely to be chance is one, whether or not a function explains it.
const CERTAIN: f64 = 0.01;
/// The same for a large change: machines do not drift that far.
const CERTAIN_OF_LARGE: f64 = 0.05;
/// A change of the total that is this unlikely may be one.
const SUSPICIOUS: f64 = 0.05;
/// With one run on each side, sampling and common spread must make a change this unlikely.
const BEYOND_SAMPLING: f64 = 1e-4;
/// A change below this part of the total is small.
const WORTH_KNOWING: f64 = 0.05;
/// When only slowdowns beyond this factor would be noticed, nothing can be said.
const BLIND: f64 = 2.0;
/// A change by this part of the total is large: when it may still be chance, nothing can be said.
const LARGE: f64 = 0.25;
/// More runs than this nobody makes.
const MOST_RUNS: u32 = 1000;

impl Total {
    pub(super) fn of(costs: &Costs, sampling: Sampling) -> Self {
        let (before, after) = costs.totals.split_at(costs.runs.before);
        let measured = costs.runs.iter().any(|runs| *runs > 1);
        let fewest = *costs.runs.iter().min().unwrap_or(&0);
        let noise = if measured {
            Noise::of_machines(sampling, fewest)
        } else {
            Noise::unmeasured(sampling)
        };
        let difference = Difference::of_runs(&noise, before, after);
        let value = median(after) - median(before);
        let (low, high) = difference.interval();
        // The middle run can lie outside of what is likely for the mean.
        let change = Interval { value, low: low.min(value), high: high.max(value) };
        Self {
            change,
            p_value: measured.then(|| difference.p()),
            sides: costs.sides(&costs.totals),
            apart: difference.is_apart(),
            difference,
        }
    }

    /// A typical run's total.
    pub(super) fn typical(&self) -> f64 {
        self.sides.before.mean.max(self.sides.after.mean)
    }

    /// The slowdown of the total that would have been noticed, as a part of the total before.
    pub(super) fn noticed(&self) -> Option<f64> {
        let noticed = self.noticed_factor() - 1.0;
        (self.p_value.is_some() && noticed.is_finite()).then_some(noticed)
    }

    fn noticed_factor(&self) -> f64 {
        let small = self.difference.noticed(CERTAIN);
        if small <= 1.0 + LARGE {
            small
        } else {
            self.difference.noticed(CERTAIN_OF_LARGE).max(1.0 + LARGE)
        }
    }

    /// The total changed by much.
    fn is_large(&self, threshold: f64) -> bool {
        self.change.value.abs() > (self.sides.before.mean * LARGE).max(threshold)
    }

    /// The total got surely slower (1) or faster (−1), whatever took the time; 0 where that is not sure.
    fn surely(&self, threshold: f64) -> f64 {
        let delta = self.change.value;
        let one = self.sides.iter().any(|side| side.runs < 2);
        let large = self.is_large(threshold) && !one;
        let allowed = if large { CERTAIN_OF_LARGE } else { CERTAIN };
        let certain = self.apart || self.p_value.is_some_and(|p| p < allowed);
        if certain && delta.abs() >= threshold && delta * self.difference.delta > 0.0 {
            delta.signum()
        } else {
            0.0
        }
    }
}

/// The middle value, the mean of the two middle ones where there are two.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

pub(super) struct Judged {
    pub(super) verdict: Verdict,
    pub(super) runs_needed: Option<u32>,
}

/// What was found, and the least that counts.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) suspects: &'a [Finding],
    pub(super) improvements: &'a [Finding],
    pub(super) moved: &'a [Finding],
    pub(super) threshold: f64,
    /// The threshold is the user's.
    pub(super) asked: bool,
    /// Every event was counted: one run tells.
    pub(super) exact: bool,
}

pub(super) fn judge(costs: &Costs, total: &Total, found: Found<'_>) -> Judged {
    let Found { suspects, improvements, moved, threshold, asked, exact } = found;
    let settled = |verdict| Judged { verdict, runs_needed: None };
    let direction = |sign: f64| match sign {
        sign if sign > 0.0 => Verdict::Regressed,
        sign if sign < 0.0 => Verdict::Improved,
        _ => Verdict::Unchanged,
    };
    let equal = |pair: &[f64]| (pair[0] - pair[1]).abs() <= f64::EPSILON * pair[0].abs();
    if costs.totals.windows(2).all(equal) && suspects.is_empty() && improvements.is_empty() {
        return settled(Verdict::Unchanged);
    }
    let sum =
        |findings: &[Finding]| findings.iter().map(|finding| finding.delta.value).sum::<f64>();
    let net = sum(suspects) + sum(improvements) + sum(moved);
    let half = (total.change.high - total.change.low) / 2.0;
    if asked && total.change.value.abs() + half < threshold {
        return settled(Verdict::Unchanged);
    }
    let single = costs.runs.iter().all(|runs| *runs < 2);
    if single && exact {
        let delta = total.change.value;
        let counts = delta != 0.0 && delta.abs() >= threshold;
        return settled(direction(if counts { delta } else { net }));
    }
    if single {
        let delta = total.change.value;
        let certain = total.difference.p() < BEYOND_SAMPLING && delta.abs() >= threshold;
        return if certain && net * delta > 0.0 {
            settled(direction(delta))
        } else {
            let runs_needed = needed(costs, total, delta.abs().max(threshold)).or(Some(3));
            Judged { verdict: Verdict::Inconclusive, runs_needed }
        };
    }
    let surely = total.surely(threshold);
    let delta = total.change.value;
    let suspicious = total.p_value.is_some_and(|p| p < SUSPICIOUS) && delta.abs() > threshold;
    if !suspects.is_empty() {
        // Functions that got slower are no bad news where all together got faster, by more than they lost.
        let faster = surely < 0.0 || (suspicious && net < 0.0);
        let outweighed = faster && delta < 0.0 && -delta > sum(suspects);
        return settled(if outweighed { Verdict::Improved } else { Verdict::Regressed });
    }
    // A cost that only moved is lost in one place and found in another: neither better nor worse.
    let lost = -sum(improvements);
    let faster = lost > 0.0 && net < 0.0 && sum(moved) < lost * 0.5;
    if surely != 0.0 {
        return settled(direction(surely));
    }
    let large = total.is_large(threshold);
    if faster && (delta <= 0.0 || !(suspicious || large)) {
        return settled(Verdict::Improved);
    }
    // Something may be there, or the noise would hide whatever there is.
    let typical = total.typical();
    let blind = total.noticed_factor() > BLIND;
    if suspicious || blind || large {
        let least = delta.abs().max(threshold).max(typical * WORTH_KNOWING);
        return Judged { verdict: Verdict::Inconclusive, runs_needed: needed(costs, total, least) };
    }
    settled(Verdict::Unchanged)
}

/// Runs on each side with which a difference like this would be found four times out of five: more than there are.
fn needed(costs: &Costs, total: &Total, delta: f64) -> Option<u32> {
    let levels = total.difference.levels_of(delta)?;
    let fewest = costs.runs.iter().copied().min().unwrap_or(0) as u32 + 1;
    let prior = total.difference.freedom_of_noise();
    (fewest.max(3)..=MOST_RUNS).find(|runs| {
        let runs = f64::from(*runs);
        let freedom = prior + 2.0 * (runs - 1.0);
        let errors = student_quantile(CERTAIN, freedom) + 0.842;
        errors * total.difference.spread() * (2.0 / runs).sqrt() <= levels
    })
}
