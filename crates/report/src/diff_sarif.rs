//! What made it slower as SARIF 2.1.0, which code hosts and editors show beside the code: one result per suspect.
//!
//! A result has a place in a file only where file and line are known; the call path is its stack. Fingerprints are made
//! of names alone, so that a suspect is the same one after lines moved and figures changed.

mod location;

use std::fmt::Write as _;
use std::io::{self, Write};

use perfblame_analysis::{
    CodeChange, CriticalNode, Diff, FunctionView, Method, RankedPath, Side, StagedSubtree, Suspect,
    SuspectKind, Verdict, WeightChange,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::VERSION;
use crate::diff_json::Scale;
use crate::diff_words::{Words, p_value};
use crate::headline::headline;
use crate::layout::clean;
use crate::numbers::{counted, in_percent};
use crate::stage_words::{by_candidates, parts, why, why_weight};
use location::{Location, fingerprint, location, place_in_file};

/// Paths that become results. Hosts take some thousand results, people fewer.
const MOST_PATHS: usize = 100;

/// Writes an answer as one SARIF log.
pub fn diff_sarif(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Log::of(diff))?;
    out.write_all(b"\n")
}

/// What can be found, in the order rules are listed.
const KINDS: [(SuspectKind, &str, &str); 5] = [
    (SuspectKind::Slower, "SlowerFunction", "A function costs more each time it runs."),
    (SuspectKind::MoreCalls, "MoreCalls", "A function is called more often."),
    (SuspectKind::New, "NewCost", "A function that did not run before has a cost."),
    (SuspectKind::Waits, "LongerWait", "A function waits longer."),
    (SuspectKind::Moved, "MovedCost", "A cost moved here from another place."),
];

/// The log as a value, for logs that are made of several.
pub(crate) fn log_value(diff: &Diff) -> serde_json::Result<Value> {
    serde_json::to_value(Log::of(diff))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    column_kind: &'static str,
    invocations: [Invocation; 1],
    results: Vec<Outcome<'a>>,
    properties: Value,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: String,
    name: &'static str,
    short_description: Message,
    default_configuration: Value,
    properties: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: Message,
    descriptor: Value,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

/// A result; the name is taken.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    rule_id: String,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: [Location<'a>; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Value>,
    stacks: [Stack<'a>; 1],
    partial_fingerprints: Value,
    rank: f64,
    properties: Value,
}

/// A call path, innermost call first.
#[derive(Serialize)]
struct Stack<'a> {
    message: Message,
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    location: Location<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a str>,
}

/// What results are written by.
#[derive(Clone, Copy)]
struct By<'a> {
    diff: &'a Diff,
    words: Words<'a>,
    scale: Scale,
}

impl<'a> Log<'a> {
    fn of(diff: &'a Diff) -> Self {
        let words = Words { name_width: 200, ..Words::of(diff, true) };
        let by = By { diff, words, scale: Scale::of(diff) };
        let mut notifications: Vec<Notification> = (diff.warnings.iter())
            .map(|warning| notification(&warning.code, &clean(&warning.message)))
            .collect();
        // Each method has its own words for what it suspects.
        let results: Vec<Outcome<'a>> = match diff.method {
            Method::Suspects => diff.suspects.iter().map(|row| suspect(row, by)).collect(),
            Method::CriticalGraph => causes(by),
            Method::Paths => {
                let paths = diff.paths.iter().take(MOST_PATHS);
                paths.filter_map(|path| ranked(path, by)).collect()
            }
            Method::Stages => staged(by),
        };
        if diff.method == Method::Stages && results.len() == MOST_PATHS {
            let text = format!("the {MOST_PATHS} largest differences; `--format json` shows more");
            notifications.push(notification("differences-left-out", &text));
        }
        let more = diff.paths.len().saturating_sub(MOST_PATHS);
        if diff.method == Method::Paths && more > 0 {
            let more = counted(more as u64, "path", "paths");
            let text = format!("{more} left out; `--format json` shows all");
            notifications.push(notification("paths-left-out", &text));
        }
        let run = Run {
            tool: Tool { driver: driver(diff) },
            column_kind: "unicodeCodePoints",
            invocations: [Invocation {
                execution_successful: true,
                tool_execution_notifications: notifications,
            }],
            results,
            properties: json!({
                "verdict": diff.verdict.name(),
                "method": diff.method.name(),
                "metric": diff.metric.name,
                "unit": diff.metric.unit.name(),
                "summary": headline(diff, words),
            }),
        };
        Self {
            schema: "https://json.schemastore.org/sarif-2.1.0.json",
            version: "2.1.0",
            runs: [run],
        }
    }
}

fn driver(diff: &Diff) -> Driver {
    let rules = KINDS.iter().map(|(kind, name, text)| Rule {
        id: rule_id(*kind),
        name,
        short_description: Message { text: (*text).to_owned() },
        default_configuration: json!({ "level": level(diff) }),
        properties: json!({ "tags": ["performance"] }),
    });
    Driver { name: "perfblame", semantic_version: VERSION, rules: rules.collect() }
}

fn rule_id(kind: SuspectKind) -> String {
    format!("perfblame/{}", kind.name())
}

/// Where a kind stands among the rules; whatever else there is counts as slower.
fn rule(kind: SuspectKind) -> (String, usize) {
    let row = KINDS.iter().position(|(known, ..)| *known == kind).unwrap_or(0);
    (rule_id(KINDS[row].0), row)
}

fn level(diff: &Diff) -> &'static str {
    if diff.verdict == Verdict::Regressed { "error" } else { "warning" }
}

fn notification(code: &str, text: &str) -> Notification {
    Notification {
        level: "warning",
        message: Message { text: literal(text) },
        descriptor: json!({ "id": code }),
    }
}

fn suspect<'a>(row: &'a Suspect, by: By<'_>) -> Outcome<'a> {
    let By { diff, words, scale } = by;
    let mut text = format!(
        "{}: {} ({}), {} of {}, {}",
        words.name(&row.function),
        words.change(row.delta.median),
        words.costs(row.before, row.after),
        in_percent(row.share),
        words.whole(row.delta.median >= 0.0),
        words.kind_with_calls(row)
    );
    if row.delta.high > row.delta.low {
        let between = words.between(row.delta.low, row.delta.high);
        let _ = write!(text, "; {between} with 95 % confidence");
    }
    if let Some(p) = row.p_value {
        let _ = write!(text, ", {}", p_value(p));
    }
    if row.contexts.len() > 1 {
        let _ = write!(text, "; in {} contexts", row.contexts.len());
    }
    for note in &row.notes {
        let _ = write!(text, "; {}", clean(note));
    }
    text.push('.');
    let (rule_id, rule_index) = rule(row.kind);
    let path: Vec<&FunctionView> = row.path.iter().collect();
    Outcome {
        rule_id,
        rule_index,
        level: level(diff),
        message: Message { text: literal(&text) },
        locations: [blamed(row)],
        related_locations: row.changes.iter().enumerate().filter_map(change).collect(),
        partial_fingerprints: json!({ "perfblameContext/v1": fingerprint(&path) }),
        stacks: [stack(&path)],
        rank: percent(row.share),
        properties: json!({
            "before": scale.amount(row.before),
            "after": scale.amount(row.after),
            "delta": scale.amount(row.delta.median),
            "share": row.share,
            "pValue": row.p_value,
            "contexts": row.contexts.len(),
        }),
    }
}

/// Where a suspect is to be shown: on the lines of the change that explains it best, or else where it stands.
fn blamed(row: &Suspect) -> Location<'_> {
    let mut place = location(&row.function);
    if let Some(changed) = row.changes.first().and_then(changed_lines) {
        place.physical_location = Some(changed);
    }
    place
}

/// The first lines that a change touched, or all of its function.
fn changed_lines(change: &CodeChange) -> Option<Value> {
    let (first, last) = change.hunks.first().and_then(|hunk| new_lines(hunk)).or(change.lines)?;
    let mut place = place_in_file(&change.file, first, None)?;
    place["region"]["endLine"] = last.max(first).into();
    Some(place)
}

/// `@@ -110,0 +120,22 @@` is about the lines 120 to 141 of the file as it is now.
fn new_lines(hunk: &str) -> Option<(u32, u32)> {
    let (_, new) = hunk.split_once('+')?;
    let new = new.split(' ').next()?;
    let (start, lines) = match new.split_once(',') {
        Some((start, lines)) => (start.parse::<u32>().ok()?, lines.parse::<u32>().ok()?),
        None => (new.parse().ok()?, 1),
    };
    // Where lines are only gone, the line above the gap is shown.
    Some((start.max(1), start.saturating_add(lines.saturating_sub(1)).max(1)))
}

/// The code change that touches a suspect, as a place to look at.
fn change((row, change): (usize, &CodeChange)) -> Option<Value> {
    let (first, last) = change.lines?;
    let mut place = place_in_file(&change.file, first, None)?;
    place["region"]["endLine"] = last.max(first).into();
    let commit = change.commit.as_ref().map_or(String::new(), |commit| format!(" in {commit}"));
    let why = change.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
    let text = format!("{} {}{commit}{why}", change.kind, change.function);
    Some(json!({
        "id": row,
        "physicalLocation": place,
        "message": { "text": literal(&clean(&text)) },
    }))
}

/// The causes of a critical graph.
fn causes<'a>(by: By<'a>) -> Vec<Outcome<'a>> {
    let By { diff, words, scale } = by;
    let Some(graph) = &diff.graph else { return Vec::new() };
    let path = |node: &'a CriticalNode| {
        let mut path = vec![&node.function];
        let mut above = node.parent;
        // Parents come first, so this ends even where a graph does not hold what it promises.
        let mut below = node.id;
        while let Some(parent) =
            above.filter(|parent| *parent < below).and_then(|id| graph.nodes.get(id))
        {
            path.push(&parent.function);
            (below, above) = (parent.id.min(below.saturating_sub(1)), parent.parent);
        }
        path.reverse();
        path
    };
    let whole = diff.after.total.median - diff.before.total.median;
    let cause = |node: &'a CriticalNode| {
        let before = node.before.unwrap_or(0.0);
        let delta = node.after - before;
        let kind = if node.before.is_none() { SuspectKind::New } else { SuspectKind::Slower };
        let (rule_id, rule_index) = rule(kind);
        let text = format!(
            "{}: {} ({}), {}.",
            words.name(&node.function),
            words.change(delta),
            words.costs(before, node.after),
            words.kind(kind)
        );
        let path = path(node);
        Outcome {
            rule_id,
            rule_index,
            level: level(diff),
            message: Message { text: literal(&text) },
            locations: [location(&node.function)],
            related_locations: Vec::new(),
            partial_fingerprints: json!({ "perfblameContext/v1": fingerprint(&path) }),
            stacks: [stack(&path)],
            rank: percent(delta / whole),
            properties: json!({
                "before": scale.amount(before),
                "after": scale.amount(node.after),
                "delta": scale.amount(delta),
            }),
        }
    };
    graph.nodes.iter().filter(|node| node.cause).map(cause).collect()
}

/// A ranked path, at its slowest function.
fn ranked<'a>(row: &'a RankedPath, by: By<'_>) -> Option<Outcome<'a>> {
    let By { diff, words, scale } = by;
    let slowest = row.functions.iter().min_by_key(|step| step.rank)?;
    let kind = if row.new { SuspectKind::New } else { SuspectKind::Slower };
    let (rule_id, rule_index) = rule(kind);
    let text = format!(
        "Path {} by difference: {}; its slowest function is {}, {}.",
        row.rank,
        words.change(row.cost),
        words.name(&slowest.function),
        words.cost(slowest.latency)
    );
    let path: Vec<&FunctionView> = row.functions.iter().map(|step| &step.function).collect();
    let whole = diff.after.total.median - diff.before.total.median;
    Some(Outcome {
        rule_id,
        rule_index,
        level: level(diff),
        message: Message { text: literal(&text) },
        locations: [location(&slowest.function)],
        related_locations: Vec::new(),
        partial_fingerprints: json!({ "perfblameContext/v1": fingerprint(&path) }),
        stacks: [stack(&path)],
        rank: percent(row.cost / whole),
        properties: json!({
            "cost": scale.amount(row.cost),
            "latency": scale.amount(slowest.latency),
        }),
    })
}

/// What costs more by stages, the costliest first: subtrees that are only after, and contexts with more weight.
fn staged<'a>(by: By<'a>) -> Vec<Outcome<'a>> {
    let By { diff, words, scale } = by;
    let Some(stages) = &diff.stages else { return Vec::new() };
    let whole = diff.after.total.median - diff.before.total.median;
    let outcome =
        |kind: SuspectKind, path: &'a [FunctionView], delta: f64, text: String, changes: Vec<_>| {
            let function = path.last()?;
            let (rule_id, rule_index) = rule(kind);
            let path: Vec<&FunctionView> = path.iter().collect();
            Some(Outcome {
                rule_id,
                rule_index,
                level: level(diff),
                message: Message { text: literal(&clean(&text)) },
                locations: [location(function)],
                related_locations: changes.into_iter().enumerate().filter_map(change).collect(),
                partial_fingerprints: json!({ "perfblameContext/v1": fingerprint(&path) }),
                stacks: [stack(&path)],
                rank: percent(delta / whole),
                properties: json!({ "delta": scale.amount(delta) }),
            })
        };
    let subtree = |row: &'a StagedSubtree| {
        let name = words.name(row.path.last()?);
        let mut text = format!("{name}: {}, {}", words.change(row.cost), why(row));
        if let Some(candidates) = by_candidates(&row.candidates, words) {
            let _ = write!(text, "; {candidates}");
        }
        text.push('.');
        let above = row.candidates.iter().flat_map(|candidate| &candidate.changes);
        outcome(
            SuspectKind::New,
            &row.path,
            row.cost,
            text,
            row.changes.iter().chain(above).collect(),
        )
    };
    let weight = |row: &'a WeightChange| {
        let name = words.name(row.path.last()?);
        let (delta, costs) = (row.after - row.before, words.costs(row.before, row.after));
        let why = why_weight(row, stages, words);
        let mut text = format!("{name}: {} ({costs}), {why}", words.change(delta));
        if let Some(candidates) = by_candidates(&row.candidates, words) {
            let _ = write!(text, "; {candidates}");
        }
        text.push('.');
        let changes = row.candidates.iter().flat_map(|candidate| &candidate.changes).collect();
        outcome(SuspectKind::Slower, &row.path, delta, text, changes)
    };
    let after = parts(stages).into_iter().flat_map(|part| &part.subtrees);
    let after = after.filter(|row| row.side == Side::After);
    let heavier = stages.weights.iter().filter(|row| row.after > row.before);
    let mut results: Vec<(f64, Outcome<'a>)> = after
        .filter_map(|row| Some((row.cost, subtree(row)?)))
        .chain(heavier.filter_map(|row| Some((row.after - row.before, weight(row)?))))
        .collect();
    results.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    results.into_iter().take(MOST_PATHS).map(|(_, outcome)| outcome).collect()
}

fn stack<'a>(path: &[&'a FunctionView]) -> Stack<'a> {
    let frame = |function: &&'a FunctionView| Frame {
        location: location(function),
        module: function.component.as_deref(),
    };
    Stack {
        message: Message { text: "Call path, innermost first.".to_owned() },
        frames: path.iter().rev().map(frame).collect(),
    }
}

/// A share of one as a rank: 0 to 100.
fn percent(share: f64) -> f64 {
    if share.is_finite() { (share * 1000.0).round().clamp(0.0, 1000.0) / 10.0 } else { 0.0 }
}

/// A message without placeholders and links, sections 3.11.5 and 3.11.6 of the standard: braces are doubled, and a
/// bracket that a parenthesis follows is not a link's.
pub(crate) fn literal(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}").replace("](", "\\](")
}
