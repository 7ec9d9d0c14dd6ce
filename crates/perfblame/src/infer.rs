//! `perfblame infer`: function latencies from a trace of the operating system.

use std::io::{self, Write};

use perfblame_analysis::{Continuity, InferQuery, Inferred, Mode, Source, expand, infer};
use perfblame_report::{InferLook, Look, infer_dot, infer_html, infer_json, infer_text};

use crate::args::{ContinuityArg, InferArgs, InferFormat, ModeArg};
use crate::output;
use crate::progress::asking;
use crate::terminal::Terminal;

/// Reads, infers, renders.
pub fn run(args: &InferArgs, terminal: &Terminal) -> anyhow::Result<()> {
    let sources = expand(std::slice::from_ref(&args.trace))?;
    if let [first, _, ..] = &*sources {
        terminal.note(&format!(
            "{} contains {} traces; the answer is about the first, {}. `perfblame diff` compares folders",
            args.trace.display(),
            sources.len(),
            first.name()
        ));
    }
    let total = sources.first().and_then(Source::size);
    let answer = asking(terminal, total, |ask| infer(&sources, args.query(), ask))?;
    if let Some(path) = &args.files.html {
        output::write(path, |out| infer_html(&answer, out))?;
        terminal.note(&format!("wrote the page to {}", path.display()));
    }
    match &args.files.output {
        Some(path) => {
            let look = Look { colour: false, ..terminal.look };
            output::write(path, |out| args.render(&answer, look, out))
        }
        None => output::to_stdout(|out| args.render(&answer, terminal.look, out)),
    }
}

impl InferArgs {
    fn query(&self) -> InferQuery {
        let pictures = matches!(self.format, InferFormat::Html | InferFormat::Dot)
            || self.files.html.is_some();
        InferQuery {
            mode: match self.mode {
                ModeArg::Estimate => Mode::Estimate,
                ModeArg::Conservative => Mode::Conservative,
                ModeArg::Aggressive => Mode::Aggressive,
            },
            continuity: match self.continuity {
                ContinuityArg::CallSites => Continuity::CallSites,
                ContinuityArg::Functions => Continuity::Functions,
            },
            instances: self.instances,
            paths: self.paths || pictures,
        }
    }

    fn render(&self, answer: &Inferred, look: Look, out: &mut dyn Write) -> io::Result<()> {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        match self.format {
            InferFormat::Text => infer_text(answer, InferLook { look, limit }, out),
            InferFormat::Json => infer_json(answer, out),
            InferFormat::Html => infer_html(answer, out),
            InferFormat::Dot => infer_dot(answer, out),
        }
    }
}
