//! JSON, read the way profiles need it: files of gigabytes as a stream, damaged and cut-off ones as far as they go,
//! nested as deep as they like.
//!
//! Three ways in. [`Stream`] pulls values out of a reader with a bounded buffer; [`Cursor`] does the same over bytes
//! that are in memory, and what it returns borrows them; [`Document`] holds a whole small file for random access. None
//! of them recurses, and none keeps a stack: the caller knows where it is, so `next_key` and `next_element` are all it
//! takes to walk. A walk that meets a fault says whether the input was cut off ([`JsonFault::Cut`]), so that what came
//! before can be kept.
//!
//! Lenient where files in the wild are: commas count as blanks (trailing ones are common), `NaN` and `Infinity` are
//! numbers, control characters may stand in strings, invalid UTF-8 and lone surrogates become U+FFFD.

mod cursor;
mod document;
mod keys;
mod number;
mod scan;
mod stream;

#[cfg(test)]
mod tests;

use std::io;

use crate::error::{ReadError, ReadErrorKind};

pub use cursor::Cursor;
pub use document::{Document, JsonValue, parse, parse_prefix, parse_with_warning};
pub use keys::top_level_keys;
pub use number::Number;
pub use scan::decode;
pub use stream::Stream;

/// What the next value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonKind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number, `NaN` and `Infinity` included.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

/// Why a walk could not go on.
#[derive(Debug)]
pub enum JsonFault {
    /// The input ended inside a value.
    Cut {
        /// Where it ended.
        offset: u64,
    },
    /// The bytes are not JSON, or not the value that was asked for.
    Bad {
        /// Where.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// The input could not be read further; a cut-off packed file says so this way.
    Io {
        /// How many bytes could be read.
        offset: u64,
        /// What the operating system or the unpacker says.
        error: io::Error,
    },
}

impl JsonFault {
    /// True when there is nothing more to be had: the input was cut off or cannot be read further.
    pub fn is_end(&self) -> bool {
        !matches!(self, Self::Bad { .. })
    }

    /// Where it happened.
    pub fn offset(&self) -> u64 {
        let (Self::Cut { offset } | Self::Bad { offset, .. } | Self::Io { offset, .. }) = self;
        *offset
    }
}

impl From<JsonFault> for ReadError {
    fn from(fault: JsonFault) -> Self {
        let offset = fault.offset();
        match fault {
            JsonFault::Cut { .. } => Self::malformed(offset, "the input ends inside a JSON value"),
            JsonFault::Bad { what, .. } => Self::malformed(offset, what),
            JsonFault::Io { error, .. } => Self::new(ReadErrorKind::Io(error)).at(offset),
        }
    }
}
