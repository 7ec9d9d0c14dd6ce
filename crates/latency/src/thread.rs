//! What is kept of a thread: its open calls, and whether it runs.

use perfblame_cct::{FrameId, FunctionId, OpenNode, StringId, ThreadId};

use crate::calls::OpenCall;
use crate::cleaning::LastStack;
use crate::inference::Made;
use crate::off_cpu::WaitKey;
use crate::wait::{Nature, WaitOn};

/// A thread between two of its events.
#[derive(Clone, Debug)]
pub(crate) struct ThreadState {
    /// The thread, under the name it has now.
    pub(crate) thread: ThreadId,
    /// The calls of its last stack, outermost first, with exact addresses.
    pub(crate) frames: Vec<FrameId>,
    /// The system call at its end, also when it is over.
    pub(crate) made: Option<Made>,
    /// That stack as it was taken.
    pub(crate) last: LastStack,
    /// The same calls.
    pub(crate) calls: Vec<OpenCall>,
    /// The last time at which all of them were surely open.
    pub(crate) seen: i64,
    /// The time up to which own latencies are accounted for.
    pub(crate) settled: i64,
    /// When it was first seen; none while it is gone.
    pub(crate) started: Option<i64>,
    /// How long it was there before it last ended: numbers of threads are used again.
    pub(crate) lived: i64,
    /// When its last stack was taken.
    pub(crate) taken: i64,
    /// It was off its processor before that, and everything takes longer at first.
    pub(crate) cold: bool,
    /// It was off its processor since.
    pub(crate) woken: bool,
    pub(crate) random: Random,
    /// Nothing is known of what came before the next event: at the start, and after events were lost.
    pub(crate) fresh: bool,
    /// The system call it is in.
    pub(crate) call: Option<InCall>,
    pub(crate) off: Option<Off>,
    /// It runs again after it waited: where among its calls the one is that did.
    pub(crate) waited_in: Option<usize>,
    /// Since it was last told how long it had no processor.
    pub(crate) recent: Recent,
    pub(crate) root: Root,
}

/// What a thread's stacks begin with. Walks of stacks go astray, and what they find then is no other thread of control.
#[derive(Clone, Debug, Default)]
pub(crate) struct Root {
    usual: Option<FunctionId>,
    times: u64,
    others: u64,
}

/// So many stacks make a rule.
const ENOUGH: u64 = 20;

/// One stack in so many may be an exception; more are none, as in programs that switch stacks themselves.
const ONE_IN: u64 = 20;

/// What was long ago counts less: whoever starts another program, or another stack, is soon believed.
const MOST: u64 = 400;

impl Root {
    /// True where a stack may begin with this function.
    pub(crate) fn may_be(&mut self, function: FunctionId) -> bool {
        if self.usual == Some(function) {
            self.times += 1;
            if self.times > MOST {
                (self.times, self.others) = (self.times / 2, self.others / 2);
            }
            return true;
        }
        self.others += 1;
        if self.others > self.times {
            (self.usual, self.times, self.others) = (Some(function), self.others, self.times);
        }
        self.times < ENOUGH || self.others.saturating_mul(ONE_IN) > self.times
    }
}

/// Waits whose end is known by the thread's running again, not by who woke it: a part of each may have been waiting for
/// a processor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    /// Total and number, by place.
    pub(crate) waits: Vec<(WaitKey, i64, u64)>,
    /// Time in the run queue that is accounted for.
    pub(crate) queued: i64,
}

impl Recent {
    /// At most so many places; more in so short a time are not worth their memory.
    pub(crate) fn add(&mut self, key: WaitKey, time: i64, most: usize) {
        let full = self.waits.len() >= most;
        match self.waits.iter_mut().find(|(known, ..)| *known == key) {
            Some((_, total, count)) => {
                *total = total.saturating_add(time);
                *count += 1;
            }
            None if full => {}
            None => self.waits.push((key, time, 1)),
        }
    }
}

/// Stacks that were taken at moments the thread knows nothing of, between two events that it has brought about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Random {
    /// Its calls before them, and the context of the innermost.
    pub(crate) before: Vec<FrameId>,
    pub(crate) made: Option<Made>,
    pub(crate) node: Option<OpenNode>,
    stacks: Vec<FrameId>,
    /// Where each of them ends.
    ends: Vec<usize>,
    /// And its context.
    contexts: Vec<Option<OpenNode>>,
}

impl Random {
    /// So many stacks tell how a gap is divided.
    const ENOUGH: usize = 8;

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(crate) fn push(&mut self, stack: &[FrameId]) {
        if self.ends.len() < Self::ENOUGH {
            self.stacks.extend_from_slice(stack);
            self.ends.push(self.stacks.len());
        }
    }

    /// The context of the stack that was pushed last.
    pub(crate) fn seen_in(&mut self, context: Option<OpenNode>) {
        if self.contexts.len() < self.ends.len() {
            self.contexts.push(context);
        }
    }

    /// The stacks and their contexts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[FrameId], OpenNode)> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let stacks = starts.zip(&self.ends).map(|(start, end)| &self.stacks[*start..*end]);
        stacks.zip(&self.contexts).filter_map(|(stack, context)| Some((stack, (*context)?)))
    }

    pub(crate) fn clear(&mut self) {
        self.stacks.clear();
        self.ends.clear();
        self.contexts.clear();
    }
}

/// A system call that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InCall {
    pub(crate) name: StringId,
    pub(crate) since: i64,
    /// The thread was off its processor meanwhile.
    pub(crate) left: bool,
}

/// Off its processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Off {
    pub(crate) since: i64,
    /// None for a thread that could run.
    pub(crate) on: Option<WaitOn>,
    /// How that may be meant.
    pub(crate) nature: Nature,
    /// Where among its calls the one is that waits.
    pub(crate) who: usize,
    pub(crate) woken: Option<(i64, Option<ThreadId>)>,
}

impl ThreadState {
    /// True for a time before that of an event which was taken already.
    pub(crate) fn is_past(&self, time: i64) -> bool {
        !self.fresh && time < self.seen
    }

    /// A stack was taken at this time, if there is one, and the calls are those of it.
    pub(crate) fn took(&mut self, time: i64, stack: &[FrameId]) {
        if !stack.is_empty() {
            self.taken = time;
            self.cold = std::mem::take(&mut self.woken);
        }
        self.random.seen_in(self.calls.last().map(|call| call.cursor.node()));
    }

    pub(crate) fn new(thread: ThreadId) -> Self {
        Self {
            thread,
            frames: Vec::new(),
            made: None,
            last: LastStack::default(),
            calls: Vec::new(),
            seen: 0,
            settled: 0,
            started: None,
            lived: 0,
            taken: i64::MIN,
            cold: false,
            woken: false,
            random: Random::default(),
            fresh: true,
            call: None,
            off: None,
            waited_in: None,
            recent: Recent::default(),
            root: Root::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_root_is_soon_believed() {
        let mut root = Root::default();
        let [usual, stray, next] = [1, 2, 3].map(FunctionId::new);
        assert!((0..10_000).all(|_| root.may_be(usual)));
        // Once in a while a walk ends elsewhere, however long the trace is.
        for _ in 0..1_000 {
            assert!(!root.may_be(stray));
            assert!((0..99).all(|_| root.may_be(usual)));
        }
        let refused = (0..1_000).take_while(|_| !root.may_be(next)).count();
        assert!((1..=20).contains(&refused), "{refused}");
        assert!((0..1_000).all(|_| root.may_be(next)));
    }
}
