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
//! - The kernel tells when a system call ends and when a thread is off its processor: such ends and waits are taken as
//!   they are and not inferred. A thread that is off its processor returns from nothing.
//! - A call need not begin at its first event. So beside the paper's two modes each call has an expected latency, with
//!   begin and return at their expected places between events, and the longest it can have been.
//! - Where events were lost everything is closed at the last event that was seen; nothing is made up.

use hashbrown::{HashMap, HashSet};
use perfblame_cct::{
    EventKind, EventSink, FrameId, FunctionId, Layer, Leaving, Metric, MetricId, OpenNode,
    Placement, ProfileBuilder, StackEvent, ThreadId, Unit,
};

use crate::calls::{End, Moments, OpenCall};
use crate::cleaning::{Cleaned, Cleaner, Place, Within};
use crate::idle;
use crate::off_cpu::{Wait, WaitKey, WaitSum};
use crate::thread::{InCall, Off, ThreadState};
use crate::totals::NodeLatency;
use crate::wait::WaitOn;
use crate::{INSTANCES, LATENCY, RUN_QUEUE, WAITING};

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

#[derive(Clone, Copy, Debug)]
pub(crate) struct Metrics {
    pub(crate) latency: MetricId,
    pub(crate) instances: MetricId,
    pub(crate) waiting: MetricId,
    pub(crate) waiting_on: [MetricId; WaitOn::ALL.len()],
}

/// Infers latencies from the events of a trace.
#[derive(Debug, Default)]
pub struct Inference {
    options: Options,
    pub(crate) metrics: Option<Metrics>,
    cleaner: Cleaner,
    states: Vec<ThreadState>,
    /// From a thread to its state.
    of_thread: Vec<Option<u32>>,
    /// From a thread's number to its state: threads get other names while they run.
    of_tid: HashMap<u64, u32>,
    totals: Vec<NodeLatency>,
    /// Running time of each context, by node.
    pub(crate) busy: Vec<i64>,
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
    run_queue: Option<FrameId>,
    span: Option<(i64, i64)>,
    sees_switches: bool,
    sees_calls: bool,
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

    fn metrics(&mut self, builder: &mut ProfileBuilder) -> Metrics {
        *self.metrics.get_or_insert_with(|| {
            let mut time = |name: &str| builder.metric(Metric::exact(name, Unit::Nanoseconds));
            let latency = time(LATENCY);
            let waiting = time(WAITING);
            let waiting_on = WaitOn::ALL.map(|on| time(&format!("{WAITING} on {}", on.name())));
            let instances = builder.metric(Metric::exact(INSTANCES, Unit::Count));
            Metrics { latency, instances, waiting, waiting_on }
        })
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
        self.states[row as usize].thread = thread;
        if self.of_thread.len() <= thread.index() {
            self.of_thread.resize(thread.index() + 1, None);
        }
        self.of_thread[thread.index()] = Some(row);
        row as usize
    }

    fn own(&mut self, builder: &mut ProfileBuilder, row: usize, call: usize, time: i64) {
        let (Some(metrics), state) = (self.metrics, &self.states[row]) else { return };
        let Some(call) = state.calls.get(call) else { return };
        if time > 0 {
            builder.add(call.cursor, Some(state.thread), metrics.latency, time);
            let slot = at(&mut self.busy, call.cursor.node().index());
            *slot = slot.saturating_add(time);
            self.ran = self.ran.saturating_add(time);
        }
    }

    /// Closes the innermost call of a thread.
    fn close(&mut self, builder: &mut ProfileBuilder, row: usize, end: End) {
        let state = &mut self.states[row];
        state.frames.pop();
        let (Some(call), Some(metrics)) = (state.calls.pop(), self.metrics) else { return };
        let took = call.took(end);
        let thread = state.thread;
        let totals = at(&mut self.totals, call.cursor.node().index());
        totals.count += 1;
        totals.conservative.add(took.conservative);
        totals.aggressive.add(took.aggressive);
        totals.estimate.add(took.estimate);
        totals.longest.add(took.longest);
        builder.add(call.cursor, Some(thread), metrics.instances, 1);
        builder.time_call(
            call.begun,
            call.begun.saturating_add(took.estimate),
            call.cursor,
            Some(thread),
        );
        if self.options.instances {
            self.instances.push(Instance {
                node: call.cursor.node(),
                thread,
                start: call.first,
                conservative: took.conservative,
                aggressive: took.aggressive,
                estimate: took.estimate,
                longest: took.longest,
            });
        }
    }

    /// How many calls of a thread's last stack go on in `self.clean`.
    fn in_common(&self, row: usize) -> usize {
        let (before, now) = (&self.states[row].frames, &self.clean);
        let exact = before.iter().zip(now).take_while(|(before, now)| before == now).count();
        let same = |at: usize| match (before.get(at), now.get(at)) {
            (Some(before), Some(now)) => {
                self.cleaner.function(*before) == self.cleaner.function(*now)
            }
            _ => false,
        };
        match self.options.continuity {
            Continuity::CallSites => exact + usize::from(same(exact)),
            Continuity::Functions => {
                exact + (exact..before.len()).take_while(|at| same(*at)).count()
            }
        }
    }

    /// A stack whose outermost frames are missing goes on where the last one has its outermost frame.
    fn complete(&mut self, builder: &mut ProfileBuilder, row: usize, cut: bool) {
        let before = &self.states[row].frames;
        let Some(outermost) = self.clean.first() else { return };
        if before.first() != Some(outermost) && !before.is_empty() {
            let same = |at: usize| {
                before
                    .get(at..)
                    .unwrap_or_default()
                    .iter()
                    .zip(&self.clean)
                    .take_while(|(a, b)| a == b)
                    .count()
            };
            // Of several places that with the longest agreement, of equals the innermost.
            let candidates = (1..before.len()).filter(|at| before[*at] == *outermost);
            if let Some(found) = candidates.max_by_key(|at| (same(*at), *at)) {
                let above = before[..found].to_vec();
                self.clean.splice(0..0, above);
                return;
            }
        }
        if cut {
            let truncated = self.cleaner.truncated(builder);
            self.clean.insert(0, truncated);
        }
    }

    /// Takes the stack in `self.clean`, of which the innermost `exact` calls begin right now.
    fn observe(&mut self, builder: &mut ProfileBuilder, row: usize, time: i64, exact: usize) {
        let state = &mut self.states[row];
        if state.fresh {
            if state.started == 0 {
                state.started = time;
            } else {
                self.unobserved = self.unobserved.saturating_add(time.saturating_sub(state.seen));
            }
            (state.seen, state.settled, state.fresh) = (time, time, false);
        }
        let common = self.in_common(row);
        let before = self.states[row].frames.len();
        let gone = before - common;
        let new = (self.clean.len() - common).saturating_sub(exact);
        let between = usize::from(common > 0);
        let (seen, settled) = (self.states[row].seen, self.states[row].settled);
        let moments = Moments::between(settled, time, gone + new + between);
        for piece in 1..=gone {
            self.own(builder, row, before - piece, moments.length(piece));
            let end = End { seen, expected: moments.end(piece), latest: time };
            self.close(builder, row, end);
        }
        if common > 0 {
            self.own(builder, row, common - 1, moments.length(gone + 1));
            // The same function at another place of it.
            if let (Some(slot), Some(frame)) =
                (self.states[row].frames.get_mut(common - 1), self.clean.get(common - 1))
            {
                *slot = *frame;
            }
        }
        for place in common..self.clean.len() {
            let frame = self.clean[place];
            let cursor = match self.states[row].calls.last() {
                Some(caller) => builder.child(caller.cursor, frame),
                None => builder.root(frame),
            };
            let number = place - common;
            let known = number >= new;
            let begun = if known { time } else { moments.end(gone + between + number) };
            let earliest = if known { time } else { settled.min(seen) };
            let state = &mut self.states[row];
            state.frames.push(frame);
            state.calls.push(OpenCall { cursor, first: time, earliest, begun });
            if !known {
                let piece = moments.length(gone + between + number + 1);
                self.own(builder, row, place, piece);
            }
        }
        let state = &mut self.states[row];
        (state.seen, state.settled) = (time, time);
    }

    /// Credits a wait to the call that waits.
    fn waited(&mut self, builder: &mut ProfileBuilder, row: usize, off: Off, until: i64) {
        let Some(metrics) = self.metrics else { return };
        let state = &self.states[row];
        let time = until.saturating_sub(off.since);
        let (Some(call), thread) = (state.calls.get(off.who).copied(), state.thread) else {
            return;
        };
        if time <= 0 {
            return;
        }
        let Some(on) = off.on else {
            return self.queued(builder, row, off.who, time);
        };
        self.move_waiting(row, Some(off.who), time);
        builder.add(call.cursor, Some(thread), metrics.latency, time);
        builder.add(call.cursor, Some(thread), metrics.waiting, time);
        builder.add(call.cursor, Some(thread), metrics.waiting_on[on as usize], time);
        let waker = off.woken.and_then(|woken| woken.1);
        let node = call.cursor.node();
        let (may_idle, may_sleep) = (off.may_idle, off.may_sleep);
        let key = WaitKey { node, thread, on, may_idle, may_sleep, waker };
        self.waits.entry(key).or_default().add(time);
    }

    /// Time in which a thread could have run, and somebody else did.
    fn queued(&mut self, builder: &mut ProfileBuilder, row: usize, who: usize, time: i64) {
        let Some(metrics) = self.metrics else { return };
        let state = &self.states[row];
        let (Some(call), thread) = (state.calls.get(who).copied(), state.thread) else { return };
        if time <= 0 {
            return;
        }
        let frame =
            *self.run_queue.get_or_insert_with(|| builder.named_frame(RUN_QUEUE, Layer::Idle));
        self.move_waiting(row, None, time);
        let at = builder.child(call.cursor, frame);
        builder.add(at, Some(thread), metrics.latency, time);
        let key = WaitKey {
            node: call.cursor.node(),
            thread,
            on: WaitOn::RunQueue,
            may_idle: false,
            may_sleep: false,
            waker: None,
        };
        self.waits.entry(key).or_default().add(time);
    }

    /// Notes that time spent in the innermost call is credited to another one, or to none.
    fn move_waiting(&mut self, row: usize, to: Option<usize>, time: i64) {
        let calls = &self.states[row].calls;
        let node = |call: &OpenCall| call.cursor.node().index();
        let (from, to) = (calls.last().map(node), to.and_then(|to| calls.get(to)).map(node));
        if let Some(from) = from {
            let slot = at(&mut self.moved, from);
            *slot = slot.saturating_sub(time);
        }
        if let Some(to) = to {
            let slot = at(&mut self.moved, to);
            *slot = slot.saturating_add(time);
        }
    }

    /// Back on a processor, as is known for sure.
    fn switched_in(&mut self, builder: &mut ProfileBuilder, row: usize, time: i64) {
        let Some(off) = self.states[row].off.take() else { return };
        let until = match (off.on, off.woken) {
            (Some(_), Some((woken, _))) => woken.clamp(off.since, time),
            _ => time,
        };
        self.waited(builder, row, off, until);
        self.queued(builder, row, off.who, time.saturating_sub(until));
        let state = &mut self.states[row];
        // Nothing can have returned meanwhile.
        (state.seen, state.settled) = (time, time);
        state.waited_in = off.on.map(|_| off.who);
    }

    /// Where system calls are not traced, a call that has waited is over when its thread runs again. Where it blocks in
    /// the same place next, it went round a loop, and what it did meanwhile was not done within the system call.
    fn returned_from_wait(&mut self, builder: &mut ProfileBuilder, row: usize, kind: EventKind) {
        let Some(who) = self.states[row].waited_in.take().filter(|_| !self.sees_calls) else {
            return;
        };
        let state = &self.states[row];
        let still_there = state.frames == self.clean;
        if !still_there || matches!(kind, EventKind::SwitchOut(Leaving::Blocked)) {
            self.close_from(builder, row, who + 1, state.settled);
        }
    }

    /// How many of the innermost calls begin when a thread blocks: it does so as soon as it is in the kernel.
    fn blocks_at_once(&self, kind: EventKind) -> usize {
        if self.sees_calls || !matches!(kind, EventKind::SwitchOut(Leaving::Blocked)) {
            return 0;
        }
        let user = self.clean.iter().rposition(|frame| self.cleaner.place(*frame) == Place::User);
        user.map_or(0, |user| self.clean.len() - user - 1)
    }

    /// The next event of a thread that was off its processor, and whose return to it was not seen.
    fn seen_again(&mut self, builder: &mut ProfileBuilder, row: usize, time: i64) {
        let Some(off) = self.states[row].off.take() else { return };
        if off.on.is_none() {
            return;
        }
        let until = off.woken.map_or(time, |(woken, _)| woken.clamp(off.since, time));
        self.waited(builder, row, off, until);
        let state = &mut self.states[row];
        state.settled = until;
        if off.woken.is_some() {
            state.seen = until;
        }
    }

    fn switched_out(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        time: i64,
        leaving: Leaving,
        (cleaned, stack): (Cleaned, &[FrameId]),
    ) {
        self.sees_switches = true;
        let state = &mut self.states[row];
        if let Some(call) = &mut state.call {
            call.left = true;
        }
        let who = self.who(row);
        let off = match leaving {
            Leaving::Exited => {
                self.close_all(builder, row, time);
                return;
            }
            Leaving::Preempted => {
                let (may_idle, may_sleep) = (false, false);
                Off { since: time, on: None, may_idle, may_sleep, who, woken: None }
            }
            Leaving::Unsaid => return,
            Leaving::Blocked => {
                let state = &self.states[row];
                let call = cleaned.call_name.or(state.call.map(|call| call.name));
                let call = call.map(|name| builder.symbols.text(name));
                let work = state
                    .frames
                    .iter()
                    .filter(|frame| self.cleaner.place(**frame) == Place::Kernel);
                let names = work
                    .filter_map(|frame| Some(builder.symbols.name(self.cleaner.function(*frame)?)));
                let on = if cleaned.fault { WaitOn::PageFault } else { WaitOn::of(call, names) };
                let may_idle = on.can_be_idle(call) && !self.cleaner.takes_lock(stack);
                // Where system calls are not traced, this is all there is to see of them.
                if call.is_some_and(is_for_serving) {
                    let known = builder.known_thread(state.thread);
                    self.servers.insert(known.and_then(|known| known.pid));
                }
                let may_sleep = WaitOn::can_be_sleep(call);
                Off { since: time, on: Some(on), may_idle, may_sleep, who, woken: None }
            }
        };
        self.states[row].off = Some(off);
    }

    /// The innermost call outside of the kernel and the C library, or the innermost outside of the kernel.
    fn who(&self, row: usize) -> usize {
        let frames = &self.states[row].frames;
        let last = |places: &[Place]| {
            frames.iter().rposition(|frame| places.contains(&self.cleaner.place(*frame)))
        };
        last(&[Place::User])
            .or_else(|| last(&[Place::CRuntime]))
            .unwrap_or(frames.len().saturating_sub(1))
    }

    /// Closes the calls of a thread from `from` on, at a time that is known.
    fn close_from(&mut self, builder: &mut ProfileBuilder, row: usize, from: usize, time: i64) {
        while self.states[row].calls.len() > from {
            self.close(builder, row, End::at(time));
        }
    }

    fn close_all(&mut self, builder: &mut ProfileBuilder, row: usize, time: i64) {
        self.close_from(builder, row, 0, time);
        let state = &mut self.states[row];
        (state.call, state.off, state.fresh) = (None, None, true);
        state.started = 0;
    }

    fn entered(
        &mut self,
        builder: &ProfileBuilder,
        row: usize,
        name: perfblame_cct::StringId,
        time: i64,
    ) {
        self.sees_calls = true;
        let call = builder.symbols.text(name);
        let kind = WaitOn::of_call(call);
        if is_for_serving(call) {
            let pid = builder.known_thread(self.states[row].thread).and_then(|known| known.pid);
            self.servers.insert(pid);
        }
        if kind.is_none_or(|kind| !kind.can_be_idle(Some(call)))
            && let Some(caller) = self.states[row].calls.iter().rev().nth(1)
        {
            let slot = at(&mut self.other_calls, caller.cursor.node().index());
            *slot = slot.saturating_add(1);
        }
        self.states[row].call = Some(InCall { name, since: time, left: false });
    }

    /// A system call ends: everything in it ends with it.
    fn exited(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        call_at: Option<usize>,
        time: i64,
    ) {
        if let Some(at) = call_at {
            self.close_from(builder, row, at, time);
        }
        self.states[row].call = None;
    }

    /// Where switches are not traced, a call that is for waiting has waited from its begin to its end.
    fn waited_by_nature(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        time: i64,
        stack: &[FrameId],
    ) {
        let Some(call) = self.states[row].call else { return };
        if call.left || self.sees_switches {
            return;
        }
        let name = builder.symbols.text(call.name);
        let Some(on) = WaitOn::of_call(name) else { return };
        let may_idle = on.can_be_idle(Some(name)) && !self.cleaner.takes_lock(stack);
        let since = self.states[row].settled.max(call.since);
        let may_sleep = WaitOn::can_be_sleep(Some(name));
        let off = Off { since, on: Some(on), may_idle, may_sleep, who: self.who(row), woken: None };
        self.waited(builder, row, off, time);
        self.states[row].settled = time;
    }
}

/// True for system calls of programs that serve others.
fn is_for_serving(call: &str) -> bool {
    call.starts_with("accept") || call.starts_with("epoll_") || call == "listen"
}

/// The slot of a row in a table that grows.
fn at<T: Clone + Default>(table: &mut Vec<T>, row: usize) -> &mut T {
    if table.len() <= row {
        table.resize(row + 1, T::default());
    }
    &mut table[row]
}

impl EventSink for Inference {
    fn event(&mut self, builder: &mut ProfileBuilder, event: StackEvent, stack: &[FrameId]) {
        let StackEvent { time, thread, kind } = event;
        self.metrics(builder);
        let row = self.state_of(builder, thread);
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
                return self.switched_in(builder, row, time);
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
        let mut clean = std::mem::take(&mut self.clean);
        let mut cleaned = self.cleaner.clean(builder, stack, within, &mut clean);
        self.clean = clean;
        let had_user = || {
            self.states[row]
                .frames
                .iter()
                .any(|frame| !matches!(self.cleaner.place(*frame), Place::Kernel | Place::Call))
        };
        // A stack that lacks the user's part says nothing of what goes on there.
        let broken = self.clean.is_empty() || !cleaned.user && had_user();
        if broken {
            self.broken += u64::from(!stack.is_empty());
            self.clean.clone_from(&self.states[row].frames);
            let calls =
                self.clean.iter().rposition(|frame| self.cleaner.place(*frame) == Place::Call);
            cleaned = Cleaned { call: calls, call_name: current, ..cleaned };
        } else {
            let length = self.clean.len();
            self.complete(builder, row, cleaned.cut);
            let added = self.clean.len() - length;
            cleaned.call = cleaned.call.map(|at| at + added);
        }
        self.looks += u64::from(!broken);
        self.seen_again(builder, row, time);
        let exact = match kind {
            EventKind::Enter(_) if !broken => 1,
            _ if broken => 0,
            _ => self.blocks_at_once(kind),
        };
        self.returned_from_wait(builder, row, kind);
        if let EventKind::Exit(_) = kind {
            self.waited_by_nature(builder, row, time, stack);
        }
        self.observe(builder, row, time, exact);
        match kind {
            EventKind::Enter(name) => self.entered(builder, row, name, time),
            EventKind::Exit(_) => self.exited(builder, row, cleaned.call, time),
            EventKind::SwitchOut(leaving) => {
                self.switched_out(builder, row, time, leaving, (cleaned, stack));
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
        let metrics = self.metrics(builder);
        let end = self.span.map_or(0, |(_, last)| last);
        for row in 0..self.states.len() {
            if let Some(off) = self.states[row].off.take()
                && off.on.is_some()
            {
                // It waits to this day.
                let until = off.woken.map_or(end, |(woken, _)| woken);
                self.waited(builder, row, off, until);
                self.states[row].seen = until.max(self.states[row].seen);
            }
            let seen = self.states[row].seen;
            self.close_from(builder, row, 0, seen);
        }
        self.finished_waits = idle::settle(self, builder);
        for wait in self.finished_waits.iter().filter(|wait| wait.idle) {
            let slot = at(&mut self.moved, wait.node.index());
            *slot = slot.saturating_sub(wait.total);
        }
        self.totals.resize(builder.nodes(), NodeLatency::default());
        let mut keep = vec![metrics.latency, metrics.waiting];
        let waited: Vec<WaitOn> =
            self.finished_waits.iter().filter(|wait| !wait.idle).map(|wait| wait.on).collect();
        let on =
            WaitOn::ALL.into_iter().filter(|on| waited.contains(on) && *on != WaitOn::RunQueue);
        keep.extend(on.map(|on| metrics.waiting_on[on as usize]));
        keep.push(metrics.instances);
        // Running time is known as finely as threads are looked at: what falls between two looks is a guess.
        let between = self.ran.checked_div(i64::try_from(self.looks).unwrap_or(i64::MAX));
        builder.set_period(metrics.latency, between.unwrap_or(0));
        builder.choose_metrics(&keep);
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
                "stacks lack the program's own part; their threads were taken to be where they were"
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
