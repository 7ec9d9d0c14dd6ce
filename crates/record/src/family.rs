//! A process and all that belongs to it, for when all of it must end: its group, its descendants, and those whose
//! parents ended before anybody looked.
//!
//! A shell may start a process in a session of its own and end within milliseconds; that process is then a child of
//! nobody we know. So whatever is started gets a variable in its environment that says whose it is, which its
//! descendants inherit.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The variable that says to which family a process belongs.
const VARIABLE: &str = "PERFBLAME_FAMILY";

/// The sign of one family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark(String);

impl Mark {
    /// Puts a new one on what a command will start.
    pub fn put(command: &mut Command) -> Self {
        static FAMILIES: AtomicU64 = AtomicU64::new(0);
        let number = FAMILIES.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        command.env(VARIABLE, &mark);
        Self(format!("{VARIABLE}={mark}"))
    }

    /// True for a process that has it.
    fn is_on(&self, id: u32) -> bool {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == self.0.as_bytes())
    }
}

/// A process and all that belongs to it.
pub struct Family<'a> {
    leader: u32,
    mark: &'a Mark,
    /// What started before the leader is none of it.
    since: u64,
    /// By number, with the time each started: numbers are given again.
    members: BTreeMap<u32, u64>,
}

impl<'a> Family<'a> {
    /// That of a child that is not reaped yet.
    pub fn of(leader: u32, mark: &'a Mark) -> Self {
        let since = stat(leader).map_or(0, |(_, process)| process.started);
        let mut family = Self { leader, mark, since, members: BTreeMap::new() };
        family.update();
        family
    }

    /// Takes in new members and forgets those that have ended.
    pub fn update(&mut self) {
        let processes = processes();
        self.members.retain(|id, started| {
            processes.get(id).is_some_and(|process| process.started == *started)
        });
        loop {
            let known = self.members.len();
            for (id, process) in &processes {
                if self.members.contains_key(id) {
                    continue;
                }
                let is_kin = *id == self.leader
                    || process.group == self.leader
                    || process.parent == self.leader
                    || self.members.contains_key(&process.parent);
                if is_kin || (process.started >= self.since && self.mark.is_on(*id)) {
                    self.members.insert(*id, process.started);
                }
            }
            if self.members.len() == known {
                return;
            }
        }
    }

    /// Stops all members until there are no new ones.
    pub fn stop(&mut self) {
        let mut stopped = BTreeMap::new();
        // Each round stops what the last one started; a family that outgrows this is met again when killed.
        for _ in 0..100 {
            if self.members == stopped {
                return;
            }
            for id in self.members.keys().filter(|id| !stopped.contains_key(*id)) {
                let _ = kill(Pid::from_raw(*id as i32), Signal::SIGSTOP);
            }
            stopped.clone_from(&self.members);
            self.update();
        }
    }

    /// True when none of it is left.
    pub fn is_gone(&self) -> bool {
        self.members.is_empty()
    }

    /// Sends all members a signal.
    pub fn signal(&self, signal: Signal) {
        for id in self.members.keys() {
            let _ = kill(Pid::from_raw(*id as i32), signal);
        }
    }
}

/// What is known of a process.
pub struct Process {
    parent: u32,
    group: u32,
    started: u64,
}

/// All processes that run; those that only wait to be reaped do not.
pub fn processes() -> BTreeMap<u32, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(|id: u32| Some((id, process(id)?))).collect()
}

fn process(id: u32) -> Option<Process> {
    let (state, process) = stat(id)?;
    (!matches!(state, b'Z' | b'X')).then_some(process)
}

/// The state of a process, and the process.
fn stat(id: u32) -> Option<(u8, Process)> {
    let stat = std::fs::read(format!("/proc/{id}/stat")).ok()?;
    // The name is in parentheses and may hold anything, parentheses too.
    let after_name = stat.get(memchr::memrchr(b')', &stat)? + 1..)?;
    let fields: Vec<&str> = str::from_utf8(after_name).ok()?.split_ascii_whitespace().collect();
    let state = *fields.first()?.as_bytes().first()?;
    let process = Process {
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    };
    Some((state, process))
}
