//! V8's `.cpuprofile`: a list of nodes, and the samples that point into it with the microseconds between them.

use std::io::{self, Write};

use serde_json::json;

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
    let root = json!({
        "functionName": "(root)", "scriptId": "0", "url": "", "lineNumber": -1, "columnNumber": -1,
    });
    let node = |id: usize, frame: &serde_json::Value, hits: u64| json!({ "id": id, "callFrame": frame, "hitCount": hits, "children": children[id] });
    write!(out, "{{\"nodes\":[{}", node(1, &root, 0))?;
    for row in &run.order {
        let function = program.function_of(*row);
        let frame = json!({
            "functionName": function.name,
            "scriptId": "0",
            "url": function.component.as_deref().unwrap_or(""),
            "lineNumber": function.line.map_or(-1, |line| i64::from(line) - 1),
            "columnNumber": function.column.map_or(-1, |column| i64::from(column) - 1),
        });
        write!(out, ",{}", node(ids[*row], &frame, run.samples[*row]))?;
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
