//! The report of macOS' `sample`: a call graph as indented lines, each with the number of samples in it and below it.

use perfblame_cct::{Cursor, Metric, Profile, ProfileBuilder, Thread, ThreadId, Unit};

use crate::building::module_frame::module_frame;
use crate::building::module_frame::module_layer;
use crate::building::outline::Outline;
use crate::encodings::text::{self, excerpt, number, shown, trim};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "macos sample",
    producers: "macOS: sample, Activity Monitor",
    sniff,
    read,
    tracer: None,
};

/// True for a report of `sample`.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    let mut graph = false;
    for line in text::head_lines(input, &head) {
        if line.starts_with(b"Analysis of sampling ") {
            return true;
        }
        if line == b"Call graph:" {
            graph = true;
        } else if graph && !trim(line).is_empty() {
            return row(line).is_some();
        }
    }
    false
}

/// Indent, number of samples and the rest of a line of the call graph.
fn row(line: &[u8]) -> Option<(usize, u64, &[u8])> {
    let indent = line.iter().position(|byte| !b" +!:|".contains(byte))?;
    let rest = line.get(indent..)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let count = number(rest.get(..digits)?)?;
    let text = rest.get(digits..)?;
    (indent > 0 && text.starts_with(b" ")).then(|| (indent, count, trim(text)))
}

/// Reads a report of `sample`.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = text::read_whole(input)?;
    let mut builder = options.builder();
    let mut lines = text::lines(&bytes);
    let mut interval = None;
    for line in lines.by_ref().take_while(|line| *line != b"Call graph:") {
        let text = shown(line);
        if let Some(rest) = text.strip_prefix("Analysis of sampling ") {
            interval = rest.rsplit_once(" every ").and_then(|(_, every)| interval_of(every));
        }
        if let Some((key, value)) = text.split_once(':') {
            let value = value.trim();
            match key {
                "Path" => builder.info.command = Some(value.to_owned()),
                "Process" | "OS Version" | "Date/Time" => {
                    builder.info.labels.push((key.to_ascii_lowercase(), value.to_owned()));
                }
                _ => {}
            }
        }
    }
    builder.info.labels.sort();
    builder.info.producer = Some("sample".to_owned());
    let mut wall = Metric::sampled("wall", Unit::Nanoseconds);
    wall.period = interval;
    let wall = interval.map(|interval| (builder.metric(wall), interval));
    let samples = builder.metric(Metric::sampled("samples", Unit::Count));
    let mut outline = Outline::default();
    let mut thread: Option<ThreadId> = None;
    let mut threads_at = None;
    let add = |builder: &mut ProfileBuilder, at: Cursor, thread, count: i64| {
        if count > 0 {
            if let Some((wall, interval)) = wall {
                builder.add(at, thread, wall, count.saturating_mul(interval));
            }
            builder.add(at, thread, samples, count);
            builder.count_samples(count.unsigned_abs());
        }
    };
    for line in lines {
        if trim(line).is_empty() {
            if threads_at.is_some() {
                break;
            }
            continue;
        }
        let Some((indent, count, text)) = row(line) else {
            builder.warn("damaged-lines", || {
                format!(
                    "lines that do not belong to the call graph were left out; the first is {}",
                    excerpt(line)
                )
            });
            continue;
        };
        let text = shown(text);
        let top = *threads_at.get_or_insert(indent);
        if indent <= top && text.starts_with("Thread_") {
            outline.close_to(&mut builder, 0, |builder, at, count| add(builder, at, thread, count));
            thread = Some(thread_of(&mut builder, &text));
            continue;
        }
        let frame = frame(&mut builder, &text);
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        outline.enter_inclusive(&mut builder, indent, frame, count, |builder, at, count| {
            add(builder, at, thread, count);
        });
    }
    outline.close_to(&mut builder, 0, |builder, at, count| add(builder, at, thread, count));
    Ok(builder.finish())
}

/// `1 millisecond` in nanoseconds.
fn interval_of(text: &str) -> Option<i64> {
    let (number, unit) = text.split_once(' ')?;
    let number: i64 = number.parse().ok()?;
    let unit = match unit.trim_end_matches('s') {
        "microsecond" => 1_000,
        "millisecond" => 1_000_000,
        "second" => 1_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit).filter(|interval| *interval > 0)
}

/// `Thread_15758523   DispatchQueue_1: com.apple.main-thread  (serial)` or `Thread_1234: worker`.
fn thread_of(builder: &mut ProfileBuilder, text: &str) -> ThreadId {
    let (label, name) = text.split_once([' ', ':']).unwrap_or((text, ""));
    let name = name.trim();
    let name = name.split_once(": ").map_or(name, |(_, queue)| queue);
    let name = builder.string(if name.is_empty() { label } else { name.trim() });
    let tid = label.strip_prefix("Thread_").and_then(|digits| digits.parse().ok());
    builder.thread(Thread { tid, ..Thread::named(name) })
}

/// `name  (in library) + 41  [0x10384b549]`.
fn frame(builder: &mut ProfileBuilder, text: &str) -> perfblame_cct::FrameId {
    let address = text.rsplit_once("[0x").and_then(|(_, rest)| {
        let digits = rest.split([',', ']']).next()?;
        u64::from_str_radix(digits, 16).ok()
    });
    let Some((name, rest)) = text.split_once("  (in ") else {
        let name = text.split("  [0x").next().unwrap_or(text);
        return module_frame(builder, None, name.trim(), None, address);
    };
    let module = rest.split(')').next().unwrap_or(rest);
    module_frame(builder, Some(module), name, Some(module_layer(module)), address)
}
