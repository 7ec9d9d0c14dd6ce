//! One event, as it stands in the file. Nothing is copied: an event is looked at once and forgotten.

use std::borrow::Cow;

use crate::encodings::json::{Cursor, JsonFault, JsonKind};

/// A string between its quotes.
#[derive(Clone, Copy, Default, Debug)]
pub struct RawText<'a> {
    pub bytes: &'a [u8],
    pub escaped: bool,
}

impl<'a> RawText<'a> {
    /// What it says.
    pub fn text(self) -> Cow<'a, str> {
        crate::encodings::json::decode(self.bytes, self.escaped)
    }
}

/// A process or thread: a number for most, a name for some.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Id<'a> {
    Number(i64),
    Text(&'a [u8]),
}

impl Default for Id<'_> {
    fn default() -> Self {
        Self::Number(0)
    }
}

/// An event.
#[derive(Clone, Copy, Default, Debug)]
pub struct TraceEvent<'a> {
    /// The phase; 0 where there is none.
    pub phase: u8,
    pub name: RawText<'a>,
    /// Categories, joined by commas.
    pub category: RawText<'a>,
    pub pid: Id<'a>,
    /// The process's own number for events that name no thread: uftrace's of a main thread.
    pub tid: Id<'a>,
    /// Nanoseconds.
    pub time: Option<i64>,
    /// Nanoseconds.
    pub duration: Option<i64>,
    /// What tells asynchronous spans and profiles apart, as it is written.
    pub id: Option<&'a [u8]>,
    /// The id is one of the whole trace, not of its process.
    pub global_id: bool,
    /// The arguments' JSON.
    pub args: Option<&'a [u8]>,
}

impl<'a> TraceEvent<'a> {
    /// Reads an event's object.
    pub fn read(cursor: &mut Cursor<'a>) -> Result<Self, JsonFault> {
        let mut event = Self::default();
        let (mut thread_duration, mut thread) = (None, None);
        cursor.begin_object()?;
        while let Some(key) = cursor.next_raw_key()? {
            match key {
                b"ph" => event.phase = text(cursor)?.bytes.first().copied().unwrap_or(0),
                b"name" => event.name = text(cursor)?,
                b"cat" => event.category = text(cursor)?,
                b"pid" => event.pid = id(cursor)?,
                b"tid" => thread = Some(id(cursor)?),
                b"ts" => event.time = time(cursor)?,
                b"dur" => event.duration = time(cursor)?,
                b"tdur" => thread_duration = time(cursor)?,
                b"id" => event.id = Some(unquoted(cursor.raw_value()?)),
                b"id2" => (event.id, event.global_id) = scoped_id(cursor)?,
                b"args" => event.args = Some(cursor.raw_value()?),
                _ => cursor.skip_value()?,
            }
        }
        event.tid = thread.unwrap_or(event.pid);
        // Some say how long they computed and not how long they took.
        event.duration = event.duration.or(thread_duration);
        Ok(event)
    }
}

fn text<'a>(cursor: &mut Cursor<'a>) -> Result<RawText<'a>, JsonFault> {
    if cursor.peek()? != JsonKind::String {
        // A number for a name is a name all the same.
        let bytes = cursor.raw_value()?;
        return Ok(RawText { bytes, escaped: false });
    }
    let (bytes, escaped) = cursor.raw_string()?;
    Ok(RawText { bytes, escaped })
}

fn time(cursor: &mut Cursor<'_>) -> Result<Option<i64>, JsonFault> {
    Ok(cursor.lenient_number()?.and_then(|number| number.scaled(3)))
}

fn id<'a>(cursor: &mut Cursor<'a>) -> Result<Id<'a>, JsonFault> {
    if cursor.peek()? == JsonKind::Number {
        return Ok(cursor.number()?.as_i64().map_or(Id::Number(0), Id::Number));
    }
    let bytes = unquoted(cursor.raw_value()?);
    let number = str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    Ok(number.map_or(Id::Text(bytes), Id::Number))
}

fn scoped_id<'a>(cursor: &mut Cursor<'a>) -> Result<(Option<&'a [u8]>, bool), JsonFault> {
    if cursor.peek()? != JsonKind::Object {
        return Ok((Some(unquoted(cursor.raw_value()?)), false));
    }
    let mut found = (None, false);
    cursor.begin_object()?;
    while let Some(key) = cursor.next_raw_key()? {
        found = (Some(unquoted(cursor.raw_value()?)), key == b"global");
    }
    Ok(found)
}

fn unquoted(raw: &[u8]) -> &[u8] {
    raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\"")).unwrap_or(raw)
}
