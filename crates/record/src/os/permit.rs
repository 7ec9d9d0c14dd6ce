//! What this machine and its settings permit, and the command that permits the rest.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::{Profiler, RecordError};

/// Where tracefs is mounted; the second place is that of old kernels.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Read by perf before it asks for the event.
const EVENT: &str = "events/sched/sched_switch/id";

/// What stands between us and tracepoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permits {
    tracefs: Tracefs,
    root: bool,
    paranoid: i32,
    /// The kernel hides itself from everybody, root too.
    locked_down: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tracefs {
    Readable,
    NotMounted,
    NotReadable,
}

impl Permits {
    /// Of this machine.
    pub fn here() -> Self {
        let seen = TRACING.map(|folder| fs::read(Path::new(folder).join(EVENT)));
        let tracefs = if seen.iter().any(Result::is_ok) {
            Tracefs::Readable
        } else if seen.iter().any(|seen| {
            seen.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
        }) {
            Tracefs::NotReadable
        } else {
            Tracefs::NotMounted
        };
        let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
        Self {
            tracefs,
            root: nix::unistd::geteuid().is_root(),
            paranoid: paranoid(),
            locked_down: lockdown.contains("[confidentiality]"),
        }
    }

    /// Nothing stands in the way.
    #[cfg(test)]
    pub fn all() -> Self {
        Self { tracefs: Tracefs::Readable, root: true, paranoid: 2, locked_down: false }
    }

    /// Of root on a machine where tracefs is not mounted.
    #[cfg(test)]
    pub fn without_tracefs() -> Self {
        Self { tracefs: Tracefs::NotMounted, ..Self::all() }
    }

    /// An error with the command that helps, where tracepoints cannot be used.
    pub fn tracepoints(&self) -> Result<(), RecordError> {
        match self.obstacle() {
            None => Ok(()),
            Some((why, help)) => {
                Err(RecordError::NotPermitted { profiler: Profiler::Perf, why, help })
            }
        }
    }

    /// For recordings that do without tracepoints.
    pub fn what_is_missing(&self) -> String {
        let (why, help) = self.obstacle().unwrap_or_default();
        format!("{why}, so switches are recorded without their reason; to record it, {help}")
    }

    fn obstacle(&self) -> Option<(String, String)> {
        let mut help = Vec::new();
        let why = if self.locked_down {
            let help = "start the kernel without `lockdown=confidentiality`";
            return Some(("the kernel is locked down".to_owned(), help.to_owned()));
        } else if self.tracefs == Tracefs::NotMounted {
            help.push("sudo mount -t tracefs tracefs /sys/kernel/tracing");
            "tracefs is not mounted"
        } else if self.tracefs == Tracefs::NotReadable {
            "tracefs is for root only"
        } else if !self.root && self.paranoid > -1 {
            "the kernel's tracepoints are for root only"
        } else {
            return None;
        };
        if !self.root {
            help.push("sudo mount -o remount,mode=755 /sys/kernel/tracing");
            if self.paranoid > -1 {
                help.push("sudo sysctl kernel.perf_event_paranoid=-1");
            }
        }
        let alone = if self.root { "" } else { ", or record as root" };
        Some((why.to_owned(), format!("run `{}`{alone}", help.join(" && "))))
    }
}

/// How much ordinary users may see; two where it is not told.
pub fn paranoid() -> i32 {
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    level.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(permits: &Permits) -> String {
        permits
            .tracepoints()
            .map_or_else(|error| error.help().unwrap_or_default(), |()| String::new())
    }

    #[test]
    fn each_obstacle_comes_with_the_command_that_removes_it() {
        let fine = Permits::all();
        assert_eq!(help(&fine), "");
        let unmounted = Permits::without_tracefs();
        assert_eq!(help(&unmounted), "run `sudo mount -t tracefs tracefs /sys/kernel/tracing`");
        let user = Permits { root: false, ..fine.clone() };
        assert_eq!(
            help(&user),
            "run `sudo mount -o remount,mode=755 /sys/kernel/tracing && \
             sudo sysctl kernel.perf_event_paranoid=-1`, or record as root"
        );
        let trusted = Permits { root: false, paranoid: -1, ..fine.clone() };
        assert_eq!(help(&trusted), "");
        let hidden = Permits { tracefs: Tracefs::NotReadable, ..trusted };
        assert!(help(&hidden).contains("remount,mode=755"));
        assert!(!help(&hidden).contains("paranoid"));
        let locked = Permits { locked_down: true, ..fine };
        assert!(help(&locked).contains("lockdown=confidentiality"));
    }
}
