//! Revisions as they can be checked out: each has a commit, the working tree included.
//!
//! The user's index and working tree are never touched: the working tree becomes a tree object by way of an index of
//! our own, and a commit that no branch points to.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::command::{git, text, without_git_variables};
use super::{DefaultBase, GitError, Repository, Revision, one_line, path_of};

/// A revision that can be checked out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// As the user named it.
    pub name: String,
    /// The commit; of the working tree, one that no branch points to.
    pub commit: String,
    /// Its content.
    pub tree: String,
    /// The first line of its message.
    pub subject: String,
    /// Who made it.
    pub author: String,
    /// It is the working tree with changes that are not committed.
    pub uncommitted: bool,
}

impl Snapshot {
    /// The commit's first letters, or that it is the working tree.
    pub fn short(&self) -> &str {
        if self.uncommitted { "working tree" } else { &self.commit[..self.commit.len().min(9)] }
    }

    /// The state of the files that this is.
    pub fn revision(&self) -> Revision {
        if self.uncommitted { Revision::WorkingTree } else { Revision::Commit(self.commit.clone()) }
    }
}

impl Repository {
    /// The repository around a folder, which must have a working tree.
    pub fn with_working_tree(folder: &Path) -> Result<Self, GitError> {
        let repository = Self::open(folder)?;
        if repository.bare {
            return Err(GitError::NoWorkingTree(repository.root));
        }
        Ok(repository)
    }

    /// Runs git at the root and returns what it prints, without the line break at the end.
    pub fn run(&self, arguments: &[&str]) -> Result<String, GitError> {
        text(git(&self.root, arguments))
    }

    /// The same in another folder.
    pub fn run_in(&self, folder: &Path, arguments: &[&str]) -> Result<String, GitError> {
        text(git(folder, arguments))
    }

    /// A commit by any name that git knows.
    pub fn snapshot(&self, name: &str) -> Result<Snapshot, GitError> {
        let commit = self.commit_of(&self.resolve(name)?)?;
        let format = "--format=%H%n%T%n%an <%ae>%n%s";
        let text = self.run(&["log", "-1", "--no-show-signature", format, &commit])?;
        let mut lines = text.splitn(4, '\n').map(str::to_owned);
        let mut next = || lines.next().unwrap_or_default();
        Ok(Snapshot {
            name: name.to_owned(),
            commit: next(),
            tree: next(),
            author: next(),
            subject: next(),
            uncommitted: false,
        })
    }

    /// The working tree with all that is not committed and not ignored. Our index lies in `scratch` meanwhile.
    pub fn working_tree(&self, scratch: &Path) -> Result<Snapshot, GitError> {
        let head = self.snapshot("HEAD")?;
        let index = scratch.join(format!("index.{}", std::process::id()));
        let _gone = Scratch(&index);
        // A copy of the user's index knows which files did not change, so that they are not read again.
        let own = self.root.join(self.run(&["rev-parse", "--git-path", "index"])?);
        if own.is_file() {
            std::fs::copy(&own, &index).map_err(|error| GitError::copy(&own, &error))?;
        }
        let with_index = |arguments: &[&str]| {
            let mut command = git(&self.root, arguments);
            command.env("GIT_INDEX_FILE", &index);
            text(command)
        };
        with_index(&["add", "--all", "--", "."])?;
        let tree = with_index(&["write-tree"])?;
        let name = "working tree".to_owned();
        if tree == head.tree {
            return Ok(Snapshot { name, ..head });
        }
        // The same tree on the same commit is the same revision, whenever it is asked for.
        let date = self.run(&["log", "-1", "--no-show-signature", "--format=%cI", &head.commit])?;
        let message = "uncommitted changes";
        let mut command =
            git(&self.root, ["commit-tree", &tree, "-p", &head.commit, "-m", message]);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "perfblame");
            command.env(format!("GIT_{who}_EMAIL"), "perfblame@localhost");
            command.env(format!("GIT_{who}_DATE"), &date);
        }
        Ok(Snapshot {
            name,
            commit: text(command)?,
            tree,
            subject: message.to_owned(),
            author: String::new(),
            uncommitted: true,
        })
    }

    /// What a revision is compared with when nobody says, as [`Self::default_base`] has it.
    pub fn base_of(&self, head: &Snapshot) -> Result<Snapshot, GitError> {
        let DefaultBase { revision, branch } = self.default_base(&head.revision())?;
        let mut base = self.snapshot(&self.commit_of(&revision)?)?;
        base.name = match branch {
            Some(branch) => format!("merge base with {branch}"),
            None => base.short().to_owned(),
        };
        Ok(base)
    }

    /// Names of files that differ between two trees.
    pub fn changed_paths(&self, before: &str, after: &str) -> Result<Vec<String>, GitError> {
        let text =
            self.run(&["diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after])?;
        Ok(text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Where git looks for hooks; none when it does not say.
    pub fn hooks(&self) -> Result<Option<PathBuf>, GitError> {
        // Asked without our own settings, which turn hooks off.
        let mut command = Command::new("git");
        let output = without_git_variables(&mut command)
            .args(["rev-parse", "--git-path", "hooks"])
            .current_dir(&self.root)
            .output()
            .map_err(|error| GitError::start(&error))?;
        let path = one_line(&output.stdout);
        let known = output.status.success() && !path.is_empty();
        Ok(known.then(|| self.root.join(path_of(&path))))
    }
}

/// A file that goes when this does.
struct Scratch<'a>(&'a Path);

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
        let _ = std::fs::remove_file(self.0.with_extension("lock"));
    }
}
