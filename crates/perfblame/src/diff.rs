//! `perfblame diff`: what made it slower.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use perfblame_analysis::{
    AskError, CodeChanges, CompareQuestion, DiffQuery, InputOptions, Method, Normalize, Part,
    Source, code_changes, compare, compare_with_tree, expand,
};
use perfblame_cct::Sides;
use perfblame_words::counted;

use crate::args::{DiffArgs, MethodArg, NormalizeArg, names};
use crate::failure::Failure;
use crate::progress::asking;
use crate::terminal::Terminal;

/// Reads both sides, compares, renders; the status says whether it got slower.
pub fn run(args: &DiffArgs, terminal: &Terminal) -> anyhow::Result<ExitCode> {
    let code = args.code(terminal)?;
    let question = CompareQuestion { code, ..args.question()? };
    let total = question.sources.iter().flatten().map(Source::size).sum();
    let Some(printer) = args.answer.words() else {
        let (diff, tree) = asking(terminal, total, |ask| compare_with_tree(&question, ask))?;
        return args.answer.write_drawn(&diff, &tree, terminal);
    };
    let diff = asking(terminal, total, |ask| compare(&question, ask))?;
    args.answer.write(&diff, printer, terminal)
}

impl DiffArgs {
    /// What changed in the code.
    fn code(&self, terminal: &Terminal) -> anyhow::Result<CodeChanges> {
        let method = self.method.into();
        let source = self.code.source(method)?;
        let code = asking(terminal, None, |ask| code_changes(&source, method, ask));
        let code = code.map_err(AskError::from)?;
        for warning in &code.warnings {
            terminal.note(warning);
        }
        if let Some(functions) = &code.functions {
            terminal.log(&format!(
                "{} changed",
                counted(functions.len() as u64, "function", "functions")
            ));
        }
        Ok(code)
    }

    fn question(&self) -> anyhow::Result<CompareQuestion> {
        Ok(CompareQuestion {
            sources: Sides::new(
                sources(self.before.as_deref(), &self.before_runs)?,
                sources(self.after.as_deref(), &self.after_runs)?,
            ),
            inputs: InputOptions { names: names(self.raw_names), ..self.scripts.inputs() },
            source_maps: Sides::new(
                self.source_maps_before.clone(),
                self.source_maps_after.clone(),
            ),
            part: Part {
                thread: self.thread.clone(),
                tasks: self.task.clone(),
                root: self.root.clone(),
            },
            query: DiffQuery {
                method: self.method.into(),
                metric: self.metric.clone(),
                min_delta: self.min_delta,
                normalize: self.normalize.into(),
                work: self.work.clone(),
                changes: None,
            },
            code: CodeChanges::default(),
        })
    }
}

impl From<MethodArg> for Method {
    fn from(method: MethodArg) -> Self {
        match method {
            MethodArg::Suspects => Self::Suspects,
            MethodArg::CriticalGraph => Self::CriticalGraph,
            MethodArg::Paths => Self::Paths,
            MethodArg::Stages => Self::Stages,
        }
    }
}

impl From<NormalizeArg> for Normalize {
    fn from(normalize: NormalizeArg) -> Self {
        match normalize {
            NormalizeArg::None => Self::None,
            NormalizeArg::Total => Self::Total,
            NormalizeArg::Calls => Self::Calls,
        }
    }
}

/// The inputs of one side. `@REVISION` stands for the runs that checks have kept of it.
fn sources(side: Option<&Path>, more: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in side.map(Path::to_owned).into_iter().chain(more.to_vec()) {
        match path.to_str().and_then(|text| text.strip_prefix('@')) {
            Some(reference) if !path.exists() => {
                let here = Path::new(".");
                let kept = perfblame_check::stored_runs(here, reference);
                paths.extend(kept.map_err(|failure| Failure {
                    what: failure.what,
                    why: failure.why,
                    help: failure.help,
                })?);
            }
            _ => paths.push(path),
        }
    }
    Ok(expand(&paths)?)
}
