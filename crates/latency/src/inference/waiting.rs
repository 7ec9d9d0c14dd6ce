//! Time off the processor and in system calls: the kernel tells when it begins and ends, so nothing of it is inferred.

use hashbrown::{HashMap, HashSet};
use perfblame_cct::{EventKind, FrameId, Leaving, OpenNode, ProfileBuilder, StringId};

use super::{Inference, Look, at};
use crate::calls::OpenCall;
use crate::cleaning::{Cleaned, FrameOwner};
use crate::off_cpu::{Wait, WaitKey, WaitSum};
use crate::thread::{InCall, Off};
use crate::wait::{Nature, WaitOn};

/// So many places of waits are kept of each thread before it is known whether anybody will ask for them.
const FIRST_WAITS: usize = 32;

/// What is known of waits so far, and what a trace tells of them.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) sums: HashMap<WaitKey, WaitSum>,
    /// All waits, the longest first, when the trace is over.
    pub(super) finished: Vec<Wait>,
    /// System calls made by each context that are not for waiting, by node.
    pub(crate) other_calls: Vec<u32>,
    /// Processes that serve others.
    pub(crate) servers: HashSet<Option<u64>>,
    /// Contexts that accept connections.
    pub(crate) accepting: HashSet<OpenNode>,
    sees_switches: bool,
    sees_calls: bool,
    /// Threads are told how long they had no processor.
    hears_of_queues: bool,
}

impl Inference {
    /// Takes events that say nothing but when a thread runs and why it does not; true for those.
    pub(super) fn only_scheduled(
        &mut self,
        row: usize,
        time: i64,
        kind: EventKind,
        stack: &[FrameId],
    ) -> bool {
        match kind {
            EventKind::SwitchIn => {
                self.waiting.sees_switches = true;
                self.switched_in(row, time);
                true
            }
            EventKind::Wakeup(by) => {
                if let Some(off) = &mut self.threads.states[row].off {
                    off.woken.get_or_insert((time, by));
                }
                true
            }
            EventKind::SwitchOut(leaving) if stack.is_empty() => self.same_switch(row, leaving),
            _ => false,
        }
    }

    /// The same switch as that of the stack before, which knows more but not always whether the thread could go on.
    /// True where nothing else is to be done about it.
    fn same_switch(&mut self, row: usize, leaving: Leaving) -> bool {
        let off = &mut self.threads.states[row].off;
        let Some(known) = off else { return false };
        match leaving {
            Leaving::Preempted => {
                (known.on, known.nature) = (None, Nature::Work);
                true
            }
            Leaving::Blocked if known.on.is_none() => {
                *off = None;
                false
            }
            Leaving::Blocked | Leaving::Unsaid => true,
            Leaving::Exited => false,
        }
    }

    /// A thread that was off its processor, or in a system call that waits by nature, is seen again.
    pub(super) fn off_is_over(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        time: i64,
        kind: EventKind,
        look: Look,
    ) {
        self.seen_again(row, time);
        self.returned_from_wait(builder, row, kind);
        if let EventKind::Exit(_) = kind {
            self.waited_by_nature(builder, row, time, look.cleaned);
        }
    }

    /// Credits a wait to the call that waits.
    pub(super) fn waited(&mut self, row: usize, off: Off, until: i64) {
        let state = &self.threads.states[row];
        let time = until.saturating_sub(off.since);
        let (Some(call), thread) = (state.calls.get(off.who).copied(), state.thread) else {
            return;
        };
        if time <= 0 {
            return;
        }
        let Some(on) = off.on else {
            return self.queued(row, off.who, time);
        };
        self.move_waiting(row, Some(off.who), time);
        let waker = off.woken.and_then(|woken| woken.1);
        let node = call.cursor.node();
        let key = WaitKey { node, thread, on, nature: off.nature, waker };
        self.waiting.sums.entry(key).or_default().add(off.since, time);
        if off.woken.is_none() {
            let most = if self.waiting.hears_of_queues { 1024 } else { FIRST_WAITS };
            self.threads.states[row].recent.add(key, time, most);
        }
    }

    /// Time in which a thread could have run, and somebody else did.
    pub(super) fn queued(&mut self, row: usize, who: usize, time: i64) {
        let state = &self.threads.states[row];
        let (Some(call), thread) = (state.calls.get(who).copied(), state.thread) else { return };
        if time <= 0 {
            return;
        }
        let since = state.settled;
        self.move_waiting(row, None, time);
        let key = WaitKey::queue(call.cursor.node(), thread);
        self.waiting.sums.entry(key).or_default().add(since, time);
        let known = &mut self.threads.states[row].recent.queued;
        *known = known.saturating_add(time);
    }

    /// A thread had no processor for so long in all: what is more than it was seen to be held up came at the end of its
    /// waits. Each time it was woken it may have been kept from running, so each wait has an equal part of that.
    pub(super) fn told_queued(&mut self, row: usize, time: i64) {
        self.waiting.hears_of_queues = true;
        let recent = std::mem::take(&mut self.threads.states[row].recent);
        let mut left = time.saturating_sub(recent.queued);
        let mut waits = recent.waits;
        // The shortest first: what is more than they took is left to the others.
        waits.sort_by_key(|(key, total, count)| (*total / (*count as i64).max(1), *key));
        let mut others: u64 = waits.iter().map(|(_, _, count)| *count).sum();
        for (key, total, count) in waits {
            if left <= 0 {
                break;
            }
            let part = (i128::from(left) * i128::from(count) / i128::from(others.max(1))) as i64;
            let part = part.min(total);
            others -= count;
            left -= part;
            let Some(wait) = self.waiting.sums.get_mut(&key).filter(|_| part > 0) else { continue };
            wait.total = wait.total.saturating_sub(part);
            let since = wait.since;
            let queue = WaitKey::queue(key.node, key.thread);
            self.waiting.sums.entry(queue).or_default().add(since, part);
            let slot = at(&mut self.results.moved, key.node.index());
            *slot = slot.saturating_sub(part);
        }
    }

    /// Notes that time spent in the innermost call is credited to another one, or to none.
    pub(super) fn move_waiting(&mut self, row: usize, to: Option<usize>, time: i64) {
        let calls = &self.threads.states[row].calls;
        let node = |call: &OpenCall| call.cursor.node().index();
        let (from, to) = (calls.last().map(node), to.and_then(|to| calls.get(to)).map(node));
        if let Some(from) = from {
            let slot = at(&mut self.results.moved, from);
            *slot = slot.saturating_sub(time);
        }
        if let Some(to) = to {
            let slot = at(&mut self.results.moved, to);
            *slot = slot.saturating_add(time);
        }
    }

    /// Back on a processor, as is known for sure.
    pub(super) fn switched_in(&mut self, row: usize, time: i64) {
        let Some(off) = self.threads.states[row].off.take() else { return };
        self.threads.states[row].woken = true;
        let until = match (off.on, off.woken) {
            (Some(_), Some((woken, _))) => woken.clamp(off.since, time),
            _ => time,
        };
        self.waited(row, off, until);
        self.queued(row, off.who, time.saturating_sub(until));
        let state = &mut self.threads.states[row];
        // Nothing can have returned meanwhile.
        (state.seen, state.settled) = (time, time);
        state.waited_in = off.on.map(|_| off.who);
    }

    /// Where system calls are not traced, a call that has waited is over when its thread runs again. Where it blocks in
    /// the same place next, it went round a loop, and what it did meanwhile was not done within the system call.
    pub(super) fn returned_from_wait(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        kind: EventKind,
    ) {
        let Some(who) =
            self.threads.states[row].waited_in.take().filter(|_| !self.waiting.sees_calls)
        else {
            return;
        };
        let state = &self.threads.states[row];
        let still_there = state.frames == self.clean;
        if !still_there || matches!(kind, EventKind::SwitchOut(Leaving::Blocked)) {
            self.close_from(builder, row, who + 1, state.settled);
        }
    }

    /// How many of the innermost calls begin when a thread blocks: it does so as soon as it is in the kernel.
    pub(super) fn blocks_at_once(&self, kind: EventKind) -> usize {
        if self.waiting.sees_calls || !matches!(kind, EventKind::SwitchOut(Leaving::Blocked)) {
            return 0;
        }
        let user =
            self.clean.iter().rposition(|frame| self.cleaner.place(*frame) == FrameOwner::User);
        user.map_or(0, |user| self.clean.len() - user - 1)
    }

    /// The next event of a thread that was off its processor, and whose return to it was not seen.
    pub(super) fn seen_again(&mut self, row: usize, time: i64) {
        let Some(off) = self.threads.states[row].off.take() else { return };
        self.threads.states[row].woken = true;
        if off.on.is_none() {
            return;
        }
        let until = off.woken.map_or(time, |(woken, _)| woken.clamp(off.since, time));
        self.waited(row, off, until);
        let state = &mut self.threads.states[row];
        state.settled = until;
        if off.woken.is_some() {
            state.seen = until;
        }
    }

    pub(super) fn switched_out(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        time: i64,
        leaving: Leaving,
        cleaned: Cleaned,
    ) {
        self.waiting.sees_switches = true;
        let state = &mut self.threads.states[row];
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
                Off { since: time, on: None, nature: Nature::Work, who, woken: None }
            }
            Leaving::Unsaid => return,
            Leaving::Blocked => {
                let state = &self.threads.states[row];
                let call = cleaned.call_name.or(state.call.map(|call| call.name));
                let call = call.map(|name| builder.symbols.text(name));
                let work = state
                    .frames
                    .iter()
                    .filter(|frame| self.cleaner.place(**frame) == FrameOwner::Kernel);
                let names = work
                    .filter_map(|frame| Some(builder.symbols.name(self.cleaner.function(*frame)?)));
                let on =
                    if cleaned.fault { WaitOn::PageFault } else { WaitOn::of(call, names.clone()) };
                let receives =
                    call.is_none() && names.into_iter().any(|name| name.contains("recvmsg"));
                let nature = on.nature(call, receives, cleaned.purpose);
                // Where system calls are not traced, this is all there is to see of them.
                if call.is_some_and(is_for_serving) {
                    let known = builder.known_thread(state.thread);
                    self.waiting.servers.insert(known.and_then(|known| known.pid));
                }
                Off { since: time, on: Some(on), nature, who, woken: None }
            }
        };
        self.threads.states[row].off = Some(off);
    }

    /// The innermost call outside of the kernel and the C library, or the innermost outside of the kernel.
    pub(super) fn who(&self, row: usize) -> usize {
        let frames = &self.threads.states[row].frames;
        let last = |places: &[FrameOwner]| {
            frames.iter().rposition(|frame| places.contains(&self.cleaner.place(*frame)))
        };
        last(&[FrameOwner::User])
            .or_else(|| last(&[FrameOwner::CRuntime]))
            .unwrap_or(frames.len().saturating_sub(1))
    }

    pub(super) fn entered(
        &mut self,
        builder: &ProfileBuilder,
        row: usize,
        name: StringId,
        time: i64,
    ) {
        self.waiting.sees_calls = true;
        let call = builder.symbols.text(name);
        let kind = WaitOn::of_call(call);
        if is_for_serving(call) {
            let pid =
                builder.known_thread(self.threads.states[row].thread).and_then(|known| known.pid);
            self.waiting.servers.insert(pid);
        }
        let caller = self.threads.states[row].calls.iter().rev().nth(1);
        if let Some(caller) = caller.map(|caller| caller.cursor.node()) {
            if call.starts_with("accept") {
                self.waiting.accepting.insert(caller);
            }
            if kind.is_none_or(|kind| kind.nature(Some(call), false, None) == Nature::Work) {
                let slot = at(&mut self.waiting.other_calls, caller.index());
                *slot = slot.saturating_add(1);
            }
        }
        self.threads.states[row].call = Some(InCall { name, since: time, left: false });
    }

    /// A system call ends: everything in it ends with it.
    pub(super) fn exited(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        call_at: Option<usize>,
        time: i64,
    ) {
        if let Some(at) = call_at {
            self.close_from(builder, row, at, time);
        }
        self.threads.states[row].call = None;
    }

    /// Where switches are not traced, a call that is for waiting has waited from its begin to its end.
    pub(super) fn waited_by_nature(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        time: i64,
        cleaned: Cleaned,
    ) {
        let Some(call) = self.threads.states[row].call else { return };
        if call.left || self.waiting.sees_switches {
            return;
        }
        let name = builder.symbols.text(call.name);
        let Some(on) = WaitOn::of_call(name) else { return };
        let nature = on.nature(Some(name), false, cleaned.purpose);
        let since = self.threads.states[row].settled.max(call.since);
        let off = Off { since, on: Some(on), nature, who: self.who(row), woken: None };
        self.waited(row, off, time);
        self.threads.states[row].settled = time;
    }
}

/// True for system calls of programs that serve others.
fn is_for_serving(call: &str) -> bool {
    call.starts_with("accept") || call.starts_with("epoll_") || call == "listen"
}
