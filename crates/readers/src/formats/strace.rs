//! strace's log: a line per system call, with its duration where `-T` asked for it and its stack where `-k` did.
//!
//! System calls are leaves: the tree has one node per call and what `-k` prints above it.

use hashbrown::HashMap;
use perfblame_cct::{
    EventSink, FrameId, Function, Layer, Metric, MetricId, Placement, Profile, ProfileBuilder,
    Thread, ThreadId, Unit,
};

use crate::building::byte_memo::ByteMemo;
use crate::building::module_frame::module_frame;
use crate::encodings::text::seconds;
use crate::encodings::text::{self, Blocks, excerpt, number, shown, trim};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions, TraceRead, Tracer};
use crate::input::Input;
use crate::os_trace::{Emitter, Traced};

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "strace",
    producers: "strace -T, with -r, -f, -k",
    sniff,
    read,
    tracer: Some(Tracer {
        read: Some(read_trace),
        cut_off: None,
        how_to_record_stacks: "record stacks and times: `strace -f -ttt -T -k -o LOG COMMAND`",
    }),
};

const SNIFFED_LINES: usize = 50;

/// True for text whose first lines are system calls with a result.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    let (mut calls, mut other) = (0, 0);
    for line in text::head_lines(input, &head).take(SNIFFED_LINES) {
        match parse(line) {
            Some(line) if line.done && !line.name.is_empty() => calls += 1,
            Some(_) => {}
            None if is_notice(line) || is_stack(line) || trim(line).is_empty() => {}
            None => other += 1,
        }
    }
    calls > 0 && calls > other * 4
}

/// A line of the log.
#[derive(Debug, PartialEq, Eq)]
struct StraceLine<'a> {
    pid: Option<u64>,
    /// Nanoseconds, since the call before or since some day.
    time: Option<i64>,
    name: &'a [u8],
    /// The call has returned.
    done: bool,
    /// `<... read resumed>`: began on an earlier line.
    resumed: bool,
    duration: Option<i64>,
}

fn parse(line: &[u8]) -> Option<StraceLine<'_>> {
    let mut rest = trim(line);
    let mut pid = None;
    if let Some(after) = rest.strip_prefix(b"[pid") {
        let end = memchr::memchr(b']', after)?;
        pid = number(trim(after.get(..end)?));
        rest = trim(after.get(end + 1..)?);
    }
    let mut time = None;
    // A process id without a point, then a time with one.
    for _ in 0..2 {
        let end = memchr::memchr(b' ', rest)?;
        let word = rest.get(..end)?;
        if let Some(found) = clock(word) {
            time = Some(found);
        } else if let Some(id) = number(word)
            && pid.is_none()
            && time.is_none()
        {
            pid = Some(id);
        } else {
            break;
        }
        rest = trim(rest.get(end..)?);
    }
    let resumed = rest.strip_prefix(b"<... ");
    let name = match resumed {
        Some(after) => after.get(..memchr::memchr(b' ', after)?)?,
        None => rest.get(..memchr::memchr(b'(', rest)?)?,
    };
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if name.is_empty() || !name.iter().all(word) || name.first()?.is_ascii_digit() {
        return None;
    }
    let done = memchr::memmem::rfind(rest, b") = ").or_else(|| {
        // Results are aligned: `close(3)                  = 0`.
        memchr::memmem::rfind(rest, b" = ")
            .filter(|at| trim(rest.get(..*at).unwrap_or(&[])).ends_with(b")"))
    });
    let open = rest.ends_with(b"<unfinished ...>") || rest.ends_with(b"<detached ...>");
    if done.is_none() && !open {
        return None;
    }
    let duration = rest.strip_suffix(b">").and_then(|text| {
        let start = memchr::memrchr(b'<', text)?;
        seconds(text.get(start + 1..)?)
    });
    Some(StraceLine { pid, time, name, done: done.is_some(), resumed: resumed.is_some(), duration })
}

/// `0.000830`, `1700000000.123456` or `10:51:59.123456` in nanoseconds.
fn clock(word: &[u8]) -> Option<i64> {
    let mut parts = word.split(|byte| *byte == b':');
    let (first, second, third) = (parts.next()?, parts.next(), parts.next());
    match (second, third) {
        (Some(minutes), Some(rest)) => {
            let minutes = number(first)?.checked_mul(60)?.checked_add(number(minutes)?)?;
            let above = i64::try_from(minutes).ok()?.checked_mul(60_000_000_000)?;
            above.checked_add(seconds(rest)?)
        }
        (None, None) => seconds(first),
        _ => None,
    }
}

/// Lines about processes and signals.
fn is_notice(line: &[u8]) -> bool {
    let text = shown(trim(line));
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || ".: ".contains(c));
    text.starts_with("strace: ")
        // A message of strace's own can come in the middle of a line.
        || text.contains("strace: Process ")
        || rest.starts_with("+++ ")
        || rest.starts_with("--- ")
        || text.ends_with("<detached ...>")
        || text.contains("] +++ ")
        || text.contains("] --- ")
}

/// ` > /lib/libc.so.6(read+0x10) [0xabc]`.
fn is_stack(line: &[u8]) -> bool {
    line.starts_with(b" > ")
}

struct StraceReader<'s> {
    builder: ProfileBuilder,
    /// Where system calls go that are handed on with their stacks.
    trace: Option<Emitter<'s>>,
    /// The name of the last call, where it is handed on.
    name: String,
    wall: MetricId,
    calls: MetricId,
    threads: HashMap<u64, ThreadId>,
    names: ByteMemo<FrameId>,
    frames: ByteMemo<FrameId>,
    /// The last call, whose stack may follow: innermost frame first.
    stack: Vec<FrameId>,
    open: Option<StraceCall>,
    /// Calls of which only the first half was seen, by process: when they began.
    unfinished: HashMap<Option<u64>, Option<i64>>,
    clock: StraceClock,
}

struct StraceCall {
    thread: Option<ThreadId>,
    start: Option<i64>,
    duration: Option<i64>,
}

/// Times of `-r` are since the line before, those of `-t` since some day: the former are small and jump back.
#[derive(Default)]
struct StraceClock {
    last: i64,
    now: i64,
    relative: Option<bool>,
}

impl StraceClock {
    fn at(&mut self, time: i64) -> i64 {
        // A first time of 0 is `-r`; nobody's day begins with it.
        let relative = *self.relative.get_or_insert(time == 0 || time < 1_000_000_000);
        self.now = if relative { self.now.saturating_add(time) } else { time };
        self.last = time;
        self.now
    }
}

/// Reads strace's log.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    Ok(read_lines(input, options, None)?.0)
}

/// Hands system calls to `sink`, if the log has their times and stacks; else it is a profile.
pub(crate) fn read_trace(
    input: Input,
    options: &ReadOptions,
    sink: &mut dyn EventSink,
) -> Result<TraceRead, ReadError> {
    let head = text::head(&input);
    let (mut timed, mut stacks) = (false, false);
    for line in text::head_lines(&input, &head) {
        stacks |= is_stack(line);
        timed |= parse(line).is_some_and(|line| line.time.is_some());
    }
    drop(head);
    if !(timed && stacks) {
        return Ok(TraceRead::Profile(Box::new(read(input, options)?)));
    }
    let (profile, placement) = read_lines(input, options, Some(Emitter::sorting_with_files(sink)))?;
    Ok(TraceRead::Trace(Box::new(profile), placement))
}

fn read_lines(
    input: Input,
    options: &ReadOptions,
    trace: Option<Emitter<'_>>,
) -> Result<(Profile, Placement), ReadError> {
    let mut blocks = Blocks::new(input)?;
    let mut builder = options.builder();
    let wall = builder.metric(Metric::exact("wall", Unit::Nanoseconds));
    let calls = builder.metric(Metric::exact("calls", Unit::Count));
    let mut reader = StraceReader {
        builder,
        trace,
        name: String::new(),
        wall,
        calls,
        threads: HashMap::new(),
        names: ByteMemo::new(),
        frames: ByteMemo::new(),
        stack: Vec::new(),
        open: None,
        unfinished: HashMap::new(),
        clock: StraceClock::default(),
    };
    while let Some(block) = blocks.next()? {
        for line in text::lines(block) {
            reader.line(line);
        }
    }
    reader.end();
    if !reader.unfinished.is_empty() {
        reader.builder.warn_many("unfinished-calls", reader.unfinished.len() as u64, || {
            "calls without an end in the log were left out".to_owned()
        });
    }
    blocks.warn_if_cut_off(&mut reader.builder);
    reader.builder.info.producer = Some("strace".to_owned());
    if let Some(trace) = reader.trace.take() {
        trace.finish(&mut reader.builder);
    }
    Ok(reader.builder.finish_placed())
}

impl StraceReader<'_> {
    fn line(&mut self, line: &[u8]) {
        if is_stack(line) {
            if self.open.is_some() {
                let frame = self.stack_frame(line);
                self.stack.push(frame);
            }
            return;
        }
        self.end();
        let Some(parsed) = parse(line) else {
            if !trim(line).is_empty() && !is_notice(line) {
                self.builder.warn("damaged-lines", || {
                    format!(
                        "lines that are not system calls were left out; the first is {}",
                        excerpt(line)
                    )
                });
            }
            return;
        };
        let now = parsed.time.map(|time| self.clock.at(time));
        // The second half of a call has its result and duration; the first half says when it began.
        if !parsed.done {
            self.unfinished.insert(parsed.pid, now);
            return;
        }
        let began =
            if parsed.resumed { self.unfinished.remove(&parsed.pid).flatten() } else { None };
        let (start, duration) = match (parsed.resumed, began, parsed.duration) {
            (true, Some(began), duration) => {
                let took = now.map(|now| now.saturating_sub(began).max(0));
                (Some(began), duration.or(took))
            }
            (true, None, Some(duration)) => {
                (now.map(|now| now.saturating_sub(duration)), Some(duration))
            }
            (_, _, duration) => (now, duration),
        };
        let name = self.call_frame(parsed.name);
        let mut thread = parsed.pid.map(|pid| self.thread(pid));
        if self.trace.is_some() {
            shown(parsed.name).as_ref().clone_into(&mut self.name);
            // A log of one thread does not number it.
            let nameless = self.builder.string("");
            thread.get_or_insert_with(|| self.builder.thread(Thread::named(nameless)));
        }
        self.stack.clear();
        self.stack.push(name);
        self.open = Some(StraceCall { thread, start, duration });
    }

    fn end(&mut self) {
        let Some(call) = self.open.take() else { return };
        if self.trace.is_some() {
            return self.hand_on(&call);
        }
        self.stack.reverse();
        let Some(at) = self.builder.stack(&self.stack) else { return };
        self.builder.add(at, call.thread, self.calls, 1);
        if let Some(duration) = call.duration {
            self.builder.add(at, call.thread, self.wall, duration);
            if let Some(start) = call.start {
                self.builder.time_call(start, start.saturating_add(duration), at, call.thread);
            }
        }
    }

    /// Hands a call on as two events with one stack.
    fn hand_on(&mut self, call: &StraceCall) {
        // The first frame stands for the call itself.
        let stack: Vec<FrameId> = self.stack.iter().skip(1).rev().copied().collect();
        let (Some(trace), Some(thread), Some(start)) = (&mut self.trace, call.thread, call.start)
        else {
            return;
        };
        trace.event(&mut self.builder, (start, thread), Traced::Enter(&self.name), &stack);
        if let Some(duration) = call.duration {
            let end = start.saturating_add(duration);
            trace.event(&mut self.builder, (end, thread), Traced::Exit(&self.name), &stack);
        }
        self.builder.count_samples(1);
    }

    fn call_frame(&mut self, name: &[u8]) -> FrameId {
        match self.names.find(name) {
            Ok(frame) => frame,
            Err(hash) => {
                let id = self.builder.string(&shown(name));
                let component = self.builder.string("[syscall]");
                let function = Function::named(id).in_component(component).in_layer(Layer::Kernel);
                let function = self.builder.function(function);
                let frame = self.builder.frame(perfblame_cct::Frame::of(function));
                self.names.insert(hash, name, frame);
                frame
            }
        }
    }

    fn stack_frame(&mut self, line: &[u8]) -> FrameId {
        let text = trim(line.get(3..).unwrap_or(&[]));
        match self.frames.find(text) {
            Ok(frame) => frame,
            Err(hash) => {
                let shown = shown(text);
                let address = shown
                    .rsplit_once("[0x")
                    .and_then(|(_, rest)| u64::from_str_radix(rest.trim_end_matches(']'), 16).ok());
                let front = shown.rsplit_once(" [").map_or(&*shown, |(front, _)| front);
                let (module, symbol) =
                    match front.strip_suffix(')').and_then(|text| text.split_once('(')) {
                        Some(parts) => parts,
                        None => (front, ""),
                    };
                let mut symbol = symbol.rsplit_once("+0x").map_or(symbol, |(name, _)| name);
                // Functions without a name are told apart by where they are.
                let place = match address {
                    Some(address) if symbol.is_empty() && self.trace.is_some() => {
                        let base = module.rsplit('/').next().unwrap_or(module);
                        format!("[{base}+{address:#x}]")
                    }
                    _ => String::new(),
                };
                if !place.is_empty() {
                    symbol = &place;
                }
                let frame = module_frame(&mut self.builder, Some(module), symbol, None, address);
                self.frames.insert(hash, text, frame);
                frame
            }
        }
    }

    fn thread(&mut self, pid: u64) -> ThreadId {
        let Self { threads, builder, .. } = self;
        *threads.entry(pid).or_insert_with(|| {
            let name = builder.string("");
            builder.thread(Thread { tid: Some(pid), ..Thread::named(name) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_fixtures::draw;

    #[test]
    fn calls_split_in_two_count_once_and_stacks_hold_them() {
        let log = b"[pid 12] 0.000000 read(3, \"a = b\", 3) = 3 <0.000005>
[pid 13] 0.000100 futex(0x1, FUTEX_WAIT <unfinished ...>
[pid 12] 0.000100 close(3)                = 0 <0.000001>
 > /lib/libc.so.6(close+0x10) [0x7f10]
 > /bin/app(main+0x20) [0x4010]
[pid 13] 0.000200 <... futex resumed>)     = 0 <0.000200>
--- SIGCHLD {si_signo=SIGCHLD} ---
13 +++ exited with 0 +++
";
        let profile =
            read(Input::from_bytes(log.to_vec()).unwrap(), &ReadOptions::default()).unwrap();
        assert_eq!(
            draw(&profile),
            "futex 200000 200000\nmain 1000 0\n  close 1000 0\n    close 1000 1000\nread 5000 5000\n"
        );
        assert_eq!(profile.warnings, []);
        assert!(sniff(&Input::from_bytes(log.to_vec()).unwrap()));
    }
}
