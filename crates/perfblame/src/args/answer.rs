//! Where answers go and how they look, wherever two versions are compared or something is inferred.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};

/// How the answer of a comparison is shown.
#[derive(ClapArgs)]
#[command(next_help_heading = "Output")]
pub struct AnswerArgs {
    /// Text for people, Markdown for a pull request, JSON or SARIF for programs, HTML for a browser, DOT for Graphviz
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: DiffFormat,
    #[command(flatten)]
    pub files: AnswerFiles,
    /// Show at most this many suspects, improvements and paths in text; 0 shows all. JSON has all suspects and the first 1,000 paths
    #[arg(long, visible_alias = "top", value_name = "ROWS", default_value_t = 10)]
    pub limit: usize,
}

/// Files that an answer is written to.
#[derive(ClapArgs)]
#[command(next_help_heading = "Output")]
pub struct AnswerFiles {
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Write a page beside whatever is printed: the answer with pictures, in one file
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
