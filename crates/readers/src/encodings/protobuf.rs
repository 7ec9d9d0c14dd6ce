//! Protocol buffers on the wire, read in place: fields of a message one by one, nothing copied.
//!
//! Readers of pprof, OTLP and simpleperf know their few messages by number; a schema compiler would cost more to build
//! than it saves here, and would copy every string. Unknown fields are the reader's to skip: it just ignores them.

use std::borrow::Cow;

use crate::error::{ReadError, ReadErrorKind};

/// Where and why a message could not be read further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProtobufFault {
    /// Byte offset in the file.
    pub offset: u64,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What is wrong with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// A field is longer than its message.
    Truncated {
        /// Bytes the field needs.
        wanted: u64,
        /// Bytes there are.
        left: u64,
    },
    /// A variable-length integer of more than ten bytes.
    LongVarint,
    /// A field of number 0, or of a wire type that does not exist or nobody has used for ages.
    BadTag,
}

impl From<ProtobufFault> for ReadError {
    fn from(fault: ProtobufFault) -> Self {
        let kind = match fault.kind {
            FaultKind::Truncated { wanted, left } => ReadErrorKind::Truncated { wanted, left },
            FaultKind::LongVarint => {
                ReadErrorKind::Malformed("an integer of more than ten bytes".to_owned())
            }
            FaultKind::BadTag => {
                ReadErrorKind::Malformed("bytes that do not start a protobuf field".to_owned())
            }
        };
        Self::new(kind).at(fault.offset)
    }
}

/// The fields of one message, in the order they were written.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Offset of `bytes` in the file.
    base: u64,
    /// A last field that is longer than what there is gives what there is.
    may_be_cut: bool,
}

/// One field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field<'a> {
    /// Its number in the schema.
    pub number: u32,
    /// Its value as far as the wire tells.
    pub value: ProtobufValue<'a>,
    /// Offset of the value in the file.
    pub offset: u64,
}

/// What the wire tells of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProtobufValue<'a> {
    /// Any integer, an enum or a bool.
    Varint(u64),
    /// `fixed64`, `sfixed64` or `double`.
    Fixed64(u64),
    /// A string, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
    /// `fixed32`, `sfixed32` or `float`.
    Fixed32(u32),
}

impl<'a> Message<'a> {
    /// A message that starts at `base` of its file.
    pub fn new(bytes: &'a [u8], base: u64) -> Self {
        Self { bytes, at: 0, base, may_be_cut: false }
    }

    /// The beginning of a message that may go on: of a last field that is longer, there is what there is.
    pub fn beginning(bytes: &'a [u8]) -> Self {
        Self { may_be_cut: true, ..Self::new(bytes, 0) }
    }

    /// Offset in the file of what comes next.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The next field; none at the end. After a fault there is nothing more to be had.
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>, ProtobufFault> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let found = self.field();
        if found.is_err() {
            self.at = self.bytes.len();
        }
        found.map(Some)
    }

    fn field(&mut self) -> Result<Field<'a>, ProtobufFault> {
        let start = self.offset();
        let tag = self.varint()?;
        let number =
            u32::try_from(tag >> 3).ok().filter(|number| *number != 0 && *number < 1 << 29);
        let Some(number) = number else {
            return Err(ProtobufFault { offset: start, kind: FaultKind::BadTag });
        };
        let mut offset = self.offset();
        let value = match tag & 7 {
            0 => ProtobufValue::Varint(self.varint()?),
            1 => ProtobufValue::Fixed64(self.array().map(u64::from_le_bytes)?),
            2 => {
                let length = self.varint()?;
                offset = self.offset();
                ProtobufValue::Bytes(self.take(length)?)
            }
            5 => ProtobufValue::Fixed32(self.array().map(u32::from_le_bytes)?),
            _ => return Err(ProtobufFault { offset: start, kind: FaultKind::BadTag }),
        };
        Ok(Field { number, value, offset })
    }

    fn varint(&mut self) -> Result<u64, ProtobufFault> {
        match varint(self.bytes.get(self.at..).unwrap_or(&[])) {
            Some((value, length)) => {
                self.at += length;
                Ok(value)
            }
            None => Err(bad_varint(self.bytes.len() - self.at, self.offset())),
        }
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], ProtobufFault> {
        let left = (self.bytes.len() - self.at) as u64;
        if length > left && self.may_be_cut {
            let rest = &self.bytes[self.at..];
            self.at = self.bytes.len();
            return Ok(rest);
        }
        if length > left {
            let kind = FaultKind::Truncated { wanted: length, left };
            return Err(ProtobufFault { offset: self.offset(), kind });
        }
        let taken = &self.bytes[self.at..self.at + length as usize];
        self.at += length as usize;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtobufFault> {
        let mut array = [0; N];
        let taken = self.take(N as u64)?;
        if let Some(start) = array.get_mut(..taken.len()) {
            start.copy_from_slice(taken);
        }
        Ok(array)
    }
}

impl<'a> Iterator for Message<'a> {
    type Item = Result<Field<'a>, ProtobufFault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_field().transpose()
    }
}

impl<'a> Field<'a> {
    /// The value as an unsigned integer; 0 where the file has something else.
    pub fn uint(&self) -> u64 {
        match self.value {
            ProtobufValue::Varint(value) | ProtobufValue::Fixed64(value) => value,
            ProtobufValue::Fixed32(value) => u64::from(value),
            ProtobufValue::Bytes(_) => 0,
        }
    }

    /// The value as a signed integer (`int64`, not `sint64`); 0 where the file has something else.
    pub fn int(&self) -> i64 {
        self.uint() as i64
    }

    /// The bytes of a string or message; empty where the file has something else.
    pub fn bytes(&self) -> &'a [u8] {
        match self.value {
            ProtobufValue::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// The text of a string; bytes that are no text are replaced.
    pub fn text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// The fields of a message inside this one.
    pub fn message(&self) -> Message<'a> {
        Message::new(self.bytes(), self.offset)
    }

    /// The numbers of a repeated fixed 64-bit field, be they packed or one by one.
    pub fn fixed64s(&self) -> impl Iterator<Item = u64> {
        let one = match self.value {
            ProtobufValue::Fixed64(value) | ProtobufValue::Varint(value) => Some(value),
            _ => None,
        };
        let packed = self.bytes().chunks_exact(8);
        let packed =
            packed.map(|chunk| chunk.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
        one.into_iter().chain(packed)
    }

    /// The numbers of a repeated field, be they packed or one by one.
    pub fn varints(&self) -> Varints<'a> {
        match self.value {
            ProtobufValue::Varint(value) => {
                Varints { bytes: &[], offset: self.offset, one: Some(value) }
            }
            ProtobufValue::Bytes(bytes) => Varints { bytes, offset: self.offset, one: None },
            ProtobufValue::Fixed64(_) | ProtobufValue::Fixed32(_) => {
                Varints { bytes: &[], offset: self.offset, one: None }
            }
        }
    }
}

/// The numbers of a repeated field.
#[derive(Clone, Debug)]
pub struct Varints<'a> {
    bytes: &'a [u8],
    offset: u64,
    one: Option<u64>,
}

impl Iterator for Varints<'_> {
    type Item = Result<u64, ProtobufFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(value) = self.one.take() {
            return Some(Ok(value));
        }
        if self.bytes.is_empty() {
            return None;
        }
        if let Some((value, length)) = varint(self.bytes) {
            self.bytes = &self.bytes[length..];
            self.offset += length as u64;
            Some(Ok(value))
        } else {
            let fault = bad_varint(self.bytes.len(), self.offset);
            self.bytes = &[];
            Some(Err(fault))
        }
    }
}

/// A variable-length integer and how many bytes it takes.
pub fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    let mut value = 0u64;
    for (place, byte) in bytes.iter().take(10).enumerate() {
        // The tenth byte has room for one bit; more of them are dropped, as everyone does.
        value |= u64::from(byte & 0x7f).wrapping_shl(7 * place as u32);
        if *byte < 0x80 {
            return Some((value, place + 1));
        }
    }
    None
}

fn bad_varint(left: usize, offset: u64) -> ProtobufFault {
    let kind = if left < 10 {
        FaultKind::Truncated { wanted: left as u64 + 1, left: left as u64 }
    } else {
        FaultKind::LongVarint
    };
    ProtobufFault { offset, kind }
}

/// Writes messages field by field.
#[derive(Clone, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// A number; negative ones take ten bytes.
    pub fn int(mut self, number: u32, value: i64) -> Self {
        self.varint(u64::from(number) << 3);
        self.varint(value as u64);
        self
    }

    /// A string or bytes.
    pub fn bytes(mut self, number: u32, value: &[u8]) -> Self {
        self.varint(u64::from(number) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// A message.
    #[expect(clippy::needless_pass_by_value, reason = "messages are written inside out")]
    pub fn message(self, number: u32, value: Self) -> Self {
        self.bytes(number, &value.0)
    }

    /// Packed numbers.
    pub fn packed(self, number: u32, values: &[i64]) -> Self {
        let mut packed = Self::default();
        for value in values {
            packed.varint(*value as u64);
        }
        self.message(number, packed)
    }

    /// A double, or a fixed 64-bit integer by its bits.
    pub fn fixed64(mut self, number: u32, value: u64) -> Self {
        self.varint(u64::from(number) << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// All bytes so far.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_wire_type_is_read() {
        let bytes =
            [8, 150, 1, 0x11, 1, 0, 0, 0, 0, 0, 0, 0, 0x1a, 2, b'h', b'i', 0x25, 7, 0, 0, 0];
        let fields: Vec<_> = Message::new(&bytes, 100).map(Result::unwrap).collect();
        let expected = [
            Field { number: 1, value: ProtobufValue::Varint(150), offset: 101 },
            Field { number: 2, value: ProtobufValue::Fixed64(1), offset: 104 },
            Field { number: 3, value: ProtobufValue::Bytes(b"hi"), offset: 114 },
            Field { number: 4, value: ProtobufValue::Fixed32(7), offset: 117 },
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn faults_say_where() {
        let fault = |bytes: &[u8]| Message::new(bytes, 10).find_map(Result::err);
        let at = |offset, kind| Some(ProtobufFault { offset, kind });
        assert_eq!(fault(&[0x0a, 5, 1]), at(12, FaultKind::Truncated { wanted: 5, left: 1 }));
        assert_eq!(fault(&[0x08]), at(11, FaultKind::Truncated { wanted: 1, left: 0 }));
        assert_eq!(fault(&[0x08, 0x80]), at(11, FaultKind::Truncated { wanted: 2, left: 1 }));
        assert_eq!(fault(&[0x00, 1]), at(10, FaultKind::BadTag));
        assert_eq!(fault(&[0x0b, 1]), at(10, FaultKind::BadTag));
        assert_eq!(
            fault(&[8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
            at(11, FaultKind::LongVarint)
        );
    }

    #[test]
    fn negative_numbers_take_ten_bytes() {
        let bytes = [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert_eq!(Message::new(&bytes, 0).next().unwrap().unwrap().int(), -1);
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let fields = Message::new(&bytes, 0).count();
            prop_assert!(fields <= bytes.len());
            for field in Message::new(&bytes, 0).flatten() {
                prop_assert!(field.varints().count() <= bytes.len());
            }
        }
    }
}
