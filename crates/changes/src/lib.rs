//! What changed in the code between two revisions.
//!
//! Class files, source files by their syntax trees and git each say their part; the answer has one shape, a
//! [`ChangeSet`]. What the code costs is none of this crate's business.
#![warn(missing_docs)]

mod change_set;
mod classes;

pub use change_set::{
    Addition, ChangeKind, ChangeSet, Definition, FileChange, FileKind, FunctionChange, Hunk,
    Language,
};
pub use classes::{
    ClassOptions, ClassesError, ComparedClasses, MethodLabels, Revision, class_changes,
    compare_classes, compare_jars,
};
