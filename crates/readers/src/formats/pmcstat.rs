//! The call graph of FreeBSD's `pmcstat -G`: functions by their share of samples, and below each, indented, its callers.
//!
//! The trees stand on their heads: the first line is the innermost frame, and what a line has beyond the lines below it
//! are stacks that begin there.

use perfblame_cct::{FrameId, Metric, MetricId, Profile, ProfileBuilder, Unit};

use crate::building::module_frame::module_frame;
use crate::encodings::text::{self, excerpt, shown, trim};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format =
    Format { name: "pmcstat", producers: "FreeBSD: pmcstat -G", sniff, read, tracer: None };

/// True for text with a line `@ event [n samples]` and lines with share and count.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    let mut events = text::head_lines(input, &head).filter(|line| !trim(line).is_empty());
    let Some(first) = events.next() else { return false };
    event(&shown(first)).is_some() && events.next().is_none_or(|line| row(&shown(line)).is_some())
}

/// `@ inst_retired.any [35705 samples]`.
fn event(line: &str) -> Option<(&str, i64)> {
    let (name, rest) = line.strip_prefix("@ ")?.split_once(" [")?;
    Some((name, rest.strip_suffix(" samples]")?.parse().ok()?))
}

struct PmcstatRow<'a> {
    indent: usize,
    count: i64,
    name: &'a str,
    module: Option<&'a str>,
}

/// ` 100.0%  [7447]      zio_compress_data @ /boot/kernel/zfs.ko`.
fn row(line: &str) -> Option<PmcstatRow<'_>> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let (share, rest) = text.split_once('%')?;
    share.parse::<f64>().ok()?;
    let (count, rest) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim();
    let (name, module) = match rest.split_once(" @ ") {
        Some((name, module)) => (name, Some(module)),
        None => (rest, None),
    };
    Some(PmcstatRow { indent, count: count.trim().parse().ok()?, name, module })
}

struct PmcstatOpen {
    indent: usize,
    frame: FrameId,
    module: Option<String>,
    count: i64,
    inside: i64,
}

/// Reads the call graph of `pmcstat`.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = text::read_whole(input)?;
    let mut builder = options.builder();
    let mut metric = None;
    let mut open: Vec<PmcstatOpen> = Vec::new();
    for line in text::lines(&bytes).chain([b"".as_slice()]) {
        let text = shown(line);
        let found = row(&text);
        let indent = found.as_ref().map_or(0, |row| row.indent);
        while open.last().is_some_and(|last| last.indent >= indent) {
            close(&mut builder, metric, &mut open);
        }
        let Some(row) = found else {
            if let Some((name, _)) = event(&text) {
                metric =
                    Some(builder.metric(Metric::sampled(name, Unit::Other("samples".to_owned()))));
            } else if !text.trim().is_empty() {
                builder.warn("damaged-lines", || {
                    format!(
                        "lines without share and count were left out; the first is {}",
                        excerpt(line)
                    )
                });
            }
            continue;
        };
        // Only a change of the module is written.
        let above = open.last().and_then(|above| above.module.clone());
        let module = row.module.map(str::to_owned).or(above);
        let layer = module.as_deref().filter(|path| path.starts_with("/boot/kernel/"));
        let layer = layer.map(|_| perfblame_cct::Layer::Kernel);
        let frame = module_frame(&mut builder, module.as_deref(), row.name, layer, None);
        if let Some(above) = open.last_mut() {
            above.inside = above.inside.saturating_add(row.count);
        }
        open.push(PmcstatOpen { indent: row.indent, frame, module, count: row.count, inside: 0 });
    }
    builder.info.producer = Some("pmcstat".to_owned());
    Ok(builder.finish())
}

/// The innermost open line is done: what its callers do not account for are stacks that begin with it.
fn close(builder: &mut ProfileBuilder, metric: Option<MetricId>, open: &mut Vec<PmcstatOpen>) {
    let Some(last) = open.last() else { return };
    let own = last.count.saturating_sub(last.inside).max(0);
    if own > 0 {
        let metric =
            metric.unwrap_or_else(|| builder.metric(Metric::sampled("samples", Unit::Count)));
        let stack: Vec<FrameId> = open.iter().rev().map(|row| row.frame).collect();
        if let Some(at) = builder.stack(&stack) {
            builder.add(at, None, metric, own);
            builder.count_samples(own.unsigned_abs());
        }
    }
    open.pop();
}
