//! `docs/formats.md` lists what [`FORMATS`] holds; `cargo xtask bless` rewrites it.

use expect_test::expect_file;
use perfblame_readers::FORMATS;
use std::fmt::Write as _;

#[test]
fn the_list_of_formats_is_current() {
    let mut page = String::from(
        "# Formats\n\n\
         perfblame recognises these formats by their bytes, not by the file name. It decompresses gzip, zstd and \
         single-file zip. `-` reads standard input. This page is generated from the table in \
         `crates/readers/src/formats.rs`.\n\n\
         | format | who writes it |\n|---|---|\n",
    );
    for format in FORMATS {
        let _ = writeln!(page, "| {} | {} |", format.name, format.producers);
    }
    expect_file!["../../../docs/formats.md"].assert_eq(&page);
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}
