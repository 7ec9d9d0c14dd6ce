//! Which events perf is asked for.
//!
//! A period on a tracepoint is not kept: perf asks for the period of each sample, and the kernel then writes every
//! event. A frequency is kept, but then holds for all tracepoints of a recording. Events of the kernel's own
//! (`context-switches`) keep both, each for itself, and need no tracefs; they do not say why a thread stopped running,
//! which its stack in the kernel does.

use super::permit::Permits;
use super::{OsTrace, Scope};
use crate::RecordError;

/// Where there are too many switches, one in so many is recorded; a prime, so as not to march in step with programs.
pub const SPARSE: u32 = 61;

/// What perf is asked for.
pub struct Plan {
    pub events: Vec<String>,
    /// The event that may be switched off, another one stands in for it.
    pub dense: Option<&'static str>,
}

/// Chooses events by what is asked for and permitted.
pub fn plan(
    asked: &OsTrace,
    frequency: u32,
    scope: Scope,
    permits: &Permits,
    notes: &mut Vec<String>,
) -> Result<Plan, RecordError> {
    let kinds = asked.events;
    if asked.full || kinds.syscalls {
        permits.tracepoints()?;
    }
    let mut plan = Plan { events: Vec::new(), dense: None };
    if kinds.cpu {
        plan.add(&format!("cpu-clock/freq={frequency},name=cpu-clock/"));
    }
    if asked.full {
        if kinds.syscalls {
            plan.add("raw_syscalls:sys_enter");
            plan.add("raw_syscalls:sys_exit");
        }
        if kinds.sched {
            plan.add("sched:sched_switch");
            // Who wakes whom; the waker's stack is that of its last event.
            plan.add("sched:sched_waking/call-graph=no/");
        }
    } else {
        if kinds.sched {
            let tracepoint = !kinds.syscalls && permits.tracepoints().is_ok();
            if !tracepoint && !kinds.syscalls {
                notes.push(permits.what_is_missing());
            }
            let dense = if tracepoint { "sched:sched_switch" } else { "all-switches" };
            plan.add(if tracepoint {
                "sched:sched_switch"
            } else {
                "context-switches/period=1,name=all-switches/"
            });
            plan.add(&format!("context-switches/period={SPARSE},name=context-switches/"));
            plan.dense = Some(dense);
            if tracepoint && scope == Scope::All {
                // Who wakes whom, and when, is seen where everything is.
                plan.add("sched:sched_wakeup/call-graph=no/");
            }
        }
        if kinds.syscalls {
            plan.events.extend(["-F".to_owned(), frequency.to_string()]);
            plan.add("raw_syscalls:sys_enter");
        }
    }
    if kinds.sched && scope == Scope::Task {
        // When a thread runs again, which events of single threads do not say.
        plan.events.push("--switch-events".to_owned());
    }
    Ok(plan)
}

impl Plan {
    fn add(&mut self, event: &str) {
        self.events.extend(["-e".to_owned(), event.to_owned()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(asked: &OsTrace, scope: Scope, permits: &Permits) -> (String, Vec<String>) {
        let mut notes = Vec::new();
        let plan = plan(asked, 499, scope, permits, &mut notes).unwrap();
        (plan.events.join(" "), notes)
    }

    #[test]
    fn without_tracefs_the_kernels_own_counter_stands_in() {
        let nothing = Permits::without_tracefs();
        let (events, notes) = planned(&OsTrace::default(), Scope::Task, &nothing);
        assert_eq!(
            events,
            "-e cpu-clock/freq=499,name=cpu-clock/ -e context-switches/period=1,name=all-switches/ \
             -e context-switches/period=61,name=context-switches/ --switch-events"
        );
        let [note] = &*notes else { panic!("{notes:?}") };
        assert!(note.contains("sudo mount -t tracefs tracefs /sys/kernel/tracing"), "{note}");
        let full = OsTrace { full: true, ..OsTrace::default() };
        assert!(plan(&full, 499, Scope::Task, &nothing, &mut Vec::new()).is_err());
    }

    #[test]
    fn who_wakes_whom_is_recorded_where_everything_is() {
        let (one, notes) = planned(&OsTrace::default(), Scope::Task, &Permits::all());
        assert!(one.contains("sched:sched_switch") && !one.contains("wak"), "{one}");
        assert!(notes.is_empty(), "{notes:?}");
        let (all, _) = planned(&OsTrace::default(), Scope::All, &Permits::all());
        assert!(all.contains("sched:sched_wakeup/call-graph=no/"), "{all}");
    }
}
