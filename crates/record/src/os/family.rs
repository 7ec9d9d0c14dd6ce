//! A process with all it has started: how often its threads got a processor, and how long they waited for one.
//!
//! The kernel counts both anyway, so that asking costs nothing where it matters: in the threads themselves.

use std::fs;
use std::time::Duration;

use nix::unistd::{SysconfVar, sysconf};

/// A family of processes larger than this is looked at in part.
const MOST_PROCESSES: usize = 1_000;

/// A thread, as the kernel counts since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadCounts {
    pub id: u32,
    pub switches: u64,
    /// Nanoseconds in which it could have run and had no processor; not every kernel tells.
    pub delayed: Option<u64>,
}

/// The threads of some processes and of all they have started.
pub fn threads_of_family(roots: Vec<u32>) -> Vec<ThreadCounts> {
    let (mut todo, mut seen) = (roots, 0);
    let mut found = Vec::new();
    while let Some(process) = todo.pop() {
        seen += 1;
        if seen > MOST_PROCESSES {
            break;
        }
        for id in threads(process) {
            let of_thread = |name: &str| {
                let text = fs::read_to_string(format!("/proc/{process}/task/{id}/{name}"));
                text.unwrap_or_default()
            };
            let told = schedstat(&of_thread("schedstat"));
            let switches = told.map(|told| told.1);
            let switches = switches.unwrap_or_else(|| switches_in(&of_thread("status")));
            let delayed = told.map(|told| told.0);
            found.push(ThreadCounts { id, switches, delayed });
        }
        todo.extend(children(process));
    }
    found
}

fn threads(process: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What a process has started.
pub fn children(process: u32) -> Vec<u32> {
    let of_thread = |thread| {
        let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
        let ids = text.unwrap_or_default();
        ids.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()
    };
    threads(process).into_iter().flat_map(of_thread).collect()
}

/// Time on processors, time without one, and how often one was given: the second and the third.
fn schedstat(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_ascii_whitespace().skip(1);
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

fn switches_in(status: &str) -> u64 {
    let counts = status
        .lines()
        .filter_map(|line| line.split_once("ctxt_switches:"))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok());
    counts.fold(0, u64::saturating_add)
}

/// Switches of everything on this machine.
pub fn switches_of_all() -> Option<u64> {
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
        assert_eq!(switches_in(status), 195);
        assert_eq!(switches_in("nothing"), 0);
        assert_eq!(schedstat("44216213 61238 30\n"), Some((61238, 30)));
        assert_eq!(schedstat(""), None);
    }

    #[test]
    fn we_are_a_family() {
        let own = threads_of_family(vec![std::process::id()]);
        assert!(own.iter().any(|thread| thread.switches > 0), "{own:?}");
        assert!(cpu_of(std::process::id()).is_some());
    }
}
