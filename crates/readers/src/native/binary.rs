//! One binary with everything a profile asks of it: symbols, function ranges, lines, inlines, unwind tables.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

use super::bytes::ByteOrder;
use super::dwarf::{Dwarf, SourceFrame};
use super::elf::{Elf, Segment};
use super::locate;
use super::ranges::FunctionRanges;
use super::symbols::{SymbolAt, SymbolTable};

/// The sections that say how to get from a frame to its caller, with their addresses.
#[derive(Clone, Debug, Default)]
pub struct UnwindSections {
    pub eh_frame: Option<(u64, Arc<[u8]>)>,
    pub eh_frame_hdr: Option<(u64, Arc<[u8]>)>,
    pub debug_frame: Option<Arc<[u8]>>,
    pub text: Option<(u64, u64)>,
    pub got: Option<(u64, u64)>,
    /// 64-bit addresses.
    pub wide: bool,
}

/// A binary on disk that is the one that was recorded.
pub struct Binary {
    order: ByteOrder,
    segments: Vec<Segment>,
    symbols: SymbolTable,
    unwind: UnwindSections,
    ranges: OnceCell<FunctionRanges>,
    dwarf: Option<Dwarf>,
}

impl Binary {
    /// Opens a binary; with a build id only if it is that build.
    pub fn open(path: &Path, build_id: Option<&[u8]>) -> Option<Self> {
        let mut elf = Elf::open(path)?;
        if let Some(wanted) = build_id
            && !elf.build_id().is_some_and(|found| locate::same_build(&found, wanted))
        {
            return None;
        }
        Some(Self::of_elf(elf))
    }

    /// Takes an open ELF file, and the separate file with its debug information, if there is one.
    pub fn of_elf(mut elf: Elf) -> Self {
        let mut symbols = SymbolTable::of_elf(&mut elf);
        let mut dwarf = Dwarf::of_elf(&mut elf);
        if (elf.section(b".symtab").is_none() || dwarf.is_none())
            && let Some(mut debug) = locate::debug_file_for(&mut elf)
        {
            if elf.section(b".symtab").is_none() {
                let more = SymbolTable::of_elf(&mut debug);
                if !more.is_empty() {
                    symbols = more;
                }
            }
            dwarf = dwarf.or_else(|| Dwarf::of_elf(&mut debug));
        }
        let place = |elf: &Elf, name: &[u8]| {
            elf.section(name).map(|s| (s.address, s.address.saturating_add(s.size)))
        };
        let with_bytes = |elf: &mut Elf, name: &[u8]| {
            let (start, _) = place(elf, name)?;
            Some((start, elf.shared_bytes(name)?))
        };
        let unwind = UnwindSections {
            eh_frame: with_bytes(&mut elf, b".eh_frame"),
            eh_frame_hdr: with_bytes(&mut elf, b".eh_frame_hdr"),
            debug_frame: elf.shared_bytes(b".debug_frame"),
            text: place(&elf, b".text"),
            got: place(&elf, b".got"),
            wide: elf.wide,
        };
        Self {
            order: elf.order,
            segments: elf.segments,
            symbols,
            unwind,
            ranges: OnceCell::new(),
            dwarf,
        }
    }

    /// The address that the byte at `offset` of the file is linked for.
    pub fn address_of_offset(&self, offset: u64) -> Option<u64> {
        Elf::address_of_offset(&self.segments, offset)
    }

    /// The symbol that holds an address.
    pub fn symbol(&self, address: u64) -> Option<SymbolAt<'_>> {
        self.symbols.find(address)
    }

    /// The address of a symbol.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        self.symbols.address_of(name)
    }

    /// The start of the function that holds an address, where only the unwind tables know it.
    pub fn function_start(&self, address: u64) -> Option<u64> {
        let ranges =
            self.ranges.get_or_init(|| FunctionRanges::of_sections(&self.unwind, self.order));
        ranges.start_of(address)
    }

    /// The functions at an address, innermost first, by debug information; empty without.
    pub fn source_frames(&self, address: u64) -> Vec<SourceFrame> {
        self.dwarf.as_ref().map(|dwarf| dwarf.frames(address)).unwrap_or_default()
    }

    /// How to get from a frame to its caller.
    pub fn unwind_sections(&self) -> &UnwindSections {
        &self.unwind
    }
}
