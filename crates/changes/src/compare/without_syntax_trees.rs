//! What is left where no source is parsed: files, their kinds and their hunks.

use super::{ChangedFile, FileVersion, compare_sources};
use crate::{FileKind, Hunk};

#[test]
fn source_is_compared_by_lines_and_says_so() {
    let version = |path: &str, text: &str| {
        Some(FileVersion { path: path.to_owned(), text: text.as_bytes().to_vec() })
    };
    let before = version("src/a.rs", "fn a() {\n    one();\n}\n");
    let after = version("src/a.rs", "fn a() {\n    two();\n}\n");
    let files = [
        ChangedFile { before, after },
        ChangedFile { before: version("Cargo.lock", "1\n"), after: version("Cargo.lock", "2\n") },
    ];
    let found = compare_sources(&files).changes;
    assert!(found.functions.is_empty());
    let kinds: Vec<_> = found.files.iter().map(|file| (file.path.as_str(), file.kind)).collect();
    assert_eq!(kinds, [("src/a.rs", FileKind::Code), ("Cargo.lock", FileKind::Dependency)]);
    let hunk = Hunk { old_start: 2, old_lines: 1, new_start: 2, new_lines: 1 };
    assert_eq!(found.files[0].hunks, [hunk]);
    assert_eq!(found.warnings.len(), 1);
    assert!(found.warnings[0].contains("no syntax trees"), "{:?}", found.warnings);
    // Nothing is missing where nothing is source.
    assert!(compare_sources(&files[1..]).changes.warnings.is_empty());
}
