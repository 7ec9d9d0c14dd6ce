//! Which commit, as text and as JSON (`perfblame.bisect/1`).

use std::io::{self, Write};

use perfblame_analysis::{BisectStep, Bisection, RevisionView};
use serde::Serialize;

use crate::check_json::{CheckRow, RevisionRow, revision};
use crate::check_text::check_text;
use crate::diff_json::{WarningRow, warning};
use crate::diff_text::DiffLook;
use crate::layout::{clean, padded};
use crate::show_text::{title, warnings};

/// Writes a bisection as text: the commit first.
pub fn bisect_text(found: &Bisection, how: DiffLook, out: &mut dyn Write) -> io::Result<()> {
    let look = how.look;
    let named = |revision: &RevisionView| {
        format!(
            "{} \"{}\" by {}",
            revision.short(),
            clean(&revision.subject),
            clean(&revision.author)
        )
    };
    match &*found.suspects {
        [] => writeln!(
            out,
            "{}",
            look.bold(&format!(
                "no slowdown between {} and {}",
                found.good.short(),
                found.bad.short()
            ))
        )?,
        [one] => writeln!(out, "{}", look.bold(&format!("{} made it slower", named(one))))?,
        several => {
            writeln!(
                out,
                "{}",
                look.bold(&format!("one of {} commits made it slower:", several.len()))
            )?;
            for one in several {
                writeln!(out, "  {}", named(one))?;
            }
        }
    }
    if let Some(check) = &found.check {
        writeln!(out)?;
        check_text(check, how, out)?;
    }
    if !found.steps.is_empty() {
        title("Steps", look, out)?;
        for step in &found.steps {
            let BisectStep { revision, state, why } = step;
            writeln!(out, "  {}  {}  {}", revision.short(), padded(state.name(), 8), clean(why))?;
        }
    }
    warnings(&found.warnings, look, out)
}

#[derive(Serialize)]
struct BisectRow<'a> {
    schema: &'static str,
    good: RevisionRow<'a>,
    bad: RevisionRow<'a>,
    commits: Vec<RevisionRow<'a>>,
    steps: Vec<StepRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<CheckRow<'a>>,
    warnings: Vec<WarningRow<'a>>,
}

#[derive(Serialize)]
struct StepRow<'a> {
    #[serde(flatten)]
    revision: RevisionRow<'a>,
    state: &'static str,
    why: &'a str,
}

/// Writes a bisection as JSON.
pub fn bisect_json(found: &Bisection, out: &mut dyn Write) -> io::Result<()> {
    let row = BisectRow {
        schema: "perfblame.bisect/1",
        good: revision(&found.good),
        bad: revision(&found.bad),
        commits: found.suspects.iter().map(revision).collect(),
        steps: (found.steps.iter())
            .map(|step| StepRow {
                revision: revision(&step.revision),
                state: step.state.name(),
                why: &step.why,
            })
            .collect(),
        check: found.check.as_ref().map(CheckRow::of),
        warnings: found.warnings.iter().map(warning).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &row)?;
    out.write_all(b"\n")
}
