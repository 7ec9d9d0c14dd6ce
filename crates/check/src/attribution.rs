//! What the changed code has to do with a difference.
//!
//! Sources are read when the first difference asks for them, since most checks find none. A repository whose changes
//! cannot be read costs the attribution, not the check: a warning says so.

use std::cell::OnceCell;

use perfblame_analysis::{
    Ask, Attribution, ChangedSources, CodeError, Diff, DiffTree, Findings, newest_commit,
};
use perfblame_cct::Warning;
use perfblame_changes::{FunctionChange, Repository, Revision};

use crate::Snapshot;

/// The changes between two revisions, ready to be held against comparisons.
pub struct ChangedCode<'a> {
    git: &'a Repository,
    base: &'a Snapshot,
    head: &'a Snapshot,
    ask: &'a Ask,
    known: OnceCell<Result<ChangedSources, CodeError>>,
}

impl<'a> ChangedCode<'a> {
    /// For all comparisons of a check.
    pub fn of(git: &'a Repository, base: &'a Snapshot, head: &'a Snapshot, ask: &'a Ask) -> Self {
        Self { git, base, head, ask, known: OnceCell::new() }
    }

    /// Fills in the changes of each suspect, and says what else the change has to do with the comparison.
    pub fn explain(&self, diff: &mut Diff, tree: &DiffTree) -> Attribution {
        match self.findings(diff, tree) {
            Ok(found) => found.put_into(diff),
            Err(error) => {
                let message = format!("cannot tell what changed in the code: {error}");
                diff.warnings.push(Warning {
                    code: "changes-unknown".to_owned(),
                    message,
                    count: 1,
                });
                Attribution::default()
            }
        }
    }

    /// Functions changed and nothing else, and the runs get to none of them.
    pub fn is_unreached(&self, diff: &Diff, tree: &DiffTree) -> bool {
        let Ok(sources) = self.sources() else { return false };
        // Whose change it was does not matter, and asking git for it at every look takes time from the runs.
        sources.findings_with(diff, tree, &|_| None).attribution.is_unreached()
    }

    fn findings(&self, diff: &Diff, tree: &DiffTree) -> Result<Findings, String> {
        let sources = self.sources().as_ref().map_err(ToString::to_string)?;
        // What is not committed has no commit.
        let [base, head] = [self.base, self.head].map(Snapshot::revision);
        let history = self.git.history(&base, &head).map_err(|error| error.to_string())?;
        // A commit that cannot be found costs the commit alone.
        let commit = |change: &FunctionChange| newest_commit(&history, change).ok().flatten();
        Ok(sources.findings_with(diff, tree, &commit))
    }

    fn sources(&self) -> &Result<ChangedSources, CodeError> {
        self.known.get_or_init(|| {
            let [base, head] =
                [self.base, self.head].map(|side| Revision::Commit(side.commit.clone()));
            ChangedSources::of_revisions(self.git, &base, &head, self.ask)
        })
    }
}
