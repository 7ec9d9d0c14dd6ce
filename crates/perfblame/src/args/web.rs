//! What can be said to `perfblame web`.

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
                                                 two servers that run, from loading to rest
  perfblame web --serve old/dist new/dist        two folders, served while it takes
  perfblame web --serve old new --flow buy.json  and what a user does there, as DevTools' Recorder exports it
  perfblame web --serve old new --script use.js  or what a script does in the page
  perfblame web --before-cmd 'node old.js {port}' --after-cmd 'node new.js {port}'
                                                 servers that are started, waited for and ended
  perfblame web http://a.test http://b.test --page /cart --html report.html
                                                 one page of both, and a page about the difference
  perfblame web --serve old new --cpu-throttle 4 as on a slower machine

Exit status: 0 no slowdown, 1 slowdown found, 2 it failed.";

/// Say what made a web page slower: visit two versions of it in turns, and compare.
///
/// Every run is a visit by a fresh browser, recorded as the Performance panel records. Runs alternate between the two
/// sides (A B, B A, …) so that whatever drifts on the machine meets both alike, and end as soon as the answer is clear.
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
    #[arg(long, value_names = ["BEFORE", "AFTER"], num_args = 2, value_hint = ValueHint::DirPath, help_heading = "Two sides")]
    pub serve: Vec<PathBuf>,
    /// Start the server of the version before: `{port}` is a free port, also in the variable PORT
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "after_cmd",
        conflicts_with = "serve",
        help_heading = "Two sides"
    )]
    pub before_cmd: Option<String>,
    /// Start the server of the version after
    #[arg(long, value_name = "COMMAND", requires = "before_cmd", help_heading = "Two sides")]
    pub after_cmd: Option<String>,
    /// How long servers may take to answer
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = duration, help_heading = "Two sides")]
    pub start_timeout: Duration,
    /// The page below both addresses
    #[arg(long, default_value = "", value_name = "PATH", help_heading = "Web pages")]
    pub page: String,
    /// What a user does there, as the Recorder panel of DevTools exports it; `-` is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "script", help_heading = "Web pages")]
    pub flow: Option<PathBuf>,
    /// JavaScript that runs in the page once it is loaded; what it promises is waited for
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Web pages")]
    pub script: Option<PathBuf>,
    /// With `--script`, record from where the page is loaded
    #[arg(long, requires = "script", help_heading = "Web pages")]
    pub skip_load: bool,
    #[command(flatten)]
    pub browser: BrowserArgs,
    #[command(flatten)]
    pub scripts: ScriptArgs,

    /// Runs of each side before the first look
    #[arg(long, default_value_t = 3, value_name = "RUNS", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Runs")]
    pub min_runs: u32,
    /// Runs of each side at most
    #[arg(long, visible_alias = "runs", default_value_t = 10, value_name = "RUNS", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Runs")]
    pub max_runs: u32,
    /// Visits to each side that are not recorded, before the first that is
    #[arg(long, default_value_t = 1, value_name = "VISITS", value_parser = clap::value_parser!(u32).range(0..=100), help_heading = "Runs")]
    pub warmup: u32,
    /// Begin no pair of runs that would take longer than this in all
    #[arg(long, default_value = "10min", value_name = "TIME", value_parser = duration, help_heading = "Runs")]
    pub budget: Duration,
    /// A visit that takes longer has failed; a minute unless given
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Runs")]
    pub timeout: Option<Duration>,
    /// Keep the traces in this folder; in a new one below `perfblame-runs` unless given
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = "Runs")]
    pub recordings: Option<PathBuf>,

    /// The metric to compare; time unless given
    #[arg(long, value_name = "NAME", help_heading = "How")]
    pub metric: Option<String>,
    /// The least difference that counts: `5ms`, `2%`; from the measured noise unless given
    #[arg(long, value_name = "AMOUNT", value_parser = least, help_heading = "How")]
    pub min_delta: Option<MinDelta>,

    #[command(flatten)]
    pub answer: AnswerArgs,
}
