//! What can be said about scripts, wherever profiles are read.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};
use perfblame_analysis::{ScriptLoading, ScriptNames};

/// How functions of JavaScript get their names.
#[derive(ClapArgs)]
#[command(next_help_heading = "Scripts")]
pub struct ScriptArgs {
    /// Where source maps are: a folder with all below it, or a map; can be repeated. Maps in the scripts, in the trace, beside the scripts and beside the profile are found anyway
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub source_maps: Vec<PathBuf>,
    /// Hang callbacks of timers, animation frames and tasks under the function that asked for them
    #[arg(long)]
    pub async_stacks: bool,
}

impl ScriptArgs {
    /// How to load.
    pub fn loading(&self, names: ScriptNames) -> ScriptLoading {
        ScriptLoading { names, maps: self.source_maps.clone(), async_stacks: self.async_stacks }
    }
}
