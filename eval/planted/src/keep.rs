//! Failing cases, kept for whoever improves a method: the files, the truth, and the command that shows the failure.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use perfblame_analysis::{FunctionView, Loaded, Sides};
use serde_json::{Value, json};

use crate::answer::{Answer, Tested, command};
use crate::case::Case;
use crate::plant::{Expected, Truth};
use crate::program::Key;
use crate::score::Score;

/// Of each way to fail and kind, so many are kept: the next hundred say the same.
const EACH: usize = 4;

/// What is kept of a case in addition to its files.
pub struct KeptCase<'a> {
    pub name: String,
    pub kind: &'static str,
    /// What it was planted in.
    pub base: &'a str,
    pub truth: &'a Truth,
    pub work: Option<Sides<f64>>,
    pub standard_errors: Option<f64>,
    /// Where the noise comes from, in words.
    pub noise: String,
    /// The crate that makes it again.
    pub package: &'static str,
}

impl<'a> KeptCase<'a> {
    /// A case whose noise was drawn.
    pub fn of(case: &'a Case) -> Self {
        Self {
            name: case.spec.to_string(),
            kind: case.spec.kind.name(),
            base: &case.base,
            truth: &case.planted.truth,
            work: case.noise.work,
            standard_errors: case.standard_errors(),
            noise: format!("{:?}", case.noise),
            package: env!("CARGO_PKG_NAME"),
        }
    }
}

/// What is kept where.
pub struct Kept {
    folder: Option<PathBuf>,
    counts: Mutex<BTreeMap<String, usize>>,
}

impl Kept {
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, counts: Mutex::default() }
    }

    /// Keeps a case that the first method fails. `write` puts the files of both sides into a folder.
    pub fn keep(
        &self,
        case: &KeptCase<'_>,
        answers: &[(Tested, Answer)],
        scores: &[(Tested, Score)],
        write: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        let (Some(folder), Some((_, score))) = (&self.folder, scores.first()) else {
            return Ok(());
        };
        let truth = case.truth;
        let failures = failures(score, truth);
        let Some(first) = failures.first() else { return Ok(()) };
        let category = format!("{first}/{}", case.kind);
        if let Ok(mut counts) = self.counts.lock() {
            let count = counts.entry(category).or_default();
            *count += 1;
            if *count > EACH {
                return Ok(());
            }
        }
        let folder = folder.join(first).join(case.name.replace('/', "_"));
        std::fs::create_dir_all(&folder)?;
        write(&folder)?;
        let commands: Vec<String> = (answers.iter())
            .filter(|(tested, _)| tested.is_perfblame())
            .map(|(tested, _)| command(&folder, *tested, case.work))
            .collect();
        let answers: Vec<Value> = (answers.iter())
            .map(|(tested, answer)| {
                json!({
                    "method": tested.name(),
                    "verdict": answer.verdict.name(),
                    "blamed": answer.blamed.iter().map(|b| path_json(&b.path)).collect::<Vec<_>>(),
                })
            })
            .collect();
        let text = json!({
            "case": case.name,
            "base": case.base,
            "failures": failures,
            "size": truth.size,
            "standard_errors": case.standard_errors,
            "expected": format!("{:?}", truth.expected).to_lowercase(),
            "causes": truth.causes.iter().map(|cause| json!({
                "functions": cause.functions.iter().map(key_json).collect::<Vec<_>>(),
                "paths": cause.paths.iter().map(|path| path_json(path)).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "decoys": truth.decoys.iter().map(key_json).collect::<Vec<_>>(),
            "noise": case.noise,
            "answers": answers,
            "commands": commands,
            "again": format!("cargo run --release -p {} -- --case {} --verbose", case.package, case.name),
        });
        let path = folder.join("truth.json");
        std::fs::write(&path, format!("{text:#}\n")).with_context(|| path.display().to_string())
    }

    /// Says how many failed, and how many of them were kept.
    pub fn finish(self) -> Result<()> {
        let Some(folder) = self.folder else { return Ok(()) };
        let Ok(counts) = self.counts.into_inner() else { bail!("a case panicked") };
        for (category, count) in counts {
            eprintln!(
                "{category}: {count} failed, {} kept in {}",
                count.min(EACH),
                folder.display()
            );
        }
        Ok(())
    }
}

/// In which ways an answer is wrong, the gravest first.
pub fn failures(score: &Score, truth: &Truth) -> Vec<&'static str> {
    let slower = truth.expected == Expected::Regressed;
    let rows = [
        ("false-alarm", score.false_alarm),
        ("missed", slower && score.leaves == 0),
        ("first-wrong", slower && score.leaves > 0 && !score.first_right),
        ("decoy-blamed", score.decoy_blamed),
        ("cause-missed", slower && score.leaves > 0 && score.node_found < score.causes),
        ("extra-suspects", slower && score.node_right < score.leaves),
        ("verdict-wrong", !score.verdict_right),
    ];
    rows.into_iter().filter(|(_, failed)| *failed).map(|(name, _)| name).collect()
}

fn key_json(key: &Key) -> Value {
    json!({ "function": key.name, "component": key.component, "line": key.line })
}

fn path_json(path: &[Key]) -> String {
    path.iter().map(shown).collect::<Vec<_>>().join(" > ")
}

fn shown(key: &Key) -> String {
    match (&key.component, key.line) {
        (Some(component), Some(line)) if key.is_anonymous() => {
            format!("{} ({component}:{line})", key.name)
        }
        _ => key.name.clone(),
    }
}

/// What a case is, in a line.
pub fn line(case: &Case) -> String {
    let truth = &case.planted.truth;
    let mut line = format!(
        "{}  {} as {}, {} contexts, {:.0} samples",
        case.spec,
        case.base,
        case.format.extension(),
        case.planted.after.nodes.len(),
        case.noise.samples,
    );
    if let Some(errors) = case.standard_errors() {
        let _ = write!(line, ", {errors:.1} standard errors");
    }
    line.push_str(&causes(truth));
    line.push('\n');
    line
}

/// What is planted, to be read after a comma.
pub fn causes(truth: &Truth) -> String {
    let mut text = String::new();
    for cause in &truth.causes {
        let function = cause.functions.first().map(shown).unwrap_or_default();
        let _ = write!(text, "; cause {function} in {} contexts", cause.paths.len());
    }
    text
}

/// What a method says of it, in a line.
pub fn answer_line(tested: Tested, answer: &Answer, score: &Score, truth: &Truth) -> String {
    let failures = failures(score, truth);
    let mut line = format!(
        "    {:18} {:12} {:28}",
        tested.name(),
        answer.verdict.name(),
        if failures.is_empty() { "right".to_owned() } else { failures.join(" ") },
    );
    for blamed in answer.blamed.iter().take(4) {
        let _ = write!(line, " [{}]", shown(&blamed.function));
    }
    if answer.blamed.len() > 4 {
        let _ = write!(line, " and {} more", answer.blamed.len() - 4);
    }
    line.push('\n');
    line
}

impl Case {
    /// The files must say what the truth says: names that no reader finds would make every method look bad.
    pub fn check_readable(&self, sides: &Sides<Loaded>) -> Result<()> {
        let symbols = &sides.after.runs.symbols;
        let named: Vec<Key> =
            (symbols.functions()).map(|(id, _)| Key::of(&FunctionView::of(symbols, id))).collect();
        let samples = self.noise.samples * self.planted.truth.size;
        for cause in &self.planted.truth.causes {
            let found = cause
                .functions
                .iter()
                .any(|function| named.iter().any(|named| function.is_meant_by(named)));
            // A cause of a handful of samples may have none.
            if !found && samples > 30.0 {
                bail!(
                    "{}: {:?} of {} cannot be found in the {} files",
                    self.spec,
                    cause.functions,
                    self.base,
                    self.format.extension()
                );
            }
        }
        Ok(())
    }
}
