//! V8's `.cpuprofile`: a list of nodes, and the samples that point into it with the microseconds between them.

use std::io::{self, Write};

use crate::noise::RunOf;
use crate::program::Program;
use crate::random::Random;

/// How many samples in a row hit one context, at most: real runs stay where they are for a while.
const STAY: u64 = 12;

/// Writes one run.
pub fn write(
    program: &Program,
    run: &RunOf,
    random: &mut Random,
    out: &mut dyn Write,
) -> io::Result<()> {
    // Node 1 is V8's root, which is no function.
    let mut ids = vec![0usize; program.nodes.len()];
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); run.order.len() + 2];
    for (row, node) in run.order.iter().enumerate() {
        ids[*node] = row + 2;
        children[run.parent[*node].map_or(1, |parent| ids[parent])].push(row + 2);
    }
    out.write_all(b"{\"nodes\":[")?;
    let root = CallFrame { name: "(root)", url: "", line: -1, column: -1 };
    node(1, root, 0, &children[1], out)?;
    for row in &run.order {
        let function = program.function_of(*row);
        let frame = CallFrame {
            name: &function.name,
            url: function.component.as_deref().unwrap_or(""),
            line: function.line.map_or(-1, |line| i64::from(line) - 1),
            column: function.column.map_or(-1, |column| i64::from(column) - 1),
        };
        out.write_all(b",")?;
        node(ids[*row], frame, run.samples[*row], &children[ids[*row]], out)?;
    }
    let mut stays: Vec<(usize, u64)> = Vec::new();
    for row in &run.order {
        let mut left = run.samples[*row];
        while left > 0 {
            let stay = left.min(1 + random.below(STAY as usize) as u64);
            stays.push((ids[*row], stay));
            left -= stay;
        }
    }
    random.shuffle(&mut stays);
    let microseconds = (run.period / 1000).max(1);
    let start = 1_000_000;
    let mut samples = Vec::new();
    let mut deltas = Vec::new();
    let mut end = start;
    // A delta is the time since the sample before, and what a sample stands for is the time until the next.
    let mut delta = 0;
    for (id, stay) in stays {
        for _ in 0..stay {
            let comma = if samples.is_empty() { "" } else { "," };
            write!(samples, "{comma}{id}")?;
            write!(deltas, "{comma}{delta}")?;
            end += delta;
            delta = (microseconds as f64 * random.between(0.8, 1.2)).round() as i64;
        }
    }
    end += delta;
    write!(out, "],\"startTime\":{start},\"endTime\":{end},\"samples\":[")?;
    out.write_all(&samples)?;
    out.write_all(b"],\"timeDeltas\":[")?;
    out.write_all(&deltas)?;
    out.write_all(b"]}")
}

struct CallFrame<'a> {
    name: &'a str,
    url: &'a str,
    line: i64,
    column: i64,
}

fn node(
    id: usize,
    CallFrame { name, url, line, column }: CallFrame<'_>,
    hits: u64,
    children: &[usize],
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "{{\"id\":{id},\"callFrame\":{{\"functionName\":")?;
    serde_json::to_writer(&mut *out, name)?;
    out.write_all(b",\"scriptId\":\"0\",\"url\":")?;
    serde_json::to_writer(&mut *out, url)?;
    write!(out, ",\"lineNumber\":{line},\"columnNumber\":{column}}},\"hitCount\":{hits},")?;
    out.write_all(b"\"children\":")?;
    serde_json::to_writer(&mut *out, children)?;
    out.write_all(b"}")
}
