//! What is kept of a thread: its open calls, and whether it runs.

use perfblame_cct::{FrameId, StringId, ThreadId};

use crate::calls::OpenCall;
use crate::cleaning::LastStack;
use crate::wait::WaitOn;

/// A thread between two of its events.
#[derive(Clone, Debug)]
pub(crate) struct ThreadState {
    /// The thread, under the name it has now.
    pub(crate) thread: ThreadId,
    /// The calls of its last stack, outermost first, with exact addresses.
    pub(crate) frames: Vec<FrameId>,
    /// That stack as it was taken.
    pub(crate) last: LastStack,
    /// The same calls.
    pub(crate) calls: Vec<OpenCall>,
    /// The last time at which all of them were surely open.
    pub(crate) seen: i64,
    /// The time up to which own latencies are accounted for.
    pub(crate) settled: i64,
    pub(crate) started: i64,
    /// Nothing is known of what came before the next event: at the start, and after events were lost.
    pub(crate) fresh: bool,
    /// The system call it is in.
    pub(crate) call: Option<InCall>,
    pub(crate) off: Option<Off>,
    /// It runs again after it waited: where among its calls the one is that did.
    pub(crate) waited_in: Option<usize>,
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
    /// It may be waiting for work.
    pub(crate) may_idle: bool,
    /// It may be sleeping: with a system call that waits for descriptors or for time to pass.
    pub(crate) may_sleep: bool,
    /// Where among its calls the one is that waits.
    pub(crate) who: usize,
    pub(crate) woken: Option<(i64, Option<ThreadId>)>,
}

impl ThreadState {
    pub(crate) fn new(thread: ThreadId) -> Self {
        Self {
            thread,
            frames: Vec::new(),
            last: LastStack::default(),
            calls: Vec::new(),
            seen: 0,
            settled: 0,
            started: 0,
            fresh: true,
            call: None,
            off: None,
            waited_in: None,
        }
    }
}
