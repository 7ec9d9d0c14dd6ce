//! What the time between two stacks is worth to each call, by how much the code of the program has to do.
//!
//! A call that is gone went from where it was to its end, a new one from its start to where it is, and the innermost that
//! goes on from one place to the other. How often loops go round nobody knows; they go round as often as the time permits.

use hashbrown::HashMap;
use perfblame_cct::{FrameId, Work};

use super::order::Known;

/// Weighs the pieces of gaps. Answers of the code are asked for once.
#[derive(Debug, Default)]
pub(super) struct Weighing {
    /// What is to be done from a place to another one, by how likely the call there is the one that is meant, in powers
    /// of two.
    known: HashMap<(Option<FrameId>, Option<FrameId>, u8), Option<Work>>,
    /// What the pieces of the gap at hand have to do.
    pieces: Vec<Option<[f64; Work::DEPTHS]>>,
}

/// So many answers are remembered; further questions are not asked.
const MOST: usize = 1 << 20;

/// How much longer than usual loops went round, if all that was done took so many nanoseconds.
fn rounds<'a>(pieces: impl Iterator<Item = &'a [f64; Work::DEPTHS]>, time: i64) -> f64 {
    let mut sum = [0.0; Work::DEPTHS];
    for piece in pieces {
        for (sum, amount) in sum.iter_mut().zip(piece) {
            *sum += amount;
        }
    }
    let all = time.max(0) as f64 * PER_NANOSECOND;
    let (mut low, mut high) = (1.0 / Work::ROUNDS, MOST_ROUNDS / Work::ROUNDS);
    for _ in 0..STEPS {
        let middle = f64::sqrt(low * high);
        if Work::amount(&sum, middle) > all { high = middle } else { low = middle }
    }
    low
}

/// Instructions that a processor executes in a nanosecond, about.
const PER_NANOSECOND: f64 = 2.0;

/// No loop is taken to go round more often.
const MOST_ROUNDS: f64 = 1e6;

/// How finely rounds are found out.
const STEPS: usize = 12;

/// Less likely than this is as good as never.
const SMALLEST: f64 = 1e-9;

impl Weighing {
    /// What a call does from one place to another.
    fn work(
        &mut self,
        known: &mut Known<'_>,
        from: Option<FrameId>,
        to: Option<FrameId>,
        odds: f64,
    ) -> Option<Work> {
        let halves = (-odds.max(SMALLEST).log2()).round().clamp(0.0, 255.0) as u8;
        let full = self.known.len() >= MOST;
        match self.known.get(&(from, to, halves)) {
            Some(answer) => *answer,
            None if full => None,
            None => {
                let odds = 0.5_f64.powi(i32::from(halves));
                let answer = known.code.work(known.symbols, from, to, odds);
                self.known.insert((from, to, halves), answer);
                answer
            }
        }
    }

    /// How much each piece of a gap has to do that took so long, for calls of which `common` go on and `exact` begin only
    /// then: those that are gone from the innermost on, the innermost that goes on, the new ones. Empty where nothing is
    /// known. Says how many nanoseconds all that takes at least.
    pub(super) fn weigh(
        &mut self,
        known: &mut Known<'_>,
        (before, now): (&[FrameId], &[FrameId]),
        (common, exact): (usize, usize),
        time: i64,
        weights: &mut Vec<f64>,
    ) -> Option<f64> {
        weights.clear();
        self.pieces.clear();
        if !known.code.is_at_hand() {
            return None;
        }
        let new = now.get(common..now.len().saturating_sub(exact)).unwrap_or_default();
        let mut odds = 1.0;
        for frame in new.iter().rev() {
            let work = self.work(known, None, Some(*frame), odds);
            self.pieces.push(work.map(|work| work.amounts));
            odds *= work.map_or(1.0, |work| work.odds);
        }
        let goes_on = common.checked_sub(1).and_then(|at| before.get(at).zip(now.get(at)));
        if let Some((before, now)) = goes_on {
            let work = self.work(known, Some(*before), Some(*now), odds);
            self.pieces.push(work.map(|work| work.amounts));
        }
        for frame in before.get(common..).unwrap_or_default() {
            let work = self.work(known, Some(*frame), None, 1.0);
            self.pieces.push(work.map(|work| work.amounts));
        }
        self.pieces.reverse();
        let times = rounds(self.pieces.iter().flatten(), time);
        let weight = |amounts: &[f64; Work::DEPTHS]| Work::amount(amounts, times) + 1.0;
        // What is not known is like the rest, as one factor is like another.
        let known = self.pieces.iter().flatten().map(|amounts| weight(amounts).ln());
        let (sum, count) = known.fold((0.0, 0), |(sum, count), one| (sum + one, count + 1));
        if count == 0 {
            return None;
        }
        let unknown = f64::exp(sum / f64::from(count));
        weights.extend(self.pieces.iter().map(|one| one.as_ref().map_or(unknown, weight)));
        let least = 1.0 / Work::ROUNDS;
        let all = self.pieces.iter().flatten().map(|amounts| Work::amount(amounts, least));
        Some(all.sum::<f64>() / PER_NANOSECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_go_round_as_often_as_the_time_permits() {
        let straight = [[100.0, 0.0, 0.0, 0.0]];
        let round = [[100.0, 80.0, 0.0, 0.0], [50.0, 0.0, 0.0, 0.0]];
        // 150 instructions are no loop's, and the others take 10 µs less 75 ns.
        let times = rounds(round.iter(), 10_000);
        assert!((times - 19_850.0 / 80.0).abs() < 3.0, "{times}");
        // Once at least, and not forever.
        assert!((rounds(round.iter(), 10) - 1.0 / Work::ROUNDS).abs() < 1e-3);
        assert!(rounds(straight.iter(), i64::MAX) <= MOST_ROUNDS / Work::ROUNDS);
    }
}
