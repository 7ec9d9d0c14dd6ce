//! A child that goes with all its children.
//!
//! Builds start compilers that start compilers. Each child gets a process group of its own, so that the whole of it can
//! be ended, and so that an interrupt on the terminal reaches us first and not all of them at once.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Failure;

/// How often a child is looked after.
const TICK: Duration = Duration::from_millis(10);

/// What a child gets to clean up before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// A line for the system's shell.
pub fn shell(line: &str) -> Command {
    let (program, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(program);
    command.args([option, line]);
    command
}

/// Runs a command to its end with everything it prints in a log.
pub fn run_logged(
    mut command: Command,
    log: &Path,
    cancel: &AtomicBool,
) -> Result<ExitStatus, Failure> {
    let failed = |error: std::io::Error| Failure::io("write", log, &error);
    let out = File::create(log).map_err(failed)?;
    let errors = out.try_clone().map_err(failed)?;
    command.stdin(Stdio::null()).stdout(out).stderr(errors);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child =
        command.spawn().map_err(|error| Failure::new(format!("cannot run {name}"), error))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(error) => return Err(Failure::new(format!("cannot wait for {name}"), error)),
        }
        if cancel.load(Ordering::Relaxed) {
            end(&mut child);
            return Err(Failure::cancelled());
        }
        std::thread::sleep(TICK);
    }
}

/// How long the rest of a killed group may take to go. Processes that nobody reaps stay in it.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Ends a child and its group: asks first, then kills, and waits until the group has gone, with all it had open.
pub fn end(child: &mut Child) {
    signal(child, Ending::Ask);
    let until = Instant::now() + GRACE;
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(TICK);
    }
    signal(child, Ending::Kill);
    let _ = child.kill();
    let _ = child.wait();
    let until = Instant::now() + LAST_WAIT;
    while Instant::now() < until && has_members(child) {
        std::thread::sleep(TICK);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Ask,
    Kill,
}

#[cfg(unix)]
fn signal(child: &Child, how: Ending) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = if how == Ending::Ask { Signal::TERM } else { Signal::KILL };
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}

/// Whether a process of the child's group is left.
#[cfg(unix)]
fn has_members(child: &Child) -> bool {
    use rustix::process::{Pid, test_kill_process_group};
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    group.is_some_and(|group| test_kill_process_group(group).is_ok())
}

#[cfg(not(unix))]
fn signal(_: &Child, _: Ending) {}

#[cfg(not(unix))]
fn has_members(_: &Child) -> bool {
    false
}
