//! The stacks that DTrace's aggregations print: frames, innermost first, each indented, then a line with the count.

use perfblame_cct::{FrameId, Metric, Profile, ProfileBuilder, Unit};

use crate::building::byte_memo::ByteMemo;
use crate::building::module_frame::module_frame;
use crate::building::module_frame::{module, module_layer};
use crate::encodings::text::{self, Blocks, excerpt, number, shown, trim};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "dtrace",
    producers: "DTrace: stack() and ustack() aggregations",
    sniff,
    read,
    tracer: None,
};

const SNIFFED_LINES: usize = 400;

/// True for indented lines of which some are `module`function` and one is a lone number.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    let (mut frames, mut counts) = (0, 0);
    for line in text::head_lines(input, &head).take(SNIFFED_LINES) {
        let text = trim(line);
        let indented = line.starts_with(b" ") || line.starts_with(b"\t");
        if text.is_empty() || is_banner(line) {
            continue;
        }
        if !indented || memchr::memchr(b';', text).is_some() {
            return false;
        }
        if number(text).is_some() && frames > 0 {
            counts += 1;
        } else if module(&shown(text)).is_some() {
            frames += 1;
        }
    }
    frames > 0 && (counts > 0 || !input.is_whole())
}

/// `CPU ID FUNCTION:NAME`, and the probe that fired.
fn is_banner(line: &[u8]) -> bool {
    let text = trim(line);
    text.starts_with(b"CPU ") && text.ends_with(b"FUNCTION:NAME")
        || text.starts_with(b"dtrace: ")
        || probe(text).is_some()
}

/// `8  35077   :tick-60s`.
fn probe(text: &[u8]) -> Option<()> {
    let mut words = text.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    number(words.next()?)?;
    number(words.next()?)?;
    words.next()?.contains(&b':').then_some(())
}

/// Reads DTrace's stacks.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let mut blocks = Blocks::new(input)?;
    let mut builder = options.builder();
    let samples = builder.metric(Metric::sampled("samples", Unit::Count));
    let mut memo: ByteMemo<FrameId> = ByteMemo::new();
    let mut stack: Vec<FrameId> = Vec::new();
    while let Some(block) = blocks.next()? {
        for line in text::lines(block) {
            let text = trim(line);
            if text.is_empty() {
                // Kernel and user stack of one aggregation are apart by an empty line.
                continue;
            }
            if is_banner(line) {
                continue;
            }
            if let Some(count) = number(text) {
                stack.reverse();
                match builder.stack(&stack) {
                    Some(at) => {
                        let value = i64::try_from(count).unwrap_or(i64::MAX);
                        builder.add(at, None, samples, value);
                        builder.count_samples(count);
                    }
                    None => builder.warn("damaged-lines", || {
                        format!("counts without a stack were left out; the first is {count}")
                    }),
                }
                stack.clear();
                continue;
            }
            if !(line.starts_with(b" ") || line.starts_with(b"\t")) {
                builder.warn("damaged-lines", || {
                    format!(
                        "lines that are not frames were left out; the first is {}",
                        excerpt(line)
                    )
                });
                continue;
            }
            let frame = match memo.find(text) {
                Ok(frame) => frame,
                Err(hash) => {
                    let frame = frame(&mut builder, &shown(text));
                    memo.insert(hash, text, frame);
                    frame
                }
            };
            stack.push(frame);
        }
    }
    if !stack.is_empty() {
        builder.warn("cut-off", || "the last stack has no count and was left out".to_owned());
    }
    blocks.warn_if_cut_off(&mut builder);
    builder.info.producer = Some("DTrace".to_owned());
    Ok(builder.finish())
}

fn frame(builder: &mut ProfileBuilder, text: &str) -> FrameId {
    match module(text) {
        Some((module, symbol)) => {
            module_frame(builder, Some(module), symbol, Some(module_layer(module)), None)
        }
        None => module_frame(builder, None, text, None, None),
    }
}
