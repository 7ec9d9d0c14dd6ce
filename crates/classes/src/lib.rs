//! What changed between two sets of Java classes.
//!
//! Bytecode says what a method does and leaves out how its source was written (section 3.2 of `[parcs]`); but it also
//! says where constants are kept and in which order the compiler met its lambdas. Taken as bytes, nearly every method
//! of a new release is modified. So bodies are made comparable first (`body`), names that the compiler numbered are
//! told apart by what they stand for (`colors`, `pairing`), and only then compared (`compare`).
//!
//! Beyond the paper: a class that was renamed or moved is recognised by its methods, and calls of something that only
//! got another name do not make the caller modified.
#![warn(missing_docs)]

mod body;
mod class_file;
mod colors;
mod compare;
mod costs;
mod count;
mod fingerprint;
mod instructions;
mod labels;
mod numbered;
mod pairing;
mod parallel;
mod program;
mod scan;

use std::path::PathBuf;

use perfblame_archive::ZipError;

pub use count::{ClassCount, count_classes};
pub use labels::MethodLabels;

use perfblame_changes::ChangeSet;
use perfblame_sides::Sides;

/// How classes are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassOptions {
    /// The Java version that runs the program. Archives with copies of a class for several versions give the highest
    /// that is not above it, as the JVM takes it; none stands for the newest there is.
    pub java_release: Option<u32>,
}

/// Why classes cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ClassesError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is neither a class nor an archive.
    #[error("{}: {what}; give folders with classes, jars or class files", path.display())]
    NoArchive {
        /// Which one.
        path: PathBuf,
        /// What is wrong.
        what: ZipError,
    },
    /// There is nothing to compare, and everything would look added or deleted.
    #[error("{side}: no classes in {}; was it built?", listed(paths))]
    NoClasses {
        /// Whose they are: `before` or `after`, or `here` when nothing is compared.
        side: &'static str,
        /// Where they were looked for.
        paths: Vec<PathBuf>,
    },
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

/// What changed between two class paths: folders, jars, wars, jars in them, class files. See [`ClassOptions`] for
/// archives with copies for several Java versions; this takes the newest.
///
/// Methods are told apart by class, name and descriptor. Modified ones do something else; line numbers, the order of
/// constants and compiler-made numbers do not count. A class under another name whose methods are the same makes these
/// [`Moved`](perfblame_changes::ChangeKind::Moved), a method under another name [`Renamed`](perfblame_changes::ChangeKind::Renamed): so are
/// lambdas and anonymous classes whose number moved on, since profiles show them under both numbers.
pub fn class_changes(before: &[PathBuf], after: &[PathBuf]) -> Result<ChangeSet, ClassesError> {
    compare_classes(before, after, ClassOptions::default()).map(|compared| compared.changes)
}

/// What changed, and the labels of methods for the comparison of profiles.
#[derive(Clone, Debug)]
pub struct ComparedClasses {
    /// What changed.
    pub changes: ChangeSet,
    /// What to call a profile's methods.
    pub labels: MethodLabels,
}

/// [`class_changes`] with options and labels.
pub fn compare_classes(
    before: &[PathBuf],
    after: &[PathBuf],
    options: ClassOptions,
) -> Result<ComparedClasses, ClassesError> {
    let paths = Sides::new(before, after);
    let found = Sides::try_of(|side| scan::find_classes(paths[side], &options, side.name()))?;
    Ok(compared(found))
}

/// [`compare_classes`] of two jars in memory.
pub fn compare_jars(
    before: Vec<u8>,
    after: Vec<u8>,
    options: ClassOptions,
) -> Result<ComparedClasses, ClassesError> {
    let mut bytes = Sides::new(before, after);
    let found = Sides::try_of(|side| {
        scan::find_in_archive(std::mem::take(&mut bytes[side]), &options, side.name())
    })?;
    Ok(compared(found))
}

fn compared(found: Sides<scan::Classes>) -> ComparedClasses {
    let (changes, unchanged) = compare::compare(found);
    let mut labels = MethodLabels::new(&changes);
    for (side, names) in unchanged.each() {
        labels = labels.with_unchanged(side, names.iter().map(String::as_str));
    }
    ComparedClasses { changes, labels }
}

#[cfg(test)]
mod tests;
