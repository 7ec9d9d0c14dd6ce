//! The two sides of a code change. This crate knows no profiles, so it has a type of its own.

use std::fmt;

/// The code before a change or after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CodeSide {
    /// Before the change.
    Before,
    /// After it.
    After,
}

impl CodeSide {
    /// The word for it: `before` or `after`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

impl fmt::Display for CodeSide {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}
