//! Waits: which function, of which thread, on what, how long, and who ended it.

use perfblame_cct::{OpenNode, ThreadId};

use crate::wait::{Nature, WaitOn};

/// All waits of one function in one context on one thread for one kind of thing, ended by one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The context of the function that waits: the innermost outside of the C library.
    pub node: OpenNode,
    /// The thread that waits.
    pub thread: ThreadId,
    /// What for.
    pub on: WaitOn,
    /// The thread that ended the wait, where it is known.
    pub waker: Option<ThreadId>,
    /// Nanoseconds.
    pub total: i64,
    /// How often.
    pub count: u64,
    /// It waits for something to do, and hinders nobody.
    pub idle: bool,
}

/// What tells waits apart while they are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct WaitKey {
    pub(crate) node: OpenNode,
    pub(crate) thread: ThreadId,
    pub(crate) on: WaitOn,
    pub(crate) nature: Nature,
    pub(crate) waker: Option<ThreadId>,
}

impl WaitKey {
    /// Of time without a processor.
    pub(crate) fn queue(node: OpenNode, thread: ThreadId) -> Self {
        Self { node, thread, on: WaitOn::RunQueue, nature: Nature::Work, waker: None }
    }
}

/// What they add up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct WaitSum {
    pub(crate) total: i64,
    pub(crate) count: u64,
    /// When the first of them began.
    pub(crate) since: i64,
    /// How long it took.
    first: i64,
    /// How many took about as long as the first.
    pub(crate) alike: u64,
}

impl WaitSum {
    pub(crate) fn add(&mut self, since: i64, time: i64) {
        /// Of one length are waits that differ by less than this part. A sleeper gets its processor back a bit late.
        const SPREAD: f64 = 0.3;
        if self.count == 0 {
            (self.since, self.first) = (since, time);
        }
        self.total = self.total.saturating_add(time);
        self.count += 1;
        let apart = (time as f64 - self.first as f64).abs();
        self.alike += u64::from(apart <= self.first as f64 * SPREAD);
    }
}
