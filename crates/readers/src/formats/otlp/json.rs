//! OpenTelemetry profiles as JSON: one object, or one per line as the collector's file exporter writes them.
//!
//! JSON has the names of fields where protobuf has their numbers, and no second reader is worth having: each object is
//! written as the message it stands for, in the numbering of today, and read as one. What a profile does not need (ids,
//! links, payloads) is passed over. Names of versions 1.8 and 1.9 are known too; what came before has no stacks to refer
//! to.

use crate::encodings::json::{Cursor, Fault, Kind, top_level_keys};
use crate::encodings::protobuf::Writer;
use crate::error::ReadError;

/// What the value of a key becomes.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Int,
    /// A list of numbers, which are packed.
    Ints,
    Fixed64,
    Double,
    /// A message, or a list of them.
    Message(&'static Fields),
    /// What only versions before 1.8 have.
    Old,
}

/// The keys of an object in lower case, their numbers, and what their values become.
type Fields = [(&'static str, u32, Shape)];

const MESSAGE: &Fields =
    &[("resourceprofiles", 1, Shape::Message(RESOURCE)), ("dictionary", 2, Shape::Message(TABLES))];
const TABLES: &Fields = &[
    ("mappingtable", 1, Shape::Message(MAPPING)),
    ("locationtable", 2, Shape::Message(LOCATION)),
    ("functiontable", 3, Shape::Message(FUNCTION)),
    ("stringtable", 5, Shape::Text),
    ("attributetable", 6, Shape::Message(ATTRIBUTE)),
    ("stacktable", 7, Shape::Message(&[("locationindices", 1, Shape::Ints)])),
];
const MAPPING: &Fields = &[
    ("memorystart", 1, Shape::Int),
    ("memorylimit", 2, Shape::Int),
    ("fileoffset", 3, Shape::Int),
    ("filenamestrindex", 4, Shape::Int),
];
const LOCATION: &Fields = &[
    ("mappingindex", 1, Shape::Int),
    ("address", 2, Shape::Int),
    ("lines", 3, Shape::Message(LINE)),
    ("line", 3, Shape::Message(LINE)),
    ("attributeindices", 4, Shape::Ints),
];
const LINE: &Fields =
    &[("functionindex", 1, Shape::Int), ("line", 2, Shape::Int), ("column", 3, Shape::Int)];
const FUNCTION: &Fields = &[
    ("namestrindex", 1, Shape::Int),
    ("systemnamestrindex", 2, Shape::Int),
    ("filenamestrindex", 3, Shape::Int),
    ("startline", 4, Shape::Int),
];
const ATTRIBUTE: &Fields = &[("keystrindex", 1, Shape::Int), ("value", 2, Shape::Message(VALUE))];
const VALUE: &Fields = &[
    ("stringvalue", 1, Shape::Text),
    ("boolvalue", 2, Shape::Int),
    ("intvalue", 3, Shape::Int),
    ("doublevalue", 4, Shape::Double),
    ("stringvaluestrindex", 8, Shape::Int),
];
const KEY_VALUE: &Fields =
    &[("key", 1, Shape::Text), ("value", 2, Shape::Message(VALUE)), ("keystrindex", 3, Shape::Int)];
const RESOURCE: &Fields = &[
    ("resource", 1, Shape::Message(&[("attributes", 1, Shape::Message(KEY_VALUE))])),
    ("scopeprofiles", 2, Shape::Message(SCOPE)),
];
const SCOPE: &Fields = &[
    ("scope", 1, Shape::Message(&[("name", 1, Shape::Text), ("version", 2, Shape::Text)])),
    ("profiles", 2, Shape::Message(PROFILE)),
];
const TYPE: &Fields = &[("typestrindex", 1, Shape::Int), ("unitstrindex", 2, Shape::Int)];
const PROFILE: &Fields = &[
    ("sampletype", 1, Shape::Message(TYPE)),
    ("samples", 2, Shape::Message(SAMPLE)),
    ("sample", 2, Shape::Message(SAMPLE)),
    ("timeunixnano", 3, Shape::Fixed64),
    ("durationnano", 4, Shape::Int),
    ("periodtype", 5, Shape::Message(TYPE)),
    ("period", 6, Shape::Int),
    ("locationindices", 0, Shape::Old),
];
const SAMPLE: &Fields = &[
    ("stackindex", 1, Shape::Int),
    ("attributeindices", 2, Shape::Ints),
    ("values", 4, Shape::Ints),
    ("timestampsunixnano", 5, Shape::Fixed64),
    ("locationsstartindex", 0, Shape::Old),
    ("locationslength", 0, Shape::Old),
];

/// True for an object that starts like profiles do.
pub fn sniff(head: &[u8]) -> bool {
    if !head.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    let keys: Vec<String> = top_level_keys(head).iter().map(|key| plain(key)).collect();
    match keys.first().map(String::as_str) {
        Some("resourceprofiles") => true,
        Some("dictionary") => memchr::memmem::find(head, b"Table\"").is_some(),
        _ => false,
    }
}

/// The next object as a message; none at the end.
pub fn next_message(cursor: &mut Cursor<'_>) -> Result<Option<Vec<u8>>, ReadError> {
    if cursor.at_end() {
        return Ok(None);
    }
    let mut is_old = false;
    let message = message(cursor, MESSAGE, &mut is_old)?;
    if is_old {
        let what = "this is JSON of OpenTelemetry profiles before version 1.8";
        let help = "write it as protobuf, which is read in every version, or with a newer exporter";
        return Err(ReadError::unsupported(what).help(help));
    }
    Ok(Some(message.finish()))
}

/// Keys are written `stackIndex`; parsers of protobuf's JSON take `stack_index` as well.
fn plain(key: &str) -> String {
    key.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

/// Descends as deep as the fields above do, whatever the input.
fn message(cursor: &mut Cursor<'_>, fields: &Fields, is_old: &mut bool) -> Result<Writer, Fault> {
    let mut out = Writer::default();
    if cursor.peek()? != Kind::Object {
        cursor.skip_value()?;
        return Ok(out);
    }
    cursor.begin_object()?;
    while let Some(key) = cursor.next_key()? {
        let key = plain(&key);
        let Some((_, number, shape)) = fields.iter().find(|(known, ..)| *known == key) else {
            cursor.skip_value()?;
            continue;
        };
        if cursor.peek()? != Kind::Array {
            out = value(cursor, *number, *shape, out, is_old)?;
        } else if let Shape::Ints = shape {
            let mut numbers = Vec::new();
            cursor.begin_array()?;
            while cursor.next_element()? {
                numbers.push(int(cursor)?.unwrap_or(0));
            }
            out = out.packed(*number, &numbers);
        } else {
            cursor.begin_array()?;
            while cursor.next_element()? {
                out = value(cursor, *number, *shape, out, is_old)?;
            }
        }
    }
    Ok(out)
}

fn value(
    cursor: &mut Cursor<'_>,
    number: u32,
    shape: Shape,
    out: Writer,
    is_old: &mut bool,
) -> Result<Writer, Fault> {
    // A null is what is not there; in a list it keeps its place.
    Ok(match shape {
        Shape::Text => {
            let text = cursor.lenient_string()?.unwrap_or_default();
            out.bytes(number, text.as_bytes())
        }
        Shape::Int => match int(cursor)? {
            Some(value) => out.int(number, value),
            None => out,
        },
        Shape::Ints => match int(cursor)? {
            Some(value) => out.packed(number, &[value]),
            None => out,
        },
        Shape::Fixed64 => match int(cursor)? {
            Some(value) => out.fixed64(number, value as u64),
            None => out,
        },
        Shape::Double => match cursor.lenient_number()? {
            Some(value) => out.fixed64(number, value.as_f64().to_bits()),
            None => out,
        },
        Shape::Message(fields) => out.message(number, message(cursor, fields, is_old)?),
        Shape::Old => {
            *is_old = true;
            cursor.skip_value()?;
            out
        }
    })
}

/// A number, in quotes or not; truth values are 0 and 1. Addresses may need all 64 bits.
fn int(cursor: &mut Cursor<'_>) -> Result<Option<i64>, Fault> {
    if cursor.peek()? == Kind::Bool {
        return Ok(Some(i64::from(cursor.boolean()?)));
    }
    let number = cursor.lenient_number()?;
    Ok(number
        .and_then(|number| number.as_i64().or_else(|| number.as_u64().map(|number| number as i64))))
}
