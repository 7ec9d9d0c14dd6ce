//! Walking JSON that is in memory. What comes out borrows the bytes.

use std::borrow::Cow;

use super::scan::{self, Skip};
use super::{JsonFault, JsonKind, Number};

type Result<T> = std::result::Result<T, JsonFault>;

/// A place in JSON bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where in the file `bytes` starts.
    base: u64,
}

impl<'a> Cursor<'a> {
    /// The start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::at_offset(bytes, 0)
    }

    /// The start of `bytes`, which stand at `base` in the file.
    pub fn at_offset(bytes: &'a [u8], base: u64) -> Self {
        let at = if base == 0 && bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { bytes, at, base }
    }

    /// Where in the file the cursor is.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    fn bad<T>(&self, what: &'static str) -> Result<T> {
        Err(JsonFault::Bad { offset: self.offset(), what })
    }

    fn cut<T>(&self) -> Result<T> {
        Err(JsonFault::Cut { offset: self.base + self.bytes.len() as u64 })
    }

    /// The next byte that is not between values.
    #[inline]
    fn next_byte(&mut self) -> Result<u8> {
        self.at = scan::skip_gap(self.bytes, self.at);
        match self.bytes.get(self.at) {
            Some(byte) => Ok(*byte),
            None => self.cut(),
        }
    }

    #[inline]
    fn expect(&mut self, wanted: u8, what: &'static str) -> Result<()> {
        if self.next_byte()? != wanted {
            return self.bad(what);
        }
        self.at += 1;
        Ok(())
    }

    /// What the next value is.
    #[inline]
    pub fn peek(&mut self) -> Result<JsonKind> {
        let byte = self.next_byte()?;
        kind_of(byte).map_or_else(|| self.bad("expected a value"), Ok)
    }

    /// Steps into an object.
    #[inline]
    pub fn begin_object(&mut self) -> Result<()> {
        self.expect(b'{', "expected an object")
    }

    /// Steps into an array.
    #[inline]
    pub fn begin_array(&mut self) -> Result<()> {
        self.expect(b'[', "expected an array")
    }

    /// The next key of the object we are in; none at its end, which it steps out of. The value must be taken or
    /// skipped before the next call.
    pub fn next_key(&mut self) -> Result<Option<Cow<'a, str>>> {
        let Some((raw, escaped)) = self.next_key_extent()? else { return Ok(None) };
        Ok(Some(scan::decode(raw, escaped)))
    }

    /// As [`Cursor::next_key`], as the bytes between the quotes: for comparing with known keys.
    #[inline]
    pub fn next_raw_key(&mut self) -> Result<Option<&'a [u8]>> {
        Ok(self.next_key_extent()?.map(|(raw, _)| raw))
    }

    #[inline]
    fn next_key_extent(&mut self) -> Result<Option<(&'a [u8], bool)>> {
        match self.next_byte()? {
            b'}' => {
                self.at += 1;
                return Ok(None);
            }
            b'"' => {}
            _ => return self.bad("expected a key in quotes"),
        }
        let key = self.string_extent()?;
        self.expect(b':', "expected a colon after a key")?;
        Ok(Some(key))
    }

    /// True when the array we are in goes on; at its end, which it steps out of, false.
    #[inline]
    pub fn next_element(&mut self) -> Result<bool> {
        if self.next_byte()? != b']' {
            return Ok(true);
        }
        self.at += 1;
        Ok(false)
    }

    #[expect(clippy::inline_always, reason = "traces are mostly strings: 4 % fewer instructions")]
    #[inline(always)]
    fn string_extent(&mut self) -> Result<(&'a [u8], bool)> {
        let start = self.at + 1;
        let Some(end) = scan::string_end(self.bytes, start) else { return self.cut() };
        self.at = end.quote + 1;
        Ok((&self.bytes[start..end.quote], end.escaped))
    }

    /// A string, which must be next.
    pub fn string(&mut self) -> Result<Cow<'a, str>> {
        let (raw, escaped) = self.raw_string()?;
        Ok(scan::decode(raw, escaped))
    }

    /// A string, which must be next, as the bytes between its quotes, and whether there are escapes in it.
    pub fn raw_string(&mut self) -> Result<(&'a [u8], bool)> {
        if self.next_byte()? != b'"' {
            return self.bad("expected a string");
        }
        self.string_extent()
    }

    /// A number, which must be next.
    pub fn number(&mut self) -> Result<Number<'a>> {
        if self.peek()? != JsonKind::Number {
            return self.bad("expected a number");
        }
        Ok(Number(self.word()))
    }

    /// A number, whatever is next: numbers in strings count, anything else is skipped and none.
    pub fn lenient_number(&mut self) -> Result<Option<Number<'a>>> {
        match self.peek()? {
            JsonKind::Number => Ok(Some(Number(self.word()))),
            JsonKind::String => Ok(Some(Number(self.raw_string()?.0))),
            _ => self.skip_value().map(|()| None),
        }
    }

    /// A string, whatever is next: anything else is skipped and none.
    pub fn lenient_string(&mut self) -> Result<Option<Cow<'a, str>>> {
        match self.peek()? {
            JsonKind::String => self.string().map(Some),
            _ => self.skip_value().map(|()| None),
        }
    }

    /// `true` or `false`, which must be next.
    pub fn boolean(&mut self) -> Result<bool> {
        if self.peek()? != JsonKind::Bool {
            return self.bad("expected true or false");
        }
        Ok(self.word().starts_with(b"t"))
    }

    #[inline]
    fn word(&mut self) -> &'a [u8] {
        let start = self.at;
        self.at = scan::scalar_end(self.bytes, start);
        &self.bytes[start..self.at]
    }

    /// Skips the next value, whatever it is.
    pub fn skip_value(&mut self) -> Result<()> {
        self.raw_value().map(|_| ())
    }

    /// The bytes of the next value, whatever it is.
    pub fn raw_value(&mut self) -> Result<&'a [u8]> {
        let kind = self.peek()?;
        let start = self.at;
        match kind {
            JsonKind::Object | JsonKind::Array => {
                match Skip::default().advance(&self.bytes[start..]) {
                    Some(length) => self.at = start + length,
                    None => return self.cut(),
                }
            }
            JsonKind::String => {
                self.string_extent()?;
            }
            JsonKind::Number | JsonKind::Bool | JsonKind::Null => {
                self.word();
            }
        }
        Ok(&self.bytes[start..self.at])
    }

    /// True when nothing but blanks is left.
    pub fn at_end(&mut self) -> bool {
        self.at = scan::skip_gap(self.bytes, self.at);
        self.at >= self.bytes.len()
    }
}

#[inline]
pub(super) fn kind_of(byte: u8) -> Option<JsonKind> {
    Some(match byte {
        b'{' => JsonKind::Object,
        b'[' => JsonKind::Array,
        b'"' => JsonKind::String,
        b'-' | b'0'..=b'9' | b'N' | b'I' | b'+' | b'.' => JsonKind::Number,
        b't' | b'f' => JsonKind::Bool,
        b'n' => JsonKind::Null,
        _ => return None,
    })
}
