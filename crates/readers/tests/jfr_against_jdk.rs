//! Recordings as the JDK's own tool reads them: `jfr print --json` against our reader, event by event type.
//!
//! Needs `jfr` of a JDK (17 was used) on the path, which the end-to-end suite installs; says so in one line where it is
//! missing. Compared per metric: number of events, frames, truncated stacks, lines, bytecode indexes, inlined frames,
//! the sum of values, and how often each function is on top.

#![expect(clippy::unwrap_used, reason = "in helpers of tests too, an unwrap is an assertion")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};

use perfblame_cct::{Grain, NodeId, Profile, TRUNCATED, Times};
use perfblame_fixtures::{corpus_files, samples, tool};
use perfblame_readers::{Input, ReadOptions, read};

/// Events, and the field that holds what they count for.
const EVENTS: &[(&str, &str)] = &[
    ("ExecutionSample", ""),
    ("CPUTimeSample", "samplingPeriod"),
    ("WallClockSample", "samples"),
    ("WallClockSleeping", "samplesCount"),
    ("NativeMethodSample", ""),
    ("ObjectAllocationSample", "weight"),
    ("ObjectAllocationInNewTLAB", "tlabSize"),
    ("ObjectAllocationOutsideTLAB", "allocationSize"),
    ("LiveObject", "allocationSize"),
    ("OldObjectSample", ""),
    ("Malloc", "size"),
    ("Free", ""),
    ("JavaMonitorEnter", "duration"),
    ("NativeLock", "duration"),
    ("JavaMonitorWait", "duration"),
    ("ThreadPark", "duration"),
    ("ThreadSleep", "duration"),
    ("SocketRead", "duration"),
    ("SocketWrite", "duration"),
    ("FileRead", "duration"),
    ("FileWrite", "duration"),
    ("FileForce", "duration"),
];

/// Chunks, as bytes of their file, at which the JDK's tool stops with an internal error, as a pool is missing that it
/// takes for granted. They are cut out before the comparison.
const REFUSED: &[(&str, Range<usize>)] = &[
    // Of Datadog's profiler, without strings.
    ("event-with-type-zero.jfr.gz", 3_356_469..4_308_110),
    ("datadog-1.22.jfr.gz", 0..usize::MAX),
    // Of async-profiler, without stacks.
    ("FastSlow_2024_01_16_180855.jfr.gz", 127_450..142_496),
];

/// Of files beyond this size only the samples of running threads are compared: all events of the corpus' largest, of
/// 12 MB, are 2.4 GB when printed.
const LARGE: u64 = 8 << 20;

/// What the events of one metric add up to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    events: u64,
    value: i64,
    frames: u64,
    truncated: u64,
    lines: u64,
    bytecodes: u64,
    inlined: u64,
    /// How often each function is the innermost; empty for events without a stack.
    top: BTreeMap<String, u64>,
}

#[test]
fn recordings_read_as_the_jdk_reads_them() {
    let mut files = corpus_files("jfr");
    let own = std::fs::read_dir(samples().join("jfr")).unwrap();
    files.extend(own.map(|entry| entry.unwrap().path()));
    files.sort();
    let folder = std::env::temp_dir().join(format!("perfblame-jfr-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut compared = 0;
    for file in &files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let mut bytes = Input::open(file).unwrap().read_all().unwrap();
        // Version 0.9, of JDK 7 and 8, is another format.
        if bytes.get(4..6) == Some(&[0, 0]) {
            continue;
        }
        if let Some((_, chunk)) = REFUSED.iter().find(|(known, _)| *known == name) {
            bytes.drain(chunk.start..chunk.end.min(bytes.len()));
        }
        if bytes.is_empty() {
            continue;
        }
        let plain = folder.join("recording.jfr");
        std::fs::write(&plain, &bytes).unwrap();
        compared += compare(name, &plain);
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(compared > 0, "no events were compared in {} files", files.len());
}

/// Compares one file and says how many events it has.
fn compare(name: &str, file: &Path) -> u64 {
    let options =
        ReadOptions { grain: Grain::Frames, times: Times::Keep, ..ReadOptions::default() };
    let profile = read(Input::open(file).unwrap(), &options).unwrap();
    let events: &[_] = if file.metadata().unwrap().len() > LARGE { &EVENTS[..1] } else { EVENTS };
    let mut expected: BTreeMap<&str, Sums> = BTreeMap::new();
    for (event, sums) in printed(file, events) {
        let metric = metric_of(&profile, event);
        add(expected.entry(metric).or_default(), sums);
    }
    let mut ours = ours(&profile);
    // The same events once more, where they have a size.
    ours.remove("old bytes");
    let compared = expected.values().map(|sums| sums.events).sum();
    for (metric, expected) in expected {
        let ours = ours.remove(metric).unwrap_or_default();
        assert_close(name, metric, &ours, &expected);
    }
    let printed_all = events.len() == EVENTS.len();
    assert!(ours.is_empty() || !printed_all, "{name}: not printed by the JDK: {ours:?}");
    compared
}

fn assert_close(name: &str, metric: &str, ours: &Sums, expected: &Sums) {
    // The JDK turns ticks into nanoseconds with floating point.
    let tolerance = expected.events as i64 + expected.value / 1_000_000_000_000;
    let close = (ours.value - expected.value).abs() <= tolerance;
    assert!(close, "{name}, {metric}: value {} and {}", ours.value, expected.value);
    let without_value = |sums: &Sums| {
        (sums.events, sums.frames, sums.truncated, sums.lines, sums.bytecodes, sums.inlined)
    };
    assert_eq!(without_value(ours), without_value(expected), "{name}, {metric}");
    assert_eq!(ours.top, expected.top, "{name}, {metric}");
}

fn add(into: &mut Sums, from: Sums) {
    into.events += from.events;
    into.value += from.value;
    into.frames += from.frames;
    into.truncated += from.truncated;
    into.lines += from.lines;
    into.bytecodes += from.bytecodes;
    into.inlined += from.inlined;
    for (function, count) in from.top {
        *into.top.entry(function).or_default() += count;
    }
}

/// The metric an event is in, as the module's documentation says.
fn metric_of(profile: &Profile, event: &str) -> &'static str {
    let has = |metric: &str| profile.metric(metric).is_some();
    let by_async_profiler =
        profile.info.producer.as_deref().is_some_and(|name| name.starts_with("async-profiler"));
    match event {
        "ExecutionSample" if has("samples") => "samples",
        "ExecutionSample" if has("cpu") => "cpu",
        "ExecutionSample" => "wall",
        "CPUTimeSample" => "cpu",
        "WallClockSample" | "WallClockSleeping" => "wall",
        "NativeMethodSample" => "native",
        "ObjectAllocationSample" => "allocated",
        "ObjectAllocationInNewTLAB" | "ObjectAllocationOutsideTLAB" => {
            if has("allocated (buffers)") { "allocated (buffers)" } else { "allocated" }
        }
        "LiveObject" => "live",
        "OldObjectSample" => "old objects",
        "Malloc" => "malloc",
        "Free" => "frees",
        "JavaMonitorEnter" | "NativeLock" => "blocked",
        "ThreadPark" if by_async_profiler && !has("waited") => "blocked",
        "JavaMonitorWait" | "ThreadPark" | "ThreadSleep" => "waited",
        _ => "io",
    }
}

/// What our reader made of it, by metric.
fn ours(profile: &Profile) -> BTreeMap<&str, Sums> {
    let mut all: BTreeMap<&str, Sums> = BTreeMap::new();
    for sample in profile.timeline.iter().flat_map(|timeline| &timeline.samples) {
        let metric = &profile.metrics[sample.metric.index()];
        let sums = all.entry(&metric.name).or_default();
        sums.events += 1;
        sums.value += sample.value / metric.period.unwrap_or(1);
        let mut node = Some(sample.node);
        let mut frames: Vec<NodeId> = Vec::new();
        while let Some(at) = node {
            frames.push(at);
            node = profile.tree.parent(at);
        }
        let root = profile.name_of(*frames.last().unwrap());
        if root == TRUNCATED {
            sums.truncated += 1;
            frames.pop();
        } else if root == "(no stack)" || root == "(missing stack)" {
            frames.pop();
        }
        for node in &frames {
            let frame = profile.symbols.frame(profile.tree.frame(*node));
            sums.frames += 1;
            sums.lines += frame.line.map_or(0, |line| u64::from(line.get()));
            sums.bytecodes += frame.bytecode.map_or(0, u64::from);
            sums.inlined += u64::from(frame.inlined);
        }
        // The slash in the names of hidden classes stays in ours.
        let top = frames.first().map(|node| profile.name_of(*node).replace('/', "."));
        *sums.top.entry(top.unwrap_or_default()).or_default() += 1;
    }
    all
}

/// What the JDK's tool prints, by event. Its text has a key on each line, and the indentation says whose it is: read
/// as lines, as hundreds of megabytes come from a file of twelve.
fn printed(file: &Path, events: &[(&str, &str)]) -> BTreeMap<&'static str, Sums> {
    let names: Vec<&str> = events.iter().map(|(event, _)| *event).collect();
    let mut child = Command::new(tool("jfr"))
        .args(["print", "--json", "--stack-depth", "100000", "--events", &names.join(",")])
        .arg(file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = Printed::default();
    let mut out = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
    let mut line = Vec::new();
    while out.read_until(b'\n', &mut line).unwrap() > 0 {
        printed.line(&line);
        line.clear();
    }
    assert!(child.wait().unwrap().success(), "jfr print {}", file.display());
    printed.all
}

#[derive(Default)]
struct Printed {
    all: BTreeMap<&'static str, Sums>,
    event: Option<(&'static str, &'static str)>,
    in_stack: bool,
    /// Of the frame at hand: its place, class and method, as far as they are known.
    frame: u64,
    class: String,
    native: bool,
    method: String,
}

impl Printed {
    fn line(&mut self, line: &[u8]) {
        // Most lines tell of modules and loaders of classes, deeper than anything that is compared.
        if line.get(16) == Some(&b' ') {
            return;
        }
        let text = line.trim_ascii_start();
        let indent = line.len() - text.len();
        match (indent, self.in_stack) {
            (6, _) if text.starts_with(b"\"type\": ") => {
                let class = string(text);
                let name = class.rsplit('.').next().unwrap();
                self.event = EVENTS.iter().find(|(event, _)| *event == name).copied();
            }
            (8, _) => self.field(text),
            (10, true) if text.starts_with(b"\"truncated\": true") => self.sums().truncated += 1,
            (10, true) if text.starts_with(b"\"frames\": []") => {
                *self.sums().top.entry(String::new()).or_default() += 1;
            }
            (12, true) => self.frame(text),
            (14, true) if text.starts_with(b"\"name\": ") => self.method = string(text),
            (14, true) if text.starts_with(b"\"descriptor\": ") => {
                self.native = matches!(string(text).as_str(), "()L;" | "(Lk;)L;");
            }
            (16, true) if text.starts_with(b"\"name\": ") => self.class = string(text),
            _ => {}
        }
    }

    fn sums(&mut self) -> &mut Sums {
        let (event, _) = self.event.unwrap();
        self.all.entry(event).or_default()
    }

    /// A field of the event itself. The first is always its time.
    fn field(&mut self, text: &[u8]) {
        let Some((_, amount)) = self.event else { return };
        let Some(key) = text.strip_prefix(b"\"").and_then(|key| key.split(|b| *b == b'"').next())
        else {
            self.in_stack = false;
            return;
        };
        if key == b"startTime" {
            self.sums().events += 1;
            if amount.is_empty() {
                self.sums().value += 1;
            }
        }
        if !amount.is_empty() && key == amount.as_bytes() {
            self.sums().value += number(text);
        }
        if key == b"stackTrace" {
            self.in_stack = !text.starts_with(b"\"stackTrace\": null");
            self.frame = 0;
            if !self.in_stack {
                *self.sums().top.entry(String::new()).or_default() += 1;
            }
        }
    }

    /// A field of a frame; its kind comes last.
    fn frame(&mut self, text: &[u8]) {
        if text.starts_with(b"\"method\": ") {
            self.sums().frames += 1;
            self.frame += 1;
        } else if text.starts_with(b"\"lineNumber\": ") && !self.native {
            self.sums().lines += number(text).max(0) as u64;
        } else if text.starts_with(b"\"bytecodeIndex\": ") && !self.native {
            self.sums().bytecodes += number(text).max(0) as u64;
        } else if text.starts_with(b"\"type\": ") {
            self.sums().inlined += u64::from(text.starts_with(b"\"type\": \"Inlined\""));
            if self.frame == 1 {
                let (class, method) = (&self.class, &self.method);
                let name = if self.native { method.clone() } else { format!("{class}.{method}") };
                *self.sums().top.entry(name.replace('/', ".")).or_default() += 1;
            }
        }
    }
}

/// The value of `"key": "value"`.
fn string(text: &[u8]) -> String {
    let value = str::from_utf8(text).unwrap().split_once(": ").unwrap().1.trim();
    let value = value.trim_end_matches(',').trim();
    if value == "null" {
        return String::new();
    }
    serde_json::from_str(value).unwrap()
}

/// The value of `"key": 12` or of a duration such as `"key": "PT1M2.5S"`, in nanoseconds.
fn number(text: &[u8]) -> i64 {
    let value = str::from_utf8(text).unwrap().split_once(": ").unwrap().1.trim();
    let value = value.trim_end_matches(',').trim();
    if let Ok(number) = value.parse() {
        return number;
    }
    let mut nanos = 0.0;
    let mut digits = String::new();
    for c in value.trim_matches('"').trim_start_matches("PT").chars() {
        let seconds = match c {
            'H' => 3600.0,
            'M' => 60.0,
            'S' => 1.0,
            _ => {
                digits.push(c);
                continue;
            }
        };
        nanos += digits.parse::<f64>().unwrap() * seconds * 1e9;
        digits.clear();
    }
    assert!(digits.is_empty(), "{value}");
    nanos.round() as i64
}
