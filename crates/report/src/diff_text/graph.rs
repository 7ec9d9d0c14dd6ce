//! The critical graph as an indented tree, causes marked.

use std::io::{self, Write};

use perfblame_analysis::CriticalNode;

use super::Page;
use crate::guides::{drawn, guides};
use crate::layout::{columns, right};
use crate::numbers::counted;
use crate::show_text::{named, title};

/// Rows when no limit is given; each suspect of the other methods takes a few lines, too.
const ROWS_FOR_EACH: usize = 20;

/// Writes the graph below its title.
pub fn write(page: &Page<'_>, out: &mut dyn Write) -> io::Result<()> {
    title("Critical graph", page.look, out)?;
    write_rows(page, out)
}

/// Writes the graph.
pub fn write_rows(page: &Page<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(graph) = &page.diff.graph else { return Ok(()) };
    if graph.nodes.is_empty() {
        return writeln!(
            out,
            "No call got slower by {} or more.",
            page.words.cost(graph.threshold)
        );
    }
    let shown = graph.nodes.len().min(page.limit.saturating_mul(ROWS_FOR_EACH));
    let rows = &graph.nodes[..shown];
    let words = page.words;
    let before = |row: &CriticalNode| match row.before {
        Some(before) => words.cost(before),
        None => "new".to_owned(),
    };
    let delta = |row: &CriticalNode| words.change(row.after - row.before.unwrap_or(0.0));
    let widest = |text: &dyn Fn(&CriticalNode) -> String| {
        rows.iter().map(|row| columns(&text(row))).max().unwrap_or(0).max(6)
    };
    let widths = [widest(&delta), widest(&before), widest(&|row| words.cost(row.after))];
    // The change is what a narrow terminal has room for.
    let narrow = page.look.width < 60;
    let cells = |[delta, before, after]: [&str; 3]| {
        let delta = right(delta, widths[0]);
        if narrow {
            return format!("{delta}  ");
        }
        format!("{delta}  {}  {}  ", right(before, widths[1]), right(after, widths[2]))
    };
    let head = cells(["change", "before", "after"]);
    let (mark, gap) = if page.look.unicode { ("● ", "  ") } else { ("* ", "  ") };
    writeln!(out, "{}", page.look.dim(&format!("{head}{gap}call ({} cause)", mark.trim_end())))?;
    let room = page.look.width.saturating_sub(columns(&head) + 2).max(20);
    // Rows come parents first, so a cut-off list is still a tree.
    let parents: Vec<Option<usize>> = rows.iter().map(|row| row.parent).collect();
    for (row, guides) in rows.iter().zip(guides(&parents)) {
        let guides = drawn(&guides, room / 2, page.look);
        let room = room.saturating_sub(columns(&guides));
        let text = cells([&delta(row), &before(row), &words.cost(row.after)]);
        let mark = if row.cause { page.look.bold(mark) } else { gap.to_owned() };
        let name = named(&row.function, "", row.cause, room, page.look);
        writeln!(out, "{text}{mark}{}{name}", page.look.dim(&guides))?;
    }
    if shown < graph.nodes.len() {
        let more = counted((graph.nodes.len() - shown) as u64, "more call", "more calls");
        page.note(&format!("{more}: --limit 0 shows all"), out)?;
    }
    if graph.pruned > 0 {
        let calls = counted(graph.pruned as u64, "call", "calls");
        let text = format!("{calls} with no name or a one-letter name merged into their callers");
        page.note(&text, out)?;
    }
    Ok(())
}
