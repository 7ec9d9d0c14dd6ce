//! PerfView's XML (`.perfView.xml`): frames, stacks that refer to their callers, and samples.
//!
//! PerfView puts process and thread into the stacks as outermost frames; here they become threads. Below them `BROKEN`
//! marks stacks whose outermost frames are missing. What a sample's metric counts is not in the file: milliseconds of
//! CPU in one, bytes in another. It is kept as `metric`, beside the number of `samples`.

use hashbrown::HashMap;
use perfblame_cct::{
    Cursor, Frame, FrameId, Function, Layer, Metric, MetricId, Profile, ProfileBuilder, Thread,
    ThreadId, Unit,
};
use perfblame_native as native;

use crate::encodings::json::Number;
use crate::encodings::xml::{Element, Event, Scanner};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "PerfView XML",
    producers: "PerfView, TraceEvent, dotnet-trace through PerfView",
    sniff,
    read,
    tracer: None,
};

/// Decimals of metrics and times that are kept; PerfView writes three.
const DECIMALS: u32 = 3;

/// True for XML whose outermost element is PerfView's.
pub fn sniff(input: &Input) -> bool {
    if !input.head().trim_ascii_start().starts_with(b"<")
        && !input.head().starts_with(b"\xef\xbb\xbf<")
    {
        return false;
    }
    match Scanner::new(input.head()).next_event() {
        Some(Event::Start(element)) => matches!(element.name, b"StackWindow" | b"StackSource"),
        _ => false,
    }
}

/// Reads a PerfView file.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let metric = Metric { decimals: DECIMALS as u8, ..Metric::sampled("metric", Unit::Count) };
    let mut reader = PerfviewReader {
        metric: builder.metric(metric),
        count: builder.metric(Metric::sampled("samples", Unit::Count)),
        builder,
        frames: HashMap::new(),
        stacks: HashMap::new(),
        places: HashMap::new(),
    };
    let mut scanner = Scanner::new(&bytes);
    // Samples refer to stacks, which need not stand before them.
    let mut samples = Vec::new();
    while let Some(event) = scanner.next_event() {
        let Event::Start(element) = event else { continue };
        match element.name {
            b"Frame" => {
                let text = if element.empty { "".into() } else { scanner.text() };
                reader.frame(&element, &text);
            }
            b"Stack" => reader.stack(&element),
            b"Sample" => samples.push(element),
            _ => {}
        }
    }
    for sample in samples {
        reader.sample(&sample);
    }
    if scanner.is_cut() {
        reader.builder.warn("cut-off", || "the file ends inside a tag".to_owned());
    }
    Ok(reader.builder.finish())
}

/// What a frame's text says.
#[derive(Clone, Copy, Debug)]
enum PerfviewRow {
    Code(FrameId),
    /// A process, with its id where the text has it.
    Process(perfblame_cct::StringId, Option<u64>),
    Thread(perfblame_cct::StringId, Option<u64>),
    /// Frames are missing here.
    Broken,
}

/// Where a stack leads.
#[derive(Clone, Copy, Debug, Default)]
struct PerfviewPlace {
    at: Option<Cursor>,
    thread: Option<Thread>,
    broken: bool,
    /// Being looked up: a stack that meets itself calls itself.
    open: bool,
}

struct PerfviewReader {
    builder: ProfileBuilder,
    metric: MetricId,
    count: MetricId,
    frames: HashMap<i64, PerfviewRow>,
    /// Caller and frame of each stack.
    stacks: HashMap<i64, (i64, i64)>,
    places: HashMap<i64, PerfviewPlace>,
}

impl PerfviewReader {
    fn frame(&mut self, element: &Element, text: &str) {
        let Some(id) = element.number("ID") else {
            return self.damaged("frames");
        };
        let row = row_of(text, &mut self.builder);
        self.frames.insert(id, row);
    }

    fn damaged(&mut self, what: &str) {
        self.builder
            .warn("damaged-records", || format!("{what} without their numbers were left out"));
    }

    fn stack(&mut self, element: &Element) {
        match (element.number("ID"), element.number("FrameID")) {
            (Some(id), Some(frame)) => {
                let caller = element.number("CallerID").unwrap_or(-1);
                self.stacks.insert(id, (caller, frame));
            }
            _ => self.damaged("stacks"),
        }
    }

    fn sample(&mut self, element: &Element) {
        self.builder.count_samples(1);
        let decimal = |name: &str| -> Option<i64> {
            let text = element.raw_attribute(name)?;
            Number::from_text(str::from_utf8(text).ok()?).scaled(DECIMALS)
        };
        let Some(place) = element.number("StackID").and_then(|stack| self.place(stack)) else {
            return self.builder.warn("empty-stacks", || {
                "samples without a stack are counted but have no place in the tree".to_owned()
            });
        };
        let thread = place.thread.map(|thread| self.builder.thread(thread));
        // A sample that is in no code counts for its thread's outermost place.
        let at = match place.at {
            Some(at) => at,
            None if place.broken => self.builder.truncated_root(),
            None => {
                let frame = self.builder.named_frame("(thread)", Layer::Runtime);
                self.builder.root(frame)
            }
        };
        let value = decimal("Metric").unwrap_or(1000);
        self.builder.add(at, thread, self.metric, value);
        self.builder.add(at, thread, self.count, element.number("Count").unwrap_or(1));
        if let Some(time) = decimal("Time") {
            // Milliseconds with three decimals are microseconds.
            self.time(time.saturating_mul(1000), at, thread, value);
        }
    }

    fn time(&mut self, time: i64, at: Cursor, thread: Option<ThreadId>, value: i64) {
        self.builder.time_sample(time, at, thread, self.metric, value);
    }

    /// Where a stack leads; none for a stack that does not exist.
    fn place(&mut self, stack: i64) -> Option<PerfviewPlace> {
        // From the stack up to one that is known, then down again.
        let mut chain = Vec::new();
        let mut next = stack;
        let mut place = loop {
            match (self.places.get(&next), self.stacks.get(&next)) {
                (Some(known), _) if known.open => {
                    self.builder.warn("broken-stacks", || {
                        "stacks that contain themselves were cut".to_owned()
                    });
                    break PerfviewPlace::default();
                }
                (Some(known), _) => break *known,
                (None, Some((caller, frame))) => {
                    chain.push((next, *frame));
                    self.places
                        .insert(next, PerfviewPlace { open: true, ..PerfviewPlace::default() });
                    next = *caller;
                }
                (None, None) if chain.is_empty() => return None,
                (None, None) => break PerfviewPlace::default(),
            }
        };
        for (stack, frame) in chain.into_iter().rev() {
            place = self.step(place, frame);
            self.places.insert(stack, place);
        }
        Some(place)
    }

    fn step(&mut self, above: PerfviewPlace, frame: i64) -> PerfviewPlace {
        let builder = &mut self.builder;
        match self.frames.get(&frame) {
            None => {
                builder.warn("unknown-frames", || {
                    "frames that do not exist were left out of stacks".to_owned()
                });
                above
            }
            Some(PerfviewRow::Broken) => PerfviewPlace { broken: true, ..above },
            Some(PerfviewRow::Process(name, pid)) => {
                let empty = builder.string("");
                let thread = Thread { process: Some(*name), pid: *pid, ..Thread::named(empty) };
                PerfviewPlace { thread: Some(thread), ..above }
            }
            Some(PerfviewRow::Thread(name, tid)) => {
                let thread = above.thread.unwrap_or(Thread::named(*name));
                PerfviewPlace { thread: Some(Thread { name: *name, tid: *tid, ..thread }), ..above }
            }
            Some(PerfviewRow::Code(frame)) => {
                let at = match above.at {
                    Some(above) => builder.child(above, *frame),
                    None if above.broken => {
                        let root = builder.truncated_root();
                        builder.child(root, *frame)
                    }
                    None => builder.root(*frame),
                };
                PerfviewPlace { at: Some(at), ..above }
            }
        }
    }
}

fn row_of(text: &str, builder: &mut ProfileBuilder) -> PerfviewRow {
    if text == "BROKEN" {
        return PerfviewRow::Broken;
    }
    // `Process64 devenv (1234) Args: …`, `Process devenv (1234)`
    if let Some(rest) = text.strip_prefix("Process")
        && let Some((bits, rest)) = rest.split_once(' ')
        && matches!(bits, "" | "32" | "64")
        && let Some((name, pid)) = name_and_id(rest)
    {
        return PerfviewRow::Process(builder.string(name), Some(pid));
    }
    // `Thread (1234) CPU=10ms (Startup Thread)`
    if let Some(rest) = text.strip_prefix("Thread ")
        && let Some((_, tid)) = name_and_id(rest)
    {
        let role = text.rsplit_once(" (").and_then(|(_, role)| role.strip_suffix(')'));
        let role = role.filter(|role| role.parse::<u64>().is_err()).unwrap_or("");
        return PerfviewRow::Thread(builder.string(role), Some(tid));
    }
    let (module, method) = match text.split_once('!') {
        Some((module, method)) if !module.is_empty() && !module.contains(' ') => {
            (Some(module).filter(|module| *module != "?"), method)
        }
        _ => (None, text),
    };
    let layer = match (module, text) {
        (Some(module), _) if module.eq_ignore_ascii_case("ntoskrnl") => Layer::Kernel,
        (Some(module), _) => native::layer_of(module),
        (None, "ROOT" | "OVERHEAD" | "CPU_TIME" | "UNMANAGED_CODE_TIME" | "READY_TIME") => {
            Layer::Runtime
        }
        (None, "BLOCKED_TIME") => Layer::Idle,
        _ => Layer::Application,
    };
    let function = Function {
        component: module.map(|module| builder.string(module)),
        layer,
        ..Function::named(builder.string(method))
    };
    let function = builder.function(function);
    PerfviewRow::Code(builder.frame(Frame::of(function)))
}

/// `name (id) …`
fn name_and_id(text: &str) -> Option<(&str, u64)> {
    text.match_indices('(').take(8).find_map(|(at, _)| {
        let (id, _) = text[at + 1..].split_once(')')?;
        Some((text[..at].trim(), id.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use perfblame_cct::{Grain, Times};
    use perfblame_fixtures::{corpus, describe, read_damaged};

    use super::*;

    const EXAMPLE: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<StackWindow><StackSource>
 <Frames Count="7">
  <Frame ID="0">Process64 w3wp (12) Args: -x</Frame><Frame ID="1">Thread (34) CPU=3ms (Startup Thread)</Frame>
  <Frame ID="2">app!Main&lt;T&gt;()</Frame><Frame ID="3">ntdll!?</Frame><Frame ID="4">BROKEN</Frame>
  <Frame ID="5">?!?</Frame>
 </Frames>
 <Stacks Count="6">
  <Stack ID="0" CallerID="-1" FrameID="0"/><Stack ID="1" CallerID="0" FrameID="1"/>
  <Stack ID="2" CallerID="1" FrameID="2"/><Stack ID="3" CallerID="2" FrameID="3"/>
  <Stack ID="4" CallerID="1" FrameID="4"/><Stack ID="5" CallerID="4" FrameID="5"/>
  <Stack ID="6" CallerID="7" FrameID="5"/><Stack ID="7" CallerID="6" FrameID="9"/>
 </Stacks>
 <Samples Count="5">
  <Sample ID="0" Time="1.250" StackID="3" Metric="1.5"/><Sample ID="1" Time="2" StackID="2"/>
  <Sample ID="2" Time="3" StackID="5" Metric="2"/><Sample ID="3" Time="4" StackID="1" Metric="1"/>
  <Sample ID="4" Time="4" StackID="77"/><Sample ID="5" Time="4" StackID="6"/>
 </Samples></StackSource></StackWindow>"#;

    fn parse(bytes: &[u8]) -> Profile {
        let input = Input::from_bytes(bytes.to_vec()).unwrap();
        let options =
            ReadOptions { grain: Grain::Functions, times: Times::Keep, ..ReadOptions::default() };
        crate::read(input, &options).unwrap()
    }

    #[test]
    fn processes_and_threads_leave_the_stacks() {
        let profile = parse(EXAMPLE.as_bytes());
        expect![[r"
            6 samples
            metric 6.5 count
            samples 5 count
            thread Startup Thread
            (thread) 1000 1000
            (truncated) 2000 0
              ? 2000 2000
            ? 1000 1000
            Main<T>() 2500 1000
              ? 1500 1500
            1 × empty-stacks: samples without a stack are counted but have no place in the tree
            1 × broken-stacks: stacks that contain themselves were cut
            1 × unknown-frames: frames that do not exist were left out of stacks
        "]]
        .assert_eq(&describe(&profile));
        let thread = profile.threads[0];
        assert_eq!((thread.pid, thread.tid), (Some(12), Some(34)));
        assert_eq!(profile.timeline.unwrap().samples[0].time, 1_250_000);
    }

    #[test]
    fn the_corpus_has_its_totals() {
        let Some(corpus) = corpus() else { return };
        // File, samples, thousandths of the metric.
        for (name, samples, total) in [
            ("perfview-ls.strace.perfview.xml", 102, 15_473),
            ("perfview-perf.strace.perfview.xml.gz", 406, 5_418_775),
        ] {
            let input = Input::open(&corpus.join("windows/expected").join(name)).unwrap();
            let profile = crate::read(input, &ReadOptions::default()).unwrap();
            assert_eq!(profile.info.format, "PerfView XML");
            assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
            let sum = profile.cells.total(MetricId::new(0));
            assert_eq!((name, profile.samples, sum), (name, samples, total));
        }
    }

    #[test]
    fn damaged_files_never_panic() {
        read_damaged(EXAMPLE.as_bytes(), 0..400, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
    }
}
