//! Everything a profile says as text, without the order in which it was said: two profiles with the same dump are the
//! same, however they were read, merged or stored. For tests and for eyes; not a file format.

use std::fmt::Write as _;

use crate::{CallSite, FrameId, FunctionId, NodeId, Profile, Symbols, ThreadId};

/// A canonical text of a profile: ids do not show, siblings, threads, metrics and cells are sorted.
pub fn dump(profile: &Profile) -> String {
    let mut out = String::new();
    let info = &profile.info;
    let _ = writeln!(
        out,
        "format {:?} producer {:?} command {:?}",
        info.format, info.producer, info.command
    );
    let _ = writeln!(
        out,
        "duration {:?} started {:?} labels {:?}",
        info.duration, info.started, info.labels
    );
    let _ = writeln!(out, "grain {:?} samples {}", profile.tree.grain(), profile.samples);
    let mut metrics: Vec<(String, usize)> = (profile.metrics.iter().enumerate())
        .map(|(row, metric)| {
            let (unit, measure, period) = (metric.unit.name(), metric.measure, metric.period);
            let decimals = metric.decimals;
            (
                format!(
                    "{} [{unit}] {measure:?} period {period:?} decimals {decimals}",
                    metric.name
                ),
                row,
            )
        })
        .collect();
    metrics.sort();
    for (metric, _) in &metrics {
        let _ = writeln!(out, "metric {metric}");
    }
    let threads: Vec<String> = profile.threads().map(|(id, _)| thread(profile, id)).collect();
    let mut sorted = threads.clone();
    sorted.sort();
    for thread in sorted {
        let _ = writeln!(out, "thread {thread}");
    }
    let values = cells(profile, &threads, &metrics);
    walk(profile, |node, depth, label| {
        let _ = writeln!(out, "{:depth$}{label}{}", "", values[node.index()], depth = depth * 2);
    });
    let mut warnings = profile.warnings.clone();
    warnings.sort();
    for warning in warnings {
        let _ = writeln!(out, "warning {} x{} {}", warning.code, warning.count, warning.message);
    }
    out.push_str(&times(profile, &threads));
    out
}

/// Visits every node with its depth and label, siblings sorted by label.
fn walk(profile: &Profile, mut visit: impl FnMut(NodeId, usize, &str)) {
    let labels: Vec<String> =
        profile.symbols.frames().map(|(id, _)| frame(&profile.symbols, id)).collect();
    let label = |node: NodeId| labels[profile.tree.frame(node).index()].as_str();
    let sorted = |nodes: crate::Siblings<'_>, depth: usize| {
        let mut nodes: Vec<_> = nodes.map(|node| (node, depth)).collect();
        nodes.sort_by(|a, b| label(b.0).cmp(label(a.0)).then(b.0.cmp(&a.0)));
        nodes
    };
    let mut todo = sorted(profile.tree.roots(), 0);
    while let Some((node, depth)) = todo.pop() {
        visit(node, depth, label(node));
        todo.extend(sorted(profile.tree.children(node), depth + 1));
    }
}

/// The values of every node, by row.
fn cells(profile: &Profile, threads: &[String], metrics: &[(String, usize)]) -> Vec<String> {
    let mut of_node: Vec<Vec<String>> = vec![Vec::new(); profile.tree.len()];
    for cell in profile.cells.rows() {
        let values: Vec<i64> = metrics.iter().map(|(_, row)| cell.values[*row]).collect();
        if values.iter().any(|value| *value != 0) {
            let thread = cell.thread.map_or("", |id| threads[id.index()].as_str());
            of_node[cell.node.index()].push(format!(" | {thread} {values:?}"));
        }
    }
    (of_node.into_iter())
        .map(|mut cells| {
            cells.sort();
            cells.concat()
        })
        .collect()
}

fn times(profile: &Profile, threads: &[String]) -> String {
    let Some(times) = &profile.timeline else { return String::new() };
    let on = |thread: Option<ThreadId>| thread.map_or("", |id| threads[id.index()].as_str());
    let name = |node| profile.name_of(node);
    let mut lines: Vec<(i64, String)> = Vec::new();
    for sample in &times.samples {
        let metric = &profile.metrics[sample.metric.index()].name;
        let (thread, value) = (on(sample.thread), sample.value);
        lines
            .push((sample.time, format!("sample {thread} {} {metric} {value}", name(sample.node))));
    }
    for call in &times.calls {
        let line = format!("call {} {} until {}", on(call.thread), name(call.node), call.end);
        lines.push((call.start, line));
    }
    lines.sort();
    lines.iter().fold(String::new(), |mut out, (time, line)| {
        let _ = writeln!(out, "at {time} {line}");
        out
    })
}

fn thread(profile: &Profile, id: ThreadId) -> String {
    let thread = &profile.threads[id.index()];
    let mut out = format!("{:?}", profile.symbols.text(thread.name));
    for (word, number) in [("pid", thread.pid), ("tid", thread.tid)] {
        if let Some(number) = number {
            let _ = write!(out, " {word} {number}");
        }
    }
    for (word, text) in [("process", thread.process), ("group", thread.group)] {
        if let Some(text) = text {
            let _ = write!(out, " {word} {:?}", profile.symbols.text(text));
        }
    }
    out
}

fn frame(symbols: &Symbols, id: FrameId) -> String {
    let frame = symbols.frame(id);
    let mut out = function(symbols, frame.function);
    if let Some(file) = frame.file {
        let _ = write!(out, " in {}", symbols.text(file));
    }
    if let Some(line) = frame.line {
        let _ = write!(out, " at {line}");
    }
    if let Some(column) = frame.column {
        let _ = write!(out, ":{column}");
    }
    if let Some(bytecode) = frame.bytecode {
        let _ = write!(out, " bytecode {bytecode}");
    }
    if let Some(address) = frame.address {
        let _ = write!(out, " address {address:#x}");
    }
    if frame.inlined {
        out.push_str(" inlined");
    }
    match frame.call_site {
        Some(CallSite::Line(line, Some(column))) => {
            let _ = write!(out, " from {line}:{column}");
        }
        Some(CallSite::Line(line, None)) => {
            let _ = write!(out, " from {line}");
        }
        Some(CallSite::Bytecode(index)) => {
            let _ = write!(out, " from bytecode {index}");
        }
        Some(CallSite::Address(address)) => {
            let _ = write!(out, " from {address:#x}");
        }
        None => {}
    }
    out
}

fn function(symbols: &Symbols, id: FunctionId) -> String {
    let function = symbols.function(id);
    let mut out = symbols.text(function.name).to_owned();
    if let Some(signature) = function.signature {
        out.push_str(symbols.text(signature));
    }
    if let Some(component) = function.component {
        let _ = write!(out, " ({})", symbols.text(component));
    }
    if let Some(file) = function.file {
        let _ = write!(out, " {}", symbols.text(file));
    }
    if let Some(line) = function.line {
        let _ = write!(out, " line {line}");
    }
    if let Some(column) = function.column {
        let _ = write!(out, " column {column}");
    }
    if function.layer != crate::Layer::Application {
        let _ = write!(out, " {}", function.layer.name());
    }
    out
}
