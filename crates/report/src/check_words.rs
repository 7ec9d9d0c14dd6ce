//! A comparison of two revisions in one line, the same in every rendering.

use std::fmt::Write as _;

use perfblame_analysis::{
    Blame, Check, CodeChange, Compared, Comparison, Diff, Outcome, Suspect, Verdict,
};

use crate::diff_words::Words;
use crate::headline::{Cause, Headline, headline};
use crate::layout::clean;

/// The answer for one workload and input: `parse: 120 ms → 158 ms (+32 %): src/lexer.c:120-141 in next_token`.
pub fn comparison_line(comparison: &Comparison, unicode: bool) -> String {
    let title = clean(&comparison.title()).into_owned();
    match &comparison.outcome {
        Outcome::Failed(failure) => format!("{title}: {}", clean(&failure.what)),
        Outcome::Compared(compared) => {
            format!("{title}: {}", compared_line(compared, unicode))
        }
    }
}

fn compared_line(compared: &Compared, unicode: bool) -> String {
    let diff = &compared.diff;
    let words = Words::of(diff, unicode);
    if diff.verdict == Verdict::Unchanged && compared.is_unreached() {
        return format!("your change does not reach this workload ({})", total(diff, words));
    }
    let found = match diff.verdict {
        Verdict::Regressed => diff.suspects.first(),
        Verdict::Improved => diff.improvements.first(),
        Verdict::Unchanged | Verdict::Inconclusive => None,
    };
    let Some(first) = found else { return headline(diff, words) };
    let change = first.changes.first();
    let clause = match change {
        Some(change) if change.function == first.function.name => place(change),
        Some(change) => {
            let name = words.name(&first.function);
            format!("{}, which {}", place(change), words.effect(first.kind, &name))
        }
        None => format!("{} {}", words.name(&first.function), words.state(first.kind)),
    };
    let cause = Cause { clause, place: change.map(place) };
    let mut line = Headline::with_cause(diff, words, &cause).text();
    if change.is_none() {
        if matches!(compared.code.finding, Blame::Unexplained | Blame::Unchanged) {
            line = format!("not your change: {line}, and no changed code explains it");
        } else if compared.is_unreached() {
            line = format!("not your change (it does not reach this workload): {line}");
        } else if compared.code.finding == Blame::Unknown {
            line.push_str(", and the profile does not show which changed code ran (build with debug information)");
        }
    }
    if let Some(confidence) = confidence(first) {
        let what = if first.delta.median < 0.0 { "improvement" } else { "slowdown" };
        let _ = write!(line, ", with {confidence} confidence that the {what} is not noise");
    }
    line
}

fn total(diff: &Diff, words: Words<'_>) -> String {
    words.costs(diff.before.total.median, diff.after.total.median)
}

/// `src/lexer.c:120-141 in next_token (3f2a1c "Cache tokens")`.
pub fn place(change: &CodeChange) -> String {
    let mut text = clean(&change.file).into_owned();
    if let Some((first, last)) = change.lines {
        let _ =
            if first == last { write!(text, ":{first}") } else { write!(text, ":{first}-{last}") };
    }
    if !change.function.is_empty() {
        let joint = if text.is_empty() { "" } else { " in " };
        let _ = write!(text, "{joint}{}", clean(&change.function));
    }
    if let Some(commit) = &change.commit {
        let short = commit.get(..9).unwrap_or(commit);
        let _ = match &change.title {
            Some(title) => write!(text, " ({short} \"{}\")", clean(title)),
            None => write!(text, " ({short})"),
        };
    }
    text
}

/// How sure it is that the change is not noise: one minus the p-value, rounded down, never 100 %.
fn confidence(suspect: &Suspect) -> Option<String> {
    let confidence = 1.0 - suspect.p_value?;
    Some(match confidence {
        high if high >= 0.999 => "99.9 %".to_owned(),
        high if high >= 0.99 => "99 %".to_owned(),
        other => format!("{} %", (other * 100.0).floor()),
    })
}

/// Comparisons with the gravest first; those alike stay in their order.
pub fn gravest_first(check: &Check) -> Vec<&Comparison> {
    let gravity = |comparison: &&Comparison| match &comparison.outcome {
        Outcome::Failed(_) => 1,
        Outcome::Compared(compared) => match compared.diff.verdict {
            Verdict::Regressed => 0,
            Verdict::Inconclusive => 2,
            Verdict::Improved => 3,
            Verdict::Unchanged => 4,
        },
    };
    let mut sorted: Vec<&Comparison> = check.comparisons.iter().collect();
    sorted.sort_by_key(gravity);
    sorted
}

/// What was compared with what.
pub fn revisions(check: &Check) -> String {
    let named = |revision: &perfblame_analysis::RevisionView| {
        let short = revision.short();
        match (revision.subject.is_empty(), revision.name == short) {
            (true, true) => short.to_owned(),
            (true, false) => format!("{short} ({})", clean(&revision.name)),
            (false, _) => format!("{short} \"{}\"", clean(&revision.subject)),
        }
    };
    format!("{} against {}", named(&check.head), named(&check.base))
}
