//! Traces of the operating system, whatever tool wrote them: stacks at system calls, context switches and wake-ups.
//!
//! Readers say what an event means with [`Traced`]; the [`Emitter`] makes of it what each thread concerned has to know:
//! a switch is about the thread that leaves and the one that comes, a wake-up about the sleeper and who woke it.

mod reorder;
pub(crate) mod syscalls;
pub(crate) mod text_events;

use std::rc::Rc;

use hashbrown::HashMap;
use perfblame_cct::{
    EventKind, EventSink, FrameId, Leaving, ProfileBuilder, StackEvent, StringId, ThreadId,
};
use perfblame_native::{BinaryNames, CodeTable};

use crate::encodings::text::number;
use crate::error::ReadError;
use crate::format::Format;
use crate::formats::perf_data::objects::RunDelay;
use reorder::{Held, Window};
use syscalls::SyscallMachine;

/// The error for a text of events that has not a single stack.
pub(crate) fn no_stacks(format: &Format) -> ReadError {
    let error = ReadError::unsupported("its events have no stacks");
    match &format.tracer {
        Some(tracer) => error.help(tracer.how_to_record_stacks),
        None => error,
    }
}

/// What an event means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Traced<'a> {
    Enter(&'a str),
    Exit(&'a str),
    /// The thread leaves, another one comes.
    Switch(Leaving, Option<u64>),
    SwitchIn,
    /// Another thread may run again.
    Wakeup(u64),
    PageFault,
    Tick,
    Other,
}

/// True for events that only a trace of the operating system has.
pub(crate) fn is_os_event(event: &str) -> bool {
    event.starts_with("raw_syscalls:sys_")
        || event.starts_with("syscalls:sys_")
        || event.starts_with("sched:sched_switch")
        || is_switch_counter(event)
}

/// The kernel's own counter of switches, which needs no tracefs: also under the names that `perfblame record os` and
/// perf give it.
fn is_switch_counter(event: &str) -> bool {
    let word = event.split([':', '/']).next().unwrap_or(event);
    matches!(word, "context-switches" | "cs" | "all-switches")
}

/// What an event means by its name and, as text, its fields.
pub(crate) fn from_text<'a>(
    event: &'a str,
    fields: &'a str,
    machine: SyscallMachine,
) -> Traced<'a> {
    let (system, name) = event.split_once(':').unwrap_or(("", event));
    let name = name.split(':').next().unwrap_or(name);
    match (system, name) {
        ("raw_syscalls", "sys_enter" | "sys_exit") => {
            let call = fields.trim().strip_prefix("NR ").and_then(|rest| {
                let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
                syscalls::name(machine, digits.parse().ok()?)
            });
            let call = call.unwrap_or("unknown");
            if name == "sys_enter" { Traced::Enter(call) } else { Traced::Exit(call) }
        }
        ("syscalls", _) => {
            if let Some(call) = name.strip_prefix("sys_enter_") {
                Traced::Enter(call)
            } else if let Some(call) = name.strip_prefix("sys_exit_") {
                Traced::Exit(call)
            } else {
                Traced::Other
            }
        }
        ("sched", "sched_switch") => switch(fields),
        ("sched", "sched_wakeup" | "sched_waking" | "sched_wakeup_new") => {
            match field(fields, "pid").or_else(|| compact_pid(fields)) {
                Some(tid) => Traced::Wakeup(tid),
                None => Traced::Other,
            }
        }
        _ => other(event),
    }
}

/// What events mean whose fields do not matter.
pub(crate) fn other(event: &str) -> Traced<'static> {
    if event.starts_with("exceptions:page_fault")
        || event.starts_with("page-faults")
        || event.starts_with("minor-faults")
        || event.starts_with("major-faults")
    {
        return Traced::PageFault;
    }
    if is_switch_counter(event) {
        return Traced::Switch(Leaving::Unsaid, None);
    }
    let word = event.split([':', '/']).next().unwrap_or(event);
    let clock = ["cpu-clock", "task-clock", "cycles", "cpu-cycles", "instructions", "ref-cycles"];
    if clock.contains(&word) || event.starts_with("cpu/") { Traced::Tick } else { Traced::Other }
}

/// Why a thread leaves, by the letter the kernel prints.
pub(crate) fn leaving(state: &str) -> Leaving {
    match state.bytes().next() {
        None | Some(b'R') => Leaving::Preempted,
        Some(b'X' | b'Z' | b'x') => Leaving::Exited,
        Some(_) => Leaving::Blocked,
    }
}

/// Why a thread leaves, by the kernel's number.
pub(crate) fn leaving_by_bits(state: u64) -> Leaving {
    const DEAD: u64 = 0x10 | 0x20;
    match state & 0xff {
        0 => Leaving::Preempted,
        bits if bits & DEAD != 0 => Leaving::Exited,
        _ => Leaving::Blocked,
    }
}

/// `prev_comm=jq … prev_state=S ==> next_comm=x next_pid=7 …`, or `jq:4801 [120] S ==> x:7 [120]`.
fn switch(fields: &str) -> Traced<'_> {
    let Some((from, to)) = fields.split_once("==>") else { return Traced::Other };
    let state = match from.rfind("prev_state=") {
        Some(at) => from.get(at + "prev_state=".len()..).unwrap_or("").trim(),
        None => from.split_whitespace().next_back().unwrap_or(""),
    };
    let next = field(to, "next_pid").or_else(|| compact_pid(to));
    Traced::Switch(leaving(state), next)
}

fn field(fields: &str, name: &str) -> Option<u64> {
    // Names of threads come first and may hold anything: the last such field is the real one.
    let at = fields.rmatch_indices(name).find(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| fields.as_bytes().get(at));
        fields.as_bytes().get(at + name.len()) == Some(&b'=')
            && before.is_none_or(|byte| *byte == b' ')
    })?;
    let value = fields.get(at.0 + name.len() + 1..)?;
    let digits = value.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// `name:7 [120] …`.
fn compact_pid(fields: &str) -> Option<u64> {
    let (front, _) = fields.split_once(" [")?;
    number(front.rsplit(':').next()?.trim().as_bytes())
}

/// Hands events to the sink.
pub(crate) struct Emitter<'s> {
    sink: &'s mut dyn EventSink,
    threads: HashMap<u64, ThreadId>,
    window: Window,
    /// What was noted beside the trace, and has not come up yet.
    delays: std::iter::Peekable<std::vec::IntoIter<RunDelay>>,
    code: CodeTable,
}

impl<'s> Emitter<'s> {
    /// For events that are in order but for a few: they are held for so long that what is late finds its place.
    pub(crate) fn sorting(sink: &'s mut dyn EventSink) -> Self {
        let (delays, code) = (Vec::new().into_iter().peekable(), CodeTable::default());
        Self { sink, threads: HashMap::new(), window: Window::default(), delays, code }
    }

    /// The same where addresses of frames are offsets in files that may be at hand.
    pub(crate) fn sorting_with_files(sink: &'s mut dyn EventSink) -> Self {
        Self { code: CodeTable::of_files(), ..Self::sorting(sink) }
    }

    /// For events that are in order, and what was noted of their threads meanwhile.
    pub(crate) fn in_order(sink: &'s mut dyn EventSink, delays: Vec<RunDelay>) -> Self {
        let (delays, code) = (delays.into_iter().peekable(), CodeTable::default());
        Self { sink, threads: HashMap::new(), window: Window::none(), delays, code }
    }

    /// The binary of a component is at hand; addresses of its frames are those it is linked for.
    pub(crate) fn add_binary(&mut self, component: StringId, names: &Rc<BinaryNames>) {
        self.code.add(component, names);
    }

    /// The next event of the trace, in the thread it happened in; `stack` is outermost first.
    pub(crate) fn event(
        &mut self,
        builder: &mut ProfileBuilder,
        (time, thread): (i64, ThreadId),
        traced: Traced<'_>,
        stack: &[FrameId],
    ) {
        self.delays_until(builder, time);
        if let Some(tid) = builder.known_thread(thread).and_then(|known| known.tid) {
            self.threads.insert(tid, thread);
        }
        let mut concerned = None;
        let kind = match traced {
            Traced::Enter(name) => EventKind::Enter(builder.string(name)),
            Traced::Exit(name) => EventKind::Exit(Some(builder.string(name))),
            Traced::Switch(leaving, next) => {
                let next = next.and_then(|tid| self.threads.get(&tid));
                concerned = next.map(|next| (*next, EventKind::SwitchIn));
                EventKind::SwitchOut(leaving)
            }
            Traced::SwitchIn => EventKind::SwitchIn,
            Traced::Wakeup(tid) => {
                let sleeper = self.threads.get(&tid);
                concerned = sleeper.map(|sleeper| (*sleeper, EventKind::Wakeup(Some(thread))));
                EventKind::Other
            }
            Traced::PageFault => EventKind::PageFault,
            Traced::Tick => EventKind::Tick,
            Traced::Other => EventKind::Other,
        };
        // Interrupts wake threads while nobody runs; that thread is nobody's.
        let nobody = builder.known_thread(thread).is_some_and(|known| known.tid == Some(0));
        if !nobody {
            self.hold(builder, StackEvent { time, thread, kind }, stack);
        }
        if let Some((thread, kind)) = concerned {
            self.hold(builder, StackEvent { time, thread, kind }, &[]);
        }
    }

    fn hold(&mut self, builder: &mut ProfileBuilder, event: StackEvent, stack: &[FrameId]) {
        if self.window.is_none() {
            return self.sink.event(builder, event, stack, &mut self.code);
        }
        self.window.push(event, stack);
        if let Some(Held { event, stack }) = self.window.pop_full() {
            self.sink.event(builder, event, &stack, &mut self.code);
        }
    }

    /// Hands on what was noted up to a time; a thread without events has nothing that it could be about.
    fn delays_until(&mut self, builder: &mut ProfileBuilder, time: i64) {
        while let Some(delay) = self.delays.next_if(|delay| delay.time <= time) {
            if let Some(thread) = self.threads.get(&delay.thread) {
                let (time, kind) = (delay.time, EventKind::Queued(delay.nanos));
                let event = StackEvent { time, thread: *thread, kind };
                self.sink.event(builder, event, &[], &mut self.code);
            }
        }
    }

    /// Events are missing here.
    pub(crate) fn lost(&mut self, builder: &mut ProfileBuilder, events: u64) {
        self.flush(builder);
        self.sink.lost(builder, events);
    }

    /// That was all.
    pub(crate) fn finish(mut self, builder: &mut ProfileBuilder) {
        self.flush(builder);
        self.delays_until(builder, i64::MAX);
        self.sink.finish(builder);
    }

    fn flush(&mut self, builder: &mut ProfileBuilder) {
        while let Some(Held { event, stack }) = self.window.pop() {
            self.sink.event(builder, event, &stack, &mut self.code);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_happened() {
        for (event, fields, expected) in [
            ("raw_syscalls:sys_enter", "NR 12 (0, 7fff73f2731c, 0)", Traced::Enter("brk")),
            ("raw_syscalls:sys_exit", "NR 59 = 0", Traced::Exit("execve")),
            ("raw_syscalls:sys_exit", "NR -1 = 0", Traced::Exit("unknown")),
            ("syscalls:sys_enter_openat", "dfd: 0x0000", Traced::Enter("openat")),
            (
                "sched:sched_switch",
                "prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=4799 next_prio=120",
                Traced::Switch(Leaving::Blocked, Some(4799)),
            ),
            (
                "sched:sched_switch",
                "jq:48 [120] R+ ==> x y:7 [120]",
                Traced::Switch(Leaving::Preempted, Some(7)),
            ),
            ("sched:sched_wakeup", "comm=pid=5 pid=77 prio=120 target_cpu=001", Traced::Wakeup(77)),
            ("sched:sched_waking", "my worker:78 [120] CPU:001", Traced::Wakeup(78)),
            ("cpu-clock:u", "", Traced::Tick),
            ("page-faults", "", Traced::PageFault),
            ("context-switches:u", "", Traced::Switch(Leaving::Unsaid, None)),
            ("cpu-clock/freq=997/", "", Traced::Tick),
            ("cpu/event=0x3c/u", "", Traced::Tick),
            ("block:block_rq_issue", "8,0 R", Traced::Other),
        ] {
            assert_eq!(from_text(event, fields, SyscallMachine::X86), expected, "{event} {fields}");
        }
        assert!(is_os_event("all-switches") && is_os_event("cs") && !is_os_event("cs-etm"));
        assert_eq!(leaving_by_bits(0x100), Leaving::Preempted);
        assert_eq!(leaving_by_bits(1), Leaving::Blocked);
        assert_eq!(leaving_by_bits(0x10), Leaving::Exited);
    }
}
