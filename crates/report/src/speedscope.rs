//! speedscope's own file format: one profile per thread and metric, evented where calls have times, sampled otherwise.
//!
//! Written by hand as a stream rather than as a tree of values: a long recording has millions of events.

use std::io::{self, Write};

use hashbrown::HashMap;
use perfblame_analysis::function_name;
use perfblame_cct::{
    FunctionId, Measure, Metric, MetricId, NodeId, Profile, ThreadId, TimedCall, Unit,
};

use crate::json::quoted;
use crate::numbers::decimal;
use crate::threads;

/// Writes every metric of every thread.
pub fn write(profile: &Profile, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let frames = Frames::of(profile);
    write!(out, r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","#)?;
    write!(out, r#""exporter":"perfblame {}","name":{},"#, crate::VERSION, quoted(name))?;
    write!(out, r#""activeProfileIndex":0,"shared":{{"frames":["#)?;
    frames.write(profile, out)?;
    write!(out, r#"]}},"profiles":["#)?;
    let mut first = true;
    let calls = calls_by_thread(profile);
    for (thread, calls) in &calls {
        separate(&mut first, out)?;
        evented(profile, &frames, *thread, calls, out)?;
    }
    for (metric, row) in profile.metrics() {
        // Exact time is in the calls already; what else they measure has no place in a profile of events.
        if !calls.is_empty() && row.measure == Measure::Exact {
            continue;
        }
        for (thread, samples) in samples_by_thread(profile, metric) {
            separate(&mut first, out)?;
            sampled(profile, &frames, thread, row, &samples, out)?;
        }
    }
    out.write_all(b"]}\n")
}

fn separate(first: &mut bool, out: &mut dyn Write) -> io::Result<()> {
    if std::mem::replace(first, false) { Ok(()) } else { out.write_all(b",\n") }
}

/// The functions of the tree, numbered as the file lists them. speedscope adds up by what it calls frames, so each
/// function is listed once, however many lines and addresses of it were seen.
struct Frames {
    used: Vec<FunctionId>,
    number: HashMap<FunctionId, u32>,
}

impl Frames {
    fn of(profile: &Profile) -> Self {
        let mut frames = Self { used: Vec::new(), number: HashMap::new() };
        for node in profile.tree.nodes() {
            let function = profile.function_of(node);
            frames.number.entry(function).or_insert_with(|| {
                frames.used.push(function);
                frames.used.len() as u32 - 1
            });
        }
        frames
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
        let symbols = &profile.symbols;
        for (row, id) in self.used.iter().enumerate() {
            let function = symbols.function(*id);
            if row > 0 {
                out.write_all(b",")?;
            }
            write!(out, r#"{{"name":{}"#, quoted(function_name(symbols, *id)))?;
            if let Some(file) = function.file.or(function.component) {
                write!(out, r#","file":{}"#, quoted(symbols.text(file)))?;
            }
            if let Some(line) = function.line {
                write!(out, r#","line":{line}"#)?;
            }
            if let Some(column) = function.column {
                write!(out, r#","col":{column}"#)?;
            }
            out.write_all(b"}")?;
        }
        Ok(())
    }

    fn of_node(&self, profile: &Profile, node: NodeId) -> u32 {
        self.number.get(&profile.function_of(node)).copied().unwrap_or(0)
    }
}

/// Rows of each thread.
type ByThread<T> = Vec<(Option<ThreadId>, Vec<T>)>;

/// Calls per thread, in the order of their times.
fn calls_by_thread(profile: &Profile) -> ByThread<TimedCall> {
    let calls = profile.timeline.as_ref().map_or(&[][..], |timeline| &timeline.calls);
    threads::split(calls, |call| call.thread)
}

/// (context, value) of one metric per thread, by time where times are known.
fn samples_by_thread(profile: &Profile, metric: MetricId) -> ByThread<(NodeId, i64)> {
    let timed = profile.timeline.as_ref().map_or(&[][..], |timeline| &timeline.samples);
    let timed: Vec<_> = timed
        .iter()
        .filter(|sample| sample.metric == metric)
        .map(|sample| (sample.node, sample.thread, sample.value))
        .collect();
    // Times are of use only when they tell the whole story.
    let total = timed.iter().fold(0i64, |sum, sample| sum.saturating_add(sample.2));
    let samples = if total == profile.cells.total(metric) && !timed.is_empty() {
        timed
    } else {
        profile.cells.of(metric).collect()
    };
    let split = threads::split(&samples, |sample| sample.1);
    let pairs = |samples: Vec<(NodeId, Option<ThreadId>, i64)>| {
        samples.into_iter().map(|(node, _, value)| (node, value)).collect()
    };
    split.into_iter().map(|(thread, samples)| (thread, pairs(samples))).collect()
}

fn evented(
    profile: &Profile,
    frames: &Frames,
    thread: Option<ThreadId>,
    calls: &[TimedCall],
    out: &mut dyn Write,
) -> io::Result<()> {
    let start = calls.iter().map(|call| call.start).min().unwrap_or(0);
    let end = calls.iter().map(|call| call.end).max().unwrap_or(start);
    let name = threads::title(profile, thread);
    write!(out, r#"{{"type":"evented","name":{},"unit":"nanoseconds","#, quoted(&name))?;
    write!(out, r#""startValue":0,"endValue":{},"events":["#, end.saturating_sub(start))?;
    let mut first = true;
    let mut event = |out: &mut dyn Write, kind: char, node: NodeId, at: i64| -> io::Result<()> {
        if !std::mem::replace(&mut first, false) {
            out.write_all(b",")?;
        }
        let (frame, at) = (frames.of_node(profile, node), at.saturating_sub(start));
        write!(out, r#"{{"type":"{kind}","frame":{frame},"at":{at}}}"#)
    };
    let mut open: Vec<(NodeId, i64)> = Vec::new();
    for call in calls {
        while let Some((node, end)) = open.pop_if(|(_, end)| *end <= call.start) {
            event(out, 'C', node, end)?;
        }
        // The format wants calls inside their callers; one that outlives its caller ends with it.
        let end = open.last().map_or(call.end, |(_, outer)| call.end.min(*outer));
        event(out, 'O', call.node, call.start)?;
        open.push((call.node, end));
    }
    while let Some((node, end)) = open.pop() {
        event(out, 'C', node, end)?;
    }
    out.write_all(b"]}")
}

fn sampled(
    profile: &Profile,
    frames: &Frames,
    thread: Option<ThreadId>,
    metric: &Metric,
    samples: &[(NodeId, i64)],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut name = threads::title(profile, thread);
    if profile.metrics.len() > 1 {
        name = format!("{name} ({})", metric.name);
    }
    let unit = match metric.unit {
        Unit::Nanoseconds => "nanoseconds",
        Unit::Bytes => "bytes",
        Unit::Count | Unit::Other(_) => "none",
    };
    let total = samples.iter().fold(0i64, |sum, sample| sum.saturating_add(sample.1));
    write!(out, r#"{{"type":"sampled","name":{},"unit":"{unit}","#, quoted(&name))?;
    write!(out, r#""startValue":0,"endValue":{},"samples":["#, decimal(total, metric.decimals))?;
    for (row, (node, _)) in samples.iter().enumerate() {
        let path = profile.tree.path(*node);
        out.write_all(if row > 0 { b",[" } else { b"[" })?;
        for (depth, node) in path.into_iter().enumerate() {
            let comma = if depth > 0 { "," } else { "" };
            write!(out, "{comma}{}", frames.of_node(profile, node))?;
        }
        out.write_all(b"]")?;
    }
    out.write_all(br#"],"weights":["#)?;
    for (row, (_, value)) in samples.iter().enumerate() {
        let comma = if row > 0 { "," } else { "" };
        write!(out, "{comma}{}", decimal(*value, metric.decimals))?;
    }
    out.write_all(b"]}")
}
