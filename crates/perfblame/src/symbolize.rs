//! `perfblame symbolize`: names from debug files, for profiles of binaries that have none.

use std::fmt::Write as _;

use perfblame_analysis::choose_metric;
use perfblame_cct::{Grain, Times, merge_runs};
use perfblame_native::symbolize;
use perfblame_readers::{Input, ReadOptions};
use perfblame_report::{Roots, Style, Target, WriteOptions};
use perfblame_words::counted;

use crate::args::SymbolizeArgs;
use crate::failure::Failure;
use crate::output;
use crate::terminal::Terminal;

/// Objects that are listed one by one.
const LISTED: usize = 10;

/// Reads, names, writes.
pub fn run(args: &SymbolizeArgs, terminal: &Terminal) -> anyhow::Result<()> {
    let fail = |error: perfblame_readers::ReadError| Failure {
        what: format!("cannot read {}", args.input.display()),
        why: error.to_string(),
        help: error.help,
    };
    let input = Input::open(&args.input).map_err(fail)?;
    let options =
        ReadOptions { grain: Grain::Frames, times: Times::Keep, ..ReadOptions::default() };
    let profile = perfblame_readers::read(input, &options).map_err(fail)?;
    let symbolized = symbolize(profile, &args.debug_dir);
    let functions = counted(symbolized.named as u64, "function", "functions");
    let mut said = format!("named {functions}");
    if symbolized.nameless > 0 {
        let nameless = counted(symbolized.nameless as u64, "is", "are");
        let _ = write!(said, "; {nameless} still without a name; missing files:");
    }
    for (path, build_id) in symbolized.wanted.iter().take(LISTED) {
        let build_id = build_id.as_deref().unwrap_or("not recorded");
        let _ = write!(said, "\n  {path}, build id {build_id}");
    }
    let more = symbolized.wanted.len().saturating_sub(LISTED);
    if more > 0 {
        let _ = write!(said, "\n  and {more} more");
    }
    terminal.note(&said);
    let runs = merge_runs(vec![symbolized.profile]);
    let target = Target::of_path(&args.output)
        .or_else(|| Target::ALL.into_iter().find(|target| target.name() == "perfblame"));
    let Some(target) = target else { return Ok(()) };
    let metric = choose_metric(&runs, None)?;
    let options =
        WriteOptions { metric, roots: Roots::Bare, style: Style::Plain, name: "perfblame" };
    for loss in target.losses(&runs, &options) {
        terminal.note(&loss);
    }
    output::write(&args.output, |file| target.write(&runs, &options, file))
}
