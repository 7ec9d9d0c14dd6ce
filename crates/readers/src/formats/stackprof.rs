//! stackprof, the sampling profiler of Ruby, as JSON.
//!
//! Whole stacks are in `raw`, which stackprof writes when it is asked to: a length, that many frames from the outermost
//! on, how often the stack was seen in a row, and so on. Without it a file only has who called whom, and the stacks are
//! made up from that as for other call graphs.

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Function, FunctionId, Layer, Metric, MetricId, Profile, ProfileBuilder, Unit,
    position,
};

use crate::building::call_graph::CallGraph;
use crate::encodings::json::{self, JsonValue};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format =
    Format { name: "stackprof", producers: "stackprof (Ruby)", sniff, read, tracer: None };

/// True for an object with the keys that only stackprof has.
pub fn sniff(input: &Input) -> bool {
    let keys = json::top_level_keys(input.head());
    let has = |key: &str| keys.iter().any(|known| known == key);
    has("mode") && has("interval") && (has("gc_samples") || has("missed_samples"))
}

/// Reads a stackprof file.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let document = json::parse_with_warning(&bytes, &mut builder);
    let root = document.root();
    let number = |key: &str| root.get(key).and_then(JsonValue::as_i64);
    builder.info.producer = Some("stackprof".to_owned());
    builder.info.started = None;
    let interval = number("interval").unwrap_or(1).max(0);
    let mode = root.get("mode").and_then(JsonValue::as_str).unwrap_or_default();
    let count = Metric::sampled("samples", Unit::Count);
    // What one sample stands for, in the unit of the metric; for `object` that many allocations.
    let (metric, weight) = match mode {
        "wall" | "cpu" => {
            let period = interval.saturating_mul(1000);
            (Some(Metric::sampled(mode, Unit::Nanoseconds).with_period(period)), period)
        }
        "object" => {
            (Some(Metric::sampled("allocations", Unit::Count).with_period(interval)), interval)
        }
        _ => (None, 1),
    };
    let mut reader = StackprofReader {
        frames: HashMap::new(),
        metric: metric.map(|metric| builder.metric(metric)),
        count: builder.metric(count),
        weight,
        builder,
    };
    for (id, frame) in root.get("frames").into_iter().flat_map(JsonValue::entries) {
        reader.frame(id, frame);
    }
    match root.get("raw") {
        Some(raw) => reader.stacks(raw, root),
        None => reader.call_graph(root, options),
    }
    if let Some(missed) = number("missed_samples").filter(|missed| *missed > 0) {
        reader.builder.warn_many("missed-samples", missed as u64, || {
            "samples that the profiler missed".to_owned()
        });
    }
    Ok(reader.builder.finish())
}

struct StackprofReader {
    builder: ProfileBuilder,
    frames: HashMap<i64, (FunctionId, FrameId)>,
    metric: Option<MetricId>,
    count: MetricId,
    weight: i64,
}

impl StackprofReader {
    fn frame(&mut self, id: &str, frame: JsonValue) {
        let Ok(id) = id.parse() else { return };
        let builder = &mut self.builder;
        let text = |key: &str| frame.get(key).and_then(JsonValue::as_str).unwrap_or_default();
        let (name, file) = (text("name"), text("file"));
        let layer = match name {
            "(garbage collection)" | "(marking)" | "(sweeping)" => Layer::GarbageCollection,
            _ if file.contains("/gems/") || file.contains("/lib/ruby/") => Layer::Library,
            _ if file.starts_with('<') => Layer::Runtime,
            _ => Layer::Application,
        };
        let function = Function {
            component: (!file.is_empty()).then(|| builder.string(file)),
            line: frame.get("line").and_then(JsonValue::as_u64).and_then(position),
            layer,
            ..Function::named(builder.string(name))
        };
        let function = builder.function(function);
        self.frames.insert(id, (function, builder.frame(Frame::of(function))));
    }

    fn stacks(&mut self, raw: JsonValue, root: JsonValue) {
        // One for every sample, in microseconds: what really passed, where the mode is about time passing.
        let wall =
            self.metric.filter(|_| root.get("mode").and_then(JsonValue::as_str) == Some("wall"));
        let mut deltas = wall.and(root.get("raw_timestamp_deltas")).map(JsonValue::elements);
        let mut lines = root.get("raw_lines").map(JsonValue::elements);
        let mut numbers = raw.elements();
        let mut stack = Vec::new();
        let mut now = 0i64;
        while let Some(length) = numbers.next() {
            if let Some(lines) = &mut lines {
                lines.next();
            }
            let Some(length) = length.as_u64() else { return self.damaged() };
            stack.clear();
            for _ in 0..length {
                let Some(id) = numbers.next() else { return self.damaged() };
                let line = lines.as_mut().and_then(Iterator::next).and_then(JsonValue::as_u64);
                match id.as_i64().and_then(|id| self.frames.get(&id)) {
                    Some((function, frame)) => stack.push(match line.and_then(position) {
                        None => *frame,
                        line => self.builder.frame(Frame { line, ..Frame::of(*function) }),
                    }),
                    None => self.builder.warn("unknown-frames", || {
                        "frames that the file does not describe were left out of stacks".to_owned()
                    }),
                }
            }
            if let Some(lines) = &mut lines {
                lines.next();
            }
            let Some(times) = numbers.next().and_then(JsonValue::as_u64) else {
                return self.damaged();
            };
            let times = times as i64;
            let passed = deltas.as_mut().map(|deltas| {
                let these = deltas.take(usize::try_from(times).unwrap_or(0));
                let sum = these.filter_map(JsonValue::as_i64).fold(0i64, i64::saturating_add);
                sum.saturating_mul(1000)
            });
            self.builder.count_samples(times.unsigned_abs());
            let Some(at) = self.builder.stack(&stack) else { continue };
            self.builder.add(at, None, self.count, times);
            let value = passed.unwrap_or(self.weight.saturating_mul(times));
            if let Some(metric) = self.metric {
                self.builder.add(at, None, metric, value);
            }
            now = now.saturating_add(value);
            self.builder.time_sample(now, at, None, self.metric.unwrap_or(self.count), value);
        }
    }

    fn damaged(&mut self) {
        self.builder.warn("damaged-stacks", || "the rest of `raw` was left out".to_owned());
    }

    fn call_graph(&mut self, root: JsonValue, options: &ReadOptions) {
        let metrics: Vec<_> = self.metric.into_iter().chain([self.count]).collect();
        let weigh = |samples: i64| -> Vec<i64> {
            let weighed = self.metric.map(|_| samples.saturating_mul(self.weight));
            weighed.into_iter().chain([samples]).collect()
        };
        let mut graph = CallGraph::new(options.grain, metrics, None);
        let mut functions = HashMap::new();
        let rows: Vec<_> = root.get("frames").into_iter().flat_map(JsonValue::entries).collect();
        let id_of = |id: &str| id.parse::<i64>().ok();
        for (id, _) in &rows {
            if let Some(id) = id_of(id)
                && let Some((_, frame)) = self.frames.get(&id)
            {
                functions.entry(id).or_insert_with(|| graph.function(*frame));
            }
        }
        let mut samples = 0i64;
        for (id, frame) in rows {
            let Some(from) = id_of(id).and_then(|id| functions.get(&id)) else { continue };
            let at = graph.entry_of(*from);
            let own = frame.get("samples").and_then(JsonValue::as_i64).unwrap_or(0);
            graph.add_self(at, &weigh(own));
            samples = samples.saturating_add(own);
            for (to, count) in frame.get("edges").into_iter().flat_map(JsonValue::entries) {
                let to = id_of(to).and_then(|to| functions.get(&to));
                if let (Some(to), Some(count)) = (to, count.as_i64())
                    && to != from
                {
                    graph.add_calls(at, *to, count, &weigh(count));
                }
            }
        }
        self.builder.count_samples(samples.unsigned_abs());
        self.builder.warn("no-stacks", || {
            "the file has no stacks; they were reconstructed from callers and callees".to_owned()
        });
        graph.expand(&mut self.builder, None);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use perfblame_fixtures::{corpus, describe, read_damaged};

    use super::*;

    const EXAMPLE: &str = r#"{"version":1.2,"mode":"wall","interval":1000,"samples":4,"gc_samples":1,
        "missed_samples":2,"frames":{"1":{"name":"main","file":"a.rb","line":3,"total_samples":3,"samples":1,
        "edges":{"2":2}},"2":{"name":"work","file":"/gems/b.rb","samples":2},
        "9":{"name":"(garbage collection)","file":"","samples":1}}"#;

    fn parse(text: &str) -> Profile {
        crate::read(Input::from_bytes(text.as_bytes().to_vec()).unwrap(), &ReadOptions::default())
            .unwrap()
    }

    #[test]
    fn raw_stacks_weigh_what_passed() {
        let raw = r#","raw":[1,1,1,2,1,2,2,1,9,1],"raw_timestamp_deltas":[10,20,30,40]}"#;
        expect![[r"
            4 samples
            wall 100000 ns
            samples 4 count
            (garbage collection) 40000 40000
            main 60000 10000
              work 50000 50000
            2 × missed-samples: samples that the profiler missed
        "]]
        .assert_eq(&describe(&parse(&format!("{EXAMPLE}{raw}"))));
    }

    #[test]
    fn without_stacks_there_is_the_call_graph() {
        expect![[r"
            4 samples
            wall 4000000 ns
            samples 4 count
            (garbage collection) 1000000 1000000
            main 3000000 1000000
              work 2000000 2000000
            1 × no-stacks: the file has no stacks; they were reconstructed from callers and callees
            2 × missed-samples: samples that the profiler missed
        "]]
        .assert_eq(&describe(&parse(&format!("{EXAMPLE}}}"))));
    }

    #[test]
    fn the_corpus_agrees_with_speedscope() {
        let Some(corpus) = corpus() else { return };
        let input = Input::open(&corpus.join("other/speedscope-simple-stackprof.json.gz")).unwrap();
        let bytes = input.read_all().unwrap();
        let profile = parse(str::from_utf8(&bytes).unwrap());
        assert_eq!(profile.info.format, "stackprof");
        assert_eq!(profile.samples, 1554);
        let wall = profile.metric("wall").unwrap();
        assert_eq!(profile.cells.total(wall), 1_551_604_000);
        // speedscope hangs collections below whatever ran before; here they are where the file has them.
        let own = profile.self_values(wall);
        let own_of = |name: &str| -> i64 {
            let nodes = profile.tree.nodes().filter(|node| profile.name_of(*node) == name);
            nodes.map(|node| own[node.index()]).sum()
        };
        assert_eq!(own_of("Object#d"), 1_087_582_000);
        assert_eq!(own_of("(garbage collection)"), 464_022_000);
        read_damaged(&bytes, 0..200, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
    }
}
