//! What is in a profile, as text: the verdict first, then the evidence.

mod tables;

use std::io::{self, Write};

use perfblame_analysis::{FunctionView, MetricTotal, Summary};
use perfblame_cct::{Layer, Unit, Warning};

use crate::layout::{Look, clean, columns, padded, shortened, shortened_path, wrapped};
use crate::numbers::{counted, grouped, moment, nanoseconds, percent, value};
use crate::tree_text;

/// A part of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// Where the time goes, in one sentence.
    Verdict,
    /// The heaviest call paths, long chains folded.
    HotPath,
    /// The heaviest call paths, whole.
    Tree,
    /// The most costly functions.
    Functions,
    /// Who calls the function asked for.
    Callers,
    /// Whom the function asked for calls.
    Callees,
    /// Threads by role.
    Roles,
    /// Each thread.
    Threads,
    /// The tasks asked for.
    Tasks,
}

/// Writes what the profile is, then the sections, then what was wrong with it.
pub fn show_text(
    summary: &Summary,
    sections: &[Section],
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    if !look.unicode {
        // Names stay as they are; the only letter of ours beyond ASCII is that of microseconds.
        let mut text = Vec::new();
        write_all(summary, sections, look, &mut text)?;
        return out.write_all(String::from_utf8_lossy(&text).replace(" µs", " us").as_bytes());
    }
    write_all(summary, sections, look, out)
}

fn write_all(
    summary: &Summary,
    sections: &[Section],
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    header(summary, look, out)?;
    let metric = summary.metric.and_then(|row| summary.metrics.get(row));
    if let Some(metric) = metric {
        for section in sections {
            write_section(summary, metric, *section, look, out)?;
        }
    } else {
        writeln!(out, "\nThere is nothing to show: the profile has no metric.")?;
    }
    warnings(&summary.warnings, look, out)
}

fn write_section(
    summary: &Summary,
    metric: &MetricTotal,
    section: Section,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    match section {
        Section::Verdict => {
            writeln!(out)?;
            let sentences = [runtime(summary, metric), Some(verdict(summary, metric))];
            for line in
                sentences.iter().flatten().flat_map(|text| wrapped(text, look.width.min(100)))
            {
                writeln!(out, "{}", look.bold(&line))?;
            }
            Ok(())
        }
        Section::HotPath if summary.tree.rows.is_empty() => Ok(()),
        Section::HotPath => {
            title("Hot path", look, out)?;
            tree_text::write(&summary.tree, metric, summary.whole, look, out)
        }
        Section::Tree => {
            title("Call tree", look, out)?;
            tree_text::write(&summary.tree, metric, summary.whole, look, out)
        }
        Section::Functions if summary.top.is_empty() => Ok(()),
        Section::Functions => {
            title("Functions", look, out)?;
            tables::functions(&summary.top, metric, look, out)
        }
        Section::Callers => {
            tables::neighbours(summary, summary.callers.as_ref(), "Callers", metric, look, out)
        }
        Section::Callees => {
            tables::neighbours(summary, summary.callees.as_ref(), "Callees", metric, look, out)
        }
        Section::Roles if summary.roles.is_empty() => Ok(()),
        Section::Roles => {
            title("Threads by role", look, out)?;
            tables::roles(&summary.roles, metric, look, out)
        }
        Section::Tasks if summary.tasks.is_empty() => Ok(()),
        Section::Tasks => {
            title("Tasks", look, out)?;
            tables::tasks(&summary.tasks, metric, look, out)
        }
        Section::Threads if summary.threads.is_empty() => {
            writeln!(out, "\nThis profile does not distinguish threads.")
        }
        Section::Threads => {
            title("Threads", look, out)?;
            tables::threads(&summary.threads, metric, look, out)
        }
    }
}

pub(crate) fn title(text: &str, look: Look, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", look.bold(text))
}

/// What a profile is, in one line.
pub fn about(summary: &Summary) -> String {
    let mut parts = vec![kind(summary)];
    parts.extend(summary.command.clone());
    if let Some(duration) = summary.duration {
        parts.push(nanoseconds(duration.max(0) as f64));
    }
    if summary.samples > 0 {
        parts.push(counted(summary.samples, "sample", "samples"));
    }
    if let Some(root) = &summary.root {
        parts.push(format!("below {}", root.function.name));
    }
    parts.join(" · ")
}

fn kind(summary: &Summary) -> String {
    match &summary.producer {
        Some(producer) => format!("{} profile by {producer}", summary.format),
        None => format!("{} profile", summary.format),
    }
}

fn header(summary: &Summary, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let name = match &*summary.runs {
        [run] => run.name.clone(),
        runs => counted(runs.len() as u64, "run", "runs"),
    };
    let kind = kind(summary);
    let kind = shortened(&kind, look.width.saturating_sub(16), look).into_owned();
    let name = shortened_path(&name, look.width.saturating_sub(columns(&kind) + 2).max(14), look);
    writeln!(out, "{}  {kind}", look.bold(&name))?;
    let mut fact = |key: &str, text: &str| {
        let room = look.width.saturating_sub(12);
        // A list goes on in the next line; anything else is one text, shown as far as it fits.
        let lines = if text.contains(", ") && key != "command" {
            wrapped(&clean(text), room)
        } else {
            vec![shortened(text, room, look).into_owned()]
        };
        for (row, line) in lines.iter().enumerate() {
            let key = if row == 0 { key } else { "" };
            writeln!(out, "  {}  {line}", look.dim(&padded(key, 8)))?;
        }
        Ok::<(), io::Error>(())
    };
    if let Some(command) = &summary.command {
        fact("command", command)?;
    }
    let lasted = summary.duration.map(|duration| nanoseconds(duration.max(0) as f64));
    let when = match (summary.started, lasted) {
        (Some(started), Some(lasted)) => Some(format!("{}, {lasted}", moment(started))),
        (Some(started), None) => Some(moment(started)),
        (None, lasted) => lasted,
    };
    if let Some(when) = when {
        fact("recorded", &when)?;
    }
    if summary.runs.len() > 1 {
        let per_run = |text: fn(&perfblame_analysis::RunTotal) -> u64| {
            let least = summary.runs.iter().map(text).min().unwrap_or(0);
            let most = summary.runs.iter().map(text).max().unwrap_or(0);
            (least, most)
        };
        let (least, most) = per_run(|run| run.samples);
        let each = if least == most {
            format!("{} each", counted(least, "sample", "samples"))
        } else {
            format!("{} to {} samples each", grouped(least), grouped(most))
        };
        fact("runs", &format!("{}, {each}", grouped(summary.runs.len() as u64)))?;
    }
    let mut holds = Vec::new();
    if summary.samples > 0 {
        let samples = counted(summary.samples, "sample", "samples");
        let threads = summary.threads.len() as u64;
        holds.push(match threads {
            0 => samples,
            _ => format!("{samples} on {}", counted(threads, "thread", "threads")),
        });
    } else if !summary.threads.is_empty() {
        holds.push(counted(summary.threads.len() as u64, "thread", "threads"));
    }
    holds.push(format!(
        "{} in {}",
        counted(summary.functions as u64, "function", "functions"),
        counted(summary.nodes as u64, "context", "contexts")
    ));
    fact("holds", &holds.join(", "))?;
    let costs: Vec<String> = (summary.metrics.iter().enumerate())
        .map(|(row, metric)| {
            let shown = summary.metric == Some(row) && summary.metrics.len() > 1;
            let shown = if shown { " (shown)" } else { "" };
            format!("{} {}{shown}", metric.name, value(metric.total, metric))
        })
        .collect();
    if !costs.is_empty() {
        fact(if costs.len() == 1 { "metric" } else { "metrics" }, &costs.join(", "))?;
    }
    if summary.layers.len() > 1 {
        let layers: Vec<String> = (summary.layers.iter())
            .map(|layer| format!("{} {}", layer.layer.name(), percent(layer.share)))
            .collect();
        fact("layers", &layers.join(", "))?;
    }
    if let (Some(root), Some(metric)) =
        (&summary.root, summary.metric.and_then(|row| summary.metrics.get(row)))
    {
        let text = format!(
            "{}, {} of the total: {}",
            clean(&root.function.name),
            percent(root.share),
            value(root.inclusive, metric)
        );
        fact("root", &text)?;
    }
    Ok(())
}

/// What no code took, in a sentence of its own; none where that is little.
fn runtime(summary: &Summary, metric: &MetricTotal) -> Option<String> {
    let rows = summary.runtime.iter().filter(|row| row.self_share >= 0.01);
    let total: f64 = rows.clone().map(|row| row.self_share).sum();
    if total < 0.05 {
        return None;
    }
    let is = if is_plural(metric) { "are" } else { "is" };
    let whole = format!(" of the {}", noun(metric));
    let mut parts: Vec<String> = (rows.enumerate())
        .map(|(row, cost)| {
            let name = match cost.function.name.as_str() {
                "(idle)" => "idle".into(),
                "(garbage collector)" => "garbage collection".into(),
                name => clean(name),
            };
            let of = if row == 0 { whole.as_str() } else { "" };
            format!("{}{of} {is} {name}", percent(cost.self_share))
        })
        .collect();
    let last = parts.pop()?;
    Some(if parts.is_empty() {
        format!("{last}.")
    } else {
        format!("{} and {last}.", parts.join(", "))
    })
}

/// Where the time goes, in a few sentences.
fn verdict(summary: &Summary, metric: &MetricTotal) -> String {
    let what = noun(metric);
    if summary.whole == 0 {
        return format!("There is nothing to show: the sum of all {what} is 0.");
    }
    let passes = if is_plural(metric) { "pass" } else { "passes" };
    let mut sentences = Vec::new();
    let Some(busiest) = &summary.busiest else {
        sentences.push("Nothing else was recorded.".to_owned());
        return sentences.join(" ");
    };
    // What everything passes through says nothing.
    let through = summary.through.as_ref();
    let through = through.filter(|row| row.share < 0.9995 && row.function != busiest.function);
    if let Some(row) = through {
        let (share, name) = (percent(row.share), quoted(&row.function));
        sentences.push(format!("{share} of the {what} {passes} through {name}."));
    }
    let (name, share) = (quoted(&busiest.function), percent(busiest.self_share));
    let cost = match metric.unit {
        Unit::Count => format!("{} {what}", value(busiest.self_cost, metric)),
        _ => value(busiest.self_cost, metric),
    };
    sentences.push(if busiest.self_share >= 0.1 {
        format!("{name} has the highest self cost: {share}, {cost}.")
    } else {
        format!("No function stands out; {name} has the highest self cost, {share}.")
    });
    let own = summary.busiest_own.as_ref().filter(|_| busiest.function.layer != Layer::Application);
    if let Some(own) = own {
        let (name, share) = (quoted(&own.function), percent(own.self_share));
        sentences
            .push(format!("Among the application's own functions, it is {name} with {share}."));
    }
    sentences.join(" ")
}

/// A function's name in a sentence, with where it is when the name alone says little.
fn quoted(function: &FunctionView) -> String {
    let name = clean(&function.name);
    match place_of(function) {
        place if !place.is_empty() && (function.name.starts_with('(') || columns(&name) < 4) => {
            format!("`{name}` ({place})")
        }
        _ => format!("`{name}`"),
    }
}

fn is_plural(metric: &MetricTotal) -> bool {
    metric.unit != Unit::Nanoseconds
}

/// What a metric's values are values of, as the object of a sentence.
fn noun(metric: &MetricTotal) -> String {
    match (&metric.unit, metric.name.as_str()) {
        (Unit::Nanoseconds, "wall") => "time".to_owned(),
        (Unit::Nanoseconds, "cpu") => "CPU time".to_owned(),
        (Unit::Nanoseconds, name) => format!("{name} time"),
        (Unit::Bytes, name) => format!("{name} bytes"),
        (_, "samples") => "samples".to_owned(),
        (_, name) => name.to_owned(),
    }
}

/// Component or file of a function and the line where it starts.
pub fn place_of(function: &FunctionView) -> String {
    // The name of a method begins with its class already.
    let says_more = |component: &&str| {
        let rest = function.name.strip_prefix(*component);
        !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
    };
    let component = function.component.as_deref().filter(says_more);
    let Some(file) = function.file.as_deref().or(component) else {
        return String::new();
    };
    match function.line {
        Some(line) => format!("{}:{line}", clean(file)),
        None => clean(file).into_owned(),
    }
}

/// A function in `room` columns: its name, what else is to say about it, and where it is as far as there is room.
pub fn named(function: &FunctionView, note: &str, hot: bool, room: usize, look: Look) -> String {
    /// Less than this of a place says nothing.
    const LEAST_PLACE: usize = 8;
    let name = shortened(&function.name, room, look);
    let mut left = room.saturating_sub(columns(&name));
    let mut text = look.layered(function.layer, hot, &name);
    if !note.is_empty() && columns(note) + 2 <= left {
        left -= columns(note) + 2;
        text.push_str("  ");
        text.push_str(&look.dim(note));
    }
    let mut place = place_of(function);
    if let Some(package) = function.package.as_deref().filter(|_| !place.is_empty()) {
        let with = format!("{place} ({})", clean(package));
        if columns(&with) + 2 <= left {
            place = with;
        }
    }
    if !place.is_empty() && place != function.name && left >= LEAST_PLACE + 2 {
        let place = short_place(&place, left - 2, look);
        text.push_str("  ");
        text.push_str(&look.dim(&place));
    }
    text
}

/// A place in `room` columns: whole, else the file alone, else the end of it.
fn short_place(place: &str, room: usize, look: Look) -> String {
    if columns(place) <= room {
        return place.to_owned();
    }
    let file = place.rsplit(['/', '\\']).next().unwrap_or(place);
    shortened_path(file, room, look).into_owned()
}

pub(crate) fn warnings(warnings: &[Warning], look: Look, out: &mut dyn Write) -> io::Result<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let style = anstyle::Style::new().fg_color(Some(anstyle::AnsiColor::Yellow.into())).bold();
    for warning in warnings {
        let times = if warning.count > 1 {
            format!(" ({} times)", grouped(warning.count))
        } else {
            String::new()
        };
        let text = format!("{}{times}", clean(&warning.message));
        for (row, line) in wrapped(&text, look.width.saturating_sub(9).max(20)).iter().enumerate() {
            let label =
                if row == 0 { look.paint(style, "warning:") } else { "        ".to_owned() };
            writeln!(out, "{label} {line}")?;
        }
    }
    Ok(())
}
