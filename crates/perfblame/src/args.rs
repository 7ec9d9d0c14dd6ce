//! What can be said on the command line.

mod answer;
mod browser;
mod check;
mod diff;
mod infer;
mod record;
mod scripts;
mod web;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args as ClapArgs, Parser, Subcommand, ValueEnum, ValueHint};
use perfblame_readers::FORMATS;
use perfblame_report::Target;

pub use answer::{AnswerArgs, AnswerFiles, DiffFormat};
pub use browser::BrowserArgs;
pub use check::{
    BisectArgs, CheckArgs, CheckFormat, CheckOutput, FailOn, HookArgs, HookCommand, InitArgs,
    WhatToRun,
};
pub use diff::{CodeArgs, DiffArgs, MethodArg, NormalizeArg};
pub use infer::{ContinuityArg, InferArgs, InferFormat, ModeArg};
pub use record::{CallGraphArg, EventArg, OsEventArg, RecordArgs, WhatArg};
pub use scripts::ScriptArgs;
pub use web::WebArgs;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// What made it slower?
///
/// perfblame reads the profiles and traces you already have, whoever wrote them.
#[derive(Parser)]
#[command(name = "perfblame", version, styles = STYLES, max_term_width = 100)]
#[command(after_long_help = overview(), after_help = "Each command has examples: `perfblame show --help`")]
pub struct Args {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// What holds for every command.
#[derive(ClapArgs)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// When to use colours; `auto` follows the terminal, NO_COLOR and CLICOLOR
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub color: When,
    /// Say nothing but the answer: no progress, no notes
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say what takes how long
    #[arg(short, long, global = true, conflicts_with = "quiet", action = ArgAction::SetTrue)]
    pub verbose: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
pub enum Command {
    /// Show what is in a profile: hot path, functions, threads
    Show(Box<ShowArgs>),
    /// Say what made it slower: runs before against runs after
    Diff(Box<DiffArgs>),
    /// Infer function latencies from a trace of system calls and context switches
    Infer(Box<InferArgs>),
    /// Make profiles: run a program under the profiler that fits, once or many times
    Record(Box<RecordArgs>),
    /// Say what made a web page slower: visit two versions of it in turns, and compare
    Web(Box<WebArgs>),
    /// Say what a change did to performance: build, run and compare two revisions
    Check(Box<CheckArgs>),
    /// Find the commit that made it slower
    Bisect(Box<BisectArgs>),
    /// Write perfblame.toml: what to build and run
    Init(InitArgs),
    /// Have git start checks after commits and before pushes
    Hook(HookArgs),
    /// Convert any profile to pprof, folded stacks, speedscope, Firefox, Chrome trace or perfblame's own file
    Convert(ConvertArgs),
    /// Name functions of binaries without symbols, with debug files
    Symbolize(SymbolizeArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

const SHOW_EXAMPLES: &str = "\
Examples:
  perfblame show cpu.pb.gz                      what this is and where the time goes
  perfblame show trace.json --functions         all functions, by their own cost
  perfblame show app.jfr --metric allocated     where memory is allocated
  perfblame show perf.data --callers malloc     who calls malloc, and how much that costs
  perfblame show run.folded --root parse        what parse does, in shares of parse
  perfblame show perf.data --flame flame.html   a flame graph to click through
  perfblame show runs/ 'more/*.pb.gz'           several runs, added up
  perf script | perfblame show -                from a pipe
  perfblame show cpu.pb.gz --format json | jq '.top[0].function'";

/// Show what is in a profile.
///
/// The verdict comes first: what the file is, how long it took, how many samples and threads it has, and where the time
/// goes. Then the hot path, the most costly functions and the threads by role. The options below ask for one thing only.
#[derive(ClapArgs)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own on the command line"
)]
#[command(after_help = SHOW_EXAMPLES, after_long_help = format!("{SHOW_EXAMPLES}\n\n{}", formats()))]
pub struct ShowArgs {
    /// Profiles or traces: files, folders (each file is one run), patterns, or `-` for standard input
    #[arg(required = true, value_name = "PROFILE", value_hint = ValueHint::AnyPath)]
    pub profiles: Vec<PathBuf>,

    /// List functions by their own cost
    #[arg(long, help_heading = "What to show")]
    pub functions: bool,
    /// Draw the call tree
    #[arg(long, help_heading = "What to show")]
    pub tree: bool,
    /// Who calls this function: exact name, end of it or part of it
    #[arg(long, value_name = "FUNCTION", help_heading = "What to show")]
    pub callers: Option<String>,
    /// Whom this function calls
    #[arg(long, value_name = "FUNCTION", help_heading = "What to show")]
    pub callees: Option<String>,
    /// List threads
    #[arg(long, help_heading = "What to show")]
    pub threads: bool,
    /// Write a flame graph, as .svg or as an .html page to click through
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "What to show")]
    pub flame: Vec<PathBuf>,

    /// Only what belongs to a task: `com.shop.Order`, `prefix:… as NAME` or `regex:…(?<group>…)… as NAME-${group}`
    #[arg(long, value_name = "DEFINITION", help_heading = "Of what")]
    pub task: Vec<String>,
    /// Only what this function does, with all shares relative to it
    #[arg(long, value_name = "FUNCTION", help_heading = "Of what")]
    pub root: Option<String>,
    /// The metric to show; the profile's first one unless given
    #[arg(long, value_name = "NAME", help_heading = "Of what")]
    pub metric: Option<String>,
    /// Only threads whose name contains this, or whose id it is
    #[arg(long, value_name = "NAME", help_heading = "Of what")]
    pub thread: Option<String>,
    /// Tell contexts apart by the place in the caller, too
    #[arg(long, help_heading = "Of what")]
    pub call_sites: bool,
    /// Leave names as recorded: lambdas, generated classes and compiler suffixes are made alike otherwise
    #[arg(long, alias = "no-normalize", help_heading = "Of what")]
    pub no_normalise: bool,
    #[command(flatten)]
    pub scripts: ScriptArgs,

    /// Sort functions by their own or by their inclusive cost
    #[arg(long, value_enum, default_value_t, value_name = "COST", help_heading = "How much")]
    pub sort: Sort,
    /// Show at most this many rows per table; 0 shows all
    #[arg(long, visible_alias = "top", value_name = "ROWS", help_heading = "How much")]
    pub limit: Option<usize>,
    /// Leave out call paths below this share of the whole, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = "How much")]
    pub min: Option<f64>,

    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: Format,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Text,
    Json,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    #[default]
    #[value(name = "self")]
    OwnCost,
    Inclusive,
}

const CONVERT_EXAMPLES: &str = "\
Examples:
  perfblame convert perf.data cpu.pb.gz             for pprof
  perfblame convert app.jfr app.speedscope.json     for speedscope
  perfblame convert trace.json.gz trace.folded      for flame graph scripts
  perfblame convert runs/ runs.perfblame            many runs in one file, kept apart
  perfblame convert cpu.pb.gz - --to folded | head  to a pipe";

/// Convert any profile to another format.
///
/// Lines, addresses, threads and every metric are kept as far as the format has a place for them; what it has no place
/// for is said. Several inputs are runs: kept apart in perfblame's own file, added up in every other.
#[derive(ClapArgs)]
#[command(after_help = CONVERT_EXAMPLES, after_long_help = format!("{CONVERT_EXAMPLES}\n\n{}\n\n{}", targets(), formats()))]
pub struct ConvertArgs {
    /// What to read, then where to write: files, folders and patterns as for `show`; `-` is standard input or output
    #[arg(required = true, num_args = 2.., value_names = ["IN", "OUT"], value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// The format to write; taken from the end of OUT unless given
    #[arg(long, value_name = "FORMAT", value_parser = target_parser())]
    pub to: Option<String>,
    /// The metric to write, for formats that hold one
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// What to put above the outermost frame of folded stacks: none, process or thread
    #[arg(long, value_enum, value_name = "ROOTS", hide_possible_values = true)]
    pub roots: Option<RootsArg>,
    /// How names are written in folded stacks: plain, or as stackcollapse-perf does (what `perf` samples get unless told)
    #[arg(long, value_enum, value_name = "STYLE", hide_possible_values = true)]
    pub style: Option<StyleArg>,
    /// Leave functions of scripts as recorded: without names from source maps and from what holds them
    #[arg(long)]
    pub raw_names: bool,
    #[command(flatten)]
    pub scripts: ScriptArgs,
    /// Replace OUT even when it is a profile and may have been meant as an input
    #[arg(long)]
    pub force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RootsArg {
    None,
    Process,
    Thread,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StyleArg {
    Plain,
    Stackcollapse,
}

const SYMBOLIZE_EXAMPLES: &str = "\
Examples:
  perfblame symbolize run-1.perf.data named.perfblame
  perfblame symbolize run-1.perfblame named.perfblame --debug-dir ~/debug/usr/lib/debug";

/// Name functions of binaries without symbols, with debug files.
///
/// Functions without a name are called by their object and where they start in it, `[nginx+0x53fb0]`. The build ids in
/// the profile find the files that have the names, in the folders given and in those of this machine.
#[derive(ClapArgs)]
#[command(after_help = SYMBOLIZE_EXAMPLES)]
pub struct SymbolizeArgs {
    /// The profile to read
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    /// Where to write; in perfblame's own format unless the name ends like that of another
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// A folder with debug files or unstripped binaries; can be repeated
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub debug_dir: Vec<PathBuf>,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  perfblame completions bash > ~/.local/share/bash-completion/completions/perfblame
  perfblame completions zsh > ~/.zfunc/_perfblame
  perfblame completions fish > ~/.config/fish/completions/perfblame.fish";

/// Print a completion script for a shell.
#[derive(ClapArgs)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

fn overview() -> String {
    format!(
        "Examples:\n  \
         perfblame show cpu.pb.gz                  what is in it, where the time goes\n  \
         perfblame show perf.data --flame f.html   a flame graph to click through\n  \
         perfblame diff before/ after/             what made it slower\n  \
         perfblame record auto --runs 5 -- CMD     profiles to compare\n  \
         perfblame check                           what my change did, and which lines\n  \
         perfblame infer trace/                    where any program waits, from its system calls\n  \
         perfblame bisect v1.2 HEAD                which commit made it slower\n  \
         perfblame convert app.jfr app.pb.gz       to another tool's format\n\n\
         {}\n\nExit status: 0 all went well, 1 a slowdown was found, 2 it failed; of `record`: the program's own.",
        formats()
    )
}

/// The formats that are read, a line each.
fn formats() -> String {
    /// Short enough for any terminal: what wraps by itself loses its indentation.
    const WIDTH: usize = 78;
    let widest = FORMATS.iter().map(|format| format.name.len()).max().unwrap_or(0);
    let mut text = "Formats read, known by their bytes, also packed with gzip or zstd:".to_owned();
    for format in FORMATS {
        let mut line = format!("\n  {:widest$} ", format.name);
        for word in format.producers.split(' ') {
            if line.trim_start_matches('\n').len() + 1 + word.len() > WIDTH {
                text.push_str(&line);
                line = format!("\n  {:widest$} ", "");
            }
            line.push(' ');
            line.push_str(word);
        }
        text.push_str(&line);
    }
    text
}

/// The formats that are written, a line each.
fn targets() -> String {
    let mut text = "Formats written, and the file names they are known by:".to_owned();
    for target in Target::ALL {
        let ends = target.extensions().join(" ");
        let _ = write!(
            text,
            "\n  {:10}  {ends}\n  {:10}  opens in {}",
            target.name(),
            "",
            target.opens_in()
        );
    }
    text
}

fn target_parser() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Target::ALL.map(Target::name))
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("a percentage lies between 0 and 100".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        super::Args::command().debug_assert();
    }
}
