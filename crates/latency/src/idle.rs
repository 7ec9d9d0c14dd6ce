//! Waiting for work, told from waiting within work.
//!
//! A thread of a pool, or one that serves, goes round a loop: it waits until there is something to do, and does it.
//! Most of a server's time goes there, and nobody is hindered. How a loop shows in a trace: one call of a function, in
//! which the thread waits again and again, each time in a branch that does nothing but wait.

use perfblame_cct::{Layer, OpenNode, ProfileBuilder};

use crate::FOR_WORK;
use crate::inference::Inference;
use crate::off_cpu::{Wait, WaitKey, WaitSum};
use crate::wait::WaitOn;

/// So often a thread must come back to a place for it to be the bottom of a loop.
const ROUNDS: u64 = 3;

/// A thread that waits in one place for this part of its time has nothing else to do.
const NOTHING_ELSE: f64 = 0.9;

/// A branch that runs for more than this part of what it waits does something else than waiting.
const PURE: f64 = 0.3;

/// Decides which waits are for work, and moves them out of the way.
pub(crate) fn settle(inference: &mut Inference, builder: &mut ProfileBuilder) -> Vec<Wait> {
    let mut found: Vec<(WaitKey, WaitSum)> =
        inference.waits.iter().map(|(key, sum)| (*key, *sum)).collect();
    found.sort_unstable_by_key(|(key, _)| *key);
    let branches = Branches::of(inference, builder, &found);
    let mut waits: Vec<Wait> = Vec::with_capacity(found.len());
    let mut start = 0;
    while let Some((first, _)) = found.get(start) {
        let place = |key: &WaitKey| (key.node, key.thread, key.on, key.may_idle);
        let same = found[start..].iter().take_while(|(key, _)| place(key) == place(first)).count();
        let site = &found[start..start + same];
        let idle = is_idle(inference, builder, &branches, site);
        for (key, sum) in site {
            let WaitKey { node, thread, on, waker, .. } = *key;
            waits.push(Wait { node, thread, on, waker, total: sum.total, count: sum.count, idle });
        }
        start += same;
    }
    for wait in waits.iter().filter(|wait| wait.idle) {
        set_aside(inference, builder, wait);
    }
    waits.sort_by_key(|wait| (std::cmp::Reverse(wait.total), wait.node, wait.thread, wait.on));
    waits
}

/// What every context does, with everything below it.
struct Branches {
    busy: Vec<i64>,
    waits: Vec<i64>,
    other_calls: Vec<u32>,
}

impl Branches {
    fn of(inference: &Inference, builder: &ProfileBuilder, found: &[(WaitKey, WaitSum)]) -> Self {
        let nodes = builder.nodes();
        let mut busy = inference.busy.clone();
        busy.resize(nodes, 0);
        let mut other_calls = inference.other_calls.clone();
        other_calls.resize(nodes, 0);
        let mut waits = vec![0i64; nodes];
        for (key, sum) in found {
            let slot = &mut waits[key.node.index()];
            *slot = slot.saturating_add(sum.total);
        }
        // Callers come before what they call.
        for row in (0..nodes).rev() {
            if let Some(parent) = builder.parent(OpenNode::new(row)) {
                let parent = parent.index();
                busy[parent] = busy[parent].saturating_add(busy[row]);
                waits[parent] = waits[parent].saturating_add(waits[row]);
                other_calls[parent] = other_calls[parent].saturating_add(other_calls[row]);
            }
        }
        Self { busy, waits, other_calls }
    }

    /// Nothing but waiting happens here and below.
    fn is_pure(&self, node: OpenNode) -> bool {
        let row = node.index();
        self.other_calls[row] == 0 && self.busy[row] as f64 <= self.waits[row] as f64 * PURE
    }

    /// The function that loops around a wait; none where the whole thread is nothing but waiting.
    fn loop_around(&self, builder: &ProfileBuilder, node: OpenNode) -> Option<OpenNode> {
        let mut at = Some(node);
        while let Some(node) = at.filter(|node| self.is_pure(*node)) {
            at = builder.parent(node);
        }
        at
    }
}

fn is_idle(
    inference: &Inference,
    builder: &ProfileBuilder,
    branches: &Branches,
    site: &[(WaitKey, WaitSum)],
) -> bool {
    let Some((key, _)) = site.first().filter(|(key, _)| key.may_idle) else { return false };
    let total: i64 = site.iter().map(|(_, sum)| sum.total).sum();
    let count: u64 = site.iter().map(|(_, sum)| sum.count).sum();
    let pid = builder.known_thread(key.thread).and_then(|known| known.pid);
    // A program of one thread that polls and serves nobody waits for an answer.
    let alone = inference.threads_of(builder, pid) == 1 && !inference.servers.contains(&pid);
    if alone && matches!(key.on, WaitOn::Poll | WaitOn::Child) {
        return false;
    }
    let nothing_else = total as f64 >= inference.watched(key.thread) as f64 * NOTHING_ELSE;
    let Some(round) = branches.loop_around(builder, key.node) else { return true };
    let Some(metrics) = inference.metrics else { return false };
    let calls = builder.value(round, Some(key.thread), metrics.instances).max(1);
    nothing_else || (calls <= 2 && count >= ROUNDS * calls.unsigned_abs())
}

/// Takes a wait out of the latency of its function and puts it below it, as idle time.
fn set_aside(inference: &Inference, builder: &mut ProfileBuilder, wait: &Wait) {
    let Some(metrics) = inference.metrics else { return };
    let frame = builder.named_frame(FOR_WORK, Layer::Idle);
    let waits = builder.cursor(wait.node);
    let thread = Some(wait.thread);
    for metric in [metrics.latency, metrics.waiting, metrics.waiting_on[wait.on as usize]] {
        builder.add(waits, thread, metric, wait.total.saturating_neg());
    }
    let idle = builder.child(waits, frame);
    builder.add(idle, thread, metrics.latency, wait.total);
}
