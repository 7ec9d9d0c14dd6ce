//! Suspects and improvements: one block each.

use std::fmt::Write as _;
use std::io::{self, Write};

use perfblame_analysis::{CodeChange, FunctionView, Suspect};
use perfblame_cct::Layer;

use super::{MOST_WIDTH, Page};
use crate::call_path::folded_path;
use crate::diff_words::{p_value, short_commit};
use crate::dot_strip::StripScale;
use crate::layout::{clean, columns, padded, right, wrapped};
use crate::numbers::{counted, in_percent};
use crate::show_text::{named, title};

/// Columns of a side's strip.
const STRIP: usize = 8;

/// From here on there is room for a column of strips, and for evidence below the names.
const WIDE: usize = 110;

/// Lines of a path.
const PATH_LINES: usize = 3;

/// Writes a list of suspects; says whether a path was folded.
pub fn write(
    page: &Page<'_>,
    name: &str,
    list: &[Suspect],
    out: &mut dyn Write,
) -> io::Result<bool> {
    if list.is_empty() {
        return Ok(false);
    }
    title(name, page.look, out)?;
    let (shown, hidden) = list.split_at(list.len().min(page.limit));
    let widest = |text: &dyn Fn(&Suspect) -> String, least: usize| {
        shown.iter().map(|row| columns(&text(row))).max().unwrap_or(0).max(least)
    };
    let rank = widest(&|row| row.rank.to_string(), 1);
    let share_of = |row: &Suspect| match row.share {
        // What moved is no part of the change.
        0.0 => String::new(),
        share => in_percent(share),
    };
    let share = widest(&share_of, 5);
    let delta = widest(&|row| page.words.change(row.delta.median), 6);
    let strips = shown.iter().map(|row| columns(&strip(page, row))).max().unwrap_or(0);
    let strips = if page.look.width >= WIDE { strips } else { 0 };
    let beside = |text: &str| match strips {
        0 => String::new(),
        width => format!("{}  ", padded(text, width)),
    };
    let head = format!(
        "{}  {}  {}  {}",
        right("#", rank),
        right("share", share),
        right("change", delta),
        beside(" before   after")
    );
    writeln!(out, "{}", page.look.dim(&format!("{head}function")))?;
    let mut folded = false;
    for row in shown {
        let start = format!(
            "{}  {}  {}  {}",
            right(&row.rank.to_string(), rank),
            right(&share_of(row), share),
            right(&page.words.change(row.delta.median), delta),
            beside(&strip(page, row))
        );
        let room = page.look.width.saturating_sub(columns(&start)).max(8);
        writeln!(out, "{start}{}", named(&row.function, "", true, room, page.look))?;
        // On a narrow terminal the evidence needs the room more than the eye needs the column.
        let indent = if page.look.width < WIDE { rank + 2 } else { columns(&start) };
        folded |= details(page, row, indent, out)?;
    }
    if !hidden.is_empty() {
        let share: f64 = hidden.iter().map(|row| row.share).sum();
        let word = match name {
            "Improvements" => "improvement",
            "Suspects" | "Best guesses" => "suspect",
            _ => "function",
        };
        let more = counted(hidden.len() as u64, &format!("more {word}"), &format!("more {word}s"));
        let together = match share {
            0.0 => String::new(),
            share => format!(", {} together", in_percent(share)),
        };
        let text = format!("{more}{together}: --limit 0 shows all");
        page.note(&text, out)?;
    }
    Ok(folded)
}

/// What is known of a suspect, below its name.
fn details(page: &Page<'_>, row: &Suspect, indent: usize, out: &mut dyn Write) -> io::Result<bool> {
    let Page { words, look, .. } = page;
    let room = look.width.min(MOST_WIDTH).saturating_sub(indent).max(20);
    let mut write = |text: &str| writeln!(out, "{:indent$}{text}", "");

    let mut facts = vec![words.kind_with_calls(row)];
    if row.contexts.len() > 1 {
        facts.push(format!("in {}", counted(row.contexts.len() as u64, "context", "contexts")));
    }
    let mut costs = words.costs(row.before, row.after);
    if row.delta.high > row.delta.low {
        let _ = write!(costs, " ({})", words.between(row.delta.low, row.delta.high));
    }
    facts.push(costs);
    facts.extend(row.p_value.map(p_value));
    let mut lines = pieces(&facts, ", ", room);
    if look.width < WIDE {
        let strip = strip(page, row);
        match lines.last_mut() {
            Some(last) if columns(last) + 2 + columns(&strip) <= room => {
                last.push_str("  ");
                last.push_str(&strip);
            }
            _ => lines.push(strip),
        }
    }
    for line in lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()) {
        write(line)?;
    }
    let path = folded_path(&row.path, room, PATH_LINES, *look);
    for line in path.lines {
        write(&look.dim(&line))?;
    }
    if let Some(whose) = whose(&row.function) {
        for line in wrapped(&whose, room) {
            write(&line)?;
        }
    }
    if let Some(was) = &row.was {
        for line in wrapped(&format!("was {} before", words.name(was)), room) {
            write(&line)?;
        }
    }
    for note in &row.notes {
        for line in wrapped(&clean(note), room) {
            write(&line)?;
        }
    }
    for change in &row.changes {
        for line in wrapped(&code_change(change), room) {
            write(&line)?;
        }
    }
    Ok(path.folded)
}

/// Whom to tell: `in libfoo.so.1, a plug-in, package libfoo1 1.2-3`.
fn whose(function: &FunctionView) -> Option<String> {
    let plugin = function.layer == Layer::Plugin;
    if !plugin && function.package.is_none() {
        return None;
    }
    let component = function.component.as_deref().unwrap_or_default();
    let mut text = format!("in {}", clean(component.rsplit('/').next().unwrap_or(component)));
    if plugin {
        text.push_str(", a plug-in");
    }
    if let Some(package) = &function.package {
        let _ = write!(text, ", package {}", clean(package));
    }
    Some(text)
}

/// The runs of both sides beside each other, on one scale.
fn strip(page: &Page<'_>, row: &Suspect) -> String {
    if row.runs.iter().map(Vec::len).sum::<usize>() < 3 {
        return String::new();
    }
    let all = row.runs.iter().flatten();
    let scale = StripScale::spanning(all, STRIP, page.look.unicode);
    let bar = if page.look.unicode { "│" } else { "|" };
    let (before, after) = (scale.draw(&row.runs.before), scale.draw(&row.runs.after));
    format!("{bar}{before}{bar}{after}{bar}")
}

/// Facts in lines, broken only between them.
fn pieces(facts: &[String], separator: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        if let Some(line) = lines.last_mut() {
            line.push_str(separator.trim_end());
            if columns(line) + 1 + columns(fact) <= room {
                line.push(' ');
                line.push_str(fact);
                continue;
            }
        }
        lines.extend(wrapped(fact, room));
    }
    lines
}

/// `code: modified utf, src/layer.js:120-141, commit abc123 (Cache tokens): the function itself`.
fn code_change(change: &CodeChange) -> String {
    let mut text = format!("code: {} {}", change.kind, clean(&change.function));
    if !change.file.is_empty() {
        let _ = write!(text, ", {}", clean(&change.file));
        if let Some((first, last)) = change.lines {
            let _ = if first == last {
                write!(text, ":{first}")
            } else {
                write!(text, ":{first}-{last}")
            };
        }
    }
    if let Some(commit) = &change.commit {
        let _ = write!(text, ", commit {}", short_commit(&clean(commit)));
    }
    if let Some(title) = &change.title {
        let _ = write!(text, " ({})", clean(title));
    }
    if let Some(why) = &change.why {
        let _ = write!(text, ": {}", clean(why));
    }
    text
}
