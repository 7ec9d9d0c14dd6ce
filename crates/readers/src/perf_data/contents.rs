//! How much a recording holds, without walking a single stack.

use std::io::Read;

use super::header::Recording;
use super::stream::{Record, Records, Unpacker, kind};
use crate::native::{ByteOrder, Bytes};

/// What was recorded and what was lost.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Contents {
    /// Samples, those with a stack and those without.
    pub samples: u64,
    /// Bytes of stacks that were copied.
    pub copied: u64,
    /// Records of threads that begin or cease to run.
    pub switches: u64,
    /// Events that the recorder could not keep.
    pub lost: u64,
    /// Times of the first and the last sample.
    pub span: Option<(u64, u64)>,
}

const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;

/// Counts the records of a recording.
pub fn count(
    input: impl Read + Send + 'static,
    order: ByteOrder,
    recording: Recording,
) -> Contents {
    let mut counter = Counter { order, recording, contents: Contents::default(), lost: [0; 2] };
    let mut records = Records::new(input, order, 0);
    let mut unpacker = Unpacker::new(order);
    while let Some(record) = records.next() {
        match record.kind {
            kind::COMPRESSED => unpacker.unpack(record.body, |record| counter.take(record)),
            kind::COMPRESSED2 => {
                let mut fields = Bytes::new(record.body, order);
                if let Some(packed) = fields.u64().and_then(|size| fields.take_u64(size)) {
                    unpacker.unpack(packed, |record| counter.take(record));
                }
            }
            _ => counter.take(record),
        }
    }
    // Both tell of the same events: the kernel as it loses them, perf what was lost of each event in the end.
    Contents { lost: counter.lost[0].max(counter.lost[1]), ..counter.contents }
}

struct Counter {
    order: ByteOrder,
    recording: Recording,
    contents: Contents,
    lost: [u64; 2],
}

impl Counter {
    fn take(&mut self, record: Record<'_>) {
        let contents = &mut self.contents;
        match record.kind {
            kind::SAMPLE => {
                contents.samples += 1;
                let Some((_, event)) = self.recording.event_of(record, self.order) else { return };
                if event.attr.has(super::attr::part::STACK_USER) {
                    contents.copied += u64::from(event.attr.stack_user);
                }
                let time = super::sample::time_of(true, record.body, &event.attr, self.order);
                if let Some(time) = time {
                    let (first, last) = contents.span.unwrap_or((time, time));
                    contents.span = Some((first.min(time), last.max(time)));
                }
            }
            SWITCH | SWITCH_CPU_WIDE => contents.switches += 1,
            kind::LOST | kind::LOST_SAMPLES => {
                let mut fields = Bytes::new(record.body, self.order);
                let number = if record.kind == kind::LOST { fields.u64() } else { Some(0) };
                let lost = number.and_then(|_| fields.u64()).unwrap_or(0);
                // A count beyond reason is damage.
                if lost <= 1 << 48 {
                    let told = &mut self.lost[usize::from(record.kind == kind::LOST)];
                    *told = told.saturating_add(lost);
                }
            }
            1..=kind::LAST_OF_KERNEL => {}
            _ => {
                self.recording.take_record(record, self.order);
            }
        }
    }
}
