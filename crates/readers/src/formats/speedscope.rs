//! speedscope's own files: `shared.frames` and `profiles`, each sampled or evented, as py-spy, rbspy, dotnet-trace and
//! the speedscope page write them.
//!
//! The frames may stand behind the profiles that use them, so the file is in memory and walked twice: once to find the
//! parts, once to read them. Nothing is turned into a document of values, as files of a few hundred megabytes are
//! common.
//!
//! Every profile becomes a thread. `line` of a frame is the line being executed: that is what the profilers put there,
//! and functions of one name and file merge where contexts are told apart by function.

mod evented;
mod metrics;
#[cfg(test)]
mod tests;

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Function, Layer, Metric, MetricId, Profile, ProfileBuilder, Thread, ThreadId,
    Unit, position,
};
use perfblame_native as native;

use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use evented::{OpenFrames, events};
use metrics::SpeedscopeMetrics;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "speedscope",
    producers: "py-spy, rbspy, dotnet-trace, speedscope's own export",
    sniff,
    read,
    tracer: None,
};

/// True for an object with speedscope's schema, or with `profiles` as speedscope writes them.
pub fn sniff(input: &Input) -> bool {
    recognise(&mut Cursor::new(input.head())).unwrap_or(false)
}

fn recognise(cursor: &mut Cursor) -> Result<bool, JsonFault> {
    cursor.begin_object()?;
    while let Some(key) = cursor.next_key()? {
        match &*key {
            "$schema" => {
                return Ok(cursor.lenient_string()?.is_some_and(|url| url.contains("speedscope")));
            }
            "profiles" => {
                cursor.begin_array()?;
                if !cursor.next_element()? {
                    return Ok(false);
                }
                cursor.begin_object()?;
                while let Some(key) = cursor.next_key()? {
                    if key == "type" {
                        let kind = cursor.lenient_string()?;
                        return Ok(matches!(kind.as_deref(), Some("sampled" | "evented")));
                    }
                    cursor.skip_value()?;
                }
                return Ok(false);
            }
            _ => cursor.skip_value()?,
        }
    }
    Ok(false)
}

/// Reads a speedscope file.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let mut parts = SpeedscopeParts::default();
    // What is cut off behind the parts we need costs nothing but a warning.
    let mut faults = Vec::from_iter(parts.find(&mut Cursor::new(&bytes), &mut builder).err());
    let Some(mut shared) = parts.frames else {
        let help = "speedscope files keep their frames in `shared.frames`; this one looks cut off";
        let what = "it contains no frames";
        return Err(ReadError::malformed(bytes.len() as u64, what).help(help));
    };
    let mut frames = Vec::new();
    faults.extend(read_frames(&mut shared, &mut builder, &mut frames).err());
    let mut reader = SpeedscopeReader {
        frames,
        metrics: SpeedscopeMetrics::default(),
        builder,
        stack: Vec::new(),
    };
    let mut found = Vec::new();
    if let Some(mut profiles) = parts.profiles {
        faults.extend(reader.profiles(&mut profiles, &mut found).err());
    }
    for profile in &found {
        reader.metrics.measure(profile);
    }
    for profile in found {
        faults.extend(reader.profile(&profile).err());
    }
    // One fault is met once on the way to the parts and once in the part.
    faults.sort_by_key(JsonFault::offset);
    faults.dedup_by_key(|fault| fault.offset());
    for fault in &faults {
        damaged(&mut reader.builder, fault);
    }
    Ok(reader.builder.finish())
}

fn damaged(builder: &mut ProfileBuilder, fault: &JsonFault) {
    let offset = fault.offset();
    let what = match fault {
        JsonFault::Bad { what, .. } => what,
        JsonFault::Cut { .. } | JsonFault::Io { .. } => "the file ends",
    };
    builder.warn("damaged-json", || {
        format!("the rest of a list was left out: {what} at byte {offset}")
    });
}

/// Where the parts of a file begin.
#[derive(Default)]
struct SpeedscopeParts<'a> {
    frames: Option<Cursor<'a>>,
    profiles: Option<Cursor<'a>>,
}

impl<'a> SpeedscopeParts<'a> {
    fn find(
        &mut self,
        cursor: &mut Cursor<'a>,
        builder: &mut ProfileBuilder,
    ) -> Result<(), JsonFault> {
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            match &*key {
                "shared" if cursor.peek()? == JsonKind::Object => {
                    cursor.begin_object()?;
                    while let Some(key) = cursor.next_key()? {
                        if key == "frames" {
                            self.frames = Some(*cursor);
                        }
                        cursor.skip_value()?;
                    }
                }
                "profiles" => {
                    self.profiles = Some(*cursor);
                    cursor.skip_value()?;
                }
                "exporter" => {
                    builder.info.producer = cursor.lenient_string()?.map(Into::into);
                }
                "name" => builder.info.command = cursor.lenient_string()?.map(Into::into),
                _ => cursor.skip_value()?,
            }
        }
        Ok(())
    }
}

fn read_frames(
    cursor: &mut Cursor,
    builder: &mut ProfileBuilder,
    frames: &mut Vec<Option<FrameId>>,
) -> Result<(), JsonFault> {
    let by_py_spy = builder.info.producer.as_deref().is_some_and(|name| name.starts_with("py-spy"));
    cursor.begin_array()?;
    while cursor.next_element()? {
        if cursor.peek()? != JsonKind::Object {
            cursor.skip_value()?;
            frames.push(Some(builder.named_frame("", Layer::Application)));
            continue;
        }
        cursor.begin_object()?;
        let (mut name, mut file) = (None, None);
        let (mut line, mut column) = (None, None);
        while let Some(key) = cursor.next_key()? {
            match &*key {
                "name" => name = cursor.lenient_string()?,
                "file" => file = cursor.lenient_string()?,
                "line" => line = cursor.lenient_number()?.and_then(Number::as_u64),
                "col" => column = cursor.lenient_number()?.and_then(Number::as_u64),
                _ => cursor.skip_value()?,
            }
        }
        let name = name.unwrap_or_default();
        let file = file.filter(|file| !file.is_empty());
        if by_py_spy && file.is_none() && is_py_spy_marker(&name) {
            frames.push(None);
            continue;
        }
        let function = Function {
            component: file.as_deref().map(|file| builder.string(file)),
            layer: layer_of(&name, file.as_deref()),
            ..Function::named(builder.string(&native::demangle(&name)))
        };
        let function = builder.function(function);
        frames.push(Some(builder.frame(Frame {
            line: line.and_then(position),
            column: column.and_then(position),
            ..Frame::of(function)
        })));
    }
    Ok(())
}

/// What py-spy puts above the outermost frame with `--subprocesses` and `--threads`: `process 12:"python x.py"` for each
/// process on the way, `thread (34): name`. Their numbers differ from run to run, and the profile's name has them too.
fn is_py_spy_marker(name: &str) -> bool {
    let numbered = |rest: &str, end: &str| {
        let digits =
            rest.trim_start_matches("0x").trim_start_matches(|c: char| c.is_ascii_hexdigit());
        digits.len() < rest.len() && digits.starts_with(end)
    };
    name.strip_prefix("process ").is_some_and(|rest| numbered(rest, ":\""))
        || name.strip_prefix("thread (").is_some_and(|rest| numbered(rest, ")"))
}

/// Whose code a frame is: pseudo-frames of V8, Hermes and .NET by their names, binaries by theirs.
fn layer_of(name: &str, file: Option<&str>) -> Layer {
    match name {
        "(idle)" | "[idle]" | "<idle>" => Layer::Idle,
        "(garbage collector)" | "(GC)" | "[GC]" | "<GC>" => Layer::GarbageCollection,
        "(program)" | "(root)" | "UNMANAGED_CODE_TIME" | "CPU_TIME" => Layer::Runtime,
        _ => file.map_or(Layer::Application, native::layer_of),
    }
}

/// One profile, its parts not read yet.
#[derive(Default)]
struct FoundParts<'a> {
    kind: String,
    name: String,
    unit: String,
    start: Option<Number<'a>>,
    end: Option<Number<'a>>,
    samples: Option<Cursor<'a>>,
    weights: Option<Cursor<'a>>,
    events: Option<Cursor<'a>>,
}

/// A sample's stack.
#[derive(Clone, Copy)]
struct SpeedscopeStack {
    /// None for an empty one.
    at: Option<perfblame_cct::Cursor>,
    /// False when some of its frames do not exist.
    whole: bool,
}

struct SpeedscopeReader {
    /// None for what stands among frames and is none.
    frames: Vec<Option<FrameId>>,
    metrics: SpeedscopeMetrics,
    builder: ProfileBuilder,
    stack: Vec<FrameId>,
}

impl SpeedscopeReader {
    fn profiles<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        found: &mut Vec<FoundParts<'a>>,
    ) -> Result<(), JsonFault> {
        cursor.begin_array()?;
        while cursor.next_element()? {
            if cursor.peek()? != JsonKind::Object {
                cursor.skip_value()?;
                self.builder.warn("damaged-profiles", || "a profile is not an object".to_owned());
                continue;
            }
            cursor.begin_object()?;
            let mut profile = FoundParts::default();
            // A profile that is cut off still has what was seen of it.
            let whole = find_profile(cursor, &mut profile);
            found.push(profile);
            whole?;
        }
        Ok(())
    }

    fn profile(&mut self, profile: &FoundParts) -> Result<(), JsonFault> {
        let (name, pid, tid) = thread_name(&profile.name);
        let name = self.builder.string(name);
        let thread = Some(self.builder.thread(Thread { pid, tid, ..Thread::named(name) }));
        match profile.kind.as_str() {
            "sampled" => self.sampled(profile, thread),
            "evented" => self.evented(profile, thread),
            other => {
                self.builder.warn("unknown-profiles", || {
                    format!(
                        "a profile of type `{other}` was left out; only sampled and evented are supported"
                    )
                });
                Ok(())
            }
        }
    }

    fn sampled(&mut self, profile: &FoundParts, thread: Option<ThreadId>) -> Result<(), JsonFault> {
        let Some(mut samples) = profile.samples else { return Ok(()) };
        let scale = self.metrics.scale(&profile.unit);
        let weight_metric = self.metrics.metric(&mut self.builder, profile);
        let count_metric = self.builder.metric(Metric::sampled("samples", Unit::Count));
        let mut weights = Weights::of(profile.weights);
        let mut time = profile.start.and_then(|start| start.scaled(scale)).unwrap_or(0);
        // Most stacks repeat an earlier one, to the byte.
        let mut known: HashMap<&[u8], SpeedscopeStack> = HashMap::new();
        samples.begin_array()?;
        while samples.next_element()? {
            let raw = samples.raw_value()?;
            let stack = match known.get(raw) {
                Some(stack) => *stack,
                None => *known.entry(raw).insert(self.stack_of(raw)?).get(),
            };
            let weight = match weights.next() {
                Weight::Number(number) => number.scaled(scale),
                // A profile without weights counts.
                Weight::End if profile.weights.is_none() => Some(1),
                Weight::Other | Weight::End => None,
            };
            let Some(weight) = weight else {
                self.builder.warn("damaged-weights", || {
                    "samples without a weight count as samples with weight zero".to_owned()
                });
                self.add(stack, thread, [count_metric, weight_metric], 0, time);
                continue;
            };
            if !stack.whole {
                self.builder.warn("unknown-frames", || {
                    "frames that are not in `shared.frames` were left out of stacks".to_owned()
                });
            }
            self.add(stack, thread, [count_metric, weight_metric], weight, time);
            time = time.saturating_add(weight);
        }
        if !matches!(weights.next(), Weight::End) {
            self.builder.warn("damaged-weights", || {
                "there are more weights than samples; the rest was left out".to_owned()
            });
        }
        Ok(())
    }

    /// Reads one sample's stack, outermost frame first.
    fn stack_of(&mut self, raw: &[u8]) -> Result<SpeedscopeStack, JsonFault> {
        self.stack.clear();
        let mut whole = true;
        let mut marked = false;
        let mut cursor = Cursor::new(raw);
        if cursor.peek()? != JsonKind::Array {
            return Ok(SpeedscopeStack { at: None, whole: false });
        }
        cursor.begin_array()?;
        while cursor.next_element()? {
            let row = cursor.lenient_number()?.and_then(Number::as_u64);
            let row = row.and_then(|row| usize::try_from(row).ok());
            match row.and_then(|row| self.frames.get(row)) {
                Some(Some(frame)) => self.stack.push(*frame),
                Some(None) => marked = true,
                None => whole = false,
            }
        }
        if marked && self.stack.is_empty() {
            // A process that runs no Python yet, or no more.
            self.stack.push(self.builder.named_frame("(no Python)", Layer::Runtime));
        }
        Ok(SpeedscopeStack { at: self.builder.stack(&self.stack), whole })
    }

    fn add(
        &mut self,
        stack: SpeedscopeStack,
        thread: Option<ThreadId>,
        [count, metric]: [MetricId; 2],
        weight: i64,
        time: i64,
    ) {
        let builder = &mut self.builder;
        builder.count_samples(1);
        // Nothing was running: speedscope shows a gap.
        let Some(at) = stack.at else {
            return builder.warn("empty-stacks", || {
                "samples without a stack are counted but have no place in the tree".to_owned()
            });
        };
        builder.add(at, thread, metric, weight);
        builder.add(at, thread, count, 1);
        builder.time_sample(time, at, thread, metric, weight);
    }

    fn evented(&mut self, profile: &FoundParts, thread: Option<ThreadId>) -> Result<(), JsonFault> {
        let Some(cursor) = profile.events else { return Ok(()) };
        let scale = self.metrics.scale(&profile.unit);
        let metric = self.metrics.metric(&mut self.builder, profile);
        let calls = self.builder.metric(Metric::exact("calls", Unit::Count));
        self.builder.exact_metrics(metric, calls);
        let start = profile.start.and_then(|start| start.scaled(scale)).unwrap_or(i64::MIN);
        let mut open = OpenFrames::since(start);
        let Self { frames, builder, .. } = self;
        let walked = events(cursor, |event| {
            let frame = event.frame.and_then(|row| *frames.get(usize::try_from(row).ok()?)?);
            let at = event.at.and_then(|at| at.scaled(scale));
            let (Some(opens), Some(frame), Some(at)) = (event.opens, frame, at) else {
                return builder.warn("damaged-events", || {
                    "events without a type, a known frame or a time were left out".to_owned()
                });
            };
            open.event(builder, thread, opens, frame, at);
        });
        let end = profile.end.and_then(|end| end.scaled(scale)).unwrap_or(open.last);
        open.close(builder, thread, end);
        walked
    }
}

/// Name, process id and thread id out of a profile's name: `Process 12 Thread 34 "MainThread"` and `Thread 0x7F3A "a"`
/// are py-spy's, `Thread (34)` is of dotnet-trace. Any other name is a name.
fn thread_name(text: &str) -> (&str, Option<u64>, Option<u64>) {
    let parse = || {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text.trim_start_matches('(').trim_end_matches(')').parse().ok(),
        };
        let (pid, rest) = match text.strip_prefix("Process ") {
            Some(rest) => {
                let (pid, rest) = rest.split_once(' ')?;
                (Some(number(pid)?), rest)
            }
            None => (None, text),
        };
        let rest = rest.strip_prefix("Thread ")?;
        let (tid, name) = rest.split_once(' ').unwrap_or((rest, "\"\""));
        let name = name.strip_prefix('"')?.strip_suffix('"')?;
        Some((name, pid, Some(number(tid)?)))
    };
    parse().unwrap_or((text, None, None))
}

fn find_profile<'a>(
    cursor: &mut Cursor<'a>,
    profile: &mut FoundParts<'a>,
) -> Result<(), JsonFault> {
    while let Some(key) = cursor.next_key()? {
        match &*key {
            "type" => profile.kind = cursor.lenient_string()?.unwrap_or_default().into(),
            "name" => profile.name = cursor.lenient_string()?.unwrap_or_default().into(),
            "unit" => profile.unit = cursor.lenient_string()?.unwrap_or_default().into(),
            "startValue" => profile.start = cursor.lenient_number()?,
            "endValue" => profile.end = cursor.lenient_number()?,
            "samples" => {
                profile.samples = Some(*cursor);
                cursor.skip_value()?;
            }
            "weights" => {
                profile.weights = Some(*cursor);
                cursor.skip_value()?;
            }
            "events" => {
                profile.events = Some(*cursor);
                cursor.skip_value()?;
            }
            _ => cursor.skip_value()?,
        }
    }
    Ok(())
}

/// The weights of a sampled profile, one after the other, beside its samples.
struct Weights<'a>(Option<Cursor<'a>>);

enum Weight<'a> {
    Number(Number<'a>),
    /// Something that is no number.
    Other,
    End,
}

impl<'a> Weights<'a> {
    fn of(cursor: Option<Cursor<'a>>) -> Self {
        Self(cursor.and_then(|mut cursor| cursor.begin_array().ok().map(|()| cursor)))
    }

    fn next(&mut self) -> Weight<'a> {
        let Some(cursor) = &mut self.0 else { return Weight::End };
        match cursor
            .next_element()
            .and_then(|more| more.then(|| cursor.lenient_number()).transpose())
        {
            Ok(Some(Some(number))) => Weight::Number(number),
            Ok(Some(None)) => Weight::Other,
            Ok(None) | Err(_) => {
                self.0 = None;
                Weight::End
            }
        }
    }
}
