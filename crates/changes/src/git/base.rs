//! What a revision is compared with when nobody says.

use super::command::{git, output, text};
use super::{GitError, Repository, Revision};

/// Branches that are the main one in most repositories, most likely first.
const MAIN_BRANCHES: &[&str] = &[
    "refs/remotes/origin/HEAD",
    "refs/remotes/upstream/HEAD",
    "refs/heads/main",
    "refs/heads/master",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/trunk",
    "refs/heads/develop",
];

/// The revision to compare with, and why it is that one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefaultBase {
    /// A commit.
    pub revision: Revision,
    /// The main branch that was left there; none when it is the last commit or the one before.
    pub branch: Option<String>,
}

impl Repository {
    /// The tip of the main branch, and its name; none when no usual name exists.
    pub fn main_branch(&self) -> Result<Option<(String, Revision)>, GitError> {
        for name in MAIN_BRANCHES {
            match self.resolve(name) {
                Ok(revision) => {
                    let short = name.trim_start_matches("refs/heads/");
                    let short = short.trim_start_matches("refs/remotes/");
                    return Ok(Some((short.to_owned(), revision)));
                }
                Err(GitError::NoRevision(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The newest commit that both have among their ancestors.
    pub fn merge_base(
        &self,
        one: &Revision,
        other: &Revision,
    ) -> Result<Option<Revision>, GitError> {
        let (one, other) = (self.commit_of(one)?, self.commit_of(other)?);
        match text(git(&self.root, ["merge-base", &one, &other])) {
            Ok(id) => Ok(Some(Revision::Commit(id))),
            // Without a common ancestor git says nothing and fails.
            Err(GitError::Failed { message, .. }) if message.is_empty() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What a revision is compared with when nobody says: the commit where its branch left the main one. On the main
    /// branch itself, or without one, that is the last commit for a changed working tree, and the commit before for
    /// everything else.
    pub fn default_base(&self, head: &Revision) -> Result<DefaultBase, GitError> {
        let commit = Revision::Commit(self.commit_of(head)?);
        if let Some((branch, main)) = self.main_branch()?
            && let Some(base) = self.merge_base(&main, &commit)?
            && base != commit
        {
            return Ok(DefaultBase { revision: base, branch: Some(branch) });
        }
        if *head == Revision::WorkingTree && self.is_changed()? {
            return Ok(DefaultBase { revision: commit, branch: None });
        }
        let Revision::Commit(id) = &commit else { return Err(GitError::NothingBefore) };
        match self.resolve(&format!("{id}~1")) {
            Ok(revision) => Ok(DefaultBase { revision, branch: None }),
            Err(GitError::NoRevision(_)) => Err(GitError::NothingBefore),
            Err(error) => Err(error),
        }
    }

    /// Whether the working tree has content that the last commit does not have.
    fn is_changed(&self) -> Result<bool, GitError> {
        if self.bare {
            return Ok(false);
        }
        let quiet = ["diff", "--quiet", "--no-ext-diff", "--no-textconv"];
        let quiet = [&quiet[..], &["--ignore-submodules=dirty", "HEAD"]].concat();
        match output(git(&self.root, quiet), Vec::new()) {
            Ok(_) => {}
            // It fails in silence when there are differences.
            Err(GitError::Failed { message, .. }) if message.is_empty() => return Ok(true),
            Err(error) => return Err(error),
        }
        let others = ["ls-files", "-z", "--others", "--exclude-standard"];
        Ok(!output(git(&self.root, others), Vec::new())?.is_empty())
    }
}
