//! Which events of a recording are about system calls, switches and wake-ups, and what each of them says.

use hashbrown::HashMap;
use perfblame_native::{ByteOrder, Bytes};

use super::header::Recording;
use super::sample::Sample;
use super::told::{Outbox, Told, TracedTold};
use super::tracepoint::{TracepointFormat, TracepointValue};
use crate::os_trace::syscalls::{self, SyscallMachine};
use crate::os_trace::{Traced, leaving_by_bits, other};

/// Where the first field of a tracepoint is, behind those that all have.
const FIRST_FIELD: usize = 8;

/// What is known of the events so far.
#[derive(Debug, Default)]
pub struct OsEvents {
    /// By event.
    kinds: Vec<OsEventKind>,
    /// The numbers of system calls' names, as they were told.
    calls: HashMap<String, u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum OsEventKind {
    RawEnter,
    RawExit,
    Enter(String),
    Exit(String),
    Switch,
    Wakeup,
    Plain(TracedTold),
}

impl OsEventKind {
    fn of(name: &str) -> Self {
        let (system, event) = name.split_once(':').unwrap_or(("", name));
        match (system, event) {
            ("raw_syscalls", "sys_enter") => Self::RawEnter,
            ("raw_syscalls", "sys_exit") => Self::RawExit,
            ("sched", "sched_switch") => Self::Switch,
            ("sched", "sched_wakeup" | "sched_waking" | "sched_wakeup_new") => Self::Wakeup,
            ("syscalls", call) => {
                match (call.strip_prefix("sys_enter_"), call.strip_prefix("sys_exit_")) {
                    (Some(call), _) => Self::Enter(call.to_owned()),
                    (_, Some(call)) => Self::Exit(call.to_owned()),
                    _ => Self::Plain(TracedTold::Other),
                }
            }
            _ => Self::Plain(match other(name) {
                Traced::Tick => TracedTold::Tick,
                Traced::PageFault => TracedTold::PageFault,
                // Who comes is nobody's number.
                Traced::Switch(leaving, _) => TracedTold::Switch(leaving, 0),
                _ => TracedTold::Other,
            }),
        }
    }
}

impl OsEvents {
    /// What a sample of event `row` says.
    pub fn traced(
        &mut self,
        recording: &Recording,
        row: usize,
        sample: &Sample<'_>,
        order: ByteOrder,
        outbox: &mut Outbox,
    ) -> TracedTold {
        while self.kinds.len() <= row
            && let Some(event) = recording.events.get(self.kinds.len())
        {
            self.kinds.push(OsEventKind::of(&recording.event_name(event)));
        }
        let Some(kind) = self.kinds.get(row) else { return TracedTold::Other };
        if let OsEventKind::Plain(told) = kind {
            return *told;
        }
        let id = recording.events.get(row).and_then(|event| event.attr.tracepoint());
        let format = id.and_then(|id| recording.formats.get(&id));
        let raw = sample.raw.unwrap_or_default();
        let number = |name: &str| format.and_then(|format| number(format, name, raw, order));
        match kind {
            OsEventKind::RawEnter | OsEventKind::RawExit => {
                let first = || Bytes::new(raw.get(FIRST_FIELD..)?, order).u64();
                let machine = SyscallMachine::named(recording.arch.as_deref().unwrap_or_default());
                let call = number("id").or_else(first);
                let name = call.and_then(|call| syscalls::name(machine, call)).unwrap_or("unknown");
                let enters = *kind == OsEventKind::RawEnter;
                let call = self.call(name, outbox);
                if enters { TracedTold::Enter(call) } else { TracedTold::Exit(call) }
            }
            OsEventKind::Enter(name) => {
                let name = name.clone();
                TracedTold::Enter(self.call(&name, outbox))
            }
            OsEventKind::Exit(name) => {
                let name = name.clone();
                TracedTold::Exit(self.call(&name, outbox))
            }
            OsEventKind::Switch => match (number("prev_state"), number("next_pid")) {
                (Some(state), Some(next)) => {
                    TracedTold::Switch(leaving_by_bits(state), u32::try_from(next).unwrap_or(0))
                }
                _ => TracedTold::Other,
            },
            OsEventKind::Wakeup => match number("pid").and_then(|pid| u32::try_from(pid).ok()) {
                Some(tid) => TracedTold::Wakeup(tid),
                None => TracedTold::Other,
            },
            OsEventKind::Plain(told) => *told,
        }
    }

    fn call(&mut self, name: &str, outbox: &mut Outbox) -> u32 {
        if let Some(number) = self.calls.get(name) {
            return *number;
        }
        let number = self.calls.len() as u32;
        self.calls.insert(name.to_owned(), number);
        outbox.tell(Told::CallName(name.to_owned()));
        number
    }
}

fn number(format: &TracepointFormat, name: &str, raw: &[u8], order: ByteOrder) -> Option<u64> {
    match format.value(name, raw, order)? {
        TracepointValue::Signed(number) => u64::try_from(number).ok(),
        TracepointValue::Unsigned(number) => Some(number),
        TracepointValue::Text(_) | TracepointValue::Bytes(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_cct::Leaving;

    #[test]
    fn events_are_known_by_name() {
        for (name, expected) in [
            ("raw_syscalls:sys_enter", OsEventKind::RawEnter),
            ("syscalls:sys_exit_openat", OsEventKind::Exit("openat".to_owned())),
            ("sched:sched_switch", OsEventKind::Switch),
            ("sched:sched_waking", OsEventKind::Wakeup),
            ("cpu-clock", OsEventKind::Plain(TracedTold::Tick)),
            ("page-faults:u", OsEventKind::Plain(TracedTold::PageFault)),
            ("all-switches", OsEventKind::Plain(TracedTold::Switch(Leaving::Unsaid, 0))),
            ("block:block_rq_issue", OsEventKind::Plain(TracedTold::Other)),
        ] {
            assert_eq!(OsEventKind::of(name), expected, "{name}");
        }
    }
}
