//! What is the case, and how many runs would tell.

use perfblame_cct::Sides;

use super::costs::{Costs, Visible};
use super::scale::Scale;
use super::{Finding, Interval, Verdict};
use crate::noise::{Noise, Spread};
use crate::special::{student_quantile, student_two_sided};

/// The totals of both sides.
pub(super) struct Total {
    /// As recorded.
    pub(super) change: Interval,
    pub(super) p_value: Option<f64>,
    /// The runtime scatters so much that what is judged leaves it out.
    sides: Sides<Spread>,
    judged: Change,
}

/// How the totals of two sides differ.
struct Change {
    /// Half of the interval that holds the difference.
    half: f64,
    p_value: Option<f64>,
    /// Standard deviation of one run's total.
    deviation: f64,
}

/// A change of the total that no function explains counts when it is this unlikely to be chance.
const CERTAIN: f64 = 0.001;
/// With one run on each side, sampling and common spread must make a change this unlikely.
const BEYOND_SAMPLING: f64 = 1e-4;
/// A change of the total that is this unlikely, and not small, may be one.
const SUSPICIOUS: f64 = 0.02;
/// A change below this part of the total is small.
const WORTH_KNOWING: f64 = 0.05;
/// When the total is known no better than this, nothing can be said.
const BLIND: f64 = 1.0;
/// More runs than this nobody makes.
const MOST_RUNS: f64 = 1000.0;

impl Total {
    pub(super) fn of(costs: &Costs, noise: &Noise) -> Self {
        let sides = costs.sides(&costs.blamable);
        let (before, after) = costs.totals.split_at(costs.runs.before);
        let whole = Change::of(&costs.sides(&costs.totals), costs, noise);
        let value = median(after) - median(before);
        let change = Interval { value, low: value - whole.half, high: value + whole.half };
        let judged = Change::of(&sides, costs, noise);
        Self { change, p_value: whole.p_value, sides, judged }
    }

    /// The total as recorded got surely slower, whatever took the time.
    fn is_surely_slower(&self, threshold: f64) -> bool {
        self.p_value.is_some_and(|p| p < CERTAIN)
            && self.change.low > (self.typical() * WORTH_KNOWING).max(threshold)
    }

    /// A typical run's total.
    pub(super) fn typical(&self) -> f64 {
        self.sides.before.mean.max(self.sides.after.mean)
    }
}

impl Change {
    fn of(sides: &Sides<Spread>, costs: &Costs, noise: &Noise) -> Self {
        let own: f64 = sides.iter().map(|side| side.runs.saturating_sub(1) as f64).sum();
        let delta = sides.after.mean - sides.before.mean;
        let (error, freedom, deviation) = if own > 0.0 {
            let pooled: f64 = (sides.iter())
                .map(|side| side.variance * side.runs.saturating_sub(1) as f64)
                .sum::<f64>()
                / own;
            // Never less than what sampling alone brings.
            let pooled = pooled.max(costs.quantum * sides.before.mean.max(sides.after.mean));
            let error: f64 = sides.iter().map(|side| pooled / side.runs.max(1) as f64).sum();
            (error.sqrt(), own, pooled.sqrt())
        } else {
            let variance: f64 = sides.iter().map(|side| noise.trend(side.mean)).sum();
            (variance.sqrt(), noise.freedom, (variance / 2.0).sqrt())
        };
        let p = if delta == 0.0 { 1.0 } else { student_two_sided(delta / error, freedom) };
        let half = student_quantile(0.05, freedom) * error;
        Self { half, p_value: (own > 0.0).then_some(p), deviation }
    }
}

/// The totals of what can be blamed, with what runs as a whole differ by taken out.
pub(super) fn scaled_totals(costs: &Costs, visible: &Visible) -> Sides<Spread> {
    let mut sums = vec![0.0; costs.count()];
    for at in (0..visible.len()).filter(|at| visible.parent[*at].is_none()) {
        for (sum, value) in sums.iter_mut().zip(visible.whole(at)) {
            *sum += value;
        }
    }
    costs.sides(&sums)
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
}

pub(super) fn judge(
    costs: &Costs,
    noise: &Noise,
    scale: &Scale,
    total: &Total,
    found: Found<'_>,
) -> Judged {
    let Found { suspects, improvements, moved, threshold, asked } = found;
    let settled = |verdict| Judged { verdict, runs_needed: None };
    let equal = |pair: &[f64]| (pair[0] - pair[1]).abs() <= f64::EPSILON * pair[0].abs();
    if costs.blamable.windows(2).all(equal) && suspects.is_empty() && improvements.is_empty() {
        return settled(Verdict::Unchanged);
    }
    let sum =
        |findings: &[Finding]| findings.iter().map(|finding| finding.delta.value).sum::<f64>();
    let net = sum(suspects) + sum(improvements) + sum(moved);
    let single = costs.runs.iter().all(|runs| *runs < 2);
    if asked && total.change.value.abs() + total.judged.half < threshold {
        return settled(Verdict::Unchanged);
    }
    if single {
        let Sides { before, after } = total.sides;
        let delta = after.mean - before.mean;
        let p = noise.p_of_runs(before.mean, after.mean);
        let certain = p < BEYOND_SAMPLING && delta.abs() >= threshold;
        return match (certain, net) {
            (true, net) if net > 0.0 && delta > 0.0 => settled(Verdict::Regressed),
            (true, net) if net < 0.0 && delta < 0.0 => settled(Verdict::Improved),
            _ => Judged {
                verdict: Verdict::Inconclusive,
                runs_needed: needed(total, total.change.value, threshold).or(Some(3)),
            },
        };
    }
    if !suspects.is_empty() && net > 0.0 {
        return settled(Verdict::Regressed);
    }
    // A cost that only moved is lost in one place and found in another: neither better nor worse.
    let lost = -sum(improvements);
    if lost > 0.0 && net < 0.0 && sum(moved) < lost * 0.5 {
        // Functions that got faster are no good news where all together got slower.
        let slower = total.is_surely_slower(threshold);
        return settled(if slower { Verdict::Regressed } else { Verdict::Improved });
    }
    let difference = noise.difference(&total.sides.before, &total.sides.after, 0.0);
    let delta = difference.delta;
    let alike = scale.common.ln().signum() == delta.signum();
    if total.judged.p_value.is_some_and(|p| p < CERTAIN)
        && difference.p() < CERTAIN
        && delta.abs() >= threshold
        && alike
    {
        return settled(if delta > 0.0 { Verdict::Regressed } else { Verdict::Improved });
    }
    // Something may be there, or the noise would hide whatever there is.
    let (low, high) = difference.interval();
    let suspicious = total.judged.p_value.is_some_and(|p| p < SUSPICIOUS)
        && difference.p() < SUSPICIOUS
        && delta.abs() > (total.typical() * WORTH_KNOWING).max(threshold);
    let blind = (high - low) / 2.0 > total.typical() * BLIND;
    if suspicious || blind {
        let runs_needed = needed(total, delta, threshold.max(total.typical() * WORTH_KNOWING));
        return Judged { verdict: Verdict::Inconclusive, runs_needed };
    }
    settled(Verdict::Unchanged)
}

/// Runs on each side with which a difference like this would be found four times out of five.
fn needed(total: &Total, delta: f64, threshold: f64) -> Option<u32> {
    let delta = delta.abs().max(threshold);
    if delta <= 0.0 {
        return None;
    }
    let z = 2.576 + 0.842;
    let runs = (2.0 * (z * total.judged.deviation / delta).powi(2)).ceil().max(3.0);
    (runs <= MOST_RUNS).then_some(runs as u32)
}
