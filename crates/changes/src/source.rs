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
mod walk;

pub use body::BodyHash;
pub(crate) use body::{hash_text, mix};
pub(crate) use costs::last_part;
pub(crate) use naming::without_generics;

use crate::{Addition, Definition, Language};

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
    let markup = path.to_ascii_lowercase().ends_with(".tsx");
    let module = match language {
        Language::Rust => language::rust_module(path),
        _ => String::new(),
    };
    Some(walk::parse(grammar::grammar(language, markup), &module, text))
}

#[cfg(test)]
mod tests;
