//! Waiting for work, told from waiting within work.
//!
//! A thread of a pool, or one that serves, goes round a loop: it waits until there is something to do, and does it.
//! Most of a server's time goes there, and nobody is hindered. How a loop shows in a trace: one call of a function, in
//! which the thread waits again and again, each time in a branch that does nothing but wait.

use hashbrown::{HashMap, HashSet};
use perfblame_cct::{OpenNode, ProfileBuilder, ThreadId};

use crate::inference::Inference;
use crate::off_cpu::{Wait, WaitKey, WaitSum};
use crate::purpose::is_service_thread;
use crate::wait::{Nature, WaitOn};

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
    let place = |key: &WaitKey| (key.node, key.thread, key.on, key.nature);
    let sites: Vec<&[(WaitKey, WaitSum)]> =
        found.chunk_by(|(one, _), (other, _)| place(one) == place(other)).collect();
    let looks: Vec<Site> =
        sites.iter().map(|site| look_at(inference, builder, &branches, &running, site)).collect();
    let idle = decide(&sites, &looks);
    let mut waits: Vec<Wait> = Vec::with_capacity(found.len());
    for (site, idle) in sites.iter().zip(idle) {
        for (key, sum) in *site {
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
    /// Nothing tells but what others do in the same place.
    Unsure,
    /// The thread goes round a loop, and waits here for what to do next.
    BottomOfLoop,
    /// The thread of a server comes back, and waits here for somebody to say something.
    Listens,
    /// The thread is here nearly all the time.
    NothingElse,
    /// It is nobody's concern, whatever else the thread does.
    Aside,
}

/// Which of these waits are for work, by how each looks and what is known of the others.
fn decide(sites: &[&[(WaitKey, WaitSum)]], looks: &[Site]) -> Vec<bool> {
    let keys: Vec<Option<&WaitKey>> =
        sites.iter().map(|site| site.first().map(|(key, _)| key)).collect();
    // A thread has one place at which it waits for work. Where it is known, other waits are within work.
    let of_look = |look: Site| {
        let these = keys.iter().zip(looks).filter(move |(_, found)| **found == look);
        these.filter_map(|(key, _)| *key)
    };
    let with_loop: HashSet<ThreadId> = (of_look(Site::BottomOfLoop))
        .filter(|key| key.on != WaitOn::Socket)
        .map(|key| key.thread)
        .collect();
    // A server that asks another one waits for both, and first for its client.
    let mut first_heard: HashMap<ThreadId, (i64, OpenNode)> = HashMap::new();
    for (site, look) in sites.iter().zip(looks) {
        if let (Site::Listens, Some((key, _))) = (look, site.first()) {
            let since = site.iter().map(|(_, sum)| sum.since).min().unwrap_or(i64::MAX);
            let first = first_heard.entry(key.thread).or_insert((since, key.node));
            *first = (since, key.node).min(*first);
        }
    }
    let surely = |look: Site, key: &WaitKey| match look {
        Site::WithinWork => Some(false),
        Site::BottomOfLoop | Site::Aside => Some(true),
        Site::Listens => {
            let first = first_heard.get(&key.thread).is_some_and(|(_, node)| *node == key.node);
            Some(first && !with_loop.contains(&key.thread))
        }
        Site::NothingElse if !with_loop.contains(&key.thread) => Some(true),
        Site::NothingElse | Site::Unsure => None,
    };
    let sure: Vec<Option<bool>> = (keys.iter().zip(looks))
        .map(|(key, look)| key.map_or(Some(false), |key| surely(*look, key)))
        .collect();
    // Threads of a pool wait for work in the same place, also those that seldom get any.
    let mut places: HashMap<(OpenNode, WaitOn), [i64; 2]> = HashMap::new();
    for ((site, key), sure) in sites.iter().zip(&keys).zip(&sure) {
        let (Some(key), idle) = (key, *sure == Some(true)) else { continue };
        if idle || sure.is_none() {
            let total: i64 = site.iter().map(|(_, sum)| sum.total).sum();
            let slot = &mut places.entry((key.node, key.on)).or_default()[usize::from(idle)];
            *slot = slot.saturating_add(total);
        }
    }
    let by_others = |key: &WaitKey| {
        places.get(&(key.node, key.on)).is_some_and(|[unsure, idle]| idle >= unsure)
    };
    let decided = sure.iter().zip(&keys);
    decided.map(|(sure, key)| sure.unwrap_or_else(|| key.is_some_and(by_others))).collect()
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
    let Some((key, _)) = site.first() else { return Site::WithinWork };
    let known = builder.known_thread(key.thread);
    let of_runtime = || known.is_some_and(|one| is_service_thread(builder.symbols.text(one.name)));
    match key.nature {
        Nature::Work => return Site::WithinWork,
        Nature::Idle => return Site::Aside,
        _ if of_runtime() => return Site::Aside,
        _ => {}
    }
    let total: i64 = site.iter().map(|(_, sum)| sum.total).sum();
    let count: u64 = site.iter().map(|(_, sum)| sum.count).sum();
    let pid = known.and_then(|known| known.pid);
    let serves = inference.waiting.servers.contains(&pid);
    let round = branches.loop_around(builder, key.node);
    if key.nature == Nature::MayServe {
        // What is done about a request may be done in the function that waits for it, so it need not loop itself.
        return if serves && count >= ROUNDS { Site::Listens } else { Site::WithinWork };
    }
    // Descriptors at which connections are accepted.
    let accepts = |node: OpenNode| inference.waiting.accepting.contains(&node);
    if key.on == WaitOn::Poll && (accepts(key.node) || round.is_some_and(accepts)) {
        return Site::BottomOfLoop;
    }
    // A program of one thread that polls and serves nobody waits for an answer.
    let alone = inference.threads_of(builder, pid) == 1 && !serves;
    if alone && matches!(key.on, WaitOn::Poll | WaitOn::Child) {
        return Site::WithinWork;
    }
    let alike: u64 = site.iter().map(|(_, sum)| sum.alike).sum();
    let sleeps = count >= ROUNDS && alike as f64 >= count as f64 * ALIKE;
    if key.nature == Nature::MaySleep && sleeps {
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
    let Some(round) = round else { return Site::BottomOfLoop };
    if loops(inference, round, key.thread, count) {
        Site::BottomOfLoop
    } else if total as f64 >= inference.watched(key.thread) as f64 * NOTHING_ELSE {
        Site::NothingElse
    } else {
        Site::Unsure
    }
}

/// True where so many waits below `round` are rounds of a loop in it.
fn loops(inference: &Inference, round: OpenNode, thread: ThreadId, count: u64) -> bool {
    // Whether each round is a call of its own, as the code may tell, does not matter: somebody goes round.
    let splits = inference.splits(round, thread);
    let calls = inference.results.tally.calls(round, thread).saturating_sub(splits).max(1);
    if calls <= 2 {
        // One of the calls has so many of them.
        count > (ROUNDS - 1).saturating_mul(calls)
    } else {
        count >= MANY_ROUNDS.saturating_mul(calls)
    }
}
