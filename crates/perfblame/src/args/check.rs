//! What can be said to `perfblame check`, `bisect`, `init` and `hook`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};

const CHECK_EXAMPLES: &str = "\
Examples:
  perfblame init                             write perfblame.toml, once
  perfblame check                            what my branch and my uncommitted changes did
  perfblame check HEAD~1 HEAD                what the last commit did
  perfblame check v1.2                       what happened since a release
  perfblame check --workload parse           only one workload
  perfblame check --format markdown          for a pull request
  perfblame check --fail-on inconclusive     in CI: what cannot be told fails, too
  perfblame check --last                     what the last check said

Exit status: 0 no slowdown, 1 slowdown found (or cannot tell, with `--fail-on inconclusive`),
2 it failed: a build, a run, different output, a missing profiler.";

/// Say what a change did to performance: build, run and compare two revisions.
///
/// Both revisions are checked out and built in the git directory, each once, and run in turns as `perfblame.toml` says,
/// until the answer is clear or the budget is spent. Your index and working tree are not touched.
#[derive(ClapArgs)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// The revision before; where the branch left the main branch unless given
    pub base: Option<String>,
    /// The revision after; the working tree with all that is not committed unless given
    pub head: Option<String>,

    #[command(flatten)]
    pub what: WhatToRun,

    /// Show what the last check said, without running anything
    #[arg(long, conflicts_with_all = ["base", "head", "workload", "input", "fresh", "runs", "budget", "metric", "html"])]
    pub last: bool,
    /// What makes the exit status 1: a slowdown, or also an answer that cannot be told
    #[arg(long, value_enum, default_value_t, value_name = "VERDICT")]
    pub fail_on: FailOn,
    #[command(flatten)]
    pub output: CheckOutput,
}

/// What is run, and how often.
#[derive(ClapArgs)]
pub struct WhatToRun {
    /// Only this workload; can be given several times
    #[arg(long, value_name = "NAME", help_heading = "What to run")]
    pub workload: Vec<String>,
    /// Only this input; can be given several times
    #[arg(long, value_name = "INPUT", help_heading = "What to run")]
    pub input: Vec<String>,
    /// Runs of each side at most, instead of what the file says
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(2..=100_000), help_heading = "What to run")]
    pub runs: Option<u32>,
    /// Time for the runs of one input, such as `90s` or `5min`, instead of what the file says
    #[arg(long, value_name = "TIME", value_parser = super::record::duration, help_heading = "What to run")]
    pub budget: Option<Duration>,
    /// What to compare, such as `cpu` or `samples`, instead of what the file says
    #[arg(long, value_name = "NAME", help_heading = "What to run")]
    pub metric: Option<String>,
    /// Make all runs anew, and use no stored profiles
    #[arg(long, help_heading = "What to run")]
    pub fresh: bool,
    /// Say so and end when another check of this repository runs, instead of waiting
    #[arg(long, help_heading = "What to run")]
    pub no_wait: bool,
    /// Another file than perfblame.toml at the root of the repository
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "What to run")]
    pub config: Option<PathBuf>,
}

/// How the answer is shown.
#[derive(ClapArgs)]
pub struct CheckOutput {
    /// How to show the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: CheckFormat,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Write a page to click through, too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Suspects at most; 0 shows all
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
  perfblame bisect v1.2 HEAD                   which commit since the release
  perfblame bisect v1.2 main --first-parent    which merge
  perfblame bisect v1.2 HEAD --workload parse  of one workload

Exit status: 0 there is no slowdown, 1 found, 2 it failed.";

/// Find the commit that made it slower.
///
/// Commits between GOOD and BAD are compared with both ends until one is left. What cannot be built or told is stepped
/// around, what changes only documents is not run, and profiles and built checkouts of before are used again.
#[derive(ClapArgs)]
#[command(after_help = BISECT_EXAMPLES)]
pub struct BisectArgs {
    /// A commit where it was fast, an ancestor of BAD
    pub good: String,
    /// A commit where it is slow
    pub bad: String,
    /// Walk along first parents only: a merge is one step
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
  perfblame init --force                     write it again";

/// Write perfblame.toml: what to build and run.
///
/// Looks at what the project is (Cargo, Maven, Gradle, Go, npm, CMake, Make, Python) and writes a file to start from.
#[derive(ClapArgs)]
#[command(after_help = INIT_EXAMPLES)]
pub struct InitArgs {
    /// Replace a file that is there already
    #[arg(long)]
    pub force: bool,
}

const HOOK_EXAMPLES: &str = "\
Examples:
  perfblame hook install                     check after each commit and before each push
  perfblame check --last                     what the last check said
  perfblame hook uninstall                   no more of it";

/// Have git start checks: after each commit in the background, before each push in front.
#[derive(ClapArgs)]
#[command(after_help = HOOK_EXAMPLES)]
pub struct HookArgs {
    #[command(subcommand)]
    pub command: HookCommand,
}

#[derive(Subcommand)]
pub enum HookCommand {
    /// Put a marked block into the hooks post-commit and pre-push
    Install,
    /// Take the block out again, and nothing else
    Uninstall,
    /// What the hooks start
    #[command(hide = true)]
    Run {
        /// The hook's name
        hook: String,
    },
}
