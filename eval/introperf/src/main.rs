//! `cargo xtask eval introperf`: records, compares, writes the tables. A second start goes on where the first one
//! stopped.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use perfblame_eval_introperf::case::Case;
use perfblame_eval_introperf::cases::cases;
use perfblame_eval_introperf::causes::{Row, row};
use perfblame_eval_introperf::machine;
use perfblame_eval_introperf::rank::Found;
use perfblame_eval_introperf::recording::Way;
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
    /// Only these ways to trace: switches, ticks, default
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    way: Vec<String>,
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
        for way in Way::ALL {
            if !args.way.is_empty() && !args.way.iter().any(|name| name == way.name()) {
                continue;
            }
            let row = row(&work, case, way, &perfblame).unwrap_or_else(|error| Row {
                case: case.name.to_owned(),
                way: way.name().to_owned(),
                failed: Some(format!("{error:#}")),
                ..Row::default()
            });
            let found = |found: Option<Found>| {
                found.map_or("-".to_owned(), |found| {
                    format!("{}/{}/{}", found.p_min, found.f_min, found.place)
                })
            };
            eprintln!(
                "{:18} {:9} plain {:10} ours {:10} suspects {:?} {:?} seen {:?} {:?} {}",
                row.case,
                row.way,
                found(row.plain),
                found(row.ours),
                row.suspects.itself,
                row.suspects.on_path,
                row.seen,
                row.sizes,
                row.failed.as_deref().unwrap_or_default().lines().next().unwrap_or_default()
            );
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
