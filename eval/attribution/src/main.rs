//! `cargo run --release -p perfblame-eval-attribution`: makes commits, checks them, scores, prints the table.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use perfblame_eval_attribution::ask::{Scored, ask, score};
use perfblame_eval_attribution::baseline::{Known, baseline};
use perfblame_eval_attribution::case::{Sort, Spec, given_up_file, read, truth_file};
use perfblame_eval_attribution::making::{make, verify};
use perfblame_eval_attribution::project::{PROJECTS, Project};
use perfblame_eval_attribution::table;
use perfblame_eval_attribution::workshop::Workshop;

/// How often does `perfblame check` blame the right hunk?
///
/// Everything is kept in a folder; the same command goes on where it was interrupted.
#[derive(Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
struct Args {
    /// Where repositories, cases and answers are kept; the user's cache folder unless given
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// The program that is asked; beside this one unless given
    #[arg(long, value_name = "FILE")]
    perfblame: Option<PathBuf>,
    /// Other cases
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Slow commits of each project
    #[arg(long, value_name = "N", default_value_t = 8)]
    slow: usize,
    /// Innocent commits of each project
    #[arg(long, value_name = "N", default_value_t = 8)]
    innocent: usize,
    /// Only these projects
    #[arg(long, value_name = "NAME")]
    project: Vec<String>,
    /// Only make the commits
    #[arg(long)]
    make_only: bool,
    /// Make and ask nothing; the table of what is there
    #[arg(long)]
    table_only: bool,
    /// Measure the slow commits again, and give up those that are not slower or far too slow
    #[arg(long)]
    verify: bool,
    /// List what the baseline of each project shows
    #[arg(long)]
    show_baseline: bool,
    /// Write the table to this file, too, with how it was made
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let work = args.work.clone().unwrap_or_else(in_cache);
    std::fs::create_dir_all(&work)?;
    let work = work.canonicalize()?.join(format!("seed-{}", args.seed));
    let projects: Vec<&Project> = (PROJECTS.iter())
        .filter(|project| {
            args.project.is_empty() || args.project.iter().any(|name| name == project.name)
        })
        .collect();
    if projects.is_empty() {
        let names: Vec<&str> = PROJECTS.iter().map(|project| project.name).collect();
        bail!("the projects are {}", names.join(", "));
    }
    let specs = Spec::all(args.slow, args.innocent);
    let bar = ProgressBar::new((specs.len() * projects.len() * 2) as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}")?);
    if !args.table_only {
        for project in &projects {
            make_all(project, &specs, &args, &work, &bar)?;
        }
    }
    let mut rows = Vec::new();
    if !args.make_only && !args.show_baseline {
        let beside = || Some(std::env::current_exe().ok()?.with_file_name("perfblame"));
        let built = args.perfblame.clone().or_else(beside).context("cannot find perfblame")?;
        // A copy: whoever builds another one meanwhile does not change who is asked.
        let perfblame = work.join("perfblame");
        if !args.table_only {
            let _ = std::fs::remove_file(&perfblame);
            std::fs::copy(&built, &perfblame).with_context(|| built.display().to_string())?;
        }
        // In turns, so that a table of what is there so far has some of everything.
        for spec in &specs {
            for project in &projects {
                let truth = truth_file(project, &spec.name(), &work);
                let answer =
                    work.join(project.name).join("answers").join(format!("{}.json", spec.name()));
                if !truth.exists() || (args.table_only && !answer.exists()) {
                    continue;
                }
                bar.set_message(format!("checking {} {}", project.name, spec.name()));
                let (answer, seconds) = ask(project, &spec.name(), &work, &perfblame)?;
                bar.inc(1);
                let scored = score(read(&truth)?, &answer, seconds);
                bar.suspend(|| say(&scored));
                rows.push(scored);
            }
        }
    }
    bar.finish_and_clear();
    if !rows.is_empty() {
        let text = table::tables(&rows);
        std::io::stdout().lock().write_all(text.as_bytes())?;
        if let Some(path) = &args.out {
            let text = table::document(&text, &projects, args.seed);
            std::fs::write(path, text).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

/// The user's cache folder: repositories within the project's own would be looked through by its tools.
fn in_cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("perfblame").join("eval-attribution")
}

/// Makes the cases of a project that are not there.
fn make_all(
    project: &Project,
    specs: &[Spec],
    args: &Args,
    work: &std::path::Path,
    bar: &ProgressBar,
) -> Result<()> {
    if args.verify {
        let workshop = Workshop::open(project, work)?;
        for spec in specs.iter().filter(|spec| matches!(spec.sort, Sort::Slow(_))) {
            let path = truth_file(project, &spec.name(), work);
            let Ok(mut truth) = read(&path) else { continue };
            let (ratio, good) = verify(&workshop, &spec.name())?;
            bar.suspend(|| {
                eprintln!("{} {} {:.2} {ratio:.2} {good}", project.name, spec.name(), truth.ratio);
            });
            if good {
                truth.ratio = ratio;
                std::fs::write(path, serde_json::to_vec_pretty(&truth)?)?;
            } else {
                std::fs::remove_file(path)?;
                let answer =
                    work.join(project.name).join("answers").join(format!("{}.json", spec.name()));
                let _ = std::fs::remove_file(answer);
            }
        }
    }
    let is_missing = |spec: &&Spec| {
        !truth_file(project, &spec.name(), work).exists()
            && !given_up_file(project, &spec.name(), work).exists()
    };
    let missing: Vec<&Spec> = specs.iter().filter(is_missing).collect();
    bar.inc((specs.len() - missing.len()) as u64);
    if missing.is_empty() && !args.show_baseline {
        return Ok(());
    }
    bar.set_message(format!("preparing {}", project.name));
    let workshop = Workshop::open(project, work)?;
    let known: Vec<Known> = baseline(&workshop, work)?;
    if args.show_baseline {
        let mut out = std::io::stdout().lock();
        for known in &known {
            let Known { file, function, share, own } = known;
            writeln!(
                out,
                "{:6.2} % {:6.2} % {file}:{} {}",
                share * 100.0,
                own * 100.0,
                function.start + 1,
                function.name
            )?;
        }
        return Ok(());
    }
    for spec in missing {
        bar.set_message(format!("making {} {}", project.name, spec.name()));
        let path = truth_file(project, &spec.name(), work);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        match make(&workshop, &known, *spec, args.seed) {
            Ok(truth) => {
                std::fs::write(path, serde_json::to_vec_pretty(&truth)?)?;
            }
            // Some draws find no function for them; the table says how many cases there are.
            Err(error) => {
                std::fs::write(given_up_file(project, &spec.name(), work), format!("{error:#}\n"))?;
                bar.suspend(|| eprintln!("{error:#}"));
            }
        }
        bar.inc(1);
    }
    Ok(())
}

/// One line about a case, for whoever waits.
fn say(scored: &Scored) {
    let Scored { truth, verdict, .. } = scored;
    let judged = match (scored.is_slow(), scored.right, scored.first) {
        (true, _, true) => "first".to_owned(),
        (true, Some(row), _) => format!("row {row}"),
        (true, None, _) => "MISSED".to_owned(),
        (false, ..) if scored.is_called_guilty() => "CALLED GUILTY".to_owned(),
        (false, ..) => "innocent".to_owned(),
    };
    let ratio = scored.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
    eprintln!(
        "{:10} {:12} {:26} {:.2} {ratio:5} {verdict:12} {judged} ({:.0} s)",
        truth.project, truth.case, truth.sort, truth.ratio, scored.seconds
    );
}
