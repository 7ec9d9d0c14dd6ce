//! The few special functions that tests of significance need, accurate to about ten digits.
//!
//! Written out here because the crates that have them bring linear algebra with them.

#![expect(
    clippy::many_single_char_names,
    reason = "they are the names the formulas have in every book"
)]

use std::f64::consts::PI;

/// Logarithm of the gamma function for positive `x`, by Lanczos' approximation.
pub fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let t = x + 7.5;
    let sum = (COEFFICIENTS.iter().enumerate().skip(1))
        .fold(COEFFICIENTS[0], |sum, (row, coefficient)| sum + coefficient / (x + row as f64));
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The regularised incomplete beta function, by its continued fraction.
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast only on this side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let far_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / far_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for step in 1..300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / far_from_zero(1.0 + even * d);
        c = far_from_zero(1.0 + even / c);
        result *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / far_from_zero(1.0 + odd * d);
        c = far_from_zero(1.0 + odd / c);
        let factor = d * c;
        result *= factor;
        if (factor - 1.0).abs() < 1e-14 {
            break;
        }
    }
    result
}

/// The chance that a chi-squared variable with `freedom` degrees is at least `x`.
pub fn chi_squared_tail(x: f64, freedom: f64) -> f64 {
    if x <= 0.0 || freedom <= 0.0 {
        return 1.0;
    }
    let (a, x) = (freedom / 2.0, x / 2.0);
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let mut term = 1.0 / a;
        let mut sum = term;
        let mut n = a;
        for _ in 0..1000 {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * 1e-15 {
                break;
            }
        }
        (1.0 - front * sum).clamp(0.0, 1.0)
    } else {
        let mut b = x + 1.0 - a;
        let mut c = 1e300;
        let mut d = 1.0 / b;
        let mut result = d;
        for step in 1..1000 {
            let n = f64::from(step);
            let an = -n * (n - a);
            b += 2.0;
            d = 1.0 / (an * d + b);
            c = b + an / c;
            let factor = d * c;
            result *= factor;
            if (factor - 1.0).abs() < 1e-15 {
                break;
            }
        }
        (front * result).clamp(0.0, 1.0)
    }
}

/// The chance that Student's t with `freedom` degrees is at least `t` away from 0, in either direction.
pub fn student_two_sided(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() {
        return 0.0;
    }
    // Beyond this the two distributions agree in more digits than the fraction gives.
    let freedom = freedom.min(1e7);
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// What Student's t with `freedom` degrees exceeds in absolute value with probability `p`.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_two_sided(high, freedom) > p && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if student_two_sided(middle, freedom) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The second derivative of [`ln_gamma`].
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    sum + 1.0 / x
        + inverse / 2.0
        + inverse / x
            * (1.0 / 6.0 - inverse * (1.0 / 30.0 - inverse * (1.0 / 42.0 - inverse / 30.0)))
}

/// The `x` whose [`trigamma`] is `y`.
pub fn inverse_trigamma(y: f64) -> f64 {
    let (mut low, mut high): (f64, f64) = (1e-6, 1e9);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > y {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}

/// The derivative of [`ln_gamma`].
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    sum + x.ln()
        - 0.5 / x
        - inverse
            * (1.0 / 12.0 - inverse * (1.0 / 120.0 - inverse * (1.0 / 252.0 - inverse / 240.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-8 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn values_of_tables() {
        close(ln_gamma(5.0), 24f64.ln());
        close(ln_gamma(0.5), PI.sqrt().ln());
        close(digamma(1.0), -0.577_215_664_901_532_9);
        close(trigamma(1.0), PI * PI / 6.0);
        close(inverse_trigamma(trigamma(3.7)), 3.7);
        // Tables of Student's t: 4 degrees, 2.776 two-sided at 5 %.
        close(student_two_sided(2.776_445_105_197_799, 4.0), 0.05);
        close(student_quantile(0.05, 4.0), 2.776_445_105_197_799);
        assert!((student_two_sided(1.959_963_984_540_054, 1e9) - 0.05).abs() < 1e-6);
        // Tables of chi-squared: 3 degrees, 7.815 at 5 %.
        close(chi_squared_tail(7.814_727_903_251_178, 3.0), 0.05);
        close(chi_squared_tail(0.351_846_317_749_271_5, 3.0), 0.95);
    }

    #[test]
    fn the_ends_are_plain() {
        close(student_two_sided(0.0, 3.0), 1.0);
        assert!(student_two_sided(f64::INFINITY, 3.0) < 1e-300);
        close(chi_squared_tail(0.0, 3.0), 1.0);
        close(incomplete_beta(2.0, 3.0, 0.0), 0.0);
        close(incomplete_beta(2.0, 3.0, 1.0), 1.0);
    }
}
