//! Which calls of a stack go on in the next, by what the code of the program permits.
//!
//! A call goes on while its function stays at its place on the stack, called from the same place of calls that go on.
//! Where the code is at hand it tells more: a function that was at one place and is at another to which no way leads
//! has returned meanwhile, and was called again. Then its caller has passed one place twice; if no way leads from there
//! to there, it has returned as well, and so on outwards. The paper takes all these for one call.

use hashbrown::HashMap;
use perfblame_cct::{Code, FrameId, Symbols, Work};

use super::Continuity;
use crate::cleaning::{Cleaner, Place};

/// A system call at the end of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Made {
    /// Where its frame is among the calls.
    pub(crate) at: usize,
    /// The function of the C library that made it and was left out; none where the caller itself made it.
    pub(crate) by: Option<FrameId>,
}

/// The calls of a stack, outermost first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls<'a> {
    pub(super) frames: &'a [FrameId],
    /// The system call that was made last, or is being made.
    pub(super) made: Option<Made>,
}

/// Answers of the code, which are asked for once.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Whether a call can come to the same place again, by frame.
    again: Vec<Option<bool>>,
    follows: HashMap<(FrameId, FrameId), bool>,
    calls: HashMap<(FrameId, FrameId), bool>,
    /// What is to be done from a place to another one, by how likely the call there is the one that is meant, in powers
    /// of two.
    work: HashMap<(Option<FrameId>, Option<FrameId>, u8), Option<Work>>,
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

/// The code, and the names that its frames have.
pub(super) struct Known<'a> {
    pub(super) code: &'a mut dyn Code,
    pub(super) symbols: &'a Symbols,
}

impl Order {
    fn can_come_again(&mut self, known: &mut Known<'_>, frame: FrameId) -> bool {
        let row = frame.index();
        if self.again.len() <= row {
            self.again.resize(row + 1, None);
        }
        *self.again[row].get_or_insert_with(|| known.code.can_follow(known.symbols, frame, frame))
    }

    fn can_follow(&mut self, known: &mut Known<'_>, from: FrameId, to: FrameId) -> bool {
        if from == to {
            return self.can_come_again(known, from);
        }
        let full = self.follows.len() >= MOST;
        match self.follows.get(&(from, to)) {
            Some(answer) => *answer,
            None if full => true,
            None => {
                let answer = known.code.can_follow(known.symbols, from, to);
                self.follows.insert((from, to), answer);
                answer
            }
        }
    }

    fn can_call(&mut self, known: &mut Known<'_>, caller: FrameId, callee: FrameId) -> bool {
        let full = self.calls.len() >= MOST;
        match self.calls.get(&(caller, callee)) {
            Some(answer) => *answer,
            // Not knowing that no frame is missing is not knowing that anybody returned.
            None if full => false,
            None => {
                let answer = known.code.can_call(known.symbols, caller, callee);
                self.calls.insert((caller, callee), answer);
                answer
            }
        }
    }

    /// What a call does from one place to another.
    fn work(
        &mut self,
        known: &mut Known<'_>,
        from: Option<FrameId>,
        to: Option<FrameId>,
        odds: f64,
    ) -> Option<Work> {
        let halves = (-odds.max(SMALLEST).log2()).round().clamp(0.0, 255.0) as u8;
        let full = self.work.len() >= MOST;
        match self.work.get(&(from, to, halves)) {
            Some(answer) => *answer,
            None if full => None,
            None => {
                let odds = 0.5_f64.powi(i32::from(halves));
                let answer = known.code.work(known.symbols, from, to, odds);
                self.work.insert((from, to, halves), answer);
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

    /// How many calls of a stack go on in the next, and how many would without the code; `begins` where that is taken as a
    /// system call begins.
    pub(super) fn going_on(
        &mut self,
        known: &mut Known<'_>,
        cleaner: &Cleaner,
        continuity: Continuity,
        (before, now): (Calls<'_>, Calls<'_>),
        begins: bool,
    ) -> (usize, usize) {
        let pairs = before.frames.iter().zip(now.frames);
        let exact = pairs.take_while(|(before, now)| before == now).count();
        let same = |at: usize| match (before.frames.get(at), now.frames.get(at)) {
            (Some(before), Some(now)) => cleaner.function(*before) == cleaner.function(*now),
            _ => false,
        };
        if continuity == Continuity::Functions {
            let all = exact + (exact..before.frames.len()).take_while(|at| same(*at)).count();
            return (all, all);
        }
        let plain = exact + usize::from(same(exact));
        // What begins now did not go on, whatever it is called.
        let own = now.made.filter(|_| begins).map_or(usize::MAX, |made| made.at);
        let (exact, plain) = (exact.min(own), plain.min(own));
        if !known.code.is_at_hand() {
            return (plain, plain);
        }
        let mut inner = match (before.level(cleaner, exact), now.level(cleaner, exact)) {
            (Level::Function(before), Level::Function(now)) => {
                // Where no system call begins, it is still where the last one ended.
                let still_there = before == now && !begins;
                if still_there || self.can_follow(known, before, now) {
                    return (plain, plain);
                }
                Some((before, now))
            }
            (Level::Call, Level::Call) if begins => None,
            _ => return (plain, plain),
        };
        // Here are calls that are over; whoever made them has done so twice from one place.
        let mut at = exact;
        while let Some(caller) = at.checked_sub(1).and_then(|caller| now.frames.get(caller)) {
            let missing = inner.is_some_and(|(before, now)| {
                !self.can_call(known, *caller, before) || !self.can_call(known, *caller, now)
            });
            if missing || self.can_come_again(known, *caller) {
                return (at, plain);
            }
            inner = Some((*caller, *caller));
            at -= 1;
        }
        // Nobody is left who could have called anew: the code is not all there is to know.
        (plain, plain)
    }
}

/// What is at some depth of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    Function(FrameId),
    /// A system call that the function further out made.
    Call,
    /// Nothing, or work of the kernel.
    Nothing,
}

impl Calls<'_> {
    fn level(&self, cleaner: &Cleaner, at: usize) -> Level {
        if let Some(made) = self.made.filter(|made| made.at == at) {
            return made.by.map_or(Level::Call, Level::Function);
        }
        match self.frames.get(at) {
            Some(frame) if matches!(cleaner.place(*frame), Place::User | Place::CRuntime) => {
                Level::Function(*frame)
            }
            _ => Level::Nothing,
        }
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
