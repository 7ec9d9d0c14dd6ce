//! What functions of a script look like without their names, for telling which is which in another build of it.
//!
//! Stands beside a component and is no part of any identity: it says what the text was, and only one who compares two
//! versions asks.

/// One function of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionShape {
    /// The line it starts in, counted from 1.
    pub line: u32,
    /// The column it starts in, counted from 1.
    pub column: u32,
    /// The row of the function around it.
    pub parent: Option<u32>,
    /// Of everything in it but identifiers, functions inside included.
    pub hash: u64,
    /// How many tokens it has, functions inside not included.
    pub size: u32,
    /// Hashes of the rare things it names, sorted: the share of common ones says how alike two functions are.
    pub sketch: Box<[u32]>,
}

/// All functions of a script, also those that never ran, in the order of its text: callers of nobody are anchors, too.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScriptShapes {
    /// Outer ones before inner ones.
    pub functions: Vec<FunctionShape>,
}
