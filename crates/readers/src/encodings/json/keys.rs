//! What a JSON file is, from the keys at its beginning.

use std::borrow::Cow;

use super::{Cursor, JsonFault, JsonKind};

/// The keys of the outermost object, or of the first object in an outermost array, as far as `head` shows them; the key
/// whose value is cut off is the last. None for what is no JSON object at all.
pub fn top_level_keys(head: &[u8]) -> Vec<Cow<'_, str>> {
    let mut keys = Vec::new();
    // A fault ends the list: whatever was seen until then is what there is to go by.
    let _ = collect(&mut Cursor::new(head), &mut keys);
    keys
}

fn collect<'a>(cursor: &mut Cursor<'a>, keys: &mut Vec<Cow<'a, str>>) -> Result<(), JsonFault> {
    if cursor.peek()? == JsonKind::Array {
        cursor.begin_array()?;
    }
    cursor.begin_object()?;
    while let Some(key) = cursor.next_key()? {
        keys.push(key);
        cursor.skip_value()?;
    }
    Ok(())
}
