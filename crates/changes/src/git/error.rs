//! Why git gave no answer: a code for programs, the data, and a next step.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why git gave no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GitError {
    /// The command is missing or could not be started.
    Start(String),
    /// The folder is not in a repository that git would use.
    NoRepository {
        /// Where one was looked for.
        folder: PathBuf,
        /// What git said.
        message: String,
    },
    /// A bare repository, where a working tree is needed.
    NoWorkingTree(PathBuf),
    /// A name that means no commit.
    NoRevision(String),
    /// The first commit, or the oldest of a shallow clone, has nothing to be compared with.
    NothingBefore,
    /// A file of git's could not be used.
    Copy {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// Git failed.
    Failed {
        /// Which of its commands.
        command: String,
        /// What it said.
        message: String,
    },
    /// Git printed something that it should not.
    Unexpected(String),
}

impl GitError {
    pub(super) fn start(error: &std::io::Error) -> Self {
        Self::Start(error.to_string())
    }

    pub(super) fn copy(path: &Path, error: &std::io::Error) -> Self {
        Self::Copy { path: path.to_owned(), message: error.to_string() }
    }

    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Start(_) => "git-missing",
            Self::NoRepository { .. } => "no-repository",
            Self::NoWorkingTree(_) => "no-working-tree",
            Self::NoRevision(_) => "no-revision",
            Self::NothingBefore => "nothing-before",
            Self::Copy { .. } => "copy-failed",
            Self::Failed { .. } => "git-failed",
            Self::Unexpected(_) => "git-unexpected",
        }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Start(_) => Some("install git and make sure it is on the search path"),
            Self::NoRepository { .. } | Self::NoWorkingTree(_) => {
                Some("run this inside a git repository with a working tree")
            }
            Self::NoRevision(_) => {
                Some("give a commit, a branch or a tag; in a shallow clone, fetch more history")
            }
            Self::NothingBefore => Some("give a base; in a shallow clone, fetch more history"),
            Self::Copy { .. } | Self::Failed { .. } | Self::Unexpected(_) => None,
        }
    }

    /// What failed, and why.
    pub fn what_and_why(&self) -> (String, String) {
        let (what, why) = match self {
            Self::Start(message) => ("cannot run git", message.clone()),
            // Git's own sentence says the same, in words that depend on where file systems are mounted.
            Self::NoRepository { message, .. } if message.contains("not a git repository") => {
                ("this is not a git repository", String::new())
            }
            Self::NoRepository { message, .. } => ("git cannot use this folder", message.clone()),
            Self::NoWorkingTree(root) => (
                "there is no git repository with a working tree here",
                format!("{} is bare", root.display()),
            ),
            Self::NoRevision(name) => {
                let what = format!("unknown revision `{name}`");
                return (what, "git does not know it".to_owned());
            }
            Self::NothingBefore => {
                ("there is nothing to compare with", "this is the first commit".to_owned())
            }
            Self::Copy { path, message } => {
                return (format!("cannot copy {}", path.display()), message.clone());
            }
            Self::Failed { command, message } => {
                return (format!("git {command} failed"), message.clone());
            }
            Self::Unexpected(text) => ("git printed something unexpected", text.clone()),
        };
        (what.to_owned(), why)
    }
}

impl fmt::Display for GitError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, why) = self.what_and_why();
        if why.is_empty() { out.write_str(&what) } else { write!(out, "{what}: {why}") }
    }
}

impl std::error::Error for GitError {}
