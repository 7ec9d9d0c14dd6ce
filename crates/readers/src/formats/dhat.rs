//! DHAT, the heap profiler of valgrind and of the Rust crate `dhat`: every place that allocates, with whole stacks and
//! exact numbers.

use perfblame_cct::{
    Frame, FrameId, Function, Metric, MetricId, Profile, ProfileBuilder, Unit, position,
};
use perfblame_native as native;
use std::num::NonZeroU64;

use crate::encodings::json::{self, JsonValue};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "DHAT",
    producers: "valgrind --tool=dhat, the Rust crate dhat",
    sniff,
    read,
    tracer: None,
};

/// True for an object that begins with DHAT's version.
pub fn sniff(input: &Input) -> bool {
    json::top_level_keys(input.head()).iter().any(|key| key == "dhatFileVersion")
}

/// Reads a DHAT file.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let document = json::parse_with_warning(&bytes, &mut builder);
    let root = document.root();
    match root.get("dhatFileVersion").and_then(JsonValue::as_i64) {
        Some(2) => {}
        version => {
            let version = version.map_or("unknown".to_owned(), |number| number.to_string());
            let what = format!("DHAT files of version {version} are not supported, only version 2");
            return Err(ReadError::unsupported(what));
        }
    }
    describe(root, &mut builder);
    let frames: Vec<FrameId> = root
        .get("ftbl")
        .into_iter()
        .flat_map(JsonValue::elements)
        .map(|text| frame(text.as_str().unwrap_or_default(), &mut builder))
        .collect();
    let places = root.get("pps").into_iter().flat_map(JsonValue::elements);
    let places: Vec<JsonValue> = places.collect();
    let columns = metrics(root, &places, &mut builder);
    let mut stack = Vec::new();
    for place in places {
        stack.clear();
        for row in place.get("fs").into_iter().flat_map(JsonValue::elements) {
            let row = row.as_u64().and_then(|row| usize::try_from(row).ok());
            match row.and_then(|row| frames.get(row)) {
                Some(frame) => stack.push(*frame),
                None => builder.warn("unknown-frames", || {
                    "frames that are not in the table were left out of stacks".to_owned()
                }),
            }
        }
        // The file has the innermost frame first.
        stack.reverse();
        let Some(at) = builder.stack(&stack) else {
            builder.warn("empty-stacks", || "places without a stack were left out".to_owned());
            continue;
        };
        for (key, metric, scale) in &columns {
            if let Some(value) = place.get(key).and_then(JsonValue::as_i64) {
                builder.add(at, None, *metric, value.saturating_mul(*scale));
            }
        }
    }
    Ok(builder.finish())
}

fn describe(root: JsonValue, builder: &mut ProfileBuilder) {
    let text = |key: &str| root.get(key).and_then(JsonValue::as_str).map(str::to_owned);
    builder.info.producer = Some("DHAT".to_owned());
    builder.info.command = text("cmd");
    for (key, name) in [("mode", "mode"), ("pid", "pid")] {
        let value = root.get(key);
        let value = value.and_then(|value| {
            value.as_str().map(str::to_owned).or(value.as_i64().map(|number| number.to_string()))
        });
        if let Some(value) = value {
            builder.info.labels.push((name.to_owned(), value));
        }
    }
    builder.info.labels.sort();
    if let (Some(scale), Some(end)) = (time_scale(root), root.get("te").and_then(JsonValue::as_i64))
    {
        builder.info.duration = end.checked_mul(scale);
    }
}

/// What makes nanoseconds of the file's time; none when it counts instructions.
fn time_scale(root: JsonValue) -> Option<i64> {
    Some(match root.get("tu")?.as_str()? {
        "ns" => 1,
        "µs" | "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    })
}

/// The fields that places have, as metrics: total, at the peak and at the end, in bytes and blocks, and more where it
/// was recorded.
fn metrics(
    root: JsonValue,
    places: &[JsonValue],
    builder: &mut ProfileBuilder,
) -> Vec<(&'static str, MetricId, i64)> {
    let text = |key: &str| root.get(key).and_then(JsonValue::as_str);
    let verb = text("verb").unwrap_or("Allocated").to_lowercase();
    // What the file calls bytes and blocks when it counts something else.
    let unit = match text("bu") {
        None | Some("byte") => Unit::Bytes,
        Some(other) => Unit::Other(other.to_owned()),
    };
    let life = match time_scale(root) {
        Some(scale) => (Unit::Nanoseconds, scale),
        None => (Unit::Other(text("tu").unwrap_or("instrs").to_owned()), 1),
    };
    let known = [
        ("tb", verb.clone(), unit.clone(), 1),
        ("tbk", format!("{verb}-blocks"), Unit::Count, 1),
        ("gb", "at-peak".to_owned(), unit.clone(), 1),
        ("gbk", "at-peak-blocks".to_owned(), Unit::Count, 1),
        ("eb", "at-end".to_owned(), unit, 1),
        ("ebk", "at-end-blocks".to_owned(), Unit::Count, 1),
        ("tl", "lifetime".to_owned(), life.0, life.1),
        ("rb", "read".to_owned(), Unit::Bytes, 1),
        ("wb", "written".to_owned(), Unit::Bytes, 1),
    ];
    let there = |key: &str| places.iter().any(|place| place.get(key).is_some());
    let metric = |(key, name, unit, scale): (&'static str, String, Unit, i64)| {
        (key, builder.metric(Metric::exact(&name, unit)), scale)
    };
    known.into_iter().filter(|row| there(row.0)).map(metric).collect()
}

/// `0x4848899: malloc (in /usr/lib/vgpreload_dhat.so)` or `0x1093C6: main (a.c:7)`, with a column in files of Rust.
fn frame(text: &str, builder: &mut ProfileBuilder) -> FrameId {
    let (address, rest) = match text.split_once(": ") {
        Some((address, rest)) if address.starts_with("0x") => {
            (u64::from_str_radix(&address[2..], 16).ok(), rest)
        }
        _ => (None, text),
    };
    let (name, place) = match rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some((name, place)) => (name, Some(place)),
        None => (rest, None),
    };
    let mut function = Function::named(builder.string(&native::demangle(name)));
    let (mut line, mut column) = (None, None);
    if let Some(library) = place.and_then(|place| place.strip_prefix("in ")) {
        function.component = Some(builder.string(library));
        function.layer = native::layer_of(library);
    } else if let Some(place) = place {
        let mut numbers = place.rsplitn(3, ':');
        let last = numbers.next().and_then(|text| text.parse().ok());
        let middle = numbers.next();
        let file = match (middle.and_then(|text| text.parse().ok()), last) {
            (Some(number), Some(last)) => {
                (line, column) = (position(number), position(last));
                numbers.next()
            }
            (None, Some(number)) => {
                line = position(number);
                place.rsplit_once(':').map(|(file, _)| file)
            }
            _ => Some(place),
        };
        function.component = file.map(|file| builder.string(file));
    }
    let function = builder.function(function);
    builder.frame(Frame {
        line,
        column,
        address: address.and_then(NonZeroU64::new),
        ..Frame::of(function)
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use perfblame_cct::{Grain, Times};
    use perfblame_fixtures::{corpus, describe, read_damaged};

    use super::*;

    const EXAMPLE: &str = r#"{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":true,"bkacc":true,
        "tu":"instrs","cmd":"./a","pid":7,"te":10,
        "pps":[{"tb":100,"tbk":2,"tl":5,"gb":60,"gbk":1,"eb":0,"ebk":0,"rb":7,"wb":9,"fs":[1,2]},
               {"tb":10,"tbk":1,"fs":[1,3,9]},{"tb":1,"fs":[]}],
        "ftbl":["[root]","0x48: malloc (in /lib/vg.so)","0x10: main (a.c:7)","0x20: f (b.rs:3:9)"]}"#;

    #[test]
    fn places_become_exact_costs() {
        let input = Input::from_bytes(EXAMPLE.as_bytes().to_vec()).unwrap();
        let profile = crate::read(input, &ReadOptions::default()).unwrap();
        expect![[r"
            0 samples
            allocated 110 bytes
            allocated-blocks 3 count
            at-peak 60 bytes
            at-peak-blocks 1 count
            at-end 0 bytes
            at-end-blocks 0 count
            lifetime 5 instrs
            read 7 bytes
            written 9 bytes
            f 10 0
              malloc 10 10
            main 100 0
              malloc 100 100
            1 × unknown-frames: frames that are not in the table were left out of stacks
            1 × empty-stacks: places without a stack were left out
        "]]
        .assert_eq(&describe(&profile));
    }

    #[test]
    fn the_corpus_has_its_totals() {
        let Some(corpus) = corpus() else { return };
        let input = Input::open(&corpus.join("other/ffprofiler-dhat.json.gz")).unwrap();
        let options =
            ReadOptions { grain: Grain::Frames, times: Times::Drop, ..ReadOptions::default() };
        let profile = crate::read(input, &options).unwrap();
        let total = |name: &str| profile.cells.total(profile.metric(name).unwrap());
        assert_eq!(profile.info.format, "DHAT");
        assert_eq!(
            [total("allocated"), total("allocated-blocks"), total("at-peak"), total("at-end")],
            [21_642, 133, 9_584, 1_112]
        );
        assert!(profile.warnings.is_empty());
    }

    #[test]
    fn damaged_files_never_panic() {
        let outcome = read_damaged(EXAMPLE.as_bytes(), 0..400, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
        assert!(outcome.refused > 0);
    }
}
