//! The laws of the model: calibrated, powerful, and the same answer however data are turned.

use super::*;
use perfblame_fixtures::Random;
use proptest::prelude::*;

/// Samples: one stands for 1.
const SAMPLED: Sampling = Sampling { quantum: 1.0, exact: false };

/// Counts around means, with a spread of their own between runs.
fn runs(random: &mut Random, mean: f64, spread: f64, count: usize) -> Vec<f64> {
    (0..count)
        .map(|_| {
            let mean = mean * (1.0 + spread * random.normal());
            (mean + mean.max(0.0).sqrt() * random.normal()).max(0.0).round()
        })
        .collect()
}

/// Rows of runs on both sides of the same code, and the noise learnt from them.
fn identical(seed: u64, spread: f64, count: usize) -> (Vec<[Vec<f64>; 2]>, Noise) {
    let mut random = Random::new(seed);
    let rows: Vec<[Vec<f64>; 2]> = (0..1000)
        .map(|row| {
            let mean = 5.0 + f64::from(row % 300);
            [0, 1].map(|_| runs(&mut random, mean, spread, count))
        })
        .collect();
    let spreads: Vec<Spread> =
        rows.iter().flatten().map(|values| Spread::of(values, 1.0)).collect();
    let noise = Noise::learn(SAMPLED, &spreads);
    (rows, noise)
}

fn difference(noise: &Noise, before: &[f64], after: &[f64]) -> Difference {
    noise.difference(&Spread::of(before, 1.0), &Spread::of(after, 1.0), 0.0)
}

#[test]
fn counts_and_factors_are_learnt() {
    let mut random = Random::new(7);
    let spreads: Vec<Spread> = (0..400)
        .map(|row| Spread::of(&runs(&mut random, 5.0 * 1.02f64.powi(row), 0.05, 3), 1.0))
        .collect();
    let noise = Noise::learn(SAMPLED, &spreads);
    for mean in [20.0f64, 200.0, 2000.0, 10_000.0] {
        let truth: f64 = mean + (0.05 * mean).powi(2);
        let ratio = noise.trend(mean) / truth;
        assert!((0.6..1.6).contains(&ratio), "{mean}: {ratio} {noise:?}");
    }
    assert!(noise.freedom > 8.0, "{noise:?}");
}

#[test]
fn identical_code_is_found_different_as_often_as_p_says() {
    for (seed, spread, count) in [(11, 0.05, 3), (12, 0.3, 3), (13, 0.05, 2), (14, 0.1, 8)] {
        let (rows, noise) = identical(seed, spread, count);
        let found = |p: f64| {
            let below =
                |[before, after]: &&[Vec<f64>; 2]| difference(&noise, before, after).p() < p;
            rows.iter().filter(below).count()
        };
        let (often, rarely) = (found(0.05), found(0.005));
        assert!((20..=75).contains(&often), "{often} of 1000 at 5 %: {spread} {count} {noise:?}");
        assert!(rarely <= 14, "{rarely} of 1000 at 0.5 %: {spread} {count} {noise:?}");
    }
}

#[test]
fn what_is_new_is_found_however_much_runs_scatter() {
    let (_, noise) = identical(15, 0.35, 3);
    let new = difference(&noise, &[0.0; 3], &[59.0, 59.0, 66.0]);
    assert!(new.p() < 1e-5, "{} {new:?}", new.p());
    let (low, high) = new.interval();
    assert!(low > 20.0 && high < 140.0, "{low} {high}");
    // A factor between the sides that is hardly known does not matter: times nothing it is nothing.
    let scaled =
        noise.difference(&Spread::of(&[0.0; 3], 1.0), &Spread::of(&[59.0, 59.0, 66.0], 1.0), 0.5);
    assert!(scaled.p() < 1e-5, "{}", scaled.p());
    // As many samples more on top of many are nothing special.
    assert!(difference(&noise, &[940.0, 1000.0, 1060.0], &[1000.0, 1061.0, 1120.0]).p() > 0.2);
}

#[test]
fn power_grows_with_runs() {
    let mut last = 0;
    for count in [2, 3, 5, 8] {
        let (_, noise) = identical(16, 0.1, count);
        let mut random = Random::new(17);
        let found = (0..400)
            .filter(|_| {
                let before = runs(&mut random, 100.0, 0.1, count);
                let after = runs(&mut random, 140.0, 0.1, count);
                difference(&noise, &before, &after).p() < 0.01
            })
            .count();
        assert!(found > last, "{found} of 400 with {count} runs, {last} with fewer");
        last = found;
    }
}

#[test]
fn values_that_never_vary_differ_by_anything() {
    let counted = Sampling { quantum: 0.0, exact: true };
    let spreads: Vec<_> = (1..50).map(|row| Spread::of(&[f64::from(row) * 1e6; 3], 0.0)).collect();
    let noise = Noise::learn(counted, &spreads);
    assert!(difference(&noise, &[1e6; 3], &[1.001e6; 3]).p() < 1e-6, "{noise:?}");
    assert!(difference(&Noise::unmeasured(counted), &[1e6], &[1.001e6]).p() < 1e-6);
}

/// The recorded totals of answers that no person would give, in milliseconds.
#[test]
fn totals_that_anybody_sees_are_apart() {
    let noise = Noise::of_machines(Sampling { quantum: 0.0, exact: false }, 2);
    for (before, after) in [
        (&[20.0, 31.0][..], &[148.0, 284.0][..]),
        (&[20.0, 54.0], &[359.0, 548.0]),
        (&[161.0, 171.0, 294.0], &[916.0, 1110.0, 1420.0]),
        (&[727.0, 735.0, 742.0], &[768.0, 771.0, 774.0]),
    ] {
        let found = Difference::of_runs(&noise, before, after);
        assert!(found.p() < 0.01 || found.is_apart(), "{before:?} {after:?} {}", found.p());
        assert!(found.interval().0 > 0.0, "{before:?} {after:?} {:?}", found.interval());
    }
}

proptest! {
    /// Interval and p come from the same place.
    #[test]
    fn interval_and_p_agree(
        before in proptest::collection::vec(0.0f64..2000.0, 1..6),
        after in proptest::collection::vec(0.0f64..2000.0, 1..6),
        spread in 0.01f64..0.5,
        freedom in 1.0f64..30.0,
    ) {
        let noise = Noise { counts: 1.0, factors: spread * spread, freedom };
        let found = Difference::of_runs(&noise, &before, &after);
        let (low, high) = found.interval();
        prop_assert!(low <= found.delta && found.delta <= high);
        let p = found.p();
        if (p - 0.05).abs() > 1e-6 {
            prop_assert_eq!(p < 0.05, low > 0.0 || high < 0.0, "{} {} {}", p, low, high);
        }
    }

    /// All runs of one side at least twice all of the other: a difference, whatever the scatter.
    #[test]
    fn twice_is_a_difference(
        before in proptest::collection::vec(1.0f64..1000.0, 2..6),
        factors in proptest::collection::vec(2.0f64..9.0, 2..6),
    ) {
        let most = before.iter().copied().fold(0.0, f64::max);
        let after: Vec<f64> = factors.iter().map(|factor| factor * most).collect();
        let noise = Noise::of_machines(SAMPLED, 2);
        let slower = Difference::of_runs(&noise, &before, &after);
        let faster = Difference::of_runs(&noise, &after, &before);
        prop_assert!(slower.is_apart() && slower.interval().0 > 0.0 && slower.p() < 0.05);
        prop_assert!(faster.is_apart() && faster.interval().1 < 0.0 && faster.p() < 0.05);
    }

    /// Sides swapped: the same, mirrored. Another unit: the same, scaled.
    #[test]
    fn mirrored_and_scaled(
        before in proptest::collection::vec(0.0f64..500.0, 2..5),
        after in proptest::collection::vec(0.0f64..500.0, 2..5),
        unit in 0.001f64..1000.0,
    ) {
        let noise = Noise { counts: 1.0, factors: 0.01, freedom: 6.0 };
        let in_unit = Noise { counts: unit, ..noise };
        let times = |values: &[f64]| values.iter().map(|value| value * unit).collect::<Vec<_>>();
        let found = Difference::of_runs(&noise, &before, &after);
        let mirrored = Difference::of_runs(&noise, &after, &before);
        let scaled = Difference::of_runs(&in_unit, &times(&before), &times(&after));
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()));
        prop_assert!(near(found.p(), mirrored.p()) && near(found.p(), scaled.p()));
        let (low, high) = found.interval();
        prop_assert!(near(-low, mirrored.interval().1) && near(-high, mirrored.interval().0));
        prop_assert!(near(low * unit, scaled.interval().0) && near(high * unit, scaled.interval().1));
    }
}
