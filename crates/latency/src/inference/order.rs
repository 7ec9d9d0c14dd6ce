//! Which calls of a stack go on in the next, by what the code of the program permits.
//!
//! A call goes on while its function stays at its place on the stack, called from the same place of calls that go on.
//! Where the code is at hand it tells more: a function that was at one place and is at another to which no way leads
//! has returned meanwhile, and was called again. Then its caller has passed one place twice; if no way leads from there
//! to there, it has returned as well, and so on outwards. The paper takes all these for one call.

use hashbrown::HashMap;
use perfblame_cct::{Code, FrameId, Symbols};

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
    /// What calls have left to do, and have to do in all, by frame; zero where nothing is known.
    work: Vec<Option<(u32, u32)>>,
}

/// So many answers are remembered; further questions are not asked.
const MOST: usize = 1 << 20;

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

    /// What a call has left to do behind a place of it, and has to do in all.
    fn work(&mut self, known: &mut Known<'_>, frame: FrameId) -> (u32, u32) {
        let row = frame.index();
        if self.work.len() <= row {
            self.work.resize(row + 1, None);
        }
        *self.work[row].get_or_insert_with(|| {
            let mut ask = |in_all| known.code.work(known.symbols, frame, in_all);
            match (ask(false), ask(true)) {
                (Some(left), Some(all)) => {
                    (left.saturating_add(1), all.max(left).saturating_add(1))
                }
                _ => (0, 0),
            }
        })
    }

    /// How much each piece of a gap has to do, for calls of which `common` go on and `exact` begin only then: those that
    /// are gone from the innermost on, the innermost that goes on, the new ones. Empty where too little is known.
    pub(super) fn weigh(
        &mut self,
        known: &mut Known<'_>,
        (before, now): (&[FrameId], &[FrameId]),
        (common, exact): (usize, usize),
        weights: &mut Vec<f64>,
    ) {
        weights.clear();
        if !known.code.is_at_hand() {
            return;
        }
        let gone = before.get(common..).unwrap_or_default();
        weights.extend(gone.iter().rev().map(|frame| f64::from(self.work(known, *frame).0)));
        let goes_on = common.checked_sub(1).and_then(|at| before.get(at).zip(now.get(at)));
        if let Some((before, now)) = goes_on {
            let (left, (then, _)) = (self.work(known, *before).0, self.work(known, *now));
            let round = left <= then || self.can_follow(known, *now, *before);
            weights.push(f64::from(if round { left } else { left - then }));
        }
        let new = now.len().saturating_sub(exact);
        for frame in now.get(common..new).unwrap_or_default() {
            let (left, all) = self.work(known, *frame);
            let again = left > 0 && self.can_come_again(known, *frame);
            weights.push(f64::from(if again { all } else { (all - left).max(all.min(1)) }));
        }
        // What is not known is like the rest.
        let known = weights.iter().filter(|weight| **weight > 0.0);
        let (sum, count) = known.fold((0.0, 0), |(sum, count), weight| (sum + weight, count + 1));
        if count == 0 {
            weights.clear();
        }
        for weight in weights.iter_mut().filter(|weight| **weight <= 0.0) {
            *weight = sum / f64::from(count);
        }
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
                if self.can_follow(known, before, now) {
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
