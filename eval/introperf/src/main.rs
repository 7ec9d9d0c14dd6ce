//! `cargo xtask eval introperf`: records, compares, writes the tables. A second start goes on where the first one
//! stopped.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use perfblame_eval_introperf::case::Case;
use perfblame_eval_introperf::cases::cases as all_cases;
use perfblame_eval_introperf::document::{Measured, document};
use perfblame_eval_introperf::overhead::LOADS;
use perfblame_eval_introperf::programs::PROGRAMS;
use perfblame_eval_introperf::rank::Found;
use perfblame_eval_introperf::recording::Way;
use perfblame_eval_introperf::{causes, inference, machine, overhead};
use perfblame_eval_steps::{Work, write_whole};

/// How often each load is run each way.
const ROUNDS: usize = 5;

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
    /// The program to ask; beside this one unless given
    #[arg(long, value_name = "FILE")]
    perfblame: Option<PathBuf>,
    /// Leave the cases out
    #[arg(long)]
    programs_only: bool,
    /// Run nothing: make the document of what was measured last
    #[arg(long)]
    document_only: bool,
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
    let work = Work::at(&args.work.clone().unwrap_or_else(|| Work::usual_folder("introperf")))?;
    let cases = if args.programs_only { Vec::new() } else { chosen(&args.only)? };
    machine::go_first();
    let perfblame = match &args.perfblame {
        Some(path) => std::path::absolute(path)?,
        None => std::env::current_exe()?.with_file_name("perfblame"),
    };
    let mut measured = Measured::default();
    if !args.document_only {
        machine::install(&[
            "linux-perf",
            "uftrace",
            "gcc",
            "libc6-dev",
            "curl",
            "dpkg-dev",
            "byacc",
        ])?;
        for case in &cases {
            machine::install(case.packages)?;
            for way in Way::ALL {
                if args.way.is_empty() || args.way.iter().any(|name| name == way.name()) {
                    let row = cause(&work, case, way, &perfblame);
                    keep(&work, &format!("cause-{}-{}", row.case, row.way), &row)?;
                }
            }
        }
        if args.only.is_empty() {
            measure_programs(&work, &perfblame)?;
        }
    }
    for case in all_cases() {
        for way in Way::ALL {
            measured.causes.extend(kept(&work, &format!("cause-{}-{}", case.name, way.name())));
        }
    }
    let programs = PROGRAMS.iter().filter_map(|one| kept(&work, &format!("calls-{}", one.name)));
    measured.programs = programs.collect();
    let loads = LOADS.iter().filter_map(|load| kept(&work, &format!("overhead-{}", load.name)));
    measured.overhead = loads.collect();
    if let Some(out) = &args.out {
        write_whole(out, document(&measured, &machine::description()).as_bytes())?;
    }
    Ok(())
}

fn measure_programs(work: &Work, perfblame: &Path) -> Result<()> {
    for program in PROGRAMS {
        match inference::row(work, program, perfblame) {
            Ok(row) => {
                eprintln!("{row:?}");
                keep(work, &format!("calls-{}", program.name), &row)?;
            }
            Err(error) => eprintln!("{}: {error:#}", program.name),
        }
    }
    for load in LOADS {
        let name = format!("overhead-{}", load.name);
        if kept::<overhead::OverheadRow>(work, &name).is_some() {
            continue;
        }
        match overhead::row(work, load, ROUNDS, perfblame) {
            Ok(row) => {
                eprintln!("{row:?}");
                keep(work, &name, &row)?;
            }
            Err(error) => eprintln!("{}: {error:#}", load.name),
        }
    }
    Ok(())
}

/// A case that fails is a row that says so.
fn cause(work: &Work, case: &Case, way: Way, perfblame: &Path) -> causes::CauseRow {
    let row = causes::row(work, case, way, perfblame).unwrap_or_else(|error| causes::CauseRow {
        case: case.name.to_owned(),
        way: way.name().to_owned(),
        failed: Some(format!("{error:#}")),
        ..causes::CauseRow::default()
    });
    let found = |found: Option<Found>| {
        found.map_or("-".to_owned(), |found| format!("{}/{}", found.p_min, found.f_min))
    };
    eprintln!(
        "{:18} {:9} the paper {:6} ours {:6} suspects {:?} ({:?}) {}",
        row.case,
        row.way,
        found(row.plain),
        found(row.ours),
        row.suspects.itself,
        row.suspects.on_path,
        row.failed.as_deref().unwrap_or_default().lines().next().unwrap_or_default()
    );
    row
}

fn keep(work: &Work, name: &str, row: &impl serde::Serialize) -> Result<()> {
    let path = work.place(&["results", &format!("{name}.json")])?;
    write_whole(&path, &serde_json::to_vec_pretty(row)?)
}

fn kept<T: serde::de::DeserializeOwned>(work: &Work, name: &str) -> Option<T> {
    let text = std::fs::read(work.path(&["results", &format!("{name}.json")])).ok()?;
    serde_json::from_slice(&text).ok()
}

fn chosen(only: &[String]) -> Result<Vec<&'static Case>> {
    if only.is_empty() {
        return Ok(all_cases());
    }
    let named = |name: &String| {
        let found = all_cases().into_iter().find(|case| case.name == name);
        found.with_context(|| format!("unknown case {name}"))
    };
    only.iter().map(named).collect()
}
