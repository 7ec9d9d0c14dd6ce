//! The 68 bytes at the start of every chunk, always big-endian.

use super::scan::{Integers, JfrScanner};

/// The first bytes of every chunk.
pub const MAGIC: &[u8] = b"FLR\0";

/// Length of a header.
pub const HEADER_BYTES: usize = 68;

/// What a chunk's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    pub major: u16,
    pub minor: u16,
    /// Length of the chunk with its header; 0 while nobody knows.
    pub size: u64,
    /// Offset of the last checkpoint.
    pub checkpoint: u64,
    /// Offset of the metadata event.
    pub metadata: u64,
    /// Start in nanoseconds since 1970.
    pub start: i64,
    /// Duration in nanoseconds.
    pub duration: i64,
    pub clock: ChunkClock,
    /// The chunk was still being written: the offsets above are those of the last flush.
    pub unfinished: bool,
    pub integers: Integers,
}

impl ChunkHeader {
    /// Reads a header; none when the bytes are too few or do not start with the magic.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut scan = JfrScanner::new(bytes, Integers::Fixed, 0);
        if scan.take(4)? != MAGIC {
            return None;
        }
        let (major, minor) = (scan.fixed(2)? as u16, scan.fixed(2)? as u16);
        let (size, checkpoint, metadata) = (scan.fixed(8)?, scan.fixed(8)?, scan.fixed(8)?);
        let (start, duration) = (scan.fixed(8)? as i64, scan.fixed(8)? as i64);
        let (start_ticks, per_second) = (scan.fixed(8)? as i64, scan.fixed(8)? as i64);
        let generation = scan.byte()?;
        let (_, flags) = (scan.byte()?, scan.fixed(2)?);
        let clock = ChunkClock { start, start_ticks, per_second };
        let integers = if flags & 1 == 1 { Integers::Compressed } else { Integers::Fixed };
        // The byte counts rewrites of the header and is 0 in the end.
        let unfinished = generation != 0 || size == 0;
        Some(Self {
            major,
            minor,
            size,
            checkpoint,
            metadata,
            start,
            duration,
            clock,
            unfinished,
            integers,
        })
    }
}

/// From ticks of a chunk to nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkClock {
    start: i64,
    start_ticks: i64,
    per_second: i64,
}

impl ChunkClock {
    /// A time span in nanoseconds. Nonsense in the header makes nonsense here, but no overflow.
    pub fn span(&self, ticks: i64) -> i64 {
        if self.per_second == 1_000_000_000 {
            return ticks;
        }
        let nanos = i128::from(ticks) * 1_000_000_000 / i128::from(self.per_second.max(1));
        nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// A point in time, in nanoseconds since 1970.
    pub fn time(&self, ticks: i64) -> i64 {
        self.start.saturating_add(self.span(ticks.saturating_sub(self.start_ticks)))
    }
}
