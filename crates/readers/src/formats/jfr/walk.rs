//! From record to record through a chunk, by their sizes; over damage where a chunk says where to go on.

use memchr::memmem;

use super::header::{ChunkHeader, HEADER_BYTES, MAGIC};
use super::scan::JfrScanner;

/// The type of metadata events, known before any layout is.
pub const METADATA: u64 = 0;
/// The type of checkpoints.
pub const CHECKPOINT: u64 = 1;

/// What a walk found.
#[derive(Debug, Default)]
pub struct ValueWalk {
    /// Where metadata events start.
    pub metadata: Vec<usize>,
    /// Where checkpoints start.
    pub checkpoints: Vec<usize>,
    /// Records that were asked for: what was asked, and where their fields start.
    pub records: Vec<(u32, usize)>,
    /// Where the chunk ends: before the end of the bytes when another chunk starts in the middle of them.
    pub end: usize,
    /// Where the first record stands that does not end within the chunk.
    pub broken_at: Option<usize>,
    /// Bytes that belong to no record.
    pub lost: usize,
}

/// Walks over a chunk. `wanted` says which types to remember, `anchors` where records are known to start, sorted.
pub fn walk(
    bytes: &[u8],
    header: &ChunkHeader,
    wanted: impl Fn(u64) -> Option<u32>,
    anchors: &[usize],
) -> ValueWalk {
    let mut walk = ValueWalk { end: bytes.len(), ..ValueWalk::default() };
    let mut at = HEADER_BYTES;
    while at < walk.end {
        // A size that is too large swallows the chunks that follow, whose header reads as a record.
        if bytes[at] == MAGIC[0] && is_chunk(bytes, at) {
            walk.end = at;
            break;
        }
        let mut scan = JfrScanner::new(bytes, header.integers, at);
        let next = scan.int().and_then(|size| at.checked_add(size as usize));
        let kind = scan.long();
        match (next, kind) {
            (Some(next), Some(kind)) if scan.at <= next && next <= walk.end => {
                match kind {
                    METADATA => walk.metadata.push(at),
                    CHECKPOINT => walk.checkpoints.push(at),
                    kind => {
                        if let Some(row) = wanted(kind) {
                            walk.records.push((row, scan.at));
                        }
                    }
                }
                at = next;
            }
            _ => {
                if walk.broken_at.is_none() {
                    walk.broken_at = Some(at);
                    walk.end = next_chunk(bytes, at).unwrap_or(bytes.len());
                }
                let anchor = anchors[anchors.partition_point(|anchor| *anchor <= at)..].first();
                let next = anchor.map_or(walk.end, |anchor| (*anchor).min(walk.end));
                walk.lost += next - at;
                at = next;
            }
        }
    }
    walk
}

/// Where the next chunk starts at or after an offset.
pub fn next_chunk(bytes: &[u8], from: usize) -> Option<usize> {
    memmem::find_iter(bytes.get(from..)?, MAGIC).map(|at| from + at).find(|at| is_chunk(bytes, *at))
}

/// Four bytes alone could be anything; major versions so far are 0, 1 and 2.
fn is_chunk(bytes: &[u8], at: usize) -> bool {
    let start = bytes.get(at..).unwrap_or_default();
    start.starts_with(MAGIC) && matches!(start.get(4..6), Some([0, 0..=9]))
}

/// The chain of checkpoints from the last to the first, and the metadata: where records start even when one between
/// is damaged. Sorted.
pub fn anchors(bytes: &[u8], header: &ChunkHeader) -> Vec<usize> {
    let mut anchors = Vec::new();
    let mut next = usize::try_from(header.checkpoint).ok();
    while let Some(at) = next.filter(|at| *at >= HEADER_BYTES && *at < bytes.len()) {
        let mut scan = JfrScanner::new(bytes, header.integers, at);
        let kind = scan.int().and(scan.long());
        if kind != Some(CHECKPOINT) {
            break;
        }
        anchors.push(at);
        // After the type: start, duration, distance to the checkpoint before, which is negative or 0 at the first.
        let distance =
            scan.long().and(scan.long()).and(scan.long()).map(|distance| distance as i64);
        let distance = distance.filter(|distance| *distance < 0);
        next = distance.and_then(|distance| at.checked_add_signed(distance as isize));
    }
    anchors.extend(usize::try_from(header.metadata).ok().filter(|at| *at >= HEADER_BYTES));
    anchors.sort_unstable();
    anchors
}
