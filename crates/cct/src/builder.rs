//! Building a profile. The builder only grows; [`ProfileBuilder::finish`] sorts into pre-order and freezes.
//!
//! It has two doors, as profiles come in two kinds: [`ProfileBuilder::sample`] takes whole stacks, and
//! [`ProfileBuilder::enter`] with [`ProfileBuilder::leave`] takes calls with their times. Readers that know their own
//! tree walk it with [`ProfileBuilder::root`] and [`ProfileBuilder::child`].

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::hash::BuildHasher;

use crate::{
    CallSite, Cells, Frame, FrameId, Function, FunctionId, Grain, Info, Layer, Metric, MetricId,
    OpenNode, OpenTree, Profile, StringId, Symbols, TRUNCATED, Thread, ThreadId, TimedCall,
    TimedSample, Timeline, Warning,
};

/// Whether a profile keeps its samples and calls by time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Times {
    /// Memory stays proportional to the tree.
    #[default]
    Drop,
    /// Memory grows with the recording.
    Keep,
}

/// A context of the tree under construction together with the exact frame that led there, which is the call site of
/// whatever comes below.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cursor {
    node: OpenNode,
    frame: FrameId,
}

/// Grows a profile.
#[derive(Debug, Default)]
pub struct ProfileBuilder {
    /// Strings, functions and frames so far.
    pub symbols: Symbols,
    /// What the file says about itself.
    pub info: Info,
    grain: Grain,
    times: Times,
    threads: Vec<Thread>,
    thread_index: HashMap<Thread, ThreadId>,
    metrics: Vec<Metric>,
    tree: OpenTree,
    labels: Labels,
    cell_keys: Vec<(OpenNode, Option<ThreadId>)>,
    cell_index: HashMap<(OpenNode, Option<ThreadId>), u32>,
    columns: Vec<Vec<i64>>,
    stacks: StackMemo,
    truncated: Option<FrameId>,
    samples: u64,
    timed_samples: Vec<(i64, Option<ThreadId>, OpenNode, MetricId, i64)>,
    timed_calls: Vec<(i64, i64, Option<ThreadId>, OpenNode)>,
    running: HashMap<Option<ThreadId>, Vec<OpenCall>>,
    exact: Option<(MetricId, MetricId)>,
    warnings: Vec<Warning>,
    warning_index: HashMap<String, usize>,
}

#[derive(Clone, Copy, Debug)]
struct OpenCall {
    cursor: Cursor,
    start: i64,
    /// Time that callees have used up.
    inside: i64,
}

impl ProfileBuilder {
    /// An empty profile whose tree will have this grain.
    pub fn new(grain: Grain, times: Times) -> Self {
        Self { grain, times, ..Self::default() }
    }

    /// What tells the contexts of the tree apart.
    pub fn grain(&self) -> Grain {
        self.grain
    }

    /// True when [`ProfileBuilder::sample_at`] and [`ProfileBuilder::leave`] keep times.
    pub fn keeps_times(&self) -> bool {
        self.times == Times::Keep
    }

    /// Finds or adds a text.
    pub fn string(&mut self, text: &str) -> StringId {
        self.symbols.string(text)
    }

    /// Finds or adds a function.
    pub fn function(&mut self, function: Function) -> FunctionId {
        self.symbols.intern_function(function)
    }

    /// Finds or adds a frame.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        self.symbols.intern_frame(frame)
    }

    /// A frame that is known by its function's name and layer alone, such as `(idle)`.
    pub fn named_frame(&mut self, name: &str, layer: Layer) -> FrameId {
        let name = self.string(name);
        let function = self.function(Function::named(name).in_layer(layer));
        self.frame(Frame::of(function))
    }

    /// Finds or adds a thread.
    pub fn thread(&mut self, thread: Thread) -> ThreadId {
        let Self { threads, thread_index, .. } = self;
        *thread_index.entry(thread).or_insert_with(|| {
            threads.push(thread);
            ThreadId::new(threads.len() - 1)
        })
    }

    /// Changes what is known of a thread; traces name their threads late.
    pub fn update_thread(&mut self, id: ThreadId, thread: Thread) {
        if let Some(row) = self.threads.get_mut(id.index()) {
            *row = thread;
        }
    }

    /// What is known of a thread so far.
    pub fn known_thread(&self, id: ThreadId) -> Option<Thread> {
        self.threads.get(id.index()).copied()
    }

    /// Finds a metric by name, or adds it.
    pub fn metric(&mut self, metric: Metric) -> MetricId {
        if let Some(row) = self.metrics.iter().position(|known| known.name == metric.name) {
            return MetricId::new(row);
        }
        self.metrics.push(metric);
        self.columns.push(vec![0; self.cell_keys.len()]);
        MetricId::new(self.metrics.len() - 1)
    }

    /// What is known of a metric so far.
    pub fn known_metric(&self, id: MetricId) -> Option<&Metric> {
        self.metrics.get(id.index())
    }

    /// Changes what is known of a metric, such as its period; some files tell at their end.
    pub fn update_metric(&mut self, id: MetricId, metric: Metric) {
        if let Some(row) = self.metrics.get_mut(id.index()) {
            *row = metric;
        }
    }

    /// Multiplies every value of a metric so far; a file's first fraction can come late.
    pub fn scale_metric(&mut self, id: MetricId, factor: i64) {
        for value in self.columns.get_mut(id.index()).into_iter().flatten() {
            *value = value.saturating_mul(factor);
        }
        for sample in self.timed_samples.iter_mut().filter(|sample| sample.3 == id) {
            sample.4 = sample.4.saturating_mul(factor);
        }
    }

    /// Adds every value of one metric so far to another; a file's second event can come late.
    pub fn copy_metric(&mut self, from: MetricId, into: MetricId) {
        let Some(values) = self.columns.get(from.index()).cloned() else { return };
        if let Some(column) = self.columns.get_mut(into.index()) {
            for (slot, value) in column.iter_mut().zip(values) {
                *slot = slot.saturating_add(value);
            }
        }
    }

    /// Keeps these metrics, in this order, and drops the others with their values: what a file holds, and so which
    /// metric is the one to show, may be known only at its end. Ids given out before mean nothing afterwards.
    pub fn choose_metrics(&mut self, keep: &[MetricId]) {
        let known = |id: &&MetricId| id.index() < self.metrics.len();
        let keep: Vec<MetricId> = keep.iter().filter(known).copied().collect();
        self.metrics = keep.iter().map(|id| self.metrics[id.index()].clone()).collect();
        self.columns =
            keep.iter().map(|id| std::mem::take(&mut self.columns[id.index()])).collect();
        let place = |id: MetricId| keep.iter().position(|kept| *kept == id).map(MetricId::new);
        self.timed_samples.retain_mut(|sample| place(sample.3).map(|id| sample.3 = id).is_some());
        self.exact = self.exact.and_then(|(time, calls)| Some((place(time)?, place(calls)?)));
    }

    /// Counts one more occurrence of a warning; its message stays that of the first.
    pub fn warn(&mut self, code: &str, message: impl FnOnce() -> String) {
        self.warn_many(code, 1, message);
    }

    /// Counts `count` more occurrences of a warning; its message stays that of the first.
    pub fn warn_many(&mut self, code: &str, count: u64, message: impl FnOnce() -> String) {
        if let Some(row) = self.warning_index.get(code) {
            self.warnings[*row].count = self.warnings[*row].count.saturating_add(count);
            return;
        }
        self.warning_index.insert(code.to_owned(), self.warnings.len());
        self.warnings.push(Warning { code: code.to_owned(), message: message(), count });
    }

    /// The context of an outermost frame.
    pub fn root(&mut self, frame: FrameId) -> Cursor {
        let label = self.labels.label(&mut self.symbols, self.grain, None, frame);
        Cursor { node: self.tree.child(None, label), frame }
    }

    /// The context of `frame` called from `parent`.
    pub fn child(&mut self, parent: Cursor, frame: FrameId) -> Cursor {
        let label = self.labels.label(&mut self.symbols, self.grain, Some(parent.frame), frame);
        Cursor { node: self.tree.child(Some(parent.node), label), frame }
    }

    /// The root under which stacks are kept whose outermost frames were cut off.
    pub fn truncated_root(&mut self) -> Cursor {
        let frame = match self.truncated {
            Some(frame) => frame,
            None => self.named_frame(TRUNCATED, Layer::Runtime),
        };
        self.truncated = Some(frame);
        self.root(frame)
    }

    /// The context of a whole stack, outermost frame first; none for an empty stack.
    pub fn stack(&mut self, frames: &[FrameId]) -> Option<Cursor> {
        let last = *frames.last()?;
        let hash = self.stacks.hash(frames);
        if let Some(node) = self.stacks.find(hash, frames) {
            return Some(Cursor { node, frame: last });
        }
        let mut cursor: Option<Cursor> = None;
        for frame in frames {
            cursor = Some(match cursor {
                None => self.root(*frame),
                Some(parent) => self.child(parent, *frame),
            });
        }
        let cursor = cursor?;
        self.stacks.remember(hash, frames, cursor.node);
        Some(cursor)
    }

    /// The context of a stack whose outermost frames are missing, kept below the truncated root.
    pub fn partial_stack(&mut self, frames: &[FrameId]) -> Cursor {
        let mut cursor = self.truncated_root();
        for frame in frames {
            cursor = self.child(cursor, *frame);
        }
        cursor
    }

    /// The first door: one sample of a whole stack, outermost frame first.
    pub fn sample(
        &mut self,
        stack: &[FrameId],
        thread: Option<ThreadId>,
        metric: MetricId,
        value: i64,
    ) {
        if let Some(cursor) = self.stack(stack) {
            self.add(cursor, thread, metric, value);
            self.count_samples(1);
        }
    }

    /// Adds to the self value of a context. Samples are counted apart, with [`ProfileBuilder::count_samples`], since
    /// one sample can carry several metrics.
    pub fn add(&mut self, at: Cursor, thread: Option<ThreadId>, metric: MetricId, value: i64) {
        let Self { cell_index, cell_keys, columns, .. } = self;
        let cell = *cell_index.entry((at.node, thread)).or_insert_with(|| {
            cell_keys.push((at.node, thread));
            for column in &mut *columns {
                column.push(0);
            }
            cell_keys.len() as u32 - 1
        });
        if let Some(slot) =
            columns.get_mut(metric.index()).and_then(|column| column.get_mut(cell as usize))
        {
            *slot = slot.saturating_add(value);
        }
    }

    /// Counts samples taken.
    pub fn count_samples(&mut self, samples: u64) {
        self.samples = self.samples.saturating_add(samples);
    }

    /// Remembers when a sample was taken, where times are kept. Its value must be added besides.
    pub fn time_sample(
        &mut self,
        time: i64,
        at: Cursor,
        thread: Option<ThreadId>,
        metric: MetricId,
        value: i64,
    ) {
        if self.keeps_times() {
            self.timed_samples.push((time, thread, at.node, metric, value));
        }
    }

    /// Remembers a call with its times, where times are kept. Its value must be added besides.
    pub fn time_call(&mut self, start: i64, end: i64, at: Cursor, thread: Option<ThreadId>) {
        if self.keeps_times() {
            self.timed_calls.push((start, end, thread, at.node));
        }
    }

    /// Names the metrics that the second door fills: time and number of calls.
    pub fn exact_metrics(&mut self, time: MetricId, calls: MetricId) {
        self.exact = Some((time, calls));
    }

    fn exact_or_default(&mut self) -> (MetricId, MetricId) {
        if let Some(exact) = self.exact {
            return exact;
        }
        let time = self.metric(Metric::exact("wall", crate::Unit::Nanoseconds));
        let calls = self.metric(Metric::exact("calls", crate::Unit::Count));
        self.exact = Some((time, calls));
        (time, calls)
    }

    /// The second door: a call begins on `thread`. Times of one thread must not decrease.
    pub fn enter(&mut self, thread: Option<ThreadId>, frame: FrameId, time: i64) -> Cursor {
        let above =
            self.running.get(&thread).and_then(|calls| calls.last()).map(|call| call.cursor);
        let cursor = match above {
            Some(parent) => self.child(parent, frame),
            None => self.root(frame),
        };
        let (_, calls) = self.exact_or_default();
        self.add(cursor, thread, calls, 1);
        self.running.entry(thread).or_default().push(OpenCall { cursor, start: time, inside: 0 });
        cursor
    }

    /// The innermost call of `thread` ends; none when none is open.
    pub fn leave(&mut self, thread: Option<ThreadId>, time: i64) -> Option<Cursor> {
        let open = self.running.get_mut(&thread)?;
        let call = open.pop()?;
        let spent = time.saturating_sub(call.start).max(0);
        if let Some(caller) = open.last_mut() {
            caller.inside = caller.inside.saturating_add(spent);
        }
        let (wall, _) = self.exact_or_default();
        self.add(call.cursor, thread, wall, spent.saturating_sub(call.inside).max(0));
        self.time_call(call.start, call.start.saturating_add(spent), call.cursor, thread);
        Some(call.cursor)
    }

    /// The frame of the innermost open call of `thread`.
    pub fn innermost(&self, thread: Option<ThreadId>) -> Option<FrameId> {
        self.running.get(&thread)?.last().map(|call| call.cursor.frame)
    }

    /// How many calls are open on `thread`.
    pub fn open_calls(&self, thread: Option<ThreadId>) -> usize {
        self.running.get(&thread).map_or(0, Vec::len)
    }

    /// Sorts into pre-order and freezes. Calls still open lose nothing but their own unfinished time; readers close
    /// them first when the format says at what time.
    pub fn finish(self) -> Profile {
        let (tree, placement) = self.tree.freeze(self.grain);
        let place = |node: OpenNode| placement.of(node);
        let keys: Vec<_> =
            self.cell_keys.iter().map(|(node, thread)| (place(*node), *thread)).collect();
        let timeline = (self.times == Times::Keep).then(|| {
            let mut timeline = Timeline {
                samples: (self.timed_samples.iter())
                    .map(|&(time, thread, node, metric, value)| TimedSample {
                        time,
                        thread,
                        node: place(node),
                        metric,
                        value,
                    })
                    .collect(),
                calls: (self.timed_calls.iter())
                    .map(|&(start, end, thread, node)| TimedCall {
                        start,
                        end,
                        thread,
                        node: place(node),
                    })
                    .collect(),
            };
            timeline.sort();
            timeline
        });
        Profile {
            tree,
            cells: Cells::from_columns(&keys, &self.columns),
            symbols: self.symbols,
            threads: self.threads,
            metrics: self.metrics,
            samples: self.samples,
            timeline: timeline.filter(|timeline| !timeline.is_empty()),
            info: self.info,
            warnings: self.warnings,
        }
    }
}

/// From exact frames to the frames that label nodes of a grain.
#[derive(Debug, Default)]
struct Labels {
    /// Grain `Functions`: the label of each frame, by frame.
    of_frame: Vec<Option<FrameId>>,
    /// Grain `CallSites`: the label of a function called from a site.
    of_site: HashMap<(FunctionId, Option<CallSite>), FrameId>,
}

impl Labels {
    fn label(
        &mut self,
        symbols: &mut Symbols,
        grain: Grain,
        caller: Option<FrameId>,
        frame: FrameId,
    ) -> FrameId {
        match grain {
            Grain::Frames => frame,
            Grain::Functions => {
                if let Some(Some(label)) = self.of_frame.get(frame.index()) {
                    return *label;
                }
                let label = symbols.intern_frame(Frame::of(symbols.frame(frame).function));
                if self.of_frame.len() <= frame.index() {
                    self.of_frame.resize(frame.index() + 1, None);
                }
                self.of_frame[frame.index()] = Some(label);
                label
            }
            Grain::CallSites => {
                let site = caller.and_then(|caller| symbols.frame(caller).as_call_site());
                let function = symbols.frame(frame).function;
                *self.of_site.entry((function, site)).or_insert_with(|| {
                    symbols.intern_frame(Frame { call_site: site, ..Frame::of(function) })
                })
            }
        }
    }
}

/// Stacks seen before, with their contexts: most samples repeat one.
#[derive(Debug, Default)]
struct StackMemo {
    frames: Vec<FrameId>,
    /// Start and end in `frames`, and the context.
    stacks: Vec<(u32, u32, OpenNode)>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    hashes: Vec<u64>,
}

/// Frames that the memo holds before it starts afresh: 64 MB, so that a file in which no stack repeats costs no more.
const MEMO_FRAMES: usize = 16 << 20;

impl StackMemo {
    fn hash(&self, frames: &[FrameId]) -> u64 {
        self.hasher.hash_one(frames)
    }

    fn find(&self, hash: u64, frames: &[FrameId]) -> Option<OpenNode> {
        let row = self.index.find(hash, |row| {
            let (start, end, _) = self.stacks[*row as usize];
            self.frames[start as usize..end as usize] == *frames
        })?;
        Some(self.stacks[*row as usize].2)
    }

    fn remember(&mut self, hash: u64, frames: &[FrameId], node: OpenNode) {
        if frames.len() > MEMO_FRAMES {
            return;
        }
        if self.frames.len() + frames.len() > MEMO_FRAMES {
            self.frames.clear();
            self.stacks.clear();
            self.index.clear();
            self.hashes.clear();
        }
        let start = self.frames.len() as u32;
        self.frames.extend_from_slice(frames);
        let row = self.stacks.len() as u32;
        self.stacks.push((start, self.frames.len() as u32, node));
        self.hashes.push(hash);
        let Self { index, hashes, .. } = self;
        index.insert_unique(hash, row, |row| hashes[*row as usize]);
    }
}
