//! Records one after the other, from a file's data section, a pipe or an unpacked stretch.
//!
//! A record states its size in 16 bits, so a piece of a megabyte always holds a whole one. Where a size makes no sense
//! the walk goes on at the next place that looks like two records in a row.

use std::io::Read;
use std::rc::Rc;

use zstd::stream::raw::{Decoder, InBuffer, Operation as _, OutBuffer};

use perfblame_native::{ByteOrder, Bytes};

use super::chunks::{Chunk, Chunks, HEADROOM};

/// Kinds of records, `PERF_RECORD_*`; those from 64 on are written by perf itself.
pub mod kind {
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const THROTTLE: u32 = 5;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const LOST_SAMPLES: u32 = 13;
    pub const SWITCH: u32 = 14;
    pub const SWITCH_CPU_WIDE: u32 = 15;
    pub const LAST_OF_KERNEL: u32 = 22;
    pub const HEADER_ATTR: u32 = 64;
    pub const HEADER_EVENT_TYPE: u32 = 65;
    pub const HEADER_TRACING_DATA: u32 = 66;
    pub const HEADER_BUILD_ID: u32 = 67;
    pub const FINISHED_ROUND: u32 = 68;
    pub const AUXTRACE: u32 = 71;
    pub const EVENT_UPDATE: u32 = 78;
    pub const HEADER_FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
    pub const LAST_OF_PERF: u32 = 90;
    /// Numbers below this are free for kernels and perfs to come.
    pub const LARGEST: u32 = 1023;
}

const HEADER: usize = 8;

/// Tracing data that a pipe carries beside its record.
const LARGEST_PAYLOAD: u64 = 256 << 20;

/// One record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub kind: u32,
    pub misc: u16,
    /// What follows the header.
    pub body: &'a [u8],
    /// What follows the record itself, for the few kinds that have that.
    pub payload: &'a [u8],
    /// The piece of the input that `body` is in, and where; none when it was unpacked.
    pub held: Option<(&'a Rc<Chunk>, usize)>,
}

impl<'a> Record<'a> {
    /// A record whose bytes are nowhere else.
    pub fn new(kind: u32, misc: u16, body: &'a [u8]) -> Self {
        Self { kind, misc, body, payload: &[], held: None }
    }
}

/// What went wrong on the way.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Places where no record could be made out, and the first of them.
    pub gaps: u64,
    pub first_gap: Option<u64>,
    /// Bytes passed over there.
    pub skipped: u64,
    /// The input ended inside a record.
    pub cut: bool,
}

#[derive(Clone, Copy, Debug)]
struct RecordHeader {
    kind: u32,
    misc: u16,
    size: usize,
}

fn header(bytes: &[u8], order: ByteOrder) -> Option<RecordHeader> {
    let mut fields = Bytes::new(bytes, order);
    Some(RecordHeader { kind: fields.u32()?, misc: fields.u16()?, size: fields.u16()? as usize })
}

fn is_plausible(header: RecordHeader) -> bool {
    let known = matches!(
        header.kind,
        1..=kind::LAST_OF_KERNEL | kind::HEADER_ATTR..=kind::LAST_OF_PERF
    );
    let aligned = header.size.is_multiple_of(8) || header.kind > kind::LAST_OF_KERNEL;
    known && aligned && header.size >= HEADER
}

/// Records of an input.
pub struct Records {
    chunks: Chunks,
    order: ByteOrder,
    chunk: Option<Rc<Chunk>>,
    start: usize,
    end: usize,
    /// Offset in the file of the chunk's first byte; less than nothing for the headroom of the first.
    offset: i64,
    ended: bool,
    payload: Vec<u8>,
    pub damage: Damage,
}

impl Records {
    /// Walks `input`, whose first byte is at `offset` of the file.
    pub fn new(input: impl Read + 'static, order: ByteOrder, offset: u64) -> Self {
        Self {
            chunks: Chunks::new(input),
            order,
            chunk: None,
            start: 0,
            end: 0,
            offset: i64::try_from(offset).unwrap_or(i64::MAX),
            ended: false,
            payload: Vec::new(),
            damage: Damage::default(),
        }
    }

    /// The next record; none at the end.
    pub fn next(&mut self) -> Option<Record<'_>> {
        loop {
            self.fill(HEADER);
            let Some(header) = self.header_at(0) else {
                self.damage.cut |= self.end > self.start;
                return None;
            };
            // Kinds we do not know are passed over by their size, but these are no kinds.
            if header.size < HEADER || header.kind == 0 || header.kind > kind::LARGEST {
                self.resynchronise();
                continue;
            }
            self.fill(header.size);
            if self.end - self.start < header.size {
                // A size beyond the end is damage too, unless the input was cut here.
                self.damage.cut = true;
                self.start = self.end;
                return None;
            }
            let RecordHeader { kind, misc, size } = header;
            let body_at = self.start + HEADER;
            let body_size = size - HEADER;
            self.start += size;
            let body = self.bytes().get(body_at..body_at + body_size)?;
            let mut fields = Bytes::new(body, self.order);
            let extra = match kind {
                kind::HEADER_TRACING_DATA => {
                    fields.u32().map(|size| u64::from(size).next_multiple_of(8))
                }
                kind::AUXTRACE => fields.u64(),
                _ => None,
            };
            if let Some(extra) = extra {
                // The input moves on: what the record itself says is kept in front.
                self.payload = body.to_vec();
                self.take_payload(extra, kind == kind::HEADER_TRACING_DATA);
                let (body, payload) = self.payload.split_at_checked(body_size)?;
                return Some(Record { payload, ..Record::new(kind, misc, body) });
            }
            let chunk = self.chunk.as_ref()?;
            let body = chunk.bytes().get(body_at..body_at + body_size)?;
            return Some(Record { held: Some((chunk, body_at)), ..Record::new(kind, misc, body) });
        }
    }

    fn bytes(&self) -> &[u8] {
        self.chunk.as_ref().map(|chunk| chunk.bytes()).unwrap_or_default()
    }

    fn header_at(&self, ahead: usize) -> Option<RecordHeader> {
        header(self.bytes().get(self.start + ahead..self.end)?, self.order)
    }

    /// Makes at least `wanted` bytes available, if the input has them; at most the headroom of a piece.
    fn fill(&mut self, wanted: usize) {
        if self.end - self.start >= wanted || self.ended {
            return;
        }
        let before = self.bytes().get(self.start..self.end).unwrap_or_default();
        let before = before.get(..before.len().min(HEADROOM)).unwrap_or_default().to_vec();
        match self.chunks.next(&before) {
            Ok(Some((chunk, start))) => {
                // The first piece starts the file, the others go on where the one before ended.
                self.offset += self.end as i64 - HEADROOM as i64;
                self.start = start;
                self.end = chunk.bytes().len();
                self.chunk = Some(chunk);
            }
            Ok(None) => self.ended = true,
            // A packed file that is cut off: what came before it counts.
            Err(_) => {
                self.ended = true;
                self.damage.cut = true;
            }
        }
    }

    fn resynchronise(&mut self) {
        self.damage.gaps += 1;
        let at = self.offset.saturating_add(self.start as i64);
        self.damage.first_gap.get_or_insert(at.unsigned_abs());
        loop {
            // Two records of the largest size fit in what is looked at.
            self.fill(HEADROOM);
            if self.end - self.start <= HEADER {
                self.damage.skipped += (self.end - self.start) as u64;
                self.start = self.end;
                return;
            }
            self.start += HEADER;
            self.damage.skipped += HEADER as u64;
            let Some(first) = self.header_at(0) else { continue };
            if !is_plausible(first) {
                continue;
            }
            let second = self.header_at(first.size);
            if second.is_some_and(is_plausible) || self.start + first.size == self.end {
                return;
            }
        }
    }

    fn take_payload(&mut self, size: u64, keep: bool) {
        let mut left = size;
        while left > 0 {
            self.fill(1);
            let there = (self.end - self.start).min(usize::try_from(left).unwrap_or(usize::MAX));
            if there == 0 {
                self.damage.cut = true;
                return;
            }
            if keep && self.payload.len() as u64 + there as u64 <= LARGEST_PAYLOAD {
                let Self { chunk, payload, start, .. } = self;
                let bytes = chunk.as_ref().and_then(|c| c.bytes().get(*start..*start + there));
                payload.extend_from_slice(bytes.unwrap_or_default());
            }
            self.start += there;
            left -= there as u64;
        }
    }
}

/// Unpacks the records inside `COMPRESSED` records, which are pieces of one zstd stream cut anywhere.
pub struct Unpacker {
    decoder: Option<Decoder<'static>>,
    order: ByteOrder,
    pending: Vec<u8>,
    /// Pieces that could not be unpacked, or held nonsense.
    pub damaged: u64,
}

impl Unpacker {
    /// Nothing unpacked yet.
    pub fn new(order: ByteOrder) -> Self {
        Self { decoder: None, order, pending: Vec::new(), damaged: 0 }
    }

    /// Unpacks the body of one record and hands out the whole records that come to light.
    pub fn unpack(&mut self, packed: &[u8], mut take: impl FnMut(Record<'_>)) {
        let Ok(mut decoder) = self.decoder.take().map_or_else(Decoder::new, Ok) else {
            self.damaged += 1;
            return;
        };
        let mut input = InBuffer::around(packed);
        let mut piece = vec![0; 128 << 10];
        loop {
            let mut output = OutBuffer::around(piece.as_mut_slice());
            let before = input.pos();
            let Ok(_) = decoder.run(&mut input, &mut output) else {
                // The rest of the stream builds on what is lost.
                self.damaged += 1;
                let _ = decoder.reinit();
                self.pending.clear();
                break;
            };
            let unpacked = output.as_slice();
            let (came, full) = (unpacked.len(), unpacked.len() == 128 << 10);
            self.pending.extend_from_slice(unpacked);
            self.hand_out(&mut take);
            if (input.pos() >= packed.len() && !full) || (came == 0 && input.pos() == before) {
                break;
            }
        }
        self.decoder = Some(decoder);
    }

    fn hand_out(&mut self, take: &mut impl FnMut(Record<'_>)) {
        let mut at = 0;
        while let Some(bytes) = self.pending.get(at..)
            && let Some(RecordHeader { kind, misc, size }) = header(bytes, self.order)
        {
            if size < HEADER {
                self.damaged += 1;
                at = self.pending.len();
                break;
            }
            let Some(body) = bytes.get(HEADER..size) else { break };
            take(Record::new(kind, misc, body));
            at += size;
        }
        self.pending.drain(..at);
    }

    /// Bytes of a record that never came to its end.
    pub fn left_over(&self) -> usize {
        self.pending.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend(2u16.to_le_bytes());
        bytes.extend((8 + body.len() as u16).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    fn kinds(bytes: &[u8]) -> (Vec<u32>, Damage) {
        let input = std::io::Cursor::new(bytes.to_vec());
        let mut records = Records::new(input, ByteOrder::Little, 0);
        let mut kinds = Vec::new();
        while let Some(record) = records.next() {
            kinds.push(record.kind);
        }
        (kinds, records.damage)
    }

    #[test]
    fn a_record_of_size_zero_costs_that_record() {
        let bytes =
            [record(3, &[0; 16]), vec![0; 24], record(9, &[1; 8]), record(9, &[2; 8])].concat();
        let (found, damage) = kinds(&bytes);
        assert_eq!(found, [3, 9, 9]);
        assert_eq!((damage.gaps, damage.skipped, damage.first_gap), (1, 24, Some(24)));
    }

    #[test]
    fn a_cut_is_noticed() {
        let bytes = [record(3, &[0; 16]), record(9, &[0; 16])].concat();
        for cut in 25..bytes.len() {
            let (found, damage) = kinds(&bytes[..cut]);
            assert_eq!(found, [3]);
            assert!(damage.cut, "{cut}");
        }
    }

    #[test]
    fn what_follows_a_record_is_no_record() {
        let tracing = record(kind::HEADER_TRACING_DATA, &[5, 0, 0, 0, 0, 0, 0, 0]);
        let bytes = [tracing, b"hello\0\0\0".to_vec(), record(9, &[])].concat();
        let mut records = Records::new(std::io::Cursor::new(bytes), ByteOrder::Little, 0);
        assert_eq!(records.next().unwrap().payload, b"hello\0\0\0");
        assert_eq!(records.next().unwrap().kind, 9);
        assert!(records.next().is_none());
    }

    #[test]
    fn packed_records_are_cut_anywhere() {
        let plain: Vec<u8> = (0..100u8).flat_map(|n| record(9, &[n; 40])).collect();
        let packed = zstd::encode_all(plain.as_slice(), 1).unwrap();
        for step in [1, 7, packed.len()] {
            let mut unpacker = Unpacker::new(ByteOrder::Little);
            let mut found = Vec::new();
            for piece in packed.chunks(step) {
                unpacker.unpack(piece, |record| found.push(record.body[0]));
            }
            assert_eq!(found, (0..100).collect::<Vec<u8>>());
            assert_eq!((unpacker.damaged, unpacker.left_over()), (0, 0));
        }
    }
}
