//! Why a file could not be read back: what, where, and what to do next.

use std::fmt;

/// A file that cannot be read, or not be trusted.
#[derive(Debug, thiserror::Error)]
pub struct FileError {
    /// Byte offset in the file.
    pub offset: Option<u64>,
    /// What is wrong.
    pub kind: FileErrorKind,
    /// What to do next.
    pub help: Option<&'static str>,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum FileErrorKind {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A record is longer than the file.
    #[error("a record needs {wanted} bytes, {left} left")]
    Truncated {
        /// Bytes the record needs.
        wanted: u64,
        /// Bytes there are.
        left: u64,
    },
    /// A version that is not supported.
    #[error("{0}")]
    Unsupported(String),
    /// The bytes contradict the format.
    #[error("{0}")]
    Malformed(String),
    /// The file claims to unpack to more than we are willing to hold.
    #[error("{what} of {size} bytes exceeds the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        size: u64,
        /// What we would have accepted.
        limit: u64,
    },
}

impl FileError {
    pub(crate) fn new(kind: impl Into<FileErrorKind>) -> Self {
        Self { offset: None, kind: kind.into(), help: None }
    }

    pub(crate) fn malformed(offset: u64, what: impl Into<String>) -> Self {
        Self::new(FileErrorKind::Malformed(what.into())).at(offset)
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::new(FileErrorKind::Unsupported(what.into()))
    }

    pub(crate) fn at(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }

    pub(crate) fn help(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }
}

impl From<std::io::Error> for FileError {
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(offset) = self.offset {
            write!(f, "at byte {offset}: ")?;
        }
        self.kind.fmt(f)
    }
}
