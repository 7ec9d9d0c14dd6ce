//! Folded stacks: one line per stack, outermost frame first, frames joined by `;`, then a blank and a count.
//!
//! Everybody writes this format and nobody wrote it down. Counts may have fractions, lines may be comments or damaged,
//! and differential files have two counts. Frames hold whatever their profiler puts there (see [`names`]). A `;` within
//! a name cannot be told from one between names.
//!
//! Most files are sorted, so a line shares its first frames with the line before: these are not looked up again.

mod counts;
mod names;
#[cfg(test)]
mod tests;

use perfblame_cct::{Cursor, FrameId, Metric, Profile, ProfileBuilder, Thread, ThreadId, Unit};

use crate::building::byte_memo::ByteMemo;
use crate::encodings::text::{self, Blocks, excerpt, number, shown, trim};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use counts::{Count, Counts, Full};

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "folded",
    producers: "FlameGraph, inferno, py-spy, rbspy, async-profiler, austin, DTrace and perf scripts",
    sniff,
    read,
    tracer: None,
};

/// Lines looked at before the format is decided.
const SNIFFED_LINES: usize = 300;

/// True for text of which most lines end in a blank and a number, and at least one has a `;` before them; a text
/// without any `;` must be nothing but such lines.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    if head.iter().take(4096).any(|byte| *byte < b' ' && !matches!(byte, b'\t' | b'\r' | b'\n')) {
        return false;
    }
    let (mut joined, mut single, mut bad) = (0, 0, 0);
    for line in text::head_lines(input, &head).take(SNIFFED_LINES) {
        if trim(line).is_empty() || is_comment(line) {
            continue;
        }
        let indented = line.starts_with(b" ") || line.starts_with(b"\t");
        match split(line) {
            Some((stack, _)) if is_joined(stack) && !is_code(stack) => {
                joined += 1;
            }
            Some((stack, _)) if !indented && is_plain(stack) => single += 1,
            None if austin_full(line).is_some() => joined += 1,
            _ => bad += 1,
        }
    }
    if joined > 0 { joined + single >= bad } else { single > 0 && bad == 0 }
}

/// True for frames joined by `;`. A blank follows the one in `[T; 4]` and those of prose and programs.
fn is_joined(stack: &[u8]) -> bool {
    memchr::memchr_iter(b';', stack).any(|at| stack.get(at + 1).is_some_and(|next| *next != b' '))
}

/// True for lines of programs and of JSON, which have semicolons and numbers too.
fn is_code(stack: &[u8]) -> bool {
    stack.starts_with(b"{")
        || stack.starts_with(b"\"")
        || stack.contains(&b'=') && stack.contains(&b'"')
}

/// True for a lone frame that is no line of another report: those have columns, keys and values.
fn is_plain(stack: &[u8]) -> bool {
    let stack = trim(stack);
    let last = stack.last().copied().unwrap_or(b':');
    !stack.is_empty()
        && !matches!(last, b':' | b'=' | b',' | b'+' | b'-' | b'/')
        && memchr::memmem::find(stack, b"  ").is_none()
        && !stack.contains(&b'\t')
        && !stack.first().is_some_and(|first| first.is_ascii_digit() || b"{\"@-+".contains(first))
}

/// Reads folded stacks.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let head = text::head(&input).into_owned();
    let kind = kind(&input, &head);
    let mode = austin_mode(&head);
    let mut blocks = Blocks::new(input)?;
    let mut reader = FoldedReader::new(options.builder(), kind, &mode);
    while let Some(block) = blocks.next()? {
        for line in text::lines(block) {
            reader.line(line);
        }
    }
    blocks.warn_if_cut_off(&mut reader.builder);
    Ok(reader.finish())
}

/// What the lines of a file are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FoldedKind {
    Plain,
    /// Two counts per line, as inferno-diff-folded writes them.
    Differential,
    /// Process and thread in front, `file:function:line` frames, microseconds or bytes.
    Austin,
    /// The same with microseconds, whether the thread was idle, and bytes behind it.
    AustinFull,
}

fn kind(input: &Input, head: &[u8]) -> FoldedKind {
    let first =
        text::head_lines(input, head).find(|line| !trim(line).is_empty() && !is_comment(line));
    if first.and_then(austin_full).is_some() {
        return FoldedKind::AustinFull;
    }
    let lines = || {
        let lines = text::head_lines(input, head).filter(|line| !is_comment(line));
        lines.filter_map(split).take(SNIFFED_LINES)
    };
    if lines().next().is_some_and(|(stack, _)| austin_thread(stack).is_some()) {
        return FoldedKind::Austin;
    }
    let two = |(stack, _): (&[u8], Count)| split(stack).is_some();
    if lines().next().is_some() && lines().all(two) {
        FoldedKind::Differential
    } else {
        FoldedKind::Plain
    }
}

fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"# ") || line == b"#" || line.starts_with(b"//")
}

/// Stack and count of a line.
fn split(line: &[u8]) -> Option<(&[u8], Count)> {
    let line = line.trim_ascii_end();
    let blank = memchr::memrchr2(b' ', b'\t', line)?;
    let count = Count::parse(line.get(blank + 1..)?)?;
    let stack = line.get(..blank)?.trim_ascii_end();
    (!stack.is_empty()).then_some((stack, count))
}

/// Process and thread id in front of austin's stacks, `P123;T456` or `P123;T0:456`, and the frames behind them.
fn austin_thread(stack: &[u8]) -> Option<(u64, u64, &[u8])> {
    let rest = stack.strip_prefix(b"P")?;
    let (pid, rest) = cut(rest);
    let (tid, rest) = cut(rest.strip_prefix(b"T")?);
    let tid = tid.rsplit(|byte| *byte == b':').next()?;
    Some((number(pid)?, number_or_hex(tid)?, rest))
}

/// Stack and numbers of a line of austin's full mode.
fn austin_full(line: &[u8]) -> Option<(&[u8], Full)> {
    let line = line.trim_ascii_end();
    let blank = memchr::memrchr(b' ', line)?;
    let (stack, numbers) = (line.get(..blank)?, line.get(blank + 1..)?);
    austin_thread(stack)?;
    Some((stack, Full::parse(numbers)?))
}

/// What py-spy puts in front with `--threads` and `--subprocesses`: `process 12:"python x.py"`, `thread (34): name`.
fn py_spy_thread(stack: &[u8]) -> Option<PySpyThread<'_>> {
    let mut found = PySpyThread { pid: None, command: b"", tid: None, name: b"", frames: stack };
    // The command is in quotes and may hold anything.
    if let Some(rest) = stack.strip_prefix(b"process ")
        && let Some(start) = memchr::memmem::find(rest, b":\"")
        && let Some(end) = memchr::memmem::find(rest, b"\";")
        && let Some(pid) = number(rest.get(..start)?)
    {
        found.pid = Some(pid);
        found.command = rest.get(start + 2..end).unwrap_or_default();
        found.frames = rest.get(end + 2..)?;
    }
    if let Some(rest) = found.frames.strip_prefix(b"thread (")
        && let (thread, rest) = cut(rest)
        && let Some(end) = memchr::memchr(b')', thread)
        && let Some(tid) = number_or_hex(thread.get(..end)?.trim_ascii())
    {
        found.tid = Some(tid);
        found.name = thread.get(end + 1..)?.strip_prefix(b": ").unwrap_or_default();
        found.frames = rest;
    }
    (found.frames.len() < stack.len() && !found.frames.is_empty()).then_some(found)
}

struct PySpyThread<'a> {
    pid: Option<u64>,
    command: &'a [u8],
    tid: Option<u64>,
    name: &'a [u8],
    frames: &'a [u8],
}

fn number_or_hex(text: &[u8]) -> Option<u64> {
    match text.strip_prefix(b"0x") {
        Some(digits) => u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok(),
        None => number(text),
    }
}

/// The mode that austin's first lines tell.
fn austin_mode(head: &[u8]) -> String {
    let mut modes = text::lines(head).filter_map(|line| line.strip_prefix(b"# mode:"));
    modes.next().map_or(String::new(), |mode| shown(trim(mode)).into_owned())
}

/// What stands before the first `;` and what stands behind it.
fn cut(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b';', text) {
        Some(at) => (text.get(..at).unwrap_or(text), text.get(at + 1..).unwrap_or(&[])),
        None => (text, &[]),
    }
}

struct FoldedReader {
    builder: ProfileBuilder,
    kind: FoldedKind,
    counts: Counts,
    frames: ByteMemo<FrameId>,
    threads: ByteMemo<ThreadId>,
    /// The stack of the line before, and for each of its frames where it ends and its context.
    before: Vec<u8>,
    contexts: Vec<(usize, Cursor)>,
}

impl FoldedReader {
    fn new(mut builder: ProfileBuilder, kind: FoldedKind, mode: &str) -> Self {
        let counts = match kind {
            FoldedKind::Plain => {
                Counts::new(&mut builder, &[Metric::sampled("samples", Unit::Count)])
            }
            FoldedKind::Differential => {
                let side = |name| Metric::sampled(name, Unit::Count);
                Counts::new(&mut builder, &[side("before"), side("after")])
            }
            FoldedKind::Austin => Counts::austin(&mut builder, mode),
            FoldedKind::AustinFull => Counts::austin_full(&mut builder),
        };
        Self {
            builder,
            kind,
            counts,
            frames: ByteMemo::new(),
            threads: ByteMemo::new(),
            before: Vec::new(),
            contexts: Vec::new(),
        }
    }

    fn line(&mut self, line: &[u8]) {
        if line.is_empty() || is_comment(line) {
            if matches!(self.kind, FoldedKind::Austin | FoldedKind::AustinFull) {
                self.austin_comment(line);
            }
            return;
        }
        if self.kind == FoldedKind::AustinFull {
            let Some((stack, sample)) = austin_full(line) else { return self.damaged(line) };
            let Some((context, thread)) = self.austin(stack) else { return self.damaged(line) };
            return self.counts.add_full(&mut self.builder, context, Some(thread), sample);
        }
        let Some((stack, last)) = split(line) else { return self.damaged(line) };
        match self.kind {
            FoldedKind::Plain => self.plain(stack, last),
            FoldedKind::Differential => match split(stack) {
                Some((stack, first)) => {
                    let Some(context) = self.context(stack) else { return };
                    self.counts.add(&mut self.builder, 0, context, None, first);
                    self.counts.add(&mut self.builder, 1, context, None, last);
                }
                None => self.damaged(line),
            },
            FoldedKind::Austin | FoldedKind::AustinFull => match self.austin(stack) {
                Some((context, thread)) => {
                    self.counts.add(&mut self.builder, 0, context, Some(thread), last);
                }
                None => self.damaged(line),
            },
        }
    }

    fn plain(&mut self, stack: &[u8], count: Count) {
        let mut frames = stack;
        let mut thread = None;
        if stack.first() == Some(&b'[')
            && let (first, rest) = cut(stack)
            && !rest.is_empty()
            && let Some(known) = self.bracketed_thread(first)
        {
            thread = Some(known);
            frames = rest;
        } else if matches!(stack.first(), Some(b'p' | b't'))
            && let Some(found) = py_spy_thread(stack)
        {
            let end = stack.len() - found.frames.len();
            frames = found.frames;
            thread = stack.get(..end).map(|key| self.py_spy_thread(key, &found));
        }
        let Some(context) = self.context(frames) else { return };
        self.counts.add(&mut self.builder, 0, context, thread, count);
    }

    /// async-profiler's `-t` puts `[name tid=123]` in front.
    fn bracketed_thread(&mut self, text: &[u8]) -> Option<ThreadId> {
        let inner = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
        let at = memchr::memmem::rfind(inner, b" tid=")?;
        let tid = number(inner.get(at + 5..)?)?;
        match self.threads.find(text) {
            Ok(thread) => Some(thread),
            Err(hash) => {
                let name = self.builder.string(&shown(inner.get(..at)?));
                let thread = Thread { tid: Some(tid), ..Thread::named(name) };
                let thread = self.builder.thread(thread);
                self.threads.insert(hash, text, thread);
                Some(thread)
            }
        }
    }

    fn py_spy_thread(&mut self, key: &[u8], found: &PySpyThread<'_>) -> ThreadId {
        match self.threads.find(key) {
            Ok(thread) => thread,
            Err(hash) => {
                let name = self.builder.string(&shown(found.name));
                let process =
                    (!found.command.is_empty()).then(|| self.builder.string(&shown(found.command)));
                let (pid, tid) = (found.pid, found.tid);
                let thread = Thread { pid, tid, process, ..Thread::named(name) };
                let thread = self.builder.thread(thread);
                self.threads.insert(hash, key, thread);
                thread
            }
        }
    }

    /// The context of a stack, from the last line's where they begin alike.
    fn context(&mut self, stack: &[u8]) -> Option<Cursor> {
        let same = common_prefix(&self.before, stack);
        // A frame is shared when it ends alike too.
        let ends = |end: usize| matches!(stack.get(end), None | Some(b';'));
        let shared = (self.contexts.iter())
            .take_while(|(end, _)| *end < same || (*end == same && ends(*end)))
            .count();
        self.contexts.truncate(shared);
        self.before.truncate(same);
        self.before.extend_from_slice(stack.get(same..)?);
        let mut cursor = self.contexts.last().map(|(_, cursor)| *cursor);
        let mut start = self.contexts.last().map_or(0, |(end, _)| end + 1);
        while start < stack.len() {
            let rest = stack.get(start..)?;
            let end = memchr::memchr(b';', rest).unwrap_or(rest.len());
            let frame = self.frame(rest.get(..end)?);
            let next = match cursor {
                Some(parent) => self.builder.child(parent, frame),
                None => self.builder.root(frame),
            };
            cursor = Some(next);
            self.contexts.push((start + end, next));
            start += end + 1;
        }
        cursor
    }

    fn frame(&mut self, text: &[u8]) -> FrameId {
        match self.frames.find(text) {
            Ok(frame) => frame,
            Err(hash) => {
                let name = shown(text);
                let frame = match self.kind {
                    FoldedKind::Austin | FoldedKind::AustinFull => {
                        names::austin_frame(&mut self.builder, &name)
                    }
                    _ => names::frame(&mut self.builder, &name),
                };
                self.frames.insert(hash, text, frame);
                frame
            }
        }
    }

    fn austin(&mut self, stack: &[u8]) -> Option<(Cursor, ThreadId)> {
        let (pid, tid, frames) = austin_thread(stack)?;
        let end = stack.len() - frames.len();
        let key = stack.get(..end).unwrap_or(stack);
        let thread = match self.threads.find(key) {
            Ok(thread) => thread,
            Err(hash) => {
                let name = self.builder.string("");
                let ids = Thread { pid: Some(pid), tid: Some(tid), ..Thread::named(name) };
                let thread = self.builder.thread(ids);
                self.threads.insert(hash, key, thread);
                thread
            }
        };
        let frames = if frames.is_empty() { b"(idle)" } else { frames };
        Some((self.context(frames)?, thread))
    }

    fn austin_comment(&mut self, line: &[u8]) {
        let text = shown(line);
        let Some((key, value)) = text.trim_start_matches('#').split_once(':') else { return };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "austin" => self.builder.info.producer = Some(format!("austin {value}")),
            "duration" => {
                let micros = value.parse::<i64>().ok();
                self.builder.info.duration = micros.and_then(|micros| micros.checked_mul(1000));
            }
            _ => {}
        }
    }

    fn damaged(&mut self, line: &[u8]) {
        if trim(line).is_empty() {
            return;
        }
        self.builder.warn("damaged-lines", || {
            format!("lines without a count were left out; the first is {}", excerpt(line))
        });
    }

    fn finish(mut self) -> Profile {
        self.counts.finish(&mut self.builder);
        self.builder.finish()
    }
}

/// How many bytes two texts begin alike, many at a time: neighbours share most of a long line.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let same = same_chunks::<64>(one, other, 0);
    let same = same_chunks::<8>(one, other, same);
    let rest = one.iter().zip(other).skip(same);
    same + rest.take_while(|(a, b)| a == b).count()
}

/// How far two texts that are alike up to `from` stay so, in whole chunks.
fn same_chunks<const SIZE: usize>(one: &[u8], other: &[u8], from: usize) -> usize {
    let (one, other) = (one.get(from..).unwrap_or(&[]), other.get(from..).unwrap_or(&[]));
    let (chunks, _) = one.as_chunks::<SIZE>();
    let (others, _) = other.as_chunks::<SIZE>();
    from + SIZE * chunks.iter().zip(others).take_while(|(a, b)| a == b).count()
}
