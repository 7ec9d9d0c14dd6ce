//! Walking JSON that comes from a reader, through a buffer that does not grow with the file.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use super::cursor::kind_of;
use super::scan::{self, Skip};
use super::{Cursor, JsonFault, JsonKind, Number};

type Result<T> = std::result::Result<T, JsonFault>;

/// Bytes read at once.
const CHUNK: usize = 256 << 10;

/// The longest string, or record taken whole with [`Stream::raw_value`], that is held in memory.
const LIMIT: usize = 256 << 20;

/// JSON from a reader. Same calls as [`Cursor`](super::Cursor); what they return borrows the buffer, so it must be
/// used before the next call.
pub struct Stream<R> {
    source: R,
    buffer: Vec<u8>,
    /// What of `buffer` is still to be read.
    start: usize,
    end: usize,
    /// Where in the input `buffer` starts.
    base: u64,
}

impl<R: Read> Stream<R> {
    /// The start of an input.
    pub fn new(source: R) -> Self {
        Self { source, buffer: vec![0; CHUNK], start: 0, end: 0, base: 0 }
    }

    /// Where in the input we are.
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    fn bad<T>(&self, what: &'static str) -> Result<T> {
        Err(JsonFault::Bad { offset: self.offset(), what })
    }

    /// Gets more bytes behind those that are still to be read, which may move. A cut when there are none.
    fn fill(&mut self) -> Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            if self.buffer.len() >= LIMIT {
                return self.bad("one string or record is longer than 256 MiB");
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        } else if self.end == 0 && self.buffer.len() > CHUNK {
            self.buffer.truncate(CHUNK);
            self.buffer.shrink_to_fit();
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(JsonFault::Cut { offset: self.base + self.end as u64 }),
                Ok(count) => {
                    if self.base == 0 && self.end == 0 && self.buffer.starts_with(b"\xef\xbb\xbf") {
                        self.start = 3.min(count);
                    }
                    self.end += count;
                    return Ok(());
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(JsonFault::Io { offset: self.base + self.end as u64, error });
                }
            }
        }
    }

    /// A cursor over what is in the buffer, for records that are read whole: when it reports a cut, get
    /// [`Stream::more`] and read the record again; when it is done, step over it with [`Stream::advance`].
    pub fn here(&self) -> Cursor<'_> {
        Cursor::at_offset(self.window(), self.offset())
    }

    /// Gets more bytes into the buffer; a cut when there are none.
    pub fn more(&mut self) -> Result<()> {
        self.fill()
    }

    /// Steps over the bytes before `offset`, which a cursor has read.
    pub fn advance(&mut self, offset: u64) {
        let ahead = offset.saturating_sub(self.offset());
        self.start = self.end.min(self.start + ahead as usize);
    }

    fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn next_byte(&mut self) -> Result<u8> {
        loop {
            self.start = scan::skip_gap(&self.buffer[..self.end], self.start);
            match self.window().first() {
                Some(byte) => return Ok(*byte),
                None => self.fill()?,
            }
        }
    }

    fn expect(&mut self, wanted: u8, what: &'static str) -> Result<()> {
        if self.next_byte()? != wanted {
            return self.bad(what);
        }
        self.start += 1;
        Ok(())
    }

    /// What the next value is.
    pub fn peek(&mut self) -> Result<JsonKind> {
        let byte = self.next_byte()?;
        kind_of(byte).map_or_else(|| self.bad("expected a value"), Ok)
    }

    /// True when nothing but blanks is left.
    pub fn at_end(&mut self) -> Result<bool> {
        match self.next_byte() {
            Ok(_) => Ok(false),
            Err(JsonFault::Cut { .. }) => Ok(true),
            Err(fault) => Err(fault),
        }
    }

    /// Steps into an object.
    pub fn begin_object(&mut self) -> Result<()> {
        self.expect(b'{', "expected an object")
    }

    /// Steps into an array.
    pub fn begin_array(&mut self) -> Result<()> {
        self.expect(b'[', "expected an array")
    }

    /// The next key of the object we are in; none at its end, which it steps out of. The value must be taken or
    /// skipped before the next call.
    pub fn next_key(&mut self) -> Result<Option<Cow<'_, str>>> {
        match self.next_byte()? {
            b'}' => {
                self.start += 1;
                return Ok(None);
            }
            b'"' => {}
            _ => return self.bad("expected a key in quotes"),
        }
        // The colon must be in the buffer too, as getting it later would move the key.
        let (key, escaped, after) = loop {
            let window = self.window();
            if let Some(end) = scan::string_end(window, 1) {
                let colon = scan::skip_gap(window, end.quote + 1);
                match window.get(colon) {
                    Some(b':') => break (1..end.quote, end.escaped, colon + 1),
                    Some(_) => return self.bad("expected a colon after a key"),
                    None => {}
                }
            }
            self.fill()?;
        };
        let raw = self.take(key, after);
        Ok(Some(scan::decode(raw, escaped)))
    }

    /// Steps over `after` bytes and gives those of `range`, both counted from where we are.
    fn take(&mut self, range: Range<usize>, after: usize) -> &[u8] {
        let start = self.start;
        self.start += after;
        &self.buffer[start + range.start..start + range.end]
    }

    /// True when the array we are in goes on; at its end, which it steps out of, false.
    pub fn next_element(&mut self) -> Result<bool> {
        if self.next_byte()? != b']' {
            return Ok(true);
        }
        self.start += 1;
        Ok(false)
    }

    /// A string, which must be next.
    pub fn string(&mut self) -> Result<Cow<'_, str>> {
        if self.next_byte()? != b'"' {
            return self.bad("expected a string");
        }
        let end = loop {
            match scan::string_end(self.window(), 1) {
                Some(end) => break end,
                None => self.fill()?,
            }
        };
        let raw = self.take(1..end.quote, end.quote + 1);
        Ok(scan::decode(raw, end.escaped))
    }

    /// A number, which must be next.
    pub fn number(&mut self) -> Result<Number<'_>> {
        if self.peek()? != JsonKind::Number {
            return self.bad("expected a number");
        }
        self.word().map(Number)
    }

    /// A number, whatever is next: anything else is skipped and none.
    pub fn lenient_number(&mut self) -> Result<Option<Number<'_>>> {
        match self.peek()? {
            JsonKind::Number => Ok(Some(Number(self.word()?))),
            _ => self.skip_value().map(|()| None),
        }
    }

    /// A string, whatever is next: anything else is skipped and none.
    pub fn lenient_string(&mut self) -> Result<Option<Cow<'_, str>>> {
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
        Ok(self.word()?.starts_with(b"t"))
    }

    /// A number or word. It may end with the input.
    fn word(&mut self) -> Result<&[u8]> {
        let length = loop {
            let length = scan::scalar_end(self.window(), 0);
            if length < self.window().len() {
                break length;
            }
            match self.fill() {
                Err(JsonFault::Cut { .. }) => break length,
                other => other?,
            }
        };
        Ok(self.take(0..length, length))
    }

    /// Skips the next value, whatever it is and however long.
    pub fn skip_value(&mut self) -> Result<()> {
        match self.peek()? {
            JsonKind::Object | JsonKind::Array => self.skip_container(Skip::default()),
            // A string that is skipped may be longer than what we would hold.
            JsonKind::String => {
                self.start += 1;
                self.skip_container(Skip::in_string())
            }
            JsonKind::Number | JsonKind::Bool | JsonKind::Null => self.word().map(|_| ()),
        }
    }

    fn skip_container(&mut self, mut skip: Skip) -> Result<()> {
        loop {
            if let Some(length) = skip.advance(self.window()) {
                self.start += length;
                return Ok(());
            }
            self.start = self.end;
            self.fill()?;
        }
    }

    /// Moves on to the next `{` that follows a `}` or a line break: where, after damage, the next record of an array
    /// may start. False at the end.
    pub fn next_record(&mut self) -> Result<bool> {
        // Not where we are.
        let mut from = 1;
        loop {
            let window = self.window();
            let candidate = memchr::memchr_iter(b'{', window.get(from..).unwrap_or_default());
            for at in candidate.map(|at| at + from) {
                let before = &window[..at];
                let gap = before.iter().rev().take_while(|byte| scan::is_gap(**byte)).count();
                let broken = before[before.len() - gap..].contains(&b'\n');
                if broken || before[..before.len() - gap].last() == Some(&b'}') {
                    self.start += at;
                    return Ok(true);
                }
            }
            // Keep a little, as the sign may be cut in two.
            let kept = window.len().min(16);
            from = kept;
            self.start = self.end - kept;
            match self.fill() {
                Err(JsonFault::Cut { .. }) => return Ok(false),
                other => other?,
            }
        }
    }

    /// The bytes of the object that is next, without stepping over it, for records after damage: a fault when it is
    /// longer than a megabyte.
    pub fn peek_record(&mut self) -> Result<&[u8]> {
        let mut skip = Skip::default();
        let mut seen = 0;
        let length = loop {
            if let Some(more) = skip.advance(&self.window()[seen..]) {
                break seen + more;
            }
            seen = self.window().len();
            if seen > 1 << 20 {
                return self.bad("the record does not end");
            }
            self.fill()?;
        };
        Ok(&self.window()[..length])
    }

    /// The bytes of the next value, whatever it is, all in the buffer; to be walked with a
    /// [`Cursor`](super::Cursor). Its offset is what [`Stream::offset`] says afterwards, less its length.
    pub fn raw_value(&mut self) -> Result<&[u8]> {
        match self.peek()? {
            JsonKind::Object | JsonKind::Array => {
                let (mut skip, mut seen) = (Skip::default(), 0);
                let length = loop {
                    if let Some(more) = skip.advance(&self.window()[seen..]) {
                        break seen + more;
                    }
                    seen = self.window().len();
                    self.fill()?;
                };
                Ok(self.take(0..length, length))
            }
            JsonKind::String => {
                let end = loop {
                    match scan::string_end(self.window(), 1) {
                        Some(end) => break end.quote + 1,
                        None => self.fill()?,
                    }
                };
                Ok(self.take(0..end, end))
            }
            JsonKind::Number | JsonKind::Bool | JsonKind::Null => self.word(),
        }
    }
}
