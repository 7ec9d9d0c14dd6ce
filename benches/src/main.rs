//! Throughput and peak memory beside the peers', in one run on one machine. `cargo xtask bench` builds, runs this and
//! rewrites `docs/benchmarks.md`.
//!
//! Seconds on shared machines say little; ours and the peer's take turns, and the ratio of their medians is the result.

mod in_process;
mod inputs;
mod matching;
mod measure;
mod peers;
mod table;

use anyhow::Result;

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
    for (name, bench) in in_process::BENCHES {
        if wants(name) {
            let mut found = bench();
            for row in &found {
                eprintln!("{}", table::line(Some(row)));
            }
            rows.append(&mut found);
        }
    }
    table::write(&rows, wanted.is_empty())
}
