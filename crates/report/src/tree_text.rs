//! A tree of contexts as text.
//!
//! Stacks are deep and terminals narrow, so a line is indented only where the path forks: a chain of calls without a
//! choice stays in one column, and its folded middle is one line.

use std::io::{self, Write};

use perfblame_analysis::{MetricTotal, TreeRow, TreeView};
use perfblame_cct::CallSite;

use crate::guides::{Guide, drawn, guides};
use crate::layout::{Look, columns, right, shortened};
use crate::numbers;
use crate::show_text::named;

/// Columns of the bar on a wide terminal.
const BAR: usize = 12;

enum TreeLine<'a> {
    Row(&'a TreeRow),
    Folded(usize),
}

/// Writes a tree; `whole` is what shares are of.
pub fn write(
    view: &TreeView,
    metric: &MetricTotal,
    whole: i64,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    let cost = |cost: i64| if cost == 0 { String::new() } else { numbers::value(cost, metric) };
    let widest = |column: fn(&TreeRow) -> i64, least: usize| {
        view.rows.iter().map(|row| columns(&cost(column(row)))).max().unwrap_or(0).max(least)
    };
    let (total_width, own_width) = (widest(|row| row.inclusive, 5), widest(|row| row.self_cost, 4));
    let bars = look.width >= 110;
    let head = format!(" share  {}  {}  ", right("total", total_width), right("self", own_width));
    let head = if bars { format!("{head}{:BAR$}  ", "") } else { head };
    writeln!(out, "{}", look.dim(&format!("{head}call path")))?;
    let room = look.width.saturating_sub(columns(&head)).max(20);
    let prefix = |share: f64, total: i64, own: i64| {
        let mut text = format!(
            "{}  {}  {}  ",
            right(&numbers::percent(share), 6),
            right(&cost(total), total_width),
            right(&cost(own), own_width)
        );
        if bars {
            text.push_str(&look.bar(share, BAR));
            text.push_str("  ");
        }
        text
    };

    for (line, guides) in lines(view) {
        let guides = drawn(&guides, room / 2, look);
        match line {
            TreeLine::Folded(calls) => {
                let dots = if look.unicode { "⋮" } else { ":" };
                let text =
                    format!("{guides}{dots} {}", numbers::counted(calls as u64, "call", "calls"));
                writeln!(out, "{:width$}{}", "", look.dim(&text), width = columns(&head))?;
            }
            TreeLine::Row(row) => {
                let room = room.saturating_sub(columns(&guides));
                let mut site = row.call_site.map(site).unwrap_or_default();
                if row.recursive {
                    site.push_str(if look.unicode { "↻ recursive" } else { "recursive" });
                }
                let name = named(&row.function, &site, row.hot, room, look);
                let text = prefix(row.share, row.inclusive, row.self_cost);
                writeln!(out, "{text}{}{name}", look.dim(&guides))?;
            }
        }
    }
    if view.hidden > 0 {
        let text = format!(
            "{} below {} of the total each {} left out",
            numbers::counted(view.hidden as u64, "call path", "call paths"),
            numbers::percent(smallest(view, whole)),
            if view.hidden == 1 { "is" } else { "are" },
        );
        let indent = columns(&head).min(look.width.saturating_sub(columns(&text)));
        let text = shortened(&text, look.width, look);
        writeln!(out, "{:indent$}{}", "", look.dim(&text))?;
    }
    Ok(())
}

/// The least share that is shown.
fn smallest(view: &TreeView, whole: i64) -> f64 {
    let least = view.rows.iter().map(|row| row.inclusive.abs()).min().unwrap_or(whole.abs());
    if whole == 0 { 0.0 } else { least as f64 / whole.abs() as f64 }
}

fn site(site: CallSite) -> String {
    match site {
        CallSite::Line(line, Some(column)) => format!("from line {line}:{column}"),
        CallSite::Line(line, None) => format!("from line {line}"),
        CallSite::Bytecode(index) => format!("from bytecode {index}"),
        CallSite::Address(address) => format!("from {address:#x}"),
    }
}

/// The lines with their indentation.
fn lines(view: &TreeView) -> Vec<(TreeLine<'_>, Vec<Guide>)> {
    let parents: Vec<Option<usize>> = view.rows.iter().map(|row| row.parent).collect();
    let mut lines: Vec<(TreeLine<'_>, Vec<Guide>)> = Vec::new();
    for (row, own) in view.rows.iter().zip(guides(&parents)) {
        match lines.last_mut() {
            Some((TreeLine::Folded(calls), _)) if row.folded => *calls += 1,
            _ if row.folded => lines.push((TreeLine::Folded(1), own)),
            _ => lines.push((TreeLine::Row(row), own)),
        }
    }
    lines
}
