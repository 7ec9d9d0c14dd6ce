//! Single values of an event's arguments, found by their keys.

use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number};

/// Steps to the value of a key of the object at hand; false when there is none.
pub(super) fn enter(cursor: &mut Cursor<'_>, wanted: &[u8]) -> Result<bool, JsonFault> {
    if cursor.peek()? != JsonKind::Object {
        return Ok(false);
    }
    cursor.begin_object()?;
    while let Some(key) = cursor.next_raw_key()? {
        if key == wanted {
            return Ok(true);
        }
        cursor.skip_value()?;
    }
    Ok(false)
}

/// The text at the end of a path of keys.
pub(super) fn string_in(json: Option<&[u8]>, path: &[&[u8]]) -> Result<Option<String>, JsonFault> {
    let mut cursor = Cursor::new(json.unwrap_or(b"{}"));
    for key in path {
        if !enter(&mut cursor, key)? {
            return Ok(None);
        }
    }
    Ok(cursor.lenient_string()?.map(std::borrow::Cow::into_owned))
}

/// The whole number at the end of a path of keys.
pub(super) fn number_in(json: Option<&[u8]>, path: &[&[u8]]) -> Result<Option<i64>, JsonFault> {
    let mut cursor = Cursor::new(json.unwrap_or(b"{}"));
    for key in path {
        if !enter(&mut cursor, key)? {
            return Ok(None);
        }
    }
    Ok(cursor.lenient_number()?.and_then(Number::as_i64))
}
