//! Python's `marshal` format, of all versions, as far as profiles use it.
//!
//! Values may refer back to earlier ones, so all of them are kept in one table and know each other by row.

use crate::error::{ReadError, ReadErrorKind};

/// Deeper than any profile nests.
const MAX_DEPTH: usize = 16;

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueId(u32);

/// One value.
#[derive(Debug)]
pub enum PythonValue {
    /// None, ellipsis, and what a damaged reference leads to.
    Nothing,
    Int(i64),
    Float(f64),
    Text(String),
    Tuple(Vec<ValueId>),
    Dict(Vec<(ValueId, ValueId)>),
}

/// All values of a file.
#[derive(Debug, Default)]
pub struct PythonValues {
    rows: Vec<PythonValue>,
}

impl PythonValues {
    /// Reads one value and all inside it.
    pub fn read(bytes: &[u8]) -> Result<(Self, ValueId), ReadError> {
        let mut reader = MarshalReader {
            bytes,
            at: 0,
            values: Self::default(),
            references: Vec::new(),
            texts: Vec::new(),
        };
        let root = reader.value(0)?;
        let Some(root) = root else {
            return Err(ReadError::malformed(0, "the file contains no value"));
        };
        Ok((reader.values, root))
    }

    /// The value of a row.
    pub fn get(&self, id: ValueId) -> &PythonValue {
        self.rows.get(id.0 as usize).unwrap_or(&PythonValue::Nothing)
    }

    /// A number, whole or not.
    pub fn number(&self, id: ValueId) -> Option<f64> {
        match self.get(id) {
            PythonValue::Int(value) => Some(*value as f64),
            PythonValue::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// A text.
    pub fn text(&self, id: ValueId) -> Option<&str> {
        match self.get(id) {
            PythonValue::Text(text) => Some(text),
            _ => None,
        }
    }

    fn push(&mut self, value: PythonValue) -> ValueId {
        self.rows.push(value);
        ValueId(self.rows.len() as u32 - 1)
    }
}

struct MarshalReader<'a> {
    bytes: &'a [u8],
    at: usize,
    values: PythonValues,
    /// Values that are marked as referred to, in the order of their starts.
    references: Vec<ValueId>,
    /// Interned texts of Python 2, which has a table of its own.
    texts: Vec<ValueId>,
}

impl MarshalReader<'_> {
    fn take(&mut self, length: usize) -> Result<&[u8], ReadError> {
        let left = self.bytes.len() - self.at;
        if length > left {
            let kind = ReadErrorKind::Truncated { wanted: length as u64, left: left as u64 };
            return Err(ReadError::new(kind).at(self.at as u64).help("the file looks cut off"));
        }
        let taken = &self.bytes[self.at..self.at + length];
        self.at += length;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, ReadError> {
        Ok(self.take(1)?[0])
    }

    fn u32(&mut self) -> Result<u32, ReadError> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn text(&mut self, length: usize) -> Result<PythonValue, ReadError> {
        Ok(PythonValue::Text(String::from_utf8_lossy(self.take(length)?).into_owned()))
    }

    /// The next value; none for the mark that ends a dictionary.
    fn value(&mut self, depth: usize) -> Result<Option<ValueId>, ReadError> {
        let start = self.at as u64;
        if depth > MAX_DEPTH {
            return Err(ReadError::malformed(start, "values are nested too deeply"));
        }
        let tag = self.byte()?;
        let (kind, is_referred) = (tag & 0x7f, tag & 0x80 != 0);
        // The place of a reference is taken before what it contains is read.
        let reference = is_referred.then(|| {
            let id = self.values.push(PythonValue::Nothing);
            self.references.push(id);
            id
        });
        let value = match kind {
            b'0' => return Ok(None),
            b'N' | b'.' | b'S' => PythonValue::Nothing,
            b'T' => PythonValue::Int(1),
            b'F' => PythonValue::Int(0),
            b'i' => PythonValue::Int(i64::from(self.u32()? as i32)),
            b'I' => {
                let low = u64::from(self.u32()?);
                PythonValue::Int((u64::from(self.u32()?) << 32 | low) as i64)
            }
            b'l' => self.long()?,
            b'g' => {
                let bytes = self.take(8)?;
                let bits = bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                PythonValue::Float(f64::from_bits(bits))
            }
            b'f' => {
                let length = usize::from(self.byte()?);
                let text = String::from_utf8_lossy(self.take(length)?).into_owned();
                PythonValue::Float(text.trim().parse().unwrap_or(0.0))
            }
            b'z' | b'Z' => {
                let length = usize::from(self.byte()?);
                self.text(length)?
            }
            b's' | b'u' | b'a' | b'A' => {
                let length = self.u32()? as usize;
                self.text(length)?
            }
            b't' => {
                let length = self.u32()? as usize;
                let text = self.text(length)?;
                let id = self.values.push(text);
                self.texts.push(id);
                if let Some(reference) = reference {
                    let text = self.values.text(id).unwrap_or("").to_owned();
                    self.values.rows[reference.0 as usize] = PythonValue::Text(text);
                }
                return Ok(Some(id));
            }
            b'R' => {
                let row = self.u32()? as usize;
                return self.reference(row, start, |reader| &reader.texts).map(Some);
            }
            b'r' => {
                let row = self.u32()? as usize;
                return self.reference(row, start, |reader| &reader.references).map(Some);
            }
            b')' => {
                let length = usize::from(self.byte()?);
                self.items(length, depth)?
            }
            b'(' | b'[' | b'<' | b'>' => {
                let length = self.u32()? as usize;
                self.items(length, depth)?
            }
            b'{' => {
                let mut entries = Vec::new();
                while let Some(key) = self.value(depth + 1)? {
                    let Some(value) = self.value(depth + 1)? else { break };
                    entries.push((key, value));
                }
                PythonValue::Dict(entries)
            }
            _ => {
                let message = format!("a value of the unknown type 0x{kind:02x}");
                return Err(ReadError::malformed(start, message));
            }
        };
        Ok(Some(match reference {
            Some(id) => {
                self.values.rows[id.0 as usize] = value;
                id
            }
            None => self.values.push(value),
        }))
    }

    fn reference(
        &self,
        row: usize,
        start: u64,
        table: impl Fn(&Self) -> &Vec<ValueId>,
    ) -> Result<ValueId, ReadError> {
        let found = table(self).get(row).copied();
        found.ok_or_else(|| ReadError::malformed(start, "a value refers to a missing value"))
    }

    fn items(&mut self, length: usize, depth: usize) -> Result<PythonValue, ReadError> {
        // Every item takes a byte at least.
        if length > self.bytes.len() - self.at {
            self.take(length)?;
        }
        let mut items = Vec::new();
        for _ in 0..length {
            let Some(item) = self.value(depth + 1)? else { break };
            items.push(item);
        }
        Ok(PythonValue::Tuple(items))
    }

    /// An integer of any size in digits of 15 bits; what does not fit is far beyond any count.
    fn long(&mut self) -> Result<PythonValue, ReadError> {
        let digits = self.u32()? as i32;
        let mut value: i128 = 0;
        for place in 0..digits.unsigned_abs() {
            let bytes = self.take(2)?;
            let digit = i128::from(u16::from_le_bytes([bytes[0], bytes[1]]) & 0x7fff);
            if place < 8 {
                value |= digit << (15 * place);
            }
        }
        let value = if digits < 0 { -value } else { value };
        Ok(PythonValue::Int(i64::try_from(value).unwrap_or(i64::MAX)))
    }
}
