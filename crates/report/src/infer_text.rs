//! What a trace of the operating system says, as text: where the time went, then functions, threads and waits, each
//! with what it lies between.

use std::io::{self, Write};

use perfblame_analysis::{FunctionView, Inferred, RankedPath};

use crate::call_path::folded_path;
use crate::heat_map::heat_map;
use crate::layout::{Look, clean, columns, padded, right, shortened, shortened_path};
use crate::numbers::{counted, in_percent, nanoseconds};
use crate::show_text::{place_of, title, warnings};

/// Columns at most.
const MOST_WIDTH: usize = 120;

/// How much to show.
#[derive(Clone, Copy, Debug)]
pub struct InferLook {
    /// What the place we write to can show.
    pub look: Look,
    /// Rows of each list.
    pub limit: usize,
}

/// Writes what a trace says.
pub fn infer_text(answer: &Inferred, how: InferLook, out: &mut dyn Write) -> io::Result<()> {
    if how.look.unicode {
        return write_all(answer, how, out);
    }
    // Names stay as they are; the only letter of ours beyond ASCII is that of microseconds.
    let mut text = Vec::new();
    write_all(answer, how, &mut text)?;
    out.write_all(
        String::from_utf8_lossy(&text).replace(" µs", " us").replace("×)", "x)").as_bytes(),
    )
}

fn write_all(answer: &Inferred, how: InferLook, out: &mut dyn Write) -> io::Result<()> {
    let InferLook { look, limit } = how;
    headline(answer, look, out)?;
    if answer.paths.is_empty() {
        functions(answer, how, out)?;
    } else {
        paths(&answer.paths, how, out)?;
    }
    roles(answer, how, out)?;
    waiters(answer, how, out)?;
    if !answer.calls.is_empty() {
        title("Calls by start", look, out)?;
        let first = answer.calls.first().map_or(0, |call| call.start);
        for call in answer.calls.iter().take(limit) {
            let node = &answer.tree.nodes[call.node];
            let name = &answer.tree.functions[node.function as usize].name;
            let took = between(call.estimate, (call.conservative, call.longest));
            let start = time(call.start.saturating_sub(first));
            writeln!(
                out,
                "{}  {}  {}  {took}",
                right(&start, 9),
                padded(&call.thread, 12),
                clean(name)
            )?;
        }
        rest(answer.calls.len(), limit, "call", "calls", look, out)?;
    }
    warnings(&answer.warnings, look, out)
}

fn time(nanos: i64) -> String {
    nanoseconds(nanos.max(0) as f64)
}

fn between(estimate: i64, (low, high): (i64, i64)) -> String {
    format!("{} [{} to {}]", time(estimate), time(low), time(high))
}

/// Where the time went, in the first lines.
fn headline(answer: &Inferred, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let name = shortened_path(&answer.input, look.width.saturating_sub(40).max(20), look);
    let events = counted(answer.events, "event", "events");
    let threads = counted(answer.threads as u64, "thread", "threads");
    writeln!(
        out,
        "{}  {}, {events} of {threads} in {}",
        look.bold(&name),
        answer.format,
        time(answer.duration)
    )?;
    let whole = (answer.running + answer.waiting + answer.queued + answer.idle).max(1) as f64;
    let part = |what: &str, nanos: i64| {
        (nanos > 0)
            .then(|| format!("{what} {} ({})", time(nanos), in_percent(nanos as f64 / whole)))
    };
    let parts: Vec<String> = [
        part("running", answer.running),
        part("waiting during work", answer.waiting),
        part("waiting for a processor", answer.queued),
        part("waiting for work", answer.idle),
    ]
    .into_iter()
    .flatten()
    .collect();
    writeln!(
        out,
        "Thread time: {}.",
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    )?;
    if let Some(first) = answer.functions.first().filter(|first| first.own > 0) {
        let busy = (answer.running + answer.waiting).max(1) as f64;
        let waits = if first.waiting * 2 > first.own { ", mostly waiting" } else { "" };
        writeln!(
            out,
            "Most of it: {} {}, {}{waits}.",
            look.bold(&clean(&first.function.name)),
            between(first.own, first.interval),
            in_percent(first.own as f64 / busy)
        )?;
    }
    if !answer.waits.is_empty() {
        let kinds = answer
            .waits
            .iter()
            .map(|wait| format!("{} {} ({}×)", wait.on.name(), time(wait.total), wait.count));
        let kinds: Vec<String> = kinds.collect();
        writeln!(out, "Waited for: {}.", kinds.join(", "))?;
    }
    Ok(())
}

fn functions(answer: &Inferred, how: InferLook, out: &mut dyn Write) -> io::Result<()> {
    let InferLook { look, limit } = how;
    title("Functions by own latency, waiting included", look, out)?;
    let busy = (answer.running + answer.waiting).max(1) as f64;
    let head = format!(
        "{}  {}  {}  {}  function",
        right("own", 8),
        padded("between", 20),
        right("waiting", 8),
        right("share", 6)
    );
    writeln!(out, "{}", look.dim(&head))?;
    let room = look.width.min(MOST_WIDTH).saturating_sub(columns(&head) - 8).max(20);
    let costly = answer.functions.iter().filter(|row| row.own > 0);
    for row in costly.clone().take(limit) {
        let (low, high) = row.interval;
        let name = named(&row.function, room, look);
        writeln!(
            out,
            "{}  {}  {}  {}  {}",
            right(&time(row.own), 8),
            padded(&format!("{} to {}", time(low), time(high)), 20),
            right(&if row.waiting > 0 { time(row.waiting) } else { String::new() }, 8),
            right(&in_percent(row.own as f64 / busy), 6),
            look.layered(row.function.layer, false, &name),
        )?;
    }
    rest(costly.count(), limit, "function", "functions", look, out)
}

/// A function in `room` columns, with its object, and the package that brought it where there is room for it.
fn named(function: &FunctionView, room: usize, look: Look) -> String {
    let place = place_of(function);
    let place = place.rsplit('/').next().unwrap_or(&place);
    let name = shortened(&function.name, room.saturating_sub(columns(place) + 2).max(12), look);
    if place.is_empty() {
        return name.into_owned();
    }
    let text = format!("{name}  {place}");
    let Some(package) = &function.package else { return text };
    let with = format!("{text} ({})", clean(package));
    if columns(&with) <= room { with } else { text }
}

fn rest(
    all: usize,
    limit: usize,
    one: &str,
    many: &str,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    if all <= limit {
        return Ok(());
    }
    let more = counted((all - limit) as u64, &format!("more {one}"), &format!("more {many}"));
    writeln!(out, "{}", look.dim(&format!("{more}: --limit 0 shows all")))
}

fn paths(paths: &[RankedPath], how: InferLook, out: &mut dyn Write) -> io::Result<()> {
    let InferLook { look, limit } = how;
    title("Call paths by cost", look, out)?;
    let shown = &paths[..paths.len().min(limit)];
    let rank = shown.iter().map(|path| path.rank.to_string().len()).max().unwrap_or(1);
    let room = look.width.min(MOST_WIDTH).saturating_sub(rank + 12).max(20);
    for path in shown {
        let functions: Vec<FunctionView> =
            path.functions.iter().map(|step| step.function.clone()).collect();
        for (row, line) in folded_path(&functions, room, 2, look).lines.iter().enumerate() {
            let start = if row == 0 {
                format!(
                    "{}  {}  ",
                    right(&path.rank.to_string(), rank),
                    right(&time(path.cost as i64), 8)
                )
            } else {
                " ".repeat(rank + 12)
            };
            writeln!(out, "{start}{line}")?;
        }
    }
    rest(paths.len(), limit, "path", "paths", look, out)?;
    title("Heat map of these paths", look, out)?;
    heat_map(shown, look, out)
}

fn roles(answer: &Inferred, how: InferLook, out: &mut dyn Write) -> io::Result<()> {
    let InferLook { look, limit } = how;
    if answer.roles.len() < 2 && answer.threads < 2 {
        return Ok(());
    }
    title("Threads by role", look, out)?;
    let cells = |texts: [&str; 5]| texts.map(|text| right(text, 9)).join("  ");
    writeln!(
        out,
        "{}",
        look.dim(&format!(
            "{}  role",
            cells(["threads", "running", "waiting", "run queue", "for work"])
        ))
    )?;
    for row in answer.roles.iter().take(limit) {
        let times = [row.running, row.waiting, row.queued, row.idle].map(time);
        let texts = [&row.threads.to_string(), &times[0], &times[1], &times[2], &times[3]];
        let name = if row.role.is_empty() { "(no name)" } else { &row.role };
        writeln!(out, "{}  {}", cells(texts.map(String::as_str)), clean(name))?;
    }
    rest(answer.roles.len(), limit, "role", "roles", look, out)
}

fn waiters(answer: &Inferred, how: InferLook, out: &mut dyn Write) -> io::Result<()> {
    let InferLook { look, limit } = how;
    if answer.waiters.is_empty() {
        return Ok(());
    }
    title("Who waited", look, out)?;
    for row in answer.waiters.iter().take(limit) {
        let by =
            row.waker.as_deref().map_or(String::new(), |by| format!(", ended by {}", clean(by)));
        let idle = if row.idle { ", for work" } else { "" };
        let what = format!("{} ({}×{idle}{by})", row.on.name(), row.count);
        let room = look.width.min(MOST_WIDTH).saturating_sub(12 + columns(&what)).max(20);
        let name = named(&row.function, room, look);
        writeln!(out, "{}  {name}  {}", right(&time(row.total), 8), look.dim(&what))?;
    }
    rest(answer.waiters.len(), limit, "wait", "waits", look, out)
}
