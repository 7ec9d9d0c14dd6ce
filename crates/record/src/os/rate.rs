//! How often threads switch, and when that is too often to record each time.
//!
//! The kernel counts switches per thread anyway, so that asking costs nothing where it matters: in the threads
//! themselves. What is measured by the file's growth would depend on how well stacks pack.

use std::fs;
use std::time::{Duration, Instant};

use nix::unistd::{SysconfVar, sysconf};

/// Stacks per second above which recording them shows: at 6 µs each, 3 % of one processor.
const MOST: u64 = 5_000;

/// Long enough for a rate, short enough not to record much that is not wanted.
const INTERVAL: Duration = Duration::from_millis(100);

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
}

impl Rate {
    pub fn new(watched: Watched) -> Self {
        Self { watched, last: None, interval: INTERVAL, decision: Decision::default() }
    }

    /// Measures, and says what is to change.
    pub fn order(&mut self, perf: u32) -> Option<Order> {
        let now = Instant::now();
        if self.last.is_some_and(|(then, _)| now - then < self.interval) {
            return None;
        }
        let count = match self.watched {
            Watched::ChildrenOf => {
                children(perf).into_iter().map(switches_of_family).fold(0, u64::saturating_add)
            }
            Watched::Process(id) => switches_of_family(id),
            Watched::All => switches_of_all().unwrap_or(0),
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

/// A family of processes larger than this is counted in part.
const MOST_PROCESSES: usize = 1_000;

fn switches_of_family(root: u32) -> u64 {
    let (mut todo, mut total, mut seen) = (vec![root], 0u64, 0);
    while let Some(process) = todo.pop() {
        seen += 1;
        if seen > MOST_PROCESSES {
            break;
        }
        for thread in threads(process) {
            let status = fs::read_to_string(format!("/proc/{process}/task/{thread}/status"));
            total = total.saturating_add(switches(&status.unwrap_or_default()));
        }
        todo.extend(children(process));
    }
    total
}

fn threads(process: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn children(process: u32) -> Vec<u32> {
    let of_thread = |thread| {
        let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
        let ids = text.unwrap_or_default();
        ids.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()
    };
    threads(process).into_iter().flat_map(of_thread).collect()
}

fn switches(status: &str) -> u64 {
    let counts = status
        .lines()
        .filter_map(|line| line.split_once("ctxt_switches:"))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok());
    counts.fold(0, u64::saturating_add)
}

fn switches_of_all() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("ctxt ")?.trim().parse().ok())
}

/// CPU time of a process that runs.
pub fn cpu_of(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()?.checked_add(fields.next()?.parse().ok()?)?;
    let per_second = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
    Some(Duration::from_millis(ticks.checked_mul(1000)?.checked_div(per_second)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_switches_count() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t45\n";
        assert_eq!(switches(status), 195);
        assert_eq!(switches("nothing"), 0);
        assert!(switches_of_family(std::process::id()) > 0);
        assert!(cpu_of(std::process::id()).is_some());
    }

    #[test]
    fn an_event_is_switched_off_once_and_on_again_well_below() {
        let mut decision = Decision::default();
        let orders = [100, 9_000, 20_000, 4_000, 2_000, 1_000].map(|rate| decision.take(rate));
        let (off, on) = (Some(Order::Disable), Some(Order::Enable));
        assert_eq!(orders, [None, off, None, None, on, None]);
        assert_eq!(decision.thinned, Some(20_000));
    }
}
