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

mod order;
mod stacks;
mod waiting;
mod weighing;

pub(crate) use order::Made;

use hashbrown::{HashMap, HashSet};
use perfblame_cct::{
    Code, Cursor, EventKind, EventSink, FrameId, FunctionId, Leaving, OpenNode, Placement,
    ProfileBuilder, StackEvent, ThreadId,
};

use crate::cleaning::{Cleaned, Cleaner, Place, Within};
use crate::gaps::{Gaps, Pieces};
use crate::off_cpu::{Wait, WaitKey, WaitSum};
use crate::tally::Tally;
use crate::thread::ThreadState;
use crate::totals::NodeLatency;
use crate::{idle, metrics};
use order::Order;
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
pub struct Options {
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
    options: Options,
    cleaner: Cleaner,
    states: Vec<ThreadState>,
    /// From a thread to its state.
    of_thread: Vec<Option<u32>>,
    /// From a thread's number to its state: threads get other names while they run.
    of_tid: HashMap<u64, u32>,
    totals: Vec<NodeLatency>,
    pub(crate) tally: Tally,
    /// Waiting that is credited to a context and happened below it, less what happened in it and is credited elsewhere;
    /// by node.
    moved: Vec<i64>,
    /// System calls made by each context that are not for waiting, by node.
    pub(crate) other_calls: Vec<u32>,
    pub(crate) waits: HashMap<WaitKey, WaitSum>,
    /// Processes that serve others.
    pub(crate) servers: HashSet<Option<u64>>,
    finished_waits: Vec<Wait>,
    instances: Vec<Instance>,
    clean: Vec<FrameId>,
    order: Order,
    weighing: Weighing,
    /// How often the code alone tells that a call is another one, by context and thread.
    pub(crate) splits: HashMap<(OpenNode, ThreadId), u64>,
    /// How much each piece of the gap that ends has to do.
    weights: Vec<f64>,
    gaps: Gaps,
    /// The new calls of the stack at hand.
    cursors: Vec<Cursor>,
    /// Pieces of the gap that ends which were hit by stacks taken at random, and the context before it.
    hits: Vec<(Pieces, usize, OpenNode)>,
    learning: Option<OpenNode>,
    span: Option<(i64, i64)>,
    sees_switches: bool,
    sees_calls: bool,
    /// Threads are told how long they had no processor.
    hears_of_queues: bool,
    events: u64,
    /// Events with a stack, and the time that threads ran between them.
    looks: u64,
    ran: i64,
    late: u64,
    broken: u64,
    lost: u64,
    unobserved: i64,
}

impl Inference {
    /// Nothing inferred yet.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The times of the first and the last event.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.span
    }

    /// What the calls of each context add up to, by the rows of the tree that the builder became.
    pub fn totals(&self, place: &Placement) -> Vec<NodeLatency> {
        let mut by_row = vec![NodeLatency::default(); place.len()];
        for (open, totals) in self.totals.iter().enumerate() {
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
        for (open, moved) in self.moved.iter().enumerate() {
            by_row[place.of(OpenNode::new(open)).index()] = *moved;
        }
        by_row
    }

    /// Every inferred call in the order they ended, where they were asked for.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// All waits, the longest first.
    pub fn waits(&self) -> &[Wait] {
        &self.finished_waits
    }

    /// The open calls of a thread, outermost first: its function, first and last event.
    pub fn open_calls(
        &self,
        builder: &ProfileBuilder,
        thread: ThreadId,
    ) -> Vec<(FunctionId, i64, i64)> {
        let state = self.of_thread.get(thread.index()).copied().flatten();
        let state = state.and_then(|row| self.states.get(row as usize));
        let calls =
            state.into_iter().flat_map(|state| state.calls.iter().map(|call| (call, state.seen)));
        calls
            .map(|(call, seen)| (builder.function_of(call.cursor.node()), call.first, seen))
            .collect()
    }

    /// The row of a thread's state.
    fn state_of(&mut self, builder: &ProfileBuilder, thread: ThreadId) -> usize {
        if let Some(Some(row)) = self.of_thread.get(thread.index()) {
            return *row as usize;
        }
        let tid = builder.known_thread(thread).and_then(|known| known.tid);
        let next = self.states.len() as u32;
        let row = match tid {
            Some(tid) => *self.of_tid.entry(tid).or_insert(next),
            None => next,
        };
        if row == next {
            self.states.push(ThreadState::new(thread));
        }
        let state = &mut self.states[row as usize];
        if state.thread != thread {
            // What it did so far it did under its old name.
            for call in &mut state.calls {
                self.tally.add(call.cursor.node(), state.thread, std::mem::take(&mut call.ran), 0);
            }
        }
        state.thread = thread;
        if self.of_thread.len() <= thread.index() {
            self.of_thread.resize(thread.index() + 1, None);
        }
        self.of_thread[thread.index()] = Some(row);
        row as usize
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
        let row = self.state_of(builder, thread);
        if let EventKind::Queued(time) = kind {
            return self.told_queued(row, time);
        }
        let state = &self.states[row];
        if !state.fresh && time < state.seen {
            self.late += 1;
            return;
        }
        self.events += 1;
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
        match kind {
            EventKind::SwitchIn => {
                self.sees_switches = true;
                return self.switched_in(row, time);
            }
            EventKind::Wakeup(by) => {
                if let Some(off) = &mut self.states[row].off {
                    off.woken.get_or_insert((time, by));
                }
                return;
            }
            EventKind::SwitchOut(leaving) if stack.is_empty() => {
                // The same switch as that of the stack before, which knows more but not always whether the thread
                // could go on.
                if let Some(off) = &mut self.states[row].off {
                    match leaving {
                        Leaving::Preempted => {
                            (off.on, off.may_idle, off.may_sleep) = (None, false, false);
                        }
                        Leaving::Blocked if off.on.is_none() => self.states[row].off = None,
                        Leaving::Blocked | Leaving::Unsaid => return,
                        Leaving::Exited => {}
                    }
                    if leaving == Leaving::Preempted {
                        return;
                    }
                }
            }
            _ => {}
        }
        let kind = match kind {
            EventKind::SwitchOut(Leaving::Unsaid) => {
                EventKind::SwitchOut(self.cleaner.leaving(builder, stack))
            }
            said => said,
        };
        let current = self.states[row].call.map(|call| call.name);
        let within = match kind {
            EventKind::Enter(name) => Within::Edge(Some(name)),
            EventKind::Exit(_) => Within::Edge(current),
            _ => Within::Anywhere(current),
        };
        let last = &mut self.states[row].last;
        let mut cleaned = self.cleaner.clean(builder, stack, within, last, &mut self.clean);
        let had_user = || {
            self.states[row]
                .frames
                .iter()
                .any(|frame| !matches!(self.cleaner.place(*frame), Place::Kernel | Place::Call))
        };
        // A stack that lacks the user's part, or its outer end, says nothing of what goes on there.
        let mut broken = self.clean.is_empty() || !cleaned.user && had_user();
        if !broken {
            let length = self.clean.len();
            self.complete(builder, row, cleaned.cut);
            let added = self.clean.len() - length;
            cleaned.call = cleaned.call.map(|at| at + added);
            let root = self.clean.first().and_then(|root| self.cleaner.function(*root));
            broken = root.is_some_and(|root| !self.states[row].root.may_be(root));
        }
        if broken {
            self.broken += u64::from(!stack.is_empty());
            if kind == EventKind::Tick {
                // It is anywhere.
                return;
            }
            self.clean.clone_from(&self.states[row].frames);
            let calls =
                self.clean.iter().rposition(|frame| self.cleaner.place(*frame) == Place::Call);
            cleaned = Cleaned { call: calls, call_name: current, ..cleaned };
        }
        self.looks += u64::from(!broken);
        self.seen_again(row, time);
        let exact = match kind {
            EventKind::Enter(_) if !broken => 1,
            _ if broken => 0,
            _ => self.blocks_at_once(kind),
        };
        self.returned_from_wait(builder, row, kind);
        if let EventKind::Exit(_) = kind {
            self.waited_by_nature(builder, row, time, cleaned);
        }
        let now = if broken {
            // Nobody says that it is another call than the last.
            Now { made: None, begins: false, exact }
        } else {
            let made = cleaned.call.map(|at| Made { at, by: cleaned.by });
            Now { made, begins: matches!(kind, EventKind::Enter(_)), exact }
        };
        if !broken {
            self.learn(builder, row, kind, now, code);
        }
        self.observe(builder, row, time, now, code);
        let state = &mut self.states[row];
        if !broken {
            state.made = now.made;
        }
        if !stack.is_empty() {
            state.taken = time;
            state.cold = std::mem::take(&mut state.woken);
        }
        state.random.seen_in(state.calls.last().map(|call| call.cursor.node()));
        match kind {
            EventKind::Enter(name) => self.entered(builder, row, name, time),
            EventKind::Exit(_) => self.exited(builder, row, cleaned.call, time),
            EventKind::SwitchOut(leaving) => {
                self.switched_out(builder, row, time, leaving, cleaned);
            }
            _ => {}
        }
    }

    fn lost(&mut self, builder: &mut ProfileBuilder, events: u64) {
        self.lost = self.lost.saturating_add(events);
        for row in 0..self.states.len() {
            let seen = self.states[row].seen;
            self.close_from(builder, row, 0, seen);
            let state = &mut self.states[row];
            (state.call, state.off, state.fresh) = (None, None, true);
        }
    }

    fn finish(&mut self, builder: &mut ProfileBuilder) {
        let end = self.span.map_or(0, |(_, last)| last);
        for row in 0..self.states.len() {
            if let Some(off) = self.states[row].off.take()
                && off.on.is_some()
            {
                // It waits to this day.
                let until = off.woken.map_or(end, |(woken, _)| woken);
                self.waited(row, off, until);
                self.states[row].seen = until.max(self.states[row].seen);
            }
            let seen = self.states[row].seen;
            self.close_from(builder, row, 0, seen);
        }
        self.tally.gather();
        let mut waits = idle::tell_apart(self, builder);
        for wait in waits.iter().filter(|wait| wait.idle) {
            let slot = at(&mut self.moved, wait.node.index());
            *slot = slot.saturating_sub(wait.total);
        }
        // Running time is known as finely as threads are looked at: what falls between two looks is a guess.
        let between = self.ran.checked_div(i64::try_from(self.looks).unwrap_or(i64::MAX));
        let mut tally = std::mem::take(&mut self.tally);
        self.gaps.spread(&mut tally);
        metrics::settle(builder, tally, &waits, between.unwrap_or(0));
        waits.sort_by_key(|wait| (std::cmp::Reverse(wait.total), wait.node, wait.thread, wait.on));
        self.finished_waits = waits;
        self.totals.resize(builder.nodes(), NodeLatency::default());
        self.warn(builder);
    }
}

impl Inference {
    fn warn(&self, builder: &mut ProfileBuilder) {
        if self.late > 0 {
            builder.warn_many("late-events", self.late, || {
                "events came after later ones of their thread and were left out".to_owned()
            });
        }
        if self.broken > 0 {
            builder.warn_many("broken-stacks", self.broken, || {
                "stacks lack a part of the program; their threads were taken to be where they were"
                    .to_owned()
            });
        }
        if self.lost > 0 {
            let share = self.unobserved as f64 / 1e6;
            builder.warn_many("lost-events", self.lost, || {
                format!(
                    "events were lost: calls end where events are missing, and {share:.1} ms of thread \
                     time belong to nobody"
                )
            });
        }
    }

    /// How long a thread was watched.
    pub(crate) fn watched(&self, thread: ThreadId) -> i64 {
        let row = self.of_thread.get(thread.index()).copied().flatten();
        let state = row.and_then(|row| self.states.get(row as usize));
        let end = self.span.map_or(0, |(_, last)| last);
        state.map_or(0, |state| end.saturating_sub(state.started))
    }

    /// All threads, each under the name it has now.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> {
        self.states.iter().map(|state| state.thread)
    }

    /// How many threads a process has.
    pub(crate) fn threads_of(&self, builder: &ProfileBuilder, pid: Option<u64>) -> usize {
        let of = |state: &&ThreadState| {
            builder.known_thread(state.thread).is_some_and(|known| known.pid == pid)
        };
        self.states.iter().filter(of).count()
    }
}

#[cfg(test)]
mod tests;
