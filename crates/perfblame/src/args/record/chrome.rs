//! Options of `perfblame record chrome`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};

use crate::args::browser::BrowserArgs;

/// About web pages.
#[derive(ClapArgs)]
pub struct ChromeArgs {
    /// With `chrome`, the page: an address or a file
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, conflicts_with = "command", help_heading = "Web pages")]
    pub url: Option<String>,
    /// With `chrome`, JavaScript to run in the loaded page; perfblame awaits its promise
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "url", help_heading = "Web pages")]
    pub script: Option<PathBuf>,
    /// With `chrome`, replay a user flow: the JSON that DevTools' Recorder exports, or `-` for standard input. With `--url`,
    /// the flow starts there and stays on that site
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["script", "command"], help_heading = "Web pages")]
    pub flow: Option<PathBuf>,
    /// With `--script`, start recording after the page has loaded
    #[arg(long, requires = "script", help_heading = "Web pages")]
    pub skip_load: bool,
    /// With `chrome`, use an isolated tab of a running browser; default: 127.0.0.1:9222
    #[arg(
        long,
        value_name = "HOST:PORT",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["browser", "headed", "gpu", "arguments"],
        help_heading = "Web pages"
    )]
    pub attach: Option<String>,
    #[command(flatten)]
    pub browser: BrowserArgs,
}
