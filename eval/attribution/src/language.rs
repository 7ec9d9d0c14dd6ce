//! The languages of the projects, as far as their text differs.

/// A language.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Language {
    C,
    Java,
    JavaScript,
    Python,
    Rust,
}

impl Language {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Java => "Java",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
        }
    }

    /// How its files end.
    pub fn ending(self) -> &'static str {
        match self {
            Self::C => ".c",
            Self::Java => ".java",
            Self::JavaScript => ".js",
            Self::Python => ".py",
            Self::Rust => ".rs",
        }
    }

    /// How a comment line begins.
    pub fn comment(self) -> &'static str {
        match self {
            Self::Python => "#",
            _ => "//",
        }
    }

    /// One step of indentation.
    pub fn step(self) -> &'static str {
        match self {
            Self::C | Self::JavaScript => "  ",
            Self::Java | Self::Python | Self::Rust => "    ",
        }
    }
}
