//! The text of `perf script`: a line per sample with process, thread, time and event, then a line per frame, innermost
//! first, then an empty line.
//!
//! The text is long (a hundred bytes a frame) and repeats itself, so what a frame's line means is looked up by its
//! bytes; names are taken apart only the first time. Addresses are part of that key only where the tree asks for them.
//!
//! A sample without frames keeps its place as the frame `[unknown]` of its process.

mod comments;
mod frame_line;
mod header;
mod metrics;
mod nameless;

use hashbrown::HashMap;
use perfblame_cct::{
    EventSink, Frame, FrameId, Function, Grain, Layer, Placement, Profile, ProfileBuilder,
    StringId, Thread, ThreadId, position,
};
use perfblame_native::layer_of;

use crate::building::byte_memo::ByteMemo;
use crate::building::symbol::{self, FrameText, UNKNOWN};
use crate::encodings::text::{self, Blocks, excerpt, shown, trim};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions, TraceRead, Tracer};
use crate::input::Input;
use crate::os_trace::{self, Emitter};
use comments::Comments;
use frame_line::{FrameLine, aligned_frame_line, frame_line, single_frame};
use header::SampleHeader;
use metrics::{PerfScriptMetrics, Worth};
use nameless::NamelessFunctions;

/// Lines in which the first sample must show.
const SNIFFED_LINES: usize = 400;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "perf script",
    producers: "Linux perf: perf script",
    sniff,
    read,
    tracer: Some(Tracer {
        read: Some(read_trace),
        cut_off: None,
        how_to_record_stacks: "record stacks at system calls and switches: `perfblame record os -- COMMAND`",
    }),
};

/// True for text whose first lines hold a sample: a line with thread and event, and a frame or another such line; or
/// nothing but frames.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    let mut above: Option<SampleHeader<'_>> = None;
    let mut bare = 0;
    let lines = text::head_lines(input, &head);
    for line in lines.filter(|line| line.first() != Some(&b'#')).take(SNIFFED_LINES) {
        if let Some(found) = sure_header(line) {
            let whole = found.time.is_some() && !found.event.is_empty();
            if whole && (above.is_some() || single_frame(found.rest).is_some()) {
                return true;
            }
            above = Some(found);
            continue;
        }
        match (above, frame_line(line)) {
            (_, None) => {}
            (Some(_), Some(frame)) if frame.digits > 0 => return true,
            // Frames without a readable address are believed under a line that leaves no doubt.
            (Some(begin), Some(frame)) if begin.time.is_some() && frame.whole.ends_with(b")") => {
                return true;
            }
            (Some(_), Some(_)) => above = None,
            (None, Some(frame)) if frame.digits >= 4 && frame.whole.ends_with(b")") => bare += 1,
            (None, Some(_)) => return bare > 1 && !input.is_whole(),
        }
    }
    // A single sample without frames, or `-F ip,sym,dso`.
    let single = above.is_some_and(|only| only.time.is_some() && !only.event.is_empty());
    single && input.is_whole() || above.is_none() && bare > 0
}

/// A line that begins a sample beyond doubt: one with ids, or with both time and event.
fn sure_header(line: &[u8]) -> Option<SampleHeader<'_>> {
    if line.first().is_none_or(|first| matches!(first, b' ' | b'\t')) {
        return header::strict(line).filter(|header| header.time.is_some());
    }
    header::strict(line).or_else(|| {
        let loose = header::loose(line);
        (loose.time.is_some() && !loose.event.is_empty()).then_some(loose)
    })
}

/// Reads the text of `perf script`.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    Ok(read_lines(input, options, None)?.0)
}

/// True when the first samples are of system calls or context switches.
fn is_trace(input: &Input) -> bool {
    let head = text::head(input);
    text::head_lines(input, &head)
        .filter_map(sure_header)
        .any(|header| os_trace::is_os_event(&shown(header.event)))
}

/// Hands the events of a trace to `sink`; anything else is a profile.
pub(crate) fn read_trace(
    input: Input,
    options: &ReadOptions,
    sink: &mut dyn EventSink,
) -> Result<TraceRead, ReadError> {
    if !is_trace(&input) {
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
    let mut reader = PerfScriptReader::new(options.builder(), trace);
    while let Some(block) = blocks.next()? {
        for line in text::lines(block) {
            reader.line(line);
        }
    }
    blocks.warn_if_cut_off(&mut reader.builder);
    Ok(reader.finish())
}

/// The sample being read.
struct ScriptSample {
    thread: Option<ThreadId>,
    time: Option<i64>,
    /// None where samples are handed on as events.
    worth: Option<Worth>,
}

struct PerfScriptReader<'s> {
    builder: ProfileBuilder,
    /// Where events go that are handed on one by one.
    trace: Option<Emitter<'s>>,
    /// The event of the open sample, where it is handed on.
    event: Vec<u8>,
    objects: NamelessFunctions,
    comments: Comments,
    metrics: PerfScriptMetrics,
    with_addresses: bool,
    /// From a frame's line to its frames, a range of `known_frames`.
    frames: ByteMemo<LineFrames>,
    known_frames: Vec<FrameId>,
    threads: ByteMemo<ThreadId>,
    /// From an inlined frame and the binary around it to the frame within that binary.
    inlined: HashMap<(FrameId, Option<StringId>), FrameId>,
    /// From a frame and its source line's text to the frame at that line.
    placed: HashMap<(FrameId, Vec<u8>), FrameId>,
    open: Option<ScriptSample>,
    /// Frames of the open sample, innermost first.
    stack: Vec<FrameId>,
    /// How many frames at the end of `stack` are inlined into one that is still to come.
    pending: usize,
    /// What stood behind the event on the sample's first line.
    rest: Vec<u8>,
    unknown: Option<FrameId>,
    headers: u64,
    first_time: Option<i64>,
    last_time: Option<i64>,
}

#[derive(Clone, Copy)]
struct LineFrames {
    start: u32,
    count: u16,
    inlined: bool,
}

impl<'s> PerfScriptReader<'s> {
    fn new(builder: ProfileBuilder, trace: Option<Emitter<'s>>) -> Self {
        Self {
            // Calls from different places of a function are different calls.
            with_addresses: builder.grain() != Grain::Functions || trace.is_some(),
            builder,
            trace,
            event: Vec::new(),
            objects: NamelessFunctions::default(),
            comments: Comments::default(),
            metrics: PerfScriptMetrics::default(),
            frames: ByteMemo::new(),
            known_frames: Vec::new(),
            threads: ByteMemo::new(),
            inlined: HashMap::new(),
            placed: HashMap::new(),
            open: None,
            stack: Vec::new(),
            pending: 0,
            rest: Vec::new(),
            unknown: None,
            headers: 0,
            first_time: None,
            last_time: None,
        }
    }

    fn line(&mut self, line: &[u8]) {
        match line.first() {
            Some(b' ' | b'\t') => self.indented(line),
            None => self.end_of_stack(),
            Some(b'#') if self.open.is_none() => {
                let text = shown(line.get(1..).unwrap_or(&[]));
                self.comments.line(&text, &mut self.builder.info);
            }
            Some(_) => match header::strict(line) {
                Some(header) => self.begin(line, header),
                None => self.begin(line, header::loose(line)),
            },
        }
    }

    /// An empty line ends a stack; right after a sample's first line it means nothing.
    fn end_of_stack(&mut self) {
        if !self.stack.is_empty() {
            self.end();
        }
    }

    fn indented(&mut self, line: &[u8]) {
        let frame = aligned_frame_line(line).or_else(|| frame_line(line));
        let Some(frame) = frame else { return self.end_of_stack() };
        if frame.digits == 0 {
            return self.odd(line);
        }
        // Commands such as `dd` look like an address when `perf` aligns them to the right.
        let number = match frame.text() {
            [b'[', second, ..] => second.is_ascii_digit(),
            [first, ..] => first.is_ascii_digit(),
            [] => false,
        };
        if number && let Some(header) = header::strict(line) {
            return self.begin(line, header);
        }
        self.frame(frame);
    }

    /// An indented line that does not start with an address.
    fn odd(&mut self, line: &[u8]) {
        if let Some(header) = header::strict(line) {
            return self.begin(line, header);
        }
        let text = trim(line);
        let sample = self.open.is_some() || !self.stack.is_empty();
        if sample && let Some(frame) = self.stack.last().copied() {
            // `-F +srcline` puts the place below each frame; binaries without it are given as `name[address]`.
            if symbol::source_place(&shown(text)).is_some() && !text.contains(&b' ') {
                return self.place(frame, text);
            }
            if !text.contains(&b' ') && (text.ends_with(b"]") || text.contains(&b'+')) {
                return;
            }
        }
        if sample && text.contains(&b' ') && text.ends_with(b")") {
            let blank = memchr::memchr(b' ', text).and_then(|at| text.get(at..));
            return self.frame(FrameLine { whole: trim(blank.unwrap_or(text)), digits: 0 });
        }
        self.builder.warn("damaged-lines", || {
            format!(
                "lines that do not belong to a sample were left out; the first is {}",
                excerpt(text)
            )
        });
    }

    fn begin(&mut self, line: &[u8], header: SampleHeader<'_>) {
        self.end();
        if header.event.starts_with(b"PERF_RECORD_") {
            return self.record(header.event, header.rest);
        }
        if let Some(at) = memchr::memmem::find(header.rest, b"PERF_RECORD_")
            && header.event.is_empty()
        {
            let record = header.rest.get(at..).unwrap_or(&[]);
            return self.record(record, record);
        }
        self.headers += 1;
        let thread = self.thread(line, &header);
        if let Some(time) = header.time {
            self.first_time = Some(self.first_time.map_or(time, |first| first.min(time)));
            self.last_time = Some(self.last_time.map_or(time, |last| last.max(time)));
        }
        let worth = if self.trace.is_some() {
            self.event.clear();
            self.event.extend_from_slice(header.event);
            None
        } else {
            let Self { builder, comments, metrics, .. } = self;
            Some(metrics.worth(builder, comments, header.event, header.period))
        };
        self.open = Some(ScriptSample { thread, time: header.time, worth });
        self.rest.clear();
        self.rest.extend_from_slice(trim(header.rest));
    }

    /// A record that is no sample, as `--show-task-events` and the like print them between samples.
    fn record(&mut self, name: &[u8], rest: &[u8]) {
        if !name.starts_with(b"PERF_RECORD_LOST") {
            return;
        }
        let lost = rest.split(|byte| *byte == b' ').filter_map(text::number).next_back();
        if let Some(trace) = &mut self.trace {
            return trace.lost(&mut self.builder, lost.unwrap_or(1));
        }
        self.builder.warn_many("lost-samples", lost.unwrap_or(1), || {
            "the kernel lost samples; record at a lower rate or with larger buffers".to_owned()
        });
    }

    fn thread(&mut self, line: &[u8], header: &SampleHeader<'_>) -> Option<ThreadId> {
        if header.comm.is_empty() && header.tid.is_none() {
            return None;
        }
        let key = trim(line.get(..header.thread_end)?);
        let hash = match self.threads.find(key) {
            Ok(thread) => return Some(thread),
            Err(hash) => hash,
        };
        let name = self.builder.string(&shown(header.comm));
        let process = None;
        let thread = Thread { name, process, pid: header.pid, tid: header.tid, group: None };
        let thread = self.builder.thread(thread);
        self.threads.insert(hash, key, thread);
        Some(thread)
    }

    /// One line of a call chain.
    fn frame(&mut self, line: FrameLine<'_>) {
        let key = if self.with_addresses { line.whole } else { line.text() };
        let range = match self.frames.find(key) {
            Ok(range) => range,
            Err(hash) => {
                let text = shown(line.text());
                let mut text = FrameText::parse(&text);
                // Functions without a name are told apart by where they are.
                let nameless =
                    self.trace.is_some().then(|| self.objects.name(&text, line.address()));
                let nameless = nameless.flatten();
                if let Some(name) = &nameless {
                    text.symbol = name;
                }
                let start = self.known_frames.len();
                let address = line.address().filter(|_| self.with_addresses);
                symbol::intern(&mut self.builder, &text, address, &mut self.known_frames);
                let count = (self.known_frames.len() - start).min(usize::from(u16::MAX)) as u16;
                let range = LineFrames { start: start as u32, count, inlined: text.inlined };
                self.frames.insert(hash, key, range);
                range
            }
        };
        let start = range.start as usize;
        let Some(frames) = self.known_frames.get(start..start + usize::from(range.count)) else {
            return;
        };
        if range.inlined {
            self.pending += frames.len();
            self.stack.extend_from_slice(frames);
            return;
        }
        if self.pending > 0
            && let Some(around) = frames.last().copied()
        {
            self.settle_inlined(around);
        }
        let frames = self.known_frames.get(start..start + usize::from(range.count));
        self.stack.extend_from_slice(frames.unwrap_or(&[]));
    }

    /// Inlined frames are printed without a binary: it is that of the frame they are inlined into.
    fn settle_inlined(&mut self, around: FrameId) {
        let symbols = &self.builder.symbols;
        let component = symbols.function(symbols.frame(around).function).component;
        let first = self.stack.len().saturating_sub(self.pending);
        self.pending = 0;
        for at in first..self.stack.len() {
            let Some(frame) = self.stack.get(at).copied() else { continue };
            let settled = match self.inlined.get(&(frame, component)) {
                Some(known) => *known,
                None => self.within(frame, component),
            };
            if let Some(slot) = self.stack.get_mut(at) {
                *slot = settled;
            }
        }
    }

    fn within(&mut self, inlined: FrameId, component: Option<StringId>) -> FrameId {
        let symbols = &self.builder.symbols;
        let frame = *symbols.frame(inlined);
        let layer = component.map_or(Layer::Application, |name| layer_of(symbols.text(name)));
        let function = Function { component, layer, ..*symbols.function(frame.function) };
        let function = self.builder.function(function);
        let settled = self.builder.frame(Frame { function, ..frame });
        self.inlined.insert((inlined, component), settled);
        settled
    }

    /// The innermost frame so far is at this place in its source.
    fn place(&mut self, frame: FrameId, text: &[u8]) {
        let key = (frame, text.to_vec());
        let placed = if let Some(known) = self.placed.get(&key) {
            *known
        } else {
            let place = shown(text);
            let Some((file, line)) = symbol::source_place(&place) else { return };
            let file = Some(self.builder.string(file));
            let line = position(line);
            let at = Frame { file, line, ..*self.builder.symbols.frame(frame) };
            let placed = self.builder.frame(at);
            self.placed.insert(key, placed);
            placed
        };
        if let Some(last) = self.stack.last_mut() {
            *last = placed;
        }
    }

    /// Adds the open sample, if any.
    fn end(&mut self) {
        let Some(sample) = self.open.take() else {
            if !self.stack.is_empty() {
                self.end_without_header();
            }
            return;
        };
        if self.stack.is_empty() && self.trace.is_none() {
            self.take_single_frame();
        }
        self.add(&sample);
    }

    /// `-F ip,sym` prints nothing but stacks; elsewhere a stack on its own has lost its first line.
    fn end_without_header(&mut self) {
        if self.headers > 0 {
            self.builder.warn("samples-without-header", || {
                "stacks without a line that names the process and the event count as one sample each, of an unknown thread"
                    .to_owned()
            });
        }
        if self.trace.is_some() {
            self.stack.clear();
            return;
        }
        let worth = self.metrics.worth(&mut self.builder, &self.comments, b"", None);
        self.add(&ScriptSample { thread: None, time: None, worth: Some(worth) });
    }

    fn add(&mut self, sample: &ScriptSample) {
        self.pending = 0;
        self.stack.reverse();
        let Some(worth) = sample.worth else { return self.hand_on(sample) };
        let cursor = self.builder.stack(&self.stack);
        self.stack.clear();
        let Some(cursor) = cursor else { return };
        self.builder.count_samples(1);
        let (metric, value) = worth.event.unwrap_or((worth.samples, 1));
        self.builder.add(cursor, sample.thread, metric, value);
        if metric != worth.samples {
            self.builder.add(cursor, sample.thread, worth.samples, 1);
        }
        if let Some(time) = sample.time {
            self.builder.time_sample(time, cursor, sample.thread, metric, value);
        }
    }

    /// Hands the sample on as an event.
    fn hand_on(&mut self, sample: &ScriptSample) {
        let (Some(time), Some(thread)) = (sample.time, sample.thread) else {
            self.stack.clear();
            self.builder.warn("events-without-time", || {
                "events without a time or a thread were left out; `perf script -F +time,tid` prints both"
                    .to_owned()
            });
            return;
        };
        let (event, fields) = (shown(&self.event), shown(&self.rest));
        let traced = os_trace::from_text(&event, &fields, self.comments.machine());
        if let Some(trace) = &mut self.trace {
            trace.event(&mut self.builder, (time, thread), traced, &self.stack);
        }
        self.builder.count_samples(1);
        self.stack.clear();
    }

    /// A sample without call chain has its one frame on its first line, or none at all.
    fn take_single_frame(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        if let Some(frame) = single_frame(&rest) {
            self.frame(frame);
        } else {
            let unknown = match self.unknown {
                Some(frame) => frame,
                None => self.builder.named_frame(UNKNOWN, Layer::Application),
            };
            self.unknown = Some(unknown);
            self.stack.push(unknown);
        }
        self.rest = rest;
    }

    fn finish(mut self) -> (Profile, Placement) {
        self.end();
        self.metrics.finish(&mut self.builder);
        if let Some(trace) = self.trace.take() {
            trace.finish(&mut self.builder);
        }
        self.name_processes();
        if let (Some(first), Some(last)) = (self.first_time, self.last_time) {
            self.builder.info.duration = Some(last.saturating_sub(first)).filter(|time| *time > 0);
        }
        if self.builder.info.producer.is_none() {
            self.builder.info.producer = Some("perf".to_owned());
        }
        self.builder.finish_placed()
    }

    /// A process is called what its first thread is called.
    fn name_processes(&mut self) {
        let mut names: HashMap<u64, StringId> = HashMap::new();
        let threads: Vec<(ThreadId, Thread)> = (0..)
            .map(ThreadId::new)
            .map_while(|id| self.builder.known_thread(id).map(|thread| (id, thread)))
            .collect();
        for (_, thread) in &threads {
            if let Some(pid) = thread.pid
                && thread.tid == Some(pid)
            {
                names.entry(pid).or_insert(thread.name);
            }
        }
        for (id, thread) in threads {
            let process = thread.pid.and_then(|pid| names.get(&pid).copied());
            self.builder.update_thread(id, Thread { process, ..thread });
        }
    }
}

#[cfg(test)]
mod tests;
