//! OpenTelemetry profiles as JSON: one object, or one per line as the collector's file exporter writes them.
//!
//! JSON has the names of fields where protobuf has their numbers, and no second reader is worth having: each object is
//! written as the message it stands for, in the numbering of today, and read as one. What a profile does not need (ids,
//! links, payloads) is passed over. Names of versions 1.8 and 1.9 are known too; what came before has no stacks to refer
//! to.

use crate::encodings::json::{Cursor, JsonFault, JsonKind, top_level_keys};
use crate::encodings::protobuf::Writer;
use crate::error::ReadError;

/// What the value of a key becomes.
#[derive(Clone, Copy)]
enum JsonShape {
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
type Fields = [(&'static str, u32, JsonShape)];

const MESSAGE: &Fields = &[
    ("resourceprofiles", 1, JsonShape::Message(RESOURCE)),
    ("dictionary", 2, JsonShape::Message(TABLES)),
];
const TABLES: &Fields = &[
    ("mappingtable", 1, JsonShape::Message(MAPPING)),
    ("locationtable", 2, JsonShape::Message(LOCATION)),
    ("functiontable", 3, JsonShape::Message(FUNCTION)),
    ("stringtable", 5, JsonShape::Text),
    ("attributetable", 6, JsonShape::Message(ATTRIBUTE)),
    ("stacktable", 7, JsonShape::Message(&[("locationindices", 1, JsonShape::Ints)])),
];
const MAPPING: &Fields = &[
    ("memorystart", 1, JsonShape::Int),
    ("memorylimit", 2, JsonShape::Int),
    ("fileoffset", 3, JsonShape::Int),
    ("filenamestrindex", 4, JsonShape::Int),
];
const LOCATION: &Fields = &[
    ("mappingindex", 1, JsonShape::Int),
    ("address", 2, JsonShape::Int),
    ("lines", 3, JsonShape::Message(LINE)),
    ("line", 3, JsonShape::Message(LINE)),
    ("attributeindices", 4, JsonShape::Ints),
];
const LINE: &Fields = &[
    ("functionindex", 1, JsonShape::Int),
    ("line", 2, JsonShape::Int),
    ("column", 3, JsonShape::Int),
];
const FUNCTION: &Fields = &[
    ("namestrindex", 1, JsonShape::Int),
    ("systemnamestrindex", 2, JsonShape::Int),
    ("filenamestrindex", 3, JsonShape::Int),
    ("startline", 4, JsonShape::Int),
];
const ATTRIBUTE: &Fields =
    &[("keystrindex", 1, JsonShape::Int), ("value", 2, JsonShape::Message(VALUE))];
const VALUE: &Fields = &[
    ("stringvalue", 1, JsonShape::Text),
    ("boolvalue", 2, JsonShape::Int),
    ("intvalue", 3, JsonShape::Int),
    ("doublevalue", 4, JsonShape::Double),
    ("stringvaluestrindex", 8, JsonShape::Int),
];
const KEY_VALUE: &Fields = &[
    ("key", 1, JsonShape::Text),
    ("value", 2, JsonShape::Message(VALUE)),
    ("keystrindex", 3, JsonShape::Int),
];
const RESOURCE: &Fields = &[
    ("resource", 1, JsonShape::Message(&[("attributes", 1, JsonShape::Message(KEY_VALUE))])),
    ("scopeprofiles", 2, JsonShape::Message(SCOPE)),
];
const SCOPE: &Fields = &[
    (
        "scope",
        1,
        JsonShape::Message(&[("name", 1, JsonShape::Text), ("version", 2, JsonShape::Text)]),
    ),
    ("profiles", 2, JsonShape::Message(PROFILE)),
];
const TYPE: &Fields = &[("typestrindex", 1, JsonShape::Int), ("unitstrindex", 2, JsonShape::Int)];
const PROFILE: &Fields = &[
    ("sampletype", 1, JsonShape::Message(TYPE)),
    ("samples", 2, JsonShape::Message(SAMPLE)),
    ("sample", 2, JsonShape::Message(SAMPLE)),
    ("timeunixnano", 3, JsonShape::Fixed64),
    ("durationnano", 4, JsonShape::Int),
    ("periodtype", 5, JsonShape::Message(TYPE)),
    ("period", 6, JsonShape::Int),
    ("locationindices", 0, JsonShape::Old),
];
const SAMPLE: &Fields = &[
    ("stackindex", 1, JsonShape::Int),
    ("attributeindices", 2, JsonShape::Ints),
    ("values", 4, JsonShape::Ints),
    ("timestampsunixnano", 5, JsonShape::Fixed64),
    ("locationsstartindex", 0, JsonShape::Old),
    ("locationslength", 0, JsonShape::Old),
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
        let what = "this is OpenTelemetry JSON from before version 1.8";
        let help = "write it as protobuf, which works in every version, or use a newer exporter";
        return Err(ReadError::unsupported(what).help(help));
    }
    Ok(Some(message.finish()))
}

/// Keys are written `stackIndex`; parsers of protobuf's JSON take `stack_index` as well.
fn plain(key: &str) -> String {
    key.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

/// Descends as deep as the fields above do, whatever the input.
fn message(
    cursor: &mut Cursor<'_>,
    fields: &Fields,
    is_old: &mut bool,
) -> Result<Writer, JsonFault> {
    let mut out = Writer::default();
    if cursor.peek()? != JsonKind::Object {
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
        if cursor.peek()? != JsonKind::Array {
            out = value(cursor, *number, *shape, out, is_old)?;
        } else if let JsonShape::Ints = shape {
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
    shape: JsonShape,
    out: Writer,
    is_old: &mut bool,
) -> Result<Writer, JsonFault> {
    // A null is what is not there; in a list it keeps its place.
    Ok(match shape {
        JsonShape::Text => {
            let text = cursor.lenient_string()?.unwrap_or_default();
            out.bytes(number, text.as_bytes())
        }
        JsonShape::Int => match int(cursor)? {
            Some(value) => out.int(number, value),
            None => out,
        },
        JsonShape::Ints => match int(cursor)? {
            Some(value) => out.packed(number, &[value]),
            None => out,
        },
        JsonShape::Fixed64 => match int(cursor)? {
            Some(value) => out.fixed64(number, value as u64),
            None => out,
        },
        JsonShape::Double => match cursor.lenient_number()? {
            Some(value) => out.fixed64(number, value.as_f64().to_bits()),
            None => out,
        },
        JsonShape::Message(fields) => out.message(number, message(cursor, fields, is_old)?),
        JsonShape::Old => {
            *is_old = true;
            cursor.skip_value()?;
            out
        }
    })
}

/// A number, in quotes or not; truth values are 0 and 1. Addresses may need all 64 bits.
fn int(cursor: &mut Cursor<'_>) -> Result<Option<i64>, JsonFault> {
    if cursor.peek()? == JsonKind::Bool {
        return Ok(Some(i64::from(cursor.boolean()?)));
    }
    let number = cursor.lenient_number()?;
    Ok(number
        .and_then(|number| number.as_i64().or_else(|| number.as_u64().map(|number| number as i64))))
}
