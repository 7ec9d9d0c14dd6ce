//! What has no peer and a limit of its own: merging stacks, recursion, tasks, bytes per node. Measured in this process.

use std::time::Instant;

use perfblame_cct::{
    Frame, FrameId, Function, Grain, Metric, Profile, ProfileBuilder, Times, Unit,
};

use crate::table::Row;

type InProcess = fn() -> Vec<Row>;

/// Every bench of this kind.
pub const BENCHES: &[(&str, InProcess)] = &[("merge", merge_samples)];

fn row(what: &str, input: &str, measured: f64, unit: &str, limit: f64) -> Row {
    Row {
        what: what.to_owned(),
        input: input.to_owned(),
        ours: format!("{measured:.2} {unit}"),
        peer: "none".to_owned(),
        result: format!("{measured:.2} {unit}"),
        goal: format!("≤ {limit} {unit}"),
        met: measured <= limit,
    }
}

/// Stacks of one depth that branch the way programs do: near the root few ways, near the leaf many.
struct Stacks {
    frames: Vec<FrameId>,
    state: u64,
}

impl Stacks {
    fn new(builder: &mut ProfileBuilder, functions: usize) -> Self {
        let frames = (0..functions)
            .map(|number| {
                let name = builder.string(&format!("function_{number}"));
                let function = builder.function(Function::named(name));
                builder.frame(Frame::of(function))
            })
            .collect();
        Self { frames, state: 0x9e37_79b9_7f4a_7c15 }
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// Fills `stack`; `ways` bits of choice are spread over its lower half.
    fn next(&mut self, stack: &mut Vec<FrameId>, depth: usize, ways: u32) {
        let choice = self.random() >> (64 - ways);
        stack.clear();
        let mut mixed = 1u64;
        for level in 0..depth {
            if level >= depth / 2 {
                let bits = (choice >> ((level - depth / 2) as u32 * ways / (depth as u32 / 2))) & 1;
                mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(bits + level as u64);
            } else {
                mixed = mixed.wrapping_mul(31).wrapping_add(level as u64);
            }
            stack.push(self.frames[(mixed >> 20) as usize % self.frames.len()]);
        }
    }
}

fn merge_samples() -> Vec<Row> {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    let metric = builder.metric(Metric::sampled("samples", Unit::Count));
    let mut stacks = Stacks::new(&mut builder, 5000);
    let mut stack = Vec::new();
    let making = Instant::now();
    for _ in 0..10_000_000 {
        stacks.next(&mut stack, 40, 16);
        std::hint::black_box(&stack);
    }
    let making = making.elapsed().as_secs_f64();
    let start = Instant::now();
    for _ in 0..10_000_000 {
        stacks.next(&mut stack, 40, 16);
        builder.sample(&stack, None, metric, 1);
    }
    let profile: Profile = builder.finish();
    let seconds = start.elapsed().as_secs_f64() - making;
    let input = format!("10 million samples of depth 40, {} nodes", profile.tree.len());
    vec![row("merging samples into a tree", &input, seconds, "s", 3.0)]
}
