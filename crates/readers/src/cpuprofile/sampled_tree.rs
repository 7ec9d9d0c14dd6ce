//! V8's sampled call tree, as it grows: nodes and samples come in pieces, late and out of order.
//!
//! A sample stands for the time from when it was taken until the next one was. V8 writes samples in the order in which
//! they were processed, so 0.3 to 5 % of the deltas are negative: times are added up from the start and samples sorted
//! by them. Sorting needs a short window only, so memory holds nodes, not samples. The time between the start and the
//! first sample belongs to nobody. The last sample lasts until the profile's end where the file states one, else the
//! median gap.
//!
//! Values are added up per V8 node and handed to the builder at the end, when every node and caller has arrived.

use hashbrown::HashMap;
use perfblame_cct::{Cursor, Frame, FrameId, Grain, MetricId, ProfileBuilder, ThreadId, position};

use super::Chunk;

/// Samples held back for sorting. Chunks have at most a hundred samples, and the largest step back seen in real traces
/// (19 ms) spans about two hundred.
const WINDOW: usize = 8192;

/// A call tree of V8 with the samples so far.
#[derive(Default, Debug)]
pub struct SampledTree {
    row_of: HashMap<i64, u32>,
    rows: Vec<Row>,
    /// Where the deltas have led to.
    clock: i64,
    /// Samples not yet in order.
    window: Vec<Sample>,
    /// The sample that waits for its successor.
    last: Option<Sample>,
    end: Option<i64>,
    gaps: Gaps,
    samples: u64,
    late: u64,
    /// Values per line, where the grain asks for lines.
    lines: HashMap<(u32, u32), Value>,
    /// (sample, duration), where times are kept.
    timed: Vec<(Sample, i64)>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Row {
    parent: Option<u32>,
    frame: Option<FrameId>,
    is_root: bool,
    own: Value,
    place: Place,
}

#[derive(Clone, Copy, Default, Debug)]
struct Value {
    /// Nanoseconds, or bytes.
    amount: i64,
    samples: i64,
}

/// Where in our tree a node is.
#[derive(Clone, Copy, Default, Debug)]
enum Place {
    #[default]
    Unknown,
    /// V8's root: what it calls is outermost.
    Outside,
    At(Cursor),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Sample {
    time: i64,
    row: u32,
    line: u32,
}

impl SampledTree {
    /// Sets the time that deltas count from.
    pub fn start_at(&mut self, time: i64) {
        self.clock = time;
    }

    /// True when no sample was added.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Adds what a chunk says.
    pub fn add(&mut self, chunk: &Chunk, builder: &mut ProfileBuilder) {
        for node in &chunk.nodes {
            let row = self.row(node.id);
            let parent = node.parent.map(|parent| self.row(parent));
            let known = &mut self.rows[row as usize];
            known.frame = Some(node.frame);
            known.is_root = node.is_root;
            known.parent = parent.or(known.parent);
        }
        for (caller, callee) in &chunk.edges {
            let (caller, callee) = (self.row(*caller), self.row(*callee));
            self.rows[callee as usize].parent = Some(caller);
        }
        let (by_line, by_time) = (builder.grain() == Grain::Frames, builder.keeps_times());
        for (at, id) in chunk.samples.iter().enumerate() {
            let delta = chunk.deltas.get(at).copied().unwrap_or(0);
            self.clock = self.clock.saturating_add(delta);
            let line = if by_line { chunk.lines.get(at).copied().unwrap_or(0) } else { 0 };
            let row = self.row(*id);
            let line = u32::try_from(line).unwrap_or(0);
            self.window.push(Sample { time: self.clock, row, line });
            if self.window.len() >= WINDOW {
                self.settle(WINDOW / 2, by_time);
            }
        }
        self.samples += chunk.samples.len() as u64;
        self.end = chunk.end.or(self.end);
    }

    /// Adds the hit counts of a profile that lists no samples; each stands for an equal share of the whole.
    pub fn add_hits(&mut self, chunk: &Chunk) {
        let hits: i64 =
            chunk.nodes.iter().fold(0, |sum, node| sum.saturating_add(node.hits.max(0)));
        let span = chunk.end.zip(chunk.start).map_or(0, |(end, start)| end.saturating_sub(start));
        for node in &chunk.nodes {
            let hit = node.hits.max(0);
            let share = i128::from(span.max(0)) * i128::from(hit) / i128::from(hits.max(1));
            let row = self.row(node.id);
            self.rows[row as usize].own = Value { amount: share as i64, samples: hit };
        }
        self.samples = hits as u64;
    }

    /// Adds the sizes of a heap profile in place of times.
    pub fn add_sizes(&mut self, chunk: &Chunk) {
        for node in &chunk.nodes {
            let row = self.row(node.id);
            let own = &mut self.rows[row as usize].own;
            own.amount = own.amount.saturating_add(node.self_size);
        }
        for id in &chunk.samples {
            let row = self.row(*id);
            self.rows[row as usize].own.samples += 1;
        }
        self.samples += chunk.samples.len() as u64;
    }

    fn row(&mut self, id: i64) -> u32 {
        let Self { row_of, rows, .. } = self;
        *row_of.entry(id).or_insert_with(|| {
            rows.push(Row::default());
            rows.len() as u32 - 1
        })
    }

    /// Sorts the window and takes the first `count` samples out of it.
    fn settle(&mut self, count: usize, by_time: bool) {
        self.window.sort_by_key(|sample| sample.time);
        let count = count.min(self.window.len());
        let mut settled = std::mem::take(&mut self.window);
        for sample in settled.drain(..count) {
            if let Some(last) = self.last {
                let gap = sample.time.saturating_sub(last.time);
                self.late += u64::from(gap < 0);
                self.gaps.add(gap);
                self.credit(last, gap.max(0), by_time);
            }
            self.last = Some(sample);
        }
        self.window = settled;
    }

    fn credit(&mut self, sample: Sample, duration: i64, by_time: bool) {
        let own = if sample.line == 0 {
            &mut self.rows[sample.row as usize].own
        } else {
            self.lines.entry((sample.row, sample.line)).or_default()
        };
        own.amount = own.amount.saturating_add(duration);
        own.samples += 1;
        if by_time {
            self.timed.push((sample, duration));
        }
    }

    /// Hands everything to the builder.
    pub fn finish(
        mut self,
        builder: &mut ProfileBuilder,
        thread: Option<ThreadId>,
        (wall, samples): (MetricId, MetricId),
        gaps: &mut Gaps,
    ) {
        let by_time = builder.keeps_times();
        self.settle(usize::MAX, by_time);
        if let Some(last) = self.last {
            let rest = self.end.map(|end| end.saturating_sub(last.time)).filter(|rest| *rest >= 0);
            let rest = rest.or(self.gaps.median()).unwrap_or(0);
            self.credit(last, rest, by_time);
        }
        if self.late > 0 {
            builder.warn_many("late-samples", self.late, || {
                "samples that came far too late for their time stand for no time".to_owned()
            });
        }
        gaps.merge(&self.gaps);
        builder.count_samples(self.samples);
        for row in 0..self.rows.len() {
            let own = self.rows[row].own;
            if own.samples > 0 || own.amount != 0 {
                let at = self.place(row, builder);
                builder.add(at, thread, wall, own.amount);
                builder.add(at, thread, samples, own.samples);
            }
        }
        let mut lines: Vec<_> = self.lines.drain().collect();
        lines.sort_unstable_by_key(|(key, _)| *key);
        for ((row, line), own) in lines {
            let at = self.place_at_line(row as usize, line, builder);
            builder.add(at, thread, wall, own.amount);
            builder.add(at, thread, samples, own.samples);
        }
        for (sample, duration) in std::mem::take(&mut self.timed) {
            let at = self.place_at_line(sample.row as usize, sample.line, builder);
            builder.time_sample(sample.time, at, thread, wall, duration);
        }
    }

    /// The context of a node and of all its callers.
    fn place(&mut self, row: usize, builder: &mut ProfileBuilder) -> Cursor {
        if let Row { is_root: true, parent: None, frame: Some(frame), .. } = self.rows[row] {
            return builder.root(frame);
        }
        // From the node up to the first caller whose place is known.
        let mut path = Vec::new();
        let mut at = Some(row);
        let mut cursor = None;
        while let Some(row) = at {
            match self.rows[row].place {
                Place::At(known) => {
                    cursor = Some(known);
                    break;
                }
                Place::Outside => break,
                Place::Unknown => {}
            }
            if self.rows[row].is_root && self.rows[row].parent.is_none() {
                self.rows[row].place = Place::Outside;
                break;
            }
            if self.rows[row].frame.is_none() || path.len() > self.rows.len() {
                builder.warn("missing-nodes", || {
                    "samples point to nodes or callers that the file does not have; they are kept as partial stacks"
                        .to_owned()
                });
                cursor = Some(builder.truncated_root());
                break;
            }
            path.push(row);
            at = self.rows[row].parent.map(|parent| parent as usize);
        }
        for row in path.into_iter().rev() {
            // Rows without a frame end the walk above.
            let Some(frame) = self.rows[row].frame else { continue };
            let here = match cursor {
                Some(caller) => builder.child(caller, frame),
                None => builder.root(frame),
            };
            self.rows[row].place = Place::At(here);
            cursor = Some(here);
        }
        cursor.unwrap_or_else(|| builder.truncated_root())
    }

    /// The context of a node with the line it was executing.
    fn place_at_line(&mut self, row: usize, line: u32, builder: &mut ProfileBuilder) -> Cursor {
        let (Some(line), Some(frame)) = (position(u64::from(line)), self.rows[row].frame) else {
            return self.place(row, builder);
        };
        let exact = Frame { line: Some(line), ..*builder.symbols.frame(frame) };
        let exact = builder.frame(exact);
        match self.rows[row].parent.map(|parent| parent as usize) {
            Some(parent) if !self.rows[parent].is_root => {
                let caller = self.place(parent, builder);
                builder.child(caller, exact)
            }
            _ => builder.root(exact),
        }
    }
}

/// Gaps between samples, to find the usual one.
#[derive(Default, Debug)]
pub struct Gaps(Vec<i64>);

/// Gaps that are looked at; the usual one shows early.
const GAPS: usize = 1 << 16;

impl Gaps {
    /// Counts one gap; those that are not positive say nothing.
    pub fn add(&mut self, gap: i64) {
        if gap > 0 && self.0.len() < GAPS {
            self.0.push(gap);
        }
    }

    fn merge(&mut self, other: &Self) {
        let room = GAPS.saturating_sub(self.0.len());
        self.0.extend(other.0.iter().take(room));
    }

    /// The median gap.
    pub fn median(&self) -> Option<i64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}
