//! The answer of a comparison, written where and how it was asked for.

use std::io::{self, Write};
use std::process::ExitCode;

use perfblame_analysis::{Diff, DiffTree, Verdict};
use perfblame_report::{
    DiffLook, Look, diff_dot, diff_html, diff_json, diff_markdown, diff_sarif, diff_text,
};

use crate::args::{AnswerArgs, DiffFormat};
use crate::failure::is_closed_pipe;
use crate::output;
use crate::terminal::Terminal;

/// Writes an answer that is not a page.
pub type Printer = fn(&Diff, DiffLook, &mut dyn Write) -> io::Result<()>;

impl AnswerArgs {
    /// What prints the answer where nothing is drawn; none when a page is wanted, which needs the tree.
    pub fn words(&self) -> Option<Printer> {
        self.printer().filter(|_| self.files.html.is_none())
    }

    /// Writes an answer without pictures; the status says whether it got slower.
    pub fn write(
        &self,
        answer: &Diff,
        printer: Printer,
        terminal: &Terminal,
    ) -> anyhow::Result<ExitCode> {
        self.written(answer, terminal, |look, out| printer(answer, look, out))
    }

    /// Writes an answer and its page; the status says whether it got slower.
    pub fn write_drawn(
        &self,
        answer: &Diff,
        tree: &DiffTree,
        terminal: &Terminal,
    ) -> anyhow::Result<ExitCode> {
        if let Some(path) = &self.files.html {
            output::write(path, |out| diff_html(answer, tree, out))?;
            terminal.note(&format!("wrote the page to {}", path.display()));
        }
        self.written(answer, terminal, |look, out| match self.printer() {
            Some(printer) => printer(answer, look, out),
            None => diff_html(answer, tree, out),
        })
    }

    /// What prints the answer; none when it is a page.
    fn printer(&self) -> Option<Printer> {
        Some(match self.format {
            DiffFormat::Text => diff_text,
            DiffFormat::Json => |diff, _, out| diff_json(diff, out),
            DiffFormat::Html => return None,
            DiffFormat::Markdown => |diff, look, out| diff_markdown(diff, look.limit, out),
            DiffFormat::Sarif => |diff, _, out| diff_sarif(diff, out),
            DiffFormat::Dot => |diff, _, out| diff_dot(diff, out),
        })
    }

    fn written(
        &self,
        answer: &Diff,
        terminal: &Terminal,
        render: impl FnOnce(DiffLook, &mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<ExitCode> {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let written = match &self.files.output {
            Some(path) => {
                let look = Look { colour: false, ..terminal.look };
                output::write(path, |out| render(DiffLook { look, limit }, out))
            }
            None => output::to_stdout(|out| render(DiffLook { look: terminal.look, limit }, out)),
        };
        match written {
            // Whoever reads us has seen enough; the status still says what was found.
            Err(error) if !is_closed_pipe(&error) => Err(error),
            _ => Ok(ExitCode::from(u8::from(answer.verdict == Verdict::Regressed))),
        }
    }
}
