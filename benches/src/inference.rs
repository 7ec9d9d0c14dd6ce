//! Latencies from stack events, once they are read: events a second, and memory with many threads.

use std::time::Instant;

use perfblame_cct::{
    EventKind, EventSink, FrameId, Grain, Leaving, ProfileBuilder, StackEvent, Thread, ThreadId,
    Times, UnknownCode,
};
use perfblame_fixtures::{synthetic_frames, synthetic_stacks};
use perfblame_latency::Inference;

use crate::in_process::DEPTH;
use crate::table::BenchRow;

const EVENTS: usize = 5_000_000;
const THREADS: usize = 200;

/// Stacks are made beforehand and used again and again, as reading them is not what is measured.
const STACKS: usize = 100_000;

/// Five million events of two hundred threads.
pub fn infer() -> Vec<BenchRow> {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    let frames = synthetic_frames(&mut builder);
    let mut stacks: Vec<Vec<FrameId>> = Vec::with_capacity(STACKS);
    let mut made = synthetic_stacks(STACKS, DEPTH, 1);
    while let Some(next) = made.next_stack() {
        stacks.push(next.iter().map(|number| frames[*number as usize]).collect());
    }
    let threads: Vec<ThreadId> = (0..THREADS)
        .map(|number| {
            let name = builder.string(&format!("worker-{number}"));
            let tid = Some(number as u64 + 1);
            builder.thread(Thread { tid, pid: Some(1), ..Thread::named(name) })
        })
        .collect();
    let call = builder.string("read");
    let mut inference = Inference::default();
    let start = Instant::now();
    for number in 0..EVENTS {
        // A thread enters a call, leaves its processor, is back, and leaves the call, all with one stack.
        let round = number / (4 * THREADS);
        let (thread, step) = (number % THREADS, number / THREADS % 4);
        let kind = match step {
            0 => EventKind::Enter(call),
            1 => EventKind::SwitchOut(Leaving::Blocked),
            2 => EventKind::SwitchIn,
            _ => EventKind::Exit(Some(call)),
        };
        let stack = &stacks[(round + thread * 499) % stacks.len()];
        let stack = if step == 2 { &[][..] } else { stack };
        let event = StackEvent { time: number as i64 * 100, thread: threads[thread], kind };
        inference.event(&mut builder, event, stack, &mut UnknownCode);
    }
    inference.finish(&mut builder);
    let seconds = start.elapsed().as_secs_f64();
    let profile = builder.finish();
    let input = format!(
        "{} million events of {THREADS} threads, depth {DEPTH}, {} contexts",
        EVENTS / 1_000_000,
        profile.tree.len()
    );
    let rate = EVENTS as f64 / seconds / 1e6;
    let goal = 2.0;
    let mut rows = vec![BenchRow {
        what: "inferring latencies".to_owned(),
        input: input.clone(),
        ours: format!("{seconds:.2} s"),
        peer: "none".to_owned(),
        result: format!("{rate:.2} million events/s"),
        goal: format!("≥ {goal} million events/s"),
        met: rate >= goal,
    }];
    if let Some(peak) = peak_megabytes() {
        rows.push(crate::in_process::row(
            "memory of inferring latencies",
            &input,
            peak,
            "MB",
            1000.0,
        ));
    }
    rows
}

/// The most memory that this process has had so far.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}
