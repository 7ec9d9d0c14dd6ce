//! Source files by the syntax trees of their languages.

mod body;
mod costs;
mod grammar;
mod naming;
mod unchanged;
mod walk;

use perfblame_sides::Sides;

use super::language::rust_module;
use super::{MAX_FILE_BYTES, SourceFile};
use crate::{Hunk, Language};

/// The functions in a text. Names carry no module that only the path would tell; [`crate::source_file`] adds it.
pub fn functions_in(language: Language, text: &[u8]) -> SourceFile {
    walk::parse(grammar::grammar(language, false), "", text)
}

/// The functions in a file, or nothing when its name says no known language.
pub(super) fn source_file(path: &str, text: &[u8]) -> Option<SourceFile> {
    let language = Language::of_file(path, text)?;
    let (grammar, module) = grammar_and_module(path, language);
    Some(walk::parse(grammar, &module, text))
}

fn grammar_and_module(path: &str, language: Language) -> (&'static grammar::Grammar, String) {
    let markup = path.to_ascii_lowercase().ends_with(".tsx");
    let module = match language {
        Language::Rust => rust_module(path),
        _ => String::new(),
    };
    (grammar::grammar(language, markup), module)
}

/// Both sides of a file that differs in these hunks, parsed without the bodies that did not change.
pub(super) fn changed_parts(
    path: &str,
    before: &[u8],
    after: &[u8],
    hunks: &[Hunk],
) -> Option<(SourceFile, SourceFile)> {
    let language = Language::of_file(path, before)?;
    if Language::of_file(path, after) != Some(language)
        || before.len().max(after.len()) > MAX_FILE_BYTES
    {
        return None;
    }
    let (grammar, module) = grammar_and_module(path, language);
    let mut bodies = unchanged::same_bodies(language, before, after, hunks);
    // What was taken for a function and is none is put back once.
    for _ in 0..2 {
        if bodies.is_empty() {
            return None;
        }
        let inside = Sides::<Vec<_>>::new(
            bodies.iter().map(|it| it.before.clone()).collect(),
            bodies.iter().map(|it| it.after.clone()).collect(),
        );
        let mut old = walk::parse_without(grammar, &module, before, &inside.before, None);
        if old.errors || old.file.incomplete.is_some() {
            return None;
        }
        let mut tree = old.tree.take()?;
        unchanged::edit(&mut tree, before, after, hunks);
        let new = walk::parse_without(grammar, &module, after, &inside.after, Some(&tree));
        if new.errors || new.file.incomplete.is_some() {
            return None;
        }
        let good = unchanged::sure(&old, &new);
        if good.iter().all(|good| *good) {
            let left_out = inside
                .before
                .iter()
                .filter_map(|it| before.get(it.range.start_byte..it.range.end_byte));
            let named = language != Language::Java
                || unchanged::numbers_stay(Sides::new(old.numbered, new.numbered), left_out);
            return named.then_some((old.file, new.file));
        }
        let mut good = good.into_iter();
        bodies.retain(|_| good.next() == Some(true));
    }
    None
}
