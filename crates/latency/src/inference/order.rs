//! Which calls of a stack go on in the next, by what the code of the program permits.
//!
//! A call goes on while its function stays at its place on the stack, called from the same place of calls that go on.
//! Where the code is at hand it tells more: a function that was at one place and is at another to which no way leads
//! has returned meanwhile, and was called again. Then its caller has passed one place twice; if no way leads from there
//! to there, it has returned as well, and so on outwards. The paper takes all these for one call.

use hashbrown::HashMap;
use perfblame_cct::{Code, FrameId, Symbols};

use super::Continuity;
use crate::cleaning::{Cleaner, FrameOwner};

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
            Some(frame)
                if matches!(cleaner.place(*frame), FrameOwner::User | FrameOwner::CRuntime) =>
            {
                Level::Function(*frame)
            }
            _ => Level::Nothing,
        }
    }
}
