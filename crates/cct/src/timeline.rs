//! What happened when: kept only when a question needs it, as it grows with the recording and not with the tree.

use crate::{MetricId, NodeId, ThreadId};

/// One sample at its time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TimedSample {
    /// Nanoseconds on the profile's clock.
    pub time: i64,
    /// The sampled thread.
    pub thread: Option<ThreadId>,
    /// The context that was running.
    pub node: NodeId,
    /// Which metric `value` belongs to.
    pub metric: MetricId,
    /// What the sample stands for.
    pub value: i64,
}

/// One call with its begin and end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TimedCall {
    /// Nanoseconds on the profile's clock.
    pub start: i64,
    /// Nanoseconds on the profile's clock.
    pub end: i64,
    /// The thread it ran on.
    pub thread: Option<ThreadId>,
    /// The context of the callee.
    pub node: NodeId,
}

/// Samples and calls in the order of their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Samples by time.
    pub samples: Vec<TimedSample>,
    /// Calls by start; of those that start together the longest first.
    pub calls: Vec<TimedCall>,
}

impl Timeline {
    /// True when there is neither a sample nor a call.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.calls.is_empty()
    }

    /// Puts samples and calls into the promised order.
    pub fn sort(&mut self) {
        self.samples.sort_unstable();
        self.calls.sort_unstable_by_key(|call| {
            (call.start, std::cmp::Reverse(call.end), call.thread, call.node)
        });
    }
}
