//! What made it slower, for a pull request: the verdict, a short table, and the evidence for those who open it.
//!
//! Names come from programs and may hold anything: pipes, backticks, HTML, `@somebody`. They are written as HTML code
//! with every letter that means something to Markdown as an entity, which reads the same in and outside tables and
//! notifies nobody. Comments have a limit of 65,536 characters; what does not fit is counted and said.

mod stages;

use std::fmt::Write as _;
use std::io::{self, Write};

use perfblame_analysis::{Diff, FunctionView, Method, Suspect, Verdict};
use perfblame_cct::Warning;

use crate::call_path::folded_path;
use crate::diff_text::critical_graph_text;
use crate::diff_words::{
    Words, comes_first, p_value, runtime_layer, short_commit, table_guess, table_rest,
};
use crate::headline::{Headline, HeadlinePart};
use crate::layout::{Look, clean, shortened};
use crate::numbers::{counted, in_percent};
use crate::show_text::place_of;

/// What hosts accept for a comment, in characters; we count bytes, which are never fewer.
pub(crate) const MOST: usize = 65_536;

/// Kept free for what is said about the rest.
const RESERVE: usize = 512;

/// Columns of a name and of a path: long enough to tell, short enough for a table.
const NAME: usize = 80;
const PATH: usize = 400;

/// Writes an answer, at most `limit` rows a list.
pub fn diff_markdown(diff: &Diff, limit: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page {
        diff,
        words: Words { name_width: NAME, ..Words::of(diff, true) },
        text: String::new(),
        left_out: 0,
    };
    page.warnings(comes_first);
    page.verdict();
    match diff.method {
        Method::Suspects => {
            page.table(&diff.suspects, limit);
            page.details(&diff.suspects, limit, "Call paths and runs");
            page.improvements(limit);
            page.folded_table(&diff.moved, limit, "Moved (not a slowdown)");
            page.functions(limit);
        }
        Method::CriticalGraph => page.graph(limit),
        Method::Paths => page.paths(limit),
        Method::Stages => page.stages(limit),
    }
    page.runtime();
    page.about();
    page.warnings(|warning| !comes_first(warning));
    page.rest();
    out.write_all(page.text.as_bytes())
}

struct Page<'a> {
    diff: &'a Diff,
    words: Words<'a>,
    text: String,
    /// Parts that did not fit.
    left_out: usize,
}

impl Page<'_> {
    /// Adds a part when there is room, else counts it.
    fn add(&mut self, part: &str) -> bool {
        let fits = self.text.len() + part.len() <= MOST - RESERVE;
        if fits {
            self.text.push_str(part);
        } else {
            self.left_out += 1;
        }
        fits
    }

    fn verdict(&mut self) {
        let sign = match self.diff.verdict {
            Verdict::Regressed => "🔴",
            Verdict::Improved => "🟢",
            Verdict::Unchanged => "⚪",
            Verdict::Inconclusive => "🟡",
        };
        let Headline { title, parts, .. } = Headline::of(self.diff, self.words);
        let parts = parts.iter().map(|part| match part {
            HeadlinePart::Words(words) => escaped(words),
            HeadlinePart::Name(name) => code(name),
        });
        let line = format!("{sign} **{title}**: {}\n", parts.collect::<String>());
        self.add(&line);
    }

    fn table(&mut self, list: &[Suspect], limit: usize) {
        if list.is_empty() {
            return;
        }
        self.add(
            "\n| # | function | change | share | before → after | how |\n|--:|---|--:|--:|---|---|\n",
        );
        let shown = list.len().min(limit);
        let added = list[..shown].iter().take_while(|row| {
            let row = self.row(row);
            self.add(&row)
        });
        let added = added.count();
        self.more(&list[added..], "suspect", "suspects");
    }

    fn more(&mut self, hidden: &[Suspect], one: &str, many: &str) {
        if hidden.is_empty() {
            return;
        }
        let share: f64 = hidden.iter().map(|row| row.share).sum();
        let text = format!(
            "\n{}, {} together; `perfblame diff --format json` shows all.\n",
            counted(hidden.len() as u64, &format!("more {one}"), &format!("more {many}")),
            in_percent(share)
        );
        self.add(&text);
    }

    fn row(&self, row: &Suspect) -> String {
        let words = self.words;
        let mut how = words.kind_with_calls(row);
        if row.contexts.len() > 1 {
            let _ = write!(how, ", {} contexts", row.contexts.len());
        }
        // The likeliest one; the others are in the details.
        if let Some(commit) = row.changes.first().and_then(|change| change.commit.as_deref()) {
            let _ = write!(how, ", {}", code(short_commit(commit)));
        }
        format!(
            "| {} | {} | {} | {} | {} | {how} |\n",
            row.rank,
            placed(&row.function),
            words.change(row.delta.median),
            // What moved is no part of the change.
            if row.share == 0.0 { String::new() } else { in_percent(row.share) },
            escaped(&words.costs(row.before, row.after)),
        )
    }

    /// A block that is closed until somebody opens it.
    fn folded(&mut self, summary: &str, body: &str) {
        self.add(&format!("\n<details><summary>{summary}</summary>\n\n{body}\n</details>\n"));
    }

    fn details(&mut self, list: &[Suspect], limit: usize, summary: &str) {
        let mut body = String::new();
        for row in &list[..list.len().min(limit)] {
            let part = self.evidence(row);
            if self.text.len() + body.len() + part.len() > MOST - 2 * RESERVE {
                self.left_out += 1;
            } else {
                body.push_str(&part);
            }
        }
        if !body.is_empty() {
            self.folded(summary, &body);
        }
    }

    fn evidence(&self, row: &Suspect) -> String {
        let words = self.words;
        let mut text = format!("{}. {}", row.rank, placed(&row.function));
        if row.delta.high > row.delta.low {
            let _ = write!(text, ": {}", words.between(row.delta.low, row.delta.high));
        }
        if let Some(p) = row.p_value {
            let _ = write!(text, ", {}", escaped(&p_value(p)));
        }
        let _ = write!(text, "\n   - path: {}", path(&row.path));
        let runs = |runs: &[f64]| {
            let costs: Vec<String> = runs.iter().take(20).map(|cost| words.cost(*cost)).collect();
            let more = runs.len().saturating_sub(20);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", costs.join(", "))
        };
        if row.runs.iter().any(|runs| !runs.is_empty()) {
            let (before, after) = (runs(&row.runs.before), runs(&row.runs.after));
            let _ = write!(text, "\n   - runs: {before} → {after}");
        }
        if let Some(was) = &row.was {
            let _ = write!(text, "\n   - was {} before", placed(was));
        }
        for note in &row.notes {
            let _ = write!(text, "\n   - {}", escaped(&clean(note)));
        }
        for change in &row.changes {
            let kind = escaped(&change.kind);
            let _ = write!(text, "\n   - {kind} {}", code(&change.function));
            if !change.file.is_empty() {
                let lines =
                    change.lines.map_or(String::new(), |(from, to)| format!(":{from}-{to}"));
                let _ = write!(text, " in {}", code(&format!("{}{lines}", change.file)));
            }
            if let Some(commit) = &change.commit {
                let _ = write!(text, ", commit {}", code(short_commit(commit)));
            }
            if let Some(title) = &change.title {
                let _ = write!(text, " ({})", escaped(&clean(title)));
            }
            if let Some(why) = &change.why {
                let _ = write!(text, ": {}", escaped(&clean(why)));
            }
        }
        text.push('\n');
        text
    }

    fn graph(&mut self, limit: usize) {
        let look = Look { width: 120, unicode: true, colour: false };
        let graph = critical_graph_text(self.diff, look, limit);
        self.folded("Critical graph", &format!("<pre>\n{}</pre>\n", entities(&graph)));
    }

    fn paths(&mut self, limit: usize) {
        let diff = self.diff;
        let paths = &diff.paths;
        if paths.is_empty() {
            return;
        }
        self.add("\n| # | change | path |\n|--:|--:|---|\n");
        let shown = paths.iter().take(limit).take_while(|ranked| {
            let functions: Vec<FunctionView> =
                ranked.functions.iter().map(|step| step.function.clone()).collect();
            let new = if ranked.new { " (new)" } else { "" };
            let change = self.words.change(ranked.cost);
            self.add(&format!("| {} | {change} | {}{new} |\n", ranked.rank, path(&functions)))
        });
        let shown = shown.count();
        if shown < paths.len() {
            let more = counted((paths.len() - shown) as u64, "more path", "more paths");
            self.add(&format!("\n{more}; `perfblame diff --format json` shows all.\n"));
        }
    }

    fn improvements(&mut self, limit: usize) {
        let diff = self.diff;
        let list = &diff.improvements;
        if list.is_empty() {
            return;
        }
        if self.diff.verdict == Verdict::Improved {
            self.table(list, limit);
            return self.details(list, limit, "Call paths and runs of the improvements");
        }
        self.folded_table(list, limit, "What got faster");
    }

    fn folded_table(&mut self, list: &[Suspect], limit: usize, summary: &str) {
        if list.is_empty() {
            return;
        }
        let rows: String = list.iter().take(limit).map(|row| self.row(row)).collect();
        let mut body = format!(
            "| # | function | change | share | before → after | how |\n|--:|---|--:|--:|---|---|\n{rows}"
        );
        if list.len() > limit {
            let _ = write!(
                body,
                "\n{} more; `perfblame diff --format json` shows all.\n",
                list.len() - limit
            );
        }
        self.folded(summary, &body);
    }

    /// Self costs by function: closed where suspects say it better.
    fn functions(&mut self, limit: usize) {
        let (diff, words) = (self.diff, self.words);
        let table = &diff.functions;
        if table.rows.is_empty() {
            return;
        }
        let (shown, hidden) = table.rows.split_at(table.rows.len().min(limit));
        let mut body = String::new();
        if let Some(guess) = table_guess(diff) {
            let _ = writeln!(body, "{guess}\n");
        }
        body.push_str("| function | change | before → after |\n|---|--:|---|\n");
        for row in shown {
            let layer = runtime_layer(&row.function);
            let layer = layer.map_or(String::new(), |layer| format!(" ({layer})"));
            let (change, costs) =
                (words.change(row.delta()), escaped(&words.costs(row.before, row.after)));
            let _ = writeln!(body, "| {}{layer} | {change} | {costs} |", placed(&row.function));
        }
        if let Some(rest) = table_rest(table, hidden, words) {
            let _ = writeln!(body, "\n{rest}");
        }
        if diff.suspects.is_empty() && diff.improvements.is_empty() {
            self.add(&format!("\n**{}**\n\n{body}", escaped(&words.table_title())));
        } else {
            self.folded(&escaped(&words.table_title()), &body);
        }
    }

    fn runtime(&mut self) {
        if self.diff.runtime.is_empty() {
            return;
        }
        let row = |row: &perfblame_analysis::RuntimeCost| {
            let change = self.words.change(row.after - row.before);
            let costs = self.words.costs(row.before, row.after);
            format!("| {} | {change} | {} |\n", placed(&row.function), escaped(&costs))
        };
        let rows: String = self.diff.runtime.iter().map(row).collect();
        let body = format!("| runtime | change | before → after |\n|---|--:|---|\n{rows}");
        self.folded("Runtime (never blamed)", &body);
    }

    /// What was compared, below the answer.
    fn about(&mut self) {
        let words = self.words;
        let diff = self.diff;
        let mut parts = vec![
            format!("metric {}", code(&diff.metric.name)),
            format!(
                "{} before, {} after",
                counted(diff.before.totals.len() as u64, "run", "runs"),
                diff.after.totals.len()
            ),
        ];
        let mut change = words.change(diff.change.median);
        if diff.change.high > diff.change.low {
            let _ = write!(change, " ({})", words.between(diff.change.low, diff.change.high));
        }
        parts.push(change);
        parts.extend(diff.p_value.map(|p| escaped(&p_value(p))));
        parts.extend(diff.normalised.as_deref().map(escaped));
        if diff.minor.0 > 0 {
            let functions = counted(diff.minor.0 as u64, "function", "functions");
            parts.push(format!("{functions} changed by too little to matter"));
        }
        if diff.threshold > 0.0 {
            parts.push(format!("threshold {}", words.cost(diff.threshold)));
        }
        let text = format!("\n<sub>{}</sub>\n", parts.join(" · "));
        self.add(&text);
    }

    fn warnings(&mut self, chosen: fn(&Warning) -> bool) {
        let diff = self.diff;
        for warning in diff.warnings.iter().filter(|warning| chosen(warning)) {
            let message = escaped(&shortened(
                &warning.message,
                1000,
                Look { width: 0, unicode: true, colour: false },
            ));
            let times = if warning.count > 1 {
                format!(" ({} times)", warning.count)
            } else {
                String::new()
            };
            let (above, below) = if comes_first(warning) { ("", "\n") } else { ("\n", "") };
            self.add(&format!("{above}> ⚠️ {message}{times}\n{below}"));
        }
    }

    fn rest(&mut self) {
        if self.left_out > 0 {
            let parts = counted(self.left_out as u64, "part", "parts");
            let _ = write!(
                self.text,
                "\n{parts} left out to stay below {MOST} characters; `perfblame diff --format json` shows all.\n"
            );
        }
    }
}

/// A function as code, and where it is.
fn placed(function: &FunctionView) -> String {
    let look = Look { width: 0, unicode: true, colour: false };
    let name = code(&shortened(&function.name, NAME, look));
    let place = place_of(function);
    if place.is_empty() || place == function.name {
        return name;
    }
    let file = place.rsplit(['/', '\\']).next().unwrap_or(&place);
    format!("{name} {}", escaped(&shortened(file, NAME, look)))
}

fn path(path: &[FunctionView]) -> String {
    let look = Look { width: PATH, unicode: true, colour: false };
    code(&folded_path(path, PATH, 1, look).lines.join(" "))
}

/// A text as code.
pub(crate) fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

/// A text that Markdown takes as it is.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = clean(text);
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '&' | '<' | '>' | '"' | '\'' | '|' | '`' | '*' | '_' | '\\' | '[' | ']' | '#' | '@'
            | '~' | '$' | '{' | '}' | '!' => {
                let _ = write!(out, "&#{};", c as u32);
            }
            // Addresses would become links.
            ':' if letters.peek() == Some(&'/') => out.push_str("&#58;"),
            c => out.push(c),
        }
    }
    out
}

/// A text inside an HTML element, line breaks kept.
pub(crate) fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
