//! Options of `perfblame check`, `bisect`, `init` and `hook`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};

const CHECK_EXAMPLES: &str = "\
Examples:
  perfblame init                             write perfblame.toml; once per project
  perfblame check                            your branch with uncommitted changes
  perfblame check HEAD~1 HEAD                the last commit
  perfblame check v1.2                       everything since a release
  perfblame check --workload parse           only one workload
  perfblame check --format markdown          for a pull request
  perfblame check --fail-on inconclusive     in CI: an inconclusive check fails too
  perfblame check --last                     the answer of the last check

Exit status: 0 no slowdown, 1 slowdown found (or inconclusive, with `--fail-on inconclusive`),
2 failure: a build, a run, different output, a missing profiler.";

/// Check whether a change made it slower: build, run and compare two revisions.
///
/// perfblame checks out and builds both revisions once, inside the git directory. It runs them alternately as
/// `perfblame.toml` says, until the answer is clear or the budget is used up. It does not touch your index or working tree.
#[derive(ClapArgs)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// The revision before; default: where the branch left the main branch
    pub base: Option<String>,
    /// The revision after; default: the working tree with uncommitted changes
    pub head: Option<String>,

    #[command(flatten)]
    pub what: WhatToRun,

    /// Show the answer of the last check again, without running anything
    #[arg(long, conflicts_with_all = ["base", "head", "workload", "input", "fresh", "runs", "budget", "metric", "html"])]
    pub last: bool,
    /// Exit with status 1 on a slowdown only, or also if the check is inconclusive
    #[arg(long, value_enum, default_value_t, value_name = "VERDICT")]
    pub fail_on: FailOn,
    #[command(flatten)]
    pub output: CheckOutput,
}

/// What to run, and how often.
#[derive(ClapArgs)]
pub struct WhatToRun {
    /// Run only this workload; repeatable
    #[arg(long, value_name = "NAME", help_heading = "What to run")]
    pub workload: Vec<String>,
    /// Run only this input; repeatable
    #[arg(long, value_name = "INPUT", help_heading = "What to run")]
    pub input: Vec<String>,
    /// Maximum runs per side; overrides perfblame.toml
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(2..=100_000), help_heading = "What to run")]
    pub runs: Option<u32>,
    /// Time for the runs of one input, such as `90s` or `5min`; overrides perfblame.toml
    #[arg(long, value_name = "TIME", value_parser = super::record::duration, help_heading = "What to run")]
    pub budget: Option<Duration>,
    /// The metric to compare, such as `cpu` or `samples`; overrides perfblame.toml
    #[arg(long, value_name = "NAME", help_heading = "What to run")]
    pub metric: Option<String>,
    /// Ignore stored profiles and repeat all runs
    #[arg(long, help_heading = "What to run")]
    pub fresh: bool,
    /// Fail instead of waiting if another check of this repository is running
    #[arg(long, help_heading = "What to run")]
    pub no_wait: bool,
    /// The configuration file; default: perfblame.toml at the root of the repository
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "What to run")]
    pub config: Option<PathBuf>,
}

/// How to show the answer.
#[derive(ClapArgs)]
pub struct CheckOutput {
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: CheckFormat,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Also write an interactive HTML page
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Show at most this many suspects; 0 shows all
    #[arg(long, value_name = "ROWS", default_value_t = 10, help_heading = "Output")]
    pub limit: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    #[default]
    Text,
    Json,
    Markdown,
    Sarif,
    Html,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    #[default]
    Regressed,
    Inconclusive,
}

const BISECT_EXAMPLES: &str = "\
Examples:
  perfblame bisect v1.2 HEAD                   the first slow commit since the release
  perfblame bisect v1.2 main --first-parent    the first slow merge
  perfblame bisect v1.2 HEAD --workload parse  for one workload

Exit status: 0 no slowdown, 1 commit found, 2 failure.";

/// Find the commit that made it slower.
///
/// perfblame compares commits between GOOD and BAD with both ends until one is left. It skips commits that do not build or
/// are inconclusive, does not run commits that change only documents, and reuses earlier profiles and builds.
#[derive(ClapArgs)]
#[command(after_help = BISECT_EXAMPLES)]
pub struct BisectArgs {
    /// A fast commit, an ancestor of BAD
    pub good: String,
    /// A slow commit
    pub bad: String,
    /// Follow only first parents, so that a merge is one step
    #[arg(long)]
    pub first_parent: bool,
    #[command(flatten)]
    pub what: WhatToRun,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: super::Format,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
}

const INIT_EXAMPLES: &str = "\
Examples:
  perfblame init                             write perfblame.toml for the project in this folder
  perfblame init --force                     replace an existing file";

/// Write perfblame.toml, which says what to build and run.
///
/// perfblame detects the kind of project (Cargo, Maven, Gradle, Go, npm, CMake, Make, Python) and writes a file to start from.
#[derive(ClapArgs)]
#[command(after_help = INIT_EXAMPLES)]
pub struct InitArgs {
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
}

const HOOK_EXAMPLES: &str = "\
Examples:
  perfblame hook install                     check after each commit and before each push
  perfblame check --last                     the answer of the last check
  perfblame hook uninstall                   remove the hooks";

/// Let git run checks: after each commit in the background, before each push in the foreground.
#[derive(ClapArgs)]
#[command(after_help = HOOK_EXAMPLES)]
pub struct HookArgs {
    #[command(subcommand)]
    pub command: HookCommand,
}

#[derive(Subcommand)]
pub enum HookCommand {
    /// Add a marked block to the hooks post-commit and pre-push
    Install,
    /// Remove the block and nothing else
    Uninstall,
    /// Started by the hooks
    #[command(hide = true)]
    Run {
        /// The hook's name
        hook: String,
    },
}
