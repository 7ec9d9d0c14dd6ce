//! Both trees taken apart: what each part adds up to, then the costliest subtrees of each, then what weighs other.

use std::io::{self, Write};

use perfblame_analysis::{FunctionView, StagePart, StagedSubtree, Stages, WeightChange};

use super::{MOST_WIDTH, Page};
use crate::call_path::folded_path;
use crate::layout::{clean, columns, padded, right, wrapped};
use crate::numbers::{counted, grouped};
use crate::show_text::title;
use crate::stage_words::{
    PARTS, by_candidates, calls_of, parts, score_sentence, signed_cost, why, why_weight,
};

/// Lines of a path.
const PATH_LINES: usize = 2;

/// Writes the parts; says whether a path was folded.
pub fn write(page: &Page<'_>, out: &mut dyn Write) -> io::Result<bool> {
    let Some(stages) = &page.diff.stages else { return Ok(false) };
    totals(page, stages, out)?;
    let mut folded = false;
    for ((name, _, about), part) in PARTS.iter().zip(parts(stages)) {
        let name = if narrow(page) { (*name).to_owned() } else { format!("{name}: {about}") };
        folded |= subtrees(page, &name, part, out)?;
    }
    folded |= weights(page, stages, out)?;
    writeln!(out)?;
    for line in wrapped(&score_sentence(stages), page.look.width.min(MOST_WIDTH)) {
        writeln!(out, "{line}")?;
    }
    Ok(folded)
}

/// What each part of the trees adds up to.
fn totals(page: &Page<'_>, stages: &Stages, out: &mut dyn Write) -> io::Result<()> {
    title("Where the change is", page.look, out)?;
    let words = page.words;
    let named = PARTS.iter().map(|(name, _, _)| *name).zip(parts(stages).map(|part| &part.total));
    let rows: Vec<[String; 6]> = named
        .chain([("Common tree", &stages.common)])
        .map(|(name, total)| {
            let subtrees =
                if name == "Common tree" { String::new() } else { grouped(total.subtrees as u64) };
            let costs = [total.before, total.after].map(|cost| words.cost(cost));
            let [before, after] = costs;
            let change = words.change(total.delta());
            [name.to_owned(), change, before, after, subtrees, grouped(total.nodes as u64)]
        })
        .collect();
    let head = ["part", "change", "before", "after", "subtrees", "nodes"].map(str::to_owned);
    let width = |column: usize| {
        std::iter::once(&head).chain(&rows).map(|row| columns(&row[column])).max().unwrap_or(0)
    };
    // The change is what a narrow terminal has room for.
    let kept = if narrow(page) { 2 } else { 6 };
    let line = |row: &[String; 6]| {
        let cells = row.iter().take(kept).enumerate().map(|(column, cell)| match column {
            0 => padded(cell, width(0)),
            _ => right(cell, width(column)),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    writeln!(out, "{}", page.look.dim(&line(&head)))?;
    for row in &rows {
        writeln!(out, "{}", line(row))?;
    }
    Ok(())
}

fn narrow(page: &Page<'_>) -> bool {
    page.look.width < 70
}

/// So many rows of each list, as there are several; what is below this part of the whole only when all are wanted.
const WORTH: f64 = 0.005;

fn shown(page: &Page<'_>, costs: impl Iterator<Item = f64>) -> usize {
    if page.limit == usize::MAX {
        return costs.count();
    }
    let whole = page.diff.before.total.median.max(page.diff.after.total.median);
    let most = costs.take(page.limit.div_ceil(2));
    most.take_while(|cost| cost.abs() >= whole * WORTH).count()
}

fn subtrees(
    page: &Page<'_>,
    name: &str,
    part: &StagePart,
    out: &mut dyn Write,
) -> io::Result<bool> {
    if part.subtrees.is_empty() {
        return Ok(false);
    }
    title(name, page.look, out)?;
    let list = &part.subtrees[..shown(page, part.subtrees.iter().map(|row| row.cost))];
    let cost = |row: &StagedSubtree| page.words.change(signed_cost(row));
    let nodes = |row: &StagedSubtree| grouped(row.nodes as u64);
    let start = |row: &StagedSubtree| vec![row.rank.to_string(), cost(row), nodes(row)];
    let rows = list.iter().map(|row| {
        let mut lines = vec![why(row)];
        lines.extend(by_candidates(&row.candidates, page.words));
        (start(row), &*row.path, lines)
    });
    let folded = match list {
        [] => false,
        _ => rows_of(page, &["#", "change", "nodes"], &rows.collect::<Vec<_>>(), out)?,
    };
    let hidden = part.total.subtrees - list.len();
    if hidden > 0 {
        let listed: f64 = list.iter().map(signed_cost).sum();
        let more = match list {
            [] => counted(hidden as u64, "small subtree", "small subtrees"),
            _ => counted(hidden as u64, "more subtree", "more subtrees"),
        };
        let rest = page.words.change(part.total.delta() - listed);
        page.note(&format!("{more}, {rest} together: --limit 0 shows all"), out)?;
    }
    Ok(folded)
}

fn weights(page: &Page<'_>, stages: &Stages, out: &mut dyn Write) -> io::Result<bool> {
    let list =
        &stages.weights[..shown(page, stages.weights.iter().map(|row| row.after - row.before))];
    if list.is_empty() {
        return Ok(false);
    }
    let name = "Common tree: the same calls at another cost";
    title(if narrow(page) { "Common tree" } else { name }, page.look, out)?;
    let start = |row: &WeightChange| {
        let change = page.words.change(row.after - row.before);
        vec![row.rank.to_string(), change, page.words.cost(row.before), page.words.cost(row.after)]
    };
    let rows = list.iter().map(|row| {
        let mut lines = vec![why_weight(row, stages, page.words)];
        lines.extend(calls_of(row, page.words));
        lines.extend(by_candidates(&row.candidates, page.words));
        lines.retain(|line| !line.is_empty());
        (start(row), &*row.path, lines)
    });
    let folded =
        rows_of(page, &["#", "change", "before", "after"], &rows.collect::<Vec<_>>(), out)?;
    let hidden = stages.weights.len() - list.len();
    if hidden > 0 {
        let more = counted(hidden as u64, "more context", "more contexts");
        page.note(&format!("{more}: --limit 0 shows all"), out)?;
    }
    Ok(folded)
}

type StageRow<'a> = (Vec<String>, &'a [FunctionView], Vec<String>);

/// A table whose last column is a path with what is to say below it.
fn rows_of(
    page: &Page<'_>,
    head: &[&str],
    rows: &[StageRow<'_>],
    out: &mut dyn Write,
) -> io::Result<bool> {
    let width = |column: usize| {
        let cells = rows.iter().map(|(cells, _, _)| columns(&cells[column]));
        cells.max().unwrap_or(0).max(columns(head[column]))
    };
    let kept = if narrow(page) { 2 } else { head.len() };
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.take(kept).enumerate().map(|(column, cell)| right(cell, width(column)));
        cells.collect::<Vec<_>>().join("  ") + "  "
    };
    let start = line(&mut head.iter().copied());
    writeln!(out, "{}", page.look.dim(&format!("{start}path")))?;
    let indent = columns(&start);
    let room = page.look.width.min(MOST_WIDTH).saturating_sub(indent).max(20);
    let mut folded = false;
    for (cells, path, notes) in rows {
        let start = line(&mut cells.iter().map(String::as_str));
        let lines = folded_path(path, room, PATH_LINES, page.look);
        folded |= lines.folded;
        for (row, line) in lines.lines.iter().enumerate() {
            let start = if row == 0 { start.clone() } else { " ".repeat(indent) };
            writeln!(out, "{start}{line}")?;
        }
        for line in notes.iter().flat_map(|note| wrapped(&clean(note), room)) {
            writeln!(out, "{:indent$}{}", "", page.look.dim(&line))?;
        }
    }
    Ok(folded)
}
