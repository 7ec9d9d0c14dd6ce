//! How long threads waited for a processor, for who reads the recording: recordings of single processes do not see who
//! wakes their threads, and the time from there until they run would count as waiting for what they waited for.

use std::collections::HashMap;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use super::family::ThreadCounts;

/// Time without a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunDelay {
    /// Until when, in nanoseconds on the recording's clock.
    pub time: u64,
    /// The thread.
    pub thread: u32,
    /// How long since the last time.
    pub nanos: u64,
}

/// Some megabytes of text in the recording.
const MOST: usize = 200_000;

/// What is known so far.
#[derive(Debug, Default)]
pub struct Delays {
    last: HashMap<u32, u64>,
    found: Vec<RunDelay>,
    /// What runs already has waited before.
    from_start: bool,
    pub full: bool,
}

impl Delays {
    /// `from_start` where all threads began with the recording.
    pub fn new(from_start: bool) -> Self {
        Self { from_start, ..Self::default() }
    }

    /// Notes what has been added since the last time.
    pub fn take(&mut self, now: Duration, threads: &[ThreadCounts]) {
        let time = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        for thread in threads {
            let Some(delayed) = thread.delayed else { continue };
            let before = self.last.insert(thread.id, delayed);
            let before = before.or(self.from_start.then_some(0)).unwrap_or(delayed);
            // Numbers are given to new threads again.
            let nanos = delayed.checked_sub(before).unwrap_or(delayed);
            if nanos == 0 {
                continue;
            }
            if self.found.len() == MOST {
                self.full = true;
                return;
            }
            self.found.push(RunDelay { time, thread: thread.id, nanos });
        }
    }

    pub fn into_found(self) -> Vec<RunDelay> {
        self.found
    }
}

/// On the clock that perf is told to use.
pub fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_noted() {
        let at = |delayed| [ThreadCounts { id: 7, switches: 1, delayed: Some(delayed) }];
        let noted = |from_start| {
            let mut delays = Delays::new(from_start);
            for (time, delayed) in [(1, 500), (2, 500), (3, 800), (4, 20)] {
                delays.take(Duration::from_nanos(time), &at(delayed));
            }
            delays.into_found().iter().map(|row| (row.time, row.nanos)).collect::<Vec<_>>()
        };
        assert_eq!(noted(true), [(1, 500), (3, 300), (4, 20)]);
        assert_eq!(noted(false), [(3, 300), (4, 20)]);
    }
}
