//! The answer of a comparison, written where and how it was asked for.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use perfblame_analysis::{Diff, Verdict};
use perfblame_report::{
    DiffLook, Look, diff_dot, diff_html, diff_json, diff_markdown, diff_sarif, diff_text,
};

use crate::args::DiffFormat;
use crate::failure::is_closed_pipe;
use crate::output;
use crate::terminal::Terminal;

/// Where an answer goes, and how it looks.
pub struct DiffOutput<'a> {
    pub format: DiffFormat,
    /// Rows of each list in texts; 0 is all.
    pub limit: usize,
    /// Instead of standard output.
    pub output: Option<&'a Path>,
    /// A page beside whatever is printed.
    pub html: Option<&'a Path>,
}

impl DiffOutput<'_> {
    /// Writes the answer; the status says whether it got slower.
    pub fn write(&self, answer: &Diff, terminal: &Terminal) -> anyhow::Result<ExitCode> {
        if let Some(path) = self.html {
            output::write(path, |out| diff_html(answer, out))?;
            terminal.note(&format!("the page is in {}", path.display()));
        }
        let written = match self.output {
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
