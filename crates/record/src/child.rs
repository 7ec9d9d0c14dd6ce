//! A child process from start to end: in a group of its own, with what it cost, and gone for good when it must go.
//!
//! Profilers and build tools start further processes, so ending one process is not enough: the child's family is asked
//! to end, then made to. A thread blocks until the
//! child ends without reaping it, so that its number cannot be given to another process while we may still send it
//! signals; the call that reaps it tells what it cost.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use wait4::Wait4;

use crate::RecordError;
use crate::family::{Family, Leader};

/// How often we look up from waiting.
const TICK: Duration = Duration::from_millis(20);

/// How long processes may take to end when asked: a JVM writes its recording then, perf its buffers.
const GRACE: Duration = Duration::from_secs(5);

/// How a child ended and what it cost, with all descendants it waited for.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its number while it ran.
    pub id: u32,
    pub status: ExitStatus,
    pub wall: Duration,
    pub cpu: Duration,
    /// Bytes of the largest process.
    pub peak_memory: u64,
}

/// What ends a child before its time.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    pub timeout: Option<Duration>,
    pub cancel: &'a AtomicBool,
}

impl Limits<'_> {
    /// True once somebody asked to stop.
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command, limits: Limits<'_>) -> Result<Ended, RecordError> {
    run_watched(command, limits, |_| Ok(()))
}

/// Runs a command to its end and calls `watch` with its number every now and then; an error from there ends it.
pub fn run_watched(
    command: &mut Command,
    limits: Limits<'_>,
    mut watch: impl FnMut(u32) -> Result<(), RecordError>,
) -> Result<Ended, RecordError> {
    if limits.cancelled() {
        return Err(RecordError::Cancelled);
    }
    command.process_group(0);
    let started = Instant::now();
    let (leader, mut child) = Leader::start(command).map_err(|source| RecordError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    let id = child.id();
    let (report, ended) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            wait_without_reaping(id);
            let _ = report.send(Instant::now());
        });
        let outcome = watch_until_ended(id, started, limits, &ended, &mut watch);
        let at = match outcome {
            Ok(at) => at,
            Err(error) => {
                end_tree(leader.family(), &ended);
                let _ = child.wait();
                return Err(error);
            }
        };
        let used = child.wait4().map_err(|source| RecordError::Start {
            program: command.get_program().to_string_lossy().into_owned(),
            source,
        })?;
        Ok(Ended {
            id,
            status: used.status,
            wall: at - started,
            cpu: used.rusage.utime + used.rusage.stime,
            peak_memory: used.rusage.maxrss,
        })
    })
}

fn watch_until_ended(
    id: u32,
    started: Instant,
    limits: Limits<'_>,
    ended: &Receiver<Instant>,
    watch: &mut dyn FnMut(u32) -> Result<(), RecordError>,
) -> Result<Instant, RecordError> {
    loop {
        match ended.recv_timeout(TICK) {
            Ok(at) => return Ok(at),
            Err(RecvTimeoutError::Disconnected) => return Ok(Instant::now()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if limits.cancelled() {
            return Err(RecordError::Cancelled);
        }
        if let Some(timeout) = limits.timeout
            && started.elapsed() >= timeout
        {
            return Err(RecordError::TimedOut { after: timeout });
        }
        watch(id)?;
    }
}

/// Blocks until a child has ended and leaves it to be reaped.
fn wait_without_reaping(id: u32) {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(pid(id)), flags) == Err(nix::errno::Errno::EINTR) {}
}

/// Ends the family of a child that is not reaped yet; returns when it is gone.
fn end_tree(mut family: Family, ended: &Receiver<Instant>) {
    // A process that is started between looking and signalling, and leaves its parent at once, would not be found any
    // more. What is stopped starts nothing.
    family.stop();
    family.signal(Signal::SIGTERM);
    family.signal(Signal::SIGCONT);
    let asked = Instant::now();
    while asked.elapsed() < GRACE {
        family.update();
        if family.is_gone() {
            return;
        }
        let _ = ended.recv_timeout(TICK);
        // Once it has reported, waiting for the report returns at once.
        std::thread::sleep(TICK);
    }
    // Each round also finds what was started meanwhile.
    for _ in 0..100 {
        family.update();
        if family.is_gone() {
            return;
        }
        family.stop();
        family.signal(Signal::SIGKILL);
        std::thread::sleep(TICK);
    }
}

/// Waits for a child and all that belongs to it to end by itself, as it was told to in its own way; makes it end when it
/// does not.
pub fn end_family(child: &mut Child, patience: Duration) {
    let mut family = Family::of(child.id());
    let asked = Instant::now();
    while asked.elapsed() < patience && !family.is_gone() {
        std::thread::sleep(TICK);
        family.update();
    }
    if !family.is_gone() {
        let (_never, ended) = channel();
        end_tree(family, &ended);
    }
    let _ = child.wait();
}

/// Ends a helper of ours, such as a profiler that watches from outside, and reaps it.
pub fn end_helper(helper: &mut Child) {
    if !matches!(helper.try_wait(), Ok(None)) {
        return;
    }
    let _ = kill(pid(helper.id()), Signal::SIGTERM);
    let asked = Instant::now();
    while asked.elapsed() < GRACE {
        if !matches!(helper.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(TICK);
    }
    let _ = helper.kill();
    let _ = helper.wait();
}

/// True when no process has this number.
pub fn is_gone(process: i32) -> bool {
    process > 0 && kill(Pid::from_raw(process), None) == Err(nix::errno::Errno::ESRCH)
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id as i32)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn limits(cancel: &AtomicBool) -> Limits<'_> {
        Limits { timeout: None, cancel }
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn status_and_cost_are_the_childs() {
        let cancel = AtomicBool::new(false);
        let ended = run(&mut shell("exit 7"), limits(&cancel)).unwrap();
        assert_eq!(ended.status.code(), Some(7));
        assert!(ended.peak_memory > 0);
        let ended = run(&mut shell("kill -9 $$"), limits(&cancel)).unwrap();
        assert_eq!(ended.status.signal(), Some(9));
    }

    #[test]
    fn a_timeout_ends_descendants_that_left_the_group_and_ignore_requests() {
        let marker = format!("86{}", std::process::id());
        let script = format!("trap '' TERM; setsid sleep {marker} & sleep {marker} & wait; wait");
        let cancel = AtomicBool::new(false);
        let limits = Limits { timeout: Some(Duration::from_millis(500)), cancel: &cancel };
        let error = run(&mut shell(&script), limits).unwrap_err();
        assert!(matches!(error, RecordError::TimedOut { .. }), "{error}");
        for id in crate::family::processes().keys() {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            assert!(!line.contains(&marker), "{id} is left: {line}");
        }
    }

    #[test]
    fn processes_that_are_just_being_started_are_ended_too() {
        let marker = format!("87{}", std::process::id());
        let script = format!("while true; do setsid sleep {marker} & done");
        let cancel = AtomicBool::new(false);
        for millis in [10, 25, 60] {
            let limits = Limits { timeout: Some(Duration::from_millis(millis)), cancel: &cancel };
            assert!(run(&mut shell(&script), limits).is_err());
            for id in crate::family::processes().keys() {
                let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&line).contains(&marker), "{id} is left");
            }
        }
    }

    #[test]
    fn processes_whose_parents_are_gone_are_ended_too() {
        let marker = format!("88{}", std::process::id());
        let script = format!("(setsid sleep {marker} &); sleep {marker}");
        let cancel = AtomicBool::new(false);
        let limits = Limits { timeout: Some(Duration::from_millis(500)), cancel: &cancel };
        assert!(run(&mut shell(&script), limits).is_err());
        for id in crate::family::processes().keys() {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&line).contains(&marker), "{id} is left");
        }
    }

    #[test]
    fn what_is_cancelled_before_it_starts_does_not_start() {
        let cancel = AtomicBool::new(true);
        let error = run(&mut shell("exit 0"), limits(&cancel)).unwrap_err();
        assert!(matches!(error, RecordError::Cancelled));
    }
}
