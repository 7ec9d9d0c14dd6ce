//! The words of an answer that every rendering shares: figures with their signs, kinds of change, the first line.

use std::fmt::Write as _;

use perfblame_analysis::{
    CriticalNode, Diff, FunctionView, Method, RuntimeCost, Sides, Suspect, SuspectKind, Verdict,
    is_waiting,
};
use perfblame_cct::{Metric, Unit};

use crate::layout::{Look, clean, columns, shortened};
use crate::numbers::{counted, grouped, in_percent, quantity, significant};
use crate::show_text::place_of;
use crate::stage_words::{self, lead};

/// How figures and names of one answer are written.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    pub metric: &'a Metric,
    /// Signs beyond ASCII.
    pub unicode: bool,
    /// Columns of the longest name in a sentence.
    pub name_width: usize,
}

impl<'a> Words<'a> {
    pub fn of(diff: &'a Diff, unicode: bool) -> Self {
        Self { metric: &diff.metric, unicode, name_width: 60 }
    }

    pub fn arrow(self) -> &'static str {
        if self.unicode { "→" } else { "->" }
    }

    /// `4.10 s`.
    pub fn cost(self, cost: f64) -> String {
        let sign = if cost < 0.0 { self.minus() } else { "" };
        format!("{sign}{}", self.size(cost))
    }

    /// `+2.20 s`.
    pub fn change(self, delta: f64) -> String {
        let size = self.size(delta);
        let nothing = size.chars().all(|c| !c.is_ascii_digit() || c == '0');
        let sign = match delta {
            _ if nothing => "",
            delta if delta < 0.0 => self.minus(),
            _ => "+",
        };
        format!("{sign}{size}")
    }

    /// `+1.98 s to +2.51 s`.
    pub fn between(self, low: f64, high: f64) -> String {
        format!("{} to {}", self.change(low), self.change(high))
    }

    /// `4.10 s → 6.30 s`; things that are counted are named.
    pub fn costs(self, before: f64, after: f64) -> String {
        let noun = match &self.metric.unit {
            Unit::Nanoseconds | Unit::Bytes => String::new(),
            Unit::Count => format!(" {}", self.metric.name),
            Unit::Other(unit) => format!(" {unit}"),
        };
        format!("{} {} {}{noun}", self.cost(before), self.arrow(), self.cost(after))
    }

    /// `+54 %`; nothing when there was nothing before.
    pub fn relative(self, before: f64, after: f64) -> Option<String> {
        if before <= 0.0 {
            return None;
        }
        let share = (after - before) / before;
        // Percents of hundreds are hard to read: `×736`.
        if after / before >= 10.0 {
            let times = if self.unicode { "×" } else { "x" };
            return Some(format!("{times}{}", grouped((after / before).round() as u64)));
        }
        let text = in_percent(share);
        Some(match share {
            _ if text == "0 %" => text,
            share if share < 0.0 => format!("{}{text}", self.minus()),
            _ => format!("+{text}"),
        })
    }

    /// How a function changed.
    pub fn kind(self, kind: SuspectKind) -> &'static str {
        let time = is_time(self.metric);
        match kind {
            SuspectKind::Slower if time => "slower",
            SuspectKind::Slower => "costs more",
            SuspectKind::MoreCalls => "called more often",
            SuspectKind::New => "new",
            SuspectKind::Waits => "waits longer",
            SuspectKind::Moved => "moved",
            SuspectKind::Faster if time => "faster",
            SuspectKind::Faster => "costs less",
            SuspectKind::FewerCalls => "called less often",
            SuspectKind::Gone => "gone",
        }
    }

    /// How a function changed, as the end of a sentence that begins with its name.
    pub fn state(self, kind: SuspectKind) -> String {
        let words = self.kind(kind);
        match words {
            "costs more" | "costs less" | "waits longer" | "moved" => words.to_owned(),
            _ => format!("is {words}"),
        }
    }

    /// What a code change did to a function, as the end of a sentence that begins with the change.
    pub fn effect(self, kind: SuspectKind, name: &str) -> String {
        let time = is_time(self.metric);
        match kind {
            SuspectKind::Slower if time => format!("made {name} slower"),
            SuspectKind::Slower => format!("made {name} cost more"),
            SuspectKind::MoreCalls => format!("caused more calls of {name}"),
            SuspectKind::New => format!("caused new calls of {name}"),
            SuspectKind::Waits => format!("made {name} wait longer"),
            SuspectKind::Moved => format!("moved cost to {name}"),
            SuspectKind::Faster if time => format!("made {name} faster"),
            SuspectKind::Faster => format!("made {name} cost less"),
            SuspectKind::FewerCalls => format!("caused fewer calls of {name}"),
            SuspectKind::Gone => format!("removed the calls of {name}"),
        }
    }

    /// How a function changed, with the number of calls where that is the point.
    pub fn kind_with_calls(self, suspect: &Suspect) -> String {
        let kind = self.kind(suspect.kind);
        let counts = matches!(suspect.kind, SuspectKind::MoreCalls | SuspectKind::FewerCalls);
        match suspect.calls.filter(|_| counts) {
            Some(Sides { before, after }) => {
                let calls = |number: f64| {
                    if number.fract() == 0.0 || number >= 99.5 {
                        grouped(number.round().max(0.0) as u64)
                    } else {
                        significant(number)
                    }
                };
                format!("{kind}: {} {} {}", calls(before), self.arrow(), calls(after))
            }
            None => kind.to_owned(),
        }
    }

    /// A function's name in a sentence; one that says little alone comes with its place.
    pub fn name(self, function: &FunctionView) -> String {
        let look = Look { width: 0, unicode: self.unicode, colour: false };
        let name = shortened(&function.name, self.name_width, look).into_owned();
        if name == "(anonymous)" || columns(&name) < 3 { self.placed(function) } else { name }
    }

    /// A function's name with its place, as far as there is one: pseudo-frames have none, and none is missed.
    fn placed(self, function: &FunctionView) -> String {
        let look = Look { width: 0, unicode: self.unicode, colour: false };
        let name = shortened(&function.name, self.name_width, look).into_owned();
        let place = place_of(function);
        if place.is_empty() {
            return name;
        }
        let file = place.rsplit(['/', '\\']).next().unwrap_or(&place);
        format!("{name} in {}", shortened(file, self.name_width, look))
    }

    fn size(self, cost: f64) -> String {
        let text = quantity(cost, self.metric);
        if self.unicode { text } else { text.replace(" µs", " us") }
    }

    fn minus(self) -> &'static str {
        if self.unicode { "−" } else { "-" }
    }
}

/// Whether more of it is slower: time, and what is sampled while time passes.
pub fn is_time(metric: &Metric) -> bool {
    metric.unit == Unit::Nanoseconds
        || matches!(metric.name.as_str(), "samples" | "cycles" | "ticks")
}

/// `p = 0.008`.
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p if p < 0.1 => format!("p = {p:.3}"),
        p => format!("p = {p:.2}"),
    }
}

/// A piece of the first line: renderings differ in how they write names.
#[derive(Clone, PartialEq, Debug)]
pub enum HeadlinePart {
    Words(String),
    Name(String),
}

/// The answer in one line.
pub fn headline(diff: &Diff, words: Words<'_>) -> String {
    let parts = headline_parts(diff, words).into_iter();
    parts.map(|(HeadlinePart::Words(text) | HeadlinePart::Name(text))| text).collect()
}

/// The answer in one line, names apart.
pub fn headline_parts(diff: &Diff, words: Words<'_>) -> Vec<HeadlinePart> {
    let (before, after) = (diff.before.total.median, diff.after.total.median);
    let costs = words.costs(before, after);
    let change = match words.relative(before, after) {
        Some(relative) => format!("{costs} ({relative})"),
        None => costs.clone(),
    };
    let mut line = GrowingLine(Vec::new());
    match (diff.verdict, waits_first(diff)) {
        (Verdict::Regressed, Some(first)) => {
            line.name(words.name(&first.function));
            if let Some(caller) = caller_of(first) {
                line.words(", called from ");
                line.name(words.name(caller));
                line.words(",");
            }
            let waits = words.costs(first.before, first.after);
            line.words(&format!(" {}: {waits}; busy time {change}", words.kind(first.kind)));
            let more = diff.suspects.len() - 1;
            if more > 0 {
                let more = counted(more as u64, "more suspect", "more suspects");
                line.words(&format!("; {more}"));
            }
        }
        (Verdict::Regressed | Verdict::Improved, _) => {
            line.words(&format!("{change}: "));
            explain(diff, words, &mut line);
        }
        (Verdict::Unchanged, _) => {
            line.words(&format!("no difference: {costs}{}", noise(diff, words)));
        }
        (Verdict::Inconclusive, _) => {
            line.words(&format!("cannot tell: {change}{}", doubt(diff, words)));
            if let Some(first) = diff.suspects.first() {
                line.words("; best guess: ");
                line.name(words.name(&first.function));
            }
            if lead(diff).is_some() {
                line.words("; ");
                explain_by_stage(diff, words, &mut line);
            }
        }
    }
    line.0
}

/// The first suspect, when it is one that waits in a comparison of busy time.
fn waits_first(diff: &Diff) -> Option<&Suspect> {
    let apart = diff.method == Method::Suspects && !is_waiting(&diff.metric);
    diff.suspects.first().filter(|first| apart && first.kind == SuspectKind::Waits)
}

/// The last function above a suspect on its path.
fn caller_of(suspect: &Suspect) -> Option<&FunctionView> {
    suspect.path.get(suspect.path.len().checked_sub(2)?)
}

/// A line that grows.
struct GrowingLine(Vec<HeadlinePart>);

impl GrowingLine {
    fn words(&mut self, words: &str) {
        match self.0.last_mut() {
            Some(HeadlinePart::Words(text)) => text.push_str(words),
            _ => self.0.push(HeadlinePart::Words(words.to_owned())),
        }
    }

    fn name(&mut self, name: String) {
        self.0.push(HeadlinePart::Name(name));
    }
}

/// Why a difference does not count.
fn noise(diff: &Diff, words: Words<'_>) -> String {
    let change = diff.change;
    let spread = (change.high - change.low) / 2.0;
    let plus_minus = if words.unicode { "±" } else { "+/-" };
    if spread > 0.0 && change.low <= 0.0 && change.high >= 0.0 {
        format!(", within the noise of {plus_minus}{}", words.cost(spread))
    } else if diff.threshold > 0.0 && change.median.abs() < diff.threshold {
        format!(", below the threshold of {}", words.cost(diff.threshold))
    } else {
        String::new()
    }
}

/// Why nothing can be said, and what would help.
fn doubt(diff: &Diff, words: Words<'_>) -> String {
    let runs = [diff.before.totals.len(), diff.after.totals.len()];
    let mut text = if runs == [1, 1] {
        " with one run on each side; this may be noise".to_owned()
    } else if diff.change.high > diff.change.low {
        format!(", anything from {} is possible", words.between(diff.change.low, diff.change.high))
    } else {
        String::new()
    };
    if let Some(needed) = diff.runs_needed {
        let runs = counted(u64::from(needed), "run", "runs");
        let _ = write!(text, "; {runs} on each side would be enough");
    }
    text
}

/// What explains a difference.
fn explain(diff: &Diff, words: Words<'_>, line: &mut GrowingLine) {
    let found = if diff.verdict == Verdict::Improved { &diff.improvements } else { &diff.suspects };
    let (Method::Suspects, Some((first, others))) = (diff.method, found.split_first()) else {
        return explain_otherwise(diff, words, line);
    };
    let runtime = most_of_it(diff).filter(|(_, share)| *share > first.share);
    if let Some((row, share)) = runtime {
        line.words(&format!("{} of it is the runtime's ", in_percent(share.min(1.0))));
        line.name(clean(&row.function.name).into_owned());
        line.words(&format!("; {} is ", in_percent(first.share)));
    } else {
        line.words(&format!("{} of it is ", in_percent(first.share)));
    }
    let caller = caller_of(first);
    // Two functions of one name are told apart by their places.
    let alike =
        |caller: &&FunctionView| caller.name == first.function.name && **caller != first.function;
    let name = |function| {
        if caller.as_ref().is_some_and(alike) {
            words.placed(function)
        } else {
            words.name(function)
        }
    };
    line.name(name(&first.function));
    if let Some(caller) = caller {
        line.words(", called from ");
        line.name(name(caller));
    }
    line.words(&format!(" ({})", words.kind_with_calls(first)));
    if first.contexts.len() > 1 {
        line.words(&format!(", {}", counted(first.contexts.len() as u64, "path", "paths")));
    }
    let Some((second, rest)) = others.split_first() else { return };
    line.words(&format!("; {} is ", in_percent(second.share)));
    line.name(words.name(&second.function));
    line.words(&format!(" ({})", words.kind(second.kind)));
    if !rest.is_empty() {
        let share: f64 = rest.iter().map(|suspect| suspect.share).sum();
        let others = counted(rest.len() as u64, "more function", "more functions");
        line.words(&format!("; {} in {others}", in_percent(share)));
    }
}

/// The largest part of the change by stages, and the change of the code behind it.
fn explain_by_stage(diff: &Diff, words: Words<'_>, line: &mut GrowingLine) {
    let (Some((lead, delta)), Some(stages)) = (lead(diff), &diff.stages) else { return };
    let share = delta / stage_words::whole_change(stages);
    line.words(&match share {
        share if (0.0..=1.0).contains(&share) => format!("{} of it is ", in_percent(share)),
        _ => format!("{} in ", words.change(delta)),
    });
    let Some(function) = lead.function() else { return };
    line.name(words.name(function));
    let (between, last) = lead.words(stages);
    let candidate = lead.candidate();
    if let Some(candidate) = candidate {
        line.words(between);
        line.name(words.name(&candidate.function));
    }
    line.words(last);
    let changes = candidate.map(|candidate| &candidate.changes);
    let own = match &lead {
        stage_words::Lead::Subtree(row) => row.changes.first(),
        stage_words::Lead::Weight(row) => {
            row.candidates.first().and_then(|row| row.changes.first())
        }
    };
    let change = changes.and_then(|changes| changes.first()).or(own);
    let place = change.map(stage_words::place).unwrap_or_default();
    if !place.is_empty() {
        line.words(" (");
        line.name(clean(&place).into_owned());
        line.words(")");
    }
}

/// What the other methods say, or the runtime.
fn explain_otherwise(diff: &Diff, words: Words<'_>, line: &mut GrowingLine) {
    let delta = |node: &CriticalNode| node.after - node.before.unwrap_or(0.0);
    let causes = diff.graph.iter().flat_map(|graph| &graph.nodes).filter(|node| node.cause);
    let largest = causes.clone().max_by(|a, b| delta(a).total_cmp(&delta(b)).then(b.id.cmp(&a.id)));
    if let Some(largest) = largest.filter(|_| diff.method == Method::CriticalGraph) {
        let number = causes.count();
        line.words(&match number {
            1 => "the cause is ".to_owned(),
            number => format!("{number} causes, the largest "),
        });
        let caller = diff.graph.iter().find_map(|graph| graph.nodes.get(largest.parent?));
        let alike = caller.is_some_and(|caller| caller.function.name == largest.function.name);
        let function = &largest.function;
        line.name(if alike { words.placed(function) } else { words.name(function) });
        return line.words(&format!(" ({})", words.change(delta(largest))));
    }
    let path = diff.paths.first().filter(|_| diff.method == Method::Paths);
    if let Some((path, leaf)) = path.and_then(|path| Some((path, path.functions.last()?))) {
        line.words("mostly on the path to ");
        line.name(words.name(&leaf.function));
        let new = if path.new { ", new" } else { "" };
        return line.words(&format!(" ({}{new})", words.change(path.cost)));
    }
    if lead(diff).is_some() {
        return explain_by_stage(diff, words, line);
    }
    match most_of_it(diff) {
        Some((row, share)) => {
            line.words(&format!("{} of it is the runtime's ", in_percent(share.min(1.0))));
            line.name(clean(&row.function.name).into_owned());
            line.words(", no function stands out");
        }
        None => line.words("no function explains it"),
    }
}

/// What the runtime did, and its share, where that is at least half of the change.
fn most_of_it(diff: &Diff) -> Option<(&RuntimeCost, f64)> {
    let change = diff.after.total.median - diff.before.total.median;
    let share = |row: &RuntimeCost| (row.after - row.before) / change;
    let rows = diff.runtime.iter().map(|row| (row, share(row)));
    let largest = rows.max_by(|a, b| a.1.total_cmp(&b.1));
    largest.filter(|(_, share)| change != 0.0 && *share >= 0.5)
}

/// As much of a commit's id as people use.
pub fn short_commit(id: &str) -> &str {
    id.get(..10).filter(|_| id.len() >= 40).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_makes_a_sentence() {
        let said = |unit: Unit, name: &str| {
            let metric = Metric::exact(name, unit);
            let words = Words { metric: &metric, unicode: true, name_width: 60 };
            let kinds = [
                SuspectKind::Slower,
                SuspectKind::MoreCalls,
                SuspectKind::New,
                SuspectKind::Waits,
                SuspectKind::Faster,
                SuspectKind::FewerCalls,
                SuspectKind::Gone,
            ];
            let sentence =
                |kind| format!("f {}; a {}\n", words.state(kind), words.effect(kind, "f"));
            kinds.map(sentence).concat()
        };
        let time = expect_test::expect![[r"
            f is slower; a made f slower
            f is called more often; a caused more calls of f
            f is new; a caused new calls of f
            f waits longer; a made f wait longer
            f is faster; a made f faster
            f is called less often; a caused fewer calls of f
            f is gone; a removed the calls of f
        "]];
        time.assert_eq(&said(Unit::Nanoseconds, "wall"));
        let memory = said(Unit::Bytes, "allocated");
        assert!(memory.starts_with("f costs more; a made f cost more\n"), "{memory}");
        assert!(memory.contains("f costs less; a made f cost less\n"), "{memory}");
    }
}
