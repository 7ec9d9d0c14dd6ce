//! The tables: functions, callers and callees, tasks, threads.

use std::io::{self, Write};

use perfblame_analysis::{
    FunctionCost, FunctionView, MetricTotal, Neighbours, RoleCost, Summary, TaskCost, ThreadCost,
};

use super::{named, place_of, short_place, title};
use crate::layout::{Look, clean, columns, padded, right, shortened};
use crate::numbers::{grouped, percent, value};
use crate::tree_text;

/// Function and place in two columns of a wide table, in one of a narrow one.
fn function_cell(function: &FunctionView, room: usize, look: Look) -> String {
    if room < 80 {
        return named(function, "", false, room, look);
    }
    let width = room * 3 / 5;
    let name = shortened(&function.name, width, look);
    let padding = " ".repeat(width - columns(&name));
    let place = short_place(&place_of(function), room - width - 2, look);
    let name = look.layered(function.layer, false, &name);
    format!("{name}{padding}  {}", look.dim(&place)).trim_end().to_owned()
}

pub(super) fn functions(
    rows: &[FunctionCost],
    metric: &MetricTotal,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    let cost = |cost: i64| if cost == 0 { String::new() } else { value(cost, metric) };
    let widest = |column: fn(&FunctionCost) -> i64| {
        rows.iter().map(|row| columns(&cost(column(row)))).max().unwrap_or(0).max(5)
    };
    let (own, total) = (widest(|row| row.self_cost), widest(|row| row.inclusive));
    let bars = if look.width >= 110 { 12 } else { 0 };
    let gap = if bars > 0 { 2 } else { 0 };
    let head = format!(
        "{}  {}  {:bars$}{:gap$}{}  {}  ",
        right("self", 6),
        right("", own),
        "",
        "",
        right("total", 6),
        right("", total)
    );
    writeln!(out, "{}", look.dim(&format!("{head}function")))?;
    for row in rows {
        let bar =
            if bars > 0 { format!("{}  ", look.bar(row.self_share, bars)) } else { String::new() };
        let self_share = if row.self_cost == 0 { String::new() } else { percent(row.self_share) };
        let numbers = format!(
            "{}  {}  {bar}{}  {}  ",
            right(&self_share, 6),
            right(&cost(row.self_cost), own),
            right(&percent(row.share), 6),
            right(&cost(row.inclusive), total)
        );
        let room = look.width.saturating_sub(columns(&head)).max(20);
        writeln!(out, "{numbers}{}", function_cell(&row.function, room, look))?;
    }
    Ok(())
}

pub(super) fn neighbours(
    summary: &Summary,
    neighbours: Option<&Neighbours>,
    kind: &str,
    metric: &MetricTotal,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(neighbours) = neighbours else { return Ok(()) };
    let name = shortened(&neighbours.function.function.name, look.width.saturating_sub(20), look);
    title(&format!("{kind} of {name}"), look, out)?;
    let cost = &neighbours.function;
    let own = format!(
        "{} of the total ({}), {} self ({})",
        percent(cost.share),
        value(cost.inclusive, metric),
        percent(cost.self_share),
        value(cost.self_cost, metric)
    );
    writeln!(out, "{own}")?;
    let widest = (neighbours.direct.iter())
        .map(|row| columns(&value(row.1, metric)))
        .max()
        .unwrap_or(0)
        .max(5);
    let outside = if kind == "Callers" { "(none: outermost)" } else { "" };
    for (function, total, share) in &neighbours.direct {
        let text =
            format!("{}  {}  ", right(&percent(*share), 6), right(&value(*total, metric), widest));
        let room = look.width.saturating_sub(columns(&text)).max(20);
        let name = match function {
            Some(function) => function_cell(function, room, look),
            None => look.dim(outside),
        };
        writeln!(out, "{text}{name}")?;
    }
    if neighbours.tree.rows.len() > 1 {
        let what = if kind == "Callers" { "Call paths to it" } else { "Call paths from it" };
        title(what, look, out)?;
        tree_text::write(&neighbours.tree, metric, summary.whole, look, out)?;
    }
    Ok(())
}

pub(super) fn tasks(
    rows: &[TaskCost],
    metric: &MetricTotal,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    let widest = rows.iter().map(|row| columns(&value(row.cost, metric))).max().unwrap_or(0).max(5);
    writeln!(
        out,
        "{}",
        look.dim(&format!("{}  {}  task", right("share", 6), right("cost", widest)))
    )?;
    for row in rows {
        let name = shortened(&row.name, look.width.saturating_sub(widest + 10), look);
        let cost = right(&value(row.cost, metric), widest);
        writeln!(out, "{}  {cost}  {name}", right(&percent(row.share), 6))?;
    }
    Ok(())
}

pub(super) fn roles(
    rows: &[RoleCost],
    metric: &MetricTotal,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    let several = rows.iter().any(|row| row.process != rows[0].process);
    let rows: Vec<ThreadRow<'_>> = (rows.iter())
        .map(|row| {
            let role = if row.role.is_empty() { "(unnamed)" } else { &row.role };
            let process = row.process.as_deref().filter(|process| several && *process != role);
            let name = match process {
                Some(process) => format!("{process}: {role}"),
                None => role.to_owned(),
            };
            let note = if row.threads == 1 { String::new() } else { grouped(row.threads as u64) };
            ThreadRow {
                share: row.share,
                cost: row.cost,
                note,
                name,
                busiest: row.busiest.as_ref(),
            }
        })
        .collect();
    thread_table(&rows, "threads", "role", metric, look, out)
}

pub(super) fn threads(
    rows: &[ThreadCost],
    metric: &MetricTotal,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows: Vec<ThreadRow<'_>> = (rows.iter())
        .map(|row| {
            let name = if row.thread.name.is_empty() { "(unnamed)" } else { &row.thread.name };
            let name = match &row.thread.group {
                Some(group) => format!("{group}/{name}"),
                None => name.to_owned(),
            };
            let note = row.thread.tid.map_or(String::new(), |tid| tid.to_string());
            ThreadRow {
                share: row.share,
                cost: row.cost,
                note,
                name,
                busiest: row.busiest.as_ref(),
            }
        })
        .collect();
    thread_table(&rows, "tid", "thread", metric, look, out)
}

struct ThreadRow<'a> {
    share: f64,
    cost: i64,
    /// How many threads, or the id of one.
    note: String,
    name: String,
    busiest: Option<&'a (FunctionView, i64)>,
}

fn thread_table(
    rows: &[ThreadRow<'_>],
    note: &str,
    name: &str,
    metric: &MetricTotal,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    let widest =
        |texts: &mut dyn Iterator<Item = usize>, least: usize| texts.max().unwrap_or(0).max(least);
    let cost_width = widest(&mut rows.iter().map(|row| columns(&value(row.cost, metric))), 5);
    let has_notes = rows.iter().any(|row| !row.note.is_empty());
    let note_width = if has_notes {
        widest(&mut rows.iter().map(|row| columns(&row.note)), columns(note))
    } else {
        0
    };
    let noted = |text: &str| {
        if has_notes { format!("{}  ", right(text, note_width)) } else { String::new() }
    };
    let head = format!("{}  {}  {}", right("share", 6), right("cost", cost_width), noted(note));
    let room = look.width.saturating_sub(columns(&head)).max(30);
    let widest_name = widest(&mut rows.iter().map(|row| columns(&clean(&row.name))), columns(name));
    let name_width = widest_name.min(room / 2);
    let title = format!("{head}{}  busiest function", padded(name, name_width));
    writeln!(out, "{}", look.dim(&title))?;
    for row in rows {
        let numbers = format!(
            "{}  {}  {}",
            right(&percent(row.share), 6),
            right(&value(row.cost, metric), cost_width),
            noted(&row.note)
        );
        let name = padded(&shortened(&row.name, name_width, look), name_width);
        let busiest = row.busiest.map_or(String::new(), |(function, _)| {
            named(function, "", false, room.saturating_sub(name_width + 2), look)
        });
        writeln!(out, "{}", format!("{numbers}{name}  {busiest}").trim_end())?;
    }
    Ok(())
}
