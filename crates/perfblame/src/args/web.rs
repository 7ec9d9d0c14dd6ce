//! Options of `perfblame web`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueHint};
use perfblame_analysis::MinDelta;

use super::diff::least;
use super::record::duration;
use super::{AnswerArgs, BrowserArgs, ScriptArgs};

const EXAMPLES: &str = "\
Examples:
  perfblame web http://127.0.0.1:3000 http://127.0.0.1:3001
                                                 two running servers, until the page is idle
  perfblame web --serve old/dist new/dist        two folders, served by perfblame
  perfblame web --serve old new --flow buy.json  replay a flow exported from DevTools' Recorder
  perfblame web --serve old new --script use.js  run a script in the page
  perfblame web --before-cmd 'node old.js {port}' --after-cmd 'node new.js {port}'
                                                 servers that perfblame starts and stops
  perfblame web http://a.test http://b.test --page /cart --html report.html
                                                 one path on both sides, and a report page
  perfblame web --serve old new --cpu-throttle 4 as if on a slower machine

Exit status: 0 no slowdown, 1 slowdown found, 2 failure.";

/// Find what made a web page slower: visit two versions alternately and compare.
///
/// Every run is a visit in a fresh browser, recorded as the Performance panel does. Runs alternate between the two sides
/// (A B, B A, …), so that any drift affects both equally. They stop as soon as the answer is clear.
#[derive(ClapArgs)]
#[command(after_help = EXAMPLES)]
pub struct WebArgs {
    /// The address of the version before
    #[arg(value_name = "BEFORE_URL", value_hint = ValueHint::Url, required_unless_present_any = ["serve", "before_cmd"], conflicts_with = "serve")]
    pub before: Option<String>,
    /// The address of the version after
    #[arg(value_name = "AFTER_URL", value_hint = ValueHint::Url, required_unless_present_any = ["serve", "after_cmd"], conflicts_with = "serve")]
    pub after: Option<String>,
    /// Serve two folders of files on the loopback address
    #[arg(long, value_names = ["BEFORE", "AFTER"], num_args = 2, value_hint = ValueHint::DirPath, help_heading = "Sides")]
    pub serve: Vec<PathBuf>,
    /// The shell command that starts the before server; `{port}` is a free port, also in the variable PORT
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "after_cmd",
        conflicts_with = "serve",
        help_heading = "Sides"
    )]
    pub before_cmd: Option<String>,
    /// The shell command that starts the after server
    #[arg(long, value_name = "COMMAND", requires = "before_cmd", help_heading = "Sides")]
    pub after_cmd: Option<String>,
    /// How long to wait until servers respond
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = duration, help_heading = "Sides")]
    pub start_timeout: Duration,
    /// The path to open on both sides
    #[arg(long, default_value = "", value_name = "PATH", help_heading = "Web pages")]
    pub page: String,
    /// Replay a user flow exported from DevTools' Recorder panel; `-` is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "script", help_heading = "Web pages")]
    pub flow: Option<PathBuf>,
    /// JavaScript to run in the loaded page; perfblame awaits its promise
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Web pages")]
    pub script: Option<PathBuf>,
    /// With `--script`, start recording after the page has loaded
    #[arg(long, requires = "script", help_heading = "Web pages")]
    pub skip_load: bool,
    #[command(flatten)]
    pub browser: BrowserArgs,
    #[command(flatten)]
    pub scripts: ScriptArgs,

    /// Runs per side before the first comparison
    #[arg(long, default_value_t = 3, value_name = "RUNS", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Runs")]
    pub min_runs: u32,
    /// Maximum runs per side
    #[arg(long, visible_alias = "runs", default_value_t = 10, value_name = "RUNS", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Runs")]
    pub max_runs: u32,
    /// Visits per side without recording, before the first recorded one
    #[arg(long, default_value_t = 1, value_name = "VISITS", value_parser = clap::value_parser!(u32).range(0..=100), help_heading = "Runs")]
    pub warmup: u32,
    /// Total time for all runs; no pair of runs starts that would exceed it
    #[arg(long, default_value = "10min", value_name = "TIME", value_parser = duration, help_heading = "Runs")]
    pub budget: Duration,
    /// Fail if a visit takes longer than this; default: 60 s
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Runs")]
    pub timeout: Option<Duration>,
    /// The folder for the traces; default: a new one below `perfblame-runs`
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = "Runs")]
    pub recordings: Option<PathBuf>,

    /// The metric to compare; default: time
    #[arg(long, value_name = "NAME", help_heading = "Method")]
    pub metric: Option<String>,
    /// Ignore smaller differences: `5ms`, `2%`; default: from the measured noise
    #[arg(long, value_name = "AMOUNT", value_parser = least, help_heading = "Method")]
    pub min_delta: Option<MinDelta>,

    #[command(flatten)]
    pub answer: AnswerArgs,
}
