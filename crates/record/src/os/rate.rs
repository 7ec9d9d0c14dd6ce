//! How often threads switch, and when that is too often to record each time.
//!
//! What is measured by the file's growth would depend on how well stacks pack.

use std::time::{Duration, Instant};

use super::delays::{Delays, now as clock};
use super::family::{children, switches_of_all, threads_of_family};

/// Stacks per second above which recording them shows: at 6 µs each, 3 % of one processor.
const MOST: u64 = 5_000;

/// Long enough for a rate, short enough not to record much that is not wanted.
const INTERVAL: Duration = Duration::from_millis(50);

/// Of our own time, so much goes into asking at most: one part in so many.
const PATIENCE: u32 = 50;

/// Whose switches count.
#[derive(Clone, Copy, Debug)]
pub enum Watched {
    /// Those of what perf itself has started.
    ChildrenOf,
    Process(u32),
    All,
}

/// What to do about an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Enable,
    Disable,
}

impl Order {
    /// As perf is told.
    pub fn word(self) -> &'static str {
        match self {
            Self::Enable => "enable",
            Self::Disable => "disable",
        }
    }
}

/// The rate of switches.
pub struct Rate {
    watched: Watched,
    last: Option<(Instant, u64)>,
    interval: Duration,
    decision: Decision,
    pub delays: Delays,
}

impl Rate {
    pub fn new(watched: Watched) -> Self {
        let delays = Delays::new(matches!(watched, Watched::ChildrenOf));
        Self { watched, last: None, interval: INTERVAL, decision: Decision::default(), delays }
    }

    /// Measures, and says what is to change.
    pub fn order(&mut self, perf: u32) -> Option<Order> {
        let now = Instant::now();
        if self.last.is_some_and(|(then, _)| now - then < self.interval) {
            return None;
        }
        let family = match self.watched {
            Watched::ChildrenOf => Some(children(perf)),
            Watched::Process(id) => Some(vec![id]),
            Watched::All => None,
        };
        let count = match family {
            Some(roots) => {
                let threads = threads_of_family(roots);
                self.delays.take(clock(), &threads);
                threads.iter().fold(0, |sum, thread| thread.switches.saturating_add(sum))
            }
            None => switches_of_all().unwrap_or(0),
        };
        // A thousand threads take their time to be asked.
        self.interval = INTERVAL.max(now.elapsed() * PATIENCE);
        let last = self.last.replace((now, count));
        let (then, before) = last?;
        // Threads that have ended take their counts with them.
        let new = count.saturating_sub(before);
        let millis = u64::try_from((now - then).as_millis()).unwrap_or(u64::MAX).max(1);
        self.decision.take(new.saturating_mul(1000) / millis)
    }

    /// The highest rate, if it was too high.
    pub fn thinned(&self) -> Option<u64> {
        self.decision.thinned
    }
}

#[derive(Default)]
struct Decision {
    sparse: bool,
    thinned: Option<u64>,
}

impl Decision {
    fn take(&mut self, rate: u64) -> Option<Order> {
        if rate > MOST {
            self.thinned = Some(self.thinned.unwrap_or(0).max(rate));
            (!std::mem::replace(&mut self.sparse, true)).then_some(Order::Disable)
        } else if rate < MOST / 2 {
            // Well below, so as not to go back and forth.
            std::mem::take(&mut self.sparse).then_some(Order::Enable)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_switched_off_once_and_on_again_well_below() {
        let mut decision = Decision::default();
        let orders = [100, 9_000, 20_000, 4_000, 2_000, 1_000].map(|rate| decision.take(rate));
        let (off, on) = (Some(Order::Disable), Some(Order::Enable));
        assert_eq!(orders, [None, off, None, None, on, None]);
        assert_eq!(decision.thinned, Some(20_000));
    }
}
