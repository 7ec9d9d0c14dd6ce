//! Waiting for work, told from waiting within work.
//!
//! A thread of a pool, or one that serves, goes round a loop: it waits until there is something to do, and does it.
//! Most of a server's time goes there, and nobody is hindered. How a loop shows in a trace: one call of a function, in
//! which the thread waits again and again, each time in a branch that does nothing but wait.

use hashbrown::{HashMap, HashSet};
use perfblame_cct::{OpenNode, ProfileBuilder, ThreadId};

use crate::inference::Inference;
use crate::off_cpu::{Wait, WaitKey, WaitSum};
use crate::wait::WaitOn;

/// So often a thread must come back to a place for it to be the bottom of a loop.
const ROUNDS: u64 = 3;

/// A thread that waits in one place for this part of its time has nothing else to do.
const NOTHING_ELSE: f64 = 0.9;

/// A branch that runs for more than this part of what it waits does something else than waiting.
const PURE: f64 = 0.3;

/// Where a place is come back to this often within each call of the function around it, that function loops, also when it
/// seems to be called several times: stacks that break off make one call look like many.
const MANY_ROUNDS: u64 = 20;

/// Work does not come at equal intervals. Where this part of the waits for descriptors take equally long, none came, and
/// the thread sleeps: `select` and `poll` without any descriptor are ways to do that.
const ALIKE: f64 = 0.8;

/// The main thread of a program waits for the others when they run for at least this part of the wait.
const OTHERS_RUN: f64 = 0.3;

/// Decides which waits are for work. Waits come by context and thread.
pub(crate) fn tell_apart(inference: &Inference, builder: &ProfileBuilder) -> Vec<Wait> {
    let mut found: Vec<(WaitKey, WaitSum)> =
        inference.waiting.sums.iter().map(|(key, sum)| (*key, *sum)).collect();
    found.sort_unstable_by_key(|(key, _)| *key);
    let branches = Branches::of(inference, builder, &found);
    let running = Running::of(inference, builder, &found);
    let place = |key: &WaitKey| (key.node, key.thread, key.on, key.may_idle, key.may_sleep);
    let sites: Vec<&[(WaitKey, WaitSum)]> =
        found.chunk_by(|(one, _), (other, _)| place(one) == place(other)).collect();
    let kinds: Vec<Site> =
        sites.iter().map(|site| look_at(inference, builder, &branches, &running, site)).collect();
    // A thread has one place at which it waits for work. Where it is known, other waits are within work.
    let with_loop: HashSet<ThreadId> = (sites.iter().zip(&kinds))
        .filter(|(_, kind)| **kind == Site::BottomOfLoop)
        .filter_map(|(site, _)| site.first().map(|(key, _)| key.thread))
        .collect();
    let mut waits: Vec<Wait> = Vec::with_capacity(found.len());
    for (site, kind) in sites.iter().zip(kinds) {
        for (key, sum) in *site {
            let idle = match kind {
                Site::WithinWork => false,
                Site::BottomOfLoop => true,
                Site::NothingElse => !with_loop.contains(&key.thread),
            };
            let WaitKey { node, thread, on, waker, .. } = *key;
            waits.push(Wait { node, thread, on, waker, total: sum.total, count: sum.count, idle });
        }
    }
    waits
}

/// How the place of a wait looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Site {
    WithinWork,
    /// The thread goes round a loop, and waits here for what to do next.
    BottomOfLoop,
    /// The thread is here nearly all the time.
    NothingElse,
}

/// How long threads ran.
struct Running(Vec<(ThreadId, Option<u64>, i64)>);

impl Running {
    fn of(inference: &Inference, builder: &ProfileBuilder, found: &[(WaitKey, WaitSum)]) -> Self {
        let mut waited: HashMap<ThreadId, i64> = HashMap::new();
        for (key, sum) in found {
            let slot = waited.entry(key.thread).or_default();
            *slot = slot.saturating_add(sum.total);
        }
        let ran = |thread: ThreadId| {
            let waited = waited.get(&thread).copied().unwrap_or(0);
            let pid = builder.known_thread(thread).and_then(|known| known.pid);
            (thread, pid, inference.watched(thread).saturating_sub(waited).max(0))
        };
        Self(inference.threads().map(ran).collect())
    }

    /// How long all other threads of a process ran.
    fn others(&self, thread: ThreadId, pid: Option<u64>) -> i64 {
        let others = self.0.iter().filter(|(other, of, _)| *other != thread && *of == pid);
        others.fold(0, |sum, (_, _, ran)| sum.saturating_add(*ran))
    }
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
        let mut busy = inference.results.tally.ran(nodes);
        let mut other_calls = inference.waiting.other_calls.clone();
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

fn look_at(
    inference: &Inference,
    builder: &ProfileBuilder,
    branches: &Branches,
    running: &Running,
    site: &[(WaitKey, WaitSum)],
) -> Site {
    let first = site.first().filter(|(key, _)| key.may_idle);
    let Some((key, _)) = first else { return Site::WithinWork };
    let total: i64 = site.iter().map(|(_, sum)| sum.total).sum();
    let count: u64 = site.iter().map(|(_, sum)| sum.count).sum();
    let known = builder.known_thread(key.thread);
    let pid = known.and_then(|known| known.pid);
    let serves = inference.waiting.servers.contains(&pid);
    // A program of one thread that polls and serves nobody waits for an answer.
    let alone = inference.threads_of(builder, pid) == 1 && !serves;
    if alone && matches!(key.on, WaitOn::Poll | WaitOn::Child) {
        return Site::WithinWork;
    }
    let alike: u64 = site.iter().map(|(_, sum)| sum.alike).sum();
    if key.may_sleep && count >= ROUNDS && alike as f64 >= count as f64 * ALIKE {
        return Site::WithinWork;
    }
    // What its main thread waits for delays a program that serves nobody; others can be the cause only if they run.
    let is_main = known.is_some_and(|known| known.tid.is_some() && known.tid == known.pid);
    let others = running.others(key.thread, pid);
    if is_main && !serves && (others as f64) < total as f64 * OTHERS_RUN {
        return Site::WithinWork;
    }
    if key.on == WaitOn::Signal {
        return Site::BottomOfLoop;
    }
    let Some(round) = branches.loop_around(builder, key.node) else { return Site::BottomOfLoop };
    // Whether each round is a call of its own, as the code may tell, does not matter: somebody goes round.
    let splits = inference.splits(round, key.thread);
    let calls = inference.results.tally.calls(round, key.thread).saturating_sub(splits).max(1);
    let rounds = if calls <= 2 { ROUNDS } else { MANY_ROUNDS };
    if count >= rounds.saturating_mul(calls) {
        Site::BottomOfLoop
    } else if total as f64 >= inference.watched(key.thread) as f64 * NOTHING_ELSE {
        Site::NothingElse
    } else {
        Site::WithinWork
    }
}
