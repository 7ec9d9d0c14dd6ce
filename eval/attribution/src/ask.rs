//! Asks `perfblame check` as users do, and holds its answer against the truth.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::{ChangedPlace, Truth};
use crate::project::{BASE, Project};

/// What was answered, and how right it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scored {
    pub truth: Truth,
    /// The verdict, or `failed`.
    pub verdict: String,
    /// Total after, in parts of that before, as the answer has it.
    pub ratio: Option<f64>,
    /// Runs before and after.
    pub runs: (u64, u64),
    /// The finding about the code.
    pub finding: String,
    /// The changes that are blamed, in order, as `file:function`, with the suspect that each explains.
    pub blamed: Vec<(String, String)>,
    /// The row of the right one among them, counted from 1.
    pub right: Option<usize>,
    /// The first suspect's first change is right.
    pub first: bool,
    pub seconds: f64,
}

/// Lines around a function that belong to it: decorators, attributes, comments.
const AROUND: u64 = 12;

/// Runs a check and keeps its answer in a file. Asked before: reads it.
pub fn ask(project: &Project, case: &str, work: &Path, perfblame: &Path) -> Result<(Value, f64)> {
    let folder = work.join(project.name).join("answers");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{case}.json"));
    if let Ok(text) = std::fs::read(&path)
        && let Ok(Value::Object(mut kept)) = serde_json::from_slice(&text)
    {
        let seconds = kept.get("seconds").and_then(Value::as_f64).unwrap_or(0.0);
        return Ok((kept.remove("answer").unwrap_or_default(), seconds));
    }
    let started = Instant::now();
    let output = Command::new(perfblame)
        .current_dir(project.repository(work)?)
        .args(["check", BASE, case, "--format", "json"])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", perfblame.display()))?;
    let seconds = started.elapsed().as_secs_f64();
    std::fs::write(folder.join(format!("{case}.log")), &output.stderr)?;
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let kept = serde_json::json!({ "seconds": seconds, "answer": answer });
    std::fs::write(&path, serde_json::to_vec(&kept)?)?;
    Ok((answer, seconds))
}

/// Holds an answer against the truth.
pub fn score(truth: Truth, answer: &Value, seconds: f64) -> Scored {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let workload = &answer["workloads"][0];
    let diff = &workload["diff"];
    let total = |side: &str| diff[side]["total"]["median"].as_f64();
    let runs = |side: &str| diff[side]["runs"].as_u64().unwrap_or(0);
    let mut blamed: Vec<(String, String)> = Vec::new();
    let mut right = None;
    let mut first = false;
    let rows = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for (suspect_row, suspect) in rows(&answer["suspects"]).iter().enumerate() {
        for (row, change) in rows(&suspect["changes"]).iter().enumerate() {
            let name = format!("{}:{}", text(&change["file"]), text(&change["function"]));
            // A change that explains several suspects is one change.
            if blamed.iter().any(|(known, _)| *known == name) {
                continue;
            }
            blamed.push((name, text(&suspect["function"])));
            let places = [&truth.host, &truth.helper];
            if right.is_none() && places.into_iter().flatten().any(|place| is_at(change, place)) {
                right = Some(blamed.len());
                first = suspect_row == 0 && row == 0;
            }
        }
    }
    let verdict = match answer["verdict"].as_str() {
        Some(verdict) if workload["failure"].is_null() => verdict.to_owned(),
        _ => "failed".to_owned(),
    };
    Scored {
        truth,
        verdict,
        ratio: total("before").zip(total("after")).map(|(before, after)| after / before),
        runs: (runs("before"), runs("after")),
        finding: text(&workload["code"]["finding"]),
        blamed,
        right,
        first,
        seconds,
    }
}

/// True when a change is in this file and its lines are the function's.
fn is_at(change: &Value, place: &ChangedPlace) -> bool {
    let lines = (change["lines"][0].as_u64(), change["lines"][1].as_u64());
    let (Some(first), Some(last)) = lines else { return false };
    let (start, end) = place.lines;
    change["file"].as_str() == Some(&place.file)
        && first <= end
        && start <= last
        && first + AROUND >= start
        && last <= end + AROUND
        // Neighbours within those lines are others.
        && change["function"].as_str().is_some_and(|name| name.ends_with(&place.function))
}

impl Scored {
    /// True when a slowdown was put in where it matters.
    pub fn is_slow(&self) -> bool {
        self.truth.ratio > 1.0
    }

    /// Something is blamed for a slowdown.
    pub fn is_called_guilty(&self) -> bool {
        self.verdict == "regressed" && !self.blamed.is_empty()
    }
}
