//! Self costs by function, the largest change first: the plain table below every explanation.

use std::io::{self, Write};

use perfblame_analysis::FunctionChange;

use super::Page;
use crate::diff_words::{runtime_layer, table_guess, table_rest};
use crate::layout::{columns, right};
use crate::show_text::{named, title};

/// Writes the table.
pub fn write(page: &Page<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Page { diff, words, look, limit, .. } = page;
    let table = &diff.functions;
    if table.rows.is_empty() {
        return Ok(());
    }
    title(&words.table_title(), *look, out)?;
    if let Some(guess) = table_guess(diff) {
        page.note(guess, out)?;
    }
    let (shown, hidden) = table.rows.split_at(table.rows.len().min(*limit));
    let cells = |row: &FunctionChange| {
        [words.change(row.delta()), words.cost(row.before), words.cost(row.after)]
    };
    let heads = ["change", "before", "after"];
    let mut widths = heads.map(columns);
    for row in shown {
        for (width, cell) in widths.iter_mut().zip(cells(row)) {
            *width = columns(&cell).max(*width);
        }
    }
    let line = |cells: [String; 3]| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| right(cell, width));
        cells.collect::<Vec<_>>().join("  ")
    };
    let head = line(heads.map(str::to_owned));
    writeln!(out, "{}", look.dim(&format!("  {head}  function")))?;
    for row in shown {
        let text = format!("  {}  ", line(cells(row)));
        let room = look.width.saturating_sub(columns(&text)).max(4);
        let note = runtime_layer(&row.function).unwrap_or_default();
        writeln!(out, "{text}{}", named(&row.function, note, false, room, *look))?;
    }
    match table_rest(table, hidden, *words) {
        Some(rest) => page.note(&rest, out),
        None => Ok(()),
    }
}
