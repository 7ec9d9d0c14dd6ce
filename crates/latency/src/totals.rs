//! The performance-annotated calling context tree: what the inferred calls of each context add up to.

/// Latencies of one mode, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Latency {
    /// Of all calls together.
    pub total: i64,
    /// Of the longest.
    pub max: i64,
}

impl Latency {
    pub(crate) fn add(&mut self, latency: i64) {
        self.total = self.total.saturating_add(latency);
        self.max = self.max.max(latency);
    }

    /// Of a typical call.
    pub fn mean(&self, count: u64) -> f64 {
        if count == 0 { 0.0 } else { self.total as f64 / count as f64 }
    }
}

/// What the calls of one context add up to: *v.C*, *v.µ_c* and *v.µ_a* of the paper, and ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NodeLatency {
    /// How many calls were told apart.
    pub count: u64,
    /// From a call's first event to its last.
    pub conservative: Latency,
    /// From a call's first event to the first event without it.
    pub aggressive: Latency,
    /// The expected latency: begin and return at their expected places between the events around them.
    pub estimate: Latency,
    /// From the last event before a call to the first after it: it cannot have taken longer.
    pub longest: Latency,
}
