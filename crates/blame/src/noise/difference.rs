//! After minus before, with how sure that is: p and interval say the same by construction.
//!
//! Each side's mean has an interval on the scale of [`Noise::level`]; the two make the interval of the difference (by
//! adding the squares of the distances to the ends that face each other, which keeps the interval lopsided where the
//! scatter is). The p-value is the level of confidence at which that interval touches zero.

use super::{Noise, Spread};
use crate::special::{student_quantile, student_two_sided};

/// After minus before.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// After minus before.
    pub delta: f64,
    /// Degrees of freedom behind the errors.
    pub freedom: f64,
    noise: Noise,
    /// Standard deviation of one run on the scale of levels.
    spread: f64,
    /// All runs of one side are at least twice all of the other.
    apart: bool,
    before: Mean,
    after: Mean,
}

/// The mean of one side, with its error.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Mean {
    value: f64,
    /// On the scale of levels.
    level: f64,
    /// Added before a level was taken: even where no sample was seen, some cost may be.
    unseen: f64,
    /// Standard error on the scale of levels.
    error: f64,
}

/// No run of one side is within this factor of any of the other's: whatever machines do, that is a difference.
pub const APART: f64 = 2.0;
/// Neighbouring runs of one program on a bad machine differ by so much, as a logarithm.
const BAD_MACHINE: f64 = 0.2;
const FREEDOM_OF_BAD_MACHINES: f64 = 4.0;
/// More standard errors than this nobody has to tell apart.
const FARTHEST: f64 = 200.0;

impl Difference {
    pub(super) fn of(noise: &Noise, before: &Spread, after: &Spread, common: f64) -> Self {
        let sides = [before, after];
        let own: f64 = sides.iter().map(|side| side.freedom()).sum();
        let strayed = |side: &&Spread| match side.mean {
            mean if mean > 0.0 => side.freedom() * side.factors / noise.relative(mean),
            // Nothing in every run scatters as little as it should.
            _ => side.freedom(),
        };
        let strayed: f64 = sides.iter().map(strayed).sum();
        let freedom = noise.freedom + own;
        let ratio = (noise.freedom + strayed) / freedom;
        // What both sides were scaled by may be wrong. A factor times nothing is nothing.
        let least = before.mean.min(after.mean).max(0.0);
        let scaled = if least > 0.0 { common * least / noise.trend(least).sqrt() } else { 0.0 };
        let mean = |side: &Spread| {
            let runs = side.runs.max(1) as f64;
            let unseen = 0.375 * noise.counts / runs;
            Mean {
                value: side.mean,
                level: noise.level(side.mean + unseen),
                unseen,
                error: (ratio / runs + scaled * scaled / 2.0).sqrt(),
            }
        };
        Self {
            delta: after.mean - before.mean,
            freedom,
            noise: *noise,
            spread: ratio.sqrt(),
            apart: false,
            before: mean(before),
            after: mean(after),
        }
    }

    /// The difference of whole runs, given as they are.
    pub fn of_runs(noise: &Noise, before: &[f64], after: &[f64]) -> Self {
        let [one, two] = [before, after].map(|runs| Spread::of(runs, noise.counts));
        let mut difference = Self::of(noise, &one, &two, 0.0);
        let Some(p) = p_of_runs_apart(before, after) else { return difference };
        difference.apart = true;
        if p < difference.p() {
            // The errors are made to say the same.
            let shrunk = difference.standard_errors() / student_quantile(p, difference.freedom);
            difference.before.error *= shrunk;
            difference.after.error *= shrunk;
        }
        difference
    }

    /// The chance of a difference this large in either direction between runs of the same code.
    pub fn p(&self) -> f64 {
        if self.delta == 0.0 {
            1.0
        } else {
            student_two_sided(self.standard_errors(), self.freedom)
        }
    }

    /// The interval that holds the true difference with 95 % confidence.
    pub fn interval(&self) -> (f64, f64) {
        self.within(student_quantile(0.05, self.freedom))
    }

    /// The difference is more than so many standard errors from zero.
    pub fn is_beyond(&self, errors: f64) -> bool {
        let (low, high) = self.within(errors);
        low > 0.0 || high < 0.0
    }

    /// The least factor between the sides that would be noticed four times out of five, above 1.
    pub fn noticed(&self, p: f64) -> f64 {
        let errors = student_quantile(p, self.freedom) + 0.842;
        let error = self.before.error.hypot(self.after.error);
        let typical = self.before.value.max(f64::MIN_POSITIVE);
        let level = self.noise.level(typical) + errors * error;
        self.noise.cost_at(level) / typical
    }

    /// All runs of one side are at least twice all of the other.
    pub fn is_apart(&self) -> bool {
        self.apart
    }

    /// Standard deviation of one run, in levels.
    pub fn spread(&self) -> f64 {
        self.spread
    }

    /// Degrees of freedom that come from the noise alone.
    pub fn freedom_of_noise(&self) -> f64 {
        self.noise.freedom
    }

    /// How many levels a change of the cost before by so much makes.
    pub fn levels_of(&self, delta: f64) -> Option<f64> {
        let levels =
            self.noise.level(self.before.value + delta) - self.noise.level(self.before.value);
        (levels > 0.0).then_some(levels)
    }

    /// The interval of so many standard errors.
    fn within(&self, errors: f64) -> (f64, f64) {
        let (before, after) = (self.ends(self.before, errors), self.ends(self.after, errors));
        let down = (self.after.value - after.0).hypot(before.1 - self.before.value);
        let up = (after.1 - self.after.value).hypot(self.before.value - before.0);
        (self.delta - down, self.delta + up)
    }

    fn ends(&self, mean: Mean, errors: f64) -> (f64, f64) {
        let at = |level: f64| (self.noise.cost_at(level) - mean.unseen).max(0.0);
        let far = errors * mean.error;
        (at(mean.level - far).min(mean.value), at(mean.level + far).max(mean.value))
    }

    /// How many standard errors the interval has when it touches zero.
    fn standard_errors(&self) -> f64 {
        let (mut low, mut high) = (0.0, FARTHEST);
        if self.is_beyond(high) {
            return high;
        }
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if self.is_beyond(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// How likely runs lie apart by this much by chance; none unless all of one side are at least twice those of the other.
fn p_of_runs_apart(before: &[f64], after: &[f64]) -> Option<f64> {
    if before.len().min(after.len()) < 2 {
        return None;
    }
    let most = |values: &[f64]| values.iter().copied().fold(f64::MIN, f64::max);
    let least = |values: &[f64]| values.iter().copied().fold(f64::MAX, f64::min);
    let gap = (least(after) / most(before)).max(least(before) / most(after));
    // Nothing at all on one side is farther than any factor.
    if gap.is_nan() || gap < APART {
        return None;
    }
    let runs = (before.len() + after.len()) as u64;
    let ways = (1..=before.len() as u64)
        .fold(1.0, |ways, step| ways * (runs - before.len() as u64 + step) as f64 / step as f64);
    let errors = gap.ln() / (BAD_MACHINE * std::f64::consts::SQRT_2);
    Some(2.0 / ways * student_two_sided(errors, FREEDOM_OF_BAD_MACHINES))
}
