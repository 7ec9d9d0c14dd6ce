//! Windows' sampled processor usage, exported as CSV from the Windows Performance Analyzer: a line per sample or group
//! of samples, with the whole stack in one field.

use perfblame_cct::{FrameId, Metric, Profile, ProfileBuilder, Thread, Unit};

use crate::building::byte_memo::ByteMemo;
use crate::building::module_frame::module_frame;
use crate::encodings::text::seconds;
use crate::encodings::text::{self, Blocks, excerpt, number, shown};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "xperf",
    producers: "Windows Performance Analyzer, xperf: CPU usage (sampled) as CSV",
    sniff,
    read,
    tracer: None,
};

/// The columns, as written. Function names contain commas, so the fields are found from both ends.
const COLUMNS: &str = "Process Name, Display Name, Process, Stack, Module, Function, Address, Thread ID, CPU, \
                       Weight, % Weight, Count, TimeStamp";

/// True for text whose first line names the columns of the export.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    text::lines(&head).next().is_some_and(|line| shown(line).trim() == COLUMNS)
}

struct XperfRow<'a> {
    process: &'a str,
    stack: &'a str,
    thread: u64,
    /// Milliseconds in nanoseconds.
    weight: i64,
    count: u64,
    time: Option<i64>,
}

fn row(line: &str) -> Option<XperfRow<'_>> {
    let mut right = line.rsplitn(8, ", ");
    let time = seconds(right.next()?.trim().as_bytes());
    let count = number(right.next()?.as_bytes())?;
    let _share = right.next()?;
    let weight: f64 = right.next()?.parse().ok()?;
    let _processor = right.next()?;
    let thread = number(right.next()?.as_bytes())?;
    let _address = right.next()?;
    let left = right.next()?;
    let mut front = left.splitn(4, ", ");
    let _name = front.next()?;
    let _display = front.next()?;
    let process = front.next()?;
    let stack = stack_of(front.next()?);
    let weight = (weight * 1e6).round();
    let weight = (weight.is_finite() && (0.0..9e18).contains(&weight)).then_some(weight as i64)?;
    Some(XperfRow { process, stack, thread, weight, count, time })
}

/// The stack of `stack, module, function`: it ends in the same function, commas and all.
fn stack_of(text: &str) -> &str {
    let mut ends = text.match_indices(", ").filter_map(|(at, _)| {
        let stack = text.get(..at)?;
        let (module, function) = text.get(at + 2..)?.split_once(", ")?;
        let rest = stack.strip_suffix(function)?;
        rest.strip_suffix('!')?.ends_with(module).then_some(stack)
    });
    ends.next().unwrap_or_else(|| {
        let end = text.rmatch_indices(", ").nth(1).map_or(text.len(), |(at, _)| at);
        text.get(..end).unwrap_or(text)
    })
}

/// Reads sampled processor usage.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let mut blocks = Blocks::new(input)?;
    let mut builder = options.builder();
    let cpu = builder.metric(Metric::sampled("cpu", Unit::Nanoseconds));
    let samples = builder.metric(Metric::sampled("samples", Unit::Count));
    let mut frames: ByteMemo<FrameId> = ByteMemo::new();
    let mut stack: Vec<FrameId> = Vec::new();
    let mut first = true;
    while let Some(block) = blocks.next()? {
        for line in text::lines(block) {
            let text = shown(line);
            if std::mem::take(&mut first) || text.trim().is_empty() {
                continue;
            }
            let Some(row) = row(&text) else {
                builder.warn("damaged-lines", || {
                    format!(
                        "lines with missing fields were left out; the first is {}",
                        excerpt(line)
                    )
                });
                continue;
            };
            stack.clear();
            for part in row.stack.split('/').filter(|part| *part != "[Root]" && !part.is_empty()) {
                stack.push(match frames.find(part.as_bytes()) {
                    Ok(frame) => frame,
                    Err(hash) => {
                        let (module, function) = part.split_once('!').unwrap_or(("", part));
                        let frame = module_frame(&mut builder, Some(module), function, None, None);
                        frames.insert(hash, part.as_bytes(), frame);
                        frame
                    }
                });
            }
            if stack.is_empty() {
                stack.push(module_frame(&mut builder, None, "", None, None));
            }
            let thread = thread(&mut builder, row.process, row.thread);
            let thread = Some(builder.thread(thread));
            if let Some(at) = builder.stack(&stack) {
                builder.add(at, thread, cpu, row.weight);
                builder.add(at, thread, samples, i64::try_from(row.count).unwrap_or(i64::MAX));
                builder.count_samples(row.count);
                if let Some(time) = row.time {
                    builder.time_sample(time, at, thread, cpu, row.weight);
                }
            }
        }
    }
    blocks.warn_if_cut_off(&mut builder);
    Ok(builder.finish())
}

/// `val3.exe (4144)` and the thread's id.
fn thread(builder: &mut ProfileBuilder, process: &str, tid: u64) -> Thread {
    let (name, pid) = match process.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
        Some((name, pid)) => (name, pid.trim().parse().ok()),
        None => (process, None),
    };
    let process = Some(builder.string(name));
    Thread { process, pid, tid: Some(tid), ..Thread::named(builder.string("")) }
}
