//! Events that are out of order by a little: processors write their own buffers, and texts are put together from them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use perfblame_cct::{FrameId, StackEvent};

/// So many events are held: some megabytes of stacks, and more than tools mix up.
const HELD: usize = 8 << 10;

/// An event that waits for its turn.
pub(crate) struct Held {
    pub(crate) event: StackEvent,
    pub(crate) stack: Box<[FrameId]>,
}

/// Events in the order of time as far as they are held.
pub(crate) struct Window {
    heap: BinaryHeap<WaitingEvent>,
    held: usize,
    number: u64,
}

struct WaitingEvent {
    time: i64,
    number: u64,
    held: Held,
}

impl PartialEq for WaitingEvent {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for WaitingEvent {}

impl PartialOrd for WaitingEvent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WaitingEvent {
    /// The earliest is the greatest; of equals that which came first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

impl Default for Window {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), held: HELD, number: 0 }
    }
}

impl Window {
    /// Holds nothing.
    pub(crate) fn none() -> Self {
        Self { held: 0, ..Self::default() }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.held == 0
    }

    pub(crate) fn push(&mut self, event: StackEvent, stack: &[FrameId]) {
        let held = Held { event, stack: stack.into() };
        self.heap.push(WaitingEvent { time: event.time, number: self.number, held });
        self.number += 1;
    }

    /// The earliest event, if there are more than are held.
    pub(crate) fn pop_full(&mut self) -> Option<Held> {
        if self.heap.len() > self.held { self.pop() } else { None }
    }

    /// The earliest event.
    pub(crate) fn pop(&mut self) -> Option<Held> {
        self.heap.pop().map(|waiting| waiting.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_cct::{EventKind, ThreadId};

    #[test]
    fn the_earliest_comes_first_and_equals_stay_in_order() {
        let mut window = Window { held: 2, ..Window::default() };
        let mut out = Vec::new();
        for (number, time) in [30, 10, 20, 20, 5, 40].into_iter().enumerate() {
            let thread = ThreadId::new(number);
            window.push(StackEvent { time, thread, kind: EventKind::Tick }, &[]);
            out.extend(window.pop_full());
        }
        while let Some(held) = window.pop() {
            out.push(held);
        }
        let order: Vec<_> =
            out.iter().map(|held| (held.event.time, held.event.thread.index())).collect();
        assert_eq!(order, [(10, 1), (20, 2), (5, 4), (20, 3), (30, 0), (40, 5)]);
    }
}
