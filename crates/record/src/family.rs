//! A process and all that belongs to it, for when all of it must end: its group, its descendants, and those whose
//! parents ended before anybody looked.
//!
//! A shell may start a process in a session of its own and end within milliseconds; that process is then a child of
//! nobody we know. So we have the kernel make such orphans our own children. Nothing is put into the environment: what
//! is recorded must not see that it is.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Children that were started here, and so are nobody's orphans.
static LEADERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn leaders() -> MutexGuard<'static, BTreeSet<u32>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child whose orphans are ours, until it is dropped.
pub struct Leader(u32);

impl Leader {
    /// Starts a command.
    pub fn start(command: &mut Command) -> std::io::Result<(Self, Child)> {
        // Where the kernel does not know how, orphans are not found.
        #[cfg(target_os = "linux")]
        let _ = nix::sys::prctl::set_child_subreaper(true);
        // Nobody may look at processes before this one is known.
        let mut leaders = leaders();
        let child = command.spawn()?;
        leaders.insert(child.id());
        Ok((Self(child.id()), child))
    }

    /// Its family.
    pub fn family(&self) -> Family {
        let since = stat(self.0).map_or(u64::MAX, |(_, process)| process.started);
        Family::new(self.0, Some(since))
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        leaders().remove(&self.0);
    }
}

/// A process and all that belongs to it.
pub struct Family {
    leader: u32,
    /// Our orphans that were started since then are its.
    orphans: Option<u64>,
    /// By number, with the time each started: numbers are given again.
    members: BTreeMap<u32, u64>,
}

impl Family {
    /// That of a child that is not reaped yet, without orphans.
    pub fn of(leader: u32) -> Self {
        Self::new(leader, None)
    }

    fn new(leader: u32, orphans: Option<u64>) -> Self {
        let mut family = Self { leader, orphans, members: BTreeMap::new() };
        family.update();
        family
    }

    /// Takes in new members and forgets those that have ended.
    pub fn update(&mut self) {
        let leaders = leaders();
        let (own, own_group) = (std::process::id(), nix::unistd::getpgrp().as_raw());
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
                let is_orphan = self.orphans.is_some_and(|since| process.started >= since)
                    && process.parent == own
                    && i64::from(process.group) != i64::from(own_group)
                    && !leaders.contains(id);
                if is_kin || is_orphan {
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
