//! What contexts cost on each thread, while events go by.
//!
//! Every call that ends is counted here, several for each event, so this is where a long trace spends its time: a
//! context that runs on one thread, as most do, is found by its number, and both figures stand side by side. The
//! profile has a column per metric, and gets them when all is over.
//!
//! A table of many threads' contexts is larger than any cache. Additions are therefore gathered and made many at a time,
//! so that the processor fetches the next rows while it waits for one.

use hashbrown::HashMap;
use perfblame_cct::{MetricId, OpenNode, ProfileBuilder, ThreadId};

/// Costs by context and thread.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    first: Vec<Option<(ThreadId, Cost)>>,
    more: HashMap<(OpenNode, ThreadId), Cost>,
    pending: Vec<(OpenNode, ThreadId, Cost)>,
}

/// Few enough to stay in the cache themselves.
const GATHERED: usize = 512;

#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    ran: i64,
    calls: i64,
}

impl Cost {
    fn add(&mut self, ran: i64, calls: i64) {
        self.ran = self.ran.saturating_add(ran);
        self.calls = self.calls.saturating_add(calls);
    }
}

impl Tally {
    /// A context ran for so long on a thread, and so many calls of it are over.
    pub(crate) fn add(&mut self, node: OpenNode, thread: ThreadId, ran: i64, calls: i64) {
        self.pending.push((node, thread, Cost { ran, calls }));
        if self.pending.len() >= GATHERED {
            self.gather();
        }
    }

    /// Makes the additions that are waiting; to be called before anything is asked.
    pub(crate) fn gather(&mut self) {
        let highest = self.pending.iter().map(|(node, ..)| node.index() + 1).max();
        if self.first.len() < highest.unwrap_or(0) {
            self.first.resize(highest.unwrap_or(0), None);
        }
        for (node, thread, Cost { ran, calls }) in self.pending.drain(..) {
            match &mut self.first[node.index()] {
                Some((on, cost)) if *on == thread => cost.add(ran, calls),
                Some(_) => self.more.entry((node, thread)).or_default().add(ran, calls),
                none => *none = Some((thread, Cost { ran, calls })),
            }
        }
    }

    /// How long each of so many contexts ran, on all threads.
    pub(crate) fn ran(&self, nodes: usize) -> Vec<i64> {
        let mut ran: Vec<i64> = (self.first.iter())
            .map(|first| first.map_or(0, |(_, cost)| cost.ran))
            .chain(std::iter::repeat(0))
            .take(nodes)
            .collect();
        // A sum of integers has no order.
        for ((node, _), cost) in &self.more {
            if let Some(slot) = ran.get_mut(node.index()) {
                *slot = slot.saturating_add(cost.ran);
            }
        }
        ran
    }

    /// How many calls of a context are over on a thread.
    pub(crate) fn calls(&self, node: OpenNode, thread: ThreadId) -> u64 {
        let cost = match self.first.get(node.index()) {
            Some(Some((on, cost))) if *on == thread => Some(*cost),
            _ => self.more.get(&(node, thread)).copied(),
        };
        cost.map_or(0, |cost| cost.calls.unsigned_abs())
    }

    /// Hands everything over to the profile.
    pub(crate) fn settle(mut self, builder: &mut ProfileBuilder, ran: MetricId, calls: MetricId) {
        self.gather();
        let mut hand = |node: OpenNode, thread: ThreadId, cost: Cost| {
            let at = builder.cursor(node);
            builder.add(at, Some(thread), ran, cost.ran);
            builder.add(at, Some(thread), calls, cost.calls);
        };
        for (row, first) in self.first.into_iter().enumerate() {
            if let Some((thread, cost)) = first {
                hand(OpenNode::new(row), thread, cost);
            }
        }
        let mut more: Vec<_> = self.more.into_iter().collect();
        more.sort_unstable_by_key(|(place, _)| *place);
        for ((node, thread), cost) in more {
            hand(node, thread, cost);
        }
    }
}
