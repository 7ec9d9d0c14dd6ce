//! Two revisions, as text: the answer for each workload, the gravest first, then the evidence of those that changed.

use std::io::{self, Write};

use anstyle::{AnsiColor, Color, Style};
use perfblame_analysis::{Blame, Check, Outcome, Verdict};

use crate::check_words::{comparison_line, gravest_first, revisions};
use crate::diff_text::{DiffLook, diff_text};
use crate::layout::{clean, wrapped};
use crate::show_text::{title, warnings};

/// Lines longer than this are hard to read.
const MOST_WIDTH: usize = 160;

/// Writes a check.
pub fn check_text(check: &Check, how: DiffLook, out: &mut dyn Write) -> io::Result<()> {
    let DiffLook { look, .. } = how;
    let width = look.width.min(MOST_WIDTH);
    let sorted = gravest_first(check);
    for comparison in &sorted {
        let colour = match &comparison.outcome {
            Outcome::Failed(_) => Some(AnsiColor::Red),
            Outcome::Compared(compared) => match compared.diff.verdict {
                Verdict::Regressed => Some(AnsiColor::Red),
                Verdict::Improved => Some(AnsiColor::Green),
                Verdict::Inconclusive => Some(AnsiColor::Yellow),
                Verdict::Unchanged => None,
            },
        };
        let style = Style::new().bold().fg_color(colour.map(Color::Ansi));
        // The first line is for programs, too: never broken.
        writeln!(out, "{}", look.paint(style, &comparison_line(comparison, look.unicode)))?;
    }
    if sorted.is_empty() {
        writeln!(out, "{}", look.bold("nothing changed between the two revisions"))?;
    }
    writeln!(out)?;
    for line in wrapped(&revisions(check), width) {
        writeln!(out, "{}", look.dim(&line))?;
    }
    for comparison in sorted {
        match &comparison.outcome {
            Outcome::Failed(failure) => {
                title(&clean(&comparison.title()), look, out)?;
                writeln!(out, "{}", clean(&failure.what))?;
                for line in failure.why.lines() {
                    writeln!(out, "  {}", clean(line))?;
                }
                if let Some(log) = &failure.log {
                    writeln!(out, "  full log: {}", log.display())?;
                }
                if let Some(help) = &failure.help {
                    writeln!(out, "  help: {}", clean(help))?;
                }
            }
            Outcome::Compared(compared) => {
                let dull = compared.diff.verdict == Verdict::Unchanged;
                if dull && compared.diff.warnings.is_empty() {
                    continue;
                }
                title(&clean(&comparison.title()), look, out)?;
                if dull {
                    warnings(&compared.diff.warnings, look, out)?;
                    continue;
                }
                diff_text(&compared.diff, how, out)?;
                if compared.code.finding == Blame::Outside {
                    for candidate in &compared.code.outside {
                        let why = candidate.why.as_deref().unwrap_or_default();
                        writeln!(out, "may explain it: {}, which {why}", clean(&candidate.file))?;
                    }
                }
                if !compared.ended.is_empty() {
                    writeln!(out, "{}", look.dim(&compared.ended))?;
                }
            }
        }
    }
    warnings(&check.warnings, look, out)
}
