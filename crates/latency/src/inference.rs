//! Algorithms 1 and 2 of `[introperf]`, thread by thread, on a stream of events.
//!
//! | here | there |
//! |---|---|
//! | the builder's tree | *CCT_w*; `ProfileBuilder::child` is `getNode` |
//! | open calls of a thread | *Register*, indexed by depth |
//! | `first`, `seen` | *t_s*, *t_e* of a register; *t_e* is the same for all of a thread's, so it is kept once |
//! | calls in common | frames up to the first whose *isNew* is set; from there on *AllNew* holds |
//! | closing a call | `closeRegister`, which makes a function instance |
//!
//! Where we depart, and why:
//! - *isNew* is set where frames **differ**; the paper's line 11 has it the wrong way round.
//! - Functions that are called from another place of their caller than before are called anew. The paper compares
//!   functions only, and takes two calls in a row for one.
//! - Where the code of the program is at hand, calls that it cannot be one and the same are told apart.
//! - The kernel tells when a system call ends and when a thread is off its processor: such ends and waits are taken as
//!   they are and not inferred. A thread that is off its processor returns from nothing.
//! - A call need not begin at its first event. So beside the paper's two modes each call has an expected latency, with
//!   begin and return at their expected places between events, and the longest it can have been.
//! - Where events were lost everything is closed at the last event that was seen; nothing is made up.

mod coverage;
mod order;
mod stacks;
mod threads;
mod waiting;
mod weighing;

pub(crate) use order::Made;

use hashbrown::HashMap;
use perfblame_cct::{
    Code, Cursor, EventKind, EventSink, FrameId, FunctionId, Leaving, OpenNode, Placement,
    ProfileBuilder, StackEvent, ThreadId,
};

use crate::cleaning::{Cleaned, Cleaner, FrameOwner, Within};
use crate::gaps::{Gaps, Pieces};
use crate::off_cpu::Wait;
use crate::tally::Tally;
use crate::totals::NodeLatency;
use crate::{idle, metrics};
use coverage::Coverage;
use order::Order;
use threads::Threads;
use waiting::Waiting;
use weighing::Weighing;

/// When a call goes on from one event to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Continuity {
    /// While it is the same function, called from the same place of the same calls.
    #[default]
    CallSites,
    /// While it is the same function in the same context, as in the paper.
    Functions,
}

/// How to infer.
#[derive(Clone, Copy, Debug, Default)]
pub struct InferenceOptions {
    /// When a call goes on.
    pub continuity: Continuity,
    /// Keep every inferred call: memory grows with the trace.
    pub instances: bool,
}

/// One inferred call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instance {
    /// Its context.
    pub node: OpenNode,
    /// Its thread.
    pub thread: ThreadId,
    /// The first event with it.
    pub start: i64,
    /// From there to the last event with it.
    pub conservative: i64,
    /// From there to the first event without it.
    pub aggressive: i64,
    /// The expected latency.
    pub estimate: i64,
    /// It cannot have taken longer.
    pub longest: i64,
}

/// Infers latencies from the events of a trace.
#[derive(Debug, Default)]
pub struct Inference {
    options: InferenceOptions,
    cleaner: Cleaner,
    /// The calls of the stack at hand, outermost first.
    clean: Vec<FrameId>,
    threads: Threads,
    code: CodeAnswers,
    gap: GapAtHand,
    pub(crate) waiting: Waiting,
    pub(crate) results: Results,
    coverage: Coverage,
}

/// What comes out, by context: the builder's nodes are the rows.
#[derive(Debug, Default)]
pub(crate) struct Results {
    totals: Vec<NodeLatency>,
    pub(crate) tally: Tally,
    /// Waiting that is credited to a context and happened below it, less what happened in it and is credited elsewhere.
    moved: Vec<i64>,
    instances: Vec<Instance>,
}

/// What the code of the program tells about calls, asked once.
#[derive(Debug, Default)]
struct CodeAnswers {
    order: Order,
    weighing: Weighing,
    /// How often the code alone tells that a call is another one, by context and thread.
    splits: HashMap<(OpenNode, ThreadId), u64>,
}

/// The time between the last event of a thread and the one at hand, and what is known of such gaps.
#[derive(Debug, Default)]
struct GapAtHand {
    gaps: Gaps,
    /// How much each piece of the gap has to do.
    weights: Vec<f64>,
    /// The new calls of the stack at hand.
    cursors: Vec<Cursor>,
    /// Pieces of the gap that were hit by stacks taken at random, and the context before it.
    hits: Vec<(Pieces, usize, OpenNode)>,
    learning: Option<OpenNode>,
}

impl Inference {
    /// Nothing inferred yet.
    pub fn new(options: InferenceOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.coverage.events
    }

    /// The times of the first and the last event.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.coverage.span
    }

    /// What the calls of each context add up to, by the rows of the tree that the builder became.
    pub fn totals(&self, place: &Placement) -> Vec<NodeLatency> {
        let mut by_row = vec![NodeLatency::default(); place.len()];
        for (open, totals) in self.results.totals.iter().enumerate() {
            let row = place.of(OpenNode::new(open)).index();
            if let Some(slot) = by_row.get_mut(row) {
                *slot = *totals;
            }
        }
        by_row
    }

    /// How much of what happened below a context is credited to it, or the other way round, by the rows of the tree that
    /// the builder became: a context's own cost is its own latency and this.
    pub fn moved(&self, place: &Placement) -> Vec<i64> {
        let mut by_row = vec![0; place.len()];
        for (open, moved) in self.results.moved.iter().enumerate() {
            by_row[place.of(OpenNode::new(open)).index()] = *moved;
        }
        by_row
    }

    /// Every inferred call in the order they ended, where they were asked for.
    pub fn instances(&self) -> &[Instance] {
        &self.results.instances
    }

    /// All waits, the longest first.
    pub fn waits(&self) -> &[Wait] {
        &self.waiting.finished
    }

    /// The open calls of a thread, outermost first: its function, first and last event.
    pub fn open_calls(
        &self,
        builder: &ProfileBuilder,
        thread: ThreadId,
    ) -> Vec<(FunctionId, i64, i64)> {
        let state = self.threads.of(thread);
        let calls =
            state.into_iter().flat_map(|state| state.calls.iter().map(|call| (call, state.seen)));
        calls
            .map(|(call, seen)| (builder.function_of(call.cursor.node()), call.first, seen))
            .collect()
    }

    /// How often the code alone tells that calls of a context are others, on a thread.
    pub(crate) fn splits(&self, node: OpenNode, thread: ThreadId) -> u64 {
        self.code.splits.get(&(node, thread)).copied().unwrap_or(0)
    }

    /// How long a thread was there: to its last event, or as long as it waits. Nothing says that a thread ends where
    /// only its own events are recorded.
    pub(crate) fn watched(&self, thread: ThreadId) -> i64 {
        self.threads.of(thread).map_or(0, |state| {
            let lives = state.started.map_or(0, |started| state.seen.saturating_sub(started));
            state.lived.saturating_add(lives)
        })
    }

    /// All threads, each under the name it has now.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> {
        self.threads.states.iter().map(|state| state.thread)
    }

    /// How many threads a process has.
    pub(crate) fn threads_of(&self, builder: &ProfileBuilder, pid: Option<u64>) -> usize {
        self.threads.of_process(builder, pid)
    }
}

/// What is known of the stack in `Inference::clean`.
#[derive(Clone, Copy, Debug)]
struct Now {
    /// The system call at its end.
    made: Option<Made>,
    /// Which begins now.
    begins: bool,
    /// So many of the innermost calls begin right now.
    exact: usize,
}

/// What the stack of an event was worth.
#[derive(Clone, Copy, Debug)]
struct Look {
    cleaned: Cleaned,
    /// The stack lacks a part of the program: its thread is taken to be where it was.
    broken: bool,
}

/// The slot of a row in a table that grows.
fn at<T: Clone + Default>(table: &mut Vec<T>, row: usize) -> &mut T {
    if table.len() <= row {
        table.resize(row + 1, T::default());
    }
    &mut table[row]
}

impl EventSink for Inference {
    fn event(
        &mut self,
        builder: &mut ProfileBuilder,
        event: StackEvent,
        stack: &[FrameId],
        code: &mut dyn Code,
    ) {
        let StackEvent { time, thread, kind } = event;
        let row = self.threads.row_of(builder, thread, &mut self.results.tally);
        if let EventKind::Queued(time) = kind {
            return self.told_queued(row, time);
        }
        if self.threads.states[row].is_past(time) {
            self.coverage.late += 1;
            return;
        }
        self.coverage.event(time);
        if self.only_scheduled(row, time, kind, stack) {
            return;
        }
        let kind = match kind {
            EventKind::SwitchOut(Leaving::Unsaid) => {
                EventKind::SwitchOut(self.cleaner.leaving(builder, stack))
            }
            said => said,
        };
        let Some(look) = self.look(builder, row, kind, stack) else { return };
        self.off_is_over(builder, row, time, kind, look);
        self.take_stack(builder, (row, time, kind), look, code);
        self.threads.states[row].took(time, stack);
        match kind {
            EventKind::Enter(name) => self.entered(builder, row, name, time),
            EventKind::Exit(_) => self.exited(builder, row, look.cleaned.call, time),
            EventKind::SwitchOut(leaving) => {
                self.switched_out(builder, row, time, leaving, look.cleaned);
            }
            _ => {}
        }
    }

    fn lost(&mut self, builder: &mut ProfileBuilder, events: u64) {
        self.coverage.lost = self.coverage.lost.saturating_add(events);
        for row in 0..self.threads.states.len() {
            let seen = self.threads.states[row].seen;
            self.close_from(builder, row, 0, seen);
            let state = &mut self.threads.states[row];
            (state.call, state.off, state.fresh) = (None, None, true);
        }
    }

    fn finish(&mut self, builder: &mut ProfileBuilder) {
        let end = self.coverage.end();
        for row in 0..self.threads.states.len() {
            if let Some(off) = self.threads.states[row].off.take()
                && off.on.is_some()
            {
                // It waits to this day.
                let until = off.woken.map_or(end, |(woken, _)| woken);
                self.waited(row, off, until);
                self.threads.states[row].seen = until.max(self.threads.states[row].seen);
            }
            let seen = self.threads.states[row].seen;
            self.close_from(builder, row, 0, seen);
        }
        self.results.tally.gather();
        let mut waits = idle::tell_apart(self, builder);
        for wait in waits.iter().filter(|wait| wait.idle) {
            let slot = at(&mut self.results.moved, wait.node.index());
            *slot = slot.saturating_sub(wait.total);
        }
        let mut tally = std::mem::take(&mut self.results.tally);
        self.gap.gaps.spread(&mut tally);
        metrics::settle(builder, tally, &waits, self.coverage.between_looks());
        waits.sort_by_key(|wait| (std::cmp::Reverse(wait.total), wait.node, wait.thread, wait.on));
        self.waiting.finished = waits;
        self.results.totals.resize(builder.nodes(), NodeLatency::default());
        self.coverage.warn(builder);
    }
}

impl Inference {
    /// Cleans the stack of an event into `self.clean`; none where nothing can be learnt from it.
    fn look(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        kind: EventKind,
        stack: &[FrameId],
    ) -> Option<Look> {
        let current = self.threads.states[row].call.map(|call| call.name);
        let within = match kind {
            EventKind::Enter(name) => Within::Edge(Some(name)),
            EventKind::Exit(_) => Within::Edge(current),
            _ => Within::Anywhere(current),
        };
        let last = &mut self.threads.states[row].last;
        let mut cleaned = self.cleaner.clean(builder, stack, within, last, &mut self.clean);
        let broken = self.is_broken(builder, row, &mut cleaned);
        if broken {
            self.coverage.broken += u64::from(!stack.is_empty());
            if kind == EventKind::Tick {
                // It is anywhere.
                return None;
            }
            self.clean.clone_from(&self.threads.states[row].frames);
            let call =
                self.clean.iter().rposition(|frame| self.cleaner.place(*frame) == FrameOwner::Call);
            cleaned = Cleaned { call, call_name: current, ..cleaned };
        }
        self.coverage.looks += u64::from(!broken);
        Some(Look { cleaned, broken })
    }

    /// True where the stack in `self.clean` lacks the user's part, or its outer end: it says nothing of what goes on
    /// there. A stack whose outer end the last one has is completed.
    fn is_broken(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        cleaned: &mut Cleaned,
    ) -> bool {
        let of_user = |frame: &FrameId| {
            !matches!(self.cleaner.place(*frame), FrameOwner::Kernel | FrameOwner::Call)
        };
        let had_user = || self.threads.states[row].frames.iter().any(of_user);
        if self.clean.is_empty() || !cleaned.user && had_user() {
            return true;
        }
        let length = self.clean.len();
        self.complete(builder, row, cleaned.cut);
        let added = self.clean.len() - length;
        cleaned.call = cleaned.call.map(|at| at + added);
        let root = self.clean.first().and_then(|root| self.cleaner.function(*root));
        root.is_some_and(|root| !self.threads.states[row].root.may_be(root))
    }

    /// Learns from the stack in `self.clean`, and goes on with the thread's calls to it.
    fn take_stack(
        &mut self,
        builder: &mut ProfileBuilder,
        (row, time, kind): (usize, i64, EventKind),
        Look { cleaned, broken }: Look,
        code: &mut dyn Code,
    ) {
        if broken {
            // Nobody says that it is another call than the last.
            let now = Now { made: None, begins: false, exact: 0 };
            return self.observe(builder, row, time, now, code);
        }
        let begins = matches!(kind, EventKind::Enter(_));
        let exact = if begins { 1 } else { self.blocks_at_once(kind) };
        let made = cleaned.call.map(|at| Made { at, by: cleaned.by });
        let now = Now { made, begins, exact };
        self.learn(builder, row, kind, now, code);
        self.observe(builder, row, time, now, code);
        self.threads.states[row].made = made;
    }
}

#[cfg(test)]
mod tests;
