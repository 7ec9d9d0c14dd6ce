//! What a sample's values measure, as pprof and OTLP say it: a type and a unit, both plain words.

use perfblame_cct::{Metric, MetricId, ProfileBuilder, Unit};

use crate::encodings::protobuf::{Field, ProtobufFault};

/// A metric of the profile and what its values in the file are multiplied with.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The metric.
    pub metric: MetricId,
    /// Values of the metric per value in the file.
    pub scale: i64,
}

/// A message of type and unit, both rows of the file's table of strings.
pub fn value_type(field: Field) -> Result<(i64, i64), ProtobufFault> {
    let mut found = (0, 0);
    for field in field.message() {
        let field = field?;
        match field.number {
            1 => found.0 = field.int(),
            2 => found.1 = field.int(),
            _ => {}
        }
    }
    Ok(found)
}

/// The unit a word stands for, and how many of it one of the file's is. Words are those of pprof and UCUM.
pub fn unit(word: &str) -> (Unit, i64) {
    match word {
        "nanoseconds" | "nanosecond" | "ns" => (Unit::Nanoseconds, 1),
        "microseconds" | "microsecond" | "us" | "µs" => (Unit::Nanoseconds, 1_000),
        "milliseconds" | "millisecond" | "ms" => (Unit::Nanoseconds, 1_000_000),
        "seconds" | "second" | "s" | "sec" => (Unit::Nanoseconds, 1_000_000_000),
        "minutes" | "minute" | "min" => (Unit::Nanoseconds, 60_000_000_000),
        "bytes" | "byte" | "By" | "B" => (Unit::Bytes, 1),
        "kilobytes" | "kilobyte" | "kb" | "KB" | "kB" | "KiBy" => (Unit::Bytes, 1 << 10),
        "megabytes" | "megabyte" | "mb" | "MB" | "MiBy" => (Unit::Bytes, 1 << 20),
        "gigabytes" | "gigabyte" | "gb" | "GB" | "GiBy" => (Unit::Bytes, 1 << 30),
        "count" | "samples" | "objects" | "" | "1" | "{count}" => (Unit::Count, 1),
        other => (Unit::Other(other.to_owned()), 1),
    }
}

/// Adds a metric, under a name of its own where the file uses one name twice.
pub fn add_metric(
    builder: &mut ProfileBuilder,
    taken: &mut Vec<String>,
    mut metric: Metric,
) -> MetricId {
    if metric.name.is_empty() {
        metric.unit.name().clone_into(&mut metric.name);
    }
    if taken.contains(&metric.name) {
        metric.name = format!("{} ({})", metric.name, metric.unit.name());
    }
    let base = metric.name.clone();
    let mut number = 1;
    while taken.contains(&metric.name) {
        number += 1;
        metric.name = format!("{base} {number}");
    }
    taken.push(metric.name.clone());
    builder.metric(metric)
}
