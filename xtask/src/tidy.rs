//! What compilers do not check: documents that name files, files that open with what they are for, samples that say
//! where they come from, formats that are fuzzed.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{fuzz, shell};

pub fn run() -> Result<()> {
    let files = tracked_files()?;
    let mut findings = Vec::new();
    for file in &files {
        let path = shell::project().join(file);
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if has_extension(file, "rs") {
            rust_file(file, &text, &mut findings);
        }
        if has_extension(file, "md") {
            links(file, &text, &mut findings);
        }
        if !file.starts_with("crates/readers/samples") {
            machine_paths(file, &text, &mut findings);
        }
    }
    samples(&files, &mut findings)?;
    fuzz_targets(&mut findings)?;
    if findings.is_empty() {
        eprintln!("\n== tidy: {} files are in order", files.len());
        return Ok(());
    }
    bail!("tidy found {}:\n  {}", findings.len(), findings.join("\n  "));
}

fn tracked_files() -> Result<Vec<String>> {
    let output =
        shell::command("git", &["ls-files", "--cached", "--others", "--exclude-standard"])?
            .output()
            .context("git")?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

fn has_extension(file: &str, extension: &str) -> bool {
    Path::new(file).extension().is_some_and(|end| end == extension)
}

fn rust_file(file: &str, text: &str, findings: &mut Vec<String>) {
    let opens = |start: &str| text.starts_with(start) || text.contains(&format!("\n{start}"));
    if !opens("//! ") && !file.starts_with("fuzz/") {
        findings.push(format!("{file}: opens without a `//!` paragraph that says what it is for"));
    }
    if file == "xtask/src/tidy.rs" {
        return;
    }
    for (number, line) in text.lines().enumerate() {
        for forbidden in ["todo!(", "unimplemented!(", "#[ignore", "FIXME", "XXX:"] {
            if line.contains(forbidden) {
                findings.push(format!("{file}:{}: {forbidden}", number + 1));
            }
        }
    }
}

/// Every relative link of a document leads somewhere, and every path it names in backticks exists.
fn links(file: &str, text: &str, findings: &mut Vec<String>) {
    let folder = shell::project().join(file).parent().map(Path::to_owned).unwrap_or_default();
    for piece in text.split("](").skip(1) {
        let target = piece.split([')', '#']).next().unwrap_or("");
        if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
            findings.push(format!("{file}: links to {target}, which does not exist"));
        }
    }
    let in_code = text.split('`').skip(1).step_by(2);
    for path in in_code.filter(|code| names_a_file(code)) {
        if !shell::project().join(path).exists() {
            findings.push(format!("{file}: names `{path}`, which does not exist"));
        }
    }
}

fn names_a_file(code: &str) -> bool {
    let known = ["crates/", "docs/", "fuzz/", "benches/", "xtask/", "examples/", "eval/"];
    known.iter().any(|folder| code.starts_with(folder)) && !code.contains([' ', '*', '<', '…', '{'])
}

fn machine_paths(file: &str, text: &str, findings: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate() {
        for folder in ["root", "work"].map(|folder| format!("/{folder}/")) {
            let starts_there = |at: usize| {
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_.".contains(c))
            };
            if line.match_indices(&folder).any(|(at, _)| starts_there(at)) {
                findings.push(format!("{file}:{}: a path of one machine: {folder}", number + 1));
            }
        }
    }
}

/// Every sample file is named in the samples' README.
fn samples(files: &[String], findings: &mut Vec<String>) -> Result<()> {
    let folder = "crates/readers/samples/";
    let readme = std::fs::read_to_string(shell::project().join(folder).join("README.md"))
        .context("crates/readers/samples/README.md")?;
    for file in files.iter().filter_map(|file| file.strip_prefix(folder)) {
        if file != "README.md" && !readme.contains(file) {
            findings.push(format!("{folder}README.md does not say where {file} comes from"));
        }
    }
    Ok(())
}

/// Every format has a fuzz target named after its module, and every target a format.
fn fuzz_targets(findings: &mut Vec<String>) -> Result<()> {
    let table = std::fs::read_to_string(shell::project().join("crates/readers/src/formats.rs"))?;
    let targets = fuzz::targets()?;
    for module in table.lines().filter_map(|line| line.trim().strip_suffix("::FORMAT,")) {
        let target = format!("{module}_never_panics");
        if !targets.contains(&target) {
            findings.push(format!("fuzz/fuzz_targets has no {target}.rs"));
        }
    }
    Ok(())
}
