//! What can be said to `perfblame diff`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use perfblame_analysis::{Amount, AmountError, MinDelta, Sides};

use super::{AnswerArgs, ScriptArgs};

const EXAMPLES: &str = "\
Examples:
  perfblame diff before.pb.gz after.pb.gz        one run each: a first guess
  perfblame diff old/ new/                       folders, each file one run: with statistics
  perfblame diff 'base-*.json' 'head-*.json'     patterns, quoted so that they stay two
  perfblame diff old/ new/ --html report.html    and a page to click through
  perfblame diff old/ new/ --min-delta 2%        what is smaller does not matter
  perfblame diff old/ new/ --metric allocated    memory instead of time
  perfblame diff old/ new/ --work 12000,9000     the program got less done after
  perfblame diff old/ new/ --root handle         only what `handle` does
  perfblame diff old/ new/ --method stages --repo . --base v1.2 --head v1.3
                                                 by the code change behind each difference
  perf script | perfblame diff base.txt -        one side from a pipe
  perfblame diff old/ new/ --format markdown     for a pull request
  perfblame diff old/ new/ --format json | jq '.suspects[0].function'

Exit status: 0 no slowdown, 1 slowdown found, 2 it failed.";

/// Say what made it slower: runs before against runs after.
///
/// The first line is the answer: how much slower, and which function explains how much of it. Then the suspects with
/// call path, cost before and after with its 95 % interval, every run as a dot, and how the function changed. Then what
/// got faster, the runtime's own cost and what was wrong with the input.
///
/// Several runs on each side tell a difference from noise; three are good, five are better. Their number may differ.
#[derive(ClapArgs)]
#[command(after_help = EXAMPLES)]
pub struct DiffArgs {
    /// Runs before: a file, a folder (each file is one run), a quoted pattern, `-` for standard input, or `@REVISION` for the runs that checks keep of it
    #[arg(value_name = "BEFORE", value_hint = ValueHint::AnyPath, required_unless_present = "before_runs")]
    pub before: Option<PathBuf>,
    /// Runs after, likewise
    #[arg(value_name = "AFTER", value_hint = ValueHint::AnyPath, required_unless_present = "after_runs")]
    pub after: Option<PathBuf>,
    /// One run before, as often as there are; instead of BEFORE
    #[arg(long = "before", value_name = "FILE", value_hint = ValueHint::AnyPath, requires = "after_runs", conflicts_with = "before")]
    pub before_runs: Vec<PathBuf>,
    /// One run after, as often as there are; instead of AFTER
    #[arg(long = "after", value_name = "FILE", value_hint = ValueHint::AnyPath, requires = "before_runs", conflicts_with = "after")]
    pub after_runs: Vec<PathBuf>,

    /// The metric to compare; the first that both sides have unless given
    #[arg(long, value_name = "NAME", help_heading = "Of what")]
    pub metric: Option<String>,
    /// Only threads whose name contains this, or whose id it is
    #[arg(long, value_name = "NAME", help_heading = "Of what")]
    pub thread: Option<String>,
    /// Only what this function does
    #[arg(long, value_name = "FUNCTION", help_heading = "Of what")]
    pub root: Option<String>,
    /// Only what belongs to a task, as for `show`
    #[arg(long, value_name = "DEFINITION", help_heading = "Of what")]
    pub task: Vec<String>,
    /// Leave names as recorded: lambdas, generated classes and compiler suffixes are made alike otherwise
    #[arg(long, alias = "no-normalise", help_heading = "Of what")]
    pub raw_names: bool,
    #[command(flatten)]
    pub scripts: ScriptArgs,
    /// Source maps of the version before alone: two builds mostly have maps of the same name
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath, help_heading = "Scripts")]
    pub source_maps_before: Vec<PathBuf>,
    /// Source maps of the version after alone
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath, help_heading = "Scripts")]
    pub source_maps_after: Vec<PathBuf>,

    /// How to explain the difference
    #[arg(long, value_enum, default_value_t, value_name = "METHOD", help_heading = "How")]
    pub method: MethodArg,
    /// The least difference that counts: `5ms`, `2%`, `1.5MiB`, `1000`; from the measured noise unless given
    #[arg(long, value_name = "AMOUNT", value_parser = least, help_heading = "How")]
    pub min_delta: Option<MinDelta>,
    /// Compare shares of the total, cost per call, or costs as they are
    #[arg(
        long,
        visible_alias = "normalise",
        value_enum,
        default_value_t,
        value_name = "BY",
        help_heading = "How"
    )]
    pub normalize: NormalizeArg,
    /// What the program got done before and after (requests, frames, files): `12000,9000`, or one number per run with
    /// `:` between, as in `100:110:90,80:85`
    #[arg(long, value_name = "BEFORE,AFTER", value_parser = work, help_heading = "How")]
    pub work: Option<Work>,
    /// What changed in the code.
    #[command(flatten)]
    pub code: CodeArgs,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// What changed in the code.
#[derive(ClapArgs)]
#[command(next_help_heading = "What changed in the code")]
pub struct CodeArgs {
    /// As JSON, see docs/stages.md; for `--method stages`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "code")]
    pub changes: Option<PathBuf>,
    /// Between the classes of two Java programs: folders, jars or class paths; for `--method stages`
    #[arg(long, value_names = ["BEFORE", "AFTER"], num_args = 2, value_hint = ValueHint::AnyPath, group = "code")]
    pub classes: Vec<PathBuf>,
    /// Between the sources in two folders: suspects come with the changes that explain them
    #[arg(long, value_names = ["BEFORE", "AFTER"], num_args = 2, value_hint = ValueHint::DirPath, group = "code")]
    pub source: Vec<PathBuf>,
    /// Between two revisions of a git repository: suspects come with the changes and commits that explain them
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, group = "code")]
    pub repo: Option<PathBuf>,
    /// The revision before; where the main branch was left unless given
    #[arg(long, value_name = "REVISION", requires = "repo")]
    pub base: Option<String>,
    /// The revision after; the files as they are unless given
    #[arg(long, value_name = "REVISION", requires = "repo")]
    pub head: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum MethodArg {
    /// The shortest explanation, with statistics over the runs
    #[default]
    Suspects,
    /// The critical graph: which calls got slower, down to the innermost
    CriticalGraph,
    /// Differences by the code changes that touch them
    Stages,
    /// Call paths ranked by their difference
    Paths,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum NormalizeArg {
    /// Costs as they are
    #[default]
    None,
    /// Every run has the same total: shares are compared
    Total,
    /// Cost per call
    Calls,
}

/// What the program got done before and after.
pub type Work = Sides<Vec<f64>>;

pub fn least(text: &str) -> Result<MinDelta, AmountError> {
    Amount::parse(text).map(MinDelta::from)
}

fn work(text: &str) -> Result<Work, String> {
    let wrong = "work is two positive numbers, `12000,9000`, or one per run with `:` between, `100:110,80:85`";
    let side = |text: &str| -> Option<Vec<f64>> {
        let number = |text: &str| {
            text.trim().parse::<f64>().ok().filter(|work| work.is_finite() && *work > 0.0)
        };
        text.split(':').map(number).collect()
    };
    let sides = text
        .split_once(',')
        .and_then(|(before, after)| Some(Sides { before: side(before)?, after: side(after)? }));
    sides.ok_or_else(|| wrong.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_given_by_side_or_by_run() {
        assert_eq!(work("12000,9000"), Ok(Sides::new(vec![12000.0], vec![9000.0])));
        assert_eq!(work("1:2:3, 4.5"), Ok(Sides::new(vec![1.0, 2.0, 3.0], vec![4.5])));
        for bad in ["", "1", "1,0", "1,-2", "1,x", "1,", "1:,2", "inf,1", "1,2,3"] {
            assert!(work(bad).is_err(), "{bad}");
        }
    }
}
