//! Calls from begin, end and complete events: what was open on a thread at each moment, outermost first.
//!
//! A sweep over time. The context at a moment is made of the spans that are open then, in the order in which they
//! began; each moment's time goes to the innermost. So every span lasts as long as the file says, no moment counts
//! twice, and spans that overlap without nesting cost exactly their overlap: with `alpha` from 0 to 10 and `beta` from
//! 5 to 15 the stacks are `alpha`, `alpha;beta` and, from 10 on, `beta`.
//!
//! Of spans that begin together, `B` come before `X`, longer `X` before shorter, then the file's order counts. An end
//! closes the innermost open call of its name, wherever it stands; one without a name closes the innermost. What never
//! ends is closed at the last time seen on its thread.
//!
//! Events are not in order. Most writers are almost in order and put callers before callees, so a short window per
//! thread is sorted and the rest is settled. Others (VizTracer, rustc) write a call when it ends, callees first: their
//! outermost call comes last, and everything must be held, at 24 bytes an event. Which one a file is shows as soon as
//! one call lies inside its neighbour.

use perfblame_cct::{Cursor, FrameId, MetricId, ProfileBuilder, StringId, ThreadId};

/// Events held back per thread before the older half is settled.
const WINDOW: usize = 8192;

/// Open calls that are told apart. Deeper ones count as their callers; a stack this deep is damage or a runaway.
const DEPTH: usize = 8192;

/// What happens on a thread at a time.
#[derive(Clone, Copy, Debug)]
pub struct SpanItem {
    pub time: i64,
    /// Only calls that came complete know it.
    pub end: i64,
    /// None for an end without a name.
    pub frame: Option<FrameId>,
    pub kind: ItemKind,
}

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ItemKind {
    Begin,
    End,
    Complete,
}

impl SpanItem {
    /// Begins and ends at one time keep their order; complete calls come after them, the longest first.
    fn order(&self) -> (i64, bool, i64) {
        let complete = self.kind == ItemKind::Complete;
        (self.time, complete, if complete { i64::MAX - self.end.max(0) } else { 0 })
    }
}

/// Which comes first in a file, callers or callees.
#[derive(Clone, Copy, Default, Debug)]
pub struct WritingOrder {
    callers_first: u64,
    callees_first: u64,
}

impl WritingOrder {
    /// True when everything before a window can be settled.
    fn is_settled(self) -> bool {
        // A file in order may hold a few neighbours that are swapped.
        self.callers_first > 0 && self.callees_first <= self.callers_first / 16
    }
}

/// Where values go.
#[derive(Clone, Copy, Debug)]
pub struct SpanMetrics {
    pub time: MetricId,
    pub calls: MetricId,
}

/// The spans of one thread.
#[derive(Debug)]
pub struct Lane {
    pub thread: ThreadId,
    pending: Vec<SpanItem>,
    limit: usize,
    in_order: bool,
    stack: Vec<OpenSpan>,
    /// Time up to which everything is settled.
    now: i64,
    started: bool,
    /// Latest time seen.
    last: i64,
    /// Begins beyond the deepest that is told apart.
    too_deep: usize,
    /// Ends at the present time that closed nothing; their begins may follow.
    loose_ends: Vec<StringId>,
}

#[derive(Clone, Copy, Debug)]
struct OpenSpan {
    frame: FrameId,
    /// Where it stands; none after a caller has ended before it, until it matters.
    at: Option<Cursor>,
    first: Cursor,
    start: i64,
    /// The far future for calls that have not said.
    end: i64,
    /// The earliest end of this and all below it in the stack.
    next_end: i64,
    own: i64,
}

impl Lane {
    /// A thread without events.
    pub fn new(thread: ThreadId) -> Self {
        Self {
            thread,
            pending: Vec::new(),
            limit: WINDOW,
            in_order: true,
            stack: Vec::new(),
            now: i64::MIN,
            started: false,
            last: i64::MIN,
            too_deep: 0,
            loose_ends: Vec::new(),
        }
    }

    /// Takes an event.
    pub fn push(
        &mut self,
        item: SpanItem,
        order: &mut WritingOrder,
        builder: &mut ProfileBuilder,
        metrics: SpanMetrics,
    ) {
        if let Some(before) = self.pending.last() {
            self.in_order &= before.order() <= item.order();
            if before.kind == ItemKind::Complete && item.kind == ItemKind::Complete {
                let inside = item.time >= before.time && item.end <= before.end;
                let around = item.time <= before.time && item.end >= before.end;
                order.callers_first += u64::from(inside && !around);
                order.callees_first += u64::from(around && !inside);
            } else if self.in_order && item.kind == ItemKind::Begin {
                order.callers_first += 1;
            }
        }
        self.last = self.last.max(item.time).max(item.end);
        self.pending.push(item);
        if self.pending.len() >= self.limit {
            if order.is_settled() {
                self.settle(self.pending.len() / 2, builder, metrics);
                self.limit = WINDOW;
            } else {
                self.limit *= 2;
            }
        }
    }

    fn settle(&mut self, count: usize, builder: &mut ProfileBuilder, metrics: SpanMetrics) {
        if !self.in_order {
            self.pending.sort_by_key(SpanItem::order);
            self.in_order = true;
        }
        let mut pending = std::mem::take(&mut self.pending);
        for item in pending.drain(..count) {
            self.play(item, builder, metrics);
        }
        self.pending = pending;
    }

    /// Settles everything and closes what is open.
    pub fn finish(&mut self, builder: &mut ProfileBuilder, metrics: SpanMetrics) {
        self.settle(self.pending.len(), builder, metrics);
        if !self.started {
            return;
        }
        self.advance(self.last, builder, metrics);
        if !self.stack.is_empty() {
            builder.warn_many("unfinished-calls", self.stack.len() as u64, || {
                "calls without an end were closed at the last event of their thread".to_owned()
            });
        }
        while !self.stack.is_empty() {
            self.close(self.stack.len() - 1, builder, metrics);
        }
    }

    fn play(&mut self, item: SpanItem, builder: &mut ProfileBuilder, metrics: SpanMetrics) {
        if !self.started {
            (self.started, self.now) = (true, item.time);
        }
        if item.time < self.now {
            return self.play_late(item, builder, metrics);
        }
        if item.time > self.now {
            self.loose_ends.clear();
        }
        self.advance(item.time, builder, metrics);
        match (item.kind, item.frame) {
            (ItemKind::Begin, Some(frame)) => self.begin(frame, i64::MAX, builder, metrics),
            (ItemKind::Complete, Some(frame)) => {
                let end = self.fitted_end(item);
                self.begin(frame, end, builder, metrics);
            }
            (_, frame) => self.end(frame, builder, metrics),
        }
    }

    /// Where start and duration are cut to whole units each, a callee can seem to outlast its caller by less than two.
    fn fitted_end(&self, item: SpanItem) -> i64 {
        let unit = if item.time % 1000 == 0 && item.end % 1000 == 0 { 1000 } else { 1 };
        match self.stack.last() {
            Some(caller) if item.end > caller.end && item.end - caller.end <= 2 * unit => {
                caller.end
            }
            _ => item.end,
        }
    }

    /// Closes what ends until `time` and hands the time since to the innermost call.
    fn advance(&mut self, time: i64, builder: &mut ProfileBuilder, metrics: SpanMetrics) {
        while let Some(top) = self.stack.last_mut() {
            let until = top.next_end.min(time);
            if until > self.now {
                top.own = top.own.saturating_add(until.saturating_sub(self.now));
                self.now = until;
            }
            if top.next_end > time {
                break;
            }
            let next_end = top.next_end;
            // The innermost of those that end now, so that a well nested stack never moves.
            let Some(row) = self.stack.iter().rposition(|open| open.end == next_end) else { break };
            self.close(row, builder, metrics);
        }
        self.now = self.now.max(time);
    }

    fn begin(
        &mut self,
        frame: FrameId,
        end: i64,
        builder: &mut ProfileBuilder,
        metrics: SpanMetrics,
    ) {
        if end == i64::MAX && !self.loose_ends.is_empty() {
            // The end came before its begin, at the same time: a call without duration.
            let name = name_of(frame, builder);
            if let Some(at) = self.loose_ends.iter().position(|loose| *loose == name) {
                self.loose_ends.swap_remove(at);
                return self.begin(frame, self.now, builder, metrics);
            }
        }
        if self.stack.len() >= DEPTH {
            self.too_deep += usize::from(end == i64::MAX);
            builder.warn("too-deep", || {
                format!("calls nested deeper than {DEPTH} count for their callers")
            });
            return;
        }
        let at = match self.stack.len().checked_sub(1) {
            Some(caller) => {
                let caller = self.context(caller, builder);
                builder.child(caller, frame)
            }
            None => builder.root(frame),
        };
        builder.add(at, Some(self.thread), metrics.calls, 1);
        let next_end = self.stack.last().map_or(end, |caller| caller.next_end.min(end));
        let (start, first) = (self.now, at);
        self.stack.push(OpenSpan { frame, at: Some(at), first, start, end, next_end, own: 0 });
    }

    fn end(&mut self, frame: Option<FrameId>, builder: &mut ProfileBuilder, metrics: SpanMetrics) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let name = frame.map(|frame| name_of(frame, builder));
        let found = self.stack.iter().rposition(|open| {
            open.end == i64::MAX
                && name.is_none_or(|name| {
                    Some(open.frame) == frame || name_of(open.frame, builder) == name
                })
        });
        match (found, name) {
            (Some(row), _) => self.close(row, builder, metrics),
            (None, name) => {
                builder.warn("loose-ends", || {
                    "ends of calls that never began, or began with another name, were left out"
                        .to_owned()
                });
                self.loose_ends.extend(name);
            }
        }
    }

    /// Takes a call off the stack. What it called and what is still open moves up.
    fn close(&mut self, row: usize, builder: &mut ProfileBuilder, metrics: SpanMetrics) {
        let thread = Some(self.thread);
        if row + 1 < self.stack.len() {
            builder.warn("overlapping-calls", || {
                "calls that overlap without nesting count as nested only while they overlap"
                    .to_owned()
            });
            for above in row + 1..self.stack.len() {
                self.hand_over(above, builder, metrics);
            }
        }
        self.hand_over(row, builder, metrics);
        let open = self.stack.remove(row);
        builder.time_call(open.start, self.now.max(open.start), open.first, thread);
        for above in row..self.stack.len() {
            let below = above.checked_sub(1).map_or(i64::MAX, |below| self.stack[below].next_end);
            let open = &mut self.stack[above];
            open.at = None;
            open.next_end = below.min(open.end);
        }
    }

    fn hand_over(&mut self, row: usize, builder: &mut ProfileBuilder, metrics: SpanMetrics) {
        let own = std::mem::take(&mut self.stack[row].own);
        if own != 0 {
            let at = self.context(row, builder);
            builder.add(at, Some(self.thread), metrics.time, own);
        }
    }

    /// The context of an open call.
    fn context(&mut self, row: usize, builder: &mut ProfileBuilder) -> Cursor {
        if let Some(at) = self.stack[row].at {
            return at;
        }
        let known = self.stack[..row].iter().rposition(|open| open.at.is_some());
        let mut cursor = known.and_then(|known| self.stack[known].at);
        for open in &mut self.stack[known.map_or(0, |known| known + 1)..=row] {
            let at = match cursor {
                Some(caller) => builder.child(caller, open.frame),
                None => builder.root(open.frame),
            };
            open.at = Some(at);
            cursor = Some(at);
        }
        cursor.unwrap_or(self.stack[row].first)
    }

    /// An event from before what is settled. Its time is taken from the call that it lies in.
    fn play_late(&mut self, item: SpanItem, builder: &mut ProfileBuilder, metrics: SpanMetrics) {
        builder.warn("late-events", || {
            "events arrived too late to be nested exactly; they are under the calls that were still open"
                .to_owned()
        });
        let (Some(frame), ItemKind::Complete) = (item.frame, item.kind) else {
            let time = self.now;
            return self.play(SpanItem { time, ..item }, builder, metrics);
        };
        let around = |open: &OpenSpan| open.start <= item.time && open.end >= item.end;
        let caller = self.stack.iter().rposition(around);
        let at = match caller {
            Some(caller) => {
                let caller = self.context(caller, builder);
                builder.child(caller, frame)
            }
            None => builder.root(frame),
        };
        let spent = item.end.saturating_sub(item.time).max(0);
        if let Some(caller) = caller {
            let open = &mut self.stack[caller];
            open.own = open.own.saturating_sub(spent.min(self.now.saturating_sub(item.time)));
        }
        builder.add(at, Some(self.thread), metrics.calls, 1);
        builder.add(at, Some(self.thread), metrics.time, spent);
        builder.time_call(item.time, item.end.max(item.time), at, Some(self.thread));
    }
}

fn name_of(frame: FrameId, builder: &ProfileBuilder) -> StringId {
    builder.symbols.function(builder.symbols.frame(frame).function).name
}
