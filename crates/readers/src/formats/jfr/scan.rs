//! Numbers and texts in a chunk's bytes, in both integer encodings.
//!
//! Every read returns none at the end of the bytes, so that callers decide what a missing piece costs. Most of a
//! recording is skipped, not read: [`JfrScanner::skip_integers`] therefore looks at eight bytes at a time.

/// How a chunk writes its integers, as its header's flags say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Integers {
    /// LEB128 with at most nine bytes, the ninth of which has eight bits of value.
    Compressed,
    /// Big-endian, each type in its own width.
    Fixed,
}

/// A place in a chunk from which numbers are read one after the other.
#[derive(Clone, Copy)]
pub struct JfrScanner<'a> {
    bytes: &'a [u8],
    integers: Integers,
    /// Offset of the next byte.
    pub at: usize,
}

impl<'a> JfrScanner<'a> {
    pub fn new(bytes: &'a [u8], integers: Integers, at: usize) -> Self {
        Self { bytes, integers, at }
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    pub fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// An integer of 2, 4 or 8 bytes. Narrow negative numbers are not extended: cast to the width that is meant.
    #[inline]
    pub fn integer(&mut self, width: usize) -> Option<u64> {
        match self.integers {
            Integers::Compressed => self.compressed(),
            Integers::Fixed => self.fixed(width),
        }
    }

    pub fn int(&mut self) -> Option<u32> {
        Some(self.integer(4)? as u32)
    }

    pub fn long(&mut self) -> Option<u64> {
        self.integer(8)
    }

    /// Passes over longs.
    pub fn longs(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.long().map(drop))
    }

    /// A big-endian number, whatever the encoding of integers.
    pub fn fixed(&mut self, width: usize) -> Option<u64> {
        Some(self.take(width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    #[inline]
    fn compressed(&mut self) -> Option<u64> {
        let first = *self.bytes.get(self.at)?;
        self.at += 1;
        if first < 0x80 {
            return Some(u64::from(first));
        }
        let mut number = u64::from(first & 0x7f);
        for group in 1..8 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << (7 * group);
            if byte < 0x80 {
                return Some(number);
            }
        }
        Some(number | u64::from(self.byte()?) << 56)
    }

    /// Passes over compressed integers.
    pub fn skip_integers(&mut self, mut count: usize) -> Option<()> {
        const HIGH: u64 = 0x8080_8080_8080_8080;
        while count >= 8 {
            let Some(window) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()) else {
                break;
            };
            // Bytes without the high bit end an integer. The window starts where an integer does and moves to where
            // one ends, so the rule of the ninth byte matters only when no integer ends within.
            let ends = !u64::from_le_bytes(*window) & HIGH;
            if ends == 0 {
                self.compressed()?;
                count -= 1;
            } else {
                count -= ends.count_ones() as usize;
                self.at += 8 - ends.leading_zeros() as usize / 8;
            }
        }
        for _ in 0..count {
            self.compressed()?;
        }
        Some(())
    }

    /// A text where it stands.
    pub fn text(&mut self) -> Option<JfrText<'a>> {
        Some(match self.byte()? {
            0 => JfrText::Null,
            1 => JfrText::Bytes(&[], JfrTextEncoding::Utf8),
            2 => JfrText::Pooled(self.long()?),
            3 => JfrText::Bytes(self.counted()?, JfrTextEncoding::Utf8),
            4 => {
                let count = self.int()? as usize;
                let start = self.at;
                match self.integers {
                    Integers::Compressed => self.skip_integers(count)?,
                    Integers::Fixed => drop(self.take(count.checked_mul(2)?)?),
                }
                JfrText::Chars(Self { at: start, ..*self }, count)
            }
            5 => JfrText::Bytes(self.counted()?, JfrTextEncoding::Latin1),
            _ => return None,
        })
    }

    fn counted(&mut self) -> Option<&'a [u8]> {
        let count = self.int()? as usize;
        self.take(count)
    }
}

/// How the bytes of a text are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JfrTextEncoding {
    Utf8,
    Latin1,
}

/// A text in one of the six ways to write one.
#[derive(Clone, Copy)]
pub enum JfrText<'a> {
    /// No text, which is not the empty one.
    Null,
    /// An entry of the pool of strings.
    Pooled(u64),
    Bytes(&'a [u8], JfrTextEncoding),
    /// So many UTF-16 units, each an integer.
    Chars(JfrScanner<'a>, usize),
}

impl JfrText<'_> {
    /// Appends the text; a null or pooled one has none here.
    pub fn append_to(self, out: &mut String) {
        match self {
            Self::Null | Self::Pooled(_) => {}
            Self::Bytes(bytes, JfrTextEncoding::Utf8) => {
                out.push_str(&String::from_utf8_lossy(bytes));
            }
            Self::Bytes(bytes, JfrTextEncoding::Latin1) => {
                out.extend(bytes.iter().map(|byte| char::from(*byte)));
            }
            Self::Chars(mut units, count) => {
                let units = (0..count).map_while(|_| Some(units.integer(2)? as u16));
                let chars = char::decode_utf16(units);
                out.extend(chars.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compress(mut number: u64) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..8 {
            if number < 0x80 {
                break;
            }
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
        out
    }

    #[test]
    fn integers_come_back_from_both_encodings() {
        for number in [0, 1, 127, 128, 300, 1 << 31, 1 << 55, (1 << 56) - 1, 1 << 56, u64::MAX] {
            let compressed = compress(number);
            let mut scan = JfrScanner::new(&compressed, Integers::Compressed, 0);
            assert_eq!(scan.long(), Some(number));
            assert_eq!((scan.at, scan.long()), (compressed.len(), None));
            let fixed = number.to_be_bytes();
            assert_eq!(JfrScanner::new(&fixed, Integers::Fixed, 0).long(), Some(number));
        }
    }

    #[test]
    fn skipping_lands_where_reading_does() {
        let numbers = [5, 200, u64::MAX, 1 << 40, 0, 1 << 63, 77, 90_000, 3, u64::MAX >> 1];
        let bytes: Vec<u8> =
            (0..40).flat_map(|i| compress(numbers[i * 7 % numbers.len()])).collect();
        let mut read = JfrScanner::new(&bytes, Integers::Compressed, 0);
        for count in 0..40 {
            let mut skipped = JfrScanner::new(&bytes, Integers::Compressed, 0);
            skipped.skip_integers(count).unwrap();
            assert_eq!(skipped.at, read.at, "{count} integers");
            read.long().unwrap();
        }
        assert!(JfrScanner::new(&bytes, Integers::Compressed, 0).skip_integers(41).is_none());
    }

    fn text(bytes: &[u8], integers: Integers) -> Option<String> {
        let mut out = String::new();
        JfrScanner::new(bytes, integers, 0).text()?.append_to(&mut out);
        Some(out)
    }

    #[test]
    fn every_encoding_of_texts_is_read() {
        use Integers::{Compressed, Fixed};
        let chars: Vec<u8> = [4, 3]
            .into_iter()
            .chain("aä漢".encode_utf16().flat_map(|c| compress(c.into())))
            .collect();
        assert_eq!(text(&[0], Compressed).as_deref(), Some(""));
        assert_eq!(text(&[1], Compressed).as_deref(), Some(""));
        assert_eq!(text(b"\x03\x03a\xc3\xa4", Compressed).as_deref(), Some("aä"));
        assert_eq!(text(&chars, Compressed).as_deref(), Some("aä漢"));
        assert_eq!(text(b"\x04\0\0\0\x02\0a\0\xe4", Fixed).as_deref(), Some("aä"));
        assert_eq!(text(b"\x05\x02a\xe4", Compressed).as_deref(), Some("aä"));
        assert_eq!(text(b"\x06\x02a\xe4", Compressed), None, "no such encoding");
        assert_eq!(text(b"\x03\x7fa", Compressed), None, "longer than the chunk");
        assert_eq!(text(b"\x04\xff\xff\xff\xff\x07a", Compressed), None, "longer than the chunk");
        let pooled = JfrScanner::new(&[2, 9], Compressed, 0).text();
        assert!(matches!(pooled, Some(JfrText::Pooled(9))));
    }
}
