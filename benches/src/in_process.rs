//! What has no peer and a limit of its own: merging stacks, recursion, tasks, bytes per node. Measured in this process.

use std::time::Instant;

use perfblame_blame::{CriticalOptions, LeastDelta, Markers, Timelines, Wanted, critical_graph};
use perfblame_cct::{
    Grain, Metric, MetricId, ProfileBuilder, TaskDefinition, Times, Unit, merge_runs,
    recursive_parents, tasks,
};
use perfblame_fixtures::{synthetic_frames, synthetic_profile, synthetic_stacks};

use crate::inference;
use crate::matching;
use crate::table::BenchRow;

type InProcess = fn() -> Vec<BenchRow>;

/// Every bench of this kind.
pub const BENCHES: &[(&str, InProcess)] = &[
    ("merging samples into a tree", merge_samples),
    ("a tree of 1.5 million nodes", large_tree),
    ("critical graph of timelines", timelines),
    ("matching two trees", matching::match_trees),
    ("inferring latencies", inference::infer),
];

/// Depth of the stacks that trees are made of.
pub const DEPTH: usize = 40;

pub fn row(what: &str, input: &str, measured: f64, unit: &str, limit: f64) -> BenchRow {
    BenchRow {
        what: what.to_owned(),
        input: input.to_owned(),
        ours: format!("{measured:.3} {unit}"),
        peer: "none".to_owned(),
        result: format!("{measured:.3} {unit}"),
        goal: format!("≤ {limit} {unit}"),
        met: measured <= limit,
    }
}

/// The time to make the stacks is part of it.
fn merge_samples() -> Vec<BenchRow> {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    let metric = builder.metric(Metric::sampled("samples", Unit::Count));
    let frames = synthetic_frames(&mut builder);
    let mut stack = Vec::new();
    let start = Instant::now();
    let mut stacks = synthetic_stacks(10_000_000, DEPTH, 1);
    while let Some(next) = stacks.next_stack() {
        stack.clear();
        stack.extend(next.iter().map(|number| frames[*number as usize]));
        builder.sample(&stack, None, metric, 1);
    }
    let profile = builder.finish();
    let seconds = start.elapsed().as_secs_f64();
    let input = format!("10 million samples of depth {DEPTH}, {} nodes", profile.tree.len());
    vec![row("merging samples into a tree", &input, seconds, "s", 3.0)]
}

fn large_tree() -> Vec<BenchRow> {
    let profile = synthetic_profile(1_500_000, DEPTH, 1);
    let nodes = profile.tree.len();
    let input = format!("{nodes} nodes");
    let bytes = profile.heap_bytes() as f64 / nodes as f64;
    let recursion = fastest(|| recursive_parents(&profile).len());
    let mut rows = vec![
        row("memory of a tree with one metric", &input, bytes, "bytes a node", 40.0),
        row("recursion", &input, recursion, "s", 0.5),
    ];
    for definition in [
        "prefix:program::module1 as one",
        "regex:^program::module(?<number>[0-9]+)::function1 as module-${number}",
    ] {
        let Ok(parsed) = TaskDefinition::parse(definition) else { continue };
        let seconds = fastest(|| tasks(&profile, std::slice::from_ref(&parsed)).names().len());
        rows.push(row(&format!("a new task, `{definition}`"), &input, seconds, "s", 0.2));
    }
    rows
}

/// Three pairs of runs; those after do what those before do and more, so that nearly every level is looked at.
fn timelines() -> Vec<BenchRow> {
    let runs = |nodes: usize| {
        merge_runs((1..=3).map(|seed| synthetic_profile(nodes, DEPTH, seed)).collect())
    };
    let (before, after) = (runs(5_000), runs(6_000));
    let metric = MetricId::new(0);
    let options = CriticalOptions { least: LeastDelta::Absolute(1.0), markers: Markers::default() };
    let mut nodes = 0;
    let seconds = fastest(|| {
        let old = Timelines { runs: &before, metric, scale: &[] };
        let new = Timelines { runs: &after, metric, scale: &[] };
        nodes = critical_graph(&old, &new, &options, Wanted::default()).nodes.len();
        nodes
    });
    let input = format!("three pairs of 5,000 and 6,000 nodes, {nodes} of them in the graph");
    vec![row("critical graph of timelines", &input, seconds * 1e3, "ms", 20.0)]
}

/// Seconds of the fastest turn: of five at least, and of as many as fit into a fifth of a second.
pub fn fastest(mut work: impl FnMut() -> usize) -> f64 {
    let (began, mut best) = (Instant::now(), f64::INFINITY);
    let mut turns = 0;
    while turns < 5 || began.elapsed().as_secs_f64() < 0.2 {
        let start = Instant::now();
        std::hint::black_box(work());
        best = best.min(start.elapsed().as_secs_f64());
        turns += 1;
    }
    best
}
