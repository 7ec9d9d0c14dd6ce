//! The text of `perf trace`: a line per system call with its time, what it took and its result, other events between
//! them, and with `--call-graph` the frames below each, innermost first.
//!
//! ```text
//!      0.913 ( 0.018 ms): app/31846 read(fd: 3, buf: 0x4a72e0, count: 4096)      = 4096
//!                                        __libc_read (/usr/bin/app)
//!                                        main (/usr/bin/app)
//! ```
//!
//! A call that another event interrupts has two lines, both with the time it began at.

use std::collections::BTreeSet;

use perfblame_cct::{EventSink, Profile};

use crate::encodings::text::seconds;
use crate::encodings::text::{self, number, shown, trim};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions, TraceRead, Tracer};
use crate::input::Input;
use crate::os_trace::syscalls::SyscallMachine;
use crate::os_trace::text_events::{FrameParts, Lines, Says, TextEvent, TextEvents, read_lines};
use crate::os_trace::{Traced, from_text, leaving, leaving_by_bits};

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "perf trace",
    producers: "Linux perf: perf trace --call-graph",
    sniff,
    read,
    tracer: Some(Tracer {
        read: Some(read_trace),
        cut_off: None,
        how_to_record_stacks: "record stacks: `perf trace --call-graph dwarf -o LOG COMMAND`",
    }),
};

const SNIFFED_LINES: usize = 200;

/// Frames are indented to where calls are, beyond any time.
const INDENT: &[u8] = b"                    ";

/// True for text whose first lines are calls and their frames.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    let (mut calls, mut other) = (0, 0);
    for line in text::head_lines(input, &head).take(SNIFFED_LINES) {
        match header(line) {
            Some(_) => calls += 1,
            None if line.starts_with(INDENT) || trim(line).is_empty() || lost(line).is_some() => {}
            None => other += 1,
        }
    }
    calls > 0 && calls > other * 4
}

/// Reads calls as a profile.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    Ok(read_lines(input, options, None, PerfTraceReader::default())?.0)
}

/// Hands the calls to `sink`, if they have stacks; else it is a profile.
pub(crate) fn read_trace(
    input: Input,
    options: &ReadOptions,
    sink: &mut dyn EventSink,
) -> Result<TraceRead, ReadError> {
    let head = text::head(&input);
    let stacks = text::head_lines(&input, &head).any(|line| line.starts_with(INDENT));
    drop(head);
    if !stacks {
        return Ok(TraceRead::Profile(Box::new(read(input, options)?)));
    }
    let (profile, placement, _) =
        read_lines(input, options, Some(sink), PerfTraceReader::default())?;
    Ok(TraceRead::Trace(Box::new(profile), placement))
}

/// `LOST 12 events!`.
fn lost(line: &[u8]) -> Option<u64> {
    number(trim(line).strip_prefix(b"LOST ")?.strip_suffix(b" events!")?)
}

#[derive(Debug, PartialEq, Eq)]
struct PerfTraceHeader<'a> {
    /// Nanoseconds; none for a call that began before the trace.
    time: Option<i64>,
    took: Option<i64>,
    comm: &'a [u8],
    tid: Option<u64>,
    /// Of a call or an event.
    name: &'a [u8],
    /// Behind the opening parenthesis.
    fields: &'a [u8],
    /// Has come to its end.
    done: bool,
}

/// `0.913` milliseconds in nanoseconds.
fn milliseconds(text: &[u8]) -> Option<i64> {
    Some(seconds(text)? / 1000)
}

fn header(line: &[u8]) -> Option<PerfTraceHeader<'_>> {
    let text = trim(line);
    let end = memchr::memchr(b' ', text)?;
    let word = text.get(..end)?;
    let time = if word == b"?" { None } else { Some(milliseconds(word)?) };
    let mut rest = text.get(end..)?.trim_ascii_start();
    let mut took = None;
    let timed = rest.first() == Some(&b'(');
    if timed {
        let close = memchr::memmem::find(rest, b"):")?;
        let inner = trim(rest.get(1..close)?);
        if !inner.is_empty() {
            // Where perf met events out of order, this is a negative number without its sign.
            took = milliseconds(trim(inner.strip_suffix(b"ms")?));
        }
        rest = rest.get(close + 2..)?.trim_ascii_start();
    }
    // A thread's name may hold blanks and slashes; its number is followed by something that is called.
    let threaded = memchr::memchr_iter(b'/', rest).take(20).find_map(|slash| {
        let after = rest.get(slash + 1..)?;
        let end = memchr::memchr(b' ', after)?;
        let tid = number(after.get(..end)?)?;
        let (name, fields, continued) = called(after.get(end..)?)?;
        Some((rest.get(..slash)?, Some(tid), name, fields, continued))
    });
    let (comm, tid, name, fields, continued) = match threaded {
        Some(parts) => parts,
        None if timed => {
            let (name, fields, continued) = called(rest)?;
            (&[][..], None, name, fields, continued)
        }
        None => return None,
    };
    let event = name.contains(&b':');
    if !timed && !event {
        return None;
    }
    let done = event || continued || !fields.ends_with(b"...");
    Some(PerfTraceHeader { time, took, comm, tid, name, fields, done })
}

/// `read(fd: 3…` or `... [continued]: read())…`: name, what is behind the parenthesis, and whether it is the second half.
fn called(text: &[u8]) -> Option<(&[u8], &[u8], bool)> {
    let text = trim(text);
    let second = text.strip_prefix(b"... [continued]: ");
    let text = second.unwrap_or(text);
    let open = memchr::memchr(b'(', text)?;
    let name = text.get(..open)?;
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(*byte, b'_' | b':' | b'-');
    let good = name.first().is_some_and(u8::is_ascii_alphabetic) && name.iter().all(word);
    good.then(|| Some((name, text.get(open + 1..)?, second.is_some())))?
}

/// What a traced event means, and the name of its system call: `sched:sched_switch(prev_comm: "a", …)`.
fn event_says(name: &str, fields: &str) -> (Says, String) {
    let field = |name: &str| {
        let at = fields.rfind(name)? + name.len();
        fields.get(at..)?.split([',', ' ', ')']).next()
    };
    let tid = |name: &str| field(name).and_then(|value| number(value.as_bytes()));
    let traced = match name {
        "sched:sched_switch" => {
            let state = field("prev_state: ").unwrap_or("");
            let left = match number(state.as_bytes()) {
                Some(bits) => leaving_by_bits(bits),
                None => leaving(state),
            };
            Traced::Switch(left, tid("next_pid: "))
        }
        "sched:sched_wakeup" | "sched:sched_waking" | "sched:sched_wakeup_new" => {
            tid(", pid: ").map_or(Traced::Other, Traced::Wakeup)
        }
        _ => match from_text(name, "", SyscallMachine::default()) {
            Traced::Enter(call) => return (Says::Enter, call.to_owned()),
            Traced::Exit(call) => return (Says::Exit, call.to_owned()),
            Traced::PageFault => Traced::PageFault,
            Traced::Tick => Traced::Tick,
            _ => Traced::Other,
        },
    };
    (Says::Plain(traced), String::new())
}

#[derive(Default)]
struct PerfTraceReader {
    open: Option<TextEvent>,
    /// Threads whose call has only its first half so far.
    unfinished: BTreeSet<Option<u64>>,
}

impl PerfTraceReader {
    fn close(&mut self, events: &mut TextEvents<'_>) {
        if let Some(event) = self.open.take() {
            events.end(event);
        }
    }
}

impl Lines for PerfTraceReader {
    fn line(&mut self, events: &mut TextEvents<'_>, line: &[u8]) {
        let text = trim(line);
        if text.is_empty() {
            return;
        }
        if let Some(header) = header(line) {
            self.close(events);
            let PerfTraceHeader { time, took, comm, tid, name, fields, done } = header;
            if !done {
                // The second half has all of this, and the stack.
                self.unfinished.insert(tid);
                return;
            }
            let name = shown(name);
            let (says, call) = if name.contains(':') {
                event_says(&name, &shown(fields))
            } else {
                self.unfinished.remove(&tid);
                // A call that never returns has none, and `?` for its result.
                if took.is_none() && time.is_some() && !fields.ends_with(b"= ?") {
                    events.builder.warn("calls-without-duration", || {
                        "calls have an impossible duration; their end is unknown".to_owned()
                    });
                }
                (Says::Call(took), name.into_owned())
            };
            match time {
                Some(time) => {
                    self.open = Some(events.begin(time, (None, tid), comm, says, &call));
                }
                None => events.builder.warn("events-without-time", || {
                    "calls that began before the trace were left out".to_owned()
                }),
            }
            return;
        }
        if line.starts_with(INDENT) {
            if let Some(event) = &mut self.open {
                events.frame(event, text, frame);
            }
            return;
        }
        self.close(events);
        match lost(line) {
            Some(lost) => events.lost(lost),
            None => events.damaged(text),
        }
    }

    fn end(&mut self, events: &mut TextEvents<'_>) {
        self.close(events);
        if !self.unfinished.is_empty() {
            events.builder.warn_many("unfinished-calls", self.unfinished.len() as u64, || {
                "calls without an end in the text were left out".to_owned()
            });
        }
    }
}

/// `main (/usr/bin/app)`, or `[0x1234] (/usr/bin/app)` where there is no name.
fn frame(text: &str) -> FrameParts {
    let (symbol, object) = match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
        Some((symbol, object)) => (symbol.trim(), Some(object)),
        None => (text, None),
    };
    let address = symbol.strip_prefix('[').and_then(|inner| {
        u64::from_str_radix(inner.strip_suffix(']')?.trim_start_matches("0x"), 16).ok()
    });
    let symbol = if address.is_some() { "" } else { symbol };
    let symbol = symbol.split_once("+0x").map_or(symbol, |(name, _)| name);
    let object = object.filter(|object| !matches!(*object, "[unknown]" | "inlined"));
    FrameParts {
        object: object.map(str::to_owned),
        symbol: symbol.to_owned(),
        address: address.filter(|address| *address != 0),
        in_object: true,
        kernel: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_cct::Leaving;
    use perfblame_fixtures::draw;

    #[test]
    fn calls_in_two_halves_count_once_with_their_stack() {
        let text = "         ? (         ): app/7  ... [continued]: execve())      = 0
                                       _start (/bin/app)
     0.320 ( 0.040 ms): my app/x/7 brk(brk: 0x2123ad00)                 = 0x2123ad00
                                       [0x4010] (/bin/app)
                                       [0] ([unknown])
     0.853 (         ): my app/x/7 clock_nanosleep(rqtp: 0x7ffef5614c80)                     ...
     0.877 (         ): my app/x/7 sched:sched_switch(prev_comm: \"my app\", prev_pid: 7 (my app), prev_state: 1, next_comm: \"b\", next_pid: 9 (b), next_prio: 120)
                                       schedule ([kernel.kallsyms])
                                       main (/bin/app)
LOST 4 events!
     0.853 (27.477 ms): my app/x/7  ... [continued]: clock_nanosleep())                = 0
                                       nap (/bin/app)
                                       main (/bin/app)
     9.000 (         ): my app/x/7 read(fd: 3)                     ...
";
        let input = || Input::from_bytes(text.as_bytes().to_vec()).unwrap();
        assert!(sniff(&input()));
        let profile = read(input(), &ReadOptions::default()).unwrap();
        let wall = draw(&profile);
        assert!(wall.contains("nap 27477000 0\n    clock_nanosleep 27477000 27477000"), "{wall}");
        assert!(wall.contains("[app+0x4010] 40000 0\n    brk 40000 40000"), "{wall}");
        let warned: Vec<_> =
            profile.warnings.iter().map(|warning| (&*warning.code, warning.count)).collect();
        assert_eq!(
            warned,
            [("events-without-time", 1), ("lost-samples", 4), ("unfinished-calls", 1)]
        );
    }

    #[test]
    fn events_between_calls_mean_something() {
        let switch = "prev_comm: \"a\", prev_state: 2, next_comm: \"b\", next_pid: 9 (b))";
        for (name, fields, expected) in [
            (
                "sched:sched_switch",
                switch,
                (Says::Plain(Traced::Switch(Leaving::Blocked, Some(9))), ""),
            ),
            (
                "sched:sched_waking",
                "comm: \"a\", pid: 5 (a), prio: 1)",
                (Says::Plain(Traced::Wakeup(5)), ""),
            ),
            ("syscalls:sys_enter_read", "fd: 3)", (Says::Enter, "read")),
            ("block:rq", "", (Says::Plain(Traced::Other), "")),
        ] {
            let (says, call) = event_says(name, fields);
            assert_eq!((says, &*call), expected);
        }
        for line in ["", "0.3 x", "0.320 ( 0.04", "main;f 12", "12 (a): b/7 c()", "0.1 a/7 read()"]
        {
            assert_eq!(header(line.as_bytes()), None, "{line}");
        }
    }
}
