//! Revisions checked out and built, each once.
//!
//! A checkout is a git working tree while it is made and built, as builds ask git for versions; then it is taken off
//! git's list, so that a check leaves no trace there, and stays in our folder under a key made of its content, the build
//! command and the environment. The paths of two sides are equally long: where a program lies can change how fast it is.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use perfblame_changes::without_git_variables;
use serde::{Deserialize, Serialize};

use crate::home::{entries, modified, size, touch, unregister};
use crate::process::{run_logged, shell};
use crate::watch::{CheckEvent, Watch};
use crate::{Failure, Home, Repository, Snapshot, key};

/// Checkouts of one repository.
pub struct Trees<'a> {
    /// The repository.
    pub git: &'a Repository,
    /// Where they are kept.
    pub home: &'a Home,
    /// Bytes that are kept.
    pub limit: u64,
    /// Who hears what happens.
    pub watch: &'a dyn Watch,
    /// Set when we should stop.
    pub cancel: &'a AtomicBool,
}

/// How a checkout is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recipe<'a> {
    /// A line for the shell.
    pub build: Option<&'a str>,
    /// Variables that are set.
    pub environment: &'a [(String, String)],
}

/// A checkout that is built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Built {
    /// Its root.
    pub path: PathBuf,
    /// What it is known by: the same content built the same way.
    pub key: String,
}

/// What is remembered of a built checkout; its file is as old as its last use.
#[derive(Serialize, Deserialize)]
struct Stamp {
    tree: String,
    build: Option<String>,
    bytes: u64,
}

impl Trees<'_> {
    /// A revision, built; from before where it was built before.
    pub fn built(&self, revision: &Snapshot, recipe: Recipe<'_>) -> Result<Built, Failure> {
        let built = self.place(revision, recipe);
        let stamp = stamp_of(&built.path);
        if stamp.is_file() && built.path.is_dir() {
            touch(&stamp);
            return Ok(built);
        }
        let unfinished = Unfinished { trees: self, path: &built.path, done: false };
        self.check_out(revision, &built.path)?;
        self.build(revision, recipe, &built)?;
        unfinished.finish(revision, recipe)?;
        Ok(built)
    }

    /// Where a revision is or would be.
    pub fn place(&self, revision: &Snapshot, recipe: Recipe<'_>) -> Built {
        let mut parts = vec![revision.tree.as_str(), recipe.build.unwrap_or("")];
        for (name, value) in recipe.environment {
            parts.extend([name.as_str(), value.as_str()]);
        }
        let key = key(&parts);
        Built { path: self.home.trees().join(&key), key }
    }

    fn check_out(&self, revision: &Snapshot, path: &Path) -> Result<(), Failure> {
        self.watch.event(&CheckEvent::CheckingOut { revision });
        let folder = path.display().to_string();
        self.git.run(&["worktree", "add", "--quiet", "--detach", &folder, &revision.commit])?;
        if path.join(".gitmodules").is_file() {
            let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
            self.git.run_in(path, &update).map_err(|error| Failure {
                what: format!("cannot check out the submodules of {}", revision.short()),
                ..error.into()
            })?;
        }
        Ok(())
    }

    fn build(&self, revision: &Snapshot, recipe: Recipe<'_>, built: &Built) -> Result<(), Failure> {
        let Some(line) = recipe.build else { return Ok(()) };
        let log = self.home.logs().join(format!("build-{}.log", built.key));
        self.watch.event(&CheckEvent::Building { revision, command: line, log: &log });
        let mut command = shell(line);
        without_git_variables(&mut command).current_dir(&built.path);
        command.envs(recipe.environment.iter().map(|(name, value)| (name, value)));
        let status = run_logged(command, &log, self.cancel)?;
        self.watch.event(&CheckEvent::Built { revision });
        if status.success() {
            return Ok(());
        }
        let what = format!("{} cannot be built", described(revision));
        Err(Failure::new(what, format!("`{line}` ended with {status}")).with_log(&log))
    }

    /// Removes the oldest until the rest fits; those in `kept` stay.
    pub fn trim(&self, kept: &[PathBuf]) {
        let mut trees: Vec<(u128, PathBuf, u64)> = Vec::new();
        for stamp in entries(&self.home.trees()) {
            if stamp.extension().is_none_or(|end| end != "json") {
                continue;
            }
            let bytes = std::fs::read(&stamp).ok();
            let bytes = bytes.and_then(|text| serde_json::from_slice::<Stamp>(&text).ok());
            trees.push((modified(&stamp), stamp, bytes.map_or(u64::MAX / 1024, |it| it.bytes)));
        }
        trees.sort();
        let mut sum = trees.iter().fold(0u64, |sum, (_, _, bytes)| sum.saturating_add(*bytes));
        for (_, stamp, bytes) in trees {
            let path = stamp.with_extension("");
            if sum <= self.limit || kept.contains(&path) {
                continue;
            }
            let _ = std::fs::remove_file(&stamp);
            let _ = std::fs::remove_dir_all(&path);
            sum = sum.saturating_sub(bytes);
        }
    }
}

/// A revision in a sentence.
pub fn described(revision: &Snapshot) -> String {
    if revision.uncommitted {
        return "the working tree".to_owned();
    }
    format!("{} (\u{201c}{}\u{201d})", revision.short(), revision.subject)
}

fn stamp_of(path: &Path) -> PathBuf {
    path.with_extension("json")
}

/// A checkout that is not built yet; dropping it takes it off git's list, and away unless it is done.
struct Unfinished<'a> {
    trees: &'a Trees<'a>,
    path: &'a Path,
    done: bool,
}

impl Unfinished<'_> {
    fn finish(mut self, revision: &Snapshot, recipe: Recipe<'_>) -> Result<(), Failure> {
        let stamp = Stamp {
            tree: revision.tree.clone(),
            build: recipe.build.map(str::to_owned),
            bytes: size(self.path),
        };
        let text = serde_json::to_vec(&stamp).unwrap_or_default();
        let path = stamp_of(self.path);
        perfblame_disk::write_bytes(&path, &text)
            .map_err(|error| Failure::io("write", &path, &error))?;
        self.done = true;
        Ok(())
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        unregister(self.trees.git, self.path);
        // It would point to nothing.
        let _ = std::fs::remove_file(self.path.join(".git"));
        if !self.done {
            let _ = std::fs::remove_dir_all(self.path);
        }
    }
}
