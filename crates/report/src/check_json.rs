//! `perfblame.check/1`, described by `docs/check.schema.json`. Fields may be added, not renamed.

use std::io::{self, Write};

use perfblame_analysis::{Attribution, Check, Comparison, FailureView, Outcome, RevisionView};
use serde::Serialize;

use crate::diff_json::{Answer, Change, Scale, SuspectRow, WarningRow, change, suspect, warning};

/// Writes a check as JSON.
pub fn check_json(check: &Check, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &CheckRow::of(check))?;
    out.write_all(b"\n")
}

/// A check on the wire.
#[derive(Serialize)]
pub(crate) struct CheckRow<'a> {
    schema: &'static str,
    base: RevisionRow<'a>,
    head: RevisionRow<'a>,
    verdict: &'static str,
    suspects: Vec<Found<'a>>,
    workloads: Vec<WorkloadRow<'a>>,
    warnings: Vec<WarningRow<'a>>,
}

#[derive(Serialize)]
pub(crate) struct RevisionRow<'a> {
    name: &'a str,
    commit: Option<&'a str>,
    subject: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    author: &'a str,
}

#[derive(Serialize)]
struct Found<'a> {
    workload: &'a str,
    input: Option<&'a str>,
    #[serde(flatten)]
    suspect: SuspectRow<'a>,
}

#[derive(Serialize)]
struct WorkloadRow<'a> {
    name: &'a str,
    input: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profiler: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<CodeRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<FailureRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<Answer<'a>>,
}

#[derive(Serialize)]
struct CodeRow<'a> {
    finding: &'static str,
    changed: usize,
    reached: usize,
    unreached: Vec<Change<'a>>,
    outside: Vec<Change<'a>>,
}

#[derive(Serialize)]
struct FailureRow<'a> {
    what: &'a str,
    why: &'a str,
    help: Option<&'a str>,
    log: Option<String>,
}

impl<'a> CheckRow<'a> {
    pub(crate) fn of(check: &'a Check) -> Self {
        let found = check.comparisons.iter().flat_map(|comparison| {
            let diff = comparison.compared().map(|compared| &compared.diff);
            diff.into_iter().flat_map(move |diff| {
                let scale = Scale::of(diff);
                diff.suspects.iter().map(move |row| Found {
                    workload: &comparison.workload,
                    input: comparison.input.as_deref(),
                    suspect: suspect(row, scale),
                })
            })
        });
        Self {
            schema: "perfblame.check/1",
            base: revision(&check.base),
            head: revision(&check.head),
            verdict: check.verdict.name(),
            suspects: found.collect(),
            workloads: check.comparisons.iter().map(workload).collect(),
            warnings: check.warnings.iter().map(warning).collect(),
        }
    }
}

pub(crate) fn revision(revision: &RevisionView) -> RevisionRow<'_> {
    RevisionRow {
        name: &revision.name,
        commit: revision.commit.as_deref(),
        subject: &revision.subject,
        author: &revision.author,
    }
}

fn workload(comparison: &Comparison) -> WorkloadRow<'_> {
    let compared = comparison.compared();
    WorkloadRow {
        name: &comparison.workload,
        input: comparison.input.as_deref(),
        profiler: comparison.profiler.as_deref(),
        verdict: compared.map(|compared| compared.diff.verdict.name()),
        ended: compared.map(|compared| compared.ended.as_str()),
        code: compared.map(|compared| code(&compared.code)),
        failure: match &comparison.outcome {
            Outcome::Failed(failed) => Some(failure(failed)),
            Outcome::Compared(_) => None,
        },
        diff: compared.map(|compared| Answer::of(&compared.diff)),
    }
}

fn code(found: &Attribution) -> CodeRow<'_> {
    CodeRow {
        finding: found.finding.name(),
        changed: found.changed,
        reached: found.reached,
        unreached: found.unreached.iter().map(change).collect(),
        outside: found.outside.iter().map(change).collect(),
    }
}

fn failure(failure: &FailureView) -> FailureRow<'_> {
    FailureRow {
        what: &failure.what,
        why: &failure.why,
        help: failure.help.as_deref(),
        log: failure.log.as_ref().map(|log| log.display().to_string()),
    }
}
