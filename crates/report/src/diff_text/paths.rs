//! Call paths ranked by their difference.

use std::io::{self, Write};

use perfblame_analysis::{FunctionView, RankedPath};

use super::{MOST_WIDTH, Page};
use crate::call_path::folded_path;
use crate::heat_map::heat_map;
use crate::layout::{columns, right, wrapped};
use crate::numbers::counted;
use crate::show_text::title;

/// Lines of a path.
const PATH_LINES: usize = 2;

/// Functions named below a path, the slowest first.
const SLOWEST: usize = 3;

/// Writes the list; says whether a path was folded.
pub fn write(page: &Page<'_>, out: &mut dyn Write) -> io::Result<bool> {
    title("Paths by difference", page.look, out)?;
    if page.diff.paths.is_empty() {
        writeln!(out, "No call path got slower.")?;
        return Ok(false);
    }
    let paths = &page.diff.paths;
    let (shown, hidden) = paths.split_at(paths.len().min(page.limit));
    let cost = |path: &RankedPath| page.words.change(path.cost);
    let rank = shown.iter().map(|path| path.rank.to_string().len()).max().unwrap_or(1);
    let width = shown.iter().map(|path| columns(&cost(path))).max().unwrap_or(0).max(6);
    let head = format!("{}  {}  path", right("#", rank), right("change", width));
    writeln!(out, "{}", page.look.dim(&head))?;
    let indent = columns(&head) - columns("path");
    let room = page.look.width.min(MOST_WIDTH).saturating_sub(indent).max(20);
    let mut folded = false;
    for path in shown {
        let start =
            format!("{}  {}  ", right(&path.rank.to_string(), rank), right(&cost(path), width));
        let functions: Vec<FunctionView> =
            path.functions.iter().map(|step| step.function.clone()).collect();
        let lines = folded_path(&functions, room, PATH_LINES, page.look);
        folded |= lines.folded;
        for (row, line) in lines.lines.iter().enumerate() {
            let start = if row == 0 { start.clone() } else { " ".repeat(indent) };
            writeln!(out, "{start}{line}")?;
        }
        for line in wrapped(&slowest(page, path), room) {
            writeln!(out, "{:indent$}{}", "", page.look.dim(&line))?;
        }
    }
    title("Heat map of these paths", page.look, out)?;
    heat_map(shown, page.look, out)?;
    if !hidden.is_empty() {
        let more = counted(hidden.len() as u64, "more path", "more paths");
        let text = format!("{more}: --limit 0 shows all");
        page.note(&text, out)?;
    }
    Ok(folded)
}

/// The functions of a path that take the longest.
fn slowest(page: &Page<'_>, path: &RankedPath) -> String {
    let mut steps: Vec<_> = path.functions.iter().collect();
    steps.sort_by_key(|step| step.rank);
    let named = steps.iter().take(SLOWEST).map(|step| {
        let (name, delta) = (page.words.name(&step.function), page.words.change(step.delta));
        format!("{name} {} ({delta})", page.words.cost(step.latency))
    });
    let new = if path.new { "new; " } else { "" };
    let named: Vec<String> = named.collect();
    format!("{new}slowest: {}", named.join(", "))
}
