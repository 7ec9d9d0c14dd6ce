//! The table of results, as people read it.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

/// One result.
pub struct Row {
    pub what: String,
    pub input: String,
    pub ours: String,
    pub peer: String,
    /// How the two compare, or the figure that has a limit.
    pub result: String,
    pub goal: String,
    pub met: bool,
}

/// One result on the terminal.
pub fn line(row: Option<&Row>) -> String {
    let Some(row) = row else { return String::new() };
    let Row { what, input, ours, peer, result, goal, met } = row;
    format!(
        "{what} ({input}): {result} [goal {goal}: {}]  ours {ours}, peer {peer}",
        if *met { "met" } else { "missed" }
    )
}

const INTRODUCTION: &str = "\
# Benchmarks

Made by `cargo xtask bench`, which records or builds the inputs, lets perfblame and its peer take turns on them and
rewrites this page. Seconds are medians of whole processes, start-up included, unless the row says otherwise; they
depend on the machine. Ratios compare the two in the same run.
JFR's peer prints eight kinds of events that carry stacks (execution, native, allocation, monitor and park events);
where a recording is asked for execution samples alone, `jfr print` has less to do and the ratio is smaller.

";

/// Prints the table and, after a full run, rewrites `docs/benchmarks.md`.
pub fn write(rows: &[Row], all: bool) -> Result<()> {
    let mut out = String::from(INTRODUCTION);
    out.push_str("| what | input | perfblame | peer | result | goal | met |\n|---|---|---|---|---|---|---|\n");
    for Row { what, input, ours, peer, result, goal, met } in rows {
        let met = if *met { "yes" } else { "**no**" };
        let _ = writeln!(out, "| {what} | {input} | {ours} | {peer} | {result} | {goal} | {met} |");
    }
    let version = std::process::Command::new("rustc").arg("--version").output()?;
    let cores = std::thread::available_parallelism()?;
    let _ = write!(out, "\n{}, {cores} cores.\n", String::from_utf8_lossy(&version.stdout).trim());
    eprintln!("\n{out}");
    if all {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
        std::fs::write(project.join("docs/benchmarks.md"), out)?;
    }
    Ok(())
}
