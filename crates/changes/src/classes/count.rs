//! How much code there is: changes say little without what they are a part of.

use std::path::PathBuf;

use super::class_file::{ClassFile, text};
use super::parallel::in_parallel;
use super::scan::find_classes;
use super::{ClassOptions, ClassesError};

/// How many classes and methods a class path has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassCount {
    /// Classes, interfaces and the like.
    pub classes: usize,
    /// Their methods, constructors and initialisers.
    pub methods: usize,
}

/// Counts the classes that are wanted, by their names such as `pkg.Outer$Inner`. Classes that cannot be read are left
/// out here; [`class_changes`](super::class_changes) says which.
pub fn count_classes(
    paths: &[PathBuf],
    options: ClassOptions,
    wanted: impl Fn(&str) -> bool + Sync,
) -> Result<ClassCount, ClassesError> {
    let classes = find_classes(paths, &options, "here")?;
    let rows: Vec<usize> = (0..classes.found.len()).collect();
    let methods = in_parallel(&rows, |row| {
        let bytes = classes.read(*row).ok()?;
        let file = ClassFile::read(&bytes).ok()??;
        wanted(&text(file.name).replace('/', ".")).then_some(file.methods.len())
    });
    let mut count = ClassCount::default();
    for methods in methods.into_iter().flatten() {
        count.classes += 1;
        count.methods += methods;
    }
    Ok(count)
}
