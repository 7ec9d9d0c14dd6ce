//! A call that is open, and how long it took when it is not any more.

use perfblame_cct::Cursor;

/// A call that is on a thread's stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenCall {
    pub(crate) cursor: Cursor,
    /// The first event with it: *t_s* of the paper.
    pub(crate) first: i64,
    /// The last event without it.
    pub(crate) earliest: i64,
    /// Where between the two it is expected to have begun.
    pub(crate) begun: i64,
    /// How long it ran itself, so far.
    pub(crate) ran: i64,
}

/// How a call ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The last event with it.
    pub(crate) seen: i64,
    /// Where it is expected to have returned.
    pub(crate) expected: i64,
    /// The first event without it.
    pub(crate) latest: i64,
}

impl End {
    /// An end that is known.
    pub(crate) fn at(time: i64) -> Self {
        Self { seen: time, expected: time, latest: time }
    }
}

/// How long a call took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) conservative: i64,
    pub(crate) aggressive: i64,
    pub(crate) estimate: i64,
    pub(crate) longest: i64,
}

impl OpenCall {
    pub(crate) fn took(&self, end: End) -> Took {
        let conservative = end.seen.saturating_sub(self.first).max(0);
        let longest = end.latest.saturating_sub(self.earliest).max(conservative);
        let estimate = end.expected.saturating_sub(self.begun);
        Took {
            conservative,
            aggressive: end.latest.saturating_sub(self.first).max(conservative),
            estimate: estimate.clamp(conservative, longest),
            longest,
        }
    }
}
