//! A case: a commit, and the truth about it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::project::Project;
use crate::slowdowns::SlowdownKind;

/// What a commit is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sort {
    /// One of its functions is slower.
    Slow(SlowdownKind),
    /// Functions that run are edited, and nothing is slower.
    Innocent,
    /// Functions that run are refactored: helpers extracted, functions and variables renamed, functions moved.
    Refactored,
    /// Functions that hardly run, or not at all, are edited.
    HardlyRun,
    /// Something would be slower if the workload got there.
    Unreached,
}

impl Sort {
    /// All that nothing gets slower by.
    pub const INNOCENT: [Self; 4] =
        [Self::Innocent, Self::Refactored, Self::Unreached, Self::HardlyRun];

    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slow(kind) => kind.name(),
            Self::Innocent => "innocent edits",
            Self::Refactored => "refactorings",
            Self::HardlyRun => "edits where hardly anything runs",
            Self::Unreached => "slower where nothing runs",
        }
    }

    /// The sort of this name.
    pub fn named(name: &str) -> Option<Self> {
        let other = Self::INNOCENT.into_iter().find(|sort| sort.name() == name);
        other.or_else(|| SlowdownKind::named(name).map(Self::Slow))
    }
}

/// A case of a project, known before it is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec {
    pub sort: Sort,
    pub number: usize,
}

impl Spec {
    /// Its name within the project; also its branch.
    pub fn name(self) -> String {
        let sort = match self.sort {
            Sort::Slow(_) => "slow",
            Sort::Innocent => "innocent",
            Sort::Refactored => "refactored",
            Sort::HardlyRun => "hardly-run",
            Sort::Unreached => "unreached",
        };
        format!("{sort}-{:02}", self.number)
    }

    /// The cases of a project: slow ones of all kinds in turn, and innocent ones of all sorts in turn.
    pub fn all(slow: usize, innocent: usize) -> Vec<Self> {
        let kind = |number: usize| Sort::Slow(SlowdownKind::ALL[number % SlowdownKind::ALL.len()]);
        let sort = |number: usize| Sort::INNOCENT[number % Sort::INNOCENT.len()];
        let slow = (0..slow).map(|number| Self { sort: kind(number), number });
        slow.chain((0..innocent).map(|number| Self { sort: sort(number), number })).collect()
    }
}

/// What was done, stored beside the repository.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Truth {
    pub project: String,
    pub case: String,
    pub sort: String,
    pub seed: u64,
    /// CPU time after, in parts of that before, as measured when it was made.
    pub ratio: f64,
    /// The number in the template.
    pub size: u64,
    /// Where the slowdown is.
    pub host: Option<ChangedPlace>,
    /// The new function, when the slowdown has one.
    pub helper: Option<ChangedPlace>,
    /// The host's part of the whole before.
    pub share: f64,
    /// The other functions that changed, and how.
    pub edits: Vec<Edited>,
}

/// A function of the commit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChangedPlace {
    pub file: String,
    pub function: String,
    /// First and last line, counted from 1.
    pub lines: (u64, u64),
}

/// A function that was edited without harm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Edited {
    pub file: String,
    pub function: String,
    pub edit: String,
}

/// Where the truth about a case is kept.
pub fn truth_file(project: &Project, case: &str, work: &Path) -> PathBuf {
    work.join(project.name).join("cases").join(format!("{case}.json"))
}

/// The file that says that a case cannot be made.
pub fn given_up_file(project: &Project, case: &str, work: &Path) -> PathBuf {
    truth_file(project, case, work).with_extension("none")
}

/// The truth about a case that has been made.
pub fn read(path: &Path) -> Result<Truth> {
    let text = std::fs::read(path).with_context(|| path.display().to_string())?;
    serde_json::from_slice(&text).with_context(|| path.display().to_string())
}
