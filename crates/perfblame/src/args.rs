//! The command line: commands and their options.

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
pub use scripts::{ScriptArgs, names};
pub use web::WebArgs;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// What made it slower?
///
/// perfblame reads the profiles and traces you already have, from any tool.
#[derive(Parser)]
#[command(name = "perfblame", version, styles = STYLES, max_term_width = 100)]
#[command(after_long_help = overview(), after_help = "Each command has examples: `perfblame show --help`")]
pub struct Args {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(ClapArgs)]
#[command(next_help_heading = "Global options")]
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
    /// Print only the answer, without progress and notes
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print how long each step takes
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

/// The commands; the description of each is at its options.
#[derive(Subcommand)]
pub enum Command {
    Show(Box<ShowArgs>),
    Diff(Box<DiffArgs>),
    Infer(Box<InferArgs>),
    Record(Box<RecordArgs>),
    Web(Box<WebArgs>),
    Check(Box<CheckArgs>),
    Bisect(Box<BisectArgs>),
    Init(InitArgs),
    Hook(HookArgs),
    Convert(ConvertArgs),
    Symbolize(SymbolizeArgs),
    Completions(CompletionsArgs),
}

/// Where the list of formats is: shown once, not by every command.
const SEE_FORMATS: &str = "`perfblame --help` lists the formats that perfblame reads.";

const SHOW_EXAMPLES: &str = "\
Examples:
  perfblame show cpu.pb.gz                      what this is and where the time goes
  perfblame show trace.json --functions         all functions, by self cost
  perfblame show app.jfr --metric allocated     where memory is allocated
  perfblame show perf.data --callers malloc     who calls malloc, and how much that costs
  perfblame show run.folded --root parse        what parse does, with shares of parse
  perfblame show perf.data --flame flame.html   an interactive flame graph
  perfblame show runs/ 'more/*.pb.gz'           several runs, added up
  perf script | perfblame show -                from a pipe
  perfblame show cpu.pb.gz --format json | jq '.top[0].function'";

/// Show what is in a profile: hot path, functions, threads.
///
/// The verdict comes first: what the file is, how long the recording is, how many samples and threads it has, and where the time
/// goes. The hot path, the most expensive functions and the threads by role follow. The options below show one thing only.
#[derive(ClapArgs)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own on the command line"
)]
#[command(after_help = SHOW_EXAMPLES, after_long_help = format!("{SHOW_EXAMPLES}\n\n{SEE_FORMATS}"))]
pub struct ShowArgs {
    /// Profiles or traces: files, folders (each file is one run), patterns, or `-` for standard input
    #[arg(required = true, value_name = "PROFILE", value_hint = ValueHint::AnyPath)]
    pub profiles: Vec<PathBuf>,

    /// List functions by self cost
    #[arg(long, help_heading = "What to show")]
    pub functions: bool,
    /// Draw the call tree
    #[arg(long, help_heading = "What to show")]
    pub tree: bool,
    /// Show the callers of this function; give its name, or the end or a part of it
    #[arg(long, value_name = "FUNCTION", help_heading = "What to show")]
    pub callers: Option<String>,
    /// Show the callees of this function
    #[arg(long, value_name = "FUNCTION", help_heading = "What to show")]
    pub callees: Option<String>,
    /// List threads
    #[arg(long, help_heading = "What to show")]
    pub threads: bool,
    /// Write a flame graph, as .svg or as an interactive .html page
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "What to show")]
    pub flame: Vec<PathBuf>,

    /// Show only one task: `com.shop.Order`, `prefix:… as NAME` or `regex:…(?<group>…)… as NAME-${group}`
    #[arg(long, value_name = "DEFINITION", help_heading = "Selection")]
    pub task: Vec<String>,
    /// Show only what this function does, with all shares relative to it
    #[arg(long, value_name = "FUNCTION", help_heading = "Selection")]
    pub root: Option<String>,
    /// The metric to show; default: the profile's first
    #[arg(long, value_name = "NAME", help_heading = "Selection")]
    pub metric: Option<String>,
    /// Show only threads with this id, or with this text in their name
    #[arg(long, value_name = "NAME", help_heading = "Selection")]
    pub thread: Option<String>,
    /// Separate contexts also by the place in the caller
    #[arg(long, help_heading = "Selection")]
    pub call_sites: bool,
    /// Keep names as recorded, with the numbers of lambdas and generated classes and with compiler suffixes
    #[arg(long, alias = "no-normalize", help_heading = "Selection")]
    pub no_normalise: bool,
    #[command(flatten)]
    pub scripts: ScriptArgs,

    /// Sort functions by self or inclusive cost
    #[arg(long, value_enum, default_value_t, value_name = "COST", help_heading = "Limits")]
    pub sort: Sort,
    /// Show at most this many rows per table; 0 shows all
    #[arg(long, visible_alias = "top", value_name = "ROWS", help_heading = "Limits")]
    pub limit: Option<usize>,
    /// Leave out call paths below this percentage of the total
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = "Limits")]
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
  perfblame convert runs/ runs.perfblame            many runs in one file, kept separate
  perfblame convert cpu.pb.gz - --to folded | head  to a pipe";

/// Convert any profile to pprof, folded stacks, speedscope, Firefox, Chrome trace or perfblame's own file.
///
/// Lines, addresses, threads and every metric are kept as far as the format can hold them; a note lists what was lost.
/// Several inputs are runs: perfblame's own file keeps them separate, all other formats hold their sum.
#[derive(ClapArgs)]
#[command(after_help = CONVERT_EXAMPLES, after_long_help = format!("{CONVERT_EXAMPLES}\n\n{}\n\n{SEE_FORMATS}", targets()))]
pub struct ConvertArgs {
    /// Inputs, then the output: files, folders and patterns as for `show`; `-` is standard input or output
    #[arg(required = true, num_args = 2.., value_names = ["IN", "OUT"], value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// The format to write; default: by the ending of OUT
    #[arg(long, value_name = "FORMAT", value_parser = target_parser())]
    pub to: Option<String>,
    /// The metric to write, for formats that hold only one
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// The first frame of folded stacks: none, process or thread
    #[arg(long, value_enum, value_name = "ROOTS", hide_possible_values = true)]
    pub roots: Option<RootsArg>,
    /// How to write names in folded stacks: plain, or stackcollapse, as stackcollapse-perf does (default for `perf` samples)
    #[arg(long, value_enum, value_name = "STYLE", hide_possible_values = true)]
    pub style: Option<StyleArg>,
    /// Keep names of script functions as recorded, without names from source maps or the surrounding code
    #[arg(long)]
    pub raw_names: bool,
    #[command(flatten)]
    pub scripts: ScriptArgs,
    /// Replace OUT even if it is a profile that may have been meant as an input
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

/// Name functions of stripped binaries with the help of debug files.
///
/// A function without a name is shown by its object and the offset where it starts, `[nginx+0x53fb0]`. perfblame uses the
/// build ids in the profile to find the files that have the names, in the given folders and in those of this machine.
#[derive(ClapArgs)]
#[command(after_help = SYMBOLIZE_EXAMPLES)]
pub struct SymbolizeArgs {
    /// The profile to read
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    /// The file to write; in perfblame's own format unless its ending selects another
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// A folder with debug files or unstripped binaries; repeatable
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
         perfblame show cpu.pb.gz                  what is in it and where the time goes\n  \
         perfblame show perf.data --flame f.html   an interactive flame graph\n  \
         perfblame diff before/ after/             what made it slower\n  \
         perfblame record auto --runs 5 -- CMD     profiles to compare\n  \
         perfblame check                           did my change make it slower, and which lines\n  \
         perfblame infer trace/                    where any program waits, from its system calls\n  \
         perfblame bisect v1.2 HEAD                which commit made it slower\n  \
         perfblame convert app.jfr app.pb.gz       for another tool\n\n\
         {}\n\nExit status: 0 success, 1 slowdown found, 2 failure. `record` exits with the program's own status.",
        formats()
    )
}

/// The formats that are read, one line each.
fn formats() -> String {
    /// Short enough for any terminal: what wraps by itself loses its indentation.
    const WIDTH: usize = 78;
    let widest = FORMATS.iter().map(|format| format.name.len()).max().unwrap_or(0);
    let mut text = "Formats that perfblame reads, recognised by their bytes, also compressed with gzip or zstd:".to_owned();
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

/// The formats that are written, one line each.
fn targets() -> String {
    let mut text = "Formats that perfblame writes, with their file names:".to_owned();
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
        _ => Err("expected a percentage from 0 to 100".to_owned()),
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
