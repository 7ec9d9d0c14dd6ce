//! JSON as the outside knows it: `perfblame.profile/1`. Fields may be added, not renamed; the model stays free to
//! change, as everything is converted by hand.

use std::io::{self, Write};

use perfblame_analysis::{
    FunctionCost, FunctionView, LayerCost, MetricTotal, Neighbours, RoleCost, RunTotal, Summary,
    ThreadCost, TreeRow, TreeView,
};
use perfblame_cct::{CallSite, Measure, Warning};
use serde::Serialize;

use crate::Section;
use crate::numbers::decimal;

/// Writes a summary as JSON; sections beyond the standard ones add their arrays.
pub fn show_json(summary: &Summary, sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
    let wire = Profile::of(summary, sections);
    serde_json::to_writer_pretty(&mut *out, &wire)?;
    out.write_all(b"\n")
}

/// Whole where it can be, so that nothing is lost to rounding.
#[derive(Serialize)]
#[serde(untagged)]
enum Amount {
    Whole(i64),
    Decimal(f64),
}

#[derive(Clone, Copy)]
struct Scale(u8);

impl Scale {
    fn amount(self, stored: i64) -> Amount {
        match self.0 {
            0 => Amount::Whole(stored),
            decimals => Amount::Decimal(decimal(stored, decimals).parse().unwrap_or(0.0)),
        }
    }
}

#[derive(Serialize)]
struct Profile<'a> {
    schema: &'static str,
    format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    producer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<Label<'a>>,
    runs: usize,
    inputs: Vec<Input<'a>>,
    samples: u64,
    nodes: usize,
    functions: usize,
    metric: Option<&'a str>,
    total: Amount,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<Cost<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<Task<'a>>,
    metrics: Vec<Metric<'a>>,
    layers: Vec<LayerShare>,
    runtime: Vec<Cost<'a>>,
    hot: Vec<Node<'a>>,
    top: Vec<Cost<'a>>,
    threads: Vec<Thread<'a>>,
    roles: Vec<Role<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<Vec<Node<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    callers: Option<Around<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    callees: Option<Around<'a>>,
    warnings: Vec<WarningRow<'a>>,
}

#[derive(Serialize)]
struct Label<'a> {
    key: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct Input<'a> {
    name: &'a str,
    samples: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<i64>,
    total: Amount,
}

#[derive(Serialize)]
struct Metric<'a> {
    name: &'a str,
    unit: &'a str,
    total: Amount,
    measure: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<i64>,
}

#[derive(Serialize)]
struct Task<'a> {
    #[serde(rename = "task")]
    name: &'a str,
    cost: Amount,
    share: f64,
}

#[derive(Serialize)]
struct LayerShare {
    layer: &'static str,
    cost: Amount,
    share: f64,
}

/// What identifies a function.
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
struct Cost<'a> {
    #[serde(flatten)]
    function: Function<'a>,
    #[serde(rename = "self")]
    own: Amount,
    inclusive: Amount,
    self_share: f64,
    share: f64,
}

#[derive(Serialize)]
struct Node<'a> {
    id: usize,
    parent: Option<usize>,
    depth: usize,
    #[serde(flatten)]
    function: Function<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_site: Option<String>,
    #[serde(rename = "self")]
    own: Amount,
    inclusive: Amount,
    share: f64,
}

#[derive(Serialize)]
struct Thread<'a> {
    name: &'a str,
    role: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    cost: Amount,
    share: f64,
    busiest: Option<Function<'a>>,
}

#[derive(Serialize)]
struct Role<'a> {
    #[serde(rename = "role")]
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<&'a str>,
    threads: usize,
    cost: Amount,
    share: f64,
    busiest: Option<Function<'a>>,
}

#[derive(Serialize)]
struct Around<'a> {
    #[serde(flatten)]
    of: Cost<'a>,
    direct: Vec<Neighbour<'a>>,
    tree: Vec<Node<'a>>,
}

#[derive(Serialize)]
struct Neighbour<'a> {
    #[serde(flatten)]
    function: Option<Function<'a>>,
    cost: Amount,
    share: f64,
}

#[derive(Serialize)]
struct WarningRow<'a> {
    code: &'a str,
    message: &'a str,
    count: u64,
}

impl<'a> Profile<'a> {
    fn of(summary: &'a Summary, sections: &[Section]) -> Self {
        let metric = summary.metric.and_then(|row| summary.metrics.get(row));
        let scale = Scale(metric.map_or(0, |metric| metric.decimals));
        let tree = sections.contains(&Section::Tree);
        Self {
            schema: "perfblame.profile/1",
            format: &summary.format,
            producer: summary.producer.as_deref(),
            command: summary.command.as_deref(),
            duration: summary.duration,
            started: summary.started,
            labels: summary.labels.iter().map(|(key, value)| Label { key, value }).collect(),
            runs: summary.runs.len(),
            inputs: summary.runs.iter().map(|run| input(run, scale)).collect(),
            samples: summary.samples,
            nodes: summary.nodes,
            functions: summary.functions,
            metric: metric.map(|metric| metric.name.as_str()),
            total: scale.amount(summary.whole),
            root: summary.root.as_ref().map(|root| cost(root, scale)),
            tasks: (summary.tasks.iter())
                .map(|row| Task { name: &row.name, cost: scale.amount(row.cost), share: row.share })
                .collect(),
            metrics: summary.metrics.iter().map(metric_row).collect(),
            layers: summary.layers.iter().map(|layer| layer_share(layer, scale)).collect(),
            runtime: summary.runtime.iter().map(|row| cost(row, scale)).collect(),
            hot: nodes(&summary.hot, scale),
            top: summary.top.iter().map(|row| cost(row, scale)).collect(),
            threads: summary.threads.iter().map(|row| thread(row, scale)).collect(),
            roles: summary.roles.iter().map(|row| role(row, scale)).collect(),
            tree: tree.then(|| view(&summary.tree, scale)),
            callers: summary.callers.as_ref().map(|row| around(row, scale)),
            callees: summary.callees.as_ref().map(|row| around(row, scale)),
            warnings: summary.warnings.iter().map(warning).collect(),
        }
    }
}

fn input(run: &RunTotal, scale: Scale) -> Input<'_> {
    Input {
        name: &run.name,
        samples: run.samples,
        duration: run.duration,
        total: scale.amount(run.total),
    }
}

fn metric_row(metric: &MetricTotal) -> Metric<'_> {
    Metric {
        name: &metric.name,
        unit: metric.unit.name(),
        total: Scale(metric.decimals).amount(metric.total),
        measure: match metric.measure {
            Measure::Sampled => "sampled",
            Measure::Exact => "exact",
        },
        period: metric.period,
    }
}

fn layer_share(layer: &LayerCost, scale: Scale) -> LayerShare {
    LayerShare { layer: layer.layer.name(), cost: scale.amount(layer.cost), share: layer.share }
}

fn function(function: &FunctionView) -> Function<'_> {
    Function {
        name: &function.name,
        component: function.component.as_deref(),
        layer: function.layer.name(),
        file: function.file.as_deref(),
        line: function.line,
        column: function.column,
        package: function.package.as_deref(),
    }
}

fn cost(cost: &FunctionCost, scale: Scale) -> Cost<'_> {
    Cost {
        function: function(&cost.function),
        own: scale.amount(cost.self_cost),
        inclusive: scale.amount(cost.inclusive),
        self_share: cost.self_share,
        share: cost.share,
    }
}

fn view(view: &TreeView, scale: Scale) -> Vec<Node<'_>> {
    nodes(&view.rows, scale)
}

fn nodes(rows: &[TreeRow], scale: Scale) -> Vec<Node<'_>> {
    (rows.iter().enumerate())
        .map(|(id, row)| Node {
            id,
            parent: row.parent,
            depth: row.depth,
            function: function(&row.function),
            call_site: row.call_site.map(call_site),
            own: scale.amount(row.self_cost),
            inclusive: scale.amount(row.inclusive),
            share: row.share,
        })
        .collect()
}

fn call_site(site: CallSite) -> String {
    match site {
        CallSite::Line(line, Some(column)) => format!("{line}:{column}"),
        CallSite::Line(line, None) => line.to_string(),
        CallSite::Bytecode(index) => format!("@{index}"),
        CallSite::Address(address) => format!("{address:#x}"),
    }
}

fn thread(row: &ThreadCost, scale: Scale) -> Thread<'_> {
    Thread {
        name: &row.thread.name,
        role: &row.thread.role,
        process: row.thread.process.as_deref(),
        pid: row.thread.pid,
        tid: row.thread.tid,
        group: row.thread.group.as_deref(),
        cost: scale.amount(row.cost),
        share: row.share,
        busiest: row.busiest.as_ref().map(|(busiest, _)| function(busiest)),
    }
}

fn role(row: &RoleCost, scale: Scale) -> Role<'_> {
    Role {
        name: &row.role,
        process: row.process.as_deref(),
        threads: row.threads,
        cost: scale.amount(row.cost),
        share: row.share,
        busiest: row.busiest.as_ref().map(|(busiest, _)| function(busiest)),
    }
}

fn around(row: &Neighbours, scale: Scale) -> Around<'_> {
    Around {
        of: cost(&row.function, scale),
        direct: (row.direct.iter())
            .map(|(neighbour, total, share)| Neighbour {
                function: neighbour.as_ref().map(function),
                cost: scale.amount(*total),
                share: *share,
            })
            .collect(),
        tree: view(&row.tree, scale),
    }
}

fn warning(warning: &Warning) -> WarningRow<'_> {
    WarningRow { code: &warning.code, message: &warning.message, count: warning.count }
}
