//! Options for the browser that visits pages.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueHint};
use perfblame_record::chrome::Viewport;

use super::record::duration;

/// The browser, and how pages are shown in it.
#[derive(ClapArgs)]
pub struct BrowserArgs {
    /// The browser to use; default: `CHROME_PATH` or an installed one
    #[arg(long, value_name = "PATH", value_hint = ValueHint::ExecutablePath, help_heading = "Web pages")]
    pub browser: Option<PathBuf>,
    /// Pass an argument to the browser; repeatable
    #[arg(
        long = "browser-arg",
        value_name = "ARG",
        allow_hyphen_values = true,
        help_heading = "Web pages"
    )]
    pub arguments: Vec<OsString>,
    /// Show the browser's window
    #[arg(long, help_heading = "Web pages")]
    pub headed: bool,
    /// Let a browser without a window use the graphics card, for pages with WebGL
    #[arg(long, help_heading = "Web pages")]
    pub gpu: bool,
    /// Make the processor look this many times slower
    #[arg(long, value_name = "TIMES", value_parser = throttle, help_heading = "Web pages")]
    pub cpu_throttle: Option<f64>,
    /// Microseconds between samples; default: the browser's own interval, about 200
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(50..=1_000_000), help_heading = "Web pages")]
    pub sampling_interval: Option<u32>,
    /// The visible size of the page
    #[arg(long, default_value = "1280x720", value_name = "WxH", value_parser = viewport, help_heading = "Web pages")]
    pub viewport: Viewport,
    /// How long to record a page that never becomes idle, after it has loaded
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = duration, help_heading = "Web pages")]
    pub rest_limit: Duration,
    /// Leave the texts of scripts out of the trace; perfblame uses them to name functions
    #[arg(long, help_heading = "Web pages")]
    pub without_sources: bool,
}

fn throttle(text: &str) -> Result<f64, String> {
    let times = text.parse::<f64>().ok().filter(|times| (1.0..=100.0).contains(times));
    times.ok_or_else(|| "expected a number from 1 to 100, such as 4".to_owned())
}

fn viewport(text: &str) -> Result<Viewport, String> {
    let sides = text.split_once(['x', 'X']).and_then(|(width, height)| {
        let pixels = |text: &str| text.parse::<u32>().ok().filter(|n| (1..=10_000).contains(n));
        Some(Viewport { width: pixels(width)?, height: pixels(height)? })
    });
    sides.ok_or_else(|| "expected width and height in pixels, such as 1280x720".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viewports_have_two_sides() {
        assert_eq!(viewport("800x600"), Ok(Viewport { width: 800, height: 600 }));
        for wrong in ["", "800", "0x1", "x", "1x2x3", "99999x1"] {
            assert!(viewport(wrong).is_err(), "{wrong}");
        }
        assert!(throttle("0.5").is_err() && throttle("nan").is_err());
    }
}
