//! The table of results, as people read it.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

/// One result.
pub struct BenchRow {
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
pub fn line(row: Option<&BenchRow>) -> String {
    let Some(row) = row else { return String::new() };
    let BenchRow { what, input, ours, peer, result, goal, met } = row;
    format!(
        "{what} ({input}): {result} [goal {goal}: {}]  ours {ours}, peer {peer}",
        if *met { "met" } else { "missed" }
    )
}

const INTRODUCTION: &str = "\
# Benchmarks

`cargo xtask bench` makes this page. It records or builds the inputs and runs perfblame and its peer on them
alternately. Seconds are medians of whole processes, start-up included, unless the row says otherwise; they depend on
the machine. Ratios compare the two in the same session.
The peer for JFR prints eight kinds of events with stacks (execution, native, allocation, monitor and park events). If
only execution samples are requested, `jfr print` has less to do and the ratio is smaller.

";

const HEADER: &str = "\
| what | input | perfblame | peer | result | goal | met |
|---|---|---|---|---|---|---|
";

/// Prints the table and rewrites `docs/benchmarks.md`: all of it after a full run, the rows that were measured again
/// after a part of one.
pub fn write(rows: &[BenchRow], all: bool) -> Result<()> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let page = project.join("docs/benchmarks.md");
    let mut lines: Vec<String> = rows.iter().map(markdown).collect();
    if !all {
        let mut kept = rows_of(&std::fs::read_to_string(&page).unwrap_or_default());
        for line in lines {
            match kept.iter_mut().find(|known| first_cells(known) == first_cells(&line)) {
                Some(known) => *known = line,
                None => kept.push(line),
            }
        }
        lines = kept;
    }
    let mut out = String::from(INTRODUCTION);
    out.push_str(HEADER);
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
    let version = std::process::Command::new("rustc").arg("--version").output()?;
    let cores = std::thread::available_parallelism()?;
    let _ = write!(out, "\n{}, {cores} cores.\n", String::from_utf8_lossy(&version.stdout).trim());
    eprintln!("\n{out}");
    Ok(std::fs::write(page, out)?)
}

fn markdown(row: &BenchRow) -> String {
    let BenchRow { what, input, ours, peer, result, goal, met } = row;
    let met = if *met { "yes" } else { "**no**" };
    format!("| {what} | {input} | {ours} | {peer} | {result} | {goal} | {met} |")
}

/// The rows of a page that was written before.
fn rows_of(page: &str) -> Vec<String> {
    let rows = page.lines().skip_while(|line| !line.starts_with("|---"));
    rows.skip(1).take_while(|line| line.starts_with("| ")).map(str::to_owned).collect()
}

/// What was measured, on what: one measurement at several sizes has several rows.
fn first_cells(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.split(" | ");
    Some((cells.next()?, cells.next()?))
}
