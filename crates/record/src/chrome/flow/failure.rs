//! A step that failed: which, why, where, and what the page looked like.

use std::fmt;
use std::path::PathBuf;

/// Everything that is known about a step that could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepFailure {
    /// The step, counted from 1.
    pub number: usize,
    /// Steps of the flow.
    pub of: usize,
    /// What it wanted to do.
    pub kind: &'static str,
    /// What was wrong.
    pub why: String,
    /// Selectors that were tried, in order.
    pub tried: Vec<String>,
    /// The page's address.
    pub url: String,
    /// What the page looked like.
    pub screenshot: Option<PathBuf>,
    /// Why there is no screenshot.
    pub no_screenshot: String,
}

impl std::error::Error for StepFailure {}

impl fmt::Display for StepFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "step {} of {} ({}) failed", self.number, self.of, self.kind)
    }
}

impl StepFailure {
    /// Why, what was tried, where, and the screenshot; a line each.
    pub fn details(&self) -> String {
        let mut lines = vec![self.why.clone()];
        if !self.tried.is_empty() {
            lines.push(format!("selectors: {}", self.tried.join(", ")));
        }
        if !self.url.is_empty() {
            lines.push(format!("page: {}", self.url));
        }
        match &self.screenshot {
            Some(path) => lines.push(format!("screenshot: {}", path.display())),
            None if self.no_screenshot.is_empty() => {}
            None => lines.push(format!("no screenshot: {}", self.no_screenshot)),
        }
        lines.join("\n")
    }
}
