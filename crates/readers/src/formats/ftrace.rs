//! The kernel's own tracer as text: `trace` and `trace_pipe` of tracefs, and what `trace-cmd report` makes of a
//! `trace.dat`. A line per event; its stacks are events of their own right behind it.
//!
//! ```text
//!   app-13157   [001] d..2. 40037.868034: sched_switch: prev_comm=app …
//!   app-13157   [001] d..2. 40037.868039: <stack trace>
//!  => __schedule
//!  => schedule
//!   app-13157   [001] d..2. 40037.868039: <user stack trace>
//!  => /usr/bin/app[+0x56a03]
//! ```
//!
//! Lines of all processors are mixed by time, so an event stays open until its processor has another one.

use std::collections::BTreeMap;

use perfblame_cct::{EventSink, Profile};

use crate::encodings::text::seconds;
use crate::encodings::text::{self, number, shown, trim};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions, TraceRead, Tracer};
use crate::input::Input;
use crate::os_trace::syscalls::SyscallMachine;
use crate::os_trace::text_events::{
    FrameParts, Lines, Says, TextEvent, TextEvents, read_stack_events, read_stacks,
};
use crate::os_trace::{Traced, from_text};

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "ftrace",
    producers: "Linux ftrace: trace, trace_pipe, trace-cmd report; with stack traces",
    sniff,
    read,
    tracer: Some(Tracer {
        read: Some(read_trace),
        cut_off: None,
        how_to_record_stacks: "record stacks: `echo 1 > options/stacktrace` and `echo 1 > options/userstacktrace` in /sys/kernel/tracing, or use `trace-cmd record -T -O userstacktrace` or `perfblame record os`",
    }),
};

const SNIFFED_LINES: usize = 400;

/// True for text whose first line, but for comments and stacks, is an event.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    let mut lines = text::head_lines(input, &head).take(SNIFFED_LINES);
    lines.find(|line| !is_comment(line) && lost(line).is_none()).is_some_and(|line| {
        header(line).is_some_and(|header| !matches!(header.body(), FtraceBody::Nothing))
    })
}

/// Reads events as a profile: how often each stack was seen.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    read_stacks(input, options, &FORMAT, FtraceReader::default())
}

/// Hands the events to `sink`.
pub(crate) fn read_trace(
    input: Input,
    options: &ReadOptions,
    sink: &mut dyn EventSink,
) -> Result<TraceRead, ReadError> {
    read_stack_events(input, options, sink, &FORMAT, FtraceReader::default())
}

fn is_comment(line: &[u8]) -> bool {
    let text = trim(line);
    text.is_empty() || text.starts_with(b"#") || text.starts_with(b"cpus=")
}

/// `CPU:1 [LOST 131 EVENTS]`, `CPU:1 [131 EVENTS DROPPED]`, or the head's `entries-in-buffer/entries-written: 70/201`.
fn lost(line: &[u8]) -> Option<u64> {
    if line.starts_with(b"# entries-in-buffer/entries-written: ") {
        let word = line
            .split(|byte| *byte == b' ')
            .find(|word| word.first().is_some_and(u8::is_ascii_digit))?;
        let slash = memchr::memchr(b'/', word)?;
        let (kept, written) = (number(word.get(..slash)?)?, number(word.get(slash + 1..)?)?);
        return written.checked_sub(kept).filter(|lost| *lost > 0);
    }
    let inner = line.strip_prefix(b"CPU:")?.strip_suffix(b"]")?;
    let inner = inner.get(memchr::memchr(b'[', inner)? + 1..)?;
    let known = inner.starts_with(b"LOST ") || inner.ends_with(b"EVENTS DROPPED");
    let count = inner.split(|byte| *byte == b' ').find_map(number);
    known.then_some(count.unwrap_or(1))
}

#[derive(Debug, PartialEq, Eq)]
struct FtraceHeader<'a> {
    comm: &'a [u8],
    tgid: Option<u64>,
    tid: u64,
    cpu: u64,
    time: i64,
    rest: &'a [u8],
}

/// What an event's line says behind the time.
enum FtraceBody<'a> {
    /// The kernel's stack, or the program's; the latter may begin on this line.
    Stack(Option<&'a [u8]>),
    Event(&'a [u8], &'a [u8]),
    Nothing,
}

fn header(line: &[u8]) -> Option<FtraceHeader<'_>> {
    // A thread's name may hold anything, so the first bracket need not be the processor's.
    memchr::memmem::find_iter(line, b" [").take(4).find_map(|at| {
        let inner = line.get(at + 2..)?;
        let close = memchr::memchr(b']', inner)?;
        let cpu = number(inner.get(..close)?)?;
        let mut rest = inner.get(close + 1..)?.trim_ascii_start();
        // Flags, where they are printed.
        let mut end = memchr::memchr(b' ', rest)?;
        if !rest.get(..end)?.ends_with(b":") {
            rest = rest.get(end..)?.trim_ascii_start();
            end = memchr::memchr(b' ', rest)?;
        }
        let time = seconds(rest.get(..end)?.strip_suffix(b":")?)?;
        let mut who = trim(line.get(..at)?);
        let mut tgid = None;
        if let Some(inner) = who.strip_suffix(b")") {
            let open = memchr::memrchr(b'(', inner)?;
            tgid = number(trim(inner.get(open + 1..)?));
            who = trim(inner.get(..open)?);
        }
        let dash = memchr::memrchr(b'-', who)?;
        let tid = number(who.get(dash + 1..)?)?;
        let mut comm = who.get(..dash)?;
        // Of a buffer other than the first, `trace-cmd report` writes the name first.
        if let Some(name) = memchr::memmem::find(comm, b":  ")
            && !line.starts_with(b" ")
        {
            comm = trim(comm.get(name + 1..)?);
        }
        Some(FtraceHeader { comm, tgid, tid, cpu, time, rest: trim(rest.get(end..)?) })
    })
}

impl<'a> FtraceHeader<'a> {
    fn body(&self) -> FtraceBody<'a> {
        if self.rest.starts_with(b"<stack trace") || self.rest.starts_with(b"kernel_stack:") {
            return FtraceBody::Stack(None);
        }
        if self.rest.starts_with(b"<user stack trace") {
            return FtraceBody::Stack(Some(&[]));
        }
        if let Some(first) = self.rest.strip_prefix(b"user_stack:") {
            return FtraceBody::Stack(Some(trim(first)));
        }
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let end = self.rest.iter().position(|byte| !is_word(byte)).unwrap_or(self.rest.len());
        match self.rest.split_at_checked(end) {
            Some((name, fields)) if !name.is_empty() && !fields.is_empty() => {
                FtraceBody::Event(name, fields)
            }
            _ => FtraceBody::Nothing,
        }
    }
}

/// What an event means, and the name of its system call.
fn says(name: &[u8], fields: &[u8]) -> (Says, String) {
    let (name, fields) = (shown(name), shown(fields));
    if let Some(call) = name.strip_prefix("sys_")
        && !fields.starts_with(':')
    {
        // `sys_openat(dfd: …)` and `sys_openat -> 0x3`.
        let says = if fields.trim_start().starts_with("->") { Says::Exit } else { Says::Enter };
        return (says, call.to_owned());
    }
    let system = match &*name {
        "sys_enter" | "sys_exit" => "raw_syscalls",
        name if name.starts_with("sys_") => "syscalls",
        name if name.starts_with("sched_") => "sched",
        name if name.starts_with("page_fault_") => "exceptions",
        _ => return (Says::Plain(Traced::Other), String::new()),
    };
    let event = format!("{system}:{name}");
    let fields = fields.strip_prefix(':').unwrap_or(&fields);
    match from_text(&event, fields, SyscallMachine::default()) {
        Traced::Enter(call) => (Says::Enter, call.to_owned()),
        Traced::Exit(call) => (Says::Exit, call.to_owned()),
        Traced::Switch(leaving, next) => {
            (Says::Plain(Traced::Switch(leaving, next)), String::new())
        }
        Traced::Wakeup(tid) => (Says::Plain(Traced::Wakeup(tid)), String::new()),
        Traced::PageFault => (Says::Plain(Traced::PageFault), String::new()),
        _ => (Says::Plain(Traced::Other), String::new()),
    }
}

#[derive(Default)]
struct FtraceReader {
    /// By processor.
    open: BTreeMap<u64, TextEvent>,
    /// Whose stack the next frames are, and whether they are the kernel's.
    current: Option<(u64, bool)>,
}

impl FtraceReader {
    fn frame(&mut self, events: &mut TextEvents<'_>, text: &[u8]) {
        let Some((cpu, kernel)) = self.current else { return };
        let Some(event) = self.open.get_mut(&cpu) else { return };
        // `trace-cmd report` fills stacks up.
        if text == b"0x0" || text.is_empty() {
            return;
        }
        if kernel {
            return events.frame(event, text, kernel_frame);
        }
        if text.starts_with(b"<") || text.starts_with(b"0x") || text.starts_with(b"??") {
            events.builder.warn("frames-without-object", || {
                "frames of the program are only addresses; for names of objects, use `echo 1 > options/sym-userobj` and read `trace_pipe` while the program runs"
                    .to_owned()
            });
        }
        events.frame(event, text, user_frame);
    }
}

impl Lines for FtraceReader {
    fn line(&mut self, events: &mut TextEvents<'_>, line: &[u8]) {
        let text = trim(line);
        if let Some(frame) = text.strip_prefix(b"=>") {
            return self.frame(events, trim(frame));
        }
        if let Some(lost) = lost(line) {
            self.end(events);
            return events.lost(lost);
        }
        if is_comment(line) {
            return;
        }
        let Some(header) = header(line) else {
            self.current = None;
            return events.damaged(text);
        };
        let FtraceHeader { comm, tgid, tid, cpu, time, .. } = header;
        match header.body() {
            FtraceBody::Stack(user) => {
                let owner = self.open.get(&cpu).filter(|event| event.tid == Some(tid));
                self.current = owner.map(|_| (cpu, user.is_none()));
                if owner.is_none() {
                    events.builder.warn("stacks-without-event", || {
                        "stacks without an event in the text were left out".to_owned()
                    });
                }
                let first = user.and_then(|first| first.strip_prefix(b"=>"));
                if let Some(first) = first {
                    self.frame(events, trim(first));
                }
            }
            FtraceBody::Event(name, fields) => {
                let (says, call) = says(name, fields);
                let event = events.begin(time, (tgid, Some(tid)), comm, says, &call);
                if let Some(whole) = self.open.insert(cpu, event) {
                    events.end(whole);
                }
                self.current = None;
            }
            FtraceBody::Nothing => {
                self.current = None;
                events.damaged(text);
            }
        }
    }

    fn end(&mut self, events: &mut TextEvents<'_>) {
        self.current = None;
        for event in std::mem::take(&mut self.open).into_values() {
            events.end(event);
        }
    }
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// `schedule`, `schedule+0x23/0x90`, `schedule (ffffffff821f8703)`, `ext4_sync [ext4]`.
fn kernel_frame(text: &str) -> FrameParts {
    let bracket = text.find(['(', '<']);
    let address = bracket.and_then(|at| hex(text.get(at + 1..)?.trim_end_matches([')', '>'])));
    let front = bracket.and_then(|at| text.get(..at)).unwrap_or(text).trim();
    let (front, object) = match front.split_once(" [") {
        Some((front, module)) => (front, Some(format!("[{module}"))),
        None => (front, None),
    };
    let symbol = front.split_once("+0x").map_or(front, |(name, _)| name);
    FrameParts { object, symbol: symbol.to_owned(), address, in_object: false, kernel: true }
}

/// `/usr/bin/app[+0x56a03]`, `<00007f8139620350>`, `0x457a03` or `??`.
fn user_frame(text: &str) -> FrameParts {
    let named = text.split_once("[+0x").and_then(|(object, rest)| {
        let offset = hex(rest.split(']').next()?)?;
        Some((object, offset))
    });
    match named {
        Some((object, offset)) => FrameParts {
            object: Some(object.to_owned()),
            address: Some(offset),
            in_object: true,
            ..FrameParts::default()
        },
        None => FrameParts { address: hex(text.trim_matches(['<', '>'])), ..FrameParts::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_fixtures::draw;

    fn input(text: &str) -> Input {
        Input::from_bytes(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn lines_of_all_shapes_have_their_parts() {
        for (line, comm, tgid, tid, cpu, time) in [
            ("   app-7   [001] d..2. 4.5: sys_exit: NR 1 = 2", "app", None, 7, 1, 4_500_000_000),
            (
                "  my app [2]-x-8 (    7) [000] 4.5: sys_read(fd: 1)",
                "my app [2]-x",
                Some(7),
                8,
                0,
                4_500_000_000,
            ),
            (
                "second:    <...>-9 [003] 1.000001: sys_enter_read: fd: 1",
                "<...>",
                None,
                9,
                3,
                1_000_001_000,
            ),
        ] {
            let found = header(line.as_bytes()).unwrap();
            assert_eq!(
                (&*shown(found.comm), found.tgid, found.tid, found.cpu, found.time),
                (comm, tgid, tid, cpu, time)
            );
        }
        for line in ["", "app-7 [x] 4.5: a: b", "app [001] 4.5: a: b", "app-7 [001]", "a [1] 2"] {
            assert_eq!(header(line.as_bytes()), None, "{line}");
        }
        for (body, expected) in [
            (("sys_enter", ": NR 0 (1)"), (Says::Enter, "read")),
            (("sys_openat", "(dfd: 3)"), (Says::Enter, "openat")),
            (("sys_openat", " -> 0x3"), (Says::Exit, "openat")),
            (("sys_exit_openat", ":   0x3"), (Says::Exit, "openat")),
            (("sched_wakeup", ": comm=a pid=9 prio=1"), (Says::Plain(Traced::Wakeup(9)), "")),
            (("kmalloc", ": x"), (Says::Plain(Traced::Other), "")),
        ] {
            let (says, call) = says(body.0.as_bytes(), body.1.as_bytes());
            assert_eq!((says, &*call), expected);
        }
    }

    #[test]
    fn stacks_find_their_event_when_processors_take_turns() {
        let text = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 7/9   #P:2\n\
            a-1 [000] ..... 1.000001: sys_enter: NR 0 (3)\n\
            b-2 [001] ..... 1.000002: sys_enter: NR 1 (3)\n\
            a-1 [000] ..... 1.000003: <stack trace>\n => do_syscall_64\n\
            b-2 [001] ..... 1.000003: <user stack trace>\n => /bin/b[+0x20]\n =>  <0000000000000bad>\n\
            a-1 [000] ..... 1.000003: <user stack trace>\n => /bin/a[+0x10]\n\
            CPU:1 [LOST 5 EVENTS]\n\
            b-2 [001] ..... 1.000004: <stack trace>\n => nobody\n\
            rubbish\n";
        assert!(sniff(&input(text)));
        let profile = read(input(text), &ReadOptions::default()).unwrap();
        assert_eq!(
            draw(&profile),
            "[a+0x10] 1 0\n  do_syscall_64 1 1\n[unknown] 1 0\n  [b+0x20] 1 1\n"
        );
        let warned: Vec<_> =
            profile.warnings.iter().map(|warning| (&*warning.code, warning.count)).collect();
        assert_eq!(
            warned,
            [
                ("lost-samples", 7),
                ("frames-without-object", 1),
                ("stacks-without-event", 1),
                ("damaged-lines", 1)
            ]
        );
    }

    #[test]
    fn events_without_stacks_say_how_to_get_them() {
        let text = "a-1 [000] ..... 1.000001: sys_enter: NR 0 (3)\n";
        let error = read(input(text), &ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "its events have no stacks");
        assert!(error.help.unwrap().contains("options/userstacktrace"));
    }
}
