//! The functions of a script: where each starts as V8 counts it, how far it reaches, what holds it.
//!
//! V8 has a function start at the bracket of its parameters, an arrow function at its first parameter or at `async`, a
//! class without a constructor at `class`, and the script itself at its beginning. Types of TypeScript are stepped over
//! where they stand between parameters and body.

mod holder;
mod scan;

use std::ops::Range;

use crate::shape::Shape;
use crate::{ScriptPlace, tokens::Tokens};

/// What holds a function, as ranges of the script's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Holder {
    /// The script itself.
    TopLevel,
    /// Its own name, or that of the class it constructs.
    Declared(Range<u32>),
    /// What it is assigned to.
    Assigned(Range<u32>),
    /// The key of an object or class that it belongs to.
    Key(Range<u32>),
    /// It is an argument: whom it is given to, and as the how manieth, from 1.
    Argument(Range<u32>, u32),
    /// It is called where it stands.
    Immediate,
    /// Another function's result.
    Returned,
    /// In a list.
    Element,
    /// Nothing that has a name.
    Unknown,
}

/// One function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptFunction {
    /// Where it starts, as V8 says.
    pub start: ScriptPlace,
    /// Where its text begins: before its name.
    pub from: ScriptPlace,
    /// Where its text ends.
    pub end: ScriptPlace,
    /// Where the name begins that it goes by, when it has one of its own or is assigned to one.
    pub name_at: Option<ScriptPlace>,
    /// The row of the function around it; none for the script itself.
    pub parent: Option<u32>,
    /// What holds it.
    pub holder: Holder,
    /// What it looks like without identifiers.
    pub shape: Shape,
}

/// The functions of a script, the script itself first, in the order in which their texts begin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outline {
    /// All of them.
    pub functions: Vec<ScriptFunction>,
}

impl Outline {
    /// The row of the function that starts at this place; of several, the outermost.
    pub fn starting_at(&self, place: ScriptPlace) -> Option<usize> {
        // Starts are not sorted: a method's start lies behind its name. From there on, few rows have to be looked at.
        let first = self.functions.partition_point(|function| function.from < place);
        let near = self.functions[..first].iter().enumerate().rev().take(8);
        let later = self.functions[first..].iter().enumerate().take(2);
        let later = later.map(|(row, function)| (row + first, function));
        let mut found = later.chain(near).filter(|(_, function)| function.start == place);
        found.next().map(|(row, _)| row)
    }

    /// The row of the innermost function whose text has this place in it.
    pub fn around(&self, place: ScriptPlace) -> Option<usize> {
        let first = self.functions.partition_point(|function| function.from <= place);
        let mut row = first.checked_sub(1)?;
        while self.functions[row].end <= place {
            row = self.functions[row].parent? as usize;
        }
        Some(row)
    }
}

/// Whether types can stand between parameters and bodies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Language {
    JavaScript,
    TypeScript,
}

/// The functions of a script; `name` is its file's name, which tells what it is written in.
pub fn outline(text: &str, name: &str) -> Outline {
    let path = name.split(['?', '#']).next().unwrap_or_default();
    let end = path.rsplit('.').next().unwrap_or_default();
    let language = match end {
        "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => Language::TypeScript,
        _ => Language::JavaScript,
    };
    scan::scan(&Tokens::of(text), language)
}

#[cfg(test)]
mod tests;
