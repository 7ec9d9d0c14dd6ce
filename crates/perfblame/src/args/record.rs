//! What can be said to `perfblame record`.

mod chrome;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use perfblame_analysis::{Amount, AmountError};

pub use chrome::ChromeArgs;

const EXAMPLES: &str = "\
Examples:
  perfblame record auto -- ./server --once               by whatever fits
  perfblame record auto --runs 5 --output before -- make bench
  perfblame record java --runs 5 -- java -jar app.jar input.xml
  perfblame record python --frequency 500 -- python3 job.py
  perfblame record native --call-graph dwarf,32768 -- ./parser big.json
  perfblame record native --exact -- ./parser big.json   every call, with uftrace
  perfblame record os -- ./server --once                 what runs and what waits, of any binary
  perfblame record os --pid 4711 --duration 30s          of a process that runs already
  perfblame record chrome --url http://127.0.0.1:8080 --runs 5 --output before
  perfblame record chrome --url app/index.html --script click.js --cpu-throttle 4
  perfblame record chrome --flow checkout.json --runs 5
  perfblame record node --warmup 1 --runs 5 --keep-output -- node build.js
then
  perfblame diff before after                            what made it slower

Exit status: the program's own when it failed (128 and the signal's number
when a signal ended it), 2 when there is no profile, 130 when interrupted,
0 otherwise.";

/// Make profiles: run a program under the profiler that fits, once or many times.
///
/// The program's output, its status and what it reads stay what they are; what perfblame says goes to standard error.
/// Each run becomes one file, complete or not there, in a folder that `perfblame diff` takes as one side.
#[derive(ClapArgs)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own on the command line"
)]
#[command(after_help = EXAMPLES)]
pub struct RecordArgs {
    /// What the program is
    #[arg(value_enum)]
    pub what: WhatArg,
    /// The program and its arguments, after `--`
    #[arg(last = true, required_unless_present_any = ["pid", "all", "url", "flow"], value_name = "CMD")]
    pub command: Vec<OsString>,

    /// Record this many runs; comparing wants three or more on each side
    #[arg(short = 'n', long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Runs")]
    pub runs: u32,
    /// Run this many times before, without a profiler and without output
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Runs")]
    pub warmup: u32,
    /// End a run that takes longer than this: `90`, `500ms`, `2m`; web pages have 60 s unless given
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Runs")]
    pub timeout: Option<Duration>,
    /// What each run reads on standard input; without it, a single run reads what we do, unless that is a terminal
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Runs")]
    pub input: Option<PathBuf>,
    /// Go on when the program fails, and do not fail for it
    #[arg(long, help_heading = "Runs")]
    pub ignore_failure: bool,

    /// Put the runs into this folder; a new one below `perfblame-runs`, named after the program, unless given
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = "Files")]
    pub output: Option<PathBuf>,
    /// Add to the runs that are in the folder already
    #[arg(long, requires = "output", help_heading = "Files")]
    pub append: bool,
    /// Keep what each run prints in files beside the runs instead of showing it
    #[arg(long, help_heading = "Files")]
    pub keep_output: bool,

    /// Samples per second; more for short programs, unless given
    #[arg(short = 'F', long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Profiler")]
    pub frequency: Option<u32>,
    /// How native stacks are walked: auto, fp (frame pointers), dwarf or dwarf,BYTES
    #[arg(long, default_value = "auto", value_name = "HOW", value_parser = call_graph, help_heading = "Profiler")]
    pub call_graph: CallGraphArg,
    /// What native samples count
    #[arg(long, value_enum, default_value_t, value_name = "EVENT", help_heading = "Profiler")]
    pub event: EventArg,
    /// See every call instead of samples: of native programs through uftrace, of Java through perfblame's agent
    #[arg(long, help_heading = "Profiler")]
    pub exact: bool,
    /// With `--exact`, count the calls of these Java packages only
    #[arg(
        long,
        value_name = "PACKAGES",
        value_delimiter = ',',
        requires = "exact",
        help_heading = "Profiler"
    )]
    pub packages: Vec<String>,
    /// With `--exact`, the jar of the Java agent; the one beside this program unless given
    #[arg(long, value_name = "JAR", value_hint = ValueHint::FilePath, requires = "exact", help_heading = "Profiler")]
    pub agent: Option<PathBuf>,
    /// With `os`, trace a process that runs already, and what it starts
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "all"], help_heading = "Traces of the operating system")]
    pub pid: Option<u32>,
    /// With `os`, trace everything on this machine
    #[arg(long, conflicts_with = "command", help_heading = "Traces of the operating system")]
    pub all: bool,
    /// With `os`, record for this long; 10 s of what runs already, unless given
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Traces of the operating system")]
    pub duration: Option<Duration>,
    /// With `os`, where stacks are taken: context switches (sched) and ticks of CPU time (cpu) unless given
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "KINDS",
        help_heading = "Traces of the operating system"
    )]
    pub events: Vec<OsEventArg>,
    /// With `os`, record every system call and every switch; servers can become three times slower
    #[arg(long, help_heading = "Traces of the operating system")]
    pub full: bool,
    /// With `os`, keep no copies of the binaries beside the runs, which reading needs once they are updated or elsewhere
    #[arg(long, help_heading = "Traces of the operating system")]
    pub without_binaries: bool,
    /// Stop recording when the file has this size, while the program goes on: `200M`, `2G`; of web pages, the trace before it is packed
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Traces of the operating system")]
    pub max_size: Option<u64>,
    /// Give the profiler one more argument; can be repeated
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

/// What the program is.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WhatArg {
    /// Look at the command
    Auto,
    /// Java: the JVM's flight recorder, in every JVM that a build tool or script starts
    Java,
    /// Native code, or anything: Linux perf
    Native,
    /// Python: py-spy, subprocesses included
    Python,
    /// Node: V8's sampler, workers and subprocesses included
    Node,
    /// Web pages: Chrome or Chromium, as its Performance panel records them
    Chrome,
    /// Any binary, as the operating system sees it: what runs and what waits, without agents and without symbols
    Os,
}

/// Where stacks are taken.
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
    /// The processor's cycles; CPU time where it has no counter
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
            None => Err("between 8 and 65528 bytes of stack can be copied".to_owned()),
        },
        _ => Err("one of auto, fp, dwarf, dwarf,BYTES".to_owned()),
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
