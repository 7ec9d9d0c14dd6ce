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

#[cfg(test)]
mod tests {
    use super::*;

    /// A class with an abstract method.
    fn class(name: &str) -> Vec<u8> {
        let mut bytes = b"\xca\xfe\xba\xbe\0\0\0\x3d\0\x05".to_vec();
        let text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.push(1);
            bytes.extend((text.len() as u16).to_be_bytes());
            bytes.extend(text.as_bytes());
        };
        text(&mut bytes, name);
        bytes.extend(b"\x07\0\x01");
        text(&mut bytes, "run");
        text(&mut bytes, "()V");
        // Flags, this, super; no interfaces, no fields, one method, no attributes.
        bytes.extend(b"\x04\0\0\x02\0\0\0\0\0\0\0\x01\x04\x01\0\x03\0\x04\0\0\0\0");
        bytes
    }

    #[test]
    fn only_what_is_wanted_is_counted() {
        let folder = std::env::temp_dir().join(format!("perfblame-count-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["app/One", "app/Two", "lib/Three"] {
            let file = folder.join(format!("{}.class", name.replace('/', "-")));
            std::fs::write(file, class(name)).unwrap();
        }
        let paths = [folder.clone()];
        let all = count_classes(&paths, ClassOptions::default(), |_| true).unwrap();
        assert_eq!(all, ClassCount { classes: 3, methods: 3 });
        let own = count_classes(&paths, ClassOptions::default(), |name| name.starts_with("app."));
        assert_eq!(own.unwrap(), ClassCount { classes: 2, methods: 2 });
        let _ = std::fs::remove_dir_all(folder);
    }
}
