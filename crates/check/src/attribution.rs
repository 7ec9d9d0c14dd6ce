//! What the changed code has to do with a difference.
//!
//! Sources are read when the first difference asks for them, since most checks find none. A repository whose changes
//! cannot be read costs the attribution, not the check: a warning says so.

use std::cell::OnceCell;

use perfblame_analysis::{Attribution, Code, Diff, DiffTree, Findings, attribute};
use perfblame_cct::Warning;
use perfblame_changes::{ChangeSet, FunctionChange, GitError, Repository, SourceIndex};

use crate::Snapshot;

/// The changes between two revisions, ready to be held against comparisons.
pub struct ChangedCode<'a> {
    git: &'a Repository,
    base: &'a Snapshot,
    head: &'a Snapshot,
    known: OnceCell<Result<Known, GitError>>,
}

/// What was read.
struct Known {
    changes: ChangeSet,
    before: SourceIndex,
    after: SourceIndex,
}

impl Known {
    fn code<'k>(
        &'k self,
        commit: &'k dyn Fn(&FunctionChange) -> Option<(String, String)>,
    ) -> Code<'k> {
        Code { changes: &self.changes, before: &self.before, after: &self.after, commit }
    }
}

impl<'a> ChangedCode<'a> {
    /// For all comparisons of a check.
    pub fn of(git: &'a Repository, base: &'a Snapshot, head: &'a Snapshot) -> Self {
        Self { git, base, head, known: OnceCell::new() }
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
        let Ok(known) = self.known.get_or_init(|| self.read()) else { return false };
        // Whose change it was does not matter, and asking git for it at every look takes time from the runs.
        let code = known.code(&|_| None);
        attribute(diff, tree, &code).attribution.is_unreached()
    }

    fn findings(&self, diff: &Diff, tree: &DiffTree) -> Result<Findings, String> {
        let known = self.known.get_or_init(|| self.read()).as_ref().map_err(ToString::to_string)?;
        let ends = self.ends();
        let history = self.git.history(&ends[0], &ends[1]).map_err(|it| it.to_string())?;
        Ok(attribute(
            diff,
            tree,
            &known.code(&|change| {
                let newest = history.newest(change).ok().flatten()?;
                Some((newest.id?, newest.title))
            }),
        ))
    }

    fn read(&self) -> Result<Known, GitError> {
        let [base, head] =
            [self.base, self.head].map(|it| perfblame_changes::Revision::Commit(it.commit.clone()));
        let changes = self.git.changes(&base, &head)?;
        let before = SourceIndex::of(self.git, &base)?;
        let after = SourceIndex::of(self.git, &head)?;
        Ok(Known { changes, before, after })
    }

    /// Between which commits are looked for: what is not committed has none.
    fn ends(&self) -> [perfblame_changes::Revision; 2] {
        [self.base, self.head].map(Snapshot::revision)
    }
}
