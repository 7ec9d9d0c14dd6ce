//! Options of `perfblame diff`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use perfblame_analysis::{Amount, AmountError, MinDelta, Sides};

use super::{AnswerArgs, ScriptArgs};

const EXAMPLES: &str = "\
Examples:
  perfblame diff before.pb.gz after.pb.gz        one run per side: a first guess
  perfblame diff old/ new/                       folders: each file is one run
  perfblame diff 'base-*.json' 'head-*.json'     patterns, quoted so that the shell keeps them
  perfblame diff old/ new/ --html report.html    also write an interactive page
  perfblame diff old/ new/ --min-delta 2%        ignore smaller differences
  perfblame diff old/ new/ --metric allocated    memory instead of time
  perfblame diff old/ new/ --work 12000,9000     the program did less work after
  perfblame diff old/ new/ --root handle         only calls below `handle`
  perfblame diff old/ new/ --method stages --repo . --base v1.2 --head v1.3
                                                 grouped by code change
  perf script | perfblame diff base.txt -        one side from a pipe
  perfblame diff old/ new/ --format markdown     for a pull request
  perfblame diff old/ new/ --format json | jq '.suspects[0].function'

Exit status: 0 no slowdown, 1 slowdown found, 2 failure.";

/// Find what made a program slower: compare runs before with runs after.
///
/// The first line is the answer: how much slower it got, and which functions explain it. The suspects follow, each with
/// call path, cost before and after, 95 % confidence interval, every run as a dot, and how the function changed. Then come
/// improvements, the runtime's own cost and problems with the input.
///
/// Several runs on each side separate a difference from noise; three are good, five are better. The sides may have different
/// numbers of runs.
#[derive(ClapArgs)]
#[command(after_help = EXAMPLES)]
pub struct DiffArgs {
    /// Runs before: a file, a folder (each file is one run), a quoted pattern, `-` for standard input, or `@REVISION` for runs kept by `perfblame check`
    #[arg(value_name = "BEFORE", value_hint = ValueHint::AnyPath, required_unless_present = "before_runs")]
    pub before: Option<PathBuf>,
    /// Runs after, in the same forms
    #[arg(value_name = "AFTER", value_hint = ValueHint::AnyPath, required_unless_present = "after_runs")]
    pub after: Option<PathBuf>,
    /// A before run, instead of BEFORE; repeat the option for more
    #[arg(long = "before", value_name = "FILE", value_hint = ValueHint::AnyPath, requires = "after_runs", conflicts_with = "before")]
    pub before_runs: Vec<PathBuf>,
    /// An after run, instead of AFTER; repeat the option for more
    #[arg(long = "after", value_name = "FILE", value_hint = ValueHint::AnyPath, requires = "before_runs", conflicts_with = "after")]
    pub after_runs: Vec<PathBuf>,

    /// The metric to compare; default: the first that both sides have
    #[arg(long, value_name = "NAME", help_heading = "Selection")]
    pub metric: Option<String>,
    /// Compare only threads with this id, or with this text in their name
    #[arg(long, value_name = "NAME", help_heading = "Selection")]
    pub thread: Option<String>,
    /// Compare only what this function does
    #[arg(long, value_name = "FUNCTION", help_heading = "Selection")]
    pub root: Option<String>,
    /// Compare only one task, as for `show`
    #[arg(long, value_name = "DEFINITION", help_heading = "Selection")]
    pub task: Vec<String>,
    /// Keep names as recorded, with the numbers of lambdas and generated classes and with compiler suffixes
    #[arg(long, alias = "no-normalise", help_heading = "Selection")]
    pub raw_names: bool,
    #[command(flatten)]
    pub scripts: ScriptArgs,
    /// Source maps of the before side only; two builds usually have maps with the same names
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath, help_heading = "Scripts")]
    pub source_maps_before: Vec<PathBuf>,
    /// Source maps of the after side only
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath, help_heading = "Scripts")]
    pub source_maps_after: Vec<PathBuf>,

    /// How to explain the difference
    #[arg(long, value_enum, default_value_t, value_name = "METHOD", help_heading = "Method")]
    pub method: MethodArg,
    /// Ignore smaller differences: `5ms`, `2%`, `1.5MiB`, `1000`; default: from the measured noise
    #[arg(long, value_name = "AMOUNT", value_parser = least, help_heading = "Method")]
    pub min_delta: Option<MinDelta>,
    /// Compare costs as they are, as shares of the total, or scaled to equal numbers of calls
    #[arg(
        long,
        visible_alias = "normalise",
        value_enum,
        default_value_t,
        value_name = "BY",
        help_heading = "Method"
    )]
    pub normalize: NormalizeArg,
    /// Work done before and after (requests, frames, files): `12000,9000`, or one number per run separated by `:`, as in
    /// `100:110:90,80:85`
    #[arg(long, value_name = "BEFORE,AFTER", value_parser = work, help_heading = "Method")]
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
    /// A JSON list of changes, see docs/stages.md; for `--method stages`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "code")]
    pub changes: Option<PathBuf>,
    /// Compare the classes of two Java programs: folders, jars or class paths; for `--method stages`
    #[arg(long, value_names = ["BEFORE", "AFTER"], num_args = 2, value_hint = ValueHint::AnyPath, group = "code")]
    pub classes: Vec<PathBuf>,
    /// Compare the sources in two folders, and list the changes that explain each suspect
    #[arg(long, value_names = ["BEFORE", "AFTER"], num_args = 2, value_hint = ValueHint::DirPath, group = "code")]
    pub source: Vec<PathBuf>,
    /// Compare two revisions of a git repository, and list the changes and commits that explain each suspect
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, group = "code")]
    pub repo: Option<PathBuf>,
    /// The revision before; default: where the branch left the main branch
    #[arg(long, value_name = "REVISION", requires = "repo")]
    pub base: Option<String>,
    /// The revision after; default: the working tree
    #[arg(long, value_name = "REVISION", requires = "repo")]
    pub head: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum MethodArg {
    /// The shortest explanation, with statistics over the runs
    #[default]
    Suspects,
    /// The critical graph: the calls that got slower, down to the innermost
    CriticalGraph,
    /// Differences grouped by the code changes behind them
    Stages,
    /// Call paths ranked by their difference
    Paths,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum NormalizeArg {
    /// Costs as they are
    #[default]
    None,
    /// Shares of the total
    Total,
    /// Costs as if every run had made the same number of calls
    Calls,
}

/// What the program got done before and after.
pub type Work = Sides<Vec<f64>>;

pub fn least(text: &str) -> Result<MinDelta, AmountError> {
    Amount::parse(text).map(MinDelta::from)
}

fn work(text: &str) -> Result<Work, String> {
    let wrong = "expected two positive numbers such as `12000,9000`, or one per run separated by `:` such as `100:110,80:85`";
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
