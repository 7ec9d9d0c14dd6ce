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
use perfblame_cct::{
    Cursor, Frame, FrameId, FunctionId, Grain, Layer, MetricId, ProfileBuilder, ThreadId, position,
};

use super::call_frame::FLOW;
use super::{Gaps, Idle, Recorded, V8Chunk};
use crate::scripts::{Position, ResolvedNames, Use};

/// Samples held back for sorting. Chunks have at most a hundred samples, and the largest step back seen in real traces
/// (19 ms) spans about two hundred.
const WINDOW: usize = 8192;

/// A call tree of V8 with the samples so far.
#[derive(Default, Debug)]
pub struct SampledTree {
    row_of: HashMap<i64, u32>,
    rows: Vec<SampledNode>,
    /// Where the deltas have led to.
    clock: i64,
    /// Samples not yet in order.
    window: Vec<V8Sample>,
    /// The sample that waits for its successor.
    last: Option<V8Sample>,
    end: Option<i64>,
    gaps: Gaps,
    samples: u64,
    /// What of it was recorded; all unless said.
    recorded: Option<Recorded>,
    left_out: u64,
    late: u64,
    /// Values per line, where the grain asks for lines.
    lines: HashMap<(u32, At), NodeValue>,
    /// What places are called, where that is known: frames with the line in the source.
    places: HashMap<(u32, At), Option<FrameId>>,
    /// (sample, duration), where times are kept.
    timed: Vec<(V8Sample, i64)>,
    /// Rows that were current when something else in the trace happened.
    moments: HashMap<i64, u32>,
    /// True when samples are kept until it is known under whom they hang.
    hangs: bool,
    /// When there was nothing to do, where that is kept.
    idle: Option<Idle>,
}

#[derive(Clone, Copy, Default, Debug)]
struct SampledNode {
    script: i64,
    /// The function as recorded, before it got a name.
    recorded: Option<FunctionId>,
    parent: Option<u32>,
    frame: Option<FrameId>,
    is_root: bool,
    /// True for what is in no script: the engine's own, and functions of the browser.
    is_foreign: bool,
    is_idle: bool,
    own: NodeValue,
    place: NodePlace,
}

#[derive(Clone, Copy, Default, Debug)]
struct NodeValue {
    /// Nanoseconds, or bytes.
    amount: i64,
    samples: i64,
}

/// Where in our tree a node is.
#[derive(Clone, Copy, Default, Debug)]
enum NodePlace {
    #[default]
    Unknown,
    /// V8's root: what it calls is outermost.
    Outside,
    At(Cursor),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct V8Sample {
    time: i64,
    row: u32,
    at: At,
}

/// Line and column being executed, 0 where unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct At {
    line: u32,
    column: u32,
}

impl SampledNode {
    /// Its function, as recorded, with its script.
    fn recorded(&self, process: i64, builder: &ProfileBuilder) -> Option<Use> {
        let function = match (self.recorded, self.frame) {
            (Some(function), _) => function,
            (None, frame) => builder.symbols.frame(frame?).function,
        };
        Some(Use { function, script: (process, self.script) })
    }
}

impl SampledTree {
    /// Sets the time that deltas count from.
    pub fn start_at(&mut self, time: i64) {
        self.clock = time;
    }

    /// Keeps samples with their times, for [`SampledTree::hang`]; to be said before the first one.
    pub fn keep_samples(&mut self) {
        self.hangs = true;
    }

    /// Keeps when there was nothing to do, for [`SampledTree::idle`]; to be said before the first sample.
    pub fn keep_idle(&mut self) {
        self.idle = Some(Idle::default());
    }

    /// When there was nothing to do, once all samples have come and if that was kept.
    pub fn idle(&self) -> Option<&Idle> {
        self.idle.as_ref()
    }

    /// Leaves out what is not part of the recording; to be said before the first sample.
    pub fn only(&mut self, recorded: Recorded) {
        self.recorded = Some(recorded);
    }

    /// Samples so far that are not part of the recording.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// True when no sample was added.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Adds what a chunk says.
    pub fn add(&mut self, chunk: &V8Chunk, builder: &mut ProfileBuilder) {
        for node in &chunk.nodes {
            let row = self.row(node.id);
            let parent = node.parent.map(|parent| self.row(parent));
            let known = &mut self.rows[row as usize];
            known.frame = Some(node.frame);
            known.script = node.script;
            known.is_root = node.is_root;
            let function = builder.symbols.frame(node.frame).function;
            let function = builder.symbols.function(function);
            known.is_foreign = function.component.is_none();
            known.is_idle = function.layer == Layer::Idle;
            known.parent = parent.or(known.parent);
        }
        for (caller, callee) in &chunk.edges {
            let (caller, callee) = (self.row(*caller), self.row(*callee));
            self.rows[callee as usize].parent = Some(caller);
        }
        for (moment, node) in &chunk.moments {
            let row = self.row(*node);
            self.moments.insert(*moment, row);
        }
        let by_line = builder.grain() == Grain::Frames && !self.hangs;
        let by_time = builder.keeps_times() || self.hangs;
        for (at, id) in chunk.samples.iter().enumerate() {
            let delta = chunk.deltas.get(at).copied().unwrap_or(0);
            self.clock = self.clock.saturating_add(delta);
            let part = |of: &[i64]| {
                let number = of.get(at).copied().filter(|_| by_line);
                number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
            };
            let line = part(&chunk.lines);
            let column = if line == 0 { 0 } else { part(&chunk.columns) };
            let row = self.row(*id);
            self.window.push(V8Sample { time: self.clock, row, at: At { line, column } });
            if self.window.len() >= WINDOW {
                self.settle(WINDOW / 2, by_time);
            }
        }
        self.samples += chunk.samples.len() as u64;
        self.end = chunk.end.or(self.end);
    }

    /// Adds the hit counts of a profile that lists no samples; each stands for an equal share of the whole.
    pub fn add_hits(&mut self, chunk: &V8Chunk) {
        let hits: i64 =
            chunk.nodes.iter().fold(0, |sum, node| sum.saturating_add(node.hits.max(0)));
        let span = chunk.end.zip(chunk.start).map_or(0, |(end, start)| end.saturating_sub(start));
        for node in &chunk.nodes {
            let hit = node.hits.max(0);
            let share = i128::from(span.max(0)) * i128::from(hit) / i128::from(hits.max(1));
            let row = self.row(node.id);
            self.rows[row as usize].own = NodeValue { amount: share as i64, samples: hit };
        }
        self.samples = hits as u64;
    }

    /// Adds the sizes of a heap profile in place of times.
    pub fn add_sizes(&mut self, chunk: &V8Chunk) {
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
            rows.push(SampledNode::default());
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

    fn credit(&mut self, mut sample: V8Sample, mut duration: i64, by_time: bool) {
        if let Some(recorded) = self.recorded {
            let end = sample.time.saturating_add(duration);
            // What nobody called is waiting: for the page, and at last for the recorder.
            let part = if self.is_engine(sample.row) {
                recorded.idling(sample.time, end)
            } else {
                recorded.work(sample.time, end)
            };
            let Some((from, to)) = part else {
                self.left_out += 1;
                return;
            };
            (sample.time, duration) = (from, to - from);
        }
        if let Some(idle) = self.idle.as_mut().filter(|_| self.rows[sample.row as usize].is_idle) {
            idle.add(sample.time, sample.time.saturating_add(duration));
        }
        let own = if sample.at.line == 0 {
            &mut self.rows[sample.row as usize].own
        } else {
            self.lines.entry((sample.row, sample.at)).or_default()
        };
        own.amount = own.amount.saturating_add(duration);
        own.samples += 1;
        if by_time {
            self.timed.push((sample, duration));
        }
    }

    /// True for the likes of `(idle)`, `(program)` and `(garbage collector)`: nobody called them.
    fn is_engine(&self, row: u32) -> bool {
        let SampledNode { is_foreign, parent, .. } = self.rows[row as usize];
        is_foreign && parent.is_some_and(|parent| self.rows[parent as usize].is_root)
    }

    /// All samples have come: the last one lasts to the end.
    pub fn close(&mut self, by_time: bool) {
        self.settle(usize::MAX, by_time);
        if let Some(last) = self.last.take() {
            let rest = self.end.map(|end| end.saturating_sub(last.time)).filter(|rest| *rest >= 0);
            let rest = rest.or(self.gaps.median()).unwrap_or(0);
            self.credit(last, rest, by_time);
        }
        if let Some(idle) = &mut self.idle {
            idle.close();
        }
    }

    /// Every function with its script.
    pub fn uses(&self, process: i64, builder: &ProfileBuilder) -> Vec<Use> {
        let functions = self.rows.iter().filter_map(|row| row.recorded(process, builder));
        let mut uses: Vec<Use> = functions.collect();
        uses.sort_unstable();
        uses.dedup();
        uses
    }

    /// Every place that was being executed, once all samples have come.
    pub fn positions(&self, process: i64, builder: &ProfileBuilder) -> Vec<Position> {
        let positions = self.lines.keys().filter_map(|(row, at)| {
            let of = self.rows[*row as usize].recorded(process, builder)?;
            Some(Position { of, line: at.line, column: at.column })
        });
        let mut positions: Vec<Position> = positions.collect();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    /// Gives functions and places their names.
    pub fn rename(&mut self, names: &ResolvedNames, process: i64, builder: &mut ProfileBuilder) {
        for row in 0..self.rows.len() {
            let Some(of) = self.rows[row].recorded(process, builder) else { continue };
            let function = names.function(of);
            self.rows[row].recorded = Some(of.function);
            if function != of.function {
                self.rows[row].frame = Some(builder.frame(Frame::of(function)));
            }
        }
        let mut places: Vec<(u32, At)> = self.lines.keys().copied().collect();
        places.sort_unstable();
        for (row, at) in places {
            let Some(of) = self.rows[row as usize].recorded(process, builder) else { continue };
            let function = names.function(of);
            let position_there = Position { of, line: at.line, column: at.column };
            let exact = names.position(position_there).map(|(source, line, column)| {
                let home = builder.symbols.function(function).component;
                Frame {
                    line: position(u64::from(line)),
                    // Only source maps make columns worth having: elsewhere lines are what tools show.
                    column: source.and_then(|_| position(u64::from(column))),
                    file: source.filter(|source| Some(*source) != home),
                    ..Frame::of(function)
                }
            });
            let exact = exact.map(|exact| builder.frame(exact));
            self.places.insert((row, at), exact);
        }
    }

    /// Hands everything to the builder.
    pub fn finish(
        &mut self,
        builder: &mut ProfileBuilder,
        thread: Option<ThreadId>,
        (wall, samples): (MetricId, MetricId),
        gaps: &mut Gaps,
    ) {
        self.close(builder.keeps_times() || self.hangs);
        if self.late > 0 {
            builder.warn_many("late-samples", self.late, || {
                "samples that arrived far too late count as zero time".to_owned()
            });
        }
        gaps.merge(&self.gaps);
        builder.count_samples(self.samples - self.left_out);
        if self.hangs {
            return;
        }
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
        for ((row, at), own) in lines {
            let at = self.place_at_line(row as usize, at, builder);
            builder.add(at, thread, wall, own.amount);
            builder.add(at, thread, samples, own.samples);
        }
        for (sample, duration) in std::mem::take(&mut self.timed) {
            let at = self.place_at_line(sample.row as usize, sample.at, builder);
            builder.time_sample(sample.time, at, thread, wall, duration);
        }
    }

    /// The row that was current at a moment.
    pub fn row_at(&self, moment: i64) -> Option<u32> {
        self.moments.get(&moment).copied()
    }

    /// The nearest caller of a row, itself included, that is a function of the page: not the browser's, and not one
    /// without a name inside of it.
    pub fn asking(&self, row: u32, builder: &ProfileBuilder) -> Option<u32> {
        let function = |row: u32| {
            let known = &self.rows[row as usize];
            let recorded =
                known.recorded.or_else(|| Some(builder.symbols.frame(known.frame?).function));
            recorded.map(|function| *builder.symbols.function(function))
        };
        let mut at = row;
        let mut steps = 0;
        while function(at)?.component.is_none() {
            at = self.rows[at as usize].parent?;
            steps += 1;
            if steps > self.rows.len() {
                return None;
            }
        }
        let inner = at;
        let url = function(at)?.component;
        while builder.symbols.text(function(at)?.name).is_empty() {
            let outer = self.rows[at as usize]
                .parent
                .filter(|outer| function(*outer).is_some_and(|function| function.component == url));
            steps += 1;
            match outer {
                Some(outer) if steps <= self.rows.len() => at = outer,
                _ => return Some(inner),
            }
        }
        Some(at)
    }

    /// The context of a row below another context; below none, its own. Frames come from the outermost caller in.
    pub fn hang(
        &mut self,
        row: u32,
        below: Option<Cursor>,
        builder: &mut ProfileBuilder,
    ) -> Cursor {
        let Some(below) = below else { return self.place(row as usize, builder) };
        let mut frames = Vec::new();
        let mut at = Some(row as usize);
        while let Some(row) = at.filter(|_| frames.len() <= self.rows.len()) {
            let known = &self.rows[row];
            if !known.is_root {
                frames.extend(known.frame);
            }
            at = known.parent.map(|parent| parent as usize);
        }
        frames.into_iter().rev().fold(below, |at, frame| builder.child(at, frame))
    }

    /// True for the likes of `(program)` and `(idle)`, which nobody asked for.
    pub fn is_pseudo(&self, row: u32, builder: &ProfileBuilder) -> bool {
        let SampledNode { frame, parent, .. } = self.rows[row as usize];
        let is_outermost = parent.is_none_or(|parent| self.rows[parent as usize].is_root);
        let function = frame.map(|frame| builder.symbols.frame(frame).function);
        is_outermost && function.is_none_or(|id| builder.symbols.function(id).component.is_none())
    }

    /// Samples with their times, where they were kept: time, row, duration.
    pub fn samples(&self) -> impl Iterator<Item = (i64, u32, i64)> + '_ {
        self.timed.iter().map(|(sample, duration)| (sample.time, sample.row, *duration))
    }

    /// The context of a node and of all its callers.
    pub fn place(&mut self, row: usize, builder: &mut ProfileBuilder) -> Cursor {
        if let SampledNode { is_root: true, parent: None, frame: Some(frame), .. } = self.rows[row]
        {
            return builder.root(frame);
        }
        // From the node up to the first caller whose place is known.
        let mut path = Vec::new();
        let mut at = Some(row);
        let mut cursor = None;
        while let Some(row) = at {
            match self.rows[row].place {
                NodePlace::At(known) => {
                    cursor = Some(known);
                    break;
                }
                NodePlace::Outside => break,
                NodePlace::Unknown => {}
            }
            if self.rows[row].is_root && self.rows[row].parent.is_none() {
                self.rows[row].place = NodePlace::Outside;
                break;
            }
            if self.rows[row].frame.is_none() || path.len() > self.rows.len() {
                builder.warn("missing-nodes", || {
                    "samples point to nodes or callers that are not in the file; they are kept as partial stacks"
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
            let caller = self.rows[row].parent.and_then(|parent| self.rows[parent as usize].frame);
            let here = match cursor {
                Some(ours)
                    if caller.is_some_and(|caller| is_part_of_flow(builder, caller, frame)) =>
                {
                    ours
                }
                Some(caller) => builder.child(caller, frame),
                None => builder.root(frame),
            };
            self.rows[row].place = NodePlace::At(here);
            cursor = Some(here);
        }
        cursor.unwrap_or_else(|| builder.truncated_root())
    }

    /// The context of a node with the line it was executing.
    fn place_at_line(&mut self, row: usize, at: At, builder: &mut ProfileBuilder) -> Cursor {
        let (Some(line), Some(frame)) = (position(u64::from(at.line)), self.rows[row].frame) else {
            return self.place(row, builder);
        };
        let exact = match self.places.get(&(row as u32, at)) {
            Some(Some(exact)) => *exact,
            Some(None) => return self.place(row, builder),
            None => builder.frame(Frame { line: Some(line), ..*builder.symbols.frame(frame) }),
        };
        match self.rows[row].parent.map(|parent| parent as usize) {
            Some(parent) if !self.rows[parent].is_root => {
                let caller = self.place(parent, builder);
                builder.child(caller, exact)
            }
            _ => builder.root(exact),
        }
    }
}

/// True for what a script of our recorder does below itself: it, and what the browser does for it. Handlers of the page
/// that it sets off are the page's.
fn is_part_of_flow(builder: &ProfileBuilder, caller: FrameId, frame: FrameId) -> bool {
    let symbols = &builder.symbols;
    let [caller, callee] = [caller, frame].map(|frame| symbols.frame(frame).function);
    symbols.name(caller) == FLOW
        && (callee == caller
            || symbols.function(callee).component.is_none()
                && symbols.function(callee).line.is_none())
}
