//! Options for the names of script functions, of all commands that read profiles.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};
use perfblame_analysis::{InputOptions, Names};

/// Whether names are left as recorded.
pub fn names(raw: bool) -> Names {
    if raw { Names::AsRecorded } else { Names::Normalised }
}

/// How functions of JavaScript get their names.
#[derive(ClapArgs)]
#[command(next_help_heading = "Scripts")]
pub struct ScriptArgs {
    /// A folder with source maps, or a single map; repeatable. perfblame always looks for maps in scripts, in the trace, next to scripts and next to the profile
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub source_maps: Vec<PathBuf>,
    /// Show callbacks of timers, animation frames and tasks under the function that requested them
    #[arg(long)]
    pub async_stacks: bool,
}

impl ScriptArgs {
    /// How inputs are read, names made alike.
    pub fn inputs(&self) -> InputOptions {
        InputOptions {
            source_maps: self.source_maps.clone(),
            async_stacks: self.async_stacks,
            ..InputOptions::default()
        }
    }
}
