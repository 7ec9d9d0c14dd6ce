//! Events with stacks as the bpftrace script of `docs/os-events.bt` prints them: a line per event, then the kernel's
//! frames and the program's, innermost first.
//!
//! ```text
//! event 40327910578769 18744/18744 sys_enter 230 app
//!
//!         ffffffff81415af0 syscall_trace_enter+384
//!
//!         457a03 clock_nanosleep+35 (/bin/app)
//! ```
//!
//! Numbers are nanoseconds, process and thread; behind the event's name are its own numbers, and last the thread's name,
//! which may hold anything.

use perfblame_cct::{EventSink, Profile};

use crate::encodings::text::{self, number, trim};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions, TraceRead, Tracer};
use crate::input::Input;
use crate::os_trace::syscalls::{self, SyscallMachine};
use crate::os_trace::text_events::{
    FrameParts, Lines, Says, TextEvent, TextEvents, read_stack_events, read_stacks,
};
use crate::os_trace::{Traced, leaving_by_bits};

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "bpftrace events",
    producers: "bpftrace with the script docs/os-events.bt",
    sniff,
    read,
    tracer: Some(Tracer {
        read: Some(read_trace),
        cut_off: None,
        how_to_record_stacks: "print `kstack(perf)` and `ustack(perf)`, as docs/os-events.bt does",
    }),
};

const SNIFFED_LINES: usize = 400;

/// True for text with a line that begins an event.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    text::head_lines(input, &head).take(SNIFFED_LINES).any(|line| header(line).is_some())
}

/// Reads events as a profile: how often each stack was seen.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    read_stacks(input, options, &FORMAT, BpftraceEventReader::default())
}

/// Hands the events to `sink`.
pub(crate) fn read_trace(
    input: Input,
    options: &ReadOptions,
    sink: &mut dyn EventSink,
) -> Result<TraceRead, ReadError> {
    read_stack_events(input, options, sink, &FORMAT, BpftraceEventReader::default())
}

struct BpftraceHeader<'a> {
    time: i64,
    pid: u64,
    tid: u64,
    says: Says,
    call: &'static str,
    comm: &'a [u8],
}

fn header(line: &[u8]) -> Option<BpftraceHeader<'_>> {
    let mut rest = line.strip_prefix(b"event ")?;
    let mut word = || {
        let end = memchr::memchr(b' ', rest).unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end)?;
        rest = after.strip_prefix(b" ").unwrap_or(after);
        Some(word)
    };
    let time = i64::try_from(number(word()?)?).ok()?;
    let ids = word()?;
    let slash = memchr::memchr(b'/', ids)?;
    let (pid, tid) = (number(ids.get(..slash)?)?, number(ids.get(slash + 1..)?)?);
    let mut call = "";
    let says = match word()? {
        name @ (b"sys_enter" | b"sys_exit") => {
            // The number of a system call can be −1.
            let call_number = number(word()?);
            call = call_number
                .and_then(|number| syscalls::name(SyscallMachine::default(), number))
                .unwrap_or("unknown");
            if name == b"sys_enter" { Says::Enter } else { Says::Exit }
        }
        b"sched_switch" => {
            let state = number(word()?)?;
            Says::Plain(Traced::Switch(leaving_by_bits(state), Some(number(word()?)?)))
        }
        b"sched_wakeup" => Says::Plain(Traced::Wakeup(number(word()?)?)),
        b"page_fault" => Says::Plain(Traced::PageFault),
        b"tick" => Says::Plain(Traced::Tick),
        name if !name.is_empty() => Says::Plain(Traced::Other),
        _ => return None,
    };
    Some(BpftraceHeader { time, pid, tid, says, call, comm: trim(rest) })
}

/// `Lost 12 events`, as bpftrace writes it between lines.
fn lost(line: &[u8]) -> Option<u64> {
    let at = memchr::memmem::find(line, b"Lost ")?;
    number(line.get(at + 5..)?.strip_suffix(b" events")?)
}

#[derive(Default)]
struct BpftraceEventReader {
    open: Option<TextEvent>,
}

impl Lines for BpftraceEventReader {
    fn line(&mut self, events: &mut TextEvents<'_>, line: &[u8]) {
        if let Some(header) = header(line) {
            self.end(events);
            let BpftraceHeader { time, pid, tid, says, call, comm } = header;
            self.open = Some(events.begin(time, (Some(pid), Some(tid)), comm, says, call));
            return;
        }
        let text = trim(line);
        if text.is_empty() || text.starts_with(b"Attach") {
            return;
        }
        if let Some(lost) = lost(text) {
            self.end(events);
            return events.lost(lost);
        }
        match &mut self.open {
            Some(event) if matches!(line.first(), Some(b' ' | b'\t')) => {
                events.frame(event, text, frame);
            }
            _ => events.damaged(text),
        }
    }

    fn end(&mut self, events: &mut TextEvents<'_>) {
        if let Some(event) = self.open.take() {
            events.end(event);
        }
    }
}

/// `ffffffff81415af0 syscall_trace_enter+384`, `457a03 nap+35 (/bin/app)`, or without the address.
fn frame(text: &str) -> FrameParts {
    let (address, rest) = match text.split_once(' ') {
        Some((hex, rest)) if !hex.is_empty() && u64::from_str_radix(hex, 16).is_ok() => {
            (u64::from_str_radix(hex, 16).ok(), rest)
        }
        _ => (None, text),
    };
    let (symbol, object) = match rest.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
        Some((symbol, object)) => (symbol, Some(object)),
        None => (rest, None),
    };
    let written = symbol.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let address = address.or(written);
    let symbol = match symbol.rsplit_once('+') {
        _ if written.is_some() => "",
        Some((name, offset)) if offset.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => symbol,
    };
    let kernel = address.is_some_and(|address| address >> 63 == 1) && object.is_none();
    let object = object.filter(|object| *object != "[unknown]").map(str::to_owned);
    FrameParts { object, symbol: symbol.to_owned(), address, in_object: false, kernel }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_fixtures::draw;

    #[test]
    fn events_have_the_kernels_stack_in_the_programs() {
        let text = b"Attaching 3 probes...
event 1000 7/8 sys_enter 230 my app 2

\tffffffff81415af0 syscall_trace_enter+384
\tffffffff81000130 entry_SYSCALL_64_after_hwframe+118

\t457a03 nap+35 (/bin/app)
\t4015a0 0x4015a0 ([unknown])

Lost 3 events
event 2000 7/8 sched_switch 1 0 my app 2
\tffffffff81415af0 schedule+384
hello
event 3000 7/8 sys_exit -1 x
";
        let input = || Input::from_bytes(text.to_vec()).unwrap();
        assert!(sniff(&input()));
        let profile = read(input(), &ReadOptions::default()).unwrap();
        assert_eq!(
            draw(&profile),
            "[unknown] 1 0\n  nap 1 0\n    entry_SYSCALL_64_after_hwframe 1 0\n      syscall_trace_enter 1 1\nschedule 1 1\n"
        );
        let warned: Vec<_> =
            profile.warnings.iter().map(|warning| (&*warning.code, warning.count)).collect();
        assert_eq!(warned, [("lost-samples", 3), ("damaged-lines", 1)]);
        assert_eq!(profile.symbols.text(profile.threads[0].name), "x");
    }
}
