//! The wire: a header, then objects that hold blocks of stacks, of descriptions of events, and of events.

use hashbrown::HashMap;

use super::version6;
use crate::error::{ReadError, ReadErrorKind};

/// What is before the first block from version 6 on: reserved bytes, then the version, then a lesser version.
const START_6: &[u8] = b"Nettrace\0\0\0\0";

/// What is before the first object.
const START: &[u8] = b"Nettrace\x14\0\0\0!FastSerialization.1";

/// Marks of the serialisation.
const BEGIN_OBJECT: u8 = 5;
const NULL: u8 = 1;
const END_OBJECT: u8 = 6;

/// What the first object says of the whole trace.
#[derive(Clone, Copy, Debug)]
pub struct NettraceTrace {
    /// Ticks at the start.
    start: u64,
    /// Ticks per second.
    frequency: u64,
    /// Bytes of an address.
    pub pointer: usize,
    pub pid: u64,
    pub processors: u32,
    /// Nanoseconds since 1970.
    pub started: Option<i64>,
}

impl NettraceTrace {
    /// Reads what every version starts with: time, ticks, their frequency, the size of addresses.
    fn read(about: &[u8], at: usize) -> Result<Self, ReadError> {
        let number = |at: usize| u64_at(about, at).unwrap_or(0);
        let pointer = u32_at(about, 32).unwrap_or(0);
        if pointer != 4 && pointer != 8 {
            let message = format!("addresses of {pointer} bytes");
            return Err(ReadError::malformed(at as u64 + 32, message));
        }
        Ok(Self {
            start: number(16),
            frequency: number(24),
            pointer: pointer as usize,
            pid: 0,
            processors: 0,
            started: started(about),
        })
    }

    /// A span of ticks as nanoseconds.
    pub fn span(&self, ticks: u64) -> i64 {
        let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(self.frequency.max(1));
        i64::try_from(nanoseconds).unwrap_or(i64::MAX)
    }

    /// Ticks as nanoseconds since the start.
    pub fn nanoseconds(&self, ticks: u64) -> i64 {
        let since = i128::from(ticks) - i128::from(self.start);
        let nanoseconds = since * 1_000_000_000 / i128::from(self.frequency.max(1));
        i64::try_from(nanoseconds).unwrap_or(i64::MAX)
    }
}

/// What an event is, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NettraceBlockKind {
    /// A thread was sampled.
    Sample,
    /// An event of `Universal.Events`, which has a value and a stack.
    Valued,
    /// An event of `Universal.System`, which tells of processes and their code.
    System,
    /// Some 100 KB were allocated since the last of these.
    Allocation,
    /// A method's code and names.
    Method,
}

/// The blocks in their order.
pub struct NettraceBlocks<'a> {
    bytes: &'a [u8],
    pub at: usize,
    /// The walk ended before the mark that ends a trace.
    pub is_cut: bool,
    /// Blocks are those of version 6.
    is_6: bool,
}

/// One block.
pub enum NettraceBlock<'a> {
    Stacks(NettraceStacks<'a>),
    Metadata(Events<'a>),
    Events(Events<'a>),
    /// Descriptions of events, of version 6.
    Descriptions(&'a [u8]),
    /// Threads, of version 6.
    Threads(&'a [u8]),
}

impl<'a> NettraceBlocks<'a> {
    /// Reads the start of a trace.
    pub fn open(bytes: &'a [u8]) -> Result<(NettraceTrace, Self), ReadError> {
        let version = u32_at(bytes, START_6.len()).filter(|_| bytes.starts_with(START_6));
        if version == Some(6) {
            return Self::open_6(bytes);
        }
        if !bytes.starts_with(START) {
            let version = version.map_or(String::new(), |version| format!(" ({version})"));
            let message = format!(
                "this version{version} of .NET's trace format is not supported; versions 4 to 6 are"
            );
            let help = "`dotnet-trace collect` of .NET 9 and earlier writes version 4";
            return Err(ReadError::unsupported(message).at(8).help(help));
        }
        let mut blocks = Self { bytes, at: START.len(), is_cut: false, is_6: false };
        let truncated = || {
            ReadError::new(ReadErrorKind::Truncated {
                wanted: 64,
                left: (bytes.len() - START.len()) as u64,
            })
            .at(START.len() as u64)
        };
        let name = blocks.object().ok_or_else(truncated)?;
        if name != b"Trace" {
            return Err(ReadError::malformed(
                START.len() as u64,
                "the trace does not start with its description",
            ));
        }
        let about = bytes.get(blocks.at..blocks.at + 48).ok_or_else(truncated)?;
        let trace = NettraceTrace {
            pid: u64::from(u32_at(about, 36).unwrap_or(0)),
            processors: u32_at(about, 40).unwrap_or(0),
            ..NettraceTrace::read(about, blocks.at)?
        };
        blocks.at += 48;
        if bytes.get(blocks.at) == Some(&END_OBJECT) {
            blocks.at += 1;
        }
        Ok((trace, blocks))
    }

    fn open_6(bytes: &'a [u8]) -> Result<(NettraceTrace, Self), ReadError> {
        let at = START_6.len() + 8;
        let Some((version6::TRACE, about)) = version6::block(bytes, at) else {
            let message = "the trace does not start with its description";
            return Err(ReadError::malformed(at as u64, message));
        };
        let mut trace = NettraceTrace::read(about, at + 4)?;
        // Behind the fixed part: how many, then keys and values.
        let mut rest = version6::Version6Bytes(about.get(40..).unwrap_or_default());
        for _ in 0..u32_at(about, 36).unwrap_or(0) {
            let (Some(key), Some(value)) = (rest.text(), rest.text()) else { break };
            match key.as_str() {
                "ProcessId" => trace.pid = value.parse().unwrap_or(0),
                "HardwareThreadCount" => trace.processors = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        Ok((trace, Self { bytes, at: at + 4 + about.len(), is_cut: false, is_6: true }))
    }

    fn next_6(&mut self) -> Option<NettraceBlock<'a>> {
        loop {
            let Some((kind, body)) = version6::block(self.bytes, self.at) else {
                self.is_cut = true;
                return None;
            };
            if kind == version6::END {
                return None;
            }
            self.at += 4 + body.len();
            match kind {
                version6::STACKS => return Some(NettraceBlock::Stacks(NettraceStacks::new(body))),
                version6::EVENTS => {
                    return Some(NettraceBlock::Events(Events { is_6: true, ..Events::new(body) }));
                }
                version6::METADATA => return Some(NettraceBlock::Descriptions(body)),
                version6::THREADS => return Some(NettraceBlock::Threads(body)),
                // Numbers that a sequence point frees are given anew before they are used again.
                _ => {}
            }
        }
    }

    /// The type of the object that starts here; the walk goes on behind its header.
    fn object(&mut self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.at..)?;
        let fits = rest.starts_with(&[BEGIN_OBJECT, BEGIN_OBJECT, NULL]);
        let length = u32_at(rest, 11).filter(|_| fits)? as usize;
        let name = rest.get(15..15usize.checked_add(length)?)?;
        if rest.get(15 + length) != Some(&END_OBJECT) {
            return None;
        }
        self.at += 16 + length;
        Some(name)
    }

    fn block(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let name = self.object()?;
        let size = u32_at(self.bytes, self.at)? as usize;
        // Blocks start at multiples of four bytes of the file.
        let start = self.at.checked_add(4 + 3)? & !3;
        let body = self.bytes.get(start..start.checked_add(size)?)?;
        self.at = start + size;
        if self.bytes.get(self.at) == Some(&END_OBJECT) {
            self.at += 1;
        }
        Some((name, body))
    }
}

impl<'a> Iterator for NettraceBlocks<'a> {
    type Item = NettraceBlock<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_6 {
            return self.next_6();
        }
        loop {
            if self.bytes.get(self.at) == Some(&NULL) {
                return None;
            }
            let Some((name, body)) = self.block() else {
                self.is_cut = true;
                return None;
            };
            match name {
                b"StackBlock" => return Some(NettraceBlock::Stacks(NettraceStacks::new(body))),
                b"MetadataBlock" => return Some(NettraceBlock::Metadata(Events::new(body))),
                b"EventBlock" => return Some(NettraceBlock::Events(Events::new(body))),
                // Sequence points, and what later versions may add.
                _ => {}
            }
        }
    }
}

/// The stacks of a block with their numbers, each a list of addresses, innermost first.
pub struct NettraceStacks<'a> {
    id: u32,
    left: u32,
    rest: &'a [u8],
}

impl<'a> NettraceStacks<'a> {
    fn new(body: &'a [u8]) -> Self {
        let id = u32_at(body, 0).unwrap_or(0);
        Self { id, left: u32_at(body, 4).unwrap_or(0), rest: body.get(8..).unwrap_or(&[]) }
    }
}

impl<'a> Iterator for NettraceStacks<'a> {
    type Item = (u32, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let length = u32_at(self.rest, 0)? as usize;
        let stack = self.rest.get(4..4usize.checked_add(length)?)?;
        self.rest = &self.rest[4 + length..];
        let id = self.id;
        self.id = self.id.wrapping_add(1);
        Some((id, stack))
    }
}

/// One event.
#[derive(Clone, Copy, Default, Debug)]
pub struct NettraceEvent<'a> {
    pub metadata: u32,
    pub thread: u64,
    pub stack: u32,
    pub time: u64,
    pub payload: &'a [u8],
}

/// The events of a block. Each says only what differs from the one before.
#[derive(Clone)]
pub struct Events<'a> {
    rest: &'a [u8],
    is_compressed: bool,
    is_6: bool,
    last: NettraceEvent<'a>,
    length: usize,
}

/// An event that contradicts the format; the rest of its block cannot be found.
pub struct Damaged;

impl<'a> Events<'a> {
    fn new(body: &'a [u8]) -> Self {
        let header = u16_at(body, 0).unwrap_or(0).into();
        let is_compressed = u16_at(body, 2).unwrap_or(0) & 1 != 0;
        Self {
            rest: body.get(header..).unwrap_or(&[]),
            is_compressed,
            is_6: false,
            last: NettraceEvent::default(),
            length: 0,
        }
    }

    fn compressed(&mut self) -> Option<NettraceEvent<'a>> {
        let flags = self.take(1)?[0];
        let has = |bit: u8| flags & bit != 0;
        if has(1) {
            self.last.metadata = self.varint()? as u32;
        }
        if has(2) {
            // Order, thread and processor of whoever wrote the event down.
            for _ in 0..3 {
                self.varint()?;
            }
        }
        if has(4) {
            self.last.thread = self.varint()?;
        }
        if has(8) {
            self.last.stack = self.varint()? as u32;
        }
        self.last.time = self.last.time.wrapping_add(self.varint()?);
        // Activities, or from version 6 on the number of a list of labels.
        if self.is_6 && has(16) {
            self.varint()?;
        }
        for bit in [16, 32] {
            if has(bit) && !self.is_6 {
                self.take(16)?;
            }
        }
        if has(128) {
            self.length = usize::try_from(self.varint()?).ok()?;
        }
        self.last.payload = self.take(self.length)?;
        Some(self.last)
    }

    /// Size, description, order, thread, its recorder, processor, stack, time, two activities, length, payload.
    /// From version 6 on, the number of a list of labels stands in the place of the activities.
    fn plain(&mut self) -> Option<NettraceEvent<'a>> {
        let size = if self.is_6 { 52 } else { 80 };
        let header = self.take(size)?;
        let length = u32_at(header, size - 4)? as usize;
        let event = NettraceEvent {
            metadata: u32_at(header, 4)? & 0x7fff_ffff,
            thread: u64_at(header, 12)?,
            stack: u32_at(header, 32)?,
            time: u64_at(header, 36)?,
            payload: self.take(length)?,
        };
        // Events were filled up to multiples of four bytes.
        if !self.is_6 {
            self.take((4 - length % 4) % 4)?;
        }
        Some(event)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let (value, length) = crate::encodings::protobuf::varint(self.rest)?;
        self.rest = &self.rest[length..];
        Some(value)
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<NettraceEvent<'a>, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let event = if self.is_compressed { self.compressed() } else { self.plain() };
        if event.is_none() {
            self.rest = &[];
        }
        Some(event.ok_or(Damaged))
    }
}

/// Takes the description of an event: its number in this file, provider, its number there, and more.
pub fn take_metadata(kinds: &mut HashMap<u32, NettraceBlockKind>, payload: &[u8]) {
    let parts = || {
        let id = u32_at(payload, 0)?;
        let (provider, at) = text_at(payload, 4)?;
        Some((id, provider, u32_at(payload, at)?))
    };
    let Some((id, provider, event)) = parts() else { return };
    kinds.extend(kind_of(&provider, event).map(|kind| (id, kind)));
}

/// What the event of a provider is; none for those that do not matter.
pub fn kind_of(provider: &str, event: u32) -> Option<NettraceBlockKind> {
    Some(match (provider, event) {
        ("Microsoft-DotNETCore-SampleProfiler", 0) => NettraceBlockKind::Sample,
        ("Microsoft-Windows-DotNETRuntime", 10) => NettraceBlockKind::Allocation,
        ("Microsoft-Windows-DotNETRuntime", 143) => NettraceBlockKind::Method,
        ("Microsoft-Windows-DotNETRuntimeRundown", 143 | 144) => NettraceBlockKind::Method,
        ("Universal.Events", _) => NettraceBlockKind::Valued,
        ("Universal.System", _) => NettraceBlockKind::System,
        _ => return None,
    })
}

/// A text of 16-bit units that ends in 0, and where what follows it starts.
pub fn text_at(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let units = bytes.get(at..)?.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    let end = at + 2 * units.len() + 2;
    (end <= bytes.len()).then(|| (String::from_utf16_lossy(&units), end))
}

pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let found = bytes.get(at..at.checked_add(2)?)?;
    found.try_into().ok().map(u16::from_le_bytes)
}

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let found = bytes.get(at..at.checked_add(4)?)?;
    found.try_into().ok().map(u32::from_le_bytes)
}

pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let found = bytes.get(at..at.checked_add(8)?)?;
    found.try_into().ok().map(u64::from_le_bytes)
}

/// Year, month, day of the week, day, hour, minute, second, millisecond, as nanoseconds since 1970.
fn started(about: &[u8]) -> Option<i64> {
    let part = |row: usize| u16_at(about, 2 * row).map(i64::from);
    let (year, month, day) = (part(0)?, part(1)?, part(3)?);
    if !(1970..2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970, counting years from March so that the leap day comes last.
    let shifted = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    let days =
        365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * month + 2) / 5 + day
            - 1
            - 719_468;
    let seconds = days * 86_400 + part(4)? * 3_600 + part(5)? * 60 + part(6)?;
    seconds.checked_mul(1_000)?.checked_add(part(7)?)?.checked_mul(1_000_000)
}
