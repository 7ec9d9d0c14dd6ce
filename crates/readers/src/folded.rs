//! Folded stacks: one line per stack, frames joined by `;`, then a blank and a count.

use perfblame_cct::{Frame, Function, Metric, Profile, ProfileBuilder, Unit};

use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "folded",
    producers: "FlameGraph, inferno, py-spy, rbspy, async-profiler, bpftrace, DTrace scripts",
    sniff,
    read,
};

/// True for text whose first line ends in a blank and a number.
pub fn sniff(input: &Input) -> bool {
    let Ok(text) = str::from_utf8(input.head()) else { return false };
    text.lines().next().is_some_and(|line| split(line).is_some())
}

/// Reads folded stacks.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = ProfileBuilder::new(options.grain, options.times);
    let samples = builder.metric(Metric::sampled("samples", Unit::Count));
    let mut stack = Vec::new();
    for line in String::from_utf8_lossy(&bytes).lines() {
        let Some((frames, count)) = split(line) else {
            builder.warn("damaged-lines", || {
                format!("lines without a count were left out, first: {line}")
            });
            continue;
        };
        stack.clear();
        for name in frames.split(';') {
            let name = builder.string(name);
            let function = builder.function(Function::named(name));
            stack.push(builder.frame(Frame::of(function)));
        }
        if let Some(at) = builder.stack(&stack) {
            builder.add(at, None, samples, count);
            builder.count_samples(count.unsigned_abs());
        }
    }
    Ok(builder.finish())
}

fn split(line: &str) -> Option<(&str, i64)> {
    let (frames, count) = line.trim_end().rsplit_once(' ')?;
    Some((frames, count.parse().ok()?))
}
