//! Timelines saved by Safari's Web Inspector.
//!
//! Of a recording we take the sampled stacks of the page's main thread: `sampleStackTraces`, leaf first, with the time
//! each stands for in `sampleDurations`, both in seconds. Lines and columns count from 1; each frame says where it
//! starts and, under `expressionLocation`, where it was. Other records (network, layout, memory) have no call paths and
//! are counted in the label `timeline records`.

use perfblame_cct::{Frame, FrameId, Function, Metric, Profile, ProfileBuilder, Unit, position};

use crate::encodings::json::{JsonValue, parse_prefix, top_level_keys};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use crate::v8::{Gaps, layer_of_url, sampled_metrics};

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "safari recording",
    producers: "Safari Web Inspector (Timelines)",
    sniff,
    read,
    tracer: None,
};

/// True for an object with a `recording` of timelines.
fn sniff(input: &Input) -> bool {
    let keys = top_level_keys(input.head());
    let has = |sign: &[u8]| memchr::memmem::find(input.head(), sign).is_some();
    keys.iter().any(|key| key == "recording")
        && (has(b"\"timeline-record-type-") || has(b"\"sampleStackTraces\""))
}

/// Reads a recording.
fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let (document, fault) = parse_prefix(&bytes);
    let Some(recording) = document.root().get("recording") else {
        let missing = || ReadError::malformed(0, "it contains no recording");
        return Err(fault.map_or_else(missing, ReadError::from));
    };
    let mut builder = options.builder();
    let (wall, count) = sampled_metrics(&mut builder);
    if let Some(fault) = fault {
        let offset = fault.offset();
        builder.warn("cut-off", || {
            let what = ReadError::from(fault);
            format!("the recording cannot be read beyond byte {offset} ({what}); the part before it was kept")
        });
    }
    let traces = elements(recording, "sampleStackTraces");
    let times: Vec<i64> = traces.iter().map(|trace| nanos(trace.get("timestamp"))).collect();
    let durations = elements(recording, "sampleDurations");
    let mut gaps = Gaps::default();
    for value in &durations {
        gaps.add(nanos(Some(*value)));
    }
    let mut stack = Vec::new();
    for (at, trace) in traces.iter().enumerate() {
        stack.clear();
        stack.extend(elements(*trace, "stackFrames").into_iter().map(|f| frame(f, &mut builder)));
        stack.reverse();
        let until_next = || times.get(at + 1).map(|next| next.saturating_sub(times[at]).max(0));
        let stated = durations.get(at).map(|value| nanos(Some(*value)));
        let spent = stated.or_else(until_next).unwrap_or(0);
        builder.count_samples(1);
        let Some(cursor) = builder.stack(&stack) else {
            builder.warn("empty-stacks", || "samples without a stack were left out".to_owned());
            continue;
        };
        builder.add(cursor, None, wall, spent);
        builder.add(cursor, None, count, 1);
        builder.time_sample(times[at], cursor, None, wall, spent);
    }
    if let Some(period) = gaps.median() {
        let metric = Metric::sampled("wall", Unit::Nanoseconds).with_period(period);
        builder.update_metric(wall, metric);
    }
    let span = |key: &str| recording.get(key).map(|value| nanos(Some(value)));
    builder.info.duration =
        span("endTime").zip(span("startTime")).map(|(end, start)| end.saturating_sub(start));
    builder.info.producer = Some("Safari Web Inspector".to_owned());
    builder.info.command =
        recording.get("displayName").and_then(JsonValue::as_str).map(str::to_owned);
    let records = elements(recording, "records").len();
    builder.info.labels.push(("timeline records".to_owned(), records.to_string()));
    Ok(builder.finish())
}

fn elements<'a>(value: JsonValue<'a>, key: &str) -> Vec<JsonValue<'a>> {
    value.get(key).map(|list| list.elements().collect()).unwrap_or_default()
}

/// Seconds as nanoseconds; 0 for what is no number.
fn nanos(seconds: Option<JsonValue<'_>>) -> i64 {
    let seconds = seconds.and_then(JsonValue::as_f64).unwrap_or(0.0);
    (seconds * 1e9).round() as i64
}

fn frame(value: JsonValue<'_>, builder: &mut ProfileBuilder) -> FrameId {
    let text = |key| value.get(key).and_then(JsonValue::as_str).unwrap_or_default();
    let number =
        |value: Option<JsonValue<'_>>| position(value.and_then(JsonValue::as_u64).unwrap_or(0));
    let (url, line) = (text("url"), number(value.get("line")));
    let function = Function {
        component: (!url.is_empty()).then(|| builder.string(url)),
        line,
        column: number(value.get("column")),
        ..Function::named(builder.string(text("name"))).in_layer(layer_of_url(url, line.is_some()))
    };
    let function = builder.function(function);
    builder.frame(Frame {
        line: number(value.path(&["expressionLocation", "line"])),
        column: number(value.path(&["expressionLocation", "column"])),
        ..Frame::of(function)
    })
}
