//! How much a recording holds and which files it speaks of, without walking a single stack.

use std::io::Read;

use hashbrown::{HashMap, HashSet};
use perfblame_native::{ByteOrder, Bytes, until_zero};

use super::attr::part;
use super::header::Recording;
use super::sample::time_of;
use super::stream::{Record, Records, Unpacker, kind};

/// What was recorded and what was lost.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
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
    /// Files with code that were mapped, in the order of their first mention.
    pub mapped: Vec<Mapped>,
}

/// A file with code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapped {
    /// As the kernel names it.
    pub path: String,
    /// Which build it is, where that is told.
    pub build_id: Option<Vec<u8>>,
    /// It was the first of a process, which is the program itself.
    pub program: bool,
}

const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;
const KERNEL_PID: u32 = u32::MAX;
const COMM_EXEC: u16 = 1 << 13;
const MMAP_BUILD_ID: u16 = 1 << 14;
const EXECUTABLE: u32 = 4;

/// Counts the records of a recording.
pub fn count(
    input: impl Read + Send + 'static,
    order: ByteOrder,
    recording: Recording,
) -> Contents {
    let mut counter = Counter {
        order,
        recording,
        contents: Contents::default(),
        lost: [0; 2],
        begun: HashSet::new(),
        rows: HashMap::new(),
    };
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
    /// Processes that have their program.
    begun: HashSet<u32>,
    /// Rows of mapped files.
    rows: HashMap<Vec<u8>, usize>,
}

impl Counter {
    fn take(&mut self, record: Record<'_>) {
        let mut fields = Bytes::new(record.body, self.order);
        match record.kind {
            kind::SAMPLE => self.sample(record),
            SWITCH | SWITCH_CPU_WIDE => self.contents.switches += 1,
            kind::LOST | kind::LOST_SAMPLES => {
                let number = if record.kind == kind::LOST { fields.u64() } else { Some(0) };
                let lost = number.and_then(|_| fields.u64()).unwrap_or(0);
                // A count beyond reason is damage.
                if lost <= 1 << 48 {
                    let told = &mut self.lost[usize::from(record.kind == kind::LOST)];
                    *told = told.saturating_add(lost);
                }
            }
            kind::COMM if record.misc & COMM_EXEC != 0 => {
                if let Some(pid) = fields.u32() {
                    self.begun.remove(&pid);
                }
            }
            kind::FORK => {
                // A copy has its program already.
                if let Some(pid) = fields.u32() {
                    self.begun.insert(pid);
                }
            }
            kind::MMAP | kind::MMAP2 => {
                let _ = self.mapping(record, fields);
            }
            1..=kind::LAST_OF_KERNEL => {}
            _ => {
                self.recording.take_record(record, self.order);
            }
        }
    }

    fn sample(&mut self, record: Record<'_>) {
        let contents = &mut self.contents;
        contents.samples += 1;
        let Some((_, event)) = self.recording.event_of(record, self.order) else { return };
        if event.attr.has(part::STACK_USER) {
            contents.copied += u64::from(event.attr.stack_user);
        }
        if let Some(time) = time_of(true, record.body, &event.attr, self.order) {
            let (first, last) = contents.span.unwrap_or((time, time));
            contents.span = Some((first.min(time), last.max(time)));
        }
    }

    fn mapping(&mut self, record: Record<'_>, mut fields: Bytes<'_>) -> Option<()> {
        let pid = fields.u32()?;
        fields.skip(4 + 24)?;
        let mut build_id = None;
        if record.kind == kind::MMAP2 {
            let identity = fields.take(24)?;
            let protection = fields.u32()?;
            fields.u32()?;
            if protection != 0 && protection & EXECUTABLE == 0 {
                return None;
            }
            if record.misc & MMAP_BUILD_ID != 0 {
                let size = usize::from(*identity.first()?).min(20);
                build_id = identity.get(4..4 + size).map(<[u8]>::to_vec);
            }
        }
        let name = until_zero(fields.rest());
        if pid == KERNEL_PID || !name.starts_with(b"/") || name.starts_with(b"//") {
            return None;
        }
        let program = self.begun.insert(pid);
        let mapped = &mut self.contents.mapped;
        let row = *self.rows.entry(name.to_vec()).or_insert_with(|| {
            let path = String::from_utf8_lossy(name).into_owned();
            mapped.push(Mapped { path, build_id: None, program: false });
            mapped.len() - 1
        });
        let row = mapped.get_mut(row)?;
        row.program |= program;
        row.build_id = row.build_id.take().or(build_id);
        Some(())
    }
}
