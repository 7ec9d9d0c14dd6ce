//! The answer of a comparison, written where and how it was asked for.

use std::io::{self, Write};
use std::process::ExitCode;

use perfblame_analysis::{Diff, Verdict};
use perfblame_report::{
    DiffLook, Look, diff_dot, diff_html, diff_json, diff_markdown, diff_sarif, diff_text,
};

use crate::args::{AnswerArgs, DiffFormat};
use crate::failure::is_closed_pipe;
use crate::output;
use crate::terminal::Terminal;

impl AnswerArgs {
    /// True when a page is to be written.
    pub fn draws(&self) -> bool {
        self.files.html.is_some() || self.format == DiffFormat::Html
    }

    /// Writes the answer; the status says whether it got slower.
    pub fn write(&self, answer: &Diff, terminal: &Terminal) -> anyhow::Result<ExitCode> {
        if let Some(path) = &self.files.html {
            output::write(path, |out| diff_html(answer, out))?;
            terminal.note(&format!("the page is in {}", path.display()));
        }
        let written = match &self.files.output {
            Some(path) => {
                let look = Look { colour: false, ..terminal.look };
                output::write(path, |out| self.render(answer, look, out))
            }
            None => output::to_stdout(|out| self.render(answer, terminal.look, out)),
        };
        match written {
            // Whoever reads us has seen enough; the status still says what was found.
            Err(error) if !is_closed_pipe(&error) => Err(error),
            _ => Ok(ExitCode::from(u8::from(answer.verdict == Verdict::Regressed))),
        }
    }

    fn render(&self, answer: &Diff, look: Look, out: &mut dyn Write) -> io::Result<()> {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        match self.format {
            DiffFormat::Text => diff_text(answer, DiffLook { look, limit }, out),
            DiffFormat::Json => diff_json(answer, out),
            DiffFormat::Html => diff_html(answer, out),
            DiffFormat::Markdown => diff_markdown(answer, limit, out),
            DiffFormat::Sarif => diff_sarif(answer, out),
            DiffFormat::Dot => diff_dot(answer, out),
        }
    }
}
