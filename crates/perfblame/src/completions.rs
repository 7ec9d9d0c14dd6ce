//! `perfblame completions`: a script that teaches a shell our options.

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "perfblame", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}
