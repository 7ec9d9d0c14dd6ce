//! A whole JSON file in memory, for formats that refer back and forth.
//!
//! A table in pre-order as our trees are: one row per value, containers know where they end. Strings without escapes
//! borrow the input. Nothing recurses, neither building nor dropping, so depth is no concern: old V8 profiles nest
//! their call trees a thousand levels deep.

use std::borrow::Cow;

use perfblame_cct::ProfileBuilder;

use super::{Cursor, JsonFault, JsonKind};
use crate::error::ReadError;

/// A parsed file.
#[derive(Clone, Debug, Default)]
pub struct Document<'b> {
    rows: Vec<JsonRow<'b>>,
}

#[derive(Clone, Debug)]
struct JsonRow<'b> {
    what: What<'b>,
    /// Rows of this value, itself included.
    rows: u32,
}

#[derive(Clone, Debug)]
enum What<'b> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'b, str>),
    Array,
    /// Keys and values take turns.
    Object,
}

/// Parses a whole file.
pub fn parse(bytes: &[u8]) -> Result<Document<'_>, ReadError> {
    let (document, fault) = parse_prefix(bytes);
    match fault {
        Some(fault) => Err(fault.into()),
        None => Ok(document),
    }
}

/// Parses as far as it goes, and counts what was left out as a warning.
pub fn parse_with_warning<'b>(bytes: &'b [u8], builder: &mut ProfileBuilder) -> Document<'b> {
    let (document, fault) = parse_prefix(bytes);
    if let Some(fault) = fault {
        let offset = fault.offset();
        let error = ReadError::from(fault);
        builder.warn("damaged-json", || {
            format!("the rest was left out from byte {offset} on: {}", error.kind)
        });
    }
    document
}

/// Parses as far as it goes: containers that a fault leaves open end there.
pub fn parse_prefix(bytes: &[u8]) -> (Document<'_>, Option<JsonFault>) {
    let mut document = Document::default();
    let mut open = Vec::new();
    let fault = document.fill(&mut Cursor::new(bytes), &mut open).err();
    // A key without a value would shift the pairs.
    if let Some((row, true)) = open.last().copied()
        && document.value_missing(row)
    {
        document.rows.push(JsonRow { what: What::Null, rows: 1 });
    }
    for (row, _) in open {
        document.close(row);
    }
    (document, fault)
}

impl<'b> Document<'b> {
    /// The outermost value; `null` in an empty document.
    pub fn root(&self) -> JsonValue<'_> {
        JsonValue { rows: &self.rows }
    }

    fn close(&mut self, row: usize) {
        let rows = self.rows.len() - row;
        self.rows[row].rows = rows as u32;
    }

    /// True when the last key of the open object at `row` has no value yet.
    fn value_missing(&self, row: usize) -> bool {
        let (mut at, mut count) = (row + 1, 0);
        while let Some(child) = self.rows.get(at) {
            at += child.rows.max(1) as usize;
            count += 1;
        }
        count % 2 == 1
    }

    /// Reads one value. `open` holds the containers we are in, by row, and whether they are objects.
    fn fill(
        &mut self,
        cursor: &mut Cursor<'b>,
        open: &mut Vec<(usize, bool)>,
    ) -> Result<(), JsonFault> {
        loop {
            let ended = match open.last() {
                Some((_, true)) => {
                    let key = cursor.next_key()?;
                    let ended = key.is_none();
                    self.rows.extend(key.map(|key| JsonRow { what: What::Text(key), rows: 1 }));
                    ended
                }
                Some((_, false)) => !cursor.next_element()?,
                None => false,
            };
            if ended {
                if let Some((row, _)) = open.pop() {
                    self.close(row);
                }
                if open.is_empty() {
                    return Ok(());
                }
                continue;
            }
            if self.rows.len() >= u32::MAX as usize {
                return Err(JsonFault::Bad { offset: cursor.offset(), what: "too many values" });
            }
            let what = match cursor.peek()? {
                JsonKind::Object => {
                    cursor.begin_object()?;
                    open.push((self.rows.len(), true));
                    What::Object
                }
                JsonKind::Array => {
                    cursor.begin_array()?;
                    open.push((self.rows.len(), false));
                    What::Array
                }
                JsonKind::String => What::Text(cursor.string()?),
                JsonKind::Number => {
                    let number = cursor.number()?;
                    number.as_i64().map_or_else(|| What::Float(number.as_f64()), What::Int)
                }
                JsonKind::Bool => What::Bool(cursor.boolean()?),
                JsonKind::Null => {
                    cursor.skip_value()?;
                    What::Null
                }
            };
            self.rows.push(JsonRow { what, rows: 1 });
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}

/// A value of a [`Document`].
#[derive(Clone, Copy, Debug)]
pub struct JsonValue<'a> {
    /// Its row and what follows.
    rows: &'a [JsonRow<'a>],
}

impl<'a> JsonValue<'a> {
    fn what(self) -> Option<&'a What<'a>> {
        self.rows.first().map(|row| &row.what)
    }

    /// What it is.
    pub fn kind(self) -> JsonKind {
        match self.what() {
            Some(What::Object) => JsonKind::Object,
            Some(What::Array) => JsonKind::Array,
            Some(What::Text(_)) => JsonKind::String,
            Some(What::Int(_) | What::Float(_)) => JsonKind::Number,
            Some(What::Bool(_)) => JsonKind::Bool,
            Some(What::Null) | None => JsonKind::Null,
        }
    }

    /// The value of a key; none when this is no object or has no such key. Of equal keys the first counts.
    pub fn get(self, key: &str) -> Option<JsonValue<'a>> {
        self.entries().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// The value that a path of keys leads to.
    pub fn path(self, keys: &[&str]) -> Option<JsonValue<'a>> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The element at `index`; walks there, so loops use [`JsonValue::elements`].
    pub fn at(self, index: usize) -> Option<JsonValue<'a>> {
        self.elements().nth(index)
    }

    /// Its text, when it is a string.
    pub fn as_str(self) -> Option<&'a str> {
        match self.what()? {
            What::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, when it is a whole one that fits.
    pub fn as_i64(self) -> Option<i64> {
        match self.what()? {
            What::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The number, when it is whole, fits and is not negative.
    pub fn as_u64(self) -> Option<u64> {
        self.as_i64()?.try_into().ok()
    }

    /// The number, when it is one.
    pub fn as_f64(self) -> Option<f64> {
        match self.what()? {
            What::Int(number) => Some(*number as f64),
            What::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// `true` or `false`, when it is one of them.
    pub fn as_bool(self) -> Option<bool> {
        match self.what()? {
            What::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// True for `null`.
    pub fn is_null(self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// The elements of an array; of anything else there are none.
    pub fn elements(self) -> Elements<'a> {
        let rows = match self.rows.first() {
            Some(JsonRow { what: What::Array, rows }) => self.rows.get(1..*rows as usize),
            _ => None,
        };
        Elements { rows: rows.unwrap_or_default() }
    }

    /// The elements, when this is an array.
    pub fn as_array(self) -> Option<Elements<'a>> {
        (self.kind() == JsonKind::Array).then(|| self.elements())
    }

    /// The keys and values of an object in their order; of anything else there are none.
    pub fn entries(self) -> impl Iterator<Item = (&'a str, JsonValue<'a>)> + use<'a> {
        let rows = match self.rows.first() {
            Some(JsonRow { what: What::Object, rows }) => self.rows.get(1..*rows as usize),
            _ => None,
        };
        let mut both = Elements { rows: rows.unwrap_or_default() };
        std::iter::from_fn(move || {
            let key = both.next()?;
            Some((key.as_str().unwrap_or_default(), both.next()?))
        })
    }
}

/// The elements of an array, in order.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rows: &'a [JsonRow<'a>],
}

impl<'a> Iterator for Elements<'a> {
    type Item = JsonValue<'a>;

    fn next(&mut self) -> Option<JsonValue<'a>> {
        let rows = self.rows;
        let length = rows.first()?.rows.max(1) as usize;
        self.rows = rows.get(length..).unwrap_or_default();
        Some(JsonValue { rows })
    }
}
