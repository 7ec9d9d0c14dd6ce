//! What changed in the code between two revisions.
//!
//! Source files by their syntax trees and git each say their part; the answer has one shape, a [`ChangeSet`], which
//! `perfblame-classes` gives for class files, too. What the code costs is none of this crate's business.
#![warn(missing_docs)]

mod change_set;
mod compare;
mod git;
mod lines;
mod locate;
mod parallel;
pub mod source;

pub use change_set::{
    Addition, ChangeKind, ChangeSet, Definition, FileChange, FileKind, FunctionChange, Hunk,
    Language,
};
pub use compare::{ChangedFile, FileVersion, SourceComparison, compare_sources, file_kind};
pub use git::{
    Commit, DefaultBase, GitError, History, Repository, Revision, Snapshot, without_git_variables,
};
pub use lines::{LineFate, LineMap};
pub use locate::{FrameQuery, Location, SourceIndex, Why};
#[cfg(feature = "syntax-trees")]
pub use source::functions_in;
pub use source::{BodyHash, FunctionKind, SYNTAX_TREES, SourceFile, SourceFunction, source_file};
