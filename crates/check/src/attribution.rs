//! What the changed code has to do with a difference.

use perfblame_analysis::{Diff, Reach};

use crate::{Failure, Git, Revision};

/// The changes between two revisions, ready to be held against comparisons.
#[derive(Clone, Debug)]
pub struct Attribution {}

impl Attribution {
    /// Reads what changed between two revisions; once for all comparisons of a check.
    pub fn of(_git: &Git, _base: &Revision, _head: &Revision) -> Result<Self, Failure> {
        Ok(Self {})
    }

    /// Fills in the changes of each suspect, and says what else the change has to do with the comparison.
    pub fn explain(&self, _diff: &mut Diff) -> Reach {
        Reach::default()
    }
}
