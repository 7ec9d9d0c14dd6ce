//! How much costs scatter between runs of the same code, learnt from the whole tree.
//!
//! Three runs say next to nothing about the spread of one function, but there are hundreds of functions. The spread
//! follows a trend: sampling adds a variance that grows with the cost, a program that never runs twice the same adds
//! one that grows with its square, and most programs lie between. So the variance is a power of the cost, fitted over
//! all functions and contexts, and each function's own spread is then drawn towards it, by as much as the functions
//! agree with it. (The idea is that of moderated tests for gene expression, where runs are as few and rows as many.)

use crate::special::{digamma, inverse_trigamma, student_quantile, student_two_sided, trigamma};

/// Mean and spread of one cost on one side.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spread {
    /// Mean over the runs.
    pub mean: f64,
    /// Variance between the runs; 0 for a single one.
    pub variance: f64,
    /// How many runs.
    pub runs: usize,
}

impl Spread {
    /// Of the values of one side's runs.
    pub fn of(values: &[f64]) -> Self {
        let runs = values.len();
        let mean = values.iter().sum::<f64>() / runs.max(1) as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = if runs > 1 { squares / (runs - 1) as f64 } else { 0.0 };
        Self { mean, variance, runs }
    }

    fn freedom(&self) -> f64 {
        self.runs.saturating_sub(1) as f64
    }
}

/// The trend of the spread, and how much it is to be trusted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Noise {
    /// What one sample stands for: variance per unit of cost that sampling alone brings. 0 for exact values.
    pub quantum: f64,
    /// Variance in multiples of what independent samples have: at least this much.
    pub bursts: f64,
    /// Logarithm of the variance of a cost of 1.
    pub level: f64,
    /// The variance grows with this power of the cost, 1 to 2.
    pub power: f64,
    /// How many degrees of freedom the trend is worth.
    pub freedom: f64,
}

/// After minus before, with how sure that is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// After minus before.
    pub delta: f64,
    /// Standard error of `delta`.
    pub error: f64,
    /// Standard error that `delta` would have if nothing had changed. Large costs scatter by more than small ones, so
    /// that a cost that is large on one side only would hide itself by what it is expected to scatter by.
    pub error_unchanged: f64,
    /// Degrees of freedom behind both errors.
    pub freedom: f64,
}

impl Difference {
    /// The chance of a difference this large in either direction between runs of the same code.
    pub fn p(&self) -> f64 {
        if self.delta == 0.0 {
            1.0
        } else {
            student_two_sided(self.delta / self.error_unchanged, self.freedom)
        }
    }

    /// The interval that holds the true difference with 95 % confidence.
    pub fn interval(&self) -> (f64, f64) {
        let half = student_quantile(0.05, self.freedom) * self.error;
        (self.delta - half, self.delta + half)
    }
}

/// Samples come in bursts (compilation, cache misses, a collection in between): where nobody measured it, the variance
/// of small costs is this many times what independent samples have.
const UNMEASURED_BURSTS: f64 = 10.0;
/// Regular sampling can have less variance than independent samples, but not much less.
const LEAST_BURSTS: f64 = 0.5;
/// Runs of one program whose spread nobody measured differ by this much of the cost.
const UNMEASURED_SPREAD: f64 = 0.10;
/// The same for counted values, such as calls and instructions.
const UNMEASURED_SPREAD_OF_COUNTS: f64 = 0.01;
/// The trend is never worth more than this many degrees of freedom: functions do differ.
const MOST_FREEDOM: f64 = 30.0;

impl Noise {
    /// What is assumed where no side has two runs.
    pub fn unmeasured(quantum: f64, counted: bool) -> Self {
        let spread = if counted { UNMEASURED_SPREAD_OF_COUNTS } else { UNMEASURED_SPREAD };
        Self {
            quantum,
            bursts: UNMEASURED_BURSTS,
            level: 2.0 * spread.ln(),
            power: 2.0,
            freedom: 10.0,
        }
    }

    /// How likely two runs differ by as much by chance. Samples scatter by the root of their number, and roots of costs all
    /// by the same: few samples that become hundreds are no chance, however much hundreds scatter by.
    pub fn p_of_runs(&self, before: f64, after: f64) -> f64 {
        let variance: f64 = [before, after]
            .map(|cost| cost.max(self.quantum).max(f64::MIN_POSITIVE))
            .map(|cost| self.trend(cost) / (4.0 * cost))
            .iter()
            .sum();
        let [before, after] = [before, after].map(|cost| cost.max(0.0).sqrt());
        student_two_sided((after - before) / variance.sqrt().max(f64::MIN_POSITIVE), self.freedom)
    }

    /// Learns the trend from the spreads of many costs. `counted` values are those that have no clock in them.
    pub fn learn(quantum: f64, counted: bool, spreads: &[Spread]) -> Self {
        // What is hardly ever sampled has a spread of whole samples, which says nothing about the trend.
        let enough: Vec<&Spread> = (spreads.iter())
            .filter(|spread| spread.runs > 1 && spread.mean > 5.0 * quantum && spread.mean > 0.0)
            .collect();
        if enough.len() < 5 {
            let mut noise = Self::unmeasured(quantum, counted);
            noise.bursts = if enough.is_empty() { UNMEASURED_BURSTS } else { 1.0 };
            let relative = enough.iter().map(|spread| spread.variance / spread.mean.powi(2));
            if let Some(worst) = relative.max_by(f64::total_cmp) {
                noise.level = worst.max(1e-12).ln();
            }
            return noise;
        }
        // A spread of nothing is a spread too small to be seen.
        let points: Vec<Point> = (enough.iter())
            .map(|spread| {
                let half = spread.freedom() / 2.0;
                let least = (quantum * quantum / 4.0).max((spread.mean * 1e-6).powi(2)).max(1e-12);
                Point {
                    cost: spread.mean.ln(),
                    // The logarithm of a variance from few runs is low on average, by a known amount.
                    variance: spread.variance.max(least).ln() - digamma(half) + half.ln(),
                    expected: trigamma(half),
                }
            })
            .collect();
        let (level, power) = line(&points);
        let mut noise = Self { quantum, bursts: LEAST_BURSTS, level, power, freedom: MOST_FREEDOM };
        noise.trust(&points);
        noise
    }

    /// How far functions stray from the trend decides what the trend is worth.
    fn trust(&mut self, points: &[Point]) {
        let count = points.len() as f64;
        let mut off: Vec<f64> = (points.iter())
            .map(|point| point.variance - (self.level + self.power * point.cost))
            .collect();
        off.sort_by(f64::total_cmp);
        // The wildest twentieth on either side are not the rule.
        let cut = off.len() / 20;
        let (low, high) = (off[cut], off[off.len() - 1 - cut]);
        for off in &mut off {
            *off = off.clamp(low, high);
        }
        let mean = off.iter().sum::<f64>() / count;
        let variance = off.iter().map(|off| (off - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let expected = points.iter().map(|point| point.expected).sum::<f64>() / count;
        let between = variance - expected;
        let freedom = if between > 1e-3 { 2.0 * inverse_trigamma(between) } else { MOST_FREEDOM };
        self.freedom = freedom.clamp(2.0, MOST_FREEDOM);
        let half = self.freedom / 2.0;
        self.level += mean + digamma(half) - half.ln();
    }

    /// The variance between runs to expect of a cost.
    pub fn trend(&self, mean: f64) -> f64 {
        let mean = mean.abs();
        let least = self.quantum * self.quantum / 4.0 + (mean * 1e-6).powi(2) + 1e-12;
        let sampling = self.quantum * mean * self.bursts;
        let trend = if mean > 0.0 { (self.level + self.power * mean.ln()).exp() } else { 0.0 };
        sampling.max(trend) + least
    }

    /// The difference of two sides. `common` is the standard error of whatever both were scaled by, as a part of 1.
    pub fn difference(&self, before: &Spread, after: &Spread, common: f64) -> Difference {
        let sides = [before, after].map(|side| (side, self.trend(side.mean)));
        let own: f64 = sides.iter().map(|(side, _)| side.freedom()).sum();
        let strayed: f64 =
            sides.iter().map(|(side, trend)| side.freedom() * side.variance / trend).sum();
        let freedom = self.freedom + own;
        let ratio = (self.freedom + strayed) / freedom;
        let variance: f64 = sides.iter().map(|(side, trend)| trend / side.runs.max(1) as f64).sum();
        // Had nothing changed, both sides would cost the same and scatter as that does. A single run may be a bad day,
        // which is no more than its own cost makes likely.
        let unchanged = if before.runs.min(after.runs) > 1 {
            let trend = self.trend(f64::midpoint(before.mean, after.mean));
            sides.iter().map(|(side, _)| trend / side.runs as f64).sum::<f64>().min(variance)
        } else {
            variance
        };
        let scaled = common * before.mean.abs().min(after.mean.abs());
        let error = |variance: f64| (ratio * variance + scaled * scaled).sqrt();
        Difference {
            delta: after.mean - before.mean,
            error: error(variance),
            error_unchanged: error(unchanged),
            freedom,
        }
    }
}

/// One cost's spread, in logarithms.
struct Point {
    cost: f64,
    variance: f64,
    /// The variance of `variance` that comes from having few runs.
    expected: f64,
}

/// The line through most points: level and slope, with points far off counting less.
fn line(points: &[Point]) -> (f64, f64) {
    let (mut level, mut power) = (0.0, 1.5);
    let mut off: Vec<f64> =
        points.iter().map(|point| point.variance - power * point.cost).collect();
    off.sort_by(f64::total_cmp);
    level += off[off.len() / 2];
    for _ in 0..30 {
        let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for point in points {
            let off = (point.variance - level - power * point.cost) / point.expected.sqrt();
            let weight = if off.abs() > 2.0 { 2.0 / off.abs() } else { 1.0 };
            w += weight;
            wx += weight * point.cost;
            wy += weight * point.variance;
            wxx += weight * point.cost * point.cost;
            wxy += weight * point.cost * point.variance;
        }
        let spread = w * wxx - wx * wx;
        power = if spread > 1e-9 * w * wxx { (w * wxy - wx * wy) / spread } else { 1.5 };
        power = power.clamp(1.0, 2.0);
        level = (wy - power * wx) / w;
    }
    (level, power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_fixtures::Random;

    /// Counts around means, with a spread of their own between runs.
    fn runs(random: &mut Random, mean: f64, spread: f64, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| {
                let mean = mean * (1.0 + spread * random.normal());
                (mean + mean.max(0.0).sqrt() * random.normal()).max(0.0).round()
            })
            .collect()
    }

    #[test]
    fn the_trend_is_learnt() {
        let mut random = Random::new(7);
        let mut spreads = Vec::new();
        for row in 0..400 {
            let mean = 5.0 * 1.02f64.powi(row);
            spreads.push(Spread::of(&runs(&mut random, mean, 0.05, 3)));
        }
        let noise = Noise::learn(1.0, false, &spreads);
        for mean in [20.0f64, 200.0, 2000.0, 10_000.0] {
            let truth: f64 = mean + (0.05 * mean).powi(2);
            let ratio = noise.trend(mean) / truth;
            assert!((0.4..2.0).contains(&ratio), "{mean}: {ratio} {noise:?}");
        }
        assert!(noise.freedom > 8.0, "{noise:?}");
    }

    #[test]
    fn identical_code_is_rarely_found_different() {
        let mut random = Random::new(11);
        let sides: Vec<[Vec<f64>; 2]> = (0..1000)
            .map(|row| {
                let mean = 5.0 + f64::from(row % 300);
                [0, 1].map(|_| runs(&mut random, mean, 0.05, 3))
            })
            .collect();
        let spreads: Vec<Spread> =
            sides.iter().flatten().map(|values| Spread::of(values)).collect();
        let noise = Noise::learn(1.0, false, &spreads);
        let found = (sides.iter())
            .filter(|[before, after]| {
                noise.difference(&Spread::of(before), &Spread::of(after), 0.0).p() < 0.05
            })
            .count();
        assert!((25..=80).contains(&found), "{found} of 1000 at 5 %");
    }

    #[test]
    fn what_is_new_does_not_hide_itself_by_what_its_size_scatters_by() {
        let mut random = Random::new(13);
        let sides: Vec<[Vec<f64>; 2]> = (0..1000)
            .map(|row| {
                let mean = 10.0 + f64::from(row % 300);
                [0, 1].map(|_| runs(&mut random, mean, 0.35, 3))
            })
            .collect();
        let spread = |values: &[f64]| Spread::of(values);
        let spreads: Vec<Spread> = sides.iter().flatten().map(|values| spread(values)).collect();
        let noise = Noise::learn(1.0, false, &spreads);
        let new = noise.difference(&spread(&[0.0; 3]), &spread(&[99.0, 94.0, 88.0]), 0.0);
        assert!(new.p() < 1e-5, "{} {new:?}", new.p());
        // Both sides have runs that say how much they scatter, so identical code is not found more often.
        let found = (sides.iter())
            .filter(|[before, after]| {
                noise.difference(&spread(before), &spread(after), 0.0).p() < 0.05
            })
            .count();
        assert!((25..=75).contains(&found), "{found} of 1000 at 5 %");
        // A single run says nothing about that.
        let single = noise.difference(&spread(&[0.0; 3]), &spread(&[94.0]), 0.0);
        assert!(single.error_unchanged >= single.error, "{single:?}");
    }

    #[test]
    fn few_samples_that_become_hundreds_are_no_chance() {
        let noise = Noise::unmeasured(1.0, false);
        // The plain difference hides behind what hundreds of samples scatter by.
        let plain = noise.difference(&Spread::of(&[14.0]), &Spread::of(&[381.0]), 0.0);
        assert!(plain.p() > 1e-4 && noise.p_of_runs(14.0, 381.0) < 1e-4);
        assert!(noise.p_of_runs(300.0, 381.0) > 0.05);
        assert!(noise.p_of_runs(0.0, 20.0) > 1e-3, "two bursts of samples");
        assert!((noise.p_of_runs(0.0, 0.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn exact_values_that_never_vary_differ_by_anything() {
        let spreads: Vec<_> = (1..50).map(|row| Spread::of(&[f64::from(row) * 1e6; 3])).collect();
        let noise = Noise::learn(0.0, true, &spreads);
        let difference = noise.difference(&Spread::of(&[1e6; 3]), &Spread::of(&[1.01e6; 3]), 0.0);
        assert!(difference.p() < 1e-6, "{difference:?} {noise:?}");
    }
}
