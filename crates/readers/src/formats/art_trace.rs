//! Method traces of Android's runtime, as `Debug.startMethodTracing` and Android Studio write them.
//!
//! Two shapes: a text of threads and methods followed by binary records, or, while streaming, records with the names
//! between them and the text at the end. Records say that a thread entered or left a method, on one clock or two.

use hashbrown::HashMap;
use perfblame_cct::{
    Cursor, Frame, FrameId, Function, Metric, MetricId, Profile, ProfileBuilder, Thread, ThreadId,
    Unit, position,
};

use crate::building::java::layer_of_android_class;
use crate::error::{ReadError, ReadErrorKind};
use crate::format::{Format, ReadOptions};
use crate::input::Input;

const MAGIC: &[u8] = b"SLOW";

/// Set in the version of streamed traces.
const STREAMED: u16 = 0xf0;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "ART trace",
    producers: "Android's Debug.startMethodTracing, Android Studio",
    sniff,
    read,
    tracer: None,
};

/// True for the first section of a trace, or for the magic of a streamed one.
pub fn sniff(input: &Input) -> bool {
    let head = input.head();
    let is_text = [&b"*version\n1\n"[..], b"*version\n2\n", b"*version\n3\n"]
        .iter()
        .any(|start| head.starts_with(start));
    let streamed = head.get(4..6).map(|bytes| u16::from(bytes[0]) | u16::from(bytes[1]) << 8);
    is_text
        || (head.starts_with(MAGIC)
            && streamed.is_some_and(|version| version & STREAMED == STREAMED))
}

/// Which times a record has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ArtClock {
    Cpu,
    Wall,
    /// Cpu, then wall.
    Dual,
}

#[derive(Default)]
struct ArtTrace {
    clock: Option<ArtClock>,
    summary: Vec<(String, String)>,
    threads: HashMap<u16, String>,
    methods: HashMap<u32, ArtMethod>,
}

#[derive(Default)]
struct ArtMethod {
    class: String,
    name: String,
    signature: String,
    file: String,
    line: u64,
}

/// Reads a trace.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut trace = ArtTrace::default();
    let mut builder = options.builder();
    let records = if bytes.starts_with(MAGIC) {
        let header = header(&bytes, 0)?;
        trace.streamed(&mut builder, &bytes, &header)
    } else {
        let start = trace.sections(&bytes)?;
        let header = header(&bytes, start)?;
        let body = bytes.get(header.end..).unwrap_or(&[]);
        if body.len() % header.record != 0 {
            builder.warn("cut-off", || "the last record is cut off".to_owned());
        }
        body.chunks_exact(header.record).map(|record| (header.version, record)).collect()
    };
    Calls::new(&mut builder, trace).take_all(&records);
    Ok(builder.finish())
}

struct ArtHeader {
    version: u16,
    /// Bytes of a record, at least those of its fields.
    record: usize,
    /// Where the records start.
    end: usize,
}

fn header(bytes: &[u8], start: usize) -> Result<ArtHeader, ReadError> {
    let at = |at: usize| u16_at(bytes, start + at);
    if !bytes.get(start..).is_some_and(|rest| rest.starts_with(MAGIC)) {
        return Err(ReadError::malformed(
            start as u64,
            "the records of the method trace are missing",
        ));
    }
    let truncated = || {
        ReadError::new(ReadErrorKind::Truncated { wanted: 18, left: (bytes.len() - start) as u64 })
    };
    let version = at(4).ok_or_else(truncated)?;
    let version = if version & STREAMED == STREAMED { version ^ STREAMED } else { version };
    let size = usize::from(at(6).ok_or_else(truncated)?);
    let record = match version {
        1 => 9,
        2 => 10,
        3 => usize::from(at(16).ok_or_else(truncated)?),
        _ => {
            let message = format!("version {version} of ART's method traces is not supported");
            return Err(ReadError::unsupported(message).at(start as u64 + 4));
        }
    };
    if record < 9 {
        return Err(ReadError::malformed(
            start as u64 + 16,
            format!("records of {record} bytes are too short"),
        ));
    }
    Ok(ArtHeader { version, record, end: start + size })
}

impl ArtTrace {
    /// Reads the text before the records; gives where it ends.
    fn sections(&mut self, bytes: &[u8]) -> Result<usize, ReadError> {
        let mut section = String::new();
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            at += line.len();
            let line = String::from_utf8_lossy(line);
            let line = line.trim_end_matches(['\n', '\r']);
            match line {
                "*end" => return Ok(at),
                _ if line.starts_with('*') => line.clone_into(&mut section),
                _ => self.line(&section, line),
            }
        }
        Err(ReadError::malformed(at as u64, "the text of the method trace does not end")
            .help("the file looks cut off"))
    }

    fn line(&mut self, section: &str, line: &str) {
        match section {
            "*version" => {
                if let Some((key, value)) = line.split_once('=') {
                    if key == "clock" {
                        self.clock = Some(match value {
                            "dual" => ArtClock::Dual,
                            "wall" | "global" => ArtClock::Wall,
                            _ => ArtClock::Cpu,
                        });
                    }
                    self.summary.push((key.to_owned(), value.to_owned()));
                }
            }
            "*threads" => {
                let parts = line.split_once('\t');
                let thread = parts.and_then(|(tid, name)| Some((tid.parse::<u64>().ok()?, name)));
                if let Some((tid, name)) = thread {
                    self.threads.insert(tid as u16, name.to_owned());
                }
            }
            "*methods" => self.method(line),
            _ => {}
        }
    }

    fn method(&mut self, line: &str) {
        let mut words = line.trim_end().split('\t');
        let mut next = || words.next().unwrap_or("").to_owned();
        let id = next();
        let Some(id) = id.strip_prefix("0x").and_then(|id| u32::from_str_radix(id, 16).ok()) else {
            return;
        };
        let method = ArtMethod {
            class: next(),
            name: next(),
            signature: next(),
            file: next(),
            line: next().parse().unwrap_or(0),
        };
        self.methods.insert(id, method);
    }

    /// Reads names and finds the records of a streamed trace: a thread of number 0 stands for something else.
    fn streamed<'a>(
        &mut self,
        builder: &mut ProfileBuilder,
        bytes: &'a [u8],
        header: &ArtHeader,
    ) -> Vec<(u16, &'a [u8])> {
        let mut records = Vec::new();
        let mut at = header.end;
        while at < bytes.len() {
            let is_record = u16_at(bytes, at).is_some_and(|thread| thread != 0);
            if is_record {
                let Some(record) = bytes.get(at..at + header.record) else { break };
                records.push((header.version, record));
                at += header.record;
                continue;
            }
            let code = bytes.get(at + 2).copied();
            let text = |start: usize, length: usize| {
                let text = bytes.get(start..start.checked_add(length)?)?;
                Some((String::from_utf8_lossy(text).into_owned(), start + length))
            };
            let found = match code {
                Some(1) => u16_at(bytes, at + 3).and_then(|length| text(at + 5, length.into())),
                Some(2) => u16_at(bytes, at + 5).and_then(|length| text(at + 7, length.into())),
                Some(3) => {
                    let length = u32_at(bytes, at + 3);
                    length.and_then(|length| text(at + 7, length as usize))
                }
                _ => None,
            };
            let Some((text, end)) = found else { break };
            match code {
                Some(1) => self.method(&text),
                Some(2) => {
                    self.threads.insert(u16_at(bytes, at + 3).unwrap_or(0), text);
                }
                _ => {
                    text.lines().for_each(|line| self.line("*version", line));
                    return records;
                }
            }
            at = end;
        }
        builder.warn("cut-off", || format!("the trace ends at byte {at} without its summary"));
        records
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let found = bytes.get(at..at.checked_add(2)?)?;
    found.try_into().ok().map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let found = bytes.get(at..at.checked_add(4)?)?;
    found.try_into().ok().map(u32::from_le_bytes)
}

/// What makes a tree of the records.
struct Calls<'a> {
    builder: &'a mut ProfileBuilder,
    trace: ArtTrace,
    clock: ArtClock,
    /// The second clock of dual traces.
    cpu: Option<MetricId>,
    frames: HashMap<u32, FrameId>,
    threads: HashMap<u16, Running>,
}

/// The open calls of a thread.
struct Running {
    thread: ThreadId,
    calls: Vec<OpenArtCall>,
    /// How often each method is among them.
    open: HashMap<u32, u32>,
    time: i64,
    cpu: i64,
}

struct OpenArtCall {
    method: u32,
    cursor: Cursor,
    cpu_start: i64,
    cpu_inside: i64,
}

impl<'a> Calls<'a> {
    fn new(builder: &'a mut ProfileBuilder, trace: ArtTrace) -> Self {
        let clock = trace.clock.unwrap_or(ArtClock::Cpu);
        let name = if clock == ArtClock::Cpu { "cpu" } else { "wall" };
        let time = builder.metric(Metric::exact(name, Unit::Nanoseconds));
        let cpu = (clock == ArtClock::Dual)
            .then(|| builder.metric(Metric::exact("cpu", Unit::Nanoseconds)));
        let calls = builder.metric(Metric::exact("calls", Unit::Count));
        builder.exact_metrics(time, calls);
        builder.info.producer = Some("Android Runtime".to_owned());
        for (key, value) in &trace.summary {
            match key.as_str() {
                "elapsed-time-usec" => {
                    let us: Option<i64> = value.parse().ok();
                    builder.info.duration = us.map(|us| us.saturating_mul(1_000));
                }
                "data-file-overflow" if value == "true" => {
                    builder.warn("cut-off", || {
                        "the recorder's buffer was full: the end is missing".to_owned()
                    });
                }
                _ => builder.info.labels.push((key.clone(), value.clone())),
            }
        }
        builder.info.labels.sort();
        Self { builder, trace, clock, cpu, frames: HashMap::new(), threads: HashMap::new() }
    }

    fn take_all(mut self, records: &[(u16, &[u8])]) {
        for (version, record) in records {
            self.take(*version, record);
        }
        let mut threads: Vec<(u16, Running)> = self.threads.drain().collect();
        threads.sort_by_key(|(tid, _)| *tid);
        // What still runs at the end has run until then.
        for (_, mut running) in threads {
            while !running.calls.is_empty() {
                leave(self.builder, self.cpu, &mut running);
            }
        }
    }

    fn take(&mut self, version: u16, record: &[u8]) {
        let (tid, rest) = match (version, record) {
            (1, [tid, rest @ ..]) => (u16::from(*tid), rest),
            (_, [low, high, rest @ ..]) => (u16::from(*low) | u16::from(*high) << 8, rest),
            _ => return,
        };
        let Some(method) = u32_at(rest, 0) else { return };
        let (method, action) = (method & !3, method & 3);
        let first = i64::from(u32_at(rest, 4).unwrap_or(0)) * 1_000;
        let (cpu, time) = match self.clock {
            ArtClock::Dual => (first, i64::from(u32_at(rest, 8).unwrap_or(0)) * 1_000),
            ArtClock::Cpu | ArtClock::Wall => (first, first),
        };
        if !self.threads.contains_key(&tid) {
            let name = self.trace.threads.get(&tid).map_or("", String::as_str);
            let name = self.builder.string(name);
            let thread =
                self.builder.thread(Thread { tid: Some(tid.into()), ..Thread::named(name) });
            let running = Running { thread, calls: Vec::new(), open: HashMap::new(), time, cpu };
            self.threads.insert(tid, running);
        }
        let frame = self.frame(method);
        let Some(running) = self.threads.get_mut(&tid) else { return };
        running.time = running.time.max(time);
        running.cpu = running.cpu.max(cpu);
        let open = running.open.get(&method).copied().unwrap_or(0);
        match action {
            0 => {
                let cursor = self.builder.enter(Some(running.thread), frame, running.time);
                running.calls.push(OpenArtCall {
                    method,
                    cursor,
                    cpu_start: running.cpu,
                    cpu_inside: 0,
                });
                running.open.insert(method, open + 1);
            }
            1 | 2 if open > 0 => {
                // Calls inside whose end was not seen end with it.
                while let Some(left) = leave(self.builder, self.cpu, running) {
                    if left == method {
                        break;
                    }
                    self.builder.warn("calls-without-end", || {
                        "calls without an end were closed with their callers".to_owned()
                    });
                }
            }
            1 | 2 => {
                self.builder.warn("calls-without-start", || {
                    "calls that began before the trace were left out".to_owned()
                });
            }
            _ => self.builder.warn("damaged-records", || {
                "records that neither enter nor leave a method were left out".to_owned()
            }),
        }
    }

    fn frame(&mut self, id: u32) -> FrameId {
        if let Some(frame) = self.frames.get(&id) {
            return *frame;
        }
        let builder = &mut *self.builder;
        let function = if let Some(method) = self.trace.methods.get(&id) {
            let name = builder.string(&format!("{}.{}", method.class, method.name));
            let text = |builder: &mut ProfileBuilder, text: &str| {
                (!text.is_empty()).then(|| builder.string(text))
            };
            let component = builder.string(&method.class);
            Function {
                signature: text(builder, &method.signature),
                file: text(builder, &method.file),
                line: position(method.line),
                ..Function::named(name)
                    .in_component(component)
                    .in_layer(layer_of_android_class(&method.class))
            }
        } else {
            builder.warn("unknown-methods", || {
                "records refer to methods that are not in the file".to_owned()
            });
            Function::named(builder.string(&format!("method 0x{id:x}")))
        };
        let function = builder.function(function);
        let frame = builder.frame(Frame::of(function));
        self.frames.insert(id, frame);
        frame
    }
}

/// Ends the innermost call of a thread; gives its method.
fn leave(
    builder: &mut ProfileBuilder,
    cpu: Option<MetricId>,
    running: &mut Running,
) -> Option<u32> {
    let call = running.calls.pop()?;
    builder.leave(Some(running.thread), running.time);
    if let Some(count) = running.open.get_mut(&call.method) {
        *count = count.saturating_sub(1);
    }
    let spent = running.cpu.saturating_sub(call.cpu_start);
    if let Some(caller) = running.calls.last_mut() {
        caller.cpu_inside = caller.cpu_inside.saturating_add(spent);
    }
    if let Some(cpu) = cpu {
        builder.add(
            call.cursor,
            Some(running.thread),
            cpu,
            spent.saturating_sub(call.cpu_inside).max(0),
        );
    }
    Some(call.method)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_fixtures::{draw, read_damaged};

    const METHODS: [&str; 2] =
        ["0x10\tcom.app.Main\trun\t()V\tMain.java", "0x20\tcom.app.Main\twork\t(I)V\tMain.java"];
    const SUMMARY: &str =
        "*version\n3\ndata-file-overflow=false\nclock=dual\nelapsed-time-usec=100\n";

    fn header(version: u16) -> Vec<u8> {
        let mut bytes = b"SLOW".to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend(32u16.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        bytes.extend(14u16.to_le_bytes());
        bytes.resize(32, 0);
        bytes
    }

    /// Thread 1 runs 100 µs: `run` calls `work` twice; the second has no end of its own.
    fn records() -> Vec<[u8; 14]> {
        [
            (0x10, 0, 0, 0),
            (0x20, 0, 5, 10),
            (0x20, 1, 15, 40),
            (0x20, 0, 20, 50),
            (0x10, 1, 50, 100),
            (0x20, 1, 60, 110),
        ]
        .into_iter()
        .map(|(method, action, cpu, wall): (u32, u32, u32, u32)| {
            let mut record = [0; 14];
            record[..2].copy_from_slice(&1u16.to_le_bytes());
            record[2..6].copy_from_slice(&(method | action).to_le_bytes());
            record[6..10].copy_from_slice(&cpu.to_le_bytes());
            record[10..].copy_from_slice(&wall.to_le_bytes());
            record
        })
        .collect()
    }

    fn regular() -> Vec<u8> {
        let mut bytes =
            format!("{SUMMARY}*threads\n1\tmain\n*methods\n{}\n{}\n*end\n", METHODS[0], METHODS[1])
                .into_bytes();
        bytes.extend(header(3));
        bytes.extend(records().concat());
        bytes
    }

    fn streamed() -> Vec<u8> {
        let mut bytes = header(3 | STREAMED);
        for method in METHODS {
            bytes.extend([0, 0, 1]);
            bytes.extend((method.len() as u16).to_le_bytes());
            bytes.extend(method.bytes());
        }
        bytes.extend(records().concat());
        bytes.extend([0, 0, 2, 1, 0, 4, 0]);
        bytes.extend(b"main");
        bytes.extend([0, 0, 3]);
        bytes.extend((SUMMARY.len() as u32).to_le_bytes());
        bytes.extend(SUMMARY.bytes());
        bytes
    }

    #[test]
    fn both_shapes_give_the_same_tree() {
        for bytes in [regular(), streamed()] {
            let input = Input::from_bytes(bytes).unwrap();
            assert!(sniff(&input));
            let profile = read(input, &ReadOptions::default()).unwrap();
            assert_eq!(
                draw(&profile),
                "com.app.Main.run 100000 20000\n  com.app.Main.work 80000 80000\n"
            );
            let totals: Vec<_> = profile
                .metrics()
                .map(|(id, about)| (about.name.as_str(), profile.cells.total(id)))
                .collect();
            assert_eq!(totals, [("wall", 100_000), ("cpu", 50_000), ("calls", 3)]);
            let codes: Vec<_> = profile.warnings.iter().map(|warning| &*warning.code).collect();
            assert_eq!(codes, ["calls-without-end", "calls-without-start"]);
            assert_eq!(profile.symbols.text(profile.threads[0].name), "main");
        }
    }

    #[test]
    fn art_trace_never_panics() {
        for bytes in [regular(), streamed()] {
            let outcome = read_damaged(&bytes, 0..400, |bytes| {
                read(Input::from_bytes(bytes)?, &ReadOptions::default())
            });
            assert!(outcome.refused > 0);
        }
    }
}
