//! What the threads of traced runs do: how long they live, run and wait, and where they do nothing but wait.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use perfblame_cct::{Cells, Layer, MetricId, NodeId, Run, RunSet, ThreadId};
use perfblame_latency::{FOR_WORK, INSTANCES, LATENCY, SYSCALL, WAITING, WaitOn};

use super::leaves::wait_of;

/// A thread that waits for this part of its life, or of a call, does next to nothing else.
const NEXT_TO_NOTHING: f64 = 0.8;

/// Threads that run for more than this part of what all others run do work that the program may wait for.
const GOOD_PART: f64 = 0.25;

/// A thread, or a call, that lasts for less than this part of the run was started for something.
const LASTS: f64 = 0.5;

/// So many waits within a call are a loop.
const ROUNDS: i64 = 3;

/// Two sleeps are of one length if they differ by no more than this factor.
const ONE_LENGTH: f64 = 1.3;

/// One side, looked at for waiting.
pub(super) struct Traced {
    latency: MetricId,
    pub(super) waiting: Option<MetricId>,
    kinds: Vec<(WaitOn, MetricId)>,
    /// What is waited for at each node, where nothing but names tells.
    leaves: Vec<Option<WaitOn>>,
    /// The pseudo-function below each node that waits for work, and any of them.
    aside: HashMap<NodeId, NodeId>,
    anywhere: Option<NodeId>,
    pub(super) runs: Vec<TracedRun>,
}

/// What the threads of a run do.
pub(super) struct TracedRun {
    pub(super) waits: Vec<Waiting>,
    /// Waiting that is known to be for work, by place.
    pub(super) for_work: BTreeMap<NodeId, i64>,
    threads: BTreeMap<Option<ThreadId>, Life>,
}

/// What a thread does, all the time or within some of its calls.
#[derive(Clone, Copy, Default)]
struct Life {
    /// Idle time included.
    lived: i64,
    idle: i64,
    ran: i64,
    /// Waiting of kinds that may be for work.
    waits: i64,
}

impl Life {
    /// True where it is next to nothing but waiting, and lasts for most of a run of this length.
    fn only_waits(&self, longest: i64) -> bool {
        let at_work = self.lived.saturating_sub(self.idle);
        self.waits as f64 >= at_work as f64 * NEXT_TO_NOTHING
            && self.lived as f64 >= longest as f64 * LASTS
    }
}

/// Waiting of a thread in one place, of all kinds that may be idle.
pub(super) struct Waiting {
    /// The place, in both trees together.
    pub(super) row: NodeId,
    node: NodeId,
    thread: Option<ThreadId>,
    pub(super) total: i64,
    /// In so many system calls.
    calls: i64,
    /// The part of it that is sleep.
    asleep: i64,
    /// The part of it that is for a peer.
    listening: i64,
    /// Its thread is known to wait for work in the same place, so this is something else.
    also_for_work: bool,
    alone: Alone,
}

/// Where a thread does nothing but wait, or next to that: how long it runs meanwhile.
#[derive(Clone, Copy, Default)]
struct Alone {
    /// For all of its life.
    in_life: Option<i64>,
    /// Within a call around the wait.
    in_call: Option<i64>,
}

impl Alone {
    fn is_known(&self) -> bool {
        self.in_life.is_some() || self.in_call.is_some()
    }

    /// Both of them, where both are known.
    fn and(&self, other: &Self) -> Self {
        let sum = |one: Option<i64>, two: Option<i64>| Some(one?.saturating_add(two?));
        let in_life = sum(self.in_life, other.in_life);
        Self { in_life, in_call: sum(self.in_call, other.in_call) }
    }
}

impl Waiting {
    /// True where nothing is known against it.
    pub(super) fn may_be_for_work(&self) -> bool {
        !self.also_for_work && self.asleep == 0
    }
}

/// True for what threads without work may wait for.
fn can_be_idle(on: WaitOn) -> bool {
    match on {
        WaitOn::Socket
        | WaitOn::Poll
        | WaitOn::Futex
        | WaitOn::Sleep
        | WaitOn::Child
        | WaitOn::Signal => true,
        WaitOn::File | WaitOn::Pipe | WaitOn::PageFault | WaitOn::RunQueue | WaitOn::Other => false,
    }
}

impl Traced {
    pub(super) fn of(set: &RunSet, latency: MetricId, place: &[NodeId]) -> Self {
        let by_clock = set.metrics[latency.index()].name != LATENCY;
        let kinds: Vec<(WaitOn, MetricId)> = (WaitOn::ALL.into_iter())
            .filter(|on| can_be_idle(*on) && !by_clock)
            .filter_map(|on| Some((on, set.metric(&format!("{WAITING} on {}", on.name()))?)))
            .collect();
        let name =
            |node: NodeId| set.symbols.name(set.symbols.frame(set.tree.frame(node)).function);
        let idle: Vec<NodeId> = set.tree.nodes().filter(|node| name(*node) == FOR_WORK).collect();
        let of_parent = |node: &NodeId| Some((set.tree.parent(*node)?, *node));
        let mut traced = Self {
            latency,
            waiting: set.metric(WAITING).filter(|_| !by_clock),
            leaves: if by_clock { leaves(set) } else { Vec::new() },
            kinds,
            aside: idle.iter().filter_map(of_parent).collect(),
            anywhere: idle.first().copied(),
            runs: Vec::new(),
        };
        if by_clock && traced.leaves.iter().all(Option::is_none) {
            return traced;
        }
        traced.runs = set.runs.iter().map(|run| traced.look_at(set, run, place)).collect();
        traced
    }

    /// All waiting of a run that may be for work.
    fn waits_of(&self, run: &Run) -> Vec<FoundWait> {
        let of_metric = |(on, metric): &(WaitOn, MetricId)| {
            let on = *on;
            run.cells.of(*metric).map(move |(node, thread, value)| (on, node, thread, value))
        };
        let by_name = run.cells.of(self.latency).filter_map(|(node, thread, value)| {
            Some(((*self.leaves.get(node.index())?)?, node, thread, value))
        });
        self.kinds.iter().flat_map(of_metric).chain(by_name).collect()
    }

    fn look_at(&self, set: &RunSet, run: &Run, place: &[NodeId]) -> TracedRun {
        let layer = |node: NodeId| {
            let function = set.symbols.frame(set.tree.frame(node)).function;
            set.symbols.function(function).layer
        };
        let mut idle: BTreeMap<(NodeId, Option<ThreadId>), i64> = BTreeMap::new();
        let found = self.waits_of(run);
        let mut lives = Lives::of(set, &found);
        for (node, thread, value) in run.cells.of(self.latency) {
            let is_idle = layer(node) == Layer::Idle;
            lives.add(node, thread, |life| {
                life.lived = life.lived.saturating_add(value);
                let slot = if is_idle { &mut life.idle } else { &mut life.ran };
                *slot = slot.saturating_add(value);
            });
            if let Some(parent) = set.tree.parent(node)
                && self.aside.get(&parent) == Some(&node)
            {
                *idle.entry((parent, thread)).or_default() += value;
            }
        }
        for (node, thread, value) in self.waiting.into_iter().flat_map(|id| run.cells.of(id)) {
            lives.add(node, thread, |life| life.ran = life.ran.saturating_sub(value));
        }
        if self.waiting.is_none() {
            for (_, node, thread, value) in &found {
                lives.add(*node, *thread, |life| life.ran = life.ran.saturating_sub(*value));
            }
        }
        let mut waits: BTreeMap<(NodeId, Option<ThreadId>), Waiting> = BTreeMap::new();
        for (on, node, thread, value) in found {
            lives.add(node, thread, |life| life.waits = life.waits.saturating_add(value));
            let wait = waits.entry((node, thread)).or_insert_with(|| Waiting {
                row: place[node.index()],
                node,
                thread,
                total: 0,
                calls: 0,
                asleep: 0,
                listening: 0,
                also_for_work: idle.contains_key(&(node, thread)),
                alone: Alone::default(),
            });
            wait.total = wait.total.saturating_add(value);
            match on {
                WaitOn::Sleep => wait.asleep = wait.asleep.saturating_add(value),
                WaitOn::Socket => wait.listening = wait.listening.saturating_add(value),
                _ => {}
            }
        }
        let mut waits: Vec<Waiting> = waits.into_values().collect();
        let calls = system_calls(set, run);
        let instances = set.metric(INSTANCES);
        let instances: HashMap<(NodeId, Option<ThreadId>), i64> =
            (instances.into_iter().flat_map(|id| run.cells.of(id)))
                .map(|(node, thread, calls)| ((node, thread), calls))
                .collect();
        for wait in &mut waits {
            let below = set.tree.subtree(wait.node);
            let first = calls.partition_point(|(row, ..)| *row < below.start);
            let here = calls[first..].iter().take_while(|(row, ..)| *row < below.end);
            let here = here.filter(|(_, thread, _)| *thread == wait.thread);
            wait.calls = here.map(|(.., calls)| *calls).sum();
            wait.alone = lives.alone(wait, &instances);
        }
        let threads = lives.threads;
        let mut for_work: BTreeMap<NodeId, i64> = BTreeMap::new();
        for ((node, _), value) in idle {
            *for_work.entry(place[node.index()]).or_default() += value;
        }
        TracedRun { waits, for_work, threads }
    }

    /// The same cells, with these waits moved aside.
    pub(super) fn without(&self, cells: &Cells, moves: &[&Waiting]) -> Cells {
        let gone: HashMap<(NodeId, Option<ThreadId>), &Waiting> =
            moves.iter().map(|wait| ((wait.node, wait.thread), *wait)).collect();
        let mut keys = Vec::with_capacity(cells.len() + moves.len());
        let mut columns: Vec<Vec<i64>> = vec![Vec::new(); cells.metrics()];
        for cell in cells.rows() {
            let wait = gone.get(&(cell.node, cell.thread));
            keys.push((cell.node, cell.thread));
            for (metric, value) in cell.values.into_iter().enumerate() {
                let id = MetricId::new(metric);
                let less = match wait {
                    Some(wait) if id == self.latency || Some(id) == self.waiting => wait.total,
                    Some(_) if self.kinds.iter().any(|(_, kind)| *kind == id) => value,
                    _ => 0,
                };
                columns[metric].push(value.saturating_sub(less));
            }
        }
        for wait in moves {
            let Some(aside) = self.aside.get(&wait.node).copied().or(self.anywhere) else {
                continue;
            };
            keys.push((aside, wait.thread));
            for (metric, column) in columns.iter_mut().enumerate() {
                column.push(if metric == self.latency.index() { wait.total } else { 0 });
            }
        }
        Cells::from_columns(&keys, &columns)
    }
}

/// What is waited for, the node, the thread and how long.
type FoundWait = (WaitOn, NodeId, Option<ThreadId>, i64);

/// What is waited for at each node, by the names of functions.
fn leaves(set: &RunSet) -> Vec<Option<WaitOn>> {
    let functions: Vec<Option<WaitOn>> = (set.symbols.functions())
        .map(|(id, _)| wait_of(set.symbols.name(id), set.symbols.component(id)))
        .collect();
    let of = |node| functions[set.symbols.frame(set.tree.frame(node)).function.index()];
    set.tree.nodes().map(of).collect()
}

/// How often each thread made each system call, by row of the tree.
fn system_calls(set: &RunSet, run: &Run) -> Vec<(usize, Option<ThreadId>, i64)> {
    let is_call = |node: NodeId| {
        let function = set.symbols.function(set.symbols.frame(set.tree.frame(node)).function);
        function.component.is_some_and(|component| set.symbols.text(component) == SYSCALL)
    };
    let instances = set.metric(INSTANCES).into_iter().flat_map(|metric| run.cells.of(metric));
    instances
        .filter(|(node, ..)| is_call(*node))
        .map(|(node, thread, calls)| (node.index(), thread, calls))
        .collect()
}

/// Waiting in one place, in some runs.
#[derive(Clone, Copy)]
pub(super) struct Steady {
    /// How long threads that wait there run meanwhile, if they do next to nothing else in any of the runs.
    alone: Alone,
    /// How long all other threads run.
    others: i64,
    /// The most system calls in one run.
    rounds: i64,
    asleep: i64,
    sleeps: i64,
}

impl Default for Steady {
    fn default() -> Self {
        let alone = Alone { in_life: Some(0), in_call: Some(0) };
        Self { alone, others: 0, rounds: 0, asleep: 0, sleeps: 0 }
    }
}

impl Steady {
    /// In these runs and those.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self {
            alone: self.alone.and(&other.alone),
            others: self.others.saturating_add(other.others),
            rounds: self.rounds.max(other.rounds),
            asleep: self.asleep.saturating_add(other.asleep),
            sleeps: self.sleeps.saturating_add(other.sleeps),
        }
    }

    /// True where it says nothing about the program, by the runs of both sides.
    pub(super) fn holds(before: &Self, after: &Self) -> bool {
        let both = before.and(after);
        let bystands = |ran: i64| both.others > 0 && ran as f64 <= both.others as f64 * GOOD_PART;
        let in_life = both.alone.in_life.is_some_and(bystands);
        let in_call = both.alone.in_call.is_some_and(bystands) && both.rounds >= ROUNDS;
        (in_life || in_call) && before.is_as_long_as(after)
    }

    /// True where sleeps, if there are any, are of one length on both sides.
    fn is_as_long_as(&self, other: &Self) -> bool {
        if self.asleep == 0 && other.asleep == 0 {
            return true;
        }
        let length = |side: &Self| side.asleep as f64 / side.sleeps as f64;
        let factor = length(self) / length(other);
        (1.0 / ONE_LENGTH..=ONE_LENGTH).contains(&factor)
    }
}

impl TracedRun {
    /// Whether threads do next to nothing but wait in a place, for all places with waits.
    pub(super) fn steady(&self) -> BTreeMap<NodeId, Steady> {
        let mut rows: BTreeMap<NodeId, Vec<&Waiting>> = BTreeMap::new();
        for wait in &self.waits {
            rows.entry(wait.row).or_default().push(wait);
        }
        let steady = |waits: &[&Waiting]| {
            let mut found = Steady::default();
            let mut waiters: HashSet<Option<ThreadId>> = HashSet::new();
            let (mut total, mut only) = (0i64, 0i64);
            for wait in waits {
                total = total.saturating_add(wait.total);
                found.rounds = found.rounds.max(wait.calls);
                if wait.asleep > 0 {
                    found.asleep = found.asleep.saturating_add(wait.asleep);
                    found.sleeps = found.sleeps.saturating_add(wait.calls);
                }
                if wait.alone.is_known() {
                    only = only.saturating_add(wait.total);
                    if waiters.insert(wait.thread) {
                        found.alone = found.alone.and(&wait.alone);
                    }
                }
            }
            if (only as f64) < total as f64 * NEXT_TO_NOTHING {
                found.alone = Alone::default();
            }
            let others = self.threads.iter().filter(|(thread, _)| !waiters.contains(*thread));
            found.others = others.fold(0i64, |sum, (_, life)| sum.saturating_add(life.ran));
            found
        };
        rows.iter().map(|(row, waits)| (*row, steady(waits))).collect()
    }
}

/// What threads do in all, and those that wait within each of their calls.
struct Lives<'a> {
    set: &'a RunSet,
    threads: BTreeMap<Option<ThreadId>, Life>,
    waiters: HashSet<Option<ThreadId>>,
    calls: HashMap<(NodeId, Option<ThreadId>), Life>,
}

impl<'a> Lives<'a> {
    fn of(set: &'a RunSet, waits: &[FoundWait]) -> Self {
        let waiters = waits.iter().map(|(_, _, thread, _)| *thread).collect();
        Self { set, threads: BTreeMap::new(), waiters, calls: HashMap::new() }
    }

    fn add(&mut self, node: NodeId, thread: Option<ThreadId>, mut change: impl FnMut(&mut Life)) {
        change(self.threads.entry(thread).or_default());
        if !self.waiters.contains(&thread) {
            return;
        }
        for node in std::iter::successors(Some(node), |node| self.set.tree.parent(*node)) {
            change(self.calls.entry((node, thread)).or_default());
        }
    }

    fn alone(&self, wait: &Waiting, instances: &HashMap<(NodeId, Option<ThreadId>), i64>) -> Alone {
        let longest = self.threads.values().map(|life| life.lived).max().unwrap_or(0);
        let whole = self.threads.get(&wait.thread).filter(|life| life.only_waits(longest));
        let in_life = whole.map(|life| life.ran);
        // Within a call, a client waits for one answer after the other, and whoever tries again sleeps in between.
        if wait.asleep > 0 || wait.listening > 0 {
            return Alone { in_life, in_call: None };
        }
        let calls = std::iter::successors(Some(wait.node), |node| self.set.tree.parent(*node));
        let lasting = calls.filter_map(|node| {
            let once = instances.get(&(node, wait.thread)).is_none_or(|calls| *calls <= 2);
            let life = self.calls.get(&(node, wait.thread)).filter(|_| once)?;
            life.only_waits(longest).then_some(life.ran)
        });
        Alone { in_life, in_call: lasting.min() }
    }
}
