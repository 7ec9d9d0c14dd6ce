//! What stands before an archive: a script that starts the jar behind it.
//!
//! An archive that was appended to a script still counts its offsets from its own start. `rawzip` finds out by itself
//! where that is, except for archives with 64-bit sizes: there the end points to a second end by such an offset. That
//! second end stands right before the pointer, so the difference between its place and the offset is the length of the
//! script.

use rawzip::ReaderAt;

const END: &[u8] = b"PK\x05\x06";
const LONGEST_COMMENT: u64 = 0xffff;
const END_SIZE: u64 = 22;

const POINTER: &[u8] = b"PK\x06\x07";
const POINTER_SIZE: u64 = 20;

const LARGE_END: &[u8] = b"PK\x06\x06";
/// What a large end has at least, and what of it its own size leaves out.
const LARGE_END_SIZE: u64 = 56;
const UNCOUNTED: u64 = 12;
/// Data of other programs that a large end may carry.
const MOST_EXTRA: u64 = 4096;

/// How many bytes stand before the archive, where its list cannot be found without knowing it; 0 otherwise.
pub fn prelude(source: &impl ReaderAt, length: u64) -> std::io::Result<u64> {
    let tail_size = (POINTER_SIZE + END_SIZE + LONGEST_COMMENT).min(length);
    let tail_at = length - tail_size;
    let tail = bytes(source, tail_at, tail_size)?;
    let end = tail.windows(END.len()).rposition(|window| window == END);
    let Some(end) = end else { return Ok(0) };
    let Some(pointer) = (tail_at + end as u64).checked_sub(POINTER_SIZE) else { return Ok(0) };
    let found = bytes(source, pointer, POINTER_SIZE)?;
    if !found.starts_with(POINTER) {
        return Ok(0);
    }
    let recorded = number(&found, 8);
    // Where it says, or right before the pointer.
    if recorded < pointer && is_large_end(source, recorded, pointer)? {
        return Ok(0);
    }
    let from = pointer.saturating_sub(LARGE_END_SIZE + MOST_EXTRA);
    let before = bytes(source, from, pointer - from)?;
    for at in (0..before.len()).rev().filter(|at| before[*at..].starts_with(LARGE_END)) {
        let place = from + at as u64;
        if place >= recorded && is_large_end(source, place, pointer)? {
            return Ok(place - recorded);
        }
    }
    Ok(0)
}

/// Whether a large end stands at a place and ends where the pointer begins.
fn is_large_end(source: &impl ReaderAt, at: u64, pointer: u64) -> std::io::Result<bool> {
    if pointer.saturating_sub(at) < LARGE_END_SIZE {
        return Ok(false);
    }
    let head = bytes(source, at, UNCOUNTED)?;
    let end = number(&head, 4).checked_add(UNCOUNTED).and_then(|size| size.checked_add(at));
    Ok(head.starts_with(LARGE_END) && end == Some(pointer))
}

fn bytes(source: &impl ReaderAt, at: u64, count: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; count as usize];
    source.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
