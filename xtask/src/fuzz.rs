//! Builds the fuzz targets, which are one program, and runs them from the stored inputs in `fuzz/seeds`.
//!
//! libFuzzer needs code that counts where it has been. The compiler's pass for it is stable, unlike the sanitizers,
//! which would have nothing to watch: there is no unsafe code. So this needs no other compiler and no other tool.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::shell;

/// Makes every branch count, and every comparison tell what it compared.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                     -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares";

/// How long CI runs each target.
const BRIEF_SECONDS: u64 = 2;

/// Runs the targets that are named, or all.
pub fn run(arguments: &[&str]) -> Result<()> {
    let mut seconds = 60;
    let mut wanted = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if *word == "--seconds" {
            let number = rest.next().context("--seconds needs a number")?;
            seconds =
                number.parse().with_context(|| format!("--seconds {number}: not a number"))?;
        } else {
            wanted.push(*word);
        }
    }
    let targets = targets()?;
    for name in &wanted {
        if !targets.iter().any(|target| target == name) {
            bail!("unknown fuzz target {name}; the targets are {}", targets.join(", "));
        }
    }
    let chosen = |target: &&String| wanted.is_empty() || wanted.contains(&target.as_str());
    fuzz(&targets.iter().filter(chosen).map(String::as_str).collect::<Vec<_>>(), seconds)
}

/// Runs every target for a few seconds, as CI does.
pub fn briefly() -> Result<()> {
    let targets = targets()?;
    fuzz(&targets.iter().map(String::as_str).collect::<Vec<_>>(), BRIEF_SECONDS)
}

/// The targets' names, from their table.
pub fn targets() -> Result<Vec<String>> {
    let path = shell::project().join("fuzz/src/lib.rs");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(names(&text))
}

/// The names in the table of targets: the first text of each row.
pub fn names(text: &str) -> Vec<String> {
    let table = text.split_once("TARGETS: &[Target] = &[").map_or("", |(_, behind)| behind);
    let table = table.split("\n];").next().unwrap_or("");
    let rows = table.split('(').filter_map(|row| row.trim_start().strip_prefix('"'));
    let names = rows.filter_map(|row| row.split('"').next());
    names.filter(|name| name.contains("_never_panic")).map(str::to_owned).collect()
}

/// Runs targets, as many at once as there are processors; all that found something are named.
fn fuzz(targets: &[&str], seconds: u64) -> Result<()> {
    let program = build()?;
    let found = shell::target()?.join("fuzz-found");
    eprintln!("\n== fuzzing {} targets for {seconds} s each", targets.len());
    let start = Instant::now();
    let next = AtomicUsize::new(0);
    let findings: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = fuzz_one(&program, target, seconds, &found)
                        && let Ok(mut findings) = findings.lock()
                    {
                        findings.push(format!("{target}: {error:#}"));
                    }
                }
            });
        }
    });
    let mut findings = findings.into_inner().unwrap_or_default();
    findings.sort();
    if !findings.is_empty() {
        bail!("fuzzing found something:\n{}", findings.join("\n"));
    }
    eprintln!("== done in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn build() -> Result<PathBuf> {
    // The flags are for the targets alone, not for what runs while building: that takes a platform of their own.
    let about = shell::command("rustc", &["-vV"])?.output().context("rustc")?;
    let about = String::from_utf8_lossy(&about.stdout).into_owned();
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV")?;
    let manifest = ["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", host];
    let mut cargo = shell::command("cargo", &manifest)?;
    let target = shell::target()?;
    cargo.env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", &target);
    shell::run_command(cargo)?;
    Ok(target.join(host).join("release/perfblame-fuzz"))
}

/// Runs one target from its stored inputs. What it finds interesting is kept in the target folder, for the next time.
fn fuzz_one(program: &Path, target: &str, seconds: u64, found: &Path) -> Result<()> {
    let seeds = shell::project().join("fuzz/seeds").join(target);
    if !seeds.is_dir() {
        bail!("{} has no stored inputs", seeds.display());
    }
    let corpus = found.join(target);
    std::fs::create_dir_all(&corpus).with_context(|| corpus.display().to_string())?;
    let mut command = Command::new(program);
    command.env("PERFBLAME_FUZZ_TARGET", target).current_dir(&corpus).stdin(Stdio::null());
    // A reader may keep what it read, but not much more: 2 GB for inputs of at most 256 KB; 20 s for one input hangs.
    command.args(["-rss_limit_mb=2048", "-timeout=20", "-max_len=262144", "-seed=1"]);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/", found.display()));
    let output = command.arg(&corpus).arg(&seeds).output().context("cannot start it")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let done = said.lines().rev().find(|line| line.starts_with("Done ")).unwrap_or("Done");
        eprintln!("   {target}: {done}");
        return Ok(());
    }
    let lines: Vec<&str> = said.lines().collect();
    let end = lines[lines.len().saturating_sub(40)..].join("\n");
    bail!("{}\n{end}", output.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_targets() {
        let text = "pub const TARGETS: &[Target] = &[\n    (\"jfr_never_panics\", |data| read(\"jfr\", data)),\n    \
                    (\n        \"traces_never_panic\",\n        read_trace,\n    ),\n];\nread(\"a_never_panics\")";
        assert_eq!(names(text), ["jfr_never_panics", "traces_never_panic"]);
        assert!(targets().is_ok_and(|targets| targets.len() > 40));
    }
}
