//! Throughput and peak memory beside the peers', in one run on one machine. `cargo xtask bench` builds, runs this and
//! rewrites `docs/benchmarks.md`.
//!
//! Seconds on shared machines say little; ours and the peer's take turns, and the ratio of their medians is the result.

mod changes;
mod classes;
mod diffs;
mod in_process;
mod inference;
mod inputs;
mod matching;
mod measure;
mod peers;
mod source_maps;
mod table;

use anyhow::{Context, Result};

/// The allocator of the command line.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let wants =
        |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()));
    let mut rows = Vec::new();
    for bench in peers::BENCHES {
        if wants(bench.name) {
            rows.push(peers::run(bench)?);
            eprintln!("{}", table::line(rows.last()));
        }
    }
    let in_process = in_process::BENCHES.iter().map(|(name, bench)| (*name, Work::Sure(*bench)));
    let diffs = diffs::BENCHES.iter().map(|(name, bench)| (*name, Work::Unsure(*bench)));
    let classes = classes::BENCHES.iter().map(|(name, bench)| (*name, Work::Unsure(*bench)));
    let maps = source_maps::BENCHES.iter().map(|(name, bench)| (*name, Work::Unsure(*bench)));
    let all = in_process.chain(diffs).chain(classes).chain(maps);
    for (name, work) in all.filter(|(name, _)| wants(name)) {
        let mut found = match work {
            Work::Sure(bench) => bench(),
            Work::Unsure(bench) => bench().with_context(|| name.to_owned())?,
        };
        for row in &found {
            eprintln!("{}", table::line(Some(row)));
        }
        rows.append(&mut found);
    }
    table::write(&rows, wanted.is_empty())
}

/// A bench that makes its rows itself; one with a peer can fail.
enum Work {
    Sure(fn() -> Vec<table::BenchRow>),
    Unsure(fn() -> Result<Vec<table::BenchRow>>),
}
