//! Version 6 of the wire: blocks with a size and a kind before them, threads and descriptions of events in tables of
//! their own. Stacks and events are those of the versions before, but for a few fields.

use super::blocks::{u16_at, u32_at};
use crate::encodings::protobuf::varint;

/// Kinds of blocks.
pub const END: u8 = 0;
pub const TRACE: u8 = 1;
pub const EVENTS: u8 = 2;
pub const METADATA: u8 = 3;
pub const STACKS: u8 = 5;
pub const THREADS: u8 = 6;

/// The kind and the body of the block at an offset.
pub fn block(bytes: &[u8], at: usize) -> Option<(u8, &[u8])> {
    let header = u32_at(bytes, at)?;
    let start = at.checked_add(4)?;
    let body = bytes.get(start..start.checked_add(header as usize & 0x00ff_ffff)?)?;
    Some(((header >> 24) as u8, body))
}

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub struct Version6Bytes<'a>(pub &'a [u8]);

impl<'a> Version6Bytes<'a> {
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub fn short(&mut self) -> Option<usize> {
        u16_at(self.take(2)?, 0).map(usize::from)
    }

    pub fn varint(&mut self) -> Option<u64> {
        let (value, length) = varint(self.0)?;
        self.take(length)?;
        Some(value)
    }

    /// A text with its length before it.
    pub fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.varint()?).ok()?;
        Some(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    /// What a row of two bytes' length holds.
    pub fn row(&mut self) -> Option<Self> {
        let length = self.short()?;
        self.take(length).map(Self)
    }
}

/// What the file says of a thread.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ThreadRow {
    pub name: String,
    pub pid: Option<u64>,
    pub tid: Option<u64>,
}

/// The threads of a block with their numbers; what is damaged ends the list.
pub fn threads(body: &[u8]) -> impl Iterator<Item = (u64, ThreadRow)> {
    let mut rows = Version6Bytes(body);
    std::iter::from_fn(move || {
        let mut row = rows.row()?;
        let index = row.varint()?;
        let mut thread = ThreadRow::default();
        while let Some(kind) = row.byte() {
            match kind {
                1 => thread.name = row.text()?,
                2 => thread.pid = Some(row.varint()?),
                3 => thread.tid = Some(row.varint()?),
                4 => {
                    row.text()?;
                    row.text()?;
                }
                // The row's length says where the next one is.
                _ => break,
            }
        }
        Some((index, thread))
    })
}

/// The description of an event.
pub struct Description {
    pub id: u32,
    pub provider: String,
    pub event: u32,
    pub name: String,
    pub fields: EventFields,
}

/// The descriptions of a block; what is damaged ends the list.
pub fn descriptions(body: &[u8]) -> impl Iterator<Item = Description> {
    let mut rows = Version6Bytes(body);
    // The header is there for later versions.
    let mut rows = rows.row().map(|_| rows);
    std::iter::from_fn(move || {
        let mut row = rows.as_mut()?.row()?;
        Some(Description {
            id: row.varint()? as u32,
            provider: row.text()?,
            event: row.varint()? as u32,
            name: row.text()?,
            fields: EventFields::read(&mut row).unwrap_or_default(),
        })
    })
}

/// The fields of an event, as far as they are of types that can be passed over.
#[derive(Default, Debug)]
pub struct EventFields(Vec<(String, Type)>);

#[derive(Clone, Copy, Debug)]
enum Type {
    Fixed(usize),
    /// A number of variable length, with its sign in the lowest bit or without one.
    Signed,
    Unsigned,
    /// A count of two bytes, then so many times so many bytes.
    List(usize),
    /// 16-bit units up to one that is 0.
    Text16,
}

/// A field's value: a number, or the bytes of anything else.
enum FieldValue<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl EventFields {
    fn read(row: &mut Version6Bytes<'_>) -> Option<Self> {
        let mut fields = Vec::new();
        for _ in 0..row.short()? {
            let mut field = row.row()?;
            let name = field.text()?;
            // Behind a type that is not known nothing can be found.
            let Some(kind) = Type::read(&mut field) else { break };
            fields.push((name, kind));
        }
        Some(Self(fields))
    }

    fn value<'a>(&self, payload: &'a [u8], wanted: &str) -> Option<FieldValue<'a>> {
        let mut reader = Version6Bytes(payload);
        for (name, kind) in &self.0 {
            let value = match kind {
                Type::Fixed(size) => FieldValue::Bytes(reader.take(*size)?),
                Type::Unsigned => FieldValue::Number(reader.varint()?),
                Type::Signed => {
                    let number = reader.varint()?;
                    FieldValue::Number(number >> 1 ^ (number & 1).wrapping_neg())
                }
                Type::List(each) => {
                    let count = reader.short()?;
                    FieldValue::Bytes(reader.take(count.checked_mul(*each)?)?)
                }
                Type::Text16 => {
                    let end = reader.0.chunks_exact(2).position(|unit| unit == [0, 0])?;
                    let text = reader.take(2 * end)?;
                    reader.take(2)?;
                    FieldValue::Bytes(text)
                }
            };
            if name == wanted {
                return Some(value);
            }
        }
        None
    }

    /// The number in a field of an event.
    pub fn number(&self, payload: &[u8], name: &str) -> Option<u64> {
        match self.value(payload, name)? {
            FieldValue::Number(number) => Some(number),
            FieldValue::Bytes(bytes) if bytes.len() <= 8 => {
                Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
            }
            FieldValue::Bytes(_) => None,
        }
    }

    /// The UTF-8 text in a field of an event.
    pub fn text(&self, payload: &[u8], name: &str) -> Option<String> {
        match self.value(payload, name)? {
            FieldValue::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            FieldValue::Number(_) => None,
        }
    }
}

impl Type {
    /// Types that hold types are followed one level deep: texts are lists of units, and no event needs more.
    fn read(field: &mut Version6Bytes<'_>) -> Option<Self> {
        let code = field.byte()?;
        Some(match code {
            18 => Self::Text16,
            19 => Self::List(size(field.byte()?)?),
            20 => Self::Signed,
            21 => Self::Unsigned,
            22 => {
                let each = size(field.byte()?)?;
                Self::Fixed(each.checked_mul(field.short()?)?)
            }
            code => Self::Fixed(size(code)?),
        })
    }
}

/// Bytes of a type whose values are all of one size.
fn size(code: u8) -> Option<usize> {
    Some(match code {
        5 | 6 | 23 | 26 => 1,
        4 | 7 | 8 => 2,
        // The last two say where in the payload an array is, and how long.
        3 | 9 | 10 | 13 | 24 | 25 => 4,
        11 | 12 | 14 => 8,
        16 | 17 => 16,
        _ => return None,
    })
}
