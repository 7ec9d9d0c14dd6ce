//! Random numbers that are the same everywhere, and the distributions that runs of a program follow.
//!
//! The generator is splitmix64: the streams of different cases must not depend on each other or on the order in which
//! threads take them, so each case seeds its own from its name.

use std::f64::consts::TAU;

/// A stream of random numbers.
pub struct Random(u64);

impl Random {
    /// The stream of a seed and a name; other names have other streams.
    pub fn named(seed: u64, name: &str) -> Self {
        let mut random = Self(perfblame_keys::seeded_hash(seed, name.bytes()));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// At least 0, below 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Between the two.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Between the two, each order of magnitude as likely as the next.
    pub fn log_between(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A row below `end`; 0 when there is none.
    pub fn below(&mut self, end: usize) -> usize {
        ((self.unit() * end as f64) as usize).min(end.saturating_sub(1))
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.below(from.len())) }
    }

    /// Puts them into any order.
    pub fn shuffle<T>(&mut self, rows: &mut [T]) {
        for last in (1..rows.len()).rev() {
            rows.swap(last, self.below(last + 1));
        }
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (TAU * self.unit()).cos()
    }

    /// A factor with mean 1 whose logarithm is normal.
    pub fn factor(&mut self, sigma: f64) -> f64 {
        if sigma <= 0.0 { 1.0 } else { sigma.mul_add(self.normal(), -sigma * sigma / 2.0).exp() }
    }

    /// Gamma with this shape and scale 1, after Marsaglia and Tsang.
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = (1.0 - self.unit()).powf(1.0 / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = c.mul_add(x, 1.0).powi(3);
            if v > 0.0
                && (1.0 - self.unit()).ln() < 0.5 * x * x + d.mul_add(v.ln(), d.mul_add(-v, d))
            {
                return d * v;
            }
        }
    }

    fn poisson(&mut self, mean: f64) -> u64 {
        if mean <= 0.0 {
            return 0;
        }
        // Far from zero the bell is as good, and costs the same for any mean.
        if mean > 60.0 {
            return mean.sqrt().mul_add(self.normal(), mean).round().max(0.0) as u64;
        }
        let limit = (-mean).exp();
        let (mut count, mut product) = (0, self.unit());
        while product > limit {
            count += 1;
            product *= self.unit();
        }
        count
    }

    /// Samples that fall where `mean` are expected, their variance `burst` times the mean: 1 is Poisson, more is a
    /// negative binomial.
    pub fn samples(&mut self, mean: f64, burst: f64) -> u64 {
        let extra = burst - 1.0;
        if extra <= 1e-6 || mean <= 0.0 {
            return self.poisson(mean);
        }
        let rate = self.gamma((mean / extra).max(1e-3)) * extra;
        self.poisson(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let values: Vec<f64> = (0..20_000).map(|_| draw()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, squares / values.len() as f64)
    }

    #[test]
    fn samples_scatter_as_asked() {
        let mut random = Random::named(1, "samples");
        for (expected, burst) in [(0.2, 1.0), (3.0, 1.0), (3.0, 1.5), (40.0, 1.3), (900.0, 1.4)] {
            let (mean, variance) = moments(|| random.samples(expected, burst) as f64);
            assert!((mean / expected - 1.0).abs() < 0.05, "{expected} {burst}: {mean}");
            assert!((variance / mean / burst - 1.0).abs() < 0.08, "{expected} {burst}: {variance}");
        }
    }

    #[test]
    fn factors_have_mean_one() {
        let mut random = Random::named(1, "factors");
        let (mean, variance) = moments(|| random.factor(0.2));
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((variance - 0.0408).abs() < 0.004, "{variance}");
    }

    #[test]
    fn a_name_has_one_stream() {
        let draw = |name| Random::named(7, name).unit();
        assert!((draw("a") - draw("a")).abs() < f64::EPSILON);
        assert!((draw("a") - draw("b")).abs() > 1e-9);
    }
}
