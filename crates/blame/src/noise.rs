//! How much costs scatter between runs of the same code: the one model from which p, interval, verdict and the number of
//! runs needed follow.
//!
//! Samples scatter by counts: the variance grows with the cost. Machines, caches and data scatter by factors: the
//! variance grows with its square. So a cost `m` has the variance `counts · m + factors · m²` between runs. Three runs
//! say next to nothing about one function, but there are hundreds of functions: both numbers are fitted over all of
//! them, and each function's own spread is then drawn towards the fit, by as much as functions agree with it. (The field
//! of gene expression, where runs are as few and rows as many, does the same.)
//!
//! Differences are judged on the scale on which such costs scatter by the same amount wherever they are
//! ([`Noise::level`]): nothing that becomes sixty samples is far, 1,000 that become 1,060 are near, and a factor of two
//! is as far in milliseconds as in minutes.

mod difference;

#[cfg(test)]
mod tests;

pub use difference::Difference;

use crate::special::{digamma, inverse_trigamma, trigamma};

/// Mean and spread of one cost on one side.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spread {
    /// Mean over the runs.
    pub mean: f64,
    /// Variance of the logarithms between the runs: by which factors they scatter. 0 for a single one.
    pub factors: f64,
    /// How many runs.
    pub runs: usize,
}

/// Even where a run has nothing, there may be this part of the mean: nothing has no logarithm.
const NEXT_TO_NOTHING: f64 = 0.01;

impl Spread {
    /// Of the values of one side's runs; `quantum` is what one sample stands for.
    pub fn of(values: &[f64], quantum: f64) -> Self {
        let runs = values.len();
        let mean = values.iter().sum::<f64>() / runs.max(1) as f64;
        if runs < 2 || mean <= 0.0 {
            return Self { mean, factors: 0.0, runs };
        }
        let unseen = (quantum / 2.0).max(mean * NEXT_TO_NOTHING);
        let log = |value: &f64| (value.max(0.0) + unseen).ln();
        let middle = values.iter().map(log).sum::<f64>() / runs as f64;
        let squares: f64 = values.iter().map(|value| (log(value) - middle).powi(2)).sum();
        Self { mean, factors: squares / (runs - 1) as f64, runs }
    }

    fn freedom(&self) -> f64 {
        self.runs.saturating_sub(1) as f64
    }
}

/// What is measured, as far as it decides how values scatter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampling {
    /// What one sample stands for, in the metric's unit; 0 for values that are not sampled.
    pub quantum: f64,
    /// Every event was counted, and nothing was timed: two runs of the same work have the same values.
    pub exact: bool,
}

/// How costs scatter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Noise {
    /// Variance per unit of cost: how small costs scatter.
    pub counts: f64,
    /// Squared relative spread: how large costs scatter.
    pub factors: f64,
    /// How many degrees of freedom the two are worth for a single cost.
    pub freedom: f64,
}

/// Samples come in bursts (compilation, cache misses, a collection in between): where nobody measured it, the variance
/// of small costs is this many times what independent samples have.
const UNMEASURED_BURSTS: f64 = 10.0;
/// Regular sampling can have less variance than independent samples, but not much less.
const LEAST_BURSTS: f64 = 0.5;
/// Runs of one program whose spread nobody measured differ by this much of the cost.
const UNMEASURED_SPREAD: f64 = 0.10;
/// Functions differ by at least this much of their cost between runs, whatever a few runs show.
const LEAST_SPREAD: f64 = 0.01;
/// The same for counted values.
const LEAST_SPREAD_OF_COUNTS: f64 = 1e-6;
/// The fit is worth at most so many degrees of freedom: functions do differ.
const MOST_FREEDOM: f64 = 30.0;
/// And at least so many: a fit over hundreds of functions is worth more than two runs.
const LEAST_FREEDOM: f64 = 2.0;
/// Without samples, small costs scatter by no more than this for each unit: a number above 0 to divide by.
const LEAST_COUNTS: f64 = 1e-9;
/// Where fewer costs than this are known with their spread, nothing is fitted.
const FEWEST: usize = 8;
/// Spreads that are this many times what the fit says are not the rule.
const FAR_OFF: f64 = 10.0;
/// What machines do to whole runs: this much of the total, a good guess worth one run more.
const SPREAD_OF_MACHINES: f64 = 0.02;
const FREEDOM_OF_MACHINES: f64 = 1.0;
/// A single run may have had a bad day: what is assumed of it is worth two runs more.
const FREEDOM_OF_BAD_DAYS: f64 = 2.0;

impl Noise {
    /// What is assumed where no side has two runs.
    pub fn unmeasured(sampling: Sampling) -> Self {
        if sampling.exact {
            return Self::exact(LEAST_SPREAD_OF_COUNTS);
        }
        let counts = (UNMEASURED_BURSTS * sampling.quantum).max(LEAST_COUNTS);
        Self { counts, factors: UNMEASURED_SPREAD.powi(2), freedom: 10.0 }
    }

    /// What whole runs scatter by before any was seen: their own spread soon says more. `fewest` is the number of runs
    /// of the side with fewer.
    pub fn of_machines(sampling: Sampling, fewest: usize) -> Self {
        if sampling.exact {
            return Self { freedom: FREEDOM_OF_MACHINES, ..Self::exact(LEAST_SPREAD_OF_COUNTS) };
        }
        let (spread, freedom) = if fewest > 1 {
            (SPREAD_OF_MACHINES, FREEDOM_OF_MACHINES)
        } else {
            (UNMEASURED_SPREAD, FREEDOM_OF_BAD_DAYS)
        };
        Self { counts: sampling.quantum.max(LEAST_COUNTS), factors: spread.powi(2), freedom }
    }

    fn exact(spread: f64) -> Self {
        Self { counts: LEAST_COUNTS, factors: spread * spread, freedom: MOST_FREEDOM }
    }

    /// Learns the noise from the spreads of many costs.
    pub fn learn(sampling: Sampling, spreads: &[Spread]) -> Self {
        let Sampling { quantum, exact } = sampling;
        // What is hardly ever sampled has a spread of whole samples, which says nothing about factors.
        let mut points: Vec<Point> = (spreads.iter())
            .filter(|spread| spread.runs > 1 && spread.mean > 2.0 * quantum && spread.mean > 0.0)
            .map(|spread| Point {
                cost: spread.mean,
                relative: spread.factors,
                freedom: spread.freedom(),
            })
            .collect();
        let least = if exact { LEAST_SPREAD_OF_COUNTS } else { LEAST_SPREAD };
        if points.len() < FEWEST {
            return Self::of_few(sampling, &points, least);
        }
        let mut noise = Self::fit(sampling, &points, least);
        // Clocks also count the time in which something else ran: what that hits is the rule there.
        if quantum > 0.0 || exact {
            points.retain(|point| point.relative < FAR_OFF * noise.relative(point.cost));
            if points.len() >= FEWEST {
                noise = Self::fit(sampling, &points, least);
            }
        }
        noise.trust(&points);
        noise
    }

    /// From a handful of costs: a guess, drawn towards what they show.
    fn of_few(sampling: Sampling, points: &[Point], least: f64) -> Self {
        let unmeasured = Self::unmeasured(sampling);
        if points.is_empty() {
            return unmeasured;
        }
        let guess = if sampling.exact { least } else { UNMEASURED_SPREAD / 2.0 };
        let freedom: f64 = points.iter().map(|point| point.freedom).sum();
        let strayed: f64 = points.iter().map(|point| point.freedom * point.relative).sum();
        Self {
            counts: sampling.quantum.max(LEAST_COUNTS),
            factors: ((guess * guess + strayed) / (1.0 + freedom)).max(least * least),
            freedom: (1.0 + freedom).clamp(LEAST_FREEDOM, MOST_FREEDOM),
        }
    }

    /// Both numbers, by the likelihood of variances: a generalised linear model of the gamma family, where
    /// `variance of the logarithm = counts / cost + factors`.
    fn fit(sampling: Sampling, points: &[Point], least: f64) -> Self {
        let fewest_counts = (LEAST_BURSTS * sampling.quantum).max(LEAST_COUNTS);
        let mean = points.iter().map(|point| point.relative).sum::<f64>() / points.len() as f64;
        let (mut counts, mut factors) = (sampling.quantum, mean.max(least * least));
        for _ in 0..50 {
            let (mut xx, mut x1, mut n, mut xy, mut y) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for point in points {
                let inverse = 1.0 / point.cost;
                let expected = (counts * inverse + factors).max(1e-300);
                let weight = point.freedom / (expected * expected);
                xx += weight * inverse * inverse;
                x1 += weight * inverse;
                n += weight;
                xy += weight * inverse * point.relative;
                y += weight * point.relative;
            }
            let apart = n * xx - x1 * x1;
            let mut next = if apart > 1e-9 * n * xx {
                ((n * xy - x1 * y) / apart, (xx * y - x1 * xy) / apart)
            } else {
                (counts, (y - counts * x1) / n)
            };
            // Whatever leaves its bounds stays there, and the other is fitted alone.
            if next.0 < fewest_counts {
                next = (fewest_counts, (y - fewest_counts * x1) / n);
            }
            if next.1 < least * least {
                let alone = (xy - least * least * x1) / xx;
                next = (alone.max(fewest_counts), least * least);
            }
            let still = (next.0 - counts).abs() <= 1e-6 * counts
                && (next.1 - factors).abs() <= 1e-6 * factors;
            (counts, factors) = next;
            if still {
                break;
            }
        }
        Self { counts, factors, freedom: MOST_FREEDOM }
    }

    /// How far functions stray from the fit decides what it is worth.
    fn trust(&mut self, points: &[Point]) {
        let count = points.len() as f64;
        let mut off: Vec<f64> = (points.iter())
            .map(|point| {
                let half = point.freedom / 2.0;
                // The logarithm of a variance from few runs is low on average, by a known amount.
                let ratio = point.relative / self.relative(point.cost);
                ratio.max(1e-3).ln() - digamma(half) + half.ln()
            })
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
        let expected =
            points.iter().map(|point| trigamma(point.freedom / 2.0)).sum::<f64>() / count;
        let between = variance - expected;
        let freedom = if between > 1e-3 { 2.0 * inverse_trigamma(between) } else { MOST_FREEDOM };
        self.freedom = freedom.clamp(LEAST_FREEDOM, MOST_FREEDOM);
    }

    /// The variance of the logarithms of a cost to expect.
    fn relative(&self, cost: f64) -> f64 {
        self.counts / cost + self.factors
    }

    /// The variance between runs to expect of a cost.
    pub fn trend(&self, mean: f64) -> f64 {
        let mean = mean.abs();
        // Where nothing was seen, there may have been a part of a sample.
        mean * (self.counts + self.factors * mean) + self.counts * self.counts / 4.0
    }

    /// Where a cost lies on the scale on which all costs scatter by 1 between runs.
    pub fn level(&self, cost: f64) -> f64 {
        let root = self.factors.sqrt();
        2.0 / root * (self.factors * cost.max(0.0) / self.counts).sqrt().asinh()
    }

    /// The cost at a level.
    pub fn cost_at(&self, level: f64) -> f64 {
        let root = self.factors.sqrt();
        self.counts / self.factors * (root * level.max(0.0) / 2.0).sinh().powi(2)
    }

    /// The difference of two sides. `common` is the standard error of whatever both were scaled by, as a part of 1.
    pub fn difference(&self, before: &Spread, after: &Spread, common: f64) -> Difference {
        Difference::of(self, before, after, common)
    }
}

/// The spread of one cost.
struct Point {
    cost: f64,
    /// Variance of its logarithms.
    relative: f64,
    freedom: f64,
}
