//! `cargo xtask eval recorded`: plants into recorded runs, asks, scores, prints the tables. With `--record` it records
//! the runs.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Parser;
use perfblame_eval_planted::answer::Tested;
use perfblame_eval_planted::plant::PlantedKind;
use perfblame_eval_recorded::case::Spec;
use perfblame_eval_recorded::document;
use perfblame_eval_recorded::evaluate::{Plan, all_cases, evaluate, quick_cases};
use perfblame_eval_recorded::machine::{Condition, LoadKind, be_load};
use perfblame_eval_recorded::pool::{self, Pool};
use perfblame_eval_recorded::recording::Recording;
use perfblame_eval_steps::Work;

/// How often does each method name what was planted into recorded runs?
#[derive(Parser)]
struct Args {
    /// Cases for each program, kind, effect and number of runs
    #[arg(long, value_name = "N", default_value_t = 3)]
    cases: usize,
    /// Write the tables to this file, too, with how they were made
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Other cases
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// A few hundred cases within a minute
    #[arg(long)]
    quick: bool,
    /// Only these programs, such as `lua`
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    program: Vec<String>,
    /// Only runs that were recorded so
    #[arg(long, value_name = "CONDITION")]
    condition: Option<Condition>,
    /// Only these kinds, such as `new-callee`
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    only: Vec<String>,
    /// Only these sizes of effects, in percent
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    percent: Vec<f64>,
    /// Only these numbers of runs on each side
    #[arg(long, value_name = "N", value_delimiter = ',')]
    runs: Vec<usize>,
    /// Only these cases, such as `busy/lua/self-all/5/5+5/0`
    #[arg(long, value_name = "ID")]
    case: Vec<String>,
    /// Only these methods: suspects, self-difference, self-sorted, counts
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    method: Vec<String>,
    /// Keep cases that the first method fails in this folder, with the truth and the command that shows it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Show each case that the first method fails, and what each method answers
    #[arg(short, long)]
    verbose: bool,
    /// Ask the command line as well in every so many cases; 0 is never
    #[arg(long, value_name = "N", default_value_t = 0)]
    check_every: usize,
    /// Record the programs that have no runs yet, or those that `--program` names
    #[arg(long, value_name = "CONDITION")]
    record: Option<Condition>,
    /// The folder of the runs
    #[arg(long, value_name = "DIR", default_value_os_t = pool::folder())]
    folder: PathBuf,
    /// Where programs are built and recorded
    #[arg(long, value_name = "DIR", default_value_os_t = Work::usual_folder("recorded"))]
    work: PathBuf,
    #[arg(long, hide = true)]
    load: Option<LoadKind>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(kind) = args.load {
        be_load(kind);
        return Ok(());
    }
    if let Some(condition) = args.record {
        return record(&args, condition);
    }
    let started = Instant::now();
    let mut pools = pool::pools(&args.folder)?;
    pools.retain(|pool| {
        (args.program.is_empty() || args.program.contains(&pool.program))
            && args.condition.is_none_or(|condition| pool.condition == condition.name())
    });
    let specs = specs(&args, &pools)?;
    let plan = Plan {
        seed: args.seed,
        methods: methods(&args)?,
        keep: args.keep.clone(),
        verbose: args.verbose,
        check_every: args.check_every,
    };
    eprintln!("{} cases over the runs of {} programs", specs.len(), pools.len());
    let rows = evaluate(&specs, &pools, &plan)?;
    let text = document::tables(&rows, &plan.methods);
    std::io::stdout().lock().write_all(text.as_bytes())?;
    eprintln!("{} cases in {:.0} s", rows.len(), started.elapsed().as_secs_f64());
    if let Some(path) = &args.out {
        let text = document::document(&text, &pools, &args.folder, (args.cases, args.seed))?;
        std::fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn record(args: &Args, condition: Condition) -> Result<()> {
    let here = std::env::current_exe()?;
    let perfblame = here.with_file_name("perfblame");
    if !perfblame.exists() {
        bail!("{} is missing; `cargo xtask eval recorded` builds it", perfblame.display());
    }
    let recording = Recording {
        work: Work::at(&args.work)?,
        perfblame,
        agent: perfblame_eval_parcs::experiment::agent(None)?,
        condition,
        folder: args.folder.clone(),
    };
    recording.record(&args.program)
}

fn specs(args: &Args, pools: &[Pool]) -> Result<Vec<Spec>> {
    if !args.case.is_empty() {
        return args.case.iter().map(|name| name.parse()).collect();
    }
    let mut specs = if args.quick { quick_cases(pools) } else { all_cases(pools, args.cases) };
    let kinds: Vec<PlantedKind> = (args.only.iter())
        .map(|name| PlantedKind::from_name(name).with_context(|| format!("unknown kind {name}")))
        .collect::<Result<_>>()?;
    let percents: Vec<u32> =
        args.percent.iter().map(|percent| (percent * 10.0).round() as u32).collect();
    specs.retain(|spec| {
        (kinds.is_empty() || kinds.contains(&spec.kind))
            && (args.percent.is_empty() || percents.contains(&spec.per_mille))
            && (args.runs.is_empty() || args.runs.contains(&spec.runs.0))
    });
    if specs.is_empty() {
        bail!("no case is left");
    }
    Ok(specs)
}

fn methods(args: &Args) -> Result<Vec<Tested>> {
    if args.method.is_empty() {
        return Ok(Tested::ON_RECORDED_RUNS.to_vec());
    }
    let named =
        |name: &String| Tested::from_name(name).with_context(|| format!("unknown method {name}"));
    args.method.iter().map(named).collect()
}
