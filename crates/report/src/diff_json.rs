//! JSON as the outside knows it: `perfblame.diff/1`, described by `docs/diff.schema.json`. Fields may be added, not
//! renamed; the model stays free to change, as everything is converted by hand.

use std::io::{self, Write};

use perfblame_analysis::{
    CodeChange, CriticalGraph, CriticalNode, Diff, Estimate, FunctionChange, FunctionView, Method,
    RankedPath, RuntimeCost, SideTotals, Sides, Suspect,
};
use perfblame_cct::{Unit, Warning};
use serde::Serialize;

mod stages;

/// Writes an answer as JSON: all of it but the tree, however long.
pub fn diff_json(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Answer::of(diff))?;
    out.write_all(b"\n")
}

/// A cost, whole where the metric is.
#[derive(Serialize, Clone, Copy)]
#[serde(untagged)]
pub(crate) enum Amount {
    Whole(i64),
    Decimal(f64),
    /// An interval without an end.
    Unknown(()),
}

/// What turns costs of the answer into numbers of the wire.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    decimals: u8,
    whole: bool,
}

impl Scale {
    pub(crate) fn of(diff: &Diff) -> Self {
        let whole = match diff.metric.unit {
            Unit::Nanoseconds | Unit::Bytes => true,
            // Things are counted whole, but for files that count fractions of them and runs of unequal work.
            Unit::Count => {
                let found = diff.suspects.iter().chain(&diff.improvements).chain(&diff.moved);
                let runs = found.flat_map(|row| row.runs.iter().flatten());
                // Parts of trees are means over the runs.
                let single = |side: &SideTotals| side.totals.len() < 2;
                if diff.stages.is_some() && !(single(&diff.before) && single(&diff.after)) {
                    return Self { decimals: diff.metric.decimals, whole: false };
                }
                let totals = diff.before.totals.iter().chain(&diff.after.totals);
                totals.chain(runs).all(|cost| (cost - cost.round()).abs() < 1e-6)
            }
            Unit::Other(_) => false,
        };
        let decimals = diff.metric.decimals;
        Self { decimals, whole: whole && decimals == 0 }
    }

    pub(crate) fn amount(self, cost: f64) -> Amount {
        if !cost.is_finite() {
            return Amount::Unknown(());
        }
        if self.whole {
            return Amount::Whole(cost.round() as i64);
        }
        // Negative zero would be printed with its sign.
        Amount::Decimal(cost / 10f64.powi(i32::from(self.decimals)) + 0.0)
    }

    /// After minus before. Where that is all the delta says, it agrees with the rounded two to the last digit.
    fn delta(self, before: f64, after: f64, delta: f64) -> Amount {
        if self.whole && (delta - (after - before)).abs() < 1.0 {
            let whole = |cost: f64| cost.round() as i64;
            return Amount::Whole(whole(after).saturating_sub(whole(before)));
        }
        self.amount(delta)
    }

    fn amounts(self, costs: &[f64]) -> Vec<Amount> {
        costs.iter().map(|cost| self.amount(*cost)).collect()
    }
}

/// Six digits: more than anybody can have measured, fewer than machines disagree on.
fn rounded(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return 0.0;
    }
    format!("{number:.5e}").parse().unwrap_or(number)
}

#[derive(Serialize)]
pub(crate) struct Answer<'a> {
    schema: &'static str,
    method: &'static str,
    metric: MetricRow<'a>,
    verdict: &'static str,
    before: SideRow<'a>,
    after: SideRow<'a>,
    change: Interval,
    p_value: Option<f64>,
    threshold: Amount,
    #[serde(skip_serializing_if = "Option::is_none")]
    normalised: Option<&'a str>,
    pub(crate) suspects: Vec<SuspectRow<'a>>,
    improvements: Vec<SuspectRow<'a>>,
    moved: Vec<SuspectRow<'a>>,
    minor: Minor,
    runtime: Vec<CostRow<'a>>,
    unexplained: Amount,
    #[serde(skip_serializing_if = "Option::is_none")]
    noticed: Option<f64>,
    functions: Vec<CostRow<'a>>,
    functions_left: Minor,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs_needed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<Graph<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<Vec<PathRow<'a>>>,
    #[serde(flatten)]
    stages: Option<stages::StagesRow<'a>>,
    warnings: Vec<WarningRow<'a>>,
}

#[derive(Serialize)]
struct MetricRow<'a> {
    name: &'a str,
    unit: &'a str,
}

#[derive(Serialize)]
struct SideRow<'a> {
    runs: usize,
    total: Interval,
    totals: Vec<Amount>,
    inputs: &'a [String],
}

#[derive(Serialize)]
struct Interval {
    median: Amount,
    low: Amount,
    high: Amount,
}

#[derive(Serialize)]
struct Function<'a> {
    #[serde(rename = "function")]
    name: &'a str,
    component: Option<&'a str>,
    layer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<&'a str>,
}

#[derive(Serialize)]
pub(crate) struct SuspectRow<'a> {
    rank: usize,
    #[serde(flatten)]
    function: Function<'a>,
    kind: &'static str,
    path: Vec<Function<'a>>,
    contexts: usize,
    before: Amount,
    after: Amount,
    delta: Amount,
    interval: [Amount; 2],
    p_value: Option<f64>,
    share: f64,
    runs: Runs,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<Calls>,
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<Function<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    changes: Vec<Change<'a>>,
}

#[derive(Serialize)]
struct Minor {
    functions: usize,
    delta: Amount,
}

#[derive(Serialize)]
struct Runs {
    before: Vec<Amount>,
    after: Vec<Amount>,
}

#[derive(Serialize)]
struct Calls {
    before: f64,
    after: f64,
}

impl Calls {
    fn of(calls: Sides<f64>) -> Self {
        Self { before: rounded(calls.before), after: rounded(calls.after) }
    }
}

#[derive(Serialize)]
pub(crate) struct Change<'a> {
    kind: &'a str,
    function: &'a str,
    file: &'a str,
    lines: Option<(u32, u32)>,
    commit: Option<&'a str>,
    hunks: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

#[derive(Serialize)]
struct CostRow<'a> {
    #[serde(flatten)]
    function: Function<'a>,
    before: Amount,
    after: Amount,
    delta: Amount,
}

#[derive(Serialize)]
struct Graph<'a> {
    threshold: Amount,
    pruned: usize,
    nodes: Vec<Node<'a>>,
}

#[derive(Serialize)]
struct Node<'a> {
    id: usize,
    parent: Option<usize>,
    #[serde(flatten)]
    function: Function<'a>,
    before: Amount,
    after: Amount,
    delta: Amount,
    new: bool,
    cause: bool,
}

#[derive(Serialize)]
struct PathRow<'a> {
    rank: usize,
    cost: Amount,
    new: bool,
    functions: Vec<Step<'a>>,
}

#[derive(Serialize)]
struct Step<'a> {
    #[serde(flatten)]
    function: Function<'a>,
    latency: Amount,
    delta: Amount,
    rank: usize,
}

#[derive(Serialize)]
pub(crate) struct WarningRow<'a> {
    code: &'a str,
    message: &'a str,
    count: u64,
}

impl<'a> Answer<'a> {
    pub(crate) fn of(diff: &'a Diff) -> Self {
        let scale = Scale::of(diff);
        let paths = (diff.method == Method::Paths)
            .then(|| diff.paths.iter().map(|path| ranked(path, scale)).collect());
        Self {
            schema: "perfblame.diff/1",
            method: diff.method.name(),
            metric: MetricRow { name: &diff.metric.name, unit: diff.metric.unit.name() },
            verdict: diff.verdict.name(),
            before: side(&diff.before, scale),
            after: side(&diff.after, scale),
            change: interval(diff.change, scale),
            p_value: diff.p_value.map(rounded),
            threshold: scale.amount(diff.threshold),
            normalised: diff.normalised.as_deref(),
            suspects: diff.suspects.iter().map(|row| suspect(row, scale)).collect(),
            improvements: diff.improvements.iter().map(|row| suspect(row, scale)).collect(),
            moved: diff.moved.iter().map(|row| suspect(row, scale)).collect(),
            minor: Minor { functions: diff.minor.0, delta: scale.amount(diff.minor.1) },
            runtime: diff.runtime.iter().map(|row| runtime(row, scale)).collect(),
            unexplained: scale.amount(diff.unexplained),
            noticed: diff.noticed.map(rounded),
            functions: (diff.functions.rows.iter())
                .map(|row| function_change(row, scale))
                .collect(),
            functions_left: Minor {
                functions: diff.functions.more,
                delta: scale.amount(diff.functions.rest),
            },
            runs_needed: diff.runs_needed,
            graph: diff.graph.as_ref().map(|row| graph(row, scale)),
            paths,
            stages: diff.stages.as_ref().map(|row| stages::StagesRow::of(row, scale)),
            warnings: diff.warnings.iter().map(warning).collect(),
        }
    }
}

fn side(side: &SideTotals, scale: Scale) -> SideRow<'_> {
    SideRow {
        runs: side.totals.len(),
        total: interval(side.total, scale),
        totals: scale.amounts(&side.totals),
        inputs: &side.inputs,
    }
}

fn interval(estimate: Estimate, scale: Scale) -> Interval {
    let Estimate { median, low, high } = estimate;
    Interval { median: scale.amount(median), low: scale.amount(low), high: scale.amount(high) }
}

fn function(function: &FunctionView) -> Function<'_> {
    Function {
        name: if function.name.is_empty() { "(anonymous)" } else { &function.name },
        component: function.component.as_deref(),
        layer: function.layer.name(),
        file: function.file.as_deref(),
        line: function.line,
        column: function.column,
        package: function.package.as_deref(),
    }
}

pub(crate) fn suspect(row: &Suspect, scale: Scale) -> SuspectRow<'_> {
    SuspectRow {
        rank: row.rank,
        function: function(&row.function),
        kind: row.kind.name(),
        path: row.path.iter().map(function).collect(),
        contexts: row.contexts.len(),
        before: scale.amount(row.before),
        after: scale.amount(row.after),
        delta: scale.delta(row.before, row.after, row.delta.median),
        interval: [scale.amount(row.delta.low), scale.amount(row.delta.high)],
        p_value: row.p_value.map(rounded),
        share: rounded(row.share),
        runs: Runs {
            before: scale.amounts(&row.runs.before),
            after: scale.amounts(&row.runs.after),
        },
        calls: row.calls.map(Calls::of),
        was: row.was.as_ref().map(function),
        notes: &row.notes,
        changes: row.changes.iter().map(change).collect(),
    }
}

pub(crate) fn change(change: &CodeChange) -> Change<'_> {
    Change {
        kind: &change.kind,
        function: &change.function,
        file: &change.file,
        lines: change.lines,
        commit: change.commit.as_deref(),
        hunks: &change.hunks,
        title: change.title.as_deref(),
        why: change.why.as_deref(),
        score: change.score,
    }
}

fn runtime(row: &RuntimeCost, scale: Scale) -> CostRow<'_> {
    CostRow {
        function: function(&row.function),
        before: scale.amount(row.before),
        after: scale.amount(row.after),
        delta: scale.delta(row.before, row.after, row.after - row.before),
    }
}

fn function_change(row: &FunctionChange, scale: Scale) -> CostRow<'_> {
    CostRow {
        function: function(&row.function),
        before: scale.amount(row.before),
        after: scale.amount(row.after),
        delta: scale.delta(row.before, row.after, row.delta()),
    }
}

fn graph(graph: &CriticalGraph, scale: Scale) -> Graph<'_> {
    Graph {
        threshold: scale.amount(graph.threshold),
        pruned: graph.pruned,
        nodes: graph.nodes.iter().map(|row| node(row, scale)).collect(),
    }
}

/// A call without partner costs nothing before, and `new` tells it from one that was there and cost nothing.
fn node(node: &CriticalNode, scale: Scale) -> Node<'_> {
    let before = node.before.unwrap_or(0.0);
    Node {
        id: node.id,
        parent: node.parent,
        function: function(&node.function),
        before: scale.amount(before),
        after: scale.amount(node.after),
        delta: scale.delta(before, node.after, node.after - before),
        new: node.before.is_none(),
        cause: node.cause,
    }
}

fn ranked(path: &RankedPath, scale: Scale) -> PathRow<'_> {
    let steps = path.functions.iter().map(|step| Step {
        function: function(&step.function),
        latency: scale.amount(step.latency),
        delta: scale.amount(step.delta),
        rank: step.rank,
    });
    PathRow {
        rank: path.rank,
        cost: scale.amount(path.cost),
        new: path.new,
        functions: steps.collect(),
    }
}

pub(crate) fn warning(warning: &Warning) -> WarningRow<'_> {
    WarningRow { code: &warning.code, message: &warning.message, count: warning.count }
}
