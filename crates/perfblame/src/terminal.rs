//! What the terminal can show, and what we say to it besides the answer.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use perfblame_analysis::Ask;
use perfblame_report::Look;

use crate::args::{Global, When};

/// Columns when nobody says how many there are.
const DEFAULT_WIDTH: usize = 120;

/// Narrower than this nothing fits.
const LEAST_WIDTH: usize = 40;

/// The terminal and the user's wishes about it.
pub struct Terminal {
    /// What standard output can show.
    pub look: Look,
    /// Colours on standard error.
    pub colour_errors: bool,
    quiet: bool,
    verbose: bool,
    started: Instant,
}

impl Terminal {
    /// Finds out.
    pub fn of(global: &Global) -> Self {
        let colour = |choice: anstream::ColorChoice| match global.color {
            When::Always => true,
            When::Never => false,
            When::Auto => choice != anstream::ColorChoice::Never,
        };
        Self {
            look: Look {
                width: width(),
                unicode: unicode(),
                colour: colour(anstream::AutoStream::choice(&std::io::stdout())),
            },
            colour_errors: colour(anstream::AutoStream::choice(&std::io::stderr())),
            quiet: global.quiet,
            verbose: global.verbose,
            started: Instant::now(),
        }
    }

    /// True where a progress bar can be seen and is wanted.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// Something worth knowing besides the answer.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            complain(&format!("note: {text}\n"));
        }
    }

    /// What came of it, for commands whose standard output is not theirs.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            complain(text);
        }
    }

    /// How long it took to get here, for those who want to know.
    pub fn log(&self, text: &str) {
        if self.verbose {
            logged(self.started, text);
        }
    }

    /// What goes along with a question. Each of its phases is logged.
    pub fn ask(&self) -> Ask {
        if !self.verbose {
            return Ask::default();
        }
        let (started, last) = (self.started, Mutex::new(None));
        Ask::watched(move |at| {
            let last = last.lock().ok().and_then(|mut last| last.replace(at.phase));
            if last != Some(at.phase) {
                logged(started, &format!("{:?}", at.phase).to_lowercase());
            }
            ControlFlow::Continue(())
        })
    }
}

fn logged(started: Instant, text: &str) {
    let elapsed = started.elapsed().as_secs_f64() * 1000.0;
    complain(&format!("{elapsed:8.1} ms  {text}\n"));
}

/// Writes to standard error; when even that is closed there is nobody to tell.
pub fn complain(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let measured =
        || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into());
    said.or_else(measured).unwrap_or(DEFAULT_WIDTH).max(LEAST_WIDTH)
}

/// Whether lines and blocks beyond ASCII come out right: the locale decides, the first of these that is set.
fn unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    locale.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}
