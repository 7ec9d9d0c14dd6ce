//! A comparison as a graph in the language of Graphviz: calls that got slower, callers above callees, causes filled.
//!
//! The critical graph is drawn as it is. The other methods have no graph of their own: theirs is made of the paths that
//! lead to what they found.

use std::io::{self, Write};

use hashbrown::HashMap;
use perfblame_analysis::{CriticalNode, Diff, FunctionView, Method, Suspect};

use crate::diff_words::{Words, is_time};
use crate::headline::headline;
use crate::layout::{Look, clean, shortened, shortened_path, wrapped};
use crate::numbers::{counted, in_percent};
use crate::pa_cct;
use crate::show_text::place_of;
use crate::stage_words::{parts, signed_cost, why, why_weight};

/// Columns of a line in a box; the tooltip has the whole name.
const WIDTH: usize = 48;

/// Columns of the line above the graph.
const TITLE_WIDTH: usize = 100;

/// Ranked paths that are drawn; more are no picture any more.
const PATHS: usize = 30;

/// A box: a call in its context.
struct Call<'a> {
    parent: Option<usize>,
    function: Option<&'a FunctionView>,
    /// What else is to say, a line each.
    lines: Vec<String>,
    cause: bool,
}

/// Writes the comparison for Graphviz.
pub fn diff_dot(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    let words = Words::of(diff, true);
    let mut title = wrapped(&headline(diff, words), TITLE_WIDTH);
    if diff.method == Method::Paths && is_time(&diff.metric) {
        return paths_dot(diff, title, out);
    }
    let calls = match (diff.method, &diff.graph) {
        (_, Some(graph)) => graph.nodes.iter().map(|node| critical_call(node, words)).collect(),
        (Method::Paths, None) => {
            let left_out = diff.paths.len().saturating_sub(PATHS);
            if left_out > 0 {
                let paths = counted(left_out as u64, "path", "paths");
                title.push(format!("{paths} with the smallest differences left out"));
            }
            path_calls(diff, words)
        }
        (Method::Stages, None) => stage_calls(diff, words, &mut title),
        _ => suspect_calls(diff, words),
    };
    writeln!(out, "digraph perfblame {{")?;
    writeln!(
        out,
        "  graph [label=\"{}\", labelloc=t];",
        escaped(title.iter().map(String::as_str))
    )?;
    writeln!(out, "  node [shape=box];")?;
    for (row, call) in calls.iter().enumerate() {
        let name = call.function.map_or("(root)", |function| &function.name);
        let place = call.function.map(place_of).unwrap_or_default();
        let look = Look { width: 0, unicode: true, colour: false };
        let short = [shortened(name, WIDTH, look), shortened_path(&place, WIDTH, look)];
        let short = short.iter().map(|line| &**line).filter(|line| !line.is_empty());
        let label = escaped(short.chain(call.lines.iter().map(String::as_str)));
        let tooltip = escaped([name, &place].into_iter().filter(|line| !line.is_empty()));
        let filled = if call.cause { ", style=filled, fillcolor=lightgrey" } else { "" };
        writeln!(out, "  n{row} [label=\"{label}\", tooltip=\"{tooltip}\"{filled}];")?;
    }
    for (row, call) in calls.iter().enumerate() {
        if let Some(parent) = call.parent {
            writeln!(out, "  n{parent} -> n{row};")?;
        }
    }
    writeln!(out, "}}")
}

/// Both workloads on top of each other, as far as the first paths go.
fn paths_dot(diff: &Diff, mut title: Vec<String>, out: &mut dyn Write) -> io::Result<()> {
    let left_out = diff.paths.len().saturating_sub(pa_cct::PATHS);
    if left_out > 0 {
        let paths = counted(left_out as u64, "path", "paths");
        title.push(format!("{paths} with the smallest differences left out"));
    }
    title.push("red: after, blue: before".to_owned());
    writeln!(out, "digraph perfblame {{")?;
    let label = escaped(title.iter().map(String::as_str));
    writeln!(out, "  graph [label=\"{label}\", labelloc=t];")?;
    writeln!(out, "  node [shape=box];")?;
    pa_cct::dot(&diff.paths, true, out)?;
    writeln!(out, "}}")
}

fn critical_call<'a>(node: &'a CriticalNode, words: Words<'_>) -> Call<'a> {
    let cost = match node.before {
        Some(before) => {
            format!("{} ({})", words.costs(before, node.after), words.change(node.after - before))
        }
        None => format!("new, {}", words.cost(node.after)),
    };
    Call {
        parent: node.parent,
        function: Some(&node.function),
        lines: vec![cost],
        cause: node.cause,
    }
}

/// A function by its name, its component and where it starts.
type Named<'a> = (&'a str, Option<&'a str>, Option<u32>, Option<u32>);

/// Calls from the root down, those that paths have in common once.
struct Paths<'a> {
    calls: Vec<Call<'a>>,
    /// Rows of callees by caller.
    known: HashMap<(usize, Named<'a>), usize>,
}

impl<'a> Paths<'a> {
    fn new(diff: &Diff, words: Words<'_>) -> Self {
        let cost = words.costs(diff.before.total.median, diff.after.total.median);
        let root = Call { parent: None, function: None, lines: vec![cost], cause: false };
        Self { calls: vec![root], known: HashMap::new() }
    }

    /// The row of a callee.
    fn callee(&mut self, caller: usize, function: &'a FunctionView) -> usize {
        let component = function.component.as_deref();
        let named = (&*function.name, component, function.line, function.column);
        *self.known.entry((caller, named)).or_insert_with(|| {
            let parent = Some(caller);
            self.calls.push(Call {
                parent,
                function: Some(function),
                lines: Vec::new(),
                cause: false,
            });
            self.calls.len() - 1
        })
    }
}

fn suspect_calls<'a>(diff: &'a Diff, words: Words<'_>) -> Vec<Call<'a>> {
    let mut paths = Paths::new(diff, words);
    for suspect in &diff.suspects {
        let mut row = 0;
        // Some profiles have a function for their root, which is there already.
        for function in suspect.path.iter().skip_while(|function| function.name == "(root)") {
            row = paths.callee(row, function);
        }
        paths.calls[row].cause = true;
        paths.calls[row].lines.extend(suspect_lines(suspect, words));
    }
    paths.calls
}

fn suspect_lines(suspect: &Suspect, words: Words<'_>) -> [String; 2] {
    let cost = words.costs(suspect.before, suspect.after);
    let kind = words.kind_with_calls(suspect);
    let contexts = match suspect.contexts.len() {
        0 | 1 => String::new(),
        many => format!(" in {}", counted(many as u64, "context", "contexts")),
    };
    let share = in_percent(suspect.share);
    [
        format!("{cost} ({})", words.change(suspect.delta.median)),
        format!("#{} {kind}{contexts}, {share} of {}", suspect.rank, words.whole(true)),
    ]
}

fn path_calls<'a>(diff: &'a Diff, words: Words<'_>) -> Vec<Call<'a>> {
    let mut paths = Paths::new(diff, words);
    for path in diff.paths.iter().take(PATHS) {
        let mut row = 0;
        for step in &path.functions {
            row = paths.callee(row, &step.function);
            let call = &mut paths.calls[row];
            if call.lines.is_empty() {
                let before = step.latency - step.delta;
                let costs = words.costs(before, step.latency);
                call.lines.push(format!("{costs} ({})", words.change(step.delta)));
            }
        }
        let call = &mut paths.calls[row];
        call.cause = true;
        call.lines.push(format!("path {}: {}", path.rank, words.change(path.cost)));
    }
    paths.calls
}

/// The costliest differences of all stages.
fn stage_calls<'a>(diff: &'a Diff, words: Words<'_>, title: &mut Vec<String>) -> Vec<Call<'a>> {
    let mut paths = Paths::new(diff, words);
    let Some(stages) = &diff.stages else { return paths.calls };
    let subtrees = parts(stages).into_iter().flat_map(|part| &part.subtrees).map(|row| {
        let nodes = counted(row.nodes as u64, "context", "contexts");
        (&row.path, signed_cost(row), format!("{}, {nodes}", why(row)))
    });
    let weights = stages.weights.iter().map(|row| {
        let costs = words.costs(row.before, row.after);
        (&row.path, row.after - row.before, format!("{costs}, {}", why_weight(row, stages, words)))
    });
    let mut rows: Vec<_> = subtrees.chain(weights).collect();
    rows.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    let left_out = rows.len().saturating_sub(PATHS);
    if left_out > 0 {
        let rest = counted(left_out as u64, "difference", "differences");
        title.push(format!("{rest} with the lowest cost left out"));
    }
    for (path, delta, text) in rows.into_iter().take(PATHS) {
        let mut row = 0;
        for function in path.iter().skip_while(|function| function.name == "(root)") {
            row = paths.callee(row, function);
        }
        let look = Look { width: 0, unicode: true, colour: false };
        let call = &mut paths.calls[row];
        call.cause = true;
        call.lines.push(words.change(delta));
        call.lines.push(shortened(&text, WIDTH, look).into_owned());
    }
    paths.calls
}

/// Lines as the inside of a quoted string. Graphviz reads backslashes and the entities of HTML in it.
fn escaped<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for line in lines {
        if !out.is_empty() {
            out.push_str("\\n");
        }
        for c in clean(line).chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '&' => out.push_str("&amp;"),
                c => out.push(c),
            }
        }
    }
    out
}
