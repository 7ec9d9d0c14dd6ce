//! Texts that users read avoid words that stop them: documents, schemas, pages, string literals outside of tests, and
//! the doc comments that become help texts. The list says what to write instead.

use std::path::Path;

use super::TrackedFile;

/// A word or phrase in lower case, and what to write instead. It is found at word boundaries; one that ends in a letter
/// is not found inside a longer word.
const FORBIDDEN: &[(&str, &str)] = &[
    ("anew", "again"),
    ("as of", "of, or since"),
    ("at hand", "available"),
    ("beside", "next to, compared with, or in addition to"),
    ("beyond chance", "by more than noise"),
    ("by as much", "by the same amount"),
    ("by way of", "through"),
    ("cannot be told", "cannot tell, or inconclusive"),
    ("come to rest", "become idle"),
    ("comes to rest", "becomes idle"),
    ("costliest", "most expensive"),
    ("could not be told", "could not tell, or inconclusive"),
    ("for all that", "(leave it out)"),
    ("for want of", "because there is no"),
    ("go on", "continue"),
    ("goes on", "continues"),
    ("in turns", "alternately"),
    ("is meant", "is intended"),
    ("is there already", "already exists"),
    ("known are", "the … are"),
    ("likewise", "(say what)"),
    ("make no sense", "are invalid, or unreadable"),
    ("makes no sense", "is invalid, or unreadable"),
    ("nobody", "(say what happens)"),
    ("no matter of", "does not depend on"),
    ("of its kind", "similar"),
    ("processor time", "CPU time"),
    ("ran into", "exceeded, or met"),
    ("scatter", "vary, or noise"),
    ("scatters", "varies, or noise"),
    ("some microseconds", "a few microseconds"),
    ("some seconds", "a few seconds"),
    ("step over", "skip"),
    ("stepped over", "skipped"),
    ("steps over", "skips"),
    ("sure to", "with … confidence that"),
    ("tell apart", "distinguish, or separate"),
    ("the least", "the smallest, or the lowest"),
    ("there twice", "listed twice"),
    ("told apart", "distinguished, or separated"),
    ("told by", "known from"),
    ("told from", "separated from"),
    ("unless given", "default: …"),
    ("unless told", "by default"),
    ("wall-clock time", "wall time"),
];

/// Verbs whose passive hides who does what: *is said*, *was told*.
const PASSIVE: &[(&str, &str)] =
    &[("said", "perfblame says so, or a note"), ("told", "perfblame shows, or knows")];

const FORMS_OF_BE: &[&str] = &["is", "are", "was", "were", "be", "been"];

pub fn check(files: &[TrackedFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in files.iter().filter_map(TrackedFile::as_text) {
        for (line, words) in read_by_users(path, text) {
            for (phrase, instead) in forbidden(&words) {
                findings.push(format!("{path}:{line}: \"{phrase}\"; write: {instead}"));
            }
        }
    }
    findings
}

/// The texts of a file that users read, each with the line it begins in.
fn read_by_users(path: &str, text: &str) -> Vec<(usize, String)> {
    let ends_in = |end: &str| Path::new(path).extension().is_some_and(|it| it == end);
    let top = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md"];
    let prose = ["docs/", "examples/", "eval/"].iter().any(|folder| path.starts_with(folder));
    let document = ends_in("md") && (prose || top.contains(&path));
    let schema = path.starts_with("docs/") && path.ends_with(".schema.json");
    let in_report = path.starts_with("crates/report/src/");
    if document || schema || (in_report && ends_in("html")) {
        return (1..).zip(text.lines().map(str::to_owned)).collect();
    }
    if in_report && ends_in("js") {
        return literals(text);
    }
    let code = ["crates/", "eval/", "benches/", "xtask/"].iter().any(|it| path.starts_with(it));
    let is_test = path.contains("tests") || path.starts_with("crates/fixtures/");
    if !ends_in("rs") || !path.contains("/src/") || !code || is_test || is_this(path) {
        return Vec::new();
    }
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let mut found = literals(text);
    if path.starts_with("crates/perfblame/src/args") {
        let help = |line: &str| line.trim_start().strip_prefix("///").map(str::to_owned);
        let lines = (1..).zip(text.lines());
        found.extend(lines.filter_map(|(number, line)| Some((number, help(line)?))));
    }
    found
}

/// This file holds the list.
fn is_this(path: &str) -> bool {
    path == "xtask/src/tidy/words.rs"
}

/// The string literals of Rust code, with the lines they begin in. A line that ends in a backslash continues.
fn literals(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = code;
    let mut line = 1;
    while let Some(at) = rest.find(['"', '/', '\'', '\n']) {
        let (before, here) = rest.split_at(at);
        let raw = before.trim_end_matches('#').ends_with('r');
        let hashes = before.len() - before.trim_end_matches('#').len();
        let length = match here.as_bytes()[0] {
            b'"' if raw => {
                let end = format!("\"{}", "#".repeat(hashes));
                let length = here[1..].find(&end).map_or(here.len(), |length| length + 1);
                found.push((line, here[1..length].to_owned()));
                length + end.len()
            }
            b'"' => {
                let length = closing(here);
                found.push((line, continued(&here[1..length])));
                length + 1
            }
            b'/' if here.starts_with("//") => here.find('\n').unwrap_or(here.len()),
            b'\'' => character(here),
            _ => 1,
        };
        let length = length.min(here.len());
        line += here[..length].matches('\n').count();
        rest = &here[length..];
    }
    found
}

/// Where a literal that begins here ends.
fn closing(literal: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in literal.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at,
            _ => {}
        }
    }
    literal.len()
}

/// How long a character is that begins here; 1 for the quote of a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text[1..].chars();
    match inside.next() {
        Some('\\') => text[2..].find('\'').map_or(1, |at| at + 3),
        Some(one) if inside.next() == Some('\'') => one.len_utf8() + 2,
        _ => 1,
    }
}

/// A literal without its line breaks.
fn continued(literal: &str) -> String {
    let mut lines = literal.split("\\\n");
    let mut text = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        text.push_str(line.trim_start());
    }
    text
}

/// What is forbidden in a text, and what to write instead.
fn forbidden(text: &str) -> Vec<(String, &'static str)> {
    let text = text.to_lowercase();
    let mut found = Vec::new();
    for (phrase, instead) in FORBIDDEN {
        let inside = |at: usize| {
            let end = at + phrase.len();
            text[..at].ends_with(char::is_alphanumeric)
                || text[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        };
        if text.match_indices(phrase).any(|(at, _)| !inside(at)) {
            found.push(((*phrase).to_owned(), *instead));
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    for (at, pair) in words.windows(2).enumerate() {
        let [be, next] = pair else { continue };
        if !FORMS_OF_BE.contains(be) {
            continue;
        }
        let next = next.trim_end_matches(|c: char| !c.is_alphanumeric());
        if let Some((_, instead)) = PASSIVE.iter().find(|(verb, _)| *verb == next) {
            found.push((format!("{be} {next}"), *instead));
        }
        // *There is no file* is plain, *this is no file* is not.
        let plain = at > 0 && words[at - 1].ends_with("there");
        let after = words.get(at + 2).copied().unwrap_or_default();
        if next == "no" && !plain && !after.starts_with("longer") && !after.starts_with("more") {
            found.push((format!("{be} no"), "is not a, or has no"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(&[TrackedFile { path: path.to_owned(), text: Some(text.to_owned()) }])
    }

    #[test]
    fn phrases_are_found_with_what_to_write_instead() {
        assert_eq!(
            findings("docs/a.md", "plain\nIt goes on, Beside the file.\n"),
            [
                "docs/a.md:2: \"beside\"; write: next to, compared with, or in addition to",
                "docs/a.md:2: \"goes on\"; write: continues"
            ]
        );
        assert_eq!(forbidden("besides, renewed and a gossip goes only on"), []);
    }

    #[test]
    fn there_is_no_file_is_plain_and_this_is_no_file_is_not() {
        let phrases = |text: &str| forbidden(text).into_iter().map(|it| it.0).collect::<Vec<_>>();
        assert!(phrases("there is no such file, it is no longer read").is_empty());
        assert_eq!(phrases("`x` is no profile, which is said."), ["is no", "is said"]);
    }

    #[test]
    fn literals_are_read_and_comments_and_tests_are_not() {
        let code = "// nobody\nfn f<'a>() { g('\"', \"two \\\n   lines beside\", r#\"a \"raw\" anew\"#); }\n\
                    #[cfg(test)]\nmod tests {\n    const A: &str = \"nobody\";\n}\n";
        let lines: Vec<usize> = literals(code).iter().map(|literal| literal.0).collect();
        assert_eq!(lines[..2], [2, 3]);
        let found = findings("crates/cct/src/a.rs", code);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/cct/src/a.rs:2: \"beside\""), "{found:?}");
        assert!(findings("crates/cct/src/a/tests.rs", code).is_empty());
    }

    #[test]
    fn help_texts_are_doc_comments_of_the_command_line() {
        let code = "/// Says it anew\nstruct A;\n";
        assert_eq!(findings("crates/perfblame/src/args/a.rs", code).len(), 1);
        assert!(findings("crates/cct/src/a.rs", code).is_empty());
    }

    #[test]
    fn pages_and_schemas_are_read_too() {
        assert_eq!(findings("crates/report/src/page.html", "<p>Says it anew</p>\n").len(), 1);
        assert_eq!(findings("crates/report/src/page.js", "// anew\nshow(\"anew\");\n").len(), 1);
        assert_eq!(findings("docs/a.schema.json", "{ \"description\": \"anew\" }\n").len(), 1);
        assert!(findings("crates/cct/src/page.js", "show(\"anew\");\n").is_empty());
    }
}
