//! timemory's trees as JSON: for each component that was measured, one tree per rank.

use perfblame_cct::{
    Cursor, Frame, Function, Metric, MetricId, Profile, ProfileBuilder, Thread, ThreadId, Unit,
};
use perfblame_native as native;

use crate::encodings::json::{self, JsonValue};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format =
    Format { name: "timemory", producers: "timemory, omnitrace", sniff, read, tracer: None };

/// True for an object whose first key is `timemory`.
pub fn sniff(input: &Input) -> bool {
    json::top_level_keys(input.head()).first().is_some_and(|key| key == "timemory")
}

/// Reads a timemory file.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    builder.info.producer = Some("timemory".to_owned());
    let document = json::parse_with_warning(&bytes, &mut builder);
    let components = document.root().get("timemory").into_iter().flat_map(JsonValue::entries);
    for (name, component) in components {
        if ["mpi", "upcxx", "graph"].iter().any(|key| component.get(key).is_some()) {
            read_component(name, component, &mut builder);
        }
    }
    if builder.known_metric(MetricId::new(0)).is_none() {
        let what = "it contains no tree";
        let help = "timemory writes trees to files that end in `.tree.json`";
        return Err(ReadError::unsupported(what).help(help));
    }
    Ok(builder.finish())
}

/// What the values of a component are in.
struct Measured {
    metric: MetricId,
    calls: MetricId,
    scale: f64,
}

fn read_component(name: &str, component: JsonValue, builder: &mut ProfileBuilder) {
    let text = |key: &str| component.get(key).and_then(JsonValue::as_str);
    let name = text("type").map_or_else(|| name.to_lowercase(), str::to_owned);
    let (unit, scale, decimals) = match text("unit_repr").unwrap_or_default() {
        "sec" | "s" => (Unit::Nanoseconds, 1e9, 0),
        "msec" | "ms" => (Unit::Nanoseconds, 1e6, 0),
        "usec" | "us" => (Unit::Nanoseconds, 1e3, 0),
        "nsec" | "ns" => (Unit::Nanoseconds, 1.0, 0),
        "B" => (Unit::Bytes, 1.0, 0),
        "KB" => (Unit::Bytes, 1e3, 0),
        "MB" => (Unit::Bytes, 1e6, 0),
        "GB" => (Unit::Bytes, 1e9, 0),
        "" => (Unit::Count, 1.0, 0),
        other => (Unit::Other(other.to_owned()), 1e6, 6),
    };
    let metric = builder.metric(Metric { decimals, ..Metric::exact(&name, unit) });
    let calls = builder.metric(Metric::exact("calls", Unit::Count));
    let measured = Measured { metric, calls, scale };
    for key in ["mpi", "upcxx", "graph"] {
        for (rank, trees) in
            component.get(key).into_iter().flat_map(JsonValue::elements).enumerate()
        {
            let name = builder.string(&format!("rank {rank}"));
            // One tree, or a list of them.
            let trees: Vec<JsonValue> = match trees.as_array() {
                Some(trees) => trees.collect(),
                None => vec![trees],
            };
            let pid = trees.first().and_then(|tree| tree.path(&["node", "pid"])?.at(0)?.as_u64());
            let thread = builder.thread(Thread { pid, ..Thread::named(name) });
            for tree in trees {
                walk(tree, &measured, thread, builder);
            }
        }
    }
}

fn walk(tree: JsonValue, measured: &Measured, thread: ThreadId, builder: &mut ProfileBuilder) {
    let mut todo: Vec<(JsonValue, Option<Cursor>)> = vec![(tree, None)];
    while let Some((tree, above)) = todo.pop() {
        let Some(node) = tree.get("node") else {
            builder.warn("damaged-nodes", || "nodes without values were left out".to_owned());
            continue;
        };
        let name = node.get("prefix").and_then(JsonValue::as_str).unwrap_or_default();
        let laps =
            node.path(&["inclusive", "entry", "laps"]).and_then(JsonValue::as_i64).unwrap_or(0);
        let value = node.path(&["exclusive", "entry", "repr_data"]).and_then(JsonValue::as_f64);
        // The root that holds everything together was never measured.
        let made_up = above.is_none() && laps == 0 && name.starts_with("unknown-hash");
        let at = if made_up {
            None
        } else {
            let name = builder.string(&native::demangle(name));
            let function = builder.function(Function::named(name));
            let frame = builder.frame(Frame::of(function));
            Some(match above {
                Some(above) => builder.child(above, frame),
                None => builder.root(frame),
            })
        };
        if let Some(at) = at {
            let value = value.map(|value| value * measured.scale);
            match value.filter(|value| value.abs() < 9e18) {
                Some(value) => builder.add(at, Some(thread), measured.metric, value.round() as i64),
                None => builder.warn("unreadable-values", || {
                    "values that are not a single number were left out".to_owned()
                }),
            }
            builder.add(at, Some(thread), measured.calls, laps);
        }
        let children: Vec<_> =
            tree.get("children").into_iter().flat_map(JsonValue::elements).collect();
        todo.extend(children.into_iter().rev().map(|child| (child, at)));
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use perfblame_fixtures::{corpus, describe, read_damaged};

    use super::*;

    const EXAMPLE: &str = r#"{"timemory":{"WALL_CLOCK":{"type":"wall","unit_repr":"sec","mpi":[[{"node":{
        "prefix":"unknown-hash=0","pid":[7],"inclusive":{"entry":{"laps":0}},"exclusive":{"entry":{"repr_data":-1.5}}},
        "children":[{"node":{"prefix":"main","inclusive":{"entry":{"laps":2}},"exclusive":{"entry":{"repr_data":1.0}}},
        "children":[{"node":{"prefix":"f","inclusive":{"entry":{"laps":3}},"exclusive":{"entry":{"repr_data":0.5}}},
        "children":[]},{}]}]}]]}}}"#;

    #[test]
    fn trees_by_rank() {
        let input = Input::from_bytes(EXAMPLE.as_bytes().to_vec()).unwrap();
        expect![[r"
            0 samples
            wall 1500000000 ns
            calls 5 count
            thread rank 0
            main 1500000000 1000000000
              f 500000000 500000000
            1 × damaged-nodes: nodes without values were left out
        "]]
        .assert_eq(&describe(&crate::read(input, &ReadOptions::default()).unwrap()));
    }

    #[test]
    fn the_corpus_has_its_total() {
        let Some(corpus) = corpus() else { return };
        let input = Input::open(&corpus.join("hpctoolkit/timemory-wall.tree.json")).unwrap();
        let profile = crate::read(input, &ReadOptions::default()).unwrap();
        assert_eq!(profile.info.format, "timemory");
        assert_eq!(profile.threads.len(), 2);
        let total = profile.cells.total(profile.metric("wall").unwrap());
        assert_eq!(total, 58_636_469_722 + 55_180_332_771);
        assert!(profile.warnings.is_empty());
    }

    #[test]
    fn damaged_files_never_panic() {
        let outcome = read_damaged(EXAMPLE.as_bytes(), 0..300, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
        assert!(outcome.refused > 0);
    }
}
