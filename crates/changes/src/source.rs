//! The functions of a source file, by its syntax tree.
//!
//! Profiles speak of functions by name and line, so that is what a file is reduced to: names in the spelling profiles
//! use, extents, and two hashes of each body. A function inside another one is a function of its own and only leaves a
//! mark in the body that holds it: a changed lambda is no change of the method around it.

mod hash;
mod language;
mod names;
#[cfg(feature = "syntax-trees")]
mod syntax;

pub use hash::BodyHash;
pub(crate) use hash::{hash_text, mix};
pub(crate) use names::{last_part, without_generics};
#[cfg(feature = "syntax-trees")]
pub use syntax::functions_in;

use crate::{Addition, Definition, Hunk, Language};

/// Whether this build parses source files: the feature `syntax-trees`. Without it, source is compared by lines.
pub const SYNTAX_TREES: bool = cfg!(feature = "syntax-trees");

/// What is told where source was to be parsed and this build does not parse any.
pub(crate) const NO_SYNTAX_TREES: &str = "functions of source files are unknown: this build of perfblame has no syntax \
     trees (feature `syntax-trees`); changes of source are known by file and line";

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

/// The functions in a file, or nothing when its name says no known language or there are no syntax trees
/// ([`SYNTAX_TREES`]).
pub fn source_file(path: &str, text: &[u8]) -> Option<SourceFile> {
    #[cfg(feature = "syntax-trees")]
    return syntax::source_file(path, text);
    #[cfg(not(feature = "syntax-trees"))]
    {
        let _ = (path, text);
        None
    }
}

/// Both sides of a file that differs in these hunks, of which functions that did not change are known by their first
/// lines only: good for a comparison of the two and for nothing else. None when the files must be parsed whole.
pub(crate) fn changed_parts(
    path: &str,
    before: &[u8],
    after: &[u8],
    hunks: &[Hunk],
) -> Option<(SourceFile, SourceFile)> {
    #[cfg(feature = "syntax-trees")]
    return syntax::changed_parts(path, before, after, hunks);
    #[cfg(not(feature = "syntax-trees"))]
    {
        let _ = (path, before, after, hunks);
        None
    }
}

#[cfg(all(test, feature = "syntax-trees"))]
mod tests;
