//! The command line's answer: the real binary, asked for JSON.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use perfblame_analysis::{Sides, Verdict};
use serde_json::Value;

use super::{Answer, Blamed, THREAD, Tested};
use crate::program::Key;

/// The binary.
pub struct Cli(PathBuf);

impl Cli {
    /// The binary beside this one, built first when cargo runs us; none when it cannot be had or cannot compare yet.
    pub fn find() -> Result<Option<Self>> {
        let here = std::env::current_exe()?;
        // Tests live one folder further down.
        let folder = here
            .parent()
            .filter(|folder| !folder.ends_with("deps"))
            .or_else(|| here.parent()?.parent());
        let Some(folder) = folder else { return Ok(None) };
        if let Some(cargo) = std::env::var_os("CARGO") {
            let mut build = Command::new(cargo);
            build.args(["build", "--quiet", "--package", "perfblame"]);
            if folder.ends_with("release") {
                build.arg("--release");
            }
            build.current_dir(env!("CARGO_MANIFEST_DIR"));
            if !build.status().context("cargo build")?.success() {
                bail!("perfblame does not build");
            }
        }
        let binary = folder.join(format!("perfblame{}", std::env::consts::EXE_SUFFIX));
        let can_compare = Command::new(&binary).args(["diff", "--help"]).output();
        Ok(can_compare.is_ok_and(|output| output.status.success()).then_some(Self(binary)))
    }

    /// Asks a method about the files of a folder.
    pub fn ask(&self, folder: &Path, tested: Tested, work: Option<Sides<f64>>) -> Result<Answer> {
        let output = Command::new(&self.0).args(arguments(folder, tested, work)).output()?;
        if output.status.code() == Some(2) {
            bail!("perfblame diff failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        let answer: Value =
            serde_json::from_slice(&output.stdout).context("JSON of perfblame diff")?;
        parse(&answer, tested)
    }
}

/// The command that asks a method, for people to copy.
pub fn command(folder: &Path, tested: Tested, work: Option<Sides<f64>>) -> String {
    format!("perfblame {}", arguments(folder, tested, work).join(" "))
}

fn arguments(folder: &Path, tested: Tested, work: Option<Sides<f64>>) -> Vec<String> {
    let mut arguments: Vec<String> = vec![
        "diff".to_owned(),
        folder.join("before").display().to_string(),
        folder.join("after").display().to_string(),
        "--format".to_owned(),
        "json".to_owned(),
    ];
    if tested.prunes() {
        arguments.extend(["--method", "critical-graph"].map(str::to_owned));
    }
    if tested == Tested::CriticalGraphOnePercent {
        arguments.extend(["--min-delta", "1%"].map(str::to_owned));
    }
    if let Some(Sides { before, after }) = work {
        arguments.extend(["--work".to_owned(), format!("{before},{after}")]);
    }
    arguments
}

fn parse(answer: &Value, tested: Tested) -> Result<Answer> {
    let verdict = match answer["verdict"].as_str() {
        Some("regressed") => Verdict::Regressed,
        Some("improved") => Verdict::Improved,
        Some("unchanged") => Verdict::Unchanged,
        Some("inconclusive") => Verdict::Inconclusive,
        other => bail!("unknown verdict {other:?}"),
    };
    let blamed = if tested.prunes() { leaves(answer) } else { suspects(answer) };
    // Figures are those of the library: names and verdict decide whether both say the same.
    Ok(Answer { verdict, blamed: blamed.context("JSON of perfblame diff")?, change: None })
}

fn key(value: &Value) -> Option<Key> {
    Some(Key {
        name: value["function"].as_str()?.to_owned(),
        component: value["component"].as_str().map(str::to_owned),
        line: value["line"].as_u64().and_then(|line| u32::try_from(line).ok()),
    })
}

fn suspects(answer: &Value) -> Option<Vec<Blamed>> {
    let rows = answer["suspects"].as_array()?.iter();
    rows.filter(|suspect| suspect["kind"] != "moved")
        .map(|suspect| {
            let path: Vec<Key> =
                suspect["path"].as_array()?.iter().map(key).collect::<Option<_>>()?;
            // The last of the path is the suspect, and says in which line it starts.
            let line = path.last().and_then(|last| last.line);
            let p_value = suspect["p_value"].as_f64();
            Some(Blamed { function: Key { line, ..key(suspect)? }, path, p_value })
        })
        .collect()
}

fn leaves(answer: &Value) -> Option<Vec<Blamed>> {
    let mut paths: Vec<(u64, Vec<Key>)> = Vec::new();
    let mut leaves: Vec<(f64, usize, Blamed)> = Vec::new();
    for (row, node) in answer["graph"]["nodes"].as_array()?.iter().enumerate() {
        let parent = node["parent"].as_u64();
        let above = paths.iter().find(|(id, _)| Some(*id) == parent);
        let mut path = above.map(|(_, path)| path.clone()).unwrap_or_default();
        if parent.is_some() && node["component"] != THREAD {
            path.push(key(node)?);
        }
        if parent.is_some() && node["cause"].as_bool()? {
            let blamed = Blamed { function: key(node)?, path: path.clone(), p_value: None };
            leaves.push((node["delta"].as_f64()?, row, blamed));
        }
        paths.push((node["id"].as_u64()?, path));
    }
    leaves.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    Some(leaves.into_iter().map(|(_, _, blamed)| blamed).collect())
}
