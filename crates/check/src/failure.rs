//! What can go wrong, in words: what, why, and what to do next.
//!
//! Most of what fails here is somebody else's program (a compiler, a test, a profiler), whose own words say more than
//! ours: the end of its log is the reason, and the whole log stays where the message says.

use std::path::{Path, PathBuf};

use perfblame_analysis::{Hint, LoadError, LoadErrorKind};
use perfblame_changes::GitError;
use perfblame_words::counted;

/// Lines of a log that are shown.
const TAIL: usize = 20;

/// A failure in words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}")]
pub struct Failure {
    /// What failed.
    pub what: String,
    /// Why: a few lines.
    pub why: String,
    /// What to do next.
    pub help: Option<String>,
    /// The whole log, where there is one.
    pub log: Option<PathBuf>,
    /// The user or the system asked us to stop.
    pub cancelled: bool,
}

impl Failure {
    /// A failure without a next step.
    #[expect(clippy::needless_pass_by_value, reason = "texts and errors alike are handed over")]
    pub fn new(what: impl Into<String>, why: impl ToString) -> Self {
        Self { what: what.into(), why: why.to_string(), help: None, log: None, cancelled: false }
    }

    /// Somebody asked us to stop.
    pub fn cancelled() -> Self {
        Self { cancelled: true, ..Self::new("stopped", "") }
    }

    /// The same with a next step.
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// The same with the end of a log as the reason.
    pub fn with_log(self, log: &Path) -> Self {
        let text = std::fs::read(log).unwrap_or_default();
        let tail = tail(&String::from_utf8_lossy(&text));
        let why = match (self.why.is_empty(), tail.is_empty()) {
            (_, true) => self.why,
            (true, false) => tail,
            (false, false) => format!("{}\n{tail}", self.why),
        };
        Self { why, log: Some(log.to_owned()), ..self }
    }

    /// A file or folder that could not be used.
    pub fn io(what: &str, path: &Path, error: &std::io::Error) -> Self {
        let what = format!("cannot {what} {}", path.display());
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::new(what, "there is no such file or folder"),
            std::io::ErrorKind::PermissionDenied => Self::new(what, "permission denied"),
            _ => Self::new(what, error),
        }
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        let (what, why) = error.what_and_why();
        Self { help: error.hint().map(str::to_owned), ..Self::new(what, why) }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        if matches!(error.kind, LoadErrorKind::Cancelled) {
            return Self::cancelled();
        }
        let help = match error.hint() {
            Some(Hint::Words(help)) => Some(help),
            _ => None,
        };
        Self { help, ..Self::new(error.to_string(), &error.kind) }
    }
}

/// The last lines of a text, saying how many are above them.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let above = lines.len().saturating_sub(TAIL);
    let mut shown: Vec<String> = lines[above..].iter().map(|line| (*line).to_owned()).collect();
    if above > 0 {
        shown.insert(0, format!("… {} above", counted(above as u64, "line", "lines")));
    }
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_is_shown_from_its_end() {
        let lines: Vec<String> = (1..=25).map(|line| format!("line {line}")).collect();
        let text = lines.join("\n");
        let tail = tail(&text);
        assert!(tail.starts_with("… 5 lines above\nline 6\n"), "{tail}");
        assert!(tail.ends_with("\nline 25"), "{tail}");
    }
}
