//! `cargo run --release -p perfblame-eval-zam`: makes cases, records them, asks, and writes the tables.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use perfblame_cct::Side;
use perfblame_eval_steps::Work;
use perfblame_eval_zam::app::{APPS, App};
use perfblame_eval_zam::bugs::BUGS;
use perfblame_eval_zam::case::{Spec, Truth};
use perfblame_eval_zam::document::document;
use perfblame_eval_zam::evaluate::Evaluation;
use perfblame_eval_zam::plan::{self, Set, TIMELINES};
use perfblame_eval_zam::record::Recorder;
use perfblame_eval_zam::{table, work};

/// The experiment of ZAM, rerun.
///
/// Everything is kept in a folder; the same command goes on where it was interrupted.
#[derive(Parser)]
struct Args {
    /// Where packages, time lines and answers are kept; the user's cache folder unless given
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// The program that records and is asked; beside this one unless given
    #[arg(long, value_name = "FILE")]
    perfblame: Option<PathBuf>,
    /// Other cases
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Only these applications
    #[arg(long, value_name = "NAME")]
    app: Vec<String>,
    /// No application: only the real slowdowns
    #[arg(long, conflicts_with = "app")]
    bugs_only: bool,
    /// Only make the cases
    #[arg(long)]
    make_only: bool,
    /// Record nothing; the tables of what is there
    #[arg(long)]
    table_only: bool,
    /// Record an application or one of its cases again: `vue`, `vue/loop-1`
    #[arg(long, value_name = "APP[/CASE]")]
    again: Vec<String>,
    /// Ask about comparisons of so many pairs only
    #[arg(long, value_name = "N")]
    pairs: Option<usize>,
    /// Write the tables to this file, too, with how they were made
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let work = args.work.clone().unwrap_or_else(|| Work::usual_folder("zam"));
    std::fs::create_dir_all(&work)?;
    let folder = work.canonicalize()?.join(format!("seed-{}", args.seed));
    let is_wanted = |app: &&App| {
        !args.bugs_only && (args.app.is_empty() || args.app.iter().any(|name| name == app.name))
    };
    let apps: Vec<&'static App> = APPS.iter().filter(is_wanted).collect();
    if apps.is_empty() && !args.bugs_only {
        let names: Vec<&str> = APPS.iter().map(|app| app.name).collect();
        bail!("the applications are {}", names.join(", "));
    }
    let beside = || Some(std::env::current_exe().ok()?.with_file_name("perfblame"));
    let perfblame = args.perfblame.clone().or_else(beside).context("cannot find perfblame")?;
    if !perfblame.exists() {
        bail!("{} does not exist; `cargo build --release` makes it", perfblame.display());
    }
    let recorder = Recorder { perfblame };
    let specs = Spec::all();
    for again in &args.again {
        forget(&folder, again)?;
    }
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}")?);
    if !args.table_only {
        for app in &apps {
            let made = plan::make_cases(app, &specs, args.seed, &folder, &recorder, |text| {
                bar.set_message(text);
            });
            // The others can still be made; the tables tell how many there are.
            if let Err(error) = made {
                bar.suspend(|| eprintln!("{error:#}"));
            }
        }
        if args.make_only {
            return Ok(());
        }
        record_all(&apps, &specs, &folder, &recorder, &bar)?;
    }
    bar.set_message("asking");
    bar.set_position(0);
    bar.set_length((apps.len() * (specs.len() + 1)) as u64);
    let evaluation = Evaluation::new(&folder, &recorder.perfblame, args.pairs)?;
    let measured = evaluation.all(&apps, &specs, BUGS, || bar.inc(1))?;
    bar.finish_and_clear();
    work::write_whole(&folder.join("measured.json"), &serde_json::to_vec(&measured)?)?;
    std::io::stdout().lock().write_all(table::tables(&measured, args.seed).as_bytes())?;
    if let Some(path) = &args.out {
        let text = document(&measured, args.seed);
        std::fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Records what is missing: in rounds, so that a machine that is busy for a while is so for all sides.
fn record_all(
    apps: &[&'static App],
    specs: &[Spec],
    folder: &Path,
    recorder: &Recorder,
    bar: &ProgressBar,
) -> Result<()> {
    let plans: Vec<(&App, Vec<Set>)> = (apps.iter())
        .map(|app| {
            let truths: Vec<Truth> = plan::truths(app, specs, folder);
            (*app, plan::sets(app, &truths))
        })
        .collect();
    let sets: usize = plans.iter().map(|(_, sets)| sets.len()).sum();
    bar.set_length(((sets + 2 * BUGS.len()) * TIMELINES) as u64);
    for number in 1..=TIMELINES {
        for (app, sets) in &plans {
            for set in sets {
                bar.set_message(format!("recording {} {} {number}", app.name, set.name));
                let site = folder.join(app.name).join("sites").join(&set.site);
                let to = set.file(folder, number);
                if let Err(error) = recorder.record(&site, app.flow, &[], &to) {
                    bar.suspend(|| eprintln!("{error:#}"));
                }
                bar.inc(1);
            }
        }
        for bug in BUGS {
            for side in Side::BOTH {
                bar.set_message(format!("recording {} {number}", bug.issue));
                let site = bug.site(folder, side)?;
                let to = bug.file(folder, side, number);
                if let Err(error) = recorder.record(&site, bug.flow, bug.options, &to) {
                    bar.suspend(|| eprintln!("{error:#}"));
                }
                bar.inc(1);
            }
        }
    }
    Ok(())
}

/// Removes the time lines of an application or of one of its cases.
fn forget(folder: &Path, what: &str) -> Result<()> {
    let (app, case) = what.split_once('/').unwrap_or((what, ""));
    if !APPS.iter().any(|known| known.name == app) {
        bail!("unknown application {app}");
    }
    let within = |folder: PathBuf| -> Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
    };
    let mut folders = Vec::new();
    let own = folder.join(app);
    if case.is_empty() {
        folders.extend(within(own.join("cases"))?);
        folders.extend(
            ["baseline", "baseline-2", "release", "baseline-minified"].map(|set| own.join(set)),
        );
    } else {
        folders.push(own.join("cases").join(case));
    }
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        for file in within(folder)? {
            if file.to_string_lossy().ends_with(".json.gz") {
                std::fs::remove_file(file)?;
            }
        }
    }
    Ok(())
}
