//! The tracepoints of a recording with their fields: which system call, which thread was switched to.

use perfblame_native::{ByteOrder, Bytes};

use super::header::Recording;
use super::sample::Sample;
use super::stream::{Record, Unpacker, kind};
use super::tracepoint::{TracepointFormat, TracepointValue};

/// One event of a tracepoint.
#[derive(Clone, Copy, Debug)]
pub struct TracepointEvent<'a> {
    /// Its layout and name.
    pub format: &'a TracepointFormat,
    /// Nanoseconds on the recording's clock.
    pub time: Option<u64>,
    /// The process it happened in.
    pub pid: u32,
    /// The thread it happened in.
    pub tid: u32,
    /// What it passed along, as bytes.
    pub raw: &'a [u8],
    order: ByteOrder,
}

impl<'a> TracepointEvent<'a> {
    /// The value of a field.
    pub fn value(&self, name: &str) -> Option<TracepointValue<'a>> {
        self.format.value(name, self.raw, self.order)
    }

    /// All fields with their values.
    pub fn values(&self) -> impl Iterator<Item = (&'a str, TracepointValue<'a>)> {
        self.format.values(self.raw, self.order)
    }
}

/// Picks tracepoints from the records of a recording.
pub struct Picker<'v> {
    pub recording: Recording,
    order: ByteOrder,
    unpacker: Unpacker,
    visit: &'v mut dyn FnMut(TracepointEvent<'_>),
}

impl<'v> Picker<'v> {
    /// Starts with what the header says; each event goes to `visit`, in the order of the file.
    pub fn new(
        recording: Recording,
        order: ByteOrder,
        visit: &'v mut dyn FnMut(TracepointEvent<'_>),
    ) -> Self {
        Self { recording, order, unpacker: Unpacker::new(order), visit }
    }

    /// Takes the next record.
    pub fn take(&mut self, record: Record<'_>) {
        let Self { recording, order, unpacker, visit } = self;
        match record.kind {
            kind::COMPRESSED => unpacker.unpack(record.body, |record| {
                pick(recording, *order, record, visit);
            }),
            kind::COMPRESSED2 => {
                let mut fields = Bytes::new(record.body, *order);
                if let Some(packed) = fields.u64().and_then(|size| fields.take_u64(size)) {
                    unpacker.unpack(packed, |record| pick(recording, *order, record, visit));
                }
            }
            _ => pick(recording, *order, record, visit),
        }
    }
}

fn pick(
    recording: &mut Recording,
    order: ByteOrder,
    record: Record<'_>,
    visit: &mut dyn FnMut(TracepointEvent<'_>),
) {
    if record.kind != kind::SAMPLE {
        recording.take_record(record, order);
        return;
    }
    let Some((_, event)) = recording.event_of(record, order) else { return };
    let Some(format) = event.attr.tracepoint().and_then(|id| recording.formats.get(&id)) else {
        return;
    };
    if let Some(sample) = Sample::parse(record.body, &event.attr, order)
        && let Some(raw) = sample.raw
    {
        let Sample { time, pid, tid, .. } = sample;
        visit(TracepointEvent { format, time, pid, tid, raw, order });
    }
}
