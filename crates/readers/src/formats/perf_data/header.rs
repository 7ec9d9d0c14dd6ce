//! The beginning of a `perf.data` file, and the sections around the records that say what was recorded where.

use std::io::{Read, Seek, SeekFrom};

use hashbrown::HashMap;
use perfblame_native::{ByteOrder, Bytes, until_zero};

use super::attr::{Attr, RecordedEvent};
use super::sample::{id_position, id_position_from_end};
use super::stream::{Record, kind};
use super::tracepoint::{self, Formats};
use crate::error::{ReadError, ReadErrorKind};

/// Largest section of the header that is read; tracing data and build ids of big machines stay far below.
const LARGEST_SECTION: u64 = 256 << 20;

/// Most events a file may have; each has a section and a column.
const MOST_EVENTS: usize = 4096;

/// How the bytes of a file are to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opening {
    pub order: ByteOrder,
    pub shape: Shape,
}

/// The two ways `perf record` writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Header, attributes and records as one stream.
    Pipe,
    /// A header that tells where records and everything else are.
    File,
}

/// What the first bytes say; none when this is no `perf.data`.
pub fn opening(head: &[u8]) -> Option<Opening> {
    let order = match head.get(..8)? {
        b"PERFILE2" => Some(ByteOrder::Little),
        b"2ELIFREP" => Some(ByteOrder::Big),
        // The first version has the same letters in both orders; its header size tells.
        b"PERFFILE" | b"ELIFFREP" => None,
        _ => return None,
    };
    let size = |order| Bytes::new(head.get(8..).unwrap_or_default(), order).u64();
    let plausible = |order| size(order).is_some_and(|size| (16..4096).contains(&size));
    let order = order
        .or_else(|| [ByteOrder::Little, ByteOrder::Big].into_iter().find(|o| plausible(*o)))
        .unwrap_or_default();
    let shape = if size(order)? == 16 { Shape::Pipe } else { Shape::File };
    Some(Opening { order, shape })
}

/// What a file says about its recording.
#[derive(Debug, Default)]
pub struct Recording {
    pub events: Vec<RecordedEvent>,
    /// By file name as mapped.
    pub build_ids: HashMap<Vec<u8>, Vec<u8>>,
    pub formats: Formats,
    pub hostname: Option<String>,
    pub release: Option<String>,
    pub version: Option<String>,
    pub arch: Option<String>,
    pub cpu: Option<String>,
    pub cpus: Option<u32>,
    pub command: Option<String>,
    /// First and last sample.
    pub times: Option<(u64, u64)>,
    /// The wall clock, and the recording's own clock at the same moment.
    pub clocks: Option<(u64, u64)>,
    /// Names of event numbers in files of the first kernels.
    pub event_types: Vec<(u64, String)>,
    /// Things in the header that made no sense.
    pub damaged: u64,
    /// Rows of `events` by the ids that records carry.
    event_of_id: HashMap<u64, usize>,
}

/// Where the records of a file are.
#[derive(Clone, Copy, Debug)]
pub struct DataSection {
    pub offset: u64,
    /// None when the recorder was killed before it could say so.
    pub size: Option<u64>,
}

/// Reads the header of a file: everything but the records.
pub fn read_file_header(
    file: &mut (impl Read + Seek + ?Sized),
    order: ByteOrder,
) -> Result<(Recording, DataSection), ReadError> {
    let length = file.seek(SeekFrom::End(0))?;
    let head = section(file, (0, 104.min(length)), length)?;
    let short = || {
        let kind = ReadErrorKind::Truncated { wanted: 104, left: length };
        ReadError::new(kind).at(0).help("the file is cut off in its header; record again")
    };
    let mut fields = Bytes::new(&head, order);
    fields.skip(8).ok_or_else(short)?;
    let header_size = fields.u64().ok_or_else(short)?;
    let attr_size = fields.u64().ok_or_else(short)?;
    let mut next = || Some((fields.u64()?, fields.u64()?));
    let attrs = next().ok_or_else(short)?;
    let data = next().ok_or_else(short)?;
    let event_types = next().ok_or_else(short)?;
    let mut features = Vec::new();
    if header_size >= 104 {
        let bits = head.get(72..104).unwrap_or_default();
        let mut words = Bytes::new(bits, order);
        for word in 0..4 {
            let set = words.u64().unwrap_or(0);
            features.extend((0..64).filter(|bit| set >> bit & 1 == 1).map(|bit| word * 64 + bit));
        }
    }
    let mut recording = Recording::default();
    read_attrs(file, order, attrs, attr_size, length, &mut recording)?;
    if let Ok(bytes) = section(file, event_types, length) {
        for row in bytes.chunks_exact(72) {
            let id = Bytes::new(row, order).u64().unwrap_or(0);
            recording.event_types.push((id, text(until_zero(row.get(8..).unwrap_or_default()))));
        }
    }
    if recording.events.is_empty() {
        let message = "the header has no description of the recorded events";
        return Err(ReadError::malformed(24, message).help("the header is damaged; record again"));
    }
    // A recorder that is killed leaves the size zero: then the records go on to the end.
    let size = (data.1 != 0).then_some(data.1);
    if let Some(size) = size
        && let Some(table_at) = data.0.checked_add(size)
    {
        read_features(file, order, &features, table_at, length, &mut recording);
    }
    Ok((recording, DataSection { offset: data.0, size }))
}

fn read_attrs(
    file: &mut (impl Read + Seek + ?Sized),
    order: ByteOrder,
    place: (u64, u64),
    attr_size: u64,
    length: u64,
    recording: &mut Recording,
) -> Result<(), ReadError> {
    // Each attribute is followed by the place of its ids.
    let row_size = usize::try_from(attr_size).ok().filter(|size| (80..4096).contains(size));
    let Some(row_size) = row_size else {
        let message = format!("an event description of {attr_size} bytes");
        return Err(ReadError::malformed(16, message).help("the header is damaged; record again"));
    };
    let rows = section(file, place, length)?;
    for row in rows.chunks_exact(row_size).take(MOST_EVENTS) {
        let place = row.get(row_size - 16..).unwrap_or_default();
        let attr = row.get(..row_size - 16).unwrap_or_default();
        let Some((attr, _)) = Attr::parse(attr, order) else {
            recording.damaged += 1;
            continue;
        };
        let mut place = Bytes::new(place, order);
        let place = (place.u64().unwrap_or(0), place.u64().unwrap_or(0));
        let ids = section(file, place, length).unwrap_or_else(|_| {
            recording.damaged += 1;
            Vec::new()
        });
        recording.add_event(RecordedEvent { attr, ids: numbers(&ids, order), name: None });
    }
    Ok(())
}

fn read_features(
    file: &mut (impl Read + Seek + ?Sized),
    order: ByteOrder,
    features: &[u64],
    table_at: u64,
    length: u64,
    recording: &mut Recording,
) {
    let Ok(table) = section(file, (table_at, features.len() as u64 * 16), length) else {
        recording.damaged += u64::from(!features.is_empty());
        return;
    };
    let mut rows = Bytes::new(&table, order);
    for feature in features {
        let (Some(offset), Some(size)) = (rows.u64(), rows.u64()) else { return };
        if !Recording::wants(*feature) {
            continue;
        }
        match section(file, (offset, size), length) {
            Ok(bytes) => recording.take_feature(*feature, &bytes, order),
            Err(_) => recording.damaged += 1,
        }
    }
}

fn section(
    file: &mut (impl Read + Seek + ?Sized),
    (offset, size): (u64, u64),
    length: u64,
) -> Result<Vec<u8>, ReadError> {
    let end = offset.checked_add(size);
    if end.is_none_or(|end| end > length) {
        let left = length.saturating_sub(offset);
        let kind = ReadErrorKind::Truncated { wanted: size, left };
        return Err(ReadError::new(kind).at(offset).help("the file is cut off; record again"));
    }
    if size > LARGEST_SECTION {
        let kind =
            ReadErrorKind::TooLarge { what: "a header section", size, limit: LARGEST_SECTION };
        return Err(ReadError::new(kind).at(offset));
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = vec![0; size as usize];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn numbers(bytes: &[u8], order: ByteOrder) -> Vec<u64> {
    let mut fields = Bytes::new(bytes, order);
    std::iter::from_fn(|| fields.u64()).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_zero(bytes)).into_owned()
}

mod feature {
    pub const TRACING_DATA: u64 = 1;
    pub const BUILD_ID: u64 = 2;
    pub const HOSTNAME: u64 = 3;
    pub const RELEASE: u64 = 4;
    pub const VERSION: u64 = 5;
    pub const ARCH: u64 = 6;
    pub const CPUS: u64 = 7;
    pub const CPU: u64 = 8;
    pub const COMMAND: u64 = 11;
    pub const EVENTS: u64 = 12;
    pub const TIMES: u64 = 21;
    pub const CLOCKS: u64 = 29;
}

impl Recording {
    fn wants(number: u64) -> bool {
        matches!(
            number,
            feature::TRACING_DATA
                ..=feature::CPU
                    | feature::COMMAND
                    | feature::EVENTS
                    | feature::TIMES
                    | feature::CLOCKS
        )
    }

    /// Takes one section of the header, from a file or from a record of a stream.
    fn take_feature(&mut self, number: u64, bytes: &[u8], order: ByteOrder) {
        let mut fields = Bytes::new(bytes, order);
        let fine = match number {
            feature::TRACING_DATA => {
                self.take_tracing_data(bytes);
                Some(())
            }
            feature::BUILD_ID => self.take_build_ids(fields),
            feature::HOSTNAME => string(&mut fields).map(|text| self.hostname = Some(text)),
            feature::RELEASE => string(&mut fields).map(|text| self.release = Some(text)),
            feature::VERSION => string(&mut fields).map(|text| self.version = Some(text)),
            feature::ARCH => string(&mut fields).map(|text| self.arch = Some(text)),
            feature::CPUS => fields.u32().map(|count| self.cpus = Some(count)),
            feature::CPU => string(&mut fields).map(|text| self.cpu = Some(text)),
            feature::COMMAND => self.take_command(fields),
            feature::EVENTS => self.take_events(fields, order),
            feature::TIMES => (|| {
                self.times = Some((fields.u64()?, fields.u64()?));
                Some(())
            })(),
            feature::CLOCKS => (|| {
                fields.skip(8)?;
                self.clocks = Some((fields.u64()?, fields.u64()?));
                Some(())
            })(),
            _ => Some(()),
        };
        if fine.is_none() {
            self.damaged += 1;
        }
    }

    /// Takes the descriptions of tracepoints.
    fn take_tracing_data(&mut self, bytes: &[u8]) {
        match tracepoint::parse_tracing_data(bytes) {
            Some(formats) => self.formats.extend(formats),
            None => self.damaged += 1,
        }
    }

    fn take_command(&mut self, mut fields: Bytes<'_>) -> Option<()> {
        let count = fields.u32()?;
        let mut words = Vec::new();
        for _ in 0..count {
            words.push(string(&mut fields)?);
        }
        self.command = Some(words.join(" "));
        Some(())
    }

    fn take_events(&mut self, mut fields: Bytes<'_>, order: ByteOrder) -> Option<()> {
        let count = fields.u32()?;
        let attr_size = fields.u32()? as usize;
        for index in 0..count as usize {
            let attr = fields.take(attr_size)?;
            let ids = fields.u32()? as usize;
            let name = string(&mut fields)?;
            let ids = numbers(fields.take(ids.checked_mul(8)?)?, order);
            // The same events as in the table of attributes, which has no names; a stream may have only these.
            let known = self.events.iter().position(|event| !ids.is_empty() && event.ids == ids);
            let known = known.or_else(|| (index < self.events.len()).then_some(index));
            if let Some(event) = known.and_then(|known| self.events.get_mut(known)) {
                event.name = Some(name);
                if event.ids.is_empty() {
                    self.event_of_id.extend(ids.iter().map(|id| (*id, known.unwrap_or(0))));
                    event.ids = ids;
                }
            } else {
                let (attr, _) = Attr::parse(attr, order)?;
                self.add_event(RecordedEvent { attr, ids, name: Some(name) });
            }
        }
        Some(())
    }

    fn take_build_ids(&mut self, mut fields: Bytes<'_>) -> Option<()> {
        while !fields.is_empty() {
            fields.u32()?;
            let misc = fields.u16()?;
            let size = fields.u16()? as usize;
            let row = fields.take(size.checked_sub(8)?)?;
            self.take_build_id(misc, Bytes::new(row, fields.order()));
        }
        Some(())
    }

    /// Takes the build id of one binary: the body of a `HEADER_BUILD_ID` record.
    fn take_build_id(&mut self, misc: u16, mut fields: Bytes<'_>) -> Option<()> {
        /// Newer files state how much of the 20 bytes is meant.
        const HAS_SIZE: u16 = 1 << 15;
        fields.u32()?;
        let id = fields.take(20)?;
        let rest = fields.take(4)?;
        let size = if misc & HAS_SIZE != 0 { *rest.first()? as usize } else { 20 };
        let id = id.get(..size.min(20))?;
        let name = until_zero(fields.rest());
        if !name.is_empty() && id.iter().any(|byte| *byte != 0) {
            self.build_ids.insert(name.to_vec(), id.to_vec());
        }
        Some(())
    }

    /// Takes an event's attribute from a stream: the body of a `HEADER_ATTR` record.
    fn take_attr(&mut self, body: &[u8], order: ByteOrder) -> Option<()> {
        let (attr, size) = Attr::parse(body, order)?;
        let ids = numbers(body.get(size..)?, order);
        self.add_event(RecordedEvent { attr, ids, name: None });
        Some(())
    }

    /// Takes a record of perf's own, with which a stream says what a file says in its header. Returns true when there
    /// may be news of the machine.
    pub fn take_record(&mut self, record: Record<'_>, order: ByteOrder) -> bool {
        let mut fields = Bytes::new(record.body, order);
        let fine = match record.kind {
            kind::HEADER_ATTR => self.take_attr(record.body, order),
            kind::HEADER_EVENT_TYPE => {
                fields.u64().map(|id| self.event_types.push((id, text(until_zero(fields.rest())))))
            }
            kind::HEADER_TRACING_DATA => {
                self.take_tracing_data(record.payload);
                Some(())
            }
            kind::HEADER_BUILD_ID => self.take_build_id(record.misc, fields),
            kind::HEADER_FEATURE => {
                fields.u64().map(|number| self.take_feature(number, fields.rest(), order))
            }
            kind::EVENT_UPDATE => self.take_update(fields),
            _ => return false,
        };
        if fine.is_none() {
            self.damaged += 1;
        }
        record.kind == kind::HEADER_FEATURE
    }

    /// Takes the name of an event that comes after its attributes.
    fn take_update(&mut self, mut fields: Bytes<'_>) -> Option<()> {
        /// The kind of update that brings a name.
        const NAME: u64 = 2;
        let (what, id) = (fields.u64()?, fields.u64()?);
        let event = self.event_with_id(id).and_then(|row| self.events.get_mut(row))?;
        if what == NAME {
            event.name = Some(text(until_zero(fields.rest())));
        }
        Some(())
    }

    fn add_event(&mut self, event: RecordedEvent) {
        let row = self.events.len();
        if row < MOST_EVENTS {
            self.event_of_id.extend(event.ids.iter().map(|id| (*id, row)));
            self.events.push(event);
        }
    }

    /// The row of the event with an id.
    pub fn event_with_id(&self, id: u64) -> Option<usize> {
        self.event_of_id.get(&id).copied()
    }

    /// The event that wrote a record, with its row.
    pub fn event_of(
        &self,
        record: Record<'_>,
        order: ByteOrder,
    ) -> Option<(usize, &RecordedEvent)> {
        let first = self.events.first()?;
        if self.events.len() == 1 {
            return Some((0, first));
        }
        // All events of a file have their id at the same place.
        let sample_type = first.attr.sample_type;
        let at = if record.kind == kind::SAMPLE {
            id_position(sample_type)
        } else {
            id_position_from_end(sample_type)
                .and_then(|behind| record.body.len().checked_sub(behind))
        };
        let id = at.and_then(|at| Bytes::new(record.body.get(at..)?, order).u64());
        let row = id.and_then(|id| self.event_with_id(id)).unwrap_or(0);
        Some((row, self.events.get(row)?))
    }

    /// The name of an event.
    pub fn event_name(&self, event: &RecordedEvent) -> String {
        if let Some(name) = event.name.as_ref().filter(|name| !name.is_empty()) {
            return name.clone();
        }
        if let Some(format) = event.attr.tracepoint().and_then(|id| self.formats.get(&id)) {
            return format!("{}:{}", format.system, format.name);
        }
        let listed = self.event_types.iter().find(|(id, _)| *id == event.attr.config);
        let known = listed.filter(|_| event.attr.kind == 0 || event.attr.tracepoint().is_some());
        known.map_or_else(|| event.attr.name(), |(_, name)| name.clone())
    }
}

/// A string with its length in front, padded with zeros.
fn string(fields: &mut Bytes<'_>) -> Option<String> {
    let length = fields.u32()? as usize;
    Some(text(fields.take(length)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magic_and_header_size_say_how_to_read() {
        let opening_of = |magic: &[u8], size: [u8; 8]| opening(&[magic, &size].concat());
        let (little, big) = (ByteOrder::Little, ByteOrder::Big);
        let file = |order| Some(Opening { order, shape: Shape::File });
        let pipe = |order| Some(Opening { order, shape: Shape::Pipe });
        assert_eq!(opening_of(b"PERFILE2", 104u64.to_le_bytes()), file(little));
        assert_eq!(opening_of(b"2ELIFREP", 104u64.to_be_bytes()), file(big));
        assert_eq!(opening_of(b"PERFFILE", 104u64.to_le_bytes()), file(little));
        assert_eq!(opening_of(b"PERFFILE", 104u64.to_be_bytes()), file(big));
        assert_eq!(opening_of(b"PERFILE2", 16u64.to_le_bytes()), pipe(little));
        assert_eq!(opening_of(b"2ELIFREP", 16u64.to_be_bytes()), pipe(big));
        assert_eq!(opening_of(b"PERFILE3", 16u64.to_le_bytes()), None);
        assert_eq!(opening(b"PERFILE2"), None);
    }
}
