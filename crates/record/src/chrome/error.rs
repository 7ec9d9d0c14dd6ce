//! What can go wrong with a browser, and what to do then.

use std::path::PathBuf;
use std::time::Duration;

/// A browser that cannot be driven, or a page that cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChromeError {
    /// There is no browser on this machine.
    #[error("no Chrome or Chromium is installed")]
    Missing {
        /// Where we looked.
        looked: String,
        /// The command that installs one.
        install: String,
    },
    /// What was named as the browser is none.
    #[error("cannot start {}", .browser.display())]
    Start {
        /// The browser.
        browser: PathBuf,
        /// Why, in its own words.
        why: String,
    },
    /// Nobody answers where a browser should listen.
    #[error("cannot attach to a browser at {address}")]
    Attach {
        /// The address.
        address: String,
        /// Why not.
        why: String,
    },
    /// The browser ended or closed the connection.
    #[error("the browser has ended")]
    Ended {
        /// What it said last.
        why: String,
    },
    /// The page's process crashed.
    #[error("the page crashed")]
    Crashed,
    /// The page closed itself, or somebody closed it.
    #[error("the page was closed")]
    Closed,
    /// The browser refused a call.
    #[error("the browser refused {method}")]
    Refused {
        /// The call.
        method: String,
        /// What it said.
        why: String,
    },
    /// There was no answer in time.
    #[error("{doing} exceeded the timeout of {:.1} s", .after.as_secs_f64())]
    TimedOut {
        /// What was going on.
        doing: String,
        /// How long it may take.
        after: Duration,
        /// What is known of the reason.
        why: String,
    },
    /// The address could not be loaded.
    #[error("cannot load {url}")]
    Load {
        /// The address.
        url: String,
        /// Why not.
        why: String,
    },
    /// JavaScript that threw.
    #[error("{script} failed")]
    Script {
        /// Which script.
        script: String,
        /// What it threw, and where.
        why: String,
    },
    /// A step of a flow could not be done.
    #[error("{0}")]
    Step(Box<super::flow::StepFailure>),
    /// The trace grew beyond its limit.
    #[error("the trace is larger than {} MB", .limit / 1_000_000)]
    TooLarge {
        /// Bytes that were allowed.
        limit: u64,
    },
    /// A file or folder of ours.
    #[error("cannot {what} {}", .path.display())]
    File {
        /// What we wanted to do with it.
        what: &'static str,
        /// Which one.
        path: PathBuf,
        /// Why we could not.
        source: std::io::Error,
    },
    /// Somebody asked to stop.
    #[error("recording cancelled")]
    Cancelled,
}

impl ChromeError {
    /// Why, in a few lines; empty when the error says it all.
    pub fn why(&self) -> String {
        match self {
            Self::Missing { looked, .. } => looked.clone(),
            Self::Start { why, .. }
            | Self::Attach { why, .. }
            | Self::Ended { why }
            | Self::Refused { why, .. }
            | Self::TimedOut { why, .. }
            | Self::Load { why, .. }
            | Self::Script { why, .. } => why.clone(),
            Self::File { source, .. } => source.to_string(),
            Self::Step(failure) => failure.details(),
            _ => String::new(),
        }
    }

    /// What to do next.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Missing { install, .. } => {
                Some(format!("install one: `{install}`, or give its path with `--browser PATH`"))
            }
            Self::Attach { .. } => Some(
                "start it with `--remote-debugging-port=9222` and its own `--user-data-dir`"
                    .to_owned(),
            ),
            Self::TimedOut { .. } => Some("allow more time with `--timeout`".to_owned()),
            Self::TooLarge { .. } => {
                Some("record less, or allow more with `--max-size`".to_owned())
            }
            _ => None,
        }
    }

    pub(super) fn file(
        what: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }
}
