//! Maps that bpftrace prints at its end: a key of stacks and other values in brackets, innermost frame first, and a
//! count.
//!
//! ```text
//! @[
//!     vfs_read+1
//!     ksys_read+93
//! , cat, 123]: 5
//! ```

use perfblame_cct::{FrameId, Layer, Metric, MetricId, Profile, ProfileBuilder, Unit};

use crate::building::byte_memo::ByteMemo;
use crate::building::module_frame::module_frame;
use crate::encodings::text::{self, Blocks, excerpt, shown, trim};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions, Tracer};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "bpftrace",
    producers: "bpftrace: maps keyed by kstack and ustack",
    sniff,
    read,
    tracer: Some(Tracer {
        read: None,
        cut_off: None,
        how_to_record_stacks: "maps have stacks but no times; record events with the script docs/os-events.bt",
    }),
};

const SNIFFED_LINES: usize = 2000;

/// True for text with a line `@name[` that ends there, and frames below it.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    let mut open = false;
    for line in text::head_lines(input, &head).take(SNIFFED_LINES) {
        if open {
            return line.starts_with(b"    ") || line.starts_with(b"]") || line.starts_with(b",");
        }
        open = map_begin(line).is_some_and(|(_, rest)| rest.is_empty());
    }
    false
}

/// `@name[`: the map's name, and what follows the bracket.
fn map_begin(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_prefix(b"@")?;
    let bracket = memchr::memchr(b'[', rest)?;
    let name = rest.get(..bracket)?;
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    name.iter().all(word).then(|| (name, rest.get(bracket + 1..).unwrap_or(&[])))
}

/// `, comm, 12]: 5`: what stands before the bracket, and the count.
fn map_end(line: &[u8]) -> Option<(&[u8], i64)> {
    let at = memchr::memmem::rfind(line, b"]: ")?;
    let count = str::from_utf8(trim(line.get(at + 3..)?)).ok()?.parse().ok()?;
    Some((line.get(..at)?, count))
}

/// Reads the maps that bpftrace printed.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let mut blocks = Blocks::new(input)?;
    let mut builder = options.builder();
    let mut memo: ByteMemo<FrameId> = ByteMemo::new();
    // The map being read and its frames, innermost first; the values of its key beside the stacks, outermost.
    let mut open: Option<MetricId> = None;
    let mut stack: Vec<FrameId> = Vec::new();
    let mut keys: Vec<FrameId> = Vec::new();
    while let Some(block) = blocks.next()? {
        for line in text::lines(block) {
            if open.is_none() {
                if let Some((name, rest)) = map_begin(line) {
                    let name = shown(name);
                    let metric = if name.is_empty() { "samples" } else { &*name };
                    open = Some(builder.metric(Metric::sampled(metric, Unit::Count)));
                    stack.clear();
                    keys.clear();
                    if !trim(rest).is_empty() {
                        finish(&mut builder, rest, &mut open, &stack, &mut keys);
                    }
                } else if !trim(line).is_empty() && !line.starts_with(b"Attaching ") {
                    builder.warn("damaged-lines", || {
                        format!(
                            "lines that do not belong to a map were left out; the first is {}",
                            excerpt(line)
                        )
                    });
                }
                continue;
            }
            if line.starts_with(b"]") || line.starts_with(b",") {
                finish(&mut builder, line, &mut open, &stack, &mut keys);
            } else if !trim(line).is_empty() {
                let text = trim(line);
                stack.push(match memo.find(text) {
                    Ok(frame) => frame,
                    Err(hash) => {
                        let frame = frame(&mut builder, &shown(text));
                        memo.insert(hash, text, frame);
                        frame
                    }
                });
            }
        }
    }
    if open.is_some() {
        builder.warn("cut-off", || "the last map entry has no count and was left out".to_owned());
    }
    blocks.warn_if_cut_off(&mut builder);
    builder.info.producer = Some("bpftrace".to_owned());
    Ok(builder.finish())
}

/// A line that ends a stack, and perhaps the key: `,` between two stacks, `, comm]: 5` at the end.
fn finish(
    builder: &mut ProfileBuilder,
    line: &[u8],
    open: &mut Option<MetricId>,
    stack: &[FrameId],
    keys: &mut Vec<FrameId>,
) {
    let (values, count) = match map_end(line) {
        Some((values, count)) => (values, Some(count)),
        None => (line, None),
    };
    for value in values.split(|byte| *byte == b',').map(trim).filter(|value| !value.is_empty()) {
        keys.push(builder.named_frame(&shown(value), Layer::Application));
    }
    let (Some(count), Some(metric)) = (count, open.as_ref()) else { return };
    // A kernel stack is printed before the user stack that led to it, so the whole is innermost first.
    let mut frames = keys.clone();
    frames.extend(stack.iter().rev());
    if let Some(at) = builder.stack(&frames) {
        builder.add(at, None, *metric, count);
        builder.count_samples(u64::try_from(count).unwrap_or(0));
    }
    *open = None;
}

/// `vfs_read+93`, `0x7f12` or `func+5 (/lib/x.so)`.
fn frame(builder: &mut ProfileBuilder, text: &str) -> FrameId {
    let (symbol, module) = match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
        Some((symbol, module)) => (symbol, Some(module)),
        None => (text, None),
    };
    let symbol = match symbol.rsplit_once('+') {
        Some((name, offset)) if offset.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => symbol,
    };
    module_frame(builder, module, symbol, None, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_fixtures::draw;

    #[test]
    fn maps_are_stacks() {
        let text = b"Attaching 1 probe...

@[
    vfs_read+1
    ksys_read+93
    do_syscall_64+91
, 
    __GI___read+14 (/lib/libc.so.6)
    main+5
, cat]: 5
@[
    vfs_write+1
]: 2
";
        let profile =
            read(Input::from_bytes(text.to_vec()).unwrap(), &ReadOptions::default()).unwrap();
        assert_eq!(
            draw(&profile),
            "cat 5 0\n  main 5 0\n    __GI___read 5 0\n      do_syscall_64 5 0\n        ksys_read 5 0\n          vfs_read 5 5\nvfs_write 2 2\n"
        );
        assert_eq!(profile.warnings, []);
        assert!(sniff(&Input::from_bytes(text.to_vec()).unwrap()));
    }
}
