//! `perfblame diff`: what made it slower.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use perfblame_analysis::{
    ChangedFunction, Diff, DiffQuery, DiffTree, LoadError, LoadOptions, Loaded, Method, Names,
    Normalize, Part, ScriptNames, Source, Traces, diff, diff_with_tree, expand, is_inferred, load,
    part_of,
};
use perfblame_cct::{Grain, Times};
use perfblame_readers::Tally;

use crate::args::{DiffArgs, MethodArg, NormalizeArg};
use crate::code_changes::{self, CodeChanges};
use crate::failure::{Failure, SideError};
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Reads both sides, compares, renders; the status says whether it got slower.
pub fn run(args: &DiffArgs, terminal: &Terminal) -> anyhow::Result<ExitCode> {
    let mut code = args.code(terminal)?;
    let query = args.query(code.functions.take());
    let [before, after] = args.read(terminal)?;
    let drawn = || -> anyhow::Result<(Diff, DiffTree)> {
        let (mut answer, tree) = diff_with_tree(&before, &after, &query)?;
        code.attribute(&mut answer, &tree);
        Ok((answer, tree))
    };
    let Some(printer) = args.answer.words() else {
        let (answer, tree) = drawn()?;
        terminal.log("compared");
        return args.answer.write_drawn(&answer, &tree, terminal);
    };
    let answer = if code.has_sources() { drawn()?.0 } else { diff(&before, &after, &query)? };
    terminal.log("compared");
    args.answer.write(&answer, printer, terminal)
}

impl DiffArgs {
    /// What changed in the code, as far as the method can make use of it.
    fn code(&self, terminal: &Terminal) -> anyhow::Result<CodeChanges> {
        let plain = self.code.changes.is_some() || !self.code.classes.is_empty();
        if plain && self.method != MethodArg::Stages {
            return Err(Failure {
                what: "`--classes` and `--changes` need `--method stages`".to_owned(),
                why: "the other methods need sources to find the change that explains a suspect"
                    .to_owned(),
                help: Some("add `--method stages`, or use `--repo` or `--source`".to_owned()),
            }
            .into());
        }
        code_changes::read(&self.code, terminal)
    }

    fn query(&self, changes: Option<Vec<ChangedFunction>>) -> DiffQuery {
        let method = match self.method {
            MethodArg::Suspects => Method::Suspects,
            MethodArg::CriticalGraph => Method::CriticalGraph,
            MethodArg::Paths => Method::Paths,
            MethodArg::Stages => Method::Stages,
        };
        DiffQuery {
            method,
            metric: self.metric.clone(),
            min_delta: self.min_delta,
            normalize: match self.normalize {
                NormalizeArg::None => Normalize::None,
                NormalizeArg::Total => Normalize::Total,
                NormalizeArg::Calls => Normalize::Calls,
            },
            work: self.work.clone(),
            changes,
        }
    }

    /// Both sides, read at the same time under one progress bar.
    fn read(&self, terminal: &Terminal) -> anyhow::Result<[Loaded; 2]> {
        let sources = [
            sources(self.before.as_deref(), &self.before_runs)?,
            sources(self.after.as_deref(), &self.after_runs)?,
        ];
        if sources.iter().all(|side| side.contains(&Source::Stdin)) {
            return Err(Failure {
                what: "standard input cannot be both sides".to_owned(),
                why: "`-` is given for BEFORE and for AFTER".to_owned(),
                help: Some("write one side to a file first".to_owned()),
            }
            .into());
        }
        let options = LoadOptions {
            names: if self.raw_names { Names::AsRecorded } else { Names::Normalised },
            // The order of calls, which this method goes by, differs from run to run.
            times: match self.method {
                MethodArg::CriticalGraph => Times::Keep,
                _ => Times::Drop,
            },
            grain: match self.method {
                MethodArg::Stages => Grain::CallSites,
                _ => Grain::Functions,
            },
            // Events can still be compared as such, by the name of their metric.
            traces: match &self.metric {
                Some(metric) if !is_inferred(metric) => Traces::AsProfiles,
                _ => Traces::Infer,
            },
            // The method drops what has no name, as its authors do.
            scripts: self.scripts.loading(match self.method {
                _ if self.raw_names => ScriptNames::AsRecorded,
                MethodArg::CriticalGraph => ScriptNames::Mapped,
                _ => ScriptNames::Full,
            }),
            ..LoadOptions::default()
        };
        let total = sources.iter().flatten().map(Source::size).sum::<Option<u64>>();
        let tally = Tally::default();
        let progress = Progress::reading(total, &tally, terminal.shows_progress());
        let read = |side: &[Source], maps: &[PathBuf]| {
            let mut options = options.clone();
            // Its own come first: both sides' have the same names.
            options.scripts.maps.splice(0..0, maps.iter().cloned());
            load(side, options, &tally)
        };
        let (before, after) = std::thread::scope(|scope| {
            let before = scope.spawn(|| read(&sources[0], &self.source_maps_before));
            let after = read(&sources[1], &self.source_maps_after);
            (before.join(), after)
        });
        drop(progress);
        let before = before.map_err(|_| anyhow::anyhow!("reading failed"))?;
        let (before, after) = (before?, after?);
        terminal.log(&format!(
            "read {} bytes, {} and {} contexts",
            tally.bytes(),
            before.runs.tree.len(),
            after.runs.tree.len()
        ));
        let part =
            Part { thread: self.thread.clone(), tasks: self.task.clone(), root: self.root.clone() };
        let of_side =
            |side, loaded| part_of(loaded, &part).map_err(|error| SideError { side, error });
        Ok([of_side("before", before)?, of_side("after", after)?])
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
    let expanded: Result<_, LoadError> = expand(&paths);
    Ok(expanded?)
}
