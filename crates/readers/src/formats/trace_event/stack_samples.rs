//! Sampled stacks beside the events: `samples` that point into `stackFrames`, as Hermes and Chrome's memory tracing
//! write them. Either may come first, so samples are held until the end, at 32 bytes each.

use hashbrown::HashMap;
use perfblame_cct::{
    Cursor as Place, Frame, FrameId, Function, Layer, MetricId, ProfileBuilder, position,
};

use super::event::Id;
use super::threads::{Key, TraceThreads};
use crate::encodings::json::{Cursor, JsonFault};
use crate::v8::{Gaps, layer_of_url, split_location};

/// Samples and frames so far.
#[derive(Default, Debug)]
pub struct StackSamples {
    frames: Vec<StackFrame>,
    row_of: HashMap<Box<[u8]>, usize>,
    samples: Vec<StackSample>,
}

#[derive(Clone, Copy, Debug)]
struct StackFrame {
    frame: Option<FrameId>,
    parent: Option<usize>,
    place: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
struct StackSample {
    thread: Key,
    time: i64,
    row: usize,
}

impl StackSamples {
    /// True when there are samples.
    pub fn any(&self) -> bool {
        !self.samples.is_empty()
    }

    /// First and last time of a sample.
    pub fn span(&self) -> Option<(i64, i64)> {
        let times = || self.samples.iter().map(|sample| sample.time);
        times().min().zip(times().max())
    }

    fn row(&mut self, id: &[u8]) -> usize {
        if let Some(row) = self.row_of.get(id) {
            return *row;
        }
        self.frames.push(StackFrame { frame: None, parent: None, place: None });
        self.row_of.insert(id.into(), self.frames.len() - 1);
        self.frames.len() - 1
    }

    /// Reads one frame.
    pub fn read_frame(
        &mut self,
        id: &str,
        cursor: &mut Cursor<'_>,
        builder: &mut ProfileBuilder,
    ) -> Result<(), JsonFault> {
        let mut name = None;
        let mut parent = None;
        cursor.begin_object()?;
        while let Some(key) = cursor.next_raw_key()? {
            match key {
                b"name" => name = cursor.lenient_string()?,
                b"parent" => parent = Some(cursor.raw_value()?),
                _ => cursor.skip_value()?,
            }
        }
        let row = self.row(id.as_bytes());
        let parent = parent.map(unquoted).filter(|parent| *parent != b"null");
        self.frames[row].parent = parent.map(|parent| self.row(parent));
        self.frames[row].frame = Some(named_frame(&name.unwrap_or_default(), builder));
        Ok(())
    }

    /// Reads one sample.
    pub fn read_sample(
        &mut self,
        cursor: &mut Cursor<'_>,
        threads: &mut TraceThreads,
        builder: &mut ProfileBuilder,
    ) -> Result<(), JsonFault> {
        let (mut pid, mut tid, mut time, mut frame) = (Id::Number(0), Id::Number(0), None, None);
        cursor.begin_object()?;
        while let Some(key) = cursor.next_raw_key()? {
            match key {
                b"pid" => pid = id(cursor)?,
                b"tid" => tid = id(cursor)?,
                b"ts" => time = cursor.lenient_number()?.and_then(|time| time.scaled(3)),
                b"sf" => frame = Some(unquoted(cursor.raw_value()?)),
                _ => cursor.skip_value()?,
            }
        }
        let (Some(time), Some(frame)) = (time, frame) else {
            builder.warn("damaged-records", || {
                "incomplete records were left out; the first is a sample without time or stack"
                    .to_owned()
            });
            return Ok(());
        };
        let row = self.row(frame);
        let thread = (threads.number(pid), threads.number(tid));
        self.samples.push(StackSample { thread, time, row });
        Ok(())
    }

    /// Hands everything to the builder.
    pub fn finish(
        mut self,
        builder: &mut ProfileBuilder,
        threads: &mut TraceThreads,
        (wall, count): (MetricId, MetricId),
        gaps: &mut Gaps,
    ) {
        let mut samples = std::mem::take(&mut self.samples);
        samples.sort_by_key(|sample| (sample.thread, sample.time));
        let next: Vec<Option<i64>> = (0..samples.len())
            .map(|at| {
                let (this, next) = (samples[at], samples.get(at + 1)?);
                (next.thread == this.thread).then(|| next.time.saturating_sub(this.time))
            })
            .collect();
        for gap in next.iter().flatten() {
            gaps.add(*gap);
        }
        let usual = gaps.median().unwrap_or(0);
        for (sample, gap) in samples.iter().zip(next) {
            let thread = threads.get(sample.thread, builder);
            let at = self.place(sample.row, builder);
            let duration = gap.unwrap_or(usual);
            builder.add(at, Some(thread), wall, duration);
            builder.add(at, Some(thread), count, 1);
            builder.time_sample(sample.time, at, Some(thread), wall, duration);
        }
        builder.count_samples(samples.len() as u64);
    }

    fn place(&mut self, row: usize, builder: &mut ProfileBuilder) -> Place {
        let mut path = Vec::new();
        let mut at = Some(row);
        let mut cursor = None;
        while let Some(row) = at {
            if let Some(known) = self.frames[row].place {
                cursor = Some(known);
                break;
            }
            if self.frames[row].frame.is_none() || path.len() > self.frames.len() {
                builder.warn("missing-nodes", || {
                    "samples point to frames that are not in the file; they are kept as partial stacks"
                        .to_owned()
                });
                cursor = Some(builder.truncated_root());
                break;
            }
            path.push(row);
            at = self.frames[row].parent;
        }
        for row in path.into_iter().rev() {
            let Some(frame) = self.frames[row].frame else { continue };
            let here = match cursor {
                Some(caller) => builder.child(caller, frame),
                None => builder.root(frame),
            };
            self.frames[row].place = Some(here);
            cursor = Some(here);
        }
        cursor.unwrap_or_else(|| builder.truncated_root())
    }
}

fn id<'a>(cursor: &mut Cursor<'a>) -> Result<Id<'a>, JsonFault> {
    let bytes = unquoted(cursor.raw_value()?);
    let number = str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    Ok(number.map_or(Id::Text(bytes), Id::Number))
}

fn unquoted(raw: &[u8]) -> &[u8] {
    raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\"")).unwrap_or(raw)
}

/// A frame that is known by a name with, maybe, a place in it.
fn named_frame(text: &str, builder: &mut ProfileBuilder) -> FrameId {
    let layer = if text.starts_with("[GC") { Layer::GarbageCollection } else { Layer::Application };
    let function = match split_location(text) {
        Some((name, file, line, column)) => Function {
            component: Some(builder.string(file)),
            line: line.and_then(position),
            column: column.and_then(position),
            ..Function::named(builder.string(name)).in_layer(layer_of_url(file, true))
        },
        None => Function::named(builder.string(text)).in_layer(layer),
    };
    let function = builder.function(function);
    builder.frame(Frame::of(function))
}
