//! What is asked of git, through its own command: revisions, the working tree as a revision, checkouts.
//!
//! The user's index and working tree are never touched: the working tree becomes a tree object by way of an index of
//! our own, and a commit that no branch points to.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failure;

/// A repository.
#[derive(Clone, Debug)]
pub struct Git {
    /// The working tree.
    pub root: PathBuf,
    /// The git directory that all working trees share.
    pub common: PathBuf,
}

/// A revision of the program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Revision {
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

impl Revision {
    /// The commit's first letters, or that it is none.
    pub fn short(&self) -> &str {
        if self.uncommitted { "working tree" } else { &self.commit[..self.commit.len().min(9)] }
    }
}

/// Variables with which git would find another repository, as it sets them for hooks.
const FOREIGN: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_QUARANTINE_PATH",
];

/// Frees a command of what git says to hooks about the user's repository.
pub fn without_git_variables(command: &mut Command) -> &mut Command {
    for name in FOREIGN {
        command.env_remove(name);
    }
    command
}

impl Git {
    /// The repository around a folder.
    pub fn find(folder: &Path) -> Result<Self, Failure> {
        let here = Self { root: folder.to_owned(), common: PathBuf::new() };
        let no_repository = |failure: Failure| {
            let what = "there is no git repository here".to_owned();
            Failure { what, ..failure }
                .help("run this inside of a git repository with a working tree")
        };
        let root = here.run(&["rev-parse", "--show-toplevel"]).map_err(no_repository)?;
        let common = here.run(&["rev-parse", "--git-common-dir"]).map_err(no_repository)?;
        let common = folder.join(common);
        let common = common.canonicalize().map_err(|error| Failure::io("use", &common, &error))?;
        Ok(Self { root: PathBuf::from(root), common })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        without_git_variables(&mut command)
            .args(["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"])
            .args(arguments)
            .current_dir(&self.root)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        command
    }

    /// Runs git and returns what it prints, without the line break at the end.
    pub fn run(&self, arguments: &[&str]) -> Result<String, Failure> {
        answer(self.command(arguments), arguments)
    }

    /// The same in another folder.
    pub fn run_in(&self, folder: &Path, arguments: &[&str]) -> Result<String, Failure> {
        let mut command = self.command(arguments);
        command.current_dir(folder);
        answer(command, arguments)
    }

    /// A commit by any name that git knows.
    pub fn revision(&self, name: &str) -> Result<Revision, Failure> {
        let format = "--format=%H%n%T%n%an <%ae>%n%s";
        let wanted = format!("{name}^{{commit}}");
        let commit = self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]);
        let commit = commit.map_err(|_| {
            Failure::new(format!("there is no revision `{name}`"), "git does not know it").help(
                "name a commit, a branch or a tag; in a shallow clone, fetch more of its history",
            )
        })?;
        let text = self.run(&["log", "-1", "--no-show-signature", format, &commit])?;
        let mut lines = text.splitn(4, '\n').map(str::to_owned);
        let mut next = || lines.next().unwrap_or_default();
        Ok(Revision {
            name: name.to_owned(),
            commit: next(),
            tree: next(),
            author: next(),
            subject: next(),
            uncommitted: false,
        })
    }

    /// The working tree with all that is not committed and not ignored.
    pub fn working_tree(&self, scratch: &Path) -> Result<Revision, Failure> {
        let head = self.revision("HEAD")?;
        let index = scratch.join(format!("index.{}", std::process::id()));
        let _gone = Scratch(&index);
        // A copy of the user's index knows which files did not change, so that they are not read again.
        let own = self.run(&["rev-parse", "--git-path", "index"])?;
        let own = self.root.join(own);
        if own.is_file() {
            std::fs::copy(&own, &index).map_err(|error| Failure::io("copy", &own, &error))?;
        }
        let with_index = |arguments: &[&str]| {
            let mut command = self.command(arguments);
            command.env("GIT_INDEX_FILE", &index);
            answer(command, arguments)
        };
        with_index(&["add", "--all", "--", "."])?;
        let tree = with_index(&["write-tree"])?;
        if tree == head.tree {
            return Ok(Revision { name: "working tree".to_owned(), ..head });
        }
        // The same tree on the same commit is the same revision, whenever it is asked for.
        let date = self.run(&["log", "-1", "--no-show-signature", "--format=%cI", &head.commit])?;
        let arguments = ["commit-tree", &tree, "-p", &head.commit, "-m", "uncommitted changes"];
        let mut command = self.command(&arguments);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "perfblame");
            command.env(format!("GIT_{who}_EMAIL"), "perfblame@localhost");
            command.env(format!("GIT_{who}_DATE"), &date);
        }
        Ok(Revision {
            name: "working tree".to_owned(),
            commit: answer(command, &arguments)?,
            tree,
            subject: "uncommitted changes".to_owned(),
            author: String::new(),
            uncommitted: true,
        })
    }

    /// Where the branch that `head` is on left the main branch; on the main branch itself, the commit before.
    pub fn default_base(&self, head: &Revision) -> Result<Revision, Failure> {
        let from = if head.uncommitted { "HEAD" } else { &head.commit };
        let here = self.revision(from)?;
        let main = ["origin/HEAD", "main", "master", "origin/main", "origin/master"]
            .into_iter()
            .find(|name| {
                let wanted = format!("{name}^{{commit}}");
                self.run(&["rev-parse", "--verify", "--quiet", &wanted]).is_ok()
            });
        let base = main.and_then(|main| self.run(&["merge-base", main, &here.commit]).ok());
        let base = match base {
            Some(base) if base != here.commit || head.uncommitted => base,
            // On the main branch, or without one: what the last commit did.
            _ if head.uncommitted => here.commit.clone(),
            _ => format!("{}~1", here.commit),
        };
        let mut revision = self.revision(&base).map_err(|_| {
            Failure::new("there is nothing to compare with", "this is the first commit")
                .help("name a base: `perfblame check BASE`; in a shallow clone, fetch more of its history")
        })?;
        revision.name = revision.short().to_owned();
        if let Some(main) = main.filter(|_| base != here.commit) {
            revision.name = format!("merge base with {main}");
        }
        Ok(revision)
    }

    /// Names of files that differ between two trees.
    pub fn changed_files(&self, before: &str, after: &str) -> Result<Vec<String>, Failure> {
        let text =
            self.run(&["diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after])?;
        Ok(text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
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

fn answer(mut command: Command, arguments: &[&str]) -> Result<String, Failure> {
    let what = || format!("git {} failed", arguments.first().unwrap_or(&""));
    let output = command.output().map_err(|error| {
        Failure::new("cannot run git", error).help("install git, and make sure it is found")
    })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure::new(what(), why));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.trim_end_matches('\n').to_owned())
}
