//! V8's `.cpuprofile`: what DevTools, `node --cpu-prof` and the inspector protocol save.
//!
//! One object with a call tree and the samples that point into it. The tree comes as a flat list whose nodes name
//! their `children` (today) or their `parent` (inside traces), or nested under `head` (before 2017), more than a
//! thousand levels deep at times. Times are microseconds: `timeDeltas` from `startTime` on, or `timestamps`.
//!
//! What a sample stands for: the time until the next one, see [`SampledTree`]. `positionTicks` are left out: they count
//! the samples of a node per line and do not say which samples, so that its time could only be shared out by guess.

use perfblame_cct::{Metric, Profile, Unit};

use crate::encodings::json::{Cursor, top_level_keys};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use crate::v8::{Gaps, SampledTree, V8Chunk, name_functions, sampled_metrics};

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "cpuprofile",
    producers: "V8: DevTools, Node (`--cpu-prof`), the inspector protocol",
    sniff,
    read,
    tracer: None,
};

/// True for an object with `nodes` or `head` beside `samples`, `timeDeltas`, `timestamps` or times.
pub fn sniff(input: &Input) -> bool {
    let keys = top_level_keys(input.head());
    let has = |key: &str| keys.iter().any(|known| known == key);
    if !input.head().trim_ascii_start().starts_with(b"{") && !input.head().starts_with(b"\xef") {
        return false;
    }
    let first = memchr::memmem::find(input.head(), b"\"functionName\"").is_some();
    let heap = memchr::memmem::find(input.head(), b"\"selfSize\"").is_some();
    (has("nodes") || has("head")) && first && !heap && !has("traceEvents")
}

/// Reads a profile.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let (wall, samples) = sampled_metrics(&mut builder);
    let mut chunk = V8Chunk::default();
    let mut cursor = Cursor::new(&bytes);
    if let Err(fault) = chunk.read(&mut cursor, &mut builder) {
        if chunk.nodes.is_empty() {
            return Err(fault.into());
        }
        let offset = fault.offset();
        builder.warn("cut-off", || {
            let what = ReadError::from(fault);
            format!("the profile cannot be read beyond byte {offset} ({what}); the part before it was kept")
        });
    }
    chunk.repair_times(&mut builder);
    let mut tree = SampledTree::default();
    tree.start_at(chunk.start.unwrap_or(0));
    tree.add(&chunk, &mut builder);
    if chunk.samples.is_empty() {
        tree.add_hits(&chunk);
    }
    name_functions(std::slice::from_mut(&mut tree), options, &mut builder);
    let mut gaps = Gaps::default();
    tree.finish(&mut builder, None, (wall, samples), &mut gaps);
    if let Some(period) = gaps.median() {
        let metric = Metric::sampled("wall", Unit::Nanoseconds).with_period(period);
        builder.update_metric(wall, metric);
    }
    builder.info.duration =
        chunk.end.zip(chunk.start).map(|(end, start)| end.saturating_sub(start));
    builder.info.producer = Some("V8".to_owned());
    Ok(builder.finish())
}
