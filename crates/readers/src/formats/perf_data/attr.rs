//! What was recorded: the attributes of each event and the name people know it by.

use perfblame_native::{ByteOrder, Bytes};

/// Parts a sample record may have, `PERF_SAMPLE_*`.
pub mod part {
    pub const IP: u64 = 1;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const BRANCH_STACK: u64 = 1 << 11;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    pub const IDENTIFIER: u64 = 1 << 16;
}

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const TYPE_TRACEPOINT: u32 = 2;
const TYPE_CACHE: u32 = 3;
const TYPE_RAW: u32 = 4;
const TYPE_BREAKPOINT: u32 = 5;

const HARDWARE: &[&str] = &[
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
];

const SOFTWARE: &[&str] = &[
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
    "cgroup-switches",
];

const CACHES: &[&str] = &["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];
const CACHE_OPERATIONS: &[&str] = &["load", "store", "prefetch"];

/// The kernel's `perf_event_attr`, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attr {
    pub kind: u32,
    pub config: u64,
    /// A period, or a frequency when `freq` is set.
    pub period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub branch_type: u64,
    pub regs_user: u64,
    pub stack_user: u32,
    pub clock: Option<i32>,
    pub max_stack: u16,
}

impl Attr {
    /// Reads an attribute and says how many bytes it has; fields that an older kernel did not know stay zero.
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Option<(Self, usize)> {
        let mut sizes = Bytes::new(bytes, order);
        sizes.u32()?;
        let size = match sizes.u32()? as usize {
            // The first version did not fill it in.
            0 => 64,
            size => size,
        };
        let mut fields = Bytes::new(bytes.get(..size)?, order);
        let mut attr = Self { kind: fields.u32()?, ..Self::default() };
        fields.u32()?;
        attr.config = fields.u64()?;
        attr.period = fields.u64()?;
        attr.sample_type = fields.u64()?;
        attr.read_format = fields.u64()?;
        attr.flags = flags(fields.u64()?, order);
        // Wake-ups, breakpoints and two words of configuration.
        let _ = fields.skip(4 + 4 + 8 + 8);
        attr.branch_type = fields.u64().unwrap_or(0);
        attr.regs_user = fields.u64().unwrap_or(0);
        attr.stack_user = fields.u32().unwrap_or(0);
        let clock = fields.u32().unwrap_or(0) as i32;
        attr.clock = attr.flag(25).then_some(clock);
        let _ = fields.skip(8 + 4);
        attr.max_stack = fields.u16().unwrap_or(0);
        Some((attr, size))
    }

    fn flag(&self, bit: u32) -> bool {
        self.flags >> bit & 1 == 1
    }

    /// True when this part is in each sample.
    pub fn has(&self, part: u64) -> bool {
        self.sample_type & part != 0
    }

    /// True when a period is a frequency.
    pub fn is_frequency(&self) -> bool {
        self.flag(10)
    }

    /// True when records other than samples end in thread, time and id.
    pub fn sample_id_all(&self) -> bool {
        self.flag(18)
    }

    /// True for events that count time, in nanoseconds.
    pub fn is_clock(&self) -> bool {
        self.kind == TYPE_SOFTWARE && self.config < 2
    }

    /// True for an event that is there for its other records.
    pub fn is_dummy(&self) -> bool {
        self.kind == TYPE_SOFTWARE && self.config == 9
    }

    /// The number of a tracepoint.
    pub fn tracepoint(&self) -> Option<u64> {
        (self.kind == TYPE_TRACEPOINT).then_some(self.config)
    }

    /// True when every event was seen: a period of one, not a frequency.
    pub fn is_exact(&self) -> bool {
        !self.is_frequency() && self.period == 1
    }

    /// The name that perf's tools would show.
    pub fn name(&self) -> String {
        let listed = |names: &[&str], prefix: &str| {
            let index = usize::try_from(self.config & 0xffff_ffff).ok();
            let name = index.and_then(|index| names.get(index)).copied();
            name.map_or_else(|| format!("{prefix}:{:#x}", self.config), str::to_owned)
        };
        match self.kind {
            TYPE_HARDWARE => listed(HARDWARE, "hardware"),
            TYPE_SOFTWARE => listed(SOFTWARE, "software"),
            TYPE_TRACEPOINT => format!("tracepoint:{}", self.config),
            TYPE_CACHE => {
                let byte = |shift: u32| (self.config >> shift & 0xff) as usize;
                let cache = CACHES.get(byte(0)).copied().unwrap_or("cache");
                let operation = CACHE_OPERATIONS.get(byte(8)).copied().unwrap_or("access");
                let misses = if byte(16) == 1 { "-misses" } else { "s" };
                format!("{cache}-{operation}{misses}")
            }
            TYPE_RAW => format!("r{:x}", self.config),
            TYPE_BREAKPOINT => "breakpoint".to_owned(),
            other => format!("event:{other}:{:#x}", self.config),
        }
    }
}

/// Bit fields start at the low end of a number on little-endian machines, at the high end on others.
fn flags(word: u64, order: ByteOrder) -> u64 {
    match order {
        ByteOrder::Little => word,
        ByteOrder::Big => word.reverse_bits(),
    }
}

/// One recorded event.
#[derive(Clone, Debug, Default)]
pub struct RecordedEvent {
    pub attr: Attr,
    pub ids: Vec<u64>,
    pub name: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_names_people_know() {
        for (kind, config, name) in [
            (0, 1, "instructions"),
            (0, 99, "hardware:0x63"),
            (1, 0, "cpu-clock"),
            (2, 316, "tracepoint:316"),
            (3, 0x1_0000, "L1-dcache-load-misses"),
            (3, 0x0102, "LLC-stores"),
            (4, 0x1c2, "r1c2"),
        ] {
            assert_eq!(Attr { kind, config, ..Attr::default() }.name(), name);
        }
    }

    #[test]
    fn old_and_short_attributes_are_read() {
        let mut bytes = vec![0; 64];
        bytes[16] = 7;
        let (attr, size) = Attr::parse(&bytes, ByteOrder::Little).unwrap();
        assert_eq!((attr.period, size), (7, 64));
        assert!(Attr::parse(&bytes[..63], ByteOrder::Little).is_none());
        assert!(Attr::parse(&[0xff; 64], ByteOrder::Little).is_none());
    }
}
