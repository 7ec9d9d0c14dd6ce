//! Finding where things end in JSON bytes: strings, scalars, whole values.
//!
//! Everything else in this module stands on these loops, and the speed of reading a trace is mostly theirs. They look
//! at eight bytes at a time in a plain integer, which needs no `unsafe` and beats a call to `memchr` on the short
//! strings that events are made of.

const LOW: u64 = 0x0101_0101_0101_0101;
const SEVEN: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// The high bit of every byte that is zero, exactly.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    !(((word & SEVEN) + SEVEN) | word | SEVEN)
}

#[inline]
fn equal_bytes(word: u64, byte: u8) -> u64 {
    zero_bytes(word ^ (LOW * u64::from(byte)))
}

/// Bytes looked at eight at a time before a long string is left to `memchr`.
const SHORT_STRING: usize = 64;

/// The first `"` or `\` from `at` on.
#[inline]
fn quote_or_backslash(bytes: &[u8], mut at: usize) -> Option<usize> {
    let long = at + SHORT_STRING;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let hits = equal_bytes(word, b'"') | equal_bytes(word, b'\\');
        if hits != 0 {
            return Some(at + hits.trailing_zeros() as usize / 8);
        }
        at += 8;
        if at >= long {
            break;
        }
    }
    Some(at + memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?)
}

/// Where a string ends.
pub struct StringEnd {
    /// Index of the closing quote.
    pub quote: usize,
    /// True when there is a `\` in it.
    pub escaped: bool,
}

/// The end of the string whose first byte after the opening quote is at `at`; none when it is not in `bytes`.
#[inline]
pub fn string_end(bytes: &[u8], mut at: usize) -> Option<StringEnd> {
    let mut escaped = false;
    loop {
        at = quote_or_backslash(bytes, at)?;
        if bytes[at] == b'"' {
            return Some(StringEnd { quote: at, escaped });
        }
        escaped = true;
        at += 2;
    }
}

/// True for what stands between values: blanks, and commas.
#[inline]
pub fn is_gap(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b',')
}

/// The first byte from `at` on that is not between values.
#[inline]
pub fn skip_gap(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|byte| is_gap(*byte)) {
        at += 1;
    }
    at
}

/// The end of the number or word that starts at `at`.
#[inline]
pub fn scalar_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+' | b'_')) {
            break;
        }
        at += 1;
    }
    at
}

/// Where we are in a container that is being skipped, so that skipping can go on in the next buffer.
#[derive(Clone, Copy, Default, Debug)]
pub struct Skip {
    depth: u64,
    in_string: bool,
    /// The next byte is escaped, whatever it is.
    escaped: bool,
}

impl Skip {
    /// In a string whose opening quote has been read.
    pub fn in_string() -> Self {
        Self { depth: 0, in_string: true, escaped: false }
    }

    /// Skips on in `bytes`, the first of which is the container's `{` or `[` or what follows the last call's bytes.
    /// Returns the index after the container's end once that is reached.
    pub fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        if self.escaped {
            bytes.first()?;
            self.escaped = false;
            at = 1;
        }
        loop {
            if self.in_string {
                match quote_or_backslash(bytes, at) {
                    None => return None,
                    Some(hit) if bytes[hit] == b'"' => {
                        self.in_string = false;
                        at = hit + 1;
                        if self.depth == 0 {
                            return Some(at);
                        }
                    }
                    Some(hit) => {
                        if hit + 1 >= bytes.len() {
                            self.escaped = true;
                            return None;
                        }
                        at = hit + 2;
                        continue;
                    }
                }
            }
            at = self.outside(bytes, at)?;
            if !self.in_string {
                return Some(at);
            }
        }
    }

    /// Goes on outside strings until one begins or the container ends; the index after that.
    fn outside(&mut self, bytes: &[u8], mut at: usize) -> Option<usize> {
        while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*chunk);
            // `[` and `{`, `]` and `}` differ in this bit only; nothing else of interest has a partner there.
            let folded = word | (LOW * 0x20);
            let opened = equal_bytes(folded, b'{');
            let closed = equal_bytes(folded, b'}');
            let quoted = equal_bytes(word, b'"');
            let mut hits = opened | closed | quoted;
            while hits != 0 {
                let bit = hits & hits.wrapping_neg();
                let next = at + hits.trailing_zeros() as usize / 8 + 1;
                if quoted & bit != 0 {
                    self.in_string = true;
                    return Some(next);
                }
                if opened & bit != 0 {
                    self.depth += 1;
                } else {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(next);
                    }
                }
                hits ^= bit;
            }
            at += 8;
        }
        for (ahead, byte) in bytes.get(at..)?.iter().enumerate() {
            match byte {
                b'"' => {
                    self.in_string = true;
                    return Some(at + ahead + 1);
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + ahead + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// What a string between quotes says. Escapes are decoded; what is no text becomes U+FFFD.
pub fn decode(raw: &[u8], escaped: bool) -> std::borrow::Cow<'_, str> {
    if escaped { decode_escapes(raw).into() } else { String::from_utf8_lossy(raw) }
}

fn decode_escapes(raw: &[u8]) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.push_str(&String::from_utf8_lossy(&rest[..at]));
        let Some(escape) = rest.get(at + 1) else {
            out.push(char::REPLACEMENT_CHARACTER);
            return out;
        };
        rest = &rest[at + 2..];
        out.push(match escape {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let (decoded, used) = decode_unicode(rest);
                rest = &rest[used..];
                decoded
            }
            // The escaped byte stands for itself; a lead byte must stay with its continuation.
            other if !other.is_ascii() => {
                rest = &raw[raw.len() - rest.len() - 1..];
                continue;
            }
            other => char::from(*other),
        });
    }
    out.push_str(&String::from_utf8_lossy(rest));
    out
}

/// The character of the four digits that follow `\u`, with the second half of a surrogate pair, and how many bytes
/// that took.
fn decode_unicode(rest: &[u8]) -> (char, usize) {
    let Some(first) = hex4(rest) else { return (char::REPLACEMENT_CHARACTER, 0) };
    if let Some(decoded) = char::from_u32(first) {
        return (decoded, 4);
    }
    let second = rest.get(4..).and_then(|more| more.strip_prefix(b"\\u")).and_then(hex4);
    if let (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) = (first, second) {
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 10);
    }
    (char::REPLACEMENT_CHARACTER, 4)
}

fn hex4(bytes: &[u8]) -> Option<u32> {
    bytes
        .get(..4)?
        .iter()
        .try_fold(0, |code, byte| Some(code << 4 | char::from(*byte).to_digit(16)?))
}
