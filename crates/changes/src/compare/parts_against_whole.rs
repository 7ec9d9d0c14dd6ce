//! What is found without parsing bodies that did not change, held against the plain way, which parses everything.

use std::path::Path;

use proptest::prelude::*;

use super::{ChangedFile, FileVersion, Parsing, SourceComparison, changed_parts, compare_parsed};
use crate::{Repository, lines};

/// Commits of this repository that are looked at.
const COMMITS: usize = 40;

fn both_ways(files: &[ChangedFile]) -> (SourceComparison, SourceComparison) {
    (compare_parsed(files, Parsing::Changes), compare_parsed(files, Parsing::Whole))
}

fn changed(path: &str, before: &str, after: &str) -> ChangedFile {
    let version = |text: &str| FileVersion { path: path.to_owned(), text: text.into() };
    ChangedFile { before: Some(version(before)), after: Some(version(after)) }
}

/// Whether anything of a file was left out.
fn is_partial(file: &ChangedFile) -> bool {
    let (Some(before), Some(after)) = (&file.before, &file.after) else { return false };
    let hunks = lines::hunks(&before.text, &after.text);
    before.path == after.path
        && changed_parts(&before.path, &before.text, &after.text, &hunks).is_some()
}

#[test]
fn commits_of_this_repository_are_the_same_both_ways() {
    let repository = Repository::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut partial = 0;
    let mut all = 0;
    for number in 0..COMMITS {
        let name = |number: usize| format!("HEAD~{number}");
        let (Ok(base), Ok(head)) =
            (repository.resolve(&name(number + 1)), repository.resolve(&name(number)))
        else {
            break;
        };
        let files = repository.changed_sources(&base, &head).unwrap();
        let (parts, whole) = both_ways(&files);
        assert_eq!(parts, whole, "{head:?}");
        partial += files.iter().filter(|file| is_partial(file)).count();
        all += files.len();
    }
    assert!(all < 200 || partial > 20, "{partial} of {all} files were parsed in parts");
}

const LANGUAGES: [(&str, &str, &str, &str, &str); 8] = [
    ("Made.java", "class Made {\n", "    int NAME(int a, int b) {\n", "    }\n\n", "}\n"),
    ("made.js", "class Made {\n", "    NAME(a, b) {\n", "    }\n\n", "}\n"),
    ("made.ts", "export class Made {\n", "    NAME(a: number): number {\n", "    }\n\n", "}\n"),
    ("made.rs", "impl Made {\n", "    fn NAME(a: u8, b: u8) -> u8 {\n", "    }\n\n", "}\n"),
    ("made.c", "", "static int NAME(int a,\n        int b)\n{\n", "}\n\n", ""),
    ("made.cpp", "namespace made {\n", "    int Made::NAME(int a) {\n", "    }\n\n", "}\n"),
    ("made.go", "package made\n\n", "func NAME(a int) int {\n", "}\n\n", ""),
    ("made.py", "class Made:\n", "    def NAME(self, a, b):\n", "\n", "x = 1\n"),
];

const STATEMENTS: [&str; 8] = [
    "a = weigh(a, b)",
    "call(\"{ not a brace\")",
    "first.second(third(4), 'c')",
    "b = (a + b) * 3",
    "run(a, (b), c[0])",
    "f(\"text } and {\", \"/*\")",
    "g(a)",
    "a = a",
];

/// Functions by their names' numbers and their statements.
type Drawn = Vec<(usize, Vec<usize>)>;

fn drawn() -> impl Strategy<Value = Drawn> {
    prop::collection::vec((0..12_usize, prop::collection::vec(0..STATEMENTS.len(), 3..9)), 3..9)
}

fn text(language: usize, functions: &Drawn) -> String {
    let (_, head, open, close, tail) = LANGUAGES[language];
    let end = if language > 5 { "\n" } else { ";\n" };
    let mut text = head.to_owned();
    for (name, statements) in functions {
        text.push_str(&open.replace("NAME", &format!("name{name}")));
        for statement in statements {
            text.push_str("        ");
            text.push_str(STATEMENTS[*statement]);
            text.push_str(end);
        }
        text.push_str(close);
    }
    text + tail
}

/// Functions put in, taken out and edited.
fn edited(mut functions: Drawn, edits: &[(usize, usize, usize)]) -> Drawn {
    for &(kind, at, what) in edits {
        let count = functions.len();
        match kind {
            0 if count > 1 => drop(functions.remove(at % count)),
            1 => functions.insert(at % (count + 1), (what, vec![what % 8, at % 8, 1, 2])),
            2 => functions.swap(at % count, what % count),
            _ => {
                let statements = &mut functions[at % count].1;
                let row = what % statements.len();
                statements[row] = (statements[row] + 1) % STATEMENTS.len();
            }
        }
    }
    functions
}

/// The text with one of its bytes exchanged, in the same number of lines.
fn damaged(text: &str, at: usize, with: char) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let at = at % letters.len();
    if letters[at] != '\n' {
        letters[at] = with;
    }
    letters.into_iter().collect()
}

fn edits() -> impl Strategy<Value = Vec<(usize, usize, usize)>> {
    prop::collection::vec((0..5_usize, 0..12_usize, 0..12_usize), 1..4)
}

fn without_warnings(mut found: SourceComparison) -> SourceComparison {
    found.changes.warnings.clear();
    found
}

proptest! {
    #[test]
    fn drawn_edits_are_the_same_both_ways(
        language in 0..LANGUAGES.len(), functions in drawn(), edits in edits(),
    ) {
        let after = edited(functions.clone(), &edits);
        let path = LANGUAGES[language].0;
        let file = changed(path, &text(language, &functions), &text(language, &after));
        let (parts, whole) = both_ways(&[file]);
        prop_assert_eq!(parts, whole);
    }

    /// An error that came with the change is near it, so that everything is parsed.
    #[test]
    fn new_errors_are_the_same_both_ways(
        language in 0..LANGUAGES.len(), functions in drawn(), edits in edits(),
        at in 0..4000_usize, with in prop::sample::select(vec!['{', '}', '(', ')', '"', '\'', '/', '=', ':']),
    ) {
        let after = edited(functions.clone(), &edits);
        let path = LANGUAGES[language].0;
        let after = damaged(&text(language, &after), at, with);
        let (parts, whole) = both_ways(&[changed(path, &text(language, &functions), &after)]);
        prop_assert_eq!(parts, whole);
    }

    /// An error that was there and stayed is met as the plain way meets it, or not at all.
    #[test]
    fn old_errors_are_met_as_before_or_not_at_all(
        language in 0..LANGUAGES.len(), functions in drawn(), edit in 0..8_usize,
        at in 0..4000_usize, with in prop::sample::select(vec!['{', '(', ')', '"', '=', ':', 'x']),
    ) {
        let path = LANGUAGES[language].0;
        let before = text(language, &functions);
        let mut after = functions.clone();
        // Same number of lines, so that both can be damaged in the same line.
        after[0].1[0] = (after[0].1[0] + 1 + edit) % STATEMENTS.len();
        let after = text(language, &after);
        let row = |text: &str, at: usize| text[..at].matches('\n').count();
        let at = at % before.len();
        let line = row(&before, at);
        let column = at - before[..at].rfind('\n').map_or(0, |end| end + 1);
        let spoil = |text: &str| {
            let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
            damaged(text, start + column, with)
        };
        let (parts, whole) = both_ways(&[changed(path, &spoil(&before), &spoil(&after))]);
        if parts != whole {
            let clean = compare_parsed(&[changed(path, &before, &after)], Parsing::Whole);
            prop_assert_eq!(without_warnings(parts), without_warnings(clean));
        }
    }
}

#[test]
fn most_bodies_are_left_out_in_every_language() {
    let functions: Drawn = (0..8).map(|name| (name, vec![0, 2, 3, 6, 4, 7])).collect();
    let after = edited(functions.clone(), &[(3, 2, 1)]);
    for (language, row) in LANGUAGES.iter().enumerate() {
        let file = changed(row.0, &text(language, &functions), &text(language, &after));
        assert!(is_partial(&file), "{}", row.0);
    }
}
