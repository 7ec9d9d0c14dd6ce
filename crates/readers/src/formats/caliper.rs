//! Caliper, the instrumentation library of HPC codes: its split JSON (`cali-query -q "format json(split)"`) and its own
//! `.cali` streams.
//!
//! What a column counts is known by its name alone, and so is whether it can be added up: minima, maxima and averages
//! cannot and are left out. The unit of `time.duration` changed between versions of Caliper and is not in the files, so
//! values stay as they are unless the name ends in a unit.

mod cali;

use perfblame_cct::{
    Cursor, Frame, Function, Layer, Metric, MetricId, Profile, ProfileBuilder, Thread, ThreadId,
    Unit,
};
use perfblame_native as native;

use crate::encodings::json::{self, JsonValue};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format =
    Format { name: "Caliper", producers: "Caliper", sniff, read, tracer: None };

/// Decimals kept of values that are no whole numbers: Caliper writes six.
const DECIMALS: i32 = 6;

/// True for `.cali` streams and for the keys of Caliper's JSON.
pub fn sniff(input: &Input) -> bool {
    let head = input.head();
    if cali::sniff(head) {
        return true;
    }
    let keys = json::top_level_keys(head);
    let has = |key: &str| keys.iter().any(|known| known == key);
    (has("columns") && has("nodes"))
        || has("column_metadata")
        // The rows come first and may be all we see of it.
        || (keys.len() == 1 && has("data") && {
            let (document, _) = json::parse_prefix(head);
            let rows = document.root().get("data").and_then(|data| data.at(0));
            rows.is_some_and(|row| row.as_array().is_some())
        })
}

/// Reads a Caliper file.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let is_stream = cali::sniff(input.head());
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    builder.info.producer = Some("Caliper".to_owned());
    if is_stream {
        cali::read(&bytes, &mut builder);
    } else {
        read_json(&bytes, &mut builder);
    }
    Ok(builder.finish())
}

/// What a column means.
#[derive(Clone, Copy, Debug)]
enum CaliperColumn {
    Path,
    Rank,
    /// Self values.
    Own(MetricId),
    /// Values with everything below.
    Inclusive(MetricId),
    Other,
}

/// What a value's name says; `have` tells whether another value of the file has a name.
fn column(name: &str, have: impl Fn(&str) -> bool, builder: &mut ProfileBuilder) -> CaliperColumn {
    if matches!(name, "mpi.rank" | "rank" | "omp.thread.id" | "pthread.id" | "jsrt.rank") {
        return CaliperColumn::Rank;
    }
    if let Some(own) = name.strip_prefix("inclusive#").or(name.strip_prefix("inclusive_")) {
        if have(own) {
            return CaliperColumn::Other;
        }
        return CaliperColumn::Inclusive(metric(own, builder));
    }
    let derived = ["min#", "max#", "avg#", "ratio#", "percent", "inclusive_percent"];
    if derived.iter().any(|start| name.starts_with(start)) {
        return CaliperColumn::Other;
    }
    CaliperColumn::Own(metric(name, builder))
}

fn metric(name: &str, builder: &mut ProfileBuilder) -> MetricId {
    let name = name.strip_prefix("sum#").unwrap_or(name);
    let metric = if name == "count" {
        Metric::exact("calls", Unit::Count)
    } else if name.strip_suffix(".ns").is_some() {
        Metric::exact(name, Unit::Nanoseconds)
    } else if name.contains("time") {
        let unit = Unit::Other("time".to_owned());
        Metric { decimals: DECIMALS as u8, ..Metric::exact(name, unit) }
    } else {
        Metric::exact(name, Unit::Count)
    };
    builder.metric(metric)
}

/// A value as it is stored for its metric.
fn stored(value: f64, metric: MetricId, builder: &ProfileBuilder) -> i64 {
    let decimals = builder.known_metric(metric).map_or(0, |metric| metric.decimals);
    let scaled = value * 10f64.powi(i32::from(decimals));
    if scaled.abs() < 9e18 { scaled.round() as i64 } else { 0 }
}

fn frame(name: &str, builder: &mut ProfileBuilder) -> perfblame_cct::FrameId {
    let name = builder.string(&native::demangle(name));
    let function = builder.function(Function::named(name));
    builder.frame(Frame::of(function))
}

fn rank(number: &str, builder: &mut ProfileBuilder) -> ThreadId {
    let name = builder.string(&format!("rank {number}"));
    builder.thread(Thread::named(name))
}

/// What was measured outside of every region.
fn outside(builder: &mut ProfileBuilder) -> Cursor {
    let frame = builder.named_frame("(no path)", Layer::Runtime);
    builder.root(frame)
}

fn read_json(bytes: &[u8], builder: &mut ProfileBuilder) {
    let document = json::parse_with_warning(bytes, builder);
    let root = document.root();
    let list = |key: &str| root.get(key).into_iter().flat_map(JsonValue::elements);
    let names: Vec<&str> = list("columns").map(|name| name.as_str().unwrap_or_default()).collect();
    let values: Vec<bool> = list("column_metadata")
        .map(|column| column.get("is_value").and_then(JsonValue::as_bool).unwrap_or(false))
        .collect();
    let path = path_column(&names, &values);
    let mut nodes: Vec<(Option<Cursor>, Option<usize>)> = Vec::new();
    for node in list("nodes") {
        let label = node.get("label").and_then(JsonValue::as_str).unwrap_or_default();
        let on_path = path.is_some() && node.get("column").and_then(JsonValue::as_str) == path;
        let parent = node.get("parent").and_then(JsonValue::as_u64).map(|row| row as usize);
        // A parent stands before its children.
        let above = parent.and_then(|row| nodes.get(row)).and_then(|node| node.0);
        let at = on_path.then(|| {
            let frame = frame(label, builder);
            match above {
                Some(above) => builder.child(above, frame),
                None => builder.root(frame),
            }
        });
        nodes.push((at, parent));
    }
    let columns: Vec<CaliperColumn> = (names.iter().enumerate())
        .map(|(place, name)| match values.get(place) {
            Some(true) => column(name, |other| names.contains(&other), builder),
            _ if Some(*name) == path => CaliperColumn::Path,
            _ => CaliperColumn::Other,
        })
        .collect();
    let nowhere = outside_if_needed(root, &columns, builder);
    for row in list("data") {
        add_row(row, &columns, &nodes, nowhere, builder);
    }
}

fn outside_if_needed(
    root: JsonValue,
    columns: &[CaliperColumn],
    builder: &mut ProfileBuilder,
) -> Option<Cursor> {
    let place = columns.iter().position(|column| matches!(column, CaliperColumn::Path));
    let rows = root.get("data").into_iter().flat_map(JsonValue::elements);
    let lacks = |row: JsonValue| {
        let at = place.and_then(|place| row.at(place));
        at.and_then(JsonValue::as_u64).is_none()
    };
    rows.into_iter().any(lacks).then(|| outside(builder))
}

fn add_row(
    row: JsonValue,
    columns: &[CaliperColumn],
    nodes: &[(Option<Cursor>, Option<usize>)],
    nowhere: Option<Cursor>,
    builder: &mut ProfileBuilder,
) {
    let cells: Vec<JsonValue> = row.elements().collect();
    let (mut at, mut above, mut thread) = (nowhere, None, None);
    for (column, cell) in columns.iter().zip(&cells) {
        match column {
            CaliperColumn::Path => {
                let node = cell.as_u64().and_then(|row| nodes.get(row as usize));
                if let Some((cursor, parent)) = node {
                    at = *cursor;
                    above = parent.and_then(|row| nodes.get(row)).and_then(|node| node.0);
                } else if !cell.is_null() {
                    at = None;
                }
            }
            CaliperColumn::Rank => {
                thread = cell.as_i64().map(|number| rank(&number.to_string(), builder));
            }
            _ => {}
        }
    }
    let Some(at) = at else {
        return builder
            .warn("unknown-nodes", || "rows whose node does not exist were left out".to_owned());
    };
    for (column, cell) in columns.iter().zip(&cells) {
        let Some(value) = cell.as_f64() else { continue };
        match column {
            CaliperColumn::Own(metric) => {
                builder.add(at, thread, *metric, stored(value, *metric, builder));
            }
            CaliperColumn::Inclusive(metric) => {
                // What a caller has without its callees is its own: each callee takes its part away.
                let value = stored(value, *metric, builder);
                builder.add(at, thread, *metric, value);
                if let Some(above) = above {
                    builder.add(above, thread, *metric, value.saturating_neg());
                }
            }
            _ => {}
        }
    }
}

/// The column that holds call paths.
fn path_column<'a>(names: &[&'a str], values: &[bool]) -> Option<&'a str> {
    let mut paths = names.iter().enumerate().filter(|(row, _)| values.get(*row) == Some(&false));
    let known = ["path", "source.function#callpath.address", "callpath", "function", "region"];
    let all: Vec<&str> = paths.by_ref().map(|(_, name)| *name).collect();
    known.iter().find_map(|name| all.iter().find(|known| *known == name)).or(all.first()).copied()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use perfblame_fixtures::{corpus, describe, read_damaged};

    use super::*;

    const JSON: &str = r#"{"data":[[10.5,0,1,0],[4,0,1,1],[3,1,2,1],[1,0,1,null]],
        "columns":["inclusive#sum#time.duration","mpi.rank","count","path"],
        "column_metadata":[{"is_value":true},{"is_value":true},{"is_value":true},{"is_value":false}],
        "nodes":[{"column":"path","label":"main"},{"column":"path","label":"f","parent":0}]}"#;

    const CALI: &str = "__rec=node,id=19,attr=10,data=268,parent=3\n__rec=node,id=20,attr=8,data=function,parent=19\n\
        __rec=node,id=96,attr=10,data=21,parent=5\n__rec=node,id=111,attr=8,data=sum#time.duration,parent=96\n\
        __rec=node,id=97,attr=8,data=max#time.duration,parent=96\n__rec=node,id=148,attr=8,data=count,parent=96\n\
        __rec=node,id=155,attr=20,data=main\\,x,parent=28\n__rec=node,id=156,attr=20,data=f,parent=155\n\
        __rec=ctx,ref=155,attr=97=111=148,data=9=0.5=1\n__rec=ctx,ref=156,attr=111=148,data=0.25=3\n\
        __rec=ctx,attr=111,data=1\n__rec=ctx,ref=999,attr=111,data=1\n";

    fn parse(text: &str) -> Profile {
        crate::read(Input::from_bytes(text.as_bytes().to_vec()).unwrap(), &ReadOptions::default())
            .unwrap()
    }

    #[test]
    fn json_and_streams() {
        expect![[r"
            0 samples
            time.duration 11.5 time
            calls 5 count
            thread rank 0
            thread rank 1
            (no path) 1000000 1000000
            main 10500000 3500000
              f 7000000 7000000
        "]]
        .assert_eq(&describe(&parse(JSON)));
        expect![[r"
            0 samples
            time.duration 1.75 time
            calls 4 count
            (no path) 1000000 1000000
            main,x 750000 500000
              f 250000 250000
            1 × damaged-records: records that are cut off or have dangling references were left out
        "]]
        .assert_eq(&describe(&parse(CALI)));
    }

    #[test]
    fn the_corpus_has_its_totals() {
        let Some(corpus) = corpus() else { return };
        // File, metric, its total, ranks.
        for (name, metric, total, ranks) in [
            ("caliper-lulesh.json", "time.duration", 47_247_337.0, 8),
            ("caliper-cpi-callpath.json", "time.duration", 2_299_906.0, 4),
            ("caliper-lulesh.cali", "time.duration", 0.493_788, 0),
        ] {
            let path = corpus.join("hpctoolkit").join(name);
            let profile =
                crate::read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
            assert_eq!(profile.info.format, "Caliper");
            let id = profile.metric(metric).unwrap();
            let sum = profile.metrics[id.index()].shown(profile.cells.total(id));
            assert!((sum - total).abs() < 1e-9, "{name}: {sum}");
            assert_eq!(profile.threads.len(), ranks, "{name}");
            assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
        }
    }

    #[test]
    fn damaged_files_never_panic() {
        for sample in [JSON, CALI] {
            read_damaged(sample.as_bytes(), 0..300, |bytes| {
                read(Input::from_bytes(bytes)?, &ReadOptions::default())
            });
        }
    }
}
