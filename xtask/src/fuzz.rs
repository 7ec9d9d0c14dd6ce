//! Runs the fuzz targets, one after the other, and stops at the first finding.

use anyhow::{Context, Result, bail};

use crate::shell;

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
    require_tools()?;
    let targets = targets()?;
    for name in &wanted {
        if !targets.iter().any(|target| target == name) {
            bail!("unknown fuzz target {name}; the targets are {}", targets.join(", "));
        }
    }
    for target in
        targets.iter().filter(|target| wanted.is_empty() || wanted.contains(&target.as_str()))
    {
        fuzz(target, seconds)?;
    }
    Ok(())
}

fn require_tools() -> Result<()> {
    let runs = |program: &str, arguments: &[&str]| -> Result<bool> {
        Ok(shell::command(program, arguments)?.output().is_ok_and(|output| output.status.success()))
    };
    if !runs("cargo", &["+nightly", "--version"])? {
        bail!("fuzzing needs a nightly compiler: `rustup toolchain install nightly`");
    }
    if !runs("cargo", &["fuzz", "--version"])? {
        shell::run("cargo", &["install", "cargo-fuzz", "--locked"]).context(
            "fuzzing needs cargo-fuzz, but it could not be installed: `cargo install cargo-fuzz`",
        )?;
    }
    Ok(())
}

/// The targets' names, which are those of their files.
pub fn targets() -> Result<Vec<String>> {
    let folder = shell::project().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if let (Some(stem), Some("rs")) =
            (path.file_stem(), path.extension().and_then(|end| end.to_str()))
        {
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Runs one target. It starts from the samples of its format, from seeds of its own, or from all samples.
fn fuzz(target: &str, seconds: u64) -> Result<()> {
    let format = target.strip_suffix("_never_panics").unwrap_or(target);
    let folder = shell::project().join("crates/readers/samples");
    let own = shell::project().join("fuzz/seeds").join(format);
    let samples = [folder.join(format), folder.join(format.replace('_', "-")), own];
    let samples = samples.into_iter().find(|folder| folder.is_dir()).unwrap_or(folder);
    let found = shell::project().join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&found)?;
    let (time, found, samples) = (
        format!("-max_total_time={seconds}"),
        found.display().to_string(),
        samples.display().to_string(),
    );
    // No sanitizer: there is no unsafe code to watch, and without one twice as many inputs are tried.
    let run = ["+nightly", "fuzz", "run", "--fuzz-dir", "fuzz", "--sanitizer", "none", target];
    // A reader may keep what it read, but not much more: 2 GB for inputs of at most 256 KB; 20 s for one input hangs.
    let limits = ["-rss_limit_mb=2048", "-timeout=20", "-max_len=262144", "-print_final_stats=1"];
    let arguments = [&run[..], &[&found, &samples, "--", &time], &limits].concat();
    shell::run("cargo", &arguments)
}
