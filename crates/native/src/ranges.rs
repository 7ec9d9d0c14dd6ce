//! Where functions begin and end in binaries without symbols, from the unwind tables that nearly all of them keep.

use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, RunTimeEndian, UnwindSection as _};

use crate::binary::UnwindSections;
use crate::bytes::ByteOrder;

/// Functions as ranges of addresses, sorted, without overlaps.
#[derive(Debug, Default)]
pub struct FunctionRanges(Vec<FunctionRange>);

/// The addresses of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionRange {
    pub start: u64,
    pub end: u64,
    /// It goes on in its middle where what it called threw an exception.
    pub catches: bool,
}

impl FunctionRanges {
    /// The ranges that `.eh_frame` describes; what is damaged there is left out.
    pub fn of_sections(sections: &UnwindSections, order: ByteOrder) -> Self {
        let Some((start, bytes)) = &sections.eh_frame else { return Self::default() };
        let endian = match order {
            ByteOrder::Little => RunTimeEndian::Little,
            ByteOrder::Big => RunTimeEndian::Big,
        };
        let mut section = EhFrame::from(EndianSlice::new(bytes, endian));
        section.set_address_size(if sections.wide { 8 } else { 4 });
        let mut bases = BaseAddresses::default().set_eh_frame(*start);
        if let Some((start, _)) = sections.text {
            bases = bases.set_text(start);
        }
        let mut ranges = Vec::new();
        let mut entries = section.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            if let CieOrFde::Fde(partial) = entry
                && let Ok(function) = partial.parse(EhFrame::cie_from_offset)
                && function.len() > 0
            {
                let start = function.initial_address();
                let end = start.saturating_add(function.len());
                let catches = function.lsda().is_some();
                ranges.push(FunctionRange { start, end, catches });
            }
        }
        ranges.sort_unstable_by_key(|range| (range.start, range.end, range.catches));
        ranges.dedup_by_key(|range| range.start);
        Self(ranges)
    }

    /// The function that holds `address`.
    pub fn holding(&self, address: u64) -> Option<FunctionRange> {
        let after = self.0.partition_point(|range| range.start <= address);
        let range = *self.0.get(after.checked_sub(1)?)?;
        (address < range.end).then_some(range)
    }
}
