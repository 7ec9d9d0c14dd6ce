//! The call graph of gprof: a block per function, its callers above its own line and its callees below.
//!
//! gprof knows the calls between functions and not their contexts; [`CallGraph`](crate::building::call_graph::CallGraph) turns
//! them into a tree the way gprof itself shares out time.

use hashbrown::HashMap;
use perfblame_cct::{Metric, Profile, Unit};

use crate::building::call_graph::{CallGraph, GraphFunction};
use crate::building::module_frame::module_frame;
use crate::encodings::text::{self, shown};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "gprof",
    producers: "GNU gprof, AIX gprof and similar tools",
    sniff,
    read,
    tracer: None,
};

/// True for a report with the heading of gprof's call graph, or of the flat profile that stands before it.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    let mut flat = false;
    for line in text::head_lines(input, &head) {
        let line = shown(line);
        if is_heading(&line) {
            return true;
        }
        flat |= line.starts_with("Each sample counts as ")
            || line.starts_with("granularity: each sample hit");
        if flat && line.contains("cumulative") && line.contains("self") {
            return true;
        }
    }
    false
}

/// `index % time    self  children    called     name`.
fn is_heading(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("index")
        && line.contains("time")
        && (line.contains("self  children") || line.contains("self descendents"))
        && line.contains("name")
}

/// A line of the call graph.
struct GprofLine<'a> {
    /// The function's own line, which starts with its index.
    primary: bool,
    own: i64,
    children: i64,
    calls: i64,
    name: &'a str,
    index: u64,
}

/// Reads gprof's call graph.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = text::read_whole(input)?;
    let mut builder = options.builder();
    let mut metric = Metric::sampled("cpu", Unit::Nanoseconds);
    let mut lines = text::lines(&bytes);
    let mut graphed = false;
    for line in lines.by_ref() {
        let line = shown(line);
        if let Some(rest) = line.strip_prefix("Each sample counts as ") {
            metric.period = rest.split_whitespace().next().and_then(seconds);
        }
        if is_heading(&line) {
            graphed = true;
            break;
        }
    }
    if !graphed {
        let help = "run gprof without -p or -Q, so that it also prints the call graph";
        return Err(ReadError::unsupported("the report has no call graph").help(help));
    }
    let cpu = builder.metric(metric);
    let calls = builder.metric(Metric::exact("calls", Unit::Count));
    let mut graph = CallGraph::new(options.grain, vec![cpu], Some(calls));
    let mut functions: HashMap<u64, GraphFunction> = HashMap::new();
    let mut current = None;
    let mut damaged = 0u64;
    for line in lines {
        let text = shown(line);
        if text.starts_with("---") || text.starts_with("___") || text.starts_with('\u{c}') {
            current = None;
            continue;
        }
        // The explanation follows the last block, or the flat profile with its licence.
        if text.starts_with(" This table describes")
            || text.starts_with("Index by function name")
            || text.starts_with('#')
            || text.starts_with("flat profile")
        {
            break;
        }
        let Some(line) = parse(&text) else {
            let known = text.trim().is_empty()
                || text.contains("<spontaneous>")
                || text.contains("called/total");
            damaged += u64::from(!known);
            continue;
        };
        if line.primary {
            current = None;
        }
        if line.name.contains(" as a whole>") || (!line.primary && current.is_none()) {
            continue;
        }
        let name = line.name.split(" <cycle").next().unwrap_or(line.name).trim();
        let function = *functions
            .entry(line.index)
            .or_insert_with(|| graph.function(module_frame(&mut builder, None, name, None, None)));
        if line.primary {
            graph.add_self(graph.entry_of(function), &[line.own]);
            current = Some(function);
        } else if let Some(caller) = current {
            let inclusive = line.own.saturating_add(line.children);
            graph.add_calls(graph.entry_of(caller), function, line.calls, &[inclusive]);
        }
    }
    if damaged > 0 {
        builder.warn_many("damaged-lines", damaged, || {
            "lines that do not belong to the call graph were left out".to_owned()
        });
    }
    graph.expand(&mut builder, None);
    builder.info.producer = Some("gprof".to_owned());
    Ok(builder.finish())
}

/// `[2]  53.4  0.00  0.18  5  read_all_makefiles [2]`, or a caller's or callee's line without the first two.
fn parse(text: &str) -> Option<GprofLine<'_>> {
    let text = text.trim_end();
    let (front, index) = text.strip_suffix(']')?.rsplit_once('[')?;
    let index = index.trim().parse().ok()?;
    let mut rest = front.trim_end();
    let primary = rest.starts_with('[');
    if primary {
        rest = rest.split_once(']')?.1;
    }
    let mut times = [0i64; 2];
    let mut calls = 0;
    let mut found = 0usize;
    // Percent, self and children have a point; the number of calls has none.
    let wanted = if primary { 3 } else { 2 };
    loop {
        let trimmed = rest.trim_start();
        let (word, after) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
        let time = word.contains('.').then(|| seconds(word)).flatten();
        if let Some(time) = time
            && found < wanted
        {
            if let Some(slot) = found.checked_sub(wanted - 2).and_then(|at| times.get_mut(at)) {
                *slot = time;
            }
            found += 1;
            rest = after;
        } else if let Some(count) = count(word)
            && !after.trim().is_empty()
        {
            calls = count;
            rest = after;
            break;
        } else {
            break;
        }
    }
    let name = rest.trim();
    let [own, children] = times;
    (!name.is_empty()).then_some(GprofLine { primary, own, children, calls, name, index })
}

/// `5`, `5/10` or `5+3`.
fn count(word: &str) -> Option<i64> {
    let digits = word.split(['/', '+']).next()?;
    let rest = word.get(digits.len()..)?.get(1..).unwrap_or("0");
    rest.parse::<i64>().ok()?;
    digits.parse().ok()
}

/// Seconds in nanoseconds.
fn seconds(text: &str) -> Option<i64> {
    let seconds: f64 = text.parse().ok()?;
    let nanos = (seconds * 1e9).round();
    (nanos.is_finite() && (0.0..9e18).contains(&nanos)).then_some(nanos as i64)
}
