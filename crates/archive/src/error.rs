//! What can be wrong with a zip file, and where.

use std::fmt;

use rawzip::ErrorKind;

/// A zip file, or a member of one, that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZipError {
    /// Where in the file: the header of the member, or the list.
    pub offset: u64,
    /// What is wrong.
    pub kind: ZipErrorKind,
}

/// What is wrong with a zip file or a member.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ZipErrorKind {
    /// The end is missing, where the list of members is found.
    #[error("the zip file has no central directory")]
    NoList,
    /// The list cannot be read.
    #[error("its central directory is damaged")]
    List,
    /// A member's header is not where the list says, or its data goes beyond the file.
    #[error("its data is not where the central directory says")]
    Outside,
    /// A member needs a password.
    #[error("it is encrypted")]
    Encrypted,
    /// A member is packed in a way that is not known here.
    #[error("its compression method {0} is not supported")]
    Method(u16),
    /// A member claims to be larger than it may be.
    #[error("it is too large for a file of its type")]
    TooLarge,
    /// A member does not begin as it should.
    #[error("its header does not match its name")]
    Start,
    /// A member's data cannot be unpacked.
    #[error("its data is damaged")]
    Damaged,
    /// A member's data is not what was packed.
    #[error("its checksum is wrong")]
    Checksum,
    /// The file could not be read.
    #[error("{0}")]
    Read(String),
}

impl ZipError {
    pub(crate) fn read(offset: u64, error: &std::io::Error) -> Self {
        Self { offset, kind: ZipErrorKind::Read(error.to_string()) }
    }

    /// What `rawzip` found; `kind` where it says no more than that something is wrong.
    pub(crate) fn of(offset: u64, error: &rawzip::Error, kind: ZipErrorKind) -> Self {
        match error.kind() {
            ErrorKind::IO(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                Self::read(offset, error)
            }
            ErrorKind::InvalidChecksum { .. } | ErrorKind::InvalidSize { .. } => {
                Self { offset, kind: ZipErrorKind::Checksum }
            }
            _ => Self { offset, kind },
        }
    }
}

impl fmt::Display for ZipError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.kind)?;
        match self.kind {
            ZipErrorKind::NoList
            | ZipErrorKind::List
            | ZipErrorKind::Outside
            | ZipErrorKind::Damaged
            | ZipErrorKind::Checksum => write!(out, " (at byte {})", self.offset),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for ZipError {}
