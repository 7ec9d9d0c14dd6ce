//! Time off the processor and in system calls: the kernel tells when it begins and ends, so nothing of it is inferred.

use perfblame_cct::{EventKind, Leaving, ProfileBuilder, StringId};

use super::{Inference, at};
use crate::calls::OpenCall;
use crate::cleaning::{Cleaned, Place};
use crate::off_cpu::WaitKey;
use crate::thread::{InCall, Off};
use crate::wait::WaitOn;

/// So many places of waits are kept of each thread before it is known whether anybody will ask for them.
const FIRST_WAITS: usize = 32;

impl Inference {
    /// Credits a wait to the call that waits.
    pub(super) fn waited(&mut self, row: usize, off: Off, until: i64) {
        let state = &self.states[row];
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
        let (may_idle, may_sleep) = (off.may_idle, off.may_sleep);
        let key = WaitKey { node, thread, on, may_idle, may_sleep, waker };
        self.waits.entry(key).or_default().add(time);
        if off.woken.is_none() {
            let most = if self.hears_of_queues { 1024 } else { FIRST_WAITS };
            self.states[row].recent.add(key, time, most);
        }
    }

    /// Time in which a thread could have run, and somebody else did.
    pub(super) fn queued(&mut self, row: usize, who: usize, time: i64) {
        let state = &self.states[row];
        let (Some(call), thread) = (state.calls.get(who).copied(), state.thread) else { return };
        if time <= 0 {
            return;
        }
        self.move_waiting(row, None, time);
        self.waits.entry(WaitKey::queue(call.cursor.node(), thread)).or_default().add(time);
        let known = &mut self.states[row].recent.queued;
        *known = known.saturating_add(time);
    }

    /// A thread had no processor for so long in all: what is more than it was seen to be held up came at the end of its
    /// waits. Each time it was woken it may have been kept from running, so each wait has an equal part of that.
    pub(super) fn told_queued(&mut self, row: usize, time: i64) {
        self.hears_of_queues = true;
        let recent = std::mem::take(&mut self.states[row].recent);
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
            let Some(wait) = self.waits.get_mut(&key).filter(|_| part > 0) else { continue };
            wait.total = wait.total.saturating_sub(part);
            self.waits.entry(WaitKey::queue(key.node, key.thread)).or_default().add(part);
            let slot = at(&mut self.moved, key.node.index());
            *slot = slot.saturating_sub(part);
        }
    }

    /// Notes that time spent in the innermost call is credited to another one, or to none.
    pub(super) fn move_waiting(&mut self, row: usize, to: Option<usize>, time: i64) {
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
    pub(super) fn switched_in(&mut self, row: usize, time: i64) {
        let Some(off) = self.states[row].off.take() else { return };
        self.states[row].woken = true;
        let until = match (off.on, off.woken) {
            (Some(_), Some((woken, _))) => woken.clamp(off.since, time),
            _ => time,
        };
        self.waited(row, off, until);
        self.queued(row, off.who, time.saturating_sub(until));
        let state = &mut self.states[row];
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
    pub(super) fn blocks_at_once(&self, kind: EventKind) -> usize {
        if self.sees_calls || !matches!(kind, EventKind::SwitchOut(Leaving::Blocked)) {
            return 0;
        }
        let user = self.clean.iter().rposition(|frame| self.cleaner.place(*frame) == Place::User);
        user.map_or(0, |user| self.clean.len() - user - 1)
    }

    /// The next event of a thread that was off its processor, and whose return to it was not seen.
    pub(super) fn seen_again(&mut self, row: usize, time: i64) {
        let Some(off) = self.states[row].off.take() else { return };
        self.states[row].woken = true;
        if off.on.is_none() {
            return;
        }
        let until = off.woken.map_or(time, |(woken, _)| woken.clamp(off.since, time));
        self.waited(row, off, until);
        let state = &mut self.states[row];
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
                let may_idle = on.can_be_idle(call) && !cleaned.lock;
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
    pub(super) fn who(&self, row: usize) -> usize {
        let frames = &self.states[row].frames;
        let last = |places: &[Place]| {
            frames.iter().rposition(|frame| places.contains(&self.cleaner.place(*frame)))
        };
        last(&[Place::User])
            .or_else(|| last(&[Place::CRuntime]))
            .unwrap_or(frames.len().saturating_sub(1))
    }

    pub(super) fn entered(
        &mut self,
        builder: &ProfileBuilder,
        row: usize,
        name: StringId,
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
        self.states[row].call = None;
    }

    /// Where switches are not traced, a call that is for waiting has waited from its begin to its end.
    pub(super) fn waited_by_nature(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        time: i64,
        cleaned: Cleaned,
    ) {
        let Some(call) = self.states[row].call else { return };
        if call.left || self.sees_switches {
            return;
        }
        let name = builder.symbols.text(call.name);
        let Some(on) = WaitOn::of_call(name) else { return };
        let may_idle = on.can_be_idle(Some(name)) && !cleaned.lock;
        let since = self.states[row].settled.max(call.since);
        let may_sleep = WaitOn::can_be_sleep(Some(name));
        let off = Off { since, on: Some(on), may_idle, may_sleep, who: self.who(row), woken: None };
        self.waited(row, off, time);
        self.states[row].settled = time;
    }
}

/// True for system calls of programs that serve others.
fn is_for_serving(call: &str) -> bool {
    call.starts_with("accept") || call.starts_with("epoll_") || call == "listen"
}
