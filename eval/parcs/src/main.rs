//! `cargo run --release -p perfblame-eval-parcs`: fetches, runs, compares, writes the tables. A second start goes on
//! where the first one stopped.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use clap::Parser;
use perfblame_cct::Sides;
use perfblame_eval_parcs::document;
use perfblame_eval_parcs::experiment::{Measured, Plan, agent, kept, measure};
use perfblame_eval_parcs::programs::{PROGRAMS, Program};
use perfblame_eval_steps::{Work, write_whole};

/// The experiment of the PARCS paper, rerun
#[derive(Parser)]
struct Args {
    /// Where fetched programs, runs and comparisons are kept; the user's cache folder unless given
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Write the document to this file, and its figures into a folder of that name beside it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only these programs
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Runs before and after with each input
    #[arg(long, value_name = "N+M", default_value = "2+2")]
    runs: String,
    /// The exact profiler's jar; built where it is not there
    #[arg(long, value_name = "JAR")]
    agent: Option<PathBuf>,
    /// Run nothing: make the document of what was measured last
    #[arg(long)]
    document_only: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let work = Work::at(&args.work.clone().unwrap_or_else(|| Work::usual_folder("parcs")))?;
    let programs = programs(&args.only)?;
    if !args.document_only {
        measure_all(&args, &work, &programs)?;
    }
    let mut measured = Vec::new();
    for program in PROGRAMS {
        let [folder, file] = kept(program.name);
        let Ok(text) = std::fs::read(work.path(&[&folder, &file])) else { continue };
        measured.push(serde_json::from_slice::<Measured>(&text)?);
    }
    if measured.is_empty() {
        bail!("nothing was measured yet");
    }
    let Some(out) = &args.out else { return Ok(()) };
    let figures = out.with_extension("");
    std::fs::create_dir_all(&figures)?;
    let written = document::document(&measured, &document::machine());
    for (name, picture) in &written.figures {
        write_whole(&figures.join(name), picture.as_bytes())?;
    }
    write_whole(out, written.text.as_bytes())
}

fn measure_all(args: &Args, work: &Work, programs: &[&Program]) -> Result<()> {
    let cancel = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&cancel);
    ctrlc::set_handler(move || asked.store(true, Ordering::Relaxed))?;
    let plan = Plan { agent: agent(args.agent.as_deref())?, runs: runs(&args.runs)? };
    for (number, program) in (1..).zip(programs) {
        let Sides { before, after } = program.releases;
        eprintln!("{number} of {}: {} {before} and {after}", programs.len(), program.name);
        let measured = match measure(work, program, &plan, &cancel) {
            Ok(measured) => measured,
            Err(error) if cancel.load(Ordering::Relaxed) => return Err(error),
            Err(error) => {
                eprintln!("{}: {error:#}", program.name);
                let (program, failed) = (program.name.to_owned(), vec![format!("{error:#}")]);
                Measured { program, failed, ..Measured::default() }
            }
        };
        let [folder, file] = kept(program.name);
        let path = work.place(&[&folder, &file])?;
        write_whole(&path, &serde_json::to_vec_pretty(&measured)?)?;
    }
    Ok(())
}

fn programs(only: &[String]) -> Result<Vec<&'static Program>> {
    if only.is_empty() {
        return Ok(PROGRAMS.iter().collect());
    }
    let named = |name: &String| {
        let found = PROGRAMS.iter().find(|program| program.name == name);
        found.with_context(|| format!("unknown program {name}"))
    };
    only.iter().map(named).collect()
}

fn runs(text: &str) -> Result<Sides<usize>> {
    let parse =
        |text: &str| text.trim().parse().ok().filter(|runs: &usize| (1..=99).contains(runs));
    let both = text
        .split_once('+')
        .and_then(|(before, after)| Some(Sides { before: parse(before)?, after: parse(after)? }));
    both.with_context(|| format!("--runs {text}: expected a value such as 2+2"))
}
