//! Options of `perfblame record`.

mod chrome;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use perfblame_analysis::{Amount, AmountError};

pub use chrome::ChromeArgs;

const EXAMPLES: &str = "\
Examples:
  perfblame record auto -- ./server --once               with a suitable profiler
  perfblame record auto --runs 5 --output before -- make bench
  perfblame record java --runs 5 -- java -jar app.jar input.xml
  perfblame record python --frequency 500 -- python3 job.py
  perfblame record native --call-graph dwarf,32768 -- ./parser big.json
  perfblame record native --exact -- ./parser big.json   every call, through uftrace
  perfblame record os -- ./server --once                 what any binary runs and waits for
  perfblame record os --pid 4711 --duration 30s          a running process
  perfblame record chrome --url http://127.0.0.1:8080 --runs 5 --output before
  perfblame record chrome --url app/index.html --script click.js --cpu-throttle 4
  perfblame record chrome --flow checkout.json --runs 5
  perfblame record node --warmup 1 --runs 5 --keep-output -- node build.js
then
  perfblame diff before after                            what made it slower

Exit status: the program's own if it failed (128 plus the signal number
if a signal ended it), 2 if there is no profile, 130 if interrupted,
0 otherwise.";

/// Record profiles: run a program under a suitable profiler, once or many times.
///
/// The program's input, output and exit status stay the same; perfblame's own messages go to standard error. Each run
/// becomes one complete file in a folder that `perfblame diff` takes as one side.
#[derive(ClapArgs)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own on the command line"
)]
#[command(after_help = EXAMPLES)]
pub struct RecordArgs {
    /// The kind of program
    #[arg(value_enum)]
    pub what: WhatArg,
    /// The program and its arguments, after `--`
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,

    /// Record this many runs; comparisons need three or more on each side
    #[arg(short = 'n', long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Runs")]
    pub runs: u32,
    /// First run this many times without a profiler and without output
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Runs")]
    pub warmup: u32,
    /// Stop a run that takes longer than this: `90`, `500ms`, `2m`; default for web pages: 60 s
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Runs")]
    pub timeout: Option<Duration>,
    /// The standard input of each run; by default, a single run reads perfblame's own input unless that is a terminal
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Runs")]
    pub input: Option<PathBuf>,
    /// Continue if the program fails, and exit with status 0
    #[arg(long, help_heading = "Runs")]
    pub ignore_failure: bool,

    /// The folder for the runs; default: a new one below `perfblame-runs`, named after the program
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = "Files")]
    pub output: Option<PathBuf>,
    /// Add to the existing runs in the folder
    #[arg(long, requires = "output", help_heading = "Files")]
    pub append: bool,
    /// Write the output of each run to a file next to the runs instead of showing it
    #[arg(long, help_heading = "Files")]
    pub keep_output: bool,

    /// Samples per second; by default, short programs get more
    #[arg(short = 'F', long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Profiler")]
    pub frequency: Option<u32>,
    /// How to unwind native stacks: auto, fp (frame pointers), dwarf or dwarf,BYTES
    #[arg(long, default_value = "auto", value_name = "HOW", value_parser = call_graph, help_heading = "Profiler")]
    pub call_graph: CallGraphArg,
    /// The event that triggers native samples
    #[arg(long, value_enum, default_value_t, value_name = "EVENT", help_heading = "Profiler")]
    pub event: EventArg,
    /// Record every call instead of samples: native programs through uftrace, Java through perfblame's agent
    #[arg(long, help_heading = "Profiler")]
    pub exact: bool,
    /// With `--exact`, count only the calls of these Java packages
    #[arg(
        long,
        value_name = "PACKAGES",
        value_delimiter = ',',
        requires = "exact",
        help_heading = "Profiler"
    )]
    pub packages: Vec<String>,
    /// With `--exact`, the jar of the Java agent; default: the one next to perfblame
    #[arg(long, value_name = "JAR", value_hint = ValueHint::FilePath, requires = "exact", help_heading = "Profiler")]
    pub agent: Option<PathBuf>,
    /// With `os`, trace a running process and its children
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "all"], help_heading = "Operating system traces")]
    pub pid: Option<u32>,
    /// With `os`, trace everything on this machine
    #[arg(long, conflicts_with = "command", help_heading = "Operating system traces")]
    pub all: bool,
    /// With `os`, record for this long; default for running processes: 10 s
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Operating system traces")]
    pub duration: Option<Duration>,
    /// With `os`, when to take stacks; default: context switches (sched) and ticks of CPU time (cpu)
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "KINDS",
        help_heading = "Operating system traces"
    )]
    pub events: Vec<OsEventArg>,
    /// With `os`, record every system call and every switch; servers can get several times slower
    #[arg(long, help_heading = "Operating system traces")]
    pub full: bool,
    /// With `os`, do not copy the binaries next to the runs; reading the runs after an update or on another machine needs them
    #[arg(long, help_heading = "Operating system traces")]
    pub without_binaries: bool,
    /// Stop recording at this size while the program continues: `200M`, `2G`; for web pages, the limit of the uncompressed trace
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Operating system traces")]
    pub max_size: Option<u64>,
    /// Pass an argument to the profiler; repeatable
    #[arg(
        long = "profiler-arg",
        value_name = "ARG",
        allow_hyphen_values = true,
        help_heading = "Profiler"
    )]
    pub profiler_args: Vec<OsString>,
    #[command(flatten)]
    pub chrome: ChromeArgs,
}

/// The kind of program.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WhatArg {
    /// Choose the profiler by the command
    Auto,
    /// Java: the JVM's flight recorder, in every JVM that a build tool or script starts
    Java,
    /// Native code, or any other program: Linux perf
    Native,
    /// Python: py-spy, subprocesses included
    Python,
    /// Node: V8's sampler, workers and subprocesses included
    Node,
    /// Web pages: Chrome or Chromium, as its Performance panel records them
    Chrome,
    /// Any binary, as the operating system sees it: what it runs and waits for, without agent or symbols
    Os,
}

/// When to take stacks.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OsEventArg {
    Syscalls,
    Sched,
    Cpu,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CallGraphArg {
    Auto,
    FramePointers,
    Dwarf(Option<u32>),
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum EventArg {
    /// CPU time, the same on every machine
    #[default]
    CpuClock,
    /// The processor's cycles; CPU time if it has no counter
    Cycles,
}

fn call_graph(text: &str) -> Result<CallGraphArg, String> {
    let bytes = |text: &str| text.parse().ok().filter(|bytes| (8..=65_528).contains(bytes));
    match text.split_once(',') {
        None if text == "auto" => Ok(CallGraphArg::Auto),
        None if text == "fp" => Ok(CallGraphArg::FramePointers),
        None if text == "dwarf" => Ok(CallGraphArg::Dwarf(None)),
        Some(("dwarf", size)) => match bytes(size) {
            Some(bytes) => Ok(CallGraphArg::Dwarf(Some(bytes))),
            None => Err("expected 8 to 65528 bytes of stack, such as dwarf,32768".to_owned()),
        },
        _ => Err("expected auto, fp, dwarf or dwarf,BYTES".to_owned()),
    }
}

/// A size above nothing.
fn bytes(text: &str) -> Result<u64, AmountError> {
    Amount::size(text).and_then(|size| if size == 0 { Err(AmountError::Size) } else { Ok(size) })
}

/// A time above nothing.
pub fn duration(text: &str) -> Result<Duration, AmountError> {
    Amount::time(text)
        .and_then(|time| if time.is_zero() { Err(AmountError::Time) } else { Ok(time) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_above_nothing() {
        assert_eq!(bytes("200M"), Ok(200 << 20));
        for wrong in ["", "0", "0MB", "5ms"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_time_is_above_nothing() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        for wrong in ["", "0", "0ms", "5MB"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
