//! One sample: its parts in the order the kernel writes them.

use perfblame_native::{ByteOrder, Bytes};

use super::attr::{Attr, part};

const READ_TIME_ENABLED: u64 = 1;
const READ_TIME_RUNNING: u64 = 2;
const READ_ID: u64 = 4;
const READ_GROUP: u64 = 8;
const READ_LOST: u64 = 16;

const BRANCH_HARDWARE_INDEX: u64 = 1 << 17;
const BRANCH_COUNTERS: u64 = 1 << 19;

/// A sample; lists stay where they are in the file.
#[derive(Clone, Debug, Default)]
pub struct Sample<'a> {
    pub ip: Option<u64>,
    pub pid: u32,
    pub tid: u32,
    pub time: Option<u64>,
    pub id: Option<u64>,
    pub period: Option<u64>,
    /// Addresses and context marks, innermost first, eight bytes each.
    pub chain: Option<&'a [u8]>,
    /// What a tracepoint passed along.
    pub raw: Option<&'a [u8]>,
    /// Last branches, latest first: from, to, flags.
    pub branches: &'a [u8],
    /// Values of a whole group of counters.
    pub group: Vec<(u64, u64)>,
    pub registers: Option<Registers<'a>>,
    pub stack: &'a [u8],
}

/// Registers of the user's side.
#[derive(Clone, Copy, Debug)]
pub struct Registers<'a> {
    /// 1 for 32 bits, 2 for 64.
    pub abi: u64,
    mask: u64,
    values: &'a [u8],
    order: ByteOrder,
}

impl Registers<'_> {
    /// The value of a register by the kernel's number.
    pub fn get(&self, number: u32) -> Option<u64> {
        if self.mask >> number & 1 == 0 {
            return None;
        }
        let before = (self.mask & ((1u64 << number) - 1)).count_ones() as usize;
        Bytes::new(self.values.get(before * 8..)?, self.order).u64()
    }
}

impl<'a> Sample<'a> {
    /// Reads a sample that was taken with these attributes; none when it is damaged.
    pub fn parse(body: &'a [u8], attr: &Attr, order: ByteOrder) -> Option<Self> {
        let mut fields = Bytes::new(body, order);
        let mut sample = Self::default();
        if attr.has(part::IDENTIFIER) {
            sample.id = Some(fields.u64()?);
        }
        if attr.has(part::IP) {
            sample.ip = Some(fields.u64()?);
        }
        if attr.has(part::TID) {
            (sample.pid, sample.tid) = (fields.u32()?, fields.u32()?);
        }
        if attr.has(part::TIME) {
            sample.time = Some(fields.u64()?);
        }
        if attr.has(part::ADDR) {
            fields.u64()?;
        }
        if attr.has(part::ID) {
            sample.id = Some(fields.u64()?);
        }
        if attr.has(part::STREAM_ID) {
            fields.u64()?;
        }
        if attr.has(part::CPU) {
            fields.u64()?;
        }
        if attr.has(part::PERIOD) {
            sample.period = Some(fields.u64()?);
        }
        if attr.has(part::READ) {
            sample.group = read_values(&mut fields, attr.read_format)?;
        }
        if attr.has(part::CALLCHAIN) {
            let count = fields.u64()?;
            sample.chain = Some(fields.take_u64(count.checked_mul(8)?)?);
        }
        if attr.has(part::RAW) {
            let size = fields.u32()? as usize;
            sample.raw = Some(fields.take(size)?);
            fields.skip((size + 4).wrapping_neg() & 7)?;
        }
        if attr.has(part::BRANCH_STACK) {
            let count = fields.u64()?;
            if attr.branch_type & BRANCH_HARDWARE_INDEX != 0 {
                fields.u64()?;
            }
            sample.branches = fields.take_u64(count.checked_mul(24)?)?;
            if attr.branch_type & BRANCH_COUNTERS != 0 {
                fields.take_u64(count.checked_mul(8)?)?;
            }
        }
        if attr.has(part::REGS_USER) {
            let abi = fields.u64()?;
            if abi != 0 {
                let values = fields.take(attr.regs_user.count_ones() as usize * 8)?;
                sample.registers = Some(Registers { abi, mask: attr.regs_user, values, order });
            }
        }
        if attr.has(part::STACK_USER) {
            let size = fields.u64()?;
            let dumped = fields.take_u64(size)?;
            if size > 0 {
                let used = usize::try_from(fields.u64()?).ok()?;
                sample.stack = dumped.get(..used.min(dumped.len()))?;
            }
        }
        Some(sample)
    }
}

fn read_values(fields: &mut Bytes<'_>, format: u64) -> Option<Vec<(u64, u64)>> {
    let mut values = Vec::new();
    let count = if format & READ_GROUP != 0 {
        fields.u64()?
    } else {
        fields.u64()?;
        0
    };
    for flag in [READ_TIME_ENABLED, READ_TIME_RUNNING] {
        if format & flag != 0 {
            fields.u64()?;
        }
    }
    if format & READ_GROUP == 0 {
        for flag in [READ_ID, READ_LOST] {
            if format & flag != 0 {
                fields.u64()?;
            }
        }
        return Some(values);
    }
    for _ in 0..count {
        let value = fields.u64()?;
        let id = if format & READ_ID != 0 { fields.u64()? } else { 0 };
        if format & READ_LOST != 0 {
            fields.u64()?;
        }
        values.push((id, value));
    }
    Some(values)
}

/// Where the id of the event is in a sample, in bytes from the front; none when samples have no id.
pub fn id_position(sample_type: u64) -> Option<usize> {
    if sample_type & part::IDENTIFIER != 0 {
        return Some(0);
    }
    let before = [part::IP, part::TID, part::TIME, part::ADDR];
    let position = before.iter().filter(|part| sample_type & **part != 0).count();
    (sample_type & part::ID != 0).then_some(position * 8)
}

/// Where the id of the event is in another record, in bytes from the end.
pub fn id_position_from_end(sample_type: u64) -> Option<usize> {
    if sample_type & part::IDENTIFIER != 0 {
        return Some(8);
    }
    let behind = [part::ID, part::STREAM_ID, part::CPU];
    let position = behind.iter().filter(|part| sample_type & **part != 0).count();
    (sample_type & part::ID != 0).then_some(position * 8)
}

/// The time in a sample's front or in the end of another record; none when it has none.
pub fn time_of(is_sample: bool, body: &[u8], attr: &Attr, order: ByteOrder) -> Option<u64> {
    if !attr.has(part::TIME) {
        return None;
    }
    let count = |parts: &[u64]| parts.iter().filter(|part| attr.has(**part)).count() * 8;
    let at = if is_sample {
        count(&[part::IDENTIFIER, part::IP, part::TID])
    } else {
        let behind = count(&[part::TIME, part::ID, part::STREAM_ID, part::CPU, part::IDENTIFIER]);
        if !attr.sample_id_all() {
            return None;
        }
        body.len().checked_sub(behind)?
    };
    Bytes::new(body.get(at..)?, order).u64()
}

/// Process, thread and time in the end of a record that is no sample; none when it does not have all of them.
pub fn id_of(body: &[u8], attr: &Attr, order: ByteOrder) -> Option<(u32, u32, u64)> {
    if !attr.sample_id_all() || !attr.has(part::TIME) || !attr.has(part::TID) {
        return None;
    }
    let parts = [part::TID, part::TIME, part::ID, part::STREAM_ID, part::CPU, part::IDENTIFIER];
    let behind = parts.iter().filter(|part| attr.has(**part)).count() * 8;
    let mut fields = Bytes::new(body.get(body.len().checked_sub(behind)?..)?, order);
    Some((fields.u32()?, fields.u32()?, fields.u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn parts_come_in_the_kernels_order() {
        let sample_type = part::IDENTIFIER
            | part::IP
            | part::TID
            | part::TIME
            | part::PERIOD
            | part::CALLCHAIN
            | part::REGS_USER
            | part::STACK_USER;
        let attr = Attr { sample_type, regs_user: 0b1_1000_0000, ..Attr::default() };
        let body = words(&[9, 0x1000, 7 | 8 << 32, 55, 100, 2, 1, 2, 2, 71, 81, 16, 1, 2, 8]);
        let sample = Sample::parse(&body, &attr, ByteOrder::Little).unwrap();
        assert_eq!((sample.id, sample.ip), (Some(9), Some(0x1000)));
        assert_eq!((sample.pid, sample.tid, sample.time), (7, 8, Some(55)));
        assert_eq!(sample.chain.map(<[u8]>::len), Some(16));
        let registers = sample.registers.unwrap();
        assert_eq!(
            (registers.get(7), registers.get(8), registers.get(0)),
            (Some(71), Some(81), None)
        );
        assert_eq!(sample.stack, 1u64.to_le_bytes());
        assert_eq!(time_of(true, &body, &attr, ByteOrder::Little), Some(55));
        for cut in 0..body.len() {
            assert!(Sample::parse(&body[..cut], &attr, ByteOrder::Little).is_none(), "{cut}");
        }
    }

    #[test]
    fn counts_beyond_the_record_are_damage() {
        let attr = Attr { sample_type: part::CALLCHAIN, ..Attr::default() };
        for count in [2, u64::MAX, u64::MAX / 8 + 2] {
            assert!(Sample::parse(&words(&[count, 1]), &attr, ByteOrder::Little).is_none());
        }
    }

    #[test]
    fn a_group_of_counters_is_read() {
        let attr =
            Attr { sample_type: part::READ, read_format: READ_GROUP | READ_ID, ..Attr::default() };
        let body = words(&[2, 10, 1, 20, 2]);
        let sample = Sample::parse(&body, &attr, ByteOrder::Little).unwrap();
        assert_eq!(sample.group, [(1, 10), (2, 20)]);
    }
}
