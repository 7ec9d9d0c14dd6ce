//! Options for the output of comparisons and inference.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};

/// How to show the answer of a comparison.
#[derive(ClapArgs)]
#[command(next_help_heading = "Output")]
pub struct AnswerArgs {
    /// Text for people, Markdown for a pull request, JSON or SARIF for programs, HTML for a browser, DOT for Graphviz
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: DiffFormat,
    #[command(flatten)]
    pub files: AnswerFiles,
    /// Show at most this many suspects, improvements and paths in text; 0 shows all. JSON contains all suspects and the first 1,000 paths
    #[arg(long, visible_alias = "top", value_name = "ROWS", default_value_t = 10)]
    pub limit: usize,
}

/// Files to write the answer to.
#[derive(ClapArgs)]
#[command(next_help_heading = "Output")]
pub struct AnswerFiles {
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Also write an HTML page: the answer with flame graphs, in one file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    #[default]
    Text,
    Json,
    Html,
    Dot,
    Markdown,
    Sarif,
}
