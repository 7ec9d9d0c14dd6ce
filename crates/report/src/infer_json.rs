//! JSON as the outside knows it: `perfblame.latency/1`, described by `docs/latency.schema.json`. Fields may be added, not
//! renamed. Times are nanoseconds.

use std::io::{self, Write};

use perfblame_analysis::{
    CallView, FunctionView, Inferred, LatencyNode, LatencyTree, PathFunction, RankedPath, RoleTime,
    WaitView,
};
use serde::Serialize;

use crate::diff_json::{WarningRow, warning};

/// Writes what a trace says as JSON: all of it.
pub fn infer_json(answer: &Inferred, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Answer::of(answer))?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    input: &'a str,
    format: &'a str,
    command: Option<&'a str>,
    events: u64,
    duration: i64,
    threads: usize,
    time: Time,
    waiting: Vec<Waited>,
    waiters: Vec<Waiter<'a>>,
    roles: Vec<RoleRow<'a>>,
    functions: Vec<FunctionRow<'a>>,
    nodes: Vec<Node<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    instances: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<Path<'a>>,
    warnings: Vec<WarningRow<'a>>,
}

#[derive(Serialize)]
struct Time {
    running: i64,
    waiting: i64,
    run_queue: i64,
    idle: i64,
}

#[derive(Serialize)]
struct Waited {
    on: &'static str,
    total: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

/// A function, in every row that is about one.
#[derive(Serialize)]
struct Whose<'a> {
    function: &'a str,
    component: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<&'a str>,
}

#[derive(Serialize)]
struct Waiter<'a> {
    node: usize,
    #[serde(flatten)]
    whose: Whose<'a>,
    role: &'a str,
    on: &'static str,
    total: i64,
    count: u64,
    idle: bool,
    waker: Option<&'a str>,
}

#[derive(Serialize)]
struct RoleRow<'a> {
    role: &'a str,
    threads: usize,
    running: i64,
    waiting: i64,
    run_queue: i64,
    idle: i64,
}

#[derive(Serialize)]
struct FunctionRow<'a> {
    #[serde(flatten)]
    whose: Whose<'a>,
    layer: &'static str,
    contexts: usize,
    count: u64,
    cost: i64,
    interval: [i64; 2],
    waiting: i64,
}

#[derive(Serialize)]
struct Node<'a> {
    id: usize,
    parent: Option<u32>,
    #[serde(flatten)]
    whose: Whose<'a>,
    layer: &'static str,
    count: u64,
    conservative: Mode,
    aggressive: Mode,
    estimate: Mode,
    longest: Mode,
    own: i64,
    own_interval: [i64; 2],
    cost: i64,
    cost_interval: [i64; 2],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<Waited>,
}

#[derive(Serialize)]
struct Mode {
    total: i64,
    mean: i64,
    max: i64,
}

#[derive(Serialize)]
struct Call<'a> {
    node: usize,
    thread: &'a str,
    tid: Option<u64>,
    start: i64,
    conservative: i64,
    aggressive: i64,
    estimate: i64,
    longest: i64,
}

#[derive(Serialize)]
struct Path<'a> {
    rank: usize,
    cost: i64,
    functions: Vec<Step<'a>>,
}

#[derive(Serialize)]
struct Step<'a> {
    #[serde(flatten)]
    whose: Whose<'a>,
    layer: &'static str,
    latency: i64,
    rank: usize,
}

impl<'a> Answer<'a> {
    fn of(answer: &'a Inferred) -> Self {
        Self {
            schema: "perfblame.latency/1",
            input: &answer.input,
            format: &answer.format,
            command: answer.command.as_deref(),
            events: answer.events,
            duration: answer.duration,
            threads: answer.threads,
            time: Time {
                running: answer.running,
                waiting: answer.waiting,
                run_queue: answer.queued,
                idle: answer.idle,
            },
            waiting: (answer.waits.iter())
                .map(|row| Waited { on: row.on.name(), total: row.total, count: Some(row.count) })
                .collect(),
            waiters: answer.waiters.iter().map(waiter).collect(),
            roles: answer.roles.iter().map(role).collect(),
            functions: (answer.functions.iter())
                .map(|row| FunctionRow {
                    whose: whose(&row.function),
                    layer: row.function.layer.name(),
                    contexts: row.contexts,
                    count: row.count,
                    cost: row.own,
                    interval: [row.interval.0, row.interval.1],
                    waiting: row.waiting,
                })
                .collect(),
            nodes: (answer.tree.nodes.iter().enumerate())
                .map(|(id, row)| node(id, row, &answer.tree))
                .collect(),
            instances: answer.calls.iter().map(call).collect(),
            paths: answer.paths.iter().map(path).collect(),
            warnings: answer.warnings.iter().map(warning).collect(),
        }
    }
}

fn whose(function: &FunctionView) -> Whose<'_> {
    Whose {
        function: &function.name,
        component: function.component.as_deref(),
        package: function.package.as_deref(),
    }
}

fn waiter(row: &WaitView) -> Waiter<'_> {
    Waiter {
        node: row.node,
        whose: whose(&row.function),
        role: &row.role,
        on: row.on.name(),
        total: row.total,
        count: row.count,
        idle: row.idle,
        waker: row.waker.as_deref(),
    }
}

fn role(row: &RoleTime) -> RoleRow<'_> {
    RoleRow {
        role: &row.role,
        threads: row.threads,
        running: row.running,
        waiting: row.waiting,
        run_queue: row.queued,
        idle: row.idle,
    }
}

fn node<'a>(id: usize, row: &'a LatencyNode, tree: &'a LatencyTree) -> Node<'a> {
    let function = &tree.functions[row.function as usize];
    let count = row.latency.count;
    let mode = |mode: perfblame_analysis::Latency| Mode {
        total: mode.total,
        mean: mode.mean(count).round() as i64,
        max: mode.max,
    };
    Node {
        id,
        parent: row.parent,
        whose: whose(function),
        layer: function.layer.name(),
        count,
        conservative: mode(row.latency.conservative),
        aggressive: mode(row.latency.aggressive),
        estimate: mode(row.latency.estimate),
        longest: mode(row.latency.longest),
        own: row.own,
        own_interval: [row.own_interval.0, row.own_interval.1],
        cost: row.cost,
        cost_interval: [row.cost_interval.0, row.cost_interval.1],
        waiting: (row.waiting.iter())
            .map(|(on, total)| Waited { on: on.name(), total: *total, count: None })
            .collect(),
    }
}

fn call(row: &CallView) -> Call<'_> {
    Call {
        node: row.node,
        thread: &row.thread,
        tid: row.tid,
        start: row.start,
        conservative: row.conservative,
        aggressive: row.aggressive,
        estimate: row.estimate,
        longest: row.longest,
    }
}

fn path(row: &RankedPath) -> Path<'_> {
    let step =
        |step: &'_ PathFunction| -> (i64, usize) { (step.latency.round() as i64, step.rank) };
    Path {
        rank: row.rank,
        cost: row.cost.round() as i64,
        functions: (row.functions.iter())
            .map(|row| {
                let (latency, rank) = step(row);
                Step {
                    whose: whose(&row.function),
                    layer: row.function.layer.name(),
                    latency,
                    rank,
                }
            })
            .collect(),
    }
}
