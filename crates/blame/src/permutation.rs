//! Exact permutation test: of all ways to call some runs *before* and the others *after*, how many differ as much?
//!
//! It assumes nothing about how runs scatter, and has no power with few runs: of three and three there are twenty
//! ways. It is the cross-check of the tests that assume more.

/// Where there are more ways than this, so many are drawn, always the same, with the given one among them: of twenty
/// and twenty runs there are more ways than anybody can walk through.
const MOST_WAYS: u64 = 20_000;

/// The two-sided p-value of the difference of means, and the least one that so many runs allow.
pub fn permutation_test(before: &[f64], after: &[f64]) -> (f64, f64) {
    let all: Vec<f64> = before.iter().chain(after).copied().collect();
    let (runs, chosen) = (all.len(), after.len());
    if before.is_empty() || after.is_empty() {
        return (1.0, 1.0);
    }
    let total: f64 = all.iter().sum();
    // The difference of means grows with the sum of one side, the rest being fixed.
    let expected = total * chosen as f64 / runs as f64;
    let observed = (after.iter().sum::<f64>() - expected).abs();
    let slack = all.iter().fold(0.0f64, |most, value| most.max(value.abs())) * 1e-9;
    let ways = binomial(runs as u64, chosen as u64);
    // The least p: this division, and its mirror image where the sides are equal.
    let mirrored = if before.len() == after.len() { 2.0 } else { 1.0 };
    let least = mirrored / ways as f64;
    let mut rows: Vec<usize> = (0..chosen).collect();
    let (mut extreme, mut tried) = (0u64, 0u64);
    let mut look = |sum: f64| {
        tried += 1;
        extreme += u64::from((sum - expected).abs() >= observed - slack);
    };
    if ways <= MOST_WAYS {
        loop {
            look(rows.iter().map(|row| all[*row]).sum());
            if !next_choice(&mut rows, runs) {
                break;
            }
        }
    } else {
        look(after.iter().sum());
        let mut deck = all.clone();
        let mut random = Draws(0);
        for _ in 1..MOST_WAYS {
            for at in 0..chosen {
                deck.swap(at, at + random.below(runs - at));
            }
            look(deck.iter().take(chosen).sum());
        }
    }
    ((extreme as f64 / tried as f64).max(least).min(1.0), least)
}

/// The same numbers on every machine (splitmix64).
struct Draws(u64);

impl Draws {
    /// A number below `end`, which is small: what the remainder prefers is far below what so many ways can show.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }
}

/// The next choice of rows in lexical order.
fn next_choice(rows: &mut [usize], of: usize) -> bool {
    let count = rows.len();
    let Some(at) = (0..count).rev().find(|at| rows[*at] < of - count + at) else { return false };
    rows[at] += 1;
    for row in at + 1..count {
        rows[row] = rows[row - 1] + 1;
    }
    true
}

fn binomial(n: u64, k: u64) -> u64 {
    let k = k.min(n - k);
    (0..k).fold(1u64, |ways, step| ways.saturating_mul(n - step) / (step + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_and_three_apart() {
        let (p, least) = permutation_test(&[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0]);
        assert!((p - 0.1).abs() < 1e-12 && (least - 0.1).abs() < 1e-12, "{p} {least}");
    }

    #[test]
    fn equal_runs_say_nothing() {
        let (p, _) = permutation_test(&[5.0, 5.0], &[5.0, 5.0]);
        assert!((p - 1.0).abs() < 1e-12);
        assert_eq!(permutation_test(&[], &[1.0]), (1.0, 1.0));
    }

    #[test]
    fn unequal_sides_and_many_runs() {
        // One way of four puts the largest value on the other side alone.
        let (p, least) = permutation_test(&[1.0, 1.1, 0.9], &[9.0]);
        assert!((p - 0.25).abs() < 1e-12 && (least - 0.25).abs() < 1e-12);
        let before: Vec<f64> = (0..12).map(f64::from).collect();
        let after: Vec<f64> = before.iter().map(|value| value + 100.0).collect();
        let (p, _) = permutation_test(&before, &after);
        assert!(p < 0.001, "{p}");
    }
}
