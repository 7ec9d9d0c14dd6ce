//! Two revisions for a pull request: a line for each workload, and the evidence of those that changed, folded.

use std::fmt::Write as _;
use std::io::{self, Write};

use perfblame_analysis::{Blame, Check, Outcome, Verdict};

use crate::check_words::{comparison_line, gravest_first, revisions};
use crate::diff_markdown::{MOST, code, diff_markdown, entities, escaped};

/// Kept free for the last words.
const RESERVE: usize = 600;

/// Writes a check, at most `limit` rows a list, as one comment.
pub fn check_markdown(check: &Check, limit: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut text = String::new();
    let head = match check.verdict {
        _ if check.comparisons.iter().all(|it| it.compared().is_none()) => "❌ Check failed",
        Verdict::Regressed => "🔴 Slower",
        Verdict::Improved => "🟢 Faster",
        Verdict::Unchanged => "⚪ No slowdown",
        Verdict::Inconclusive => "🟡 Cannot tell",
    };
    let _ = writeln!(text, "### {head}\n");
    let sorted = gravest_first(check);
    for comparison in &sorted {
        let mark = match &comparison.outcome {
            Outcome::Failed(_) => "❌",
            Outcome::Compared(compared) => match compared.diff.verdict {
                Verdict::Regressed => "🔴",
                Verdict::Improved => "🟢",
                Verdict::Unchanged => "⚪",
                Verdict::Inconclusive => "🟡",
            },
        };
        let _ = writeln!(text, "- {mark} {}", escaped(&comparison_line(comparison, true)));
    }
    let _ = writeln!(text, "\n<sub>{}</sub>", escaped(&revisions(check)));
    let mut left_out = 0;
    for comparison in sorted {
        let summary = entities(&comparison.title());
        let part = match &comparison.outcome {
            Outcome::Failed(failure) => {
                let mut part = format!("<p>{}</p>\n\n", entities(&failure.what));
                let why: String = failure.why.chars().take(4000).collect();
                let _ = writeln!(part, "<pre>{}</pre>", entities(&why));
                if let Some(help) = &failure.help {
                    let _ = writeln!(part, "\n{}", escaped(help));
                }
                part
            }
            Outcome::Compared(compared) if compared.diff.verdict == Verdict::Unchanged => continue,
            Outcome::Compared(compared) => {
                let mut part = Vec::new();
                diff_markdown(&compared.diff, limit, &mut part)?;
                let mut part = String::from_utf8_lossy(&part).into_owned();
                let outside = compared.code.finding == Blame::Outside;
                for candidate in compared.code.outside.iter().filter(|_| outside) {
                    let why = escaped(candidate.why.as_deref().unwrap_or_default());
                    let _ =
                        writeln!(part, "\nMay explain it: {}, which {why}", code(&candidate.file));
                }
                part
            }
        };
        let part = format!("\n<details><summary>{summary}</summary>\n\n{part}\n</details>\n");
        if text.len() + part.len() + RESERVE > MOST {
            left_out += 1;
        } else {
            text.push_str(&part);
        }
    }
    for warning in &check.warnings {
        let line = format!("\n> ⚠️ {}\n", escaped(&warning.message));
        if text.len() + line.len() + RESERVE <= MOST {
            text.push_str(&line);
        }
    }
    if left_out > 0 {
        let _ = writeln!(
            text,
            "\n{left_out} of the details left out to stay below {MOST} characters; `perfblame check --last --format json` shows all."
        );
    }
    out.write_all(text.as_bytes())
}
