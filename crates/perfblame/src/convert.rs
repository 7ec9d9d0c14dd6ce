//! `perfblame convert`: any profile to another tool's format.

use std::path::{Path, PathBuf};

use perfblame_analysis::{
    LoadOptions, Names, PartialStacks, ScriptLoading, ScriptNames, Source, Traces, choose_metric,
    expand, load,
};
use perfblame_cct::{Grain, RunSet, Times};
use perfblame_readers::Input;
use perfblame_report::{Roots, Style, Target, WriteOptions};

use crate::args::{ConvertArgs, RootsArg, StyleArg};
use crate::failure::Failure;
use crate::output;
use crate::progress::asking;
use crate::terminal::Terminal;

/// Reads, converts, writes.
pub fn run(args: &ConvertArgs, terminal: &Terminal) -> anyhow::Result<()> {
    let Some((out, inputs)) = args.paths.split_last() else { return Ok(()) };
    let target = args.target(out)?;
    args.spare_profiles(inputs, out)?;
    let options = LoadOptions {
        grain: Grain::Frames,
        times: if target.holds_times() { Times::Keep } else { Times::Drop },
        names: Names::AsRecorded,
        partial: PartialStacks::Keep,
        traces: Traces::AsProfiles,
        scripts: ScriptLoading {
            names: if args.raw_names { ScriptNames::AsRecorded } else { ScriptNames::Full },
            maps: args.scripts.source_maps.clone(),
            async_stacks: args.scripts.async_stacks,
        },
    };
    let sources = expand(inputs)?;
    let total = sources.iter().map(Source::size).sum();
    let loaded = asking(terminal, total, |ask| load(&sources, options, ask))?;
    let metric = choose_metric(&loaded.runs, args.metric.as_deref())?;
    let (roots, style) = args.folding(&loaded.runs);
    let options = WriteOptions {
        metric,
        roots,
        style,
        name: loaded.names.first().map_or("perfblame", String::as_str),
    };
    for loss in target.losses(&loaded.runs, &options) {
        terminal.note(&loss);
    }
    output::write(out, |file| target.write(&loaded.runs, &options, file))?;
    terminal.log("written");
    Ok(())
}

impl ConvertArgs {
    fn target(&self, out: &Path) -> anyhow::Result<Target> {
        let named = self.to.as_deref();
        let target = match named {
            Some(name) => Target::ALL.into_iter().find(|target| target.name() == name),
            None => Target::of_path(out),
        };
        let failure = || {
            let ends: Vec<_> = Target::ALL.iter().map(|target| target.extensions()[0]).collect();
            Failure {
                what: format!("cannot tell the format of {}", shown(out)),
                why: String::new(),
                help: Some(format!("give `--to`, or use a name that ends in {}", ends.join(", "))),
            }
        };
        Ok(target.ok_or_else(failure)?)
    }

    /// What is put above folded stacks, and how names are written. Everybody folds `perf` the same way; what others
    /// record has no such habit.
    fn folding(&self, runs: &RunSet) -> (Roots, Style) {
        let perf = runs.runs.iter().all(|run| run.info.format.starts_with("perf"));
        let style = match self.style {
            Some(StyleArg::Plain) => Style::Plain,
            Some(StyleArg::Stackcollapse) => Style::Stackcollapse,
            None if perf && self.roots.is_none() => Style::Stackcollapse,
            None => Style::Plain,
        };
        let roots = match self.roots {
            Some(RootsArg::None) => Roots::Bare,
            Some(RootsArg::Process) => Roots::Process,
            Some(RootsArg::Thread) => Roots::Thread,
            None if style == Style::Stackcollapse => Roots::Thread,
            None => Roots::Bare,
        };
        (roots, style)
    }

    /// `convert *.pb.gz` without OUT would replace the last profile: refuse to.
    fn spare_profiles(&self, inputs: &[PathBuf], out: &Path) -> anyhow::Result<()> {
        if self.force || inputs.len() < 2 || !out.is_file() {
            return Ok(());
        }
        let is_profile =
            Input::open(out).is_ok_and(|input| perfblame_readers::detect(&input).is_some());
        if !is_profile {
            return Ok(());
        }
        let help = "give a new file as the last argument, or `--force` to replace this one";
        Err(Failure {
            what: format!("{} would be overwritten", out.display()),
            why: "it is a profile, but the last argument is the output file".to_owned(),
            help: Some(help.to_owned()),
        }
        .into())
    }
}

fn shown(out: &Path) -> String {
    if out.as_os_str() == "-" { "standard output".to_owned() } else { out.display().to_string() }
}
