//! The functions of a source file, by its syntax tree.
//!
//! Profiles speak of functions by name and line, so that is what a file is reduced to: names in the spelling profiles
//! use, extents, and two hashes of each body. A function inside another one is a function of its own and only leaves a
//! mark in the body that holds it: a changed lambda is no change of the method around it.

mod body;
mod costs;
mod grammar;
mod language;
mod naming;
mod unchanged;
mod walk;

pub use body::BodyHash;
pub(crate) use body::{hash_text, mix};
pub(crate) use costs::last_part;
pub(crate) use naming::without_generics;

use crate::{Addition, Definition, Hunk, Language};

/// Files above this size are machine-made; what is in them has no history that would help.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// What a source file holds.
#[derive(Clone, Debug, Default)]
pub struct SourceFile {
    /// What it is written in.
    pub language: Language,
    /// Its functions, in the order in which they begin; one that holds another comes first.
    pub functions: Vec<SourceFunction>,
    /// Its classes, modules and the like.
    pub types: Vec<SourceType>,
    /// First line that the grammar could not make sense of. Functions after it are still known.
    pub first_error: Option<u32>,
    /// What is missing, in a sentence without the file's name: too large, nested too deep.
    pub incomplete: Option<String>,
    /// Number of lines.
    pub lines: u32,
    /// Hash of all code outside of functions.
    pub(crate) outside: BodyHash,
}

/// A function in a source file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SourceFunction {
    /// Full name as profiles spell it: `pkg.Outer$Inner.method`, `module::Type::method`, `pkg.(*T).Method`.
    pub name: String,
    /// Parameter types, erased, where a language has overloads: `(int,String)`.
    pub signature: Option<String>,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// What kind of function it is.
    pub kind: FunctionKind,
    /// Row of the function that this one stands in.
    pub holder: Option<usize>,
    /// Hash of the body without comments and white space.
    pub exact: BodyHash,
    /// Hash that is also the same when local names, `final`, a needless `this.` or parentheses differ.
    pub loose: BodyHash,
    /// What costs time in the body, sorted.
    pub costs: Vec<Addition>,
    /// First line with what belongs to the function and comes before it: attributes, decorators.
    pub(crate) from_line: u32,
    /// The name without numbers that compilers give, hashed.
    pub(crate) key: u64,
    /// The last part of the name, hashed.
    pub(crate) simple: u64,
    /// The body for fuzzy comparison, local names all alike.
    pub(crate) tokens: Box<[u32]>,
}

/// What kind of function it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum FunctionKind {
    /// It has a name of its own.
    #[default]
    Named,
    /// A lambda, closure or callback, named by what holds it.
    Closure,
    /// Code that runs when a class or an object is made; one function can have several such parts.
    Initialiser,
}

/// A class, module or the like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceType {
    /// Full name as profiles spell it.
    pub name: String,
    /// First and last line, from 1.
    pub lines: (u32, u32),
}

impl SourceFunction {
    /// The function as every comparison gives it.
    pub fn definition(&self, file: Option<&str>, language: Language) -> Definition {
        Definition {
            name: self.name.clone(),
            signature: self.signature.clone(),
            file: file.map(str::to_owned),
            lines: Some(self.lines),
            language,
        }
    }
}

/// The functions in a text. Names carry no module that only the path would tell; [`source_file`] adds it.
pub fn functions_in(language: Language, text: &[u8]) -> SourceFile {
    walk::parse(grammar::grammar(language, false), "", text)
}

/// The functions in a file, or nothing when its name says no known language.
pub fn source_file(path: &str, text: &[u8]) -> Option<SourceFile> {
    let language = Language::of_file(path, text)?;
    let (grammar, module) = grammar_and_module(path, language);
    Some(walk::parse(grammar, &module, text))
}

fn grammar_and_module(path: &str, language: Language) -> (&'static grammar::Grammar, String) {
    let markup = path.to_ascii_lowercase().ends_with(".tsx");
    let module = match language {
        Language::Rust => language::rust_module(path),
        _ => String::new(),
    };
    (grammar::grammar(language, markup), module)
}

/// Both sides of a file that differs in these hunks, of which functions that did not change are known by their first
/// lines only: good for a comparison of the two and for nothing else. None when the files must be parsed whole.
pub(crate) fn changed_parts(
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
        let inside: [Vec<_>; 2] = [
            bodies.iter().map(|it| it.before.clone()).collect(),
            bodies.iter().map(|it| it.after.clone()).collect(),
        ];
        let mut old = walk::parse_without(grammar, &module, before, &inside[0], None);
        if old.errors || old.file.incomplete.is_some() {
            return None;
        }
        let mut tree = old.tree.take()?;
        unchanged::edit(&mut tree, before, after, hunks);
        let new = walk::parse_without(grammar, &module, after, &inside[1], Some(&tree));
        if new.errors || new.file.incomplete.is_some() {
            return None;
        }
        let good = unchanged::sure(&old, &new);
        if good.iter().all(|good| *good) {
            let left_out = inside[0]
                .iter()
                .filter_map(|it| before.get(it.range.start_byte..it.range.end_byte));
            let named = language != Language::Java
                || unchanged::numbers_stay([old.numbered, new.numbered], left_out);
            return named.then_some((old.file, new.file));
        }
        let mut good = good.into_iter();
        bodies.retain(|_| good.next() == Some(true));
    }
    None
}

#[cfg(test)]
mod tests;
