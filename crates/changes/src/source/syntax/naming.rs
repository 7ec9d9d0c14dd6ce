//! Names as profiles spell them, from where a function stands in its file.
//!
//! Every name has a twin without the numbers that compilers give to lambdas and anonymous classes: one more lambda at
//! the top of a class renumbers all below, and they are still the same.

mod java;
mod native;
mod script;

use std::ops::Range;

use hashbrown::HashMap;
use tree_sitter::Node;

use super::walk::SyntaxWalk;
use crate::Language;
use crate::source::FunctionKind;
use crate::source::names::{last_part, without_generics};

pub(super) use java::java_lambda;

/// No name is longer; what holds a JavaScript function can be pages of code.
const MAX_PART: usize = 120;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScopeKind {
    /// The file, and the package it says it belongs to.
    File,
    /// A module or namespace.
    Module,
    Type,
    Function,
}

/// What names the things inside of it.
pub(super) struct Scope {
    pub kind: ScopeKind,
    /// How many nodes are above it.
    pub depth: usize,
    pub name: String,
    /// The name without compilers' numbers.
    pub key: String,
    /// The last part of the name.
    pub simple: String,
    pub anonymous: u32,
    pub closures: u32,
    /// How often a name was given inside.
    pub given: HashMap<String, u32>,
    /// Java type variables and what they are at run time.
    pub variables: Vec<(String, String)>,
    /// Whether it holds until the end of the file.
    to_the_end: bool,
}

impl Scope {
    pub fn file(module: &str) -> Self {
        Self::new(ScopeKind::File, module.to_owned(), module.to_owned(), "")
    }

    fn new(kind: ScopeKind, name: String, key: String, simple: &str) -> Self {
        Self {
            kind,
            depth: 0,
            name,
            key,
            simple: simple.to_owned(),
            anonymous: 0,
            closures: 0,
            given: HashMap::new(),
            variables: Vec::new(),
            to_the_end: false,
        }
    }

    /// Whether leaving a node at this depth ends it.
    pub fn ends(&self, depth: usize) -> bool {
        !self.to_the_end && self.depth == depth
    }
}

/// A function that begins.
pub(super) struct Opened {
    pub name: String,
    pub key: String,
    pub own_name: String,
    pub kind: FunctionKind,
    pub signature: Option<String>,
    /// Bytes of the name.
    pub skip: Range<usize>,
    pub scope: Scope,
}

impl Opened {
    fn new(name: String, key: String, own_name: &str, kind: FunctionKind) -> Self {
        let scope = Scope::new(ScopeKind::Function, name.clone(), key.clone(), own_name);
        Self { name, key, own_name: own_name.to_owned(), kind, signature: None, skip: 0..0, scope }
    }
}

/// The scope that a node opens, if it does.
pub(super) fn scope(walk: &mut SyntaxWalk, node: Node) -> Option<Scope> {
    match walk.grammar.language {
        Language::Java => java::scope(walk, node),
        Language::JavaScript | Language::TypeScript => script::scope(walk, node),
        Language::Rust => native::rust_scope(walk, node),
        Language::C | Language::Cpp => native::cpp_scope(walk, node),
        Language::Python => script::python_scope(walk, node),
        Language::Go => native::go_package(walk, node),
    }
}

/// The function that a node is, if it is one.
pub(super) fn function(walk: &mut SyntaxWalk, node: Node) -> Option<Opened> {
    match walk.grammar.language {
        Language::Java => java::function(walk, node),
        Language::JavaScript | Language::TypeScript => script::function(walk, node),
        Language::Rust => native::rust_function(walk, node),
        Language::C | Language::Cpp => native::cpp_function(walk, node),
        Language::Python => script::python_function(walk, node),
        Language::Go => native::go_function(walk, node),
    }
}

/// What a call calls, as the code spells it; without the object when that is a local name or an expression.
pub(super) fn callee(walk: &SyntaxWalk, node: Node) -> Option<String> {
    let of = |field: &str| node.child_by_field_name(field);
    match node.kind() {
        "method_invocation" => {
            let name = part(walk, of("name")?);
            let object = of("object").and_then(|object| path(walk, object));
            Some(object.map_or(name.clone(), |object| format!("{object}.{name}")))
        }
        "object_creation_expression" => {
            Some(format!("{}.<init>", java::simple_type(walk, of("type")?)))
        }
        "macro_invocation" => Some(format!("{}!", part(walk, of("macro")?))),
        "new_expression" if walk.grammar.language == Language::Cpp => {
            Some(without_generics(&part(walk, of("type")?)))
        }
        _ => {
            let called = of("function").or_else(|| of("constructor"))?;
            let generic = called.kind() == "generic_function";
            let inner = called.child_by_field_name("function").filter(|_| generic);
            let called = inner.unwrap_or(called);
            path(walk, called).or_else(|| {
                let last = ["property", "field", "attribute", "name"];
                let last = last.iter().find_map(|field| called.child_by_field_name(field))?;
                Some(without_generics(&part(walk, last)))
            })
        }
    }
}

/// A plain path of names, unless it begins with a local one; that of a member of the own object is the member.
fn path(walk: &SyntaxWalk, node: Node) -> Option<String> {
    let text = std::str::from_utf8(walk.text(node)).ok()?;
    if text.len() > MAX_PART {
        return None;
    }
    let text = without_generics(text);
    let plain = |letter: char| letter.is_alphanumeric() || "_$.:#".contains(letter);
    if text.is_empty() || !text.chars().all(plain) {
        return None;
    }
    let root = text.split(['.', ':']).next().unwrap_or("");
    if root.len() < text.len() {
        let own = ["this", "self", "Self", "super", "cls"].contains(&root);
        if own || walk.is_declared(root.as_bytes()) {
            // What is called on a local name is known by its last part only, a local name as an object not at all.
            return Some(last_part(&text).to_owned());
        }
    } else if ["this", "self", "super"].contains(&root) {
        return None;
    }
    Some(text)
}

/// A node's text as a part of a name: one line, no blanks, not endless.
fn part(walk: &SyntaxWalk, node: Node) -> String {
    tidy(walk.text(node))
}

fn tidy(text: &[u8]) -> String {
    let text = &text[..text.len().min(4 * MAX_PART)];
    let text = String::from_utf8_lossy(text);
    let mut tidy = String::new();
    let mut blank = false;
    for letter in text.chars().take(MAX_PART) {
        if letter.is_whitespace() {
            blank = true;
            continue;
        }
        let word = |letter: char| letter.is_alphanumeric() || letter == '_';
        // A blank between two words separates them; any other is layout.
        if blank && word(letter) && tidy.chars().next_back().is_some_and(word) {
            tidy.push(' ');
        }
        blank = false;
        tidy.push(letter);
    }
    tidy
}

fn join(outer: &str, separator: &str, inner: &str) -> String {
    if outer.is_empty() { inner.to_owned() } else { format!("{outer}{separator}{inner}") }
}

/// A named function in the scope on top.
fn named(walk: &SyntaxWalk, separator: &str, simple: &str) -> Option<Opened> {
    let scope = walk.scopes.last()?;
    let name = join(&scope.name, separator, simple);
    let key = join(&scope.key, separator, simple);
    Some(Opened::new(name, key, simple, FunctionKind::Named))
}

/// A numbered function in the scope on top.
fn numbered(walk: &mut SyntaxWalk, separator: &str, simple: &str, plain: &str) -> Option<Opened> {
    let scope = walk.scopes.last_mut()?;
    let name = join(&scope.name, separator, simple);
    let key = join(&scope.key, separator, plain);
    Some(Opened::new(name, key, plain, FunctionKind::Closure))
}
