//! Building a profile. The builder only grows; [`ProfileBuilder::finish`] sorts into pre-order and freezes.
//!
//! It has two doors, as profiles come in two kinds: [`ProfileBuilder::sample`] takes whole stacks, and
//! [`ProfileBuilder::enter`] with [`ProfileBuilder::leave`] takes calls with their times. Readers that know their own
//! tree walk it with [`ProfileBuilder::root`] and [`ProfileBuilder::child`].

use hashbrown::HashMap;

use crate::labels::Labels;
use crate::stack_memo::{LastStack, StackMemo, WALK};
use crate::{
    Cells, Frame, FrameId, Function, FunctionId, Grain, Info, Layer, Metric, MetricId, NameKinds,
    OpenNode, OpenTree, Placement, Profile, StringId, Symbols, TRUNCATED, Thread, ThreadId,
    TimedCall, TimedSample, Timeline, Warning,
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

impl Cursor {
    /// The context.
    pub fn node(self) -> OpenNode {
        self.node
    }
}

/// Grows a profile.
#[derive(Debug, Default)]
pub struct ProfileBuilder {
    /// Strings, functions and frames so far.
    pub symbols: Symbols,
    /// What the file says about itself.
    pub info: Info,
    times: Times,
    threads: Vec<Thread>,
    thread_index: HashMap<Thread, ThreadId>,
    metrics: Vec<Metric>,
    tree: OpenTree,
    labels: Labels,
    cell_keys: Vec<(OpenNode, Option<ThreadId>)>,
    first_cell: Vec<(Option<ThreadId>, u32)>,
    more_cells: HashMap<(OpenNode, Option<ThreadId>), u32>,
    columns: Vec<Vec<i64>>,
    last: LastStack,
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
        Self { labels: Labels::new(grain, NameKinds::none()), times, ..Self::default() }
    }

    /// Contexts get names without what changes from run to run: at once what [`crate::normalise()`] does to the finished
    /// profile. To be said before the first context.
    #[must_use]
    pub fn with_names(mut self, names: NameKinds) -> Self {
        self.labels = Labels::new(self.labels.grain(), names);
        self
    }

    /// What tells the contexts of the tree apart.
    pub fn grain(&self) -> Grain {
        self.labels.grain()
    }

    /// True when [`ProfileBuilder::time_sample`], [`ProfileBuilder::time_call`] and [`ProfileBuilder::leave`] keep times.
    pub fn keeps_times(&self) -> bool {
        self.times == Times::Keep
    }

    /// How many contexts there are so far.
    pub fn nodes(&self) -> usize {
        self.tree.len()
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

    /// Says what one sample of a metric stands for, where that is known only in the end.
    pub fn set_period(&mut self, metric: MetricId, period: i64) {
        if let Some(metric) = self.metrics.get_mut(metric.index()) {
            metric.period = Some(period);
        }
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
        let label = self.labels.label(&mut self.symbols, None, frame);
        Cursor { node: self.tree.child(None, label), frame }
    }

    /// The caller of a context; none for outermost ones.
    pub fn parent(&self, node: OpenNode) -> Option<OpenNode> {
        self.tree.parent(node)
    }

    /// A context of which only the row was kept; its label is the call site of whatever comes below.
    pub fn cursor(&self, node: OpenNode) -> Cursor {
        Cursor { node, frame: self.tree.label(node) }
    }

    /// The function of a context.
    pub fn function_of(&self, node: OpenNode) -> FunctionId {
        self.symbols.frame(self.tree.label(node)).function
    }

    /// The self value of a context on a thread so far.
    pub fn value(&self, node: OpenNode, thread: Option<ThreadId>, metric: MetricId) -> i64 {
        let cell = match self.first_cell.get(node.index()) {
            None | Some((_, u32::MAX)) => return 0,
            Some((on, cell)) if *on == thread => Some(*cell),
            Some(_) => self.more_cells.get(&(node, thread)).copied(),
        };
        let column = self.columns.get(metric.index());
        cell.and_then(|cell| column?.get(cell as usize).copied()).unwrap_or(0)
    }

    /// The context of `frame` called from `parent`.
    pub fn child(&mut self, parent: Cursor, frame: FrameId) -> Cursor {
        let label = self.labels.label(&mut self.symbols, Some(parent.frame), frame);
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
        let shared = self.last.shared(frames);
        if shared == frames.len() {
            return Some(Cursor { node: self.last.nodes[shared - 1], frame: last });
        }
        let far = frames.len() - shared > WALK;
        let hash = if far { self.stacks.hash(frames) } else { 0 };
        if far && let Some(node) = self.stacks.find(hash, frames) {
            return Some(Cursor { node, frame: last });
        }
        self.last.frames.truncate(shared);
        self.last.nodes.truncate(shared);
        let mut parent = self.last.nodes.last().copied();
        for (row, frame) in frames.iter().enumerate().skip(shared) {
            let caller = row.checked_sub(1).map(|row| frames[row]);
            let label = self.labels.label(&mut self.symbols, caller, *frame);
            let node = self.tree.child(parent, label);
            self.last.frames.push(*frame);
            self.last.nodes.push(node);
            parent = Some(node);
        }
        let node = parent?;
        if far {
            self.stacks.remember(hash, frames, node);
        }
        Some(Cursor { node, frame: last })
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
        let cell = self.cell(at.node, thread);
        let Self { columns, .. } = self;
        if let Some(slot) =
            columns.get_mut(metric.index()).and_then(|column| column.get_mut(cell as usize))
        {
            *slot = slot.saturating_add(value);
        }
    }

    /// The cell of a context and thread. Most contexts run on one thread only, which the first table knows; the map
    /// holds the rest.
    fn cell(&mut self, node: OpenNode, thread: Option<ThreadId>) -> u32 {
        let row = node.index();
        if self.first_cell.len() <= row {
            self.first_cell.resize(self.tree.len().max(row + 1), (None, u32::MAX));
        }
        let new = self.cell_keys.len() as u32;
        let first = &mut self.first_cell[row];
        let cell = match *first {
            (_, u32::MAX) => {
                *first = (thread, new);
                new
            }
            (on, cell) if on == thread => cell,
            _ => *self.more_cells.entry((node, thread)).or_insert(new),
        };
        if cell == new {
            self.cell_keys.push((node, thread));
            for column in &mut self.columns {
                column.push(0);
            }
        }
        cell
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
        self.finish_placed().0
    }

    /// Like [`ProfileBuilder::finish`], and where each context went.
    pub fn finish_placed(mut self) -> (Profile, Placement) {
        if !self.labels.are_exact() {
            // Exact frames did their part when they became call sites or functions, or got other names.
            let used = self.tree.number_labels();
            self.symbols.keep_frames(&used);
        }
        self.symbols.settle_layers();
        self.symbols.shrink_to_fit();
        let (tree, placement) = self.tree.freeze(self.labels.grain());
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
        let profile = Profile {
            tree,
            cells: Cells::from_columns(&keys, &self.columns),
            symbols: self.symbols,
            threads: self.threads,
            metrics: self.metrics,
            samples: self.samples,
            timeline: timeline.filter(|timeline| !timeline.is_empty()),
            info: self.info,
            warnings: self.warnings,
        };
        (profile, placement)
    }
}
