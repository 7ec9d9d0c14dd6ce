//! Why a file could not be read: what, where, and what to do next.

use std::fmt;

/// A file that cannot be read, or not be trusted.
#[derive(Debug, thiserror::Error)]
pub struct ReadError {
    /// The format it was taken for; none when no format claims the file.
    pub format: Option<&'static str>,
    /// Byte offset in the unpacked file.
    pub offset: Option<u64>,
    /// What is wrong.
    pub kind: ReadErrorKind,
    /// What to do next.
    pub help: Option<String>,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum ReadErrorKind {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// No format claims the bytes.
    #[error("not a profile or trace in any format that perfblame supports")]
    UnknownFormat,
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// A record is longer than the file.
    #[error("a record needs {wanted} bytes, {left} left")]
    Truncated {
        /// Bytes the record needs.
        wanted: u64,
        /// Bytes there are.
        left: u64,
    },
    /// A version, variant or architecture that is not supported.
    #[error("{0}")]
    Unsupported(String),
    /// The bytes contradict the format.
    #[error("{0}")]
    Malformed(String),
    /// The file claims or unpacks to more than we are willing to hold.
    #[error("{what} of {size} bytes exceeds the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is, or is at least.
        size: u64,
        /// What we would have accepted.
        limit: u64,
    },
}

impl ReadError {
    /// An error without a place yet.
    pub fn new(kind: impl Into<ReadErrorKind>) -> Self {
        Self { format: None, offset: None, kind: kind.into(), help: None }
    }

    /// The bytes contradict the format.
    pub fn malformed(offset: u64, what: impl Into<String>) -> Self {
        Self::new(ReadErrorKind::Malformed(what.into())).at(offset)
    }

    /// A version or variant that is not supported.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::new(ReadErrorKind::Unsupported(what.into()))
    }

    /// The same error at a place.
    #[must_use]
    pub fn at(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }

    /// The same error with a next step.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl From<std::io::Error> for ReadError {
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.format, self.offset) {
            (Some(format), Some(offset)) => write!(f, "{format} at byte {offset}: ")?,
            (Some(format), None) => write!(f, "{format}: ")?,
            (None, Some(offset)) => write!(f, "at byte {offset}: ")?,
            (None, None) => {}
        }
        self.kind.fmt(f)
    }
}
