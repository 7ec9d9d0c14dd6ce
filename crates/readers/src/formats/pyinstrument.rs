//! pyinstrument, the sampling profiler of Python: the tree of its JSON renderer, and its sessions, which hold stacks.

use hashbrown::HashMap;
use perfblame_cct::{
    Cursor, Frame, FrameId, Function, Layer, Metric, MetricId, Profile, ProfileBuilder, Thread,
    Unit, is_library_file, position,
};

use crate::encodings::json::{self, JsonValue};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format =
    Format { name: "pyinstrument", producers: "pyinstrument", sniff, read, tracer: None };

/// True for the keys of pyinstrument's trees and sessions.
pub fn sniff(input: &Input) -> bool {
    let keys = json::top_level_keys(input.head());
    let has = |key: &str| keys.iter().any(|known| known == key);
    has("frame_records") || (has("root_frame") && has("sample_count"))
}

/// Reads a pyinstrument file.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let document = json::parse_with_warning(&bytes, &mut builder);
    let root = document.root();
    let seconds = |key: &str| nanoseconds(root.get(key));
    builder.info.producer = Some("pyinstrument".to_owned());
    let text = |key: &str| root.get(key).and_then(JsonValue::as_str);
    builder.info.command = text("program").or(text("target_description")).map(str::to_owned);
    builder.info.started = seconds("start_time");
    builder.info.duration = seconds("duration");
    let wall = builder.metric(Metric::sampled("wall", Unit::Nanoseconds));
    if let Some(samples) = root.get("sample_count").and_then(JsonValue::as_u64) {
        builder.count_samples(samples);
    }
    if let Some(records) = root.get("frame_records") {
        session(records, wall, &mut builder);
    } else if let Some(frame) = root.get("root_frame") {
        tree(frame, wall, &mut builder);
    }
    Ok(builder.finish())
}

fn nanoseconds(seconds: Option<JsonValue>) -> Option<i64> {
    let nanoseconds = seconds?.as_f64()? * 1e9;
    (nanoseconds.abs() < 9e18).then(|| nanoseconds.round() as i64)
}

/// Frames that stand for their caller's own time.
fn is_own_time(name: &str) -> bool {
    name == "[self]"
}

/// Nested frames with inclusive seconds; what the children do not have is self time.
fn tree(root: JsonValue, wall: MetricId, builder: &mut ProfileBuilder) {
    let mut todo: Vec<(JsonValue, Option<Cursor>)> = vec![(root, None)];
    while let Some((value, above)) = todo.pop() {
        let text = |key: &str| value.get(key).and_then(JsonValue::as_str);
        let name = text("function").unwrap_or_default();
        let line = value.get("line_no").and_then(JsonValue::as_u64).unwrap_or(0);
        let ours = value.get("is_application_code").and_then(JsonValue::as_bool);
        let file = text("file_path").or(text("file_path_short"));
        let frame = frame(name, file, line, ours, builder);
        let at = match above {
            Some(above) => builder.child(above, frame),
            None => builder.root(frame),
        };
        let mut own = nanoseconds(value.get("time")).unwrap_or(0);
        let children: Vec<_> =
            value.get("children").into_iter().flat_map(JsonValue::elements).collect();
        for child in &children {
            let child_name = child.get("function").and_then(JsonValue::as_str).unwrap_or_default();
            if !is_own_time(child_name) {
                own = own.saturating_sub(nanoseconds(child.get("time")).unwrap_or(0));
            }
        }
        if own < -1000 {
            builder.warn("negative-self", || {
                "frames whose callees take longer than themselves have zero self time".to_owned()
            });
        }
        builder.add(at, None, wall, own.max(0));
        let inner = children.into_iter().rev().filter(|child| {
            !is_own_time(child.get("function").and_then(JsonValue::as_str).unwrap_or_default())
        });
        todo.extend(inner.map(|child| (child, Some(at))));
    }
}

/// `[[["name\0file\0line", …], seconds], …]`, outermost frame first. The outermost of all is the thread:
/// `MainThread\0<thread>\0140315881233280`.
fn session(records: JsonValue, wall: MetricId, builder: &mut ProfileBuilder) {
    let mut stack = Vec::new();
    let mut frames_known: HashMap<&str, FrameId> = HashMap::new();
    let mut now = 0i64;
    for record in records.elements() {
        let (Some(frames), Some(time)) = (record.at(0), nanoseconds(record.at(1))) else {
            builder.warn("damaged-records", || "records without a time were left out".to_owned());
            continue;
        };
        stack.clear();
        let mut thread = None;
        for text in frames.elements().filter_map(JsonValue::as_str) {
            let parts = Identifier::of(text);
            if parts.file == Some("<thread>") {
                let name = builder.string(parts.name);
                let tid = Some(parts.line).filter(|tid| *tid > 0);
                thread = Some(builder.thread(Thread { tid, ..Thread::named(name) }));
            } else if !is_own_time(parts.name) {
                stack.push(*frames_known.entry(text).or_insert_with(|| parts.frame(builder)));
            }
        }
        let Some(at) = builder.stack(&stack) else {
            builder.warn("empty-stacks", || "records without a stack were left out".to_owned());
            continue;
        };
        builder.add(at, thread, wall, time);
        builder.time_sample(now, at, thread, wall, time);
        now = now.saturating_add(time);
    }
}

/// `name\0file\0line`, and attributes, each behind a `\x01`: of these `l` is the line being executed.
struct Identifier<'a> {
    name: &'a str,
    file: Option<&'a str>,
    line: u64,
    executing: u64,
}

impl<'a> Identifier<'a> {
    fn of(text: &'a str) -> Self {
        let mut attributes = text.split('\u{1}');
        let mut parts = attributes.next().unwrap_or(text).split('\0');
        let number = |text: &str| text.parse().unwrap_or(0);
        Self {
            name: parts.next().unwrap_or_default(),
            file: parts.next().filter(|file| !file.is_empty()),
            line: parts.next().map_or(0, number),
            executing: attributes.find_map(|text| text.strip_prefix('l')).map_or(0, number),
        }
    }

    fn frame(&self, builder: &mut ProfileBuilder) -> FrameId {
        let entry = frame(self.name, self.file, self.line, None, builder);
        let entry = *builder.symbols.frame(entry);
        builder.frame(entry.at_line(self.executing))
    }
}

fn frame(
    name: &str,
    file: Option<&str>,
    line: u64,
    ours: Option<bool>,
    builder: &mut ProfileBuilder,
) -> FrameId {
    let layer = match (ours, file) {
        (Some(false), _) => Layer::Library,
        (None, Some(file)) if is_library_file(file) => Layer::Library,
        _ if file.is_some_and(|file| file.starts_with('<')) => Layer::Runtime,
        _ => Layer::Application,
    };
    let function = Function {
        component: file.map(|file| builder.string(file)),
        line: position(line),
        layer,
        ..Function::named(builder.string(name))
    };
    let function = builder.function(function);
    builder.frame(Frame::of(function))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use perfblame_fixtures::{corpus, describe, read_damaged};

    use super::*;

    fn parse(text: &str) -> Profile {
        crate::read(Input::from_bytes(text.as_bytes().to_vec()).unwrap(), &ReadOptions::default())
            .unwrap()
    }

    const TREE: &str = r#"{"sample_count":3,"duration":1,"program":"a.py","root_frame":{"function":"main","time":1,
        "file_path":"a.py","line_no":3,"children":[{"function":"f","time":0.25,"children":[
        {"function":"[self]","time":0.25}]},{"function":"g","time":0.5,"is_application_code":false}]}}"#;

    #[test]
    fn trees_and_sessions() {
        expect![[r"
            3 samples
            wall 1000000000 ns
            main 1000000000 250000000
              f 250000000 250000000
              g 500000000 500000000
        "]]
        .assert_eq(&describe(&parse(TREE)));
        let session = "{\"frame_records\":[[[\"T\\u0000<thread>\\u00007\",\"main\\u0000a.py\\u00003\",\"f\\u0000b.py\\u00001\\u0001l9\"],0.001],
            [[\"main\\u0000a.py\\u00003\"],0.002],[7]],\"sample_count\":2}";
        expect![[r"
            2 samples
            wall 3000000 ns
            thread T
            main 3000000 2000000
              f 1000000 1000000
            1 × damaged-records: records without a time were left out
        "]]
        .assert_eq(&describe(&parse(session)));
    }

    #[test]
    fn the_corpus_has_its_total() {
        let Some(corpus) = corpus() else { return };
        let input = Input::open(&corpus.join("hpctoolkit/pyinstrument-hatchet.json")).unwrap();
        let profile = crate::read(input, &ReadOptions::default()).unwrap();
        assert_eq!(profile.info.format, "pyinstrument");
        assert_eq!(profile.samples, 432);
        // The root's 0.47815 s, to the microseconds that the file has.
        let total = profile.cells.total(MetricId::new(0));
        assert!((total - 478_150_000).abs() < 100_000, "{total}");
    }

    #[test]
    fn damaged_files_never_panic() {
        read_damaged(TREE.as_bytes(), 0..300, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
    }
}
