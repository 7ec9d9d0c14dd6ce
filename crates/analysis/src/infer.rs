//! Function latencies of one trace of the operating system: where the time went, in which function, waiting for what.

use hashbrown::HashMap;
use perfblame_cct::{
    Grain, Layer, Metric, MetricId, NodeId, Placement, Profile, ThreadId, Times, Unit, Warning,
    role,
};
use perfblame_latency::{
    Continuity, FOR_WORK, INSTANCES, Inference, InferenceOptions, LATENCY, Latency, NodeLatency,
    RUN_QUEUE, WAITING, WaitOn,
};
use perfblame_readers::{ReadOptions, TraceRead, format_named, read_trace};

use crate::ask::{Ask, Phase};
use crate::diff::{DiffRow, DiffTree, Fate, RankedPath, ranked_paths};
use crate::load::open_and_read;
use crate::{AskError, FunctionView, LoadError, LoadErrorKind, Source};

/// Which latency of calls is added up to what functions and paths cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// The expected one.
    #[default]
    Estimate,
    /// From the first event of a call to its last.
    Conservative,
    /// From the first event of a call to the first without it.
    Aggressive,
}

/// What to infer.
#[derive(Clone, Copy, Debug, Default)]
pub struct InferQuery {
    /// Which latency rankings go by.
    pub mode: Mode,
    /// When a call goes on from one event to the next.
    pub continuity: Continuity,
    /// List every inferred call.
    pub instances: bool,
    /// Rank call paths by their cost.
    pub paths: bool,
}

/// What a trace says.
#[derive(Clone, Debug, Default)]
pub struct Inferred {
    /// The input, as the user named it.
    pub input: String,
    /// Its format.
    pub format: String,
    /// The traced command, where the trace says so.
    pub command: Option<String>,
    /// How many events there are.
    pub events: u64,
    /// From the first to the last event, in nanoseconds.
    pub duration: i64,
    /// How many threads there are.
    pub threads: usize,
    /// Thread time that was spent running, in nanoseconds.
    pub running: i64,
    /// Thread time that was spent waiting within work.
    pub waiting: i64,
    /// Thread time in which threads could have run.
    pub queued: i64,
    /// Thread time spent waiting for work.
    pub idle: i64,
    /// Waiting within work by kind, the longest first.
    pub waits: Vec<WaitTotal>,
    /// Who waits, on what, woken by whom: the longest first.
    pub waiters: Vec<WaitView>,
    /// Threads by role, the busiest first.
    pub roles: Vec<RoleTime>,
    /// Functions by what they cost themselves, the costliest first; idle time is left out.
    pub functions: Vec<FunctionLatency>,
    /// The performance-annotated calling context tree.
    pub tree: LatencyTree,
    /// Every call, where asked for, by start.
    pub calls: Vec<CallView>,
    /// Call paths by their cost, where asked for.
    pub paths: Vec<RankedPath>,
    /// The metric of paths' costs.
    pub metric: Option<Metric>,
    /// What was wrong or surprising.
    pub warnings: Vec<Warning>,
}

/// How long was waited for one kind of thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTotal {
    /// What for.
    pub on: WaitOn,
    /// Nanoseconds.
    pub total: i64,
    /// How often.
    pub count: u64,
}

/// A function that waits.
#[derive(Clone, PartialEq, Debug)]
pub struct WaitView {
    /// The function: the innermost outside of the C library.
    pub function: FunctionView,
    /// Its row in the tree.
    pub node: usize,
    /// The role of the thread.
    pub role: String,
    /// What for.
    pub on: WaitOn,
    /// Nanoseconds.
    pub total: i64,
    /// How often.
    pub count: u64,
    /// The role of the thread that ended the wait, where it is known.
    pub waker: Option<String>,
    /// It waits for something to do.
    pub idle: bool,
}

/// The threads of one role.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RoleTime {
    /// What their names have in common.
    pub role: String,
    /// How many there are.
    pub threads: usize,
    /// Nanoseconds of running.
    pub running: i64,
    /// Of waiting within work.
    pub waiting: i64,
    /// Of being able to run.
    pub queued: i64,
    /// Of waiting for work.
    pub idle: i64,
}

/// What a function costs itself.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionLatency {
    /// The function.
    pub function: FunctionView,
    /// In how many contexts it was seen.
    pub contexts: usize,
    /// Calls that were told apart.
    pub count: u64,
    /// Its own latency, with the waiting it is responsible for, in nanoseconds.
    pub own: i64,
    /// What that lies between.
    pub interval: (i64, i64),
    /// The part of `own` that is waiting.
    pub waiting: i64,
}

/// The performance-annotated calling context tree, as a table in pre-order.
#[derive(Clone, Debug, Default)]
pub struct LatencyTree {
    /// The functions that rows point to.
    pub functions: Vec<FunctionView>,
    /// Callers first.
    pub nodes: Vec<LatencyNode>,
}

/// A context.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LatencyNode {
    /// The caller's row.
    pub parent: Option<u32>,
    /// Row of its function.
    pub function: u32,
    /// Its calls.
    pub latency: NodeLatency,
    /// Its expected latency without its callees'.
    pub own: i64,
    /// What `own` lies between.
    pub own_interval: (i64, i64),
    /// What rankings go by: own latency, where waiting belongs to the function that waits and not to the kernel's.
    pub cost: i64,
    /// What that lies between.
    pub cost_interval: (i64, i64),
    /// Waiting within work that belongs to it.
    pub waiting: Vec<(WaitOn, i64)>,
}

/// One inferred call.
#[derive(Clone, PartialEq, Debug)]
pub struct CallView {
    /// Its row in the tree.
    pub node: usize,
    /// The thread's name.
    pub thread: String,
    /// The thread's number.
    pub tid: Option<u64>,
    /// The first event with it, in nanoseconds on the trace's clock.
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

/// True for metrics that only inferred profiles have.
pub fn is_inferred(metric: &str) -> bool {
    metric == LATENCY || metric == INSTANCES || metric.starts_with(WAITING)
}

/// Infers latencies from a trace of the operating system: the first, where there are several.
pub fn infer(sources: &[Source], query: InferQuery, ask: &Ask) -> Result<Inferred, AskError> {
    let [source, ..] = sources else {
        return Err(LoadError::new("the trace", LoadErrorKind::Nothing).into());
    };
    ask.enter(Phase::Reading)?;
    let options = InferenceOptions { continuity: query.continuity, instances: query.instances };
    let mut inference = Inference::new(options);
    let read_options =
        ReadOptions { grain: Grain::Functions, times: Times::Drop, ..ReadOptions::default() };
    let read =
        open_and_read(source, ask, |input| read_trace(input, &read_options, &mut inference))?;
    match read {
        TraceRead::Trace(profile, place) => {
            ask.enter(Phase::Explaining)?;
            Ok(answer(source.name(), &profile, &place, &inference, query))
        }
        TraceRead::Profile(profile) => {
            let format = profile.info.format.clone();
            let cut_off = profile.warnings.iter().any(|warning| warning.code == "truncated");
            let tracer = format_named(&format).and_then(|format| format.tracer.as_ref());
            let record = tracer.map(|tracer| tracer.how_to_record_stacks);
            let kind = LoadErrorKind::NotATrace { format, cut_off, record };
            Err(LoadError::new(source.name(), kind).into())
        }
    }
}

fn answer(
    input: String,
    profile: &Profile,
    place: &Placement,
    inference: &Inference,
    query: InferQuery,
) -> Inferred {
    let tree = latency_tree(profile, place, inference, query.mode);
    let (first, last) = inference.span().unwrap_or((0, 0));
    let mut answer = Inferred {
        input,
        format: profile.info.format.clone(),
        command: profile.info.command.clone(),
        events: inference.events(),
        duration: last.saturating_sub(first),
        warnings: profile.warnings.clone(),
        metric: profile.metrics.first().cloned(),
        functions: functions(profile, &tree),
        tree,
        ..Inferred::default()
    };
    roles(&mut answer, profile);
    waits(&mut answer, profile, place, inference);
    if query.instances {
        answer.calls = calls(profile, place, inference);
    }
    if query.paths {
        let metric = Metric::exact(LATENCY, Unit::Nanoseconds);
        let (paths, folded) = ranked_paths(&as_paths(&answer.tree), &metric);
        answer.paths = paths;
        answer.warnings.extend(folded);
    }
    answer
}

/// The tree with both bounds of everything. Callees' latencies are subtracted from their callers', table in reverse.
fn latency_tree(
    profile: &Profile,
    place: &Placement,
    inference: &Inference,
    mode: Mode,
) -> LatencyTree {
    let totals = inference.totals(place);
    let moved = inference.moved(place);
    let cost = profile.metric(LATENCY).map_or_else(Vec::new, |id| profile.self_values(id));
    let mut below = vec![[0i64; 4]; totals.len()];
    for node in profile.tree.nodes() {
        if let Some(parent) = profile.tree.parent(node) {
            let row = &totals[node.index()];
            let sum = &mut below[parent.index()];
            let modes = [row.conservative, row.estimate, row.longest, row.aggressive];
            for (sum, mode) in sum.iter_mut().zip(modes) {
                *sum = sum.saturating_add(mode.total);
            }
        }
    }
    let mut nodes: Vec<LatencyNode> = (profile.tree.nodes())
        .map(|node| {
            let row = node.index();
            let latency = totals[row];
            let [conservative, estimate, longest, aggressive] = below[row];
            let less = |mode: Latency, below: i64| mode.total.saturating_sub(below);
            let own = less(latency.estimate, estimate);
            let low = less(latency.conservative, longest).max(0).min(own);
            let high = less(latency.longest, conservative).max(own);
            let by = moved[row];
            let cost = match mode {
                Mode::Estimate => cost.get(row).copied().unwrap_or(0),
                Mode::Conservative => {
                    less(latency.conservative, conservative).saturating_add(by).max(0)
                }
                Mode::Aggressive => less(latency.aggressive, aggressive).saturating_add(by).max(0),
            };
            LatencyNode {
                parent: profile.tree.parent(node).map(|parent| parent.index() as u32),
                function: profile.function_of(node).index() as u32,
                latency,
                own,
                own_interval: (low, high),
                cost,
                cost_interval: (
                    low.saturating_add(by).max(0).min(cost),
                    high.saturating_add(by).max(cost),
                ),
                waiting: Vec::new(),
            }
        })
        .collect();
    for on in WaitOn::ALL {
        let Some(metric) = profile.metric(&format!("{WAITING} on {}", on.name())) else { continue };
        for (row, waited) in profile.self_values(metric).into_iter().enumerate() {
            if waited != 0 {
                nodes[row].waiting.push((on, waited));
            }
        }
    }
    let functions = profile.symbols.functions();
    let functions = functions.map(|(id, _)| FunctionView::of(&profile.symbols, id)).collect();
    LatencyTree { functions, nodes }
}

fn functions(profile: &Profile, tree: &LatencyTree) -> Vec<FunctionLatency> {
    let mut rows: HashMap<u32, FunctionLatency> = HashMap::new();
    let mut order = Vec::new();
    for node in &tree.nodes {
        let function = &tree.functions[node.function as usize];
        if function.layer == Layer::Idle {
            continue;
        }
        let row = rows.entry(node.function).or_insert_with(|| {
            order.push(node.function);
            let function = function.clone();
            FunctionLatency {
                function,
                contexts: 0,
                count: 0,
                own: 0,
                interval: (0, 0),
                waiting: 0,
            }
        });
        let waited = node.waiting.iter().map(|(_, waited)| *waited).sum::<i64>();
        row.contexts += 1;
        row.count = row.count.saturating_add(node.latency.count);
        row.own = row.own.saturating_add(node.cost);
        row.interval.0 = row.interval.0.saturating_add(node.cost_interval.0);
        row.interval.1 = row.interval.1.saturating_add(node.cost_interval.1);
        row.waiting = row.waiting.saturating_add(waited);
    }
    debug_assert_eq!(profile.tree.len(), tree.nodes.len());
    let mut found: Vec<FunctionLatency> =
        order.iter().filter_map(|function| rows.remove(function)).collect();
    found.sort_by_key(|row| std::cmp::Reverse(row.own));
    found
}

/// Thread time by what was done with it, as a whole and by role.
fn roles(answer: &mut Inferred, profile: &Profile) {
    let Some(latency) = profile.metric(LATENCY) else { return };
    let waiting = profile.metric(WAITING).unwrap_or(MetricId::new(profile.metrics.len()));
    let names: Vec<String> =
        profile.threads().map(|(_, thread)| role(profile.symbols.text(thread.name))).collect();
    let mut rows: HashMap<&str, RoleTime> = HashMap::new();
    for name in &names {
        rows.entry(name).or_default().role.clone_from(name);
    }
    for id in threads_under_main_name(profile, latency) {
        answer.threads += 1;
        if let Some(row) = names.get(id.index()).and_then(|name| rows.get_mut(name.as_str())) {
            row.threads += 1;
        }
    }
    let role_of = |thread: Option<ThreadId>| thread.and_then(|id| names.get(id.index()));
    for (node, thread, value) in profile.cells.of(latency) {
        let Some(row) = role_of(thread).and_then(|name| rows.get_mut(name.as_str())) else {
            continue;
        };
        let slot = match profile.name_of(node) {
            FOR_WORK => &mut row.idle,
            RUN_QUEUE => &mut row.queued,
            _ => &mut row.running,
        };
        *slot = slot.saturating_add(value);
    }
    for (_, thread, value) in profile.cells.of(waiting) {
        let Some(row) = role_of(thread).and_then(|name| rows.get_mut(name.as_str())) else {
            continue;
        };
        row.waiting = row.waiting.saturating_add(value);
        row.running = row.running.saturating_sub(value);
    }
    let mut found: Vec<RoleTime> = rows.into_values().collect();
    // Who only woke others was not traced.
    let nothing = |row: &RoleTime| RoleTime { role: row.role.clone(), ..RoleTime::default() };
    found.retain(|row| *row != nothing(row));
    found.sort_by(|one, other| {
        let busy = |row: &RoleTime| row.running.saturating_add(row.waiting);
        busy(other).cmp(&busy(one)).then_with(|| one.role.cmp(&other.role))
    });
    for row in &found {
        answer.running = answer.running.saturating_add(row.running);
        answer.waiting = answer.waiting.saturating_add(row.waiting);
        answer.queued = answer.queued.saturating_add(row.queued);
        answer.idle = answer.idle.saturating_add(row.idle);
    }
    answer.roles = found;
}

/// The threads that did something, each under the name that it had for most of its time: a shell that becomes another
/// program is in the profile's list twice.
fn threads_under_main_name(profile: &Profile, latency: MetricId) -> Vec<ThreadId> {
    let mut seen: Vec<Option<i64>> = vec![None; profile.threads.len()];
    let calls = profile.metric(INSTANCES).into_iter();
    for (metric, worth) in calls.map(|calls| (calls, 0)).chain([(latency, 1)]) {
        for (_, thread, value) in profile.cells.of(metric) {
            if let Some(slot) = thread.and_then(|id| seen.get_mut(id.index())) {
                *slot = Some(slot.unwrap_or(0).saturating_add(value * worth));
            }
        }
    }
    let mut main: HashMap<u64, (i64, ThreadId)> = HashMap::new();
    let mut found = Vec::new();
    for (id, thread) in profile.threads() {
        match (seen[id.index()], thread.tid) {
            (None, _) => {}
            (Some(_), None) => found.push(id),
            (Some(time), Some(tid)) => {
                let longest = main.entry(tid).or_insert((time, id));
                if time > longest.0 {
                    *longest = (time, id);
                }
            }
        }
    }
    found.extend(main.into_values().map(|(_, id)| id));
    found.sort_unstable();
    found
}

/// Context, role, kind, the waker's role, and whether it is for work.
type WaitPlace = (NodeId, Option<String>, WaitOn, Option<String>, bool);

fn waits(answer: &mut Inferred, profile: &Profile, place: &Placement, inference: &Inference) {
    let name = |thread: ThreadId| {
        profile.threads.get(thread.index()).map(|thread| role(profile.symbols.text(thread.name)))
    };
    let mut by_kind: Vec<WaitTotal> =
        WaitOn::ALL.into_iter().map(|on| WaitTotal { on, total: 0, count: 0 }).collect();
    // Threads of one role wait as one.
    let mut rows: HashMap<WaitPlace, (i64, u64)> = HashMap::new();
    for wait in inference.waits() {
        if !wait.idle && wait.on != WaitOn::RunQueue {
            let row = &mut by_kind[wait.on as usize];
            row.total = row.total.saturating_add(wait.total);
            row.count += wait.count;
        }
        let key =
            (place.of(wait.node), name(wait.thread), wait.on, wait.waker.and_then(name), wait.idle);
        let row = rows.entry(key).or_default();
        row.0 = row.0.saturating_add(wait.total);
        row.1 += wait.count;
    }
    by_kind.retain(|row| row.count > 0);
    by_kind.sort_by_key(|row| (std::cmp::Reverse(row.total), row.on));
    answer.waits = by_kind;
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by(|one, other| other.1.0.cmp(&one.1.0).then_with(|| one.0.cmp(&other.0)));
    answer.waiters = (rows.into_iter())
        .map(|((node, role, on, waker, idle), (total, count))| WaitView {
            function: FunctionView::of(&profile.symbols, profile.function_of(node)),
            node: node.index(),
            role: role.unwrap_or_default(),
            on,
            total,
            count,
            waker,
            idle,
        })
        .collect();
}

fn calls(profile: &Profile, place: &Placement, inference: &Inference) -> Vec<CallView> {
    let mut calls: Vec<_> = inference.instances().to_vec();
    calls.sort_by_key(|call| (call.start, call.thread, place.of(call.node)));
    (calls.into_iter())
        .map(|call| {
            let thread = profile.threads.get(call.thread.index());
            CallView {
                node: place.of(call.node).index(),
                thread: thread.map_or("", |thread| profile.symbols.text(thread.name)).to_owned(),
                tid: thread.and_then(|thread| thread.tid),
                start: call.start,
                conservative: call.conservative,
                aggressive: call.aggressive,
                estimate: call.estimate,
                longest: call.longest,
            }
        })
        .collect()
}

/// The tree as a comparison with nothing.
fn as_paths(tree: &LatencyTree) -> DiffTree {
    let rows = tree.nodes.iter().map(|node| DiffRow {
        parent: node.parent,
        function: node.function,
        before: 0.0,
        after: node.cost as f64,
        fate: Fate::Kept,
    });
    DiffTree { rows: rows.collect(), functions: tree.functions.clone() }
}
