//! Text as it arrives: in big blocks of whole lines, whatever its encoding.
//!
//! Text formats are written by shells and copied from windows as much as by profilers: a byte order mark, UTF-16 from
//! PowerShell's `>`, CRLF and a missing last line end are all normal. Readers see UTF-8 (or bytes that are nearly so)
//! without any of that, one block at a time, so that memory stays constant and no line is copied.

use std::borrow::Cow;
use std::io::Read;

use perfblame_cct::ProfileBuilder;

use crate::error::{ReadError, ReadErrorKind};
use crate::input::Input;
use crate::read_ahead::Ahead;

/// Bytes read at a time: large enough that calls do not count, small enough for the second-level cache.
const BLOCK: usize = 128 << 10;

/// A line longer than this is no line of a profile.
const LONGEST_LINE: usize = 64 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TextEncoding {
    Utf8,
    Utf16 { big_endian: bool },
}

/// The encoding of text that starts like this, and the length of its byte order mark.
fn encoding(head: &[u8]) -> (TextEncoding, usize) {
    match head {
        [0xef, 0xbb, 0xbf, ..] => return (TextEncoding::Utf8, 3),
        [0xff, 0xfe, ..] => return (TextEncoding::Utf16 { big_endian: false }, 2),
        [0xfe, 0xff, ..] => return (TextEncoding::Utf16 { big_endian: true }, 2),
        _ => {}
    }
    // Without a mark: nearly every second byte of mostly Western text is zero, and no other byte is.
    let pairs = head.chunks_exact(2).take(256);
    let count = pairs.len();
    let (mut low, mut high) = (0, 0);
    for pair in pairs {
        match pair {
            [0, 0] => return (TextEncoding::Utf8, 0),
            [0, _] => high += 1,
            [_, 0] => low += 1,
            _ => {}
        }
    }
    if count >= 4 && low == 0 && high * 10 >= count * 9 {
        return (TextEncoding::Utf16 { big_endian: true }, 0);
    }
    if count >= 4 && high == 0 && low * 10 >= count * 9 {
        return (TextEncoding::Utf16 { big_endian: false }, 0);
    }
    (TextEncoding::Utf8, 0)
}

/// The first bytes of an input as UTF-8 text without a byte order mark, for `sniff`.
pub(crate) fn head(input: &Input) -> Cow<'_, [u8]> {
    let bytes = input.head();
    let (encoding, mark) = encoding(bytes);
    let bytes = bytes.get(mark..).unwrap_or(&[]);
    match encoding {
        TextEncoding::Utf8 => Cow::Borrowed(bytes),
        TextEncoding::Utf16 { big_endian } => {
            let mut text = Vec::new();
            let _ = Utf16::new(bytes, big_endian).read_to_end(&mut text);
            Cow::Owned(text)
        }
    }
}

/// The whole lines of a text's beginning, without line ends. The last one may be cut and is left out unless the
/// beginning is all there is.
pub(crate) fn head_lines<'a>(input: &Input, head: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let whole = match memchr::memrchr(b'\n', head) {
        Some(end) if !input.is_whole() => head.get(..end).unwrap_or(head),
        _ => head,
    };
    lines(whole)
}

/// The lines of a block, without line ends.
pub(crate) fn lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let block = block.strip_suffix(b"\n").unwrap_or(block);
    let mut rest = Some(block).filter(|block| !block.is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        let line = if let Some(end) = memchr::memchr(b'\n', text) {
            rest = text.get(end + 1..);
            text.get(..end)?
        } else {
            rest = None;
            text
        };
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    })
}

/// A text without blanks at its ends.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

/// A decimal number that is all of `text`.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// `441995.133575` in nanoseconds.
pub(crate) fn seconds(text: &[u8]) -> Option<i64> {
    let dot = memchr::memchr(b'.', text)?;
    let whole = i64::try_from(number(text.get(..dot)?)?).ok()?;
    let fraction = text.get(dot + 1..)?;
    if fraction.is_empty() || fraction.len() > 18 {
        return None;
    }
    let digits = number(fraction.get(..9).unwrap_or(fraction))?;
    let nanos = digits * 10u64.pow(9u32.saturating_sub(fraction.len() as u32));
    whole.checked_mul(1_000_000_000)?.checked_add(nanos as i64)
}

/// Text for people from bytes that should be UTF-8.
pub(crate) fn shown(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}

/// The beginning of a line, for a message.
pub(crate) fn excerpt(line: &[u8]) -> String {
    const LONGEST: usize = 80;
    let text = shown(line.get(..LONGEST * 2).unwrap_or(line));
    let mut short: String = text.chars().take(LONGEST).collect();
    if text.chars().count() > LONGEST {
        short.push('…');
    }
    short
}

/// A text in blocks that end where lines end. A second thread unpacks what is packed, or waits for what is piped, while
/// the first makes sense of the block before. Plain files come from the cache of the system as fast as they are copied,
/// and are best parsed where they were copied to.
pub(crate) struct Blocks {
    source: BlockSource,
    block: TextBlock,
    broken: Option<String>,
}

enum BlockSource {
    Here(Filler),
    Ahead(Ahead<Result<TextBlock, ReadError>>),
}

impl Blocks {
    /// Starts at the beginning of an input.
    pub(crate) fn new(input: Input) -> Result<Self, ReadError> {
        let here = input.is_whole() || input.is_plain_file();
        let (encoding, mark) = encoding(input.head());
        let mut stream = input.into_stream()?;
        let mut skipped = vec![0; mark];
        stream.read_exact(&mut skipped)?;
        if let TextEncoding::Utf16 { big_endian } = encoding {
            stream = Box::new(Utf16::new(stream, big_endian));
        }
        let filler = Filler { stream, tail: Vec::new(), offset: 0, ended: false };
        let source = if here { BlockSource::Here(filler) } else { read_ahead(filler)? };
        Ok(Self { source, block: TextBlock::default(), broken: None })
    }

    /// The next lines; none at the end. The last line of the last block may lack its line end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, ReadError> {
        let used = std::mem::take(&mut self.block.buffer);
        self.block = match &mut self.source {
            BlockSource::Here(filler) => filler.fill(used)?,
            BlockSource::Ahead(blocks) => blocks.next(used).transpose()?.unwrap_or_default(),
        };
        if self.block.broken.is_some() {
            self.broken = self.block.broken.take();
        }
        Ok(self.block.buffer.get(..self.block.length).filter(|block| !block.is_empty()))
    }

    /// Why the text ended early, when it did.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Warns where the text ended early.
    pub(crate) fn warn_if_cut_off(&self, builder: &mut ProfileBuilder) {
        if let Some(why) = self.broken() {
            builder.warn("cut-off", || format!("the file ends early: {why}"));
        }
    }
}

fn read_ahead(mut filler: Filler) -> Result<BlockSource, ReadError> {
    let mut ended = false;
    let blocks = Ahead::start(move |used| {
        let block = (!ended).then(|| filler.fill(used));
        ended = !matches!(&block, Some(Ok(block)) if block.length > 0);
        block
    })?;
    Ok(BlockSource::Ahead(blocks))
}

/// Whole lines.
#[derive(Default)]
struct TextBlock {
    buffer: Vec<u8>,
    /// Bytes of `buffer` that count; 0 at the end of the text.
    length: usize,
    broken: Option<String>,
}

/// Cuts a stream into blocks.
struct Filler {
    stream: Box<dyn Read + Send>,
    /// The beginning of a line, left over from the last block.
    tail: Vec<u8>,
    /// Where the next block starts in the text.
    offset: u64,
    ended: bool,
}

impl Filler {
    fn fill(&mut self, mut buffer: Vec<u8>) -> Result<TextBlock, ReadError> {
        let mut filled = self.tail.len();
        if buffer.len() < BLOCK.max(filled) {
            buffer.resize(BLOCK.max(filled), 0);
        }
        if let Some(start) = buffer.get_mut(..filled) {
            start.copy_from_slice(&self.tail);
        }
        self.tail.clear();
        let mut searched = 0;
        let mut broken = None;
        while !self.ended {
            if filled == buffer.len() {
                let fresh = buffer.get(searched..).unwrap_or(&[]);
                if let Some(end) = memchr::memrchr(b'\n', fresh) {
                    let length = searched + end + 1;
                    self.tail.extend_from_slice(buffer.get(length..).unwrap_or(&[]));
                    self.offset += length as u64;
                    return Ok(TextBlock { buffer, length, broken: None });
                }
                searched = filled;
                if filled >= LONGEST_LINE {
                    let kind = ReadErrorKind::TooLarge {
                        what: "a line",
                        size: filled as u64,
                        limit: LONGEST_LINE as u64,
                    };
                    return Err(ReadError::new(kind).at(self.offset));
                }
                buffer.resize(buffer.len() * 2, 0);
            }
            let free = buffer.get_mut(filled..).unwrap_or(&mut []);
            match self.stream.read(free) {
                Ok(0) => self.ended = true,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // What came before a damaged piece of a packed file is as good as ever.
                Err(error) if self.offset > 0 || filled > 0 => {
                    broken = Some(error.to_string());
                    self.ended = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(TextBlock { buffer, length: filled, broken })
    }
}

/// The whole text of an input, for formats that are small by nature.
pub(crate) fn read_whole(input: Input) -> Result<Vec<u8>, ReadError> {
    let (encoding, mark) = encoding(input.head());
    let mut bytes = input.read_all()?;
    bytes.drain(..mark.min(bytes.len()));
    if let TextEncoding::Utf16 { big_endian } = encoding {
        let mut text = Vec::new();
        Utf16::new(bytes.as_slice(), big_endian).read_to_end(&mut text)?;
        return Ok(text);
    }
    Ok(bytes)
}

/// UTF-16 in, UTF-8 out.
struct Utf16<R> {
    inner: R,
    big_endian: bool,
    raw: Vec<u8>,
    /// An odd byte or the first half of a pair, left over from the last piece.
    left: Vec<u8>,
    text: String,
    given: usize,
}

impl<R: Read> Utf16<R> {
    fn new(inner: R, big_endian: bool) -> Self {
        let raw = vec![0; 64 << 10];
        Self { inner, big_endian, raw, left: Vec::new(), text: String::new(), given: 0 }
    }

    fn refill(&mut self) -> std::io::Result<bool> {
        self.text.clear();
        self.given = 0;
        let bytes = self.inner.read(&mut self.raw)?;
        self.left.extend_from_slice(self.raw.get(..bytes).unwrap_or(&[]));
        let mut units: Vec<u16> = (self.left.chunks_exact(2))
            .map(|pair| match pair {
                [a, b] if self.big_endian => u16::from_be_bytes([*a, *b]),
                [a, b] => u16::from_le_bytes([*a, *b]),
                _ => 0,
            })
            .collect();
        let open = bytes > 0 && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit));
        if open {
            units.pop();
        }
        self.left.drain(..units.len() * 2);
        self.text.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{fffd}')));
        Ok(bytes > 0)
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while self.given == self.text.len() {
            if !self.refill()? && self.text.is_empty() {
                return Ok(0);
            }
        }
        let text = self.text.as_bytes().get(self.given..).unwrap_or(&[]);
        let count = text.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), text.get(..count)) {
            to.copy_from_slice(from);
        }
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, big_endian: bool, mark: bool) -> Vec<u8> {
        let text = if mark { format!("\u{feff}{text}") } else { text.to_owned() };
        text.encode_utf16()
            .flat_map(|unit| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    }

    fn whole(bytes: Vec<u8>) -> Vec<String> {
        let mut blocks = Blocks::new(Input::from_bytes(bytes).unwrap()).unwrap();
        let mut out = Vec::new();
        while let Some(block) = blocks.next().unwrap() {
            out.extend(lines(block).map(|line| shown(line).into_owned()));
        }
        out
    }

    #[test]
    fn every_encoding_gives_the_same_lines() {
        let text = "main;größe 1\r\nmain;𝄞 2\r\n\r\nlast 3";
        let expected = ["main;größe 1", "main;𝄞 2", "", "last 3"];
        let with_mark = [b"\xef\xbb\xbf".as_slice(), text.as_bytes()].concat();
        assert_eq!(whole(text.as_bytes().to_vec()), expected);
        assert_eq!(whole(with_mark), expected);
        for big_endian in [false, true] {
            for mark in [false, true] {
                let bytes = utf16(text, big_endian, mark);
                assert_eq!(whole(bytes.clone()), expected, "{big_endian} {mark}");
                let input = Input::from_bytes(bytes).unwrap();
                assert_eq!(&*head(&input), text.as_bytes());
            }
        }
    }

    #[test]
    fn lines_survive_the_cut_into_blocks() {
        let line = |row: usize| format!("{row}{}", "x".repeat(row * 37 % 5000));
        let text: Vec<String> = (0..2000).map(line).collect();
        assert_eq!(whole(text.join("\n").into_bytes()), text);
        let long = vec!["y".repeat(3 * BLOCK), "z".to_owned()];
        assert_eq!(whole(long.join("\n").into_bytes()), long);
        assert_eq!(whole(utf16(&text.join("\n"), true, true)), text);
    }
}
