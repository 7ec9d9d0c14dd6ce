//! `cargo xtask eval introperf`: records, compares, writes the tables. A second start goes on where the first one
//! stopped.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use perfblame_eval_introperf::case::{Case, Side};
use perfblame_eval_introperf::cases::cases;
use perfblame_eval_introperf::machine;
use perfblame_eval_introperf::recording::{Way, record};
use perfblame_eval_introperf::work::Work;

/// The experiments of the IntroPerf paper, rerun
#[derive(Parser)]
struct Args {
    /// Where inputs, traces and results are kept; the user's cache folder unless given
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Write the document to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only these cases
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// The program to ask
    #[arg(long, value_name = "FILE")]
    perfblame: Option<PathBuf>,
    /// Interrupt whatever runs on the same processor, until the input ends
    #[arg(long, hide = true)]
    tick: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if args.tick {
        machine::tick();
        return Ok(());
    }
    let work = Work::at(&args.work.clone().unwrap_or_else(Work::usual_folder))?;
    let cases = chosen(&args.only)?;
    machine::go_first();
    let perfblame = args.perfblame.clone().unwrap_or_else(|| PathBuf::from("perfblame"));
    for case in &cases {
        machine::install(case.packages)?;
        for way in [Way::Switches, Way::Ticks] {
            for side in Side::BOTH {
                let start = std::time::Instant::now();
                let trace = record(&work, case, side, way, &perfblame);
                match trace {
                    Ok(trace) => eprintln!(
                        "{} {} {}: {:.1} s, {} MB",
                        case.name,
                        side.name(),
                        way.name(),
                        start.elapsed().as_secs_f64(),
                        std::fs::metadata(&trace.file)?.len() >> 20
                    ),
                    Err(error) => eprintln!("{error:#}"),
                }
            }
        }
    }
    Ok(())
}

fn chosen(only: &[String]) -> Result<Vec<&'static Case>> {
    if only.is_empty() {
        return Ok(cases());
    }
    let named = |name: &String| {
        let found = cases().into_iter().find(|case| case.name == name);
        found.with_context(|| format!("no case is called {name}"))
    };
    only.iter().map(named).collect()
}
