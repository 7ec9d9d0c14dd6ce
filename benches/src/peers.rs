//! Reading beside the peers: whole processes, taking turns.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::inputs;
use crate::measure::{self, Usage};
use crate::table::BenchRow;

/// What we must reach.
pub enum Goal {
    /// At least this many times as fast as the peer.
    Faster(f64),
    /// At most these seconds and bytes; nobody else reads it.
    Within(f64, u64),
}

/// One comparison.
pub struct Bench {
    pub name: &'static str,
    input: fn() -> Result<PathBuf>,
    /// The peer and its arguments before the file; none where there is no peer.
    peer: Option<&'static str>,
    rounds: usize,
    goal: Goal,
}

/// Every comparison.
pub const BENCHES: &[Bench] = &[
    Bench {
        name: "perf script text",
        input: inputs::perf_script,
        peer: Some("inferno-collapse-perf -n 1"),
        rounds: 5,
        goal: Goal::Faster(2.0),
    },
    Bench {
        name: "folded stacks",
        input: inputs::folded,
        peer: Some("inferno-flamegraph"),
        rounds: 5,
        goal: Goal::Faster(3.0),
    },
    Bench {
        name: "JFR",
        input: inputs::jfr,
        peer: Some(
            "jfr print --json --stack-depth 512 --events jdk.ExecutionSample,jdk.NativeMethodSample,jdk.ObjectAllocationSample,jdk.ObjectAllocationInNewTLAB,jdk.ObjectAllocationOutsideTLAB,jdk.JavaMonitorEnter,jdk.JavaMonitorWait,jdk.ThreadPark",
        ),
        rounds: 3,
        goal: Goal::Faster(50.0),
    },
    Bench {
        name: "pprof .pb.gz",
        input: inputs::pprof,
        peer: Some("pprof -raw"),
        rounds: 5,
        goal: Goal::Faster(3.0),
    },
    Bench {
        name: "perf.data with DWARF stacks",
        input: inputs::perf_data,
        peer: Some("perf script --no-inline -i"),
        rounds: 3,
        goal: Goal::Faster(10.0),
    },
    Bench {
        name: "Chrome trace of 1 GB",
        input: inputs::chrome_trace,
        peer: None,
        rounds: 3,
        goal: Goal::Within(5.0, 400_000_000),
    },
];

/// The release binary beside this one.
pub fn perfblame() -> Result<String> {
    let here = std::env::current_exe()?;
    Ok(here.parent().context("no folder")?.join("perfblame").display().to_string())
}

/// Runs one comparison.
pub fn run(bench: &Bench) -> Result<BenchRow> {
    let input = (bench.input)()?;
    let size = std::fs::metadata(&input)?.len();
    let file = input.display();
    let ours = format!("{} show --format json '{file}'", perfblame()?);
    let (our_use, peer_use) = if let Some(peer) = bench.peer {
        let peer = format!("{peer} '{file}'");
        let (our_use, peer_use) = measure::take_turns(&ours, &peer, bench.rounds)?;
        (our_use, Some(peer_use))
    } else {
        let uses: Result<Vec<_>> = (0..bench.rounds).map(|_| measure::process(&ours)).collect();
        (measure::median(uses?), None)
    };
    let shown = |usage: &Usage| {
        let rate = size as f64 / 1e6 / usage.seconds.max(0.001);
        format!("{:.2} s, {rate:.0} MB/s, {:.0} MB peak", usage.seconds, usage.peak as f64 / 1e6)
    };
    let ratio = peer_use.map(|peer| peer.seconds / our_use.seconds.max(0.001));
    let (goal, met) = match bench.goal {
        Goal::Faster(times) => (format!("≥ {times} ×"), ratio.is_some_and(|ratio| ratio >= times)),
        Goal::Within(seconds, bytes) => (
            format!("≤ {seconds} s, ≤ {} MB", bytes / 1_000_000),
            our_use.seconds <= seconds && our_use.peak <= bytes,
        ),
    };
    let peer_name = bench.peer.and_then(|peer| peer.split(" --events").next());
    Ok(BenchRow {
        what: bench.name.to_owned(),
        input: format!("{:.0} MB", size as f64 / 1e6),
        ours: shown(&our_use),
        peer: match (peer_name, &peer_use) {
            (Some(name), Some(usage)) => format!("`{name}`: {}", shown(usage)),
            _ => "none".to_owned(),
        },
        result: ratio.map_or_else(|| shown(&our_use), |ratio| format!("{ratio:.1} × as fast")),
        goal,
        met,
    })
}
