//! `cargo run --release -p perfblame-eval-planted`: plants, asks, scores, prints the tables.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Parser;
use perfblame_eval_planted::answer::Tested;
use perfblame_eval_planted::base::{From, bases};
use perfblame_eval_planted::case::Spec;
use perfblame_eval_planted::evaluate::{CaseRow, Plan, all_cases, evaluate, quick_cases};
use perfblame_eval_planted::noise::Ranges;
use perfblame_eval_planted::plant::PlantedKind;
use perfblame_eval_planted::table;

/// How often does each method name what was planted?
#[derive(Parser)]
struct Args {
    /// Cases for each cell of the tables
    #[arg(long, value_name = "N", default_value_t = 200)]
    cases: usize,
    /// Write the tables to this file, too, with how they were made
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Other cases
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// A few cases within seconds
    #[arg(long)]
    quick: bool,
    /// Only these kinds, such as `new-callee`
    #[arg(long, value_name = "KIND")]
    only: Vec<String>,
    /// Only these sizes of effects, in percent
    #[arg(long, value_name = "PERCENT")]
    percent: Vec<u32>,
    /// Only these numbers of runs, such as 5+5
    #[arg(long, value_name = "N+M")]
    runs: Vec<String>,
    /// Only these cases, such as `self-all/5/5+5/17`
    #[arg(long, value_name = "ID")]
    case: Vec<String>,
    /// Only these methods: suspects, critical-graph, critical-graph-1%, self-difference,
    /// self-sorted, counts
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    method: Vec<String>,
    /// Keep cases that the first method fails in this folder, with the truth and the command that shows it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Say what each method answers in each case
    #[arg(short, long)]
    verbose: bool,
    /// Ask the command line as well in every so many cases; 0 is never
    #[arg(long, value_name = "N", default_value_t = 250)]
    check_every: usize,
    /// Use only trees of sample files that come with the project
    #[arg(long)]
    samples_only: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let started = Instant::now();
    let specs = specs(&args)?;
    let methods = methods(&args)?;
    let bases = bases(if args.samples_only { From::Samples } else { From::Anywhere })?;
    let plan = Plan {
        seed: args.seed,
        ranges: Ranges::default(),
        methods,
        keep: args.keep.clone(),
        verbose: args.verbose,
        check_every: args.check_every,
    };
    eprintln!("{} cases over {} trees", specs.len(), bases.len());
    let rows = evaluate(&specs, &bases, &plan)?;
    let text = table::tables(&rows, &plan.methods);
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    say_times(&rows, started);
    if let Some(path) = &args.out {
        let names: Vec<&str> = bases.iter().map(|base| base.name.as_str()).collect();
        let text = table::document(&text, &rows, &names, args.seed, args.cases);
        std::fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn specs(args: &Args) -> Result<Vec<Spec>> {
    if !args.case.is_empty() {
        return args.case.iter().map(|name| name.parse()).collect();
    }
    let mut specs = if args.quick { quick_cases(120) } else { all_cases(args.cases) };
    let kinds: Vec<PlantedKind> = (args.only.iter())
        .map(|name| PlantedKind::from_name(name).with_context(|| format!("unknown kind {name}")))
        .collect::<Result<_>>()?;
    let named_runs = |spec: &Spec| format!("{}+{}", spec.runs.0, spec.runs.1);
    specs.retain(|spec| {
        (kinds.is_empty() || kinds.contains(&spec.kind))
            && (args.percent.is_empty() || args.percent.contains(&spec.percent))
            && (args.runs.is_empty() || args.runs.contains(&named_runs(spec)))
    });
    if specs.is_empty() {
        bail!("no case is left");
    }
    Ok(specs)
}

fn methods(args: &Args) -> Result<Vec<Tested>> {
    if args.method.is_empty() {
        return Ok(Tested::ON_DRAWN_RUNS.to_vec());
    }
    let named =
        |name: &String| Tested::from_name(name).with_context(|| format!("unknown method {name}"));
    args.method.iter().map(named).collect()
}

/// Where the time went, for whoever waits.
fn say_times(rows: &[CaseRow], started: Instant) {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (what, seconds) in rows.iter().flat_map(|row| &row.seconds) {
        *sums.entry(what).or_default() += seconds;
    }
    let parts: Vec<String> = (sums.iter())
        .map(|(what, seconds)| format!("{what} {:.1} ms", seconds * 1e3 / rows.len().max(1) as f64))
        .collect();
    eprintln!(
        "{} cases in {:.0} s; a case: {}",
        rows.len(),
        started.elapsed().as_secs_f64(),
        parts.join(", ")
    );
}
