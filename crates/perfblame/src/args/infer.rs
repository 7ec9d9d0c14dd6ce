//! Options of `perfblame infer`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};

use super::AnswerFiles;

const EXAMPLES: &str = "\
Examples:
  perfblame infer perf.data                      where the time went: running, waiting, and for what
  perf script --ns | perfblame infer -           from a pipe
  perfblame infer perf.data --paths              call paths by cost, with a heat map
  perfblame infer perf.data --html report.html   also write an interactive page
  perfblame infer perf.data --format json | jq '.functions[0]'
  perfblame infer perf.data --instances --format json   every call with its interval
  perfblame diff good.data slow.data             two traces: what made it slower

Record a trace with `perf record -k mono -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit
-e sched:sched_switch --call-graph dwarf -- COMMAND`.";

/// Infer function latencies from a trace of system calls and context switches.
///
/// The kernel takes stacks at its own events. From these, perfblame infers how long the functions of any program ran: a
/// call lasts as long as its function stays on the stack in the same place. Every figure has a lower and an upper bound.
/// Waiting belongs to the function that waits, and is listed by what it waits for.
#[derive(ClapArgs)]
#[command(after_help = EXAMPLES)]
pub struct InferArgs {
    /// The trace: perf.data, the text of `perf script`, `strace -k` and others; `-` for standard input
    #[arg(value_name = "TRACE", value_hint = ValueHint::AnyPath)]
    pub trace: PathBuf,

    /// Rank call paths by cost
    #[arg(long, help_heading = "What to show")]
    pub paths: bool,
    /// List every inferred call with its thread, start and interval
    #[arg(long, help_heading = "What to show")]
    pub instances: bool,
    /// Which latency of a call to add up for functions and paths
    #[arg(long, value_enum, default_value_t, value_name = "MODE", help_heading = "Method")]
    pub mode: ModeArg,
    /// When two events belong to the same call
    #[arg(long, value_enum, default_value_t, value_name = "WHILE", help_heading = "Method")]
    pub continuity: ContinuityArg,

    /// Text for people, JSON for programs, HTML for a browser, DOT for Graphviz
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: InferFormat,
    #[command(flatten)]
    pub files: AnswerFiles,
    /// Show at most this many rows of each list in text; 0 shows all
    #[arg(
        long,
        visible_alias = "top",
        value_name = "ROWS",
        default_value_t = 15,
        help_heading = "Output"
    )]
    pub limit: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum InferFormat {
    #[default]
    Text,
    Json,
    Html,
    Dot,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// The expected latency, within its bounds
    #[default]
    Estimate,
    /// From the first event of a call to its last
    Conservative,
    /// From the first event of a call to the first event without it
    Aggressive,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ContinuityArg {
    /// While it is the same function, called from the same place
    #[default]
    CallSites,
    /// While it is the same function in the same context, as in the IntroPerf paper
    Functions,
}
