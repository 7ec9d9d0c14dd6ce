//! Time profiles that `xctrace export` writes as XML: a row per sample, in which everything that was said before is a
//! reference to its first mention.

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Metric, Profile, ProfileBuilder, StringId, Thread, ThreadId, Unit, position,
};

use crate::building::module_frame::module_frame;
use crate::building::module_frame::module_layer;
use crate::encodings::text;
use crate::encodings::xml::{Element, Event, Scanner};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "xctrace",
    producers: "Xcode: xctrace export of a time profile",
    sniff,
    read,
    tracer: None,
};

/// True for the result of a query to a trace.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    let start = head.get(..4096.min(head.len())).unwrap_or(&[]);
    head.trim_ascii_start().starts_with(b"<")
        && memchr::memmem::find(start, b"<trace-query-result").is_some()
}

/// A module's name and path.
#[derive(Clone, Default)]
struct XctraceBinary {
    name: String,
    path: String,
}

/// What has an id.
#[derive(Default)]
struct XctraceIds {
    times: HashMap<u64, i64>,
    weights: HashMap<u64, i64>,
    threads: HashMap<u64, ThreadId>,
    processes: HashMap<u64, (StringId, Option<u64>)>,
    stacks: HashMap<u64, Vec<FrameId>>,
    frames: HashMap<u64, FrameId>,
    binaries: HashMap<u64, XctraceBinary>,
    paths: HashMap<u64, String>,
    numbers: HashMap<u64, u64>,
}

#[derive(Default)]
struct XctraceRow {
    time: Option<i64>,
    weight: Option<i64>,
    thread: Option<ThreadId>,
    stack: Option<Vec<FrameId>>,
}

/// The frame being read.
#[derive(Default)]
struct OpenFrame {
    id: Option<u64>,
    name: String,
    address: Option<u64>,
    binary: XctraceBinary,
    line: Option<u64>,
    path: Option<String>,
}

#[derive(Default)]
struct OpenThread {
    id: Option<u64>,
    label: String,
    tid: Option<u64>,
    process: Option<(StringId, Option<u64>)>,
}

#[derive(Default)]
struct OpenProcess {
    id: Option<u64>,
    label: String,
    pid: Option<u64>,
}

struct XctraceReader {
    builder: ProfileBuilder,
    known: XctraceIds,
    row: XctraceRow,
    frame: Option<OpenFrame>,
    thread: Option<OpenThread>,
    process: Option<OpenProcess>,
    stack: Option<(Option<u64>, Vec<FrameId>)>,
    /// Id of the element whose text comes next.
    text_id: Option<u64>,
    text: String,
    cpu: perfblame_cct::MetricId,
    samples: perfblame_cct::MetricId,
}

/// Reads an exported time profile.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = text::read_whole(input)?;
    let mut builder = options.builder();
    let cpu = builder.metric(Metric::sampled("cpu", Unit::Nanoseconds));
    let samples = builder.metric(Metric::sampled("samples", Unit::Count));
    let mut reader = XctraceReader {
        builder,
        known: XctraceIds::default(),
        row: XctraceRow::default(),
        frame: None,
        thread: None,
        process: None,
        stack: None,
        text_id: None,
        text: String::new(),
        cpu,
        samples,
    };
    let mut events = Scanner::new(&bytes);
    let mut closed = false;
    while let Some(event) = events.next_event() {
        match event {
            Event::Start(tag) => {
                let Ok(name) = str::from_utf8(tag.name) else { continue };
                reader.begin(name, tag);
                if tag.empty {
                    reader.end(name);
                }
            }
            Event::Text(text) => {
                let text = text.decode();
                if !text.trim().is_empty() {
                    text.trim().clone_into(&mut reader.text);
                }
            }
            Event::End(name) => {
                closed |= name == b"trace-query-result";
                reader.end(str::from_utf8(name).unwrap_or(""));
            }
        }
    }
    if !closed {
        let offset = events.offset();
        reader.builder.warn("cut-off", || format!("the document ends early, at byte {offset}"));
    }
    reader.builder.info.producer = Some("xctrace".to_owned());
    Ok(reader.builder.finish())
}

fn id(tag: &Element<'_>, key: &str) -> Option<u64> {
    tag.number(key)
}

impl XctraceReader {
    fn begin(&mut self, name: &str, tag: Element<'_>) {
        let reference = id(&tag, "ref");
        let own = id(&tag, "id");
        self.text.clear();
        self.text_id = own;
        let fmt = || tag.attribute("fmt").unwrap_or_default().into_owned();
        match name {
            "row" => self.row = XctraceRow::default(),
            "sample-time" | "start-time" => {
                self.row.time = reference.and_then(|id| self.known.times.get(&id).copied());
            }
            "weight" | "cycle-weight" => {
                self.row.weight = reference.and_then(|id| self.known.weights.get(&id).copied());
            }
            "thread" => match reference {
                Some(id) => self.row.thread = self.known.threads.get(&id).copied(),
                None => {
                    self.thread =
                        Some(OpenThread { id: own, label: fmt(), ..OpenThread::default() });
                }
            },
            "process" => match reference {
                Some(id) => {
                    let known = self.known.processes.get(&id).copied();
                    if let Some(thread) = &mut self.thread {
                        thread.process = known;
                    }
                }
                None => self.process = Some(OpenProcess { id: own, label: fmt(), pid: None }),
            },
            "tid" | "pid" => {
                if let Some(number) = reference.and_then(|id| self.known.numbers.get(&id).copied())
                {
                    self.number(name, number);
                }
            }
            "backtrace" => match reference {
                Some(id) => self.row.stack = self.known.stacks.get(&id).cloned(),
                None => self.stack = Some((own, Vec::new())),
            },
            "frame" => {
                if let Some(id) = reference {
                    if let (Some(frame), Some((_, stack))) =
                        (self.known.frames.get(&id), self.stack.as_mut())
                    {
                        stack.push(*frame);
                    }
                } else {
                    let address = tag.attribute("addr").and_then(|text| hexadecimal(&text));
                    let name = tag.attribute("name").unwrap_or_default().into_owned();
                    self.frame = Some(OpenFrame { id: own, name, address, ..OpenFrame::default() });
                }
            }
            "binary" => {
                let binary = if let Some(id) = reference {
                    self.known.binaries.get(&id).cloned().unwrap_or_default()
                } else {
                    let word = |key| tag.attribute(key).unwrap_or_default().into_owned();
                    XctraceBinary { name: word("name"), path: word("path") }
                };
                if let Some(own) = own {
                    self.known.binaries.insert(own, binary.clone());
                }
                if let Some(frame) = &mut self.frame {
                    frame.binary = binary;
                }
            }
            "source" => {
                if let Some(frame) = &mut self.frame {
                    frame.line = id(&tag, "line");
                }
            }
            "path" => {
                if let (Some(frame), Some(id)) = (&mut self.frame, reference) {
                    frame.path = self.known.paths.get(&id).cloned();
                }
            }
            _ => {}
        }
    }

    fn number(&mut self, name: &str, number: u64) {
        if name == "pid" {
            if let Some(process) = &mut self.process {
                process.pid = Some(number);
            }
        } else if let Some(thread) = &mut self.thread {
            thread.tid = Some(number);
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "sample-time" | "start-time" | "weight" | "cycle-weight" => {
                if let Ok(value) = self.text.parse::<i64>() {
                    let weight = name.ends_with("weight");
                    let known =
                        if weight { &mut self.known.weights } else { &mut self.known.times };
                    if let Some(id) = self.text_id {
                        known.insert(id, value);
                    }
                    let slot = if weight { &mut self.row.weight } else { &mut self.row.time };
                    *slot = Some(value);
                }
            }
            "tid" | "pid" => {
                if let Ok(value) = self.text.parse::<u64>() {
                    if let Some(id) = self.text_id {
                        self.known.numbers.insert(id, value);
                    }
                    self.number(name, value);
                }
            }
            "path" if !self.text.is_empty() => {
                let path = std::mem::take(&mut self.text);
                if let Some(id) = self.text_id {
                    self.known.paths.insert(id, path.clone());
                }
                if let Some(frame) = &mut self.frame {
                    frame.path = Some(path);
                }
            }
            "process" => self.end_process(),
            "thread" => self.end_thread(),
            "frame" => self.end_frame(),
            "backtrace" => {
                if let Some((id, stack)) = self.stack.take() {
                    if let Some(id) = id {
                        self.known.stacks.insert(id, stack.clone());
                    }
                    self.row.stack = Some(stack);
                }
            }
            "row" => self.end_row(),
            _ => {}
        }
        self.text.clear();
        self.text_id = None;
    }

    /// `rust_test2 (49374)`.
    fn end_process(&mut self) {
        let Some(process) = self.process.take() else { return };
        let name = process.label.rsplit_once(" (").map_or(process.label.as_str(), |(name, _)| name);
        let known = (self.builder.string(name), process.pid);
        if let Some(id) = process.id {
            self.known.processes.insert(id, known);
        }
        if let Some(thread) = &mut self.thread {
            thread.process = Some(known);
        }
    }

    /// `main  0x8480c1 (rust_test2, pid: 49374)`.
    fn end_thread(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        let name = thread.label.split("  0x").next().unwrap_or("").trim();
        let name = if name.starts_with("0x") { "" } else { name };
        let name = self.builder.string(name);
        let process = thread.process.map(|(name, _)| name);
        let pid = thread.process.and_then(|(_, pid)| pid);
        let known =
            self.builder.thread(Thread { name, process, pid, tid: thread.tid, group: None });
        if let Some(id) = thread.id {
            self.known.threads.insert(id, known);
        }
        self.row.thread = Some(known);
    }

    fn end_frame(&mut self) {
        let Some(open) = self.frame.take() else { return };
        let module =
            if open.binary.path.is_empty() { &open.binary.name } else { &open.binary.path };
        let layer = (!open.binary.name.is_empty()).then(|| module_layer(&open.binary.name));
        let frame = module_frame(&mut self.builder, Some(module), &open.name, layer, open.address);
        let file = open.path.map(|path| self.builder.string(&path));
        let line = open.line.and_then(position);
        let known = *self.builder.symbols.frame(frame);
        let frame = self.builder.frame(Frame { file, line, ..known });
        if let Some(id) = open.id {
            self.known.frames.insert(id, frame);
        }
        if let Some((_, stack)) = &mut self.stack {
            stack.push(frame);
        }
    }

    fn end_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        if row.time.is_none() && row.stack.is_none() {
            return;
        }
        let mut stack = row.stack.unwrap_or_default();
        stack.reverse();
        if stack.is_empty() {
            stack.push(module_frame(&mut self.builder, None, "", None, None));
        }
        let Some(at) = self.builder.stack(&stack) else { return };
        let weight = row.weight.unwrap_or(0);
        self.builder.add(at, row.thread, self.cpu, weight);
        self.builder.add(at, row.thread, self.samples, 1);
        self.builder.count_samples(1);
        if let Some(time) = row.time {
            self.builder.time_sample(time, at, row.thread, self.cpu, weight);
        }
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
