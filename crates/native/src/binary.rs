//! One binary with everything a profile asks of it: where it is linked and how to walk its stacks; and, apart from that
//! so that another thread can do it, the names of its functions: symbols, function ranges, lines, inlines.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::dwarf::{Dwarf, SourceFrame};
use crate::elf::Elf;
use crate::locate;
use crate::mini_debug::mini_debug_file;
use crate::ranges::{FunctionRange, FunctionRanges};
use crate::symbols::{SymbolAt, SymbolTable};

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
    elf: Elf,
    unwind: OnceLock<UnwindSections>,
}

impl Binary {
    /// Opens a binary; with a build id only if it is that build.
    pub fn open(path: &Path, build_id: Option<&[u8]>) -> Option<Self> {
        let elf = Elf::open(path)?;
        if let Some(wanted) = build_id
            && !elf.build_id().is_some_and(|found| locate::same_build(&found, wanted))
        {
            return None;
        }
        Some(Self::of_elf(elf))
    }

    /// Takes an open ELF file.
    pub fn of_elf(elf: Elf) -> Self {
        Self { elf, unwind: OnceLock::new() }
    }

    /// The address that the byte at `offset` of the file is linked for.
    pub fn address_of_offset(&self, offset: u64) -> Option<u64> {
        Elf::address_of_offset(&self.elf.segments, offset)
    }

    /// How to get from a frame to its caller.
    pub fn unwind_sections(&self) -> &UnwindSections {
        self.unwind.get_or_init(|| {
            let sections = UnwindSections::of_elf(&self.elf);
            self.elf.close();
            sections
        })
    }
}

impl UnwindSections {
    fn of_elf(elf: &Elf) -> Self {
        let place =
            |name: &[u8]| elf.section(name).map(|s| (s.address, s.address.saturating_add(s.size)));
        let with_bytes = |name: &[u8]| {
            let (start, _) = place(name)?;
            Some((start, elf.shared_bytes(name)?))
        };
        Self {
            eh_frame: with_bytes(b".eh_frame"),
            eh_frame_hdr: with_bytes(b".eh_frame_hdr"),
            debug_frame: elf.shared_bytes(b".debug_frame"),
            text: place(b".text"),
            got: place(b".got"),
            wide: elf.wide,
        }
    }
}

/// The names of a binary's functions.
pub struct BinaryNames {
    binary: Arc<Binary>,
    symbols: SymbolTable,
    dwarf: Option<Dwarf>,
    ranges: OnceCell<FunctionRanges>,
}

impl BinaryNames {
    /// The names in a binary, and in the separate file with its debug information, if there is one.
    pub fn of_binary(binary: Arc<Binary>) -> Self {
        let elf = &binary.elf;
        let mut symbols = SymbolTable::default();
        let mut dwarf = Dwarf::of_elf(elf);
        let stripped = elf.section(b".symtab").is_none();
        if (stripped || dwarf.is_none())
            && let Some(debug) = locate::debug_file_for(elf)
        {
            if stripped {
                symbols = SymbolTable::of_elf(&debug);
            }
            dwarf = dwarf.or_else(|| Dwarf::of_elf(&debug));
        }
        if symbols.is_empty() {
            let mini = if stripped { mini_debug_file(elf) } else { None };
            symbols = SymbolTable::with_more(elf, mini.as_ref());
        }
        elf.close();
        Self { binary, symbols, dwarf, ranges: OnceCell::new() }
    }

    /// The symbol that holds an address.
    pub fn symbol(&self, address: u64) -> Option<SymbolAt> {
        self.symbols.find(address)
    }

    /// The name of a symbol.
    pub fn name(&self, symbol: SymbolAt) -> Option<String> {
        self.symbols.name(symbol)
    }

    /// The address of a symbol.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        self.symbols.address_of(name)
    }

    /// The start of the function that holds an address, where only the unwind tables know it.
    pub fn function_start(&self, address: u64) -> Option<u64> {
        self.function_range(address).map(|range| range.start)
    }

    /// The function that holds an address, by the unwind tables.
    pub fn function_range(&self, address: u64) -> Option<FunctionRange> {
        let ranges = self.ranges.get_or_init(|| {
            FunctionRanges::of_sections(self.binary.unwind_sections(), self.binary.elf.order)
        });
        ranges.holding(address)
    }

    /// The machine code of x86-64 at an address; none where it is not that, or not in the file.
    pub fn code(&self, start: u64, size: u64) -> Option<Vec<u8>> {
        let elf = &self.binary.elf;
        let code = if elf.is_x86_64() { elf.code(start, size) } else { None };
        elf.close();
        code
    }

    /// The address that the byte at `offset` of the file is linked for.
    pub fn address_of_offset(&self, offset: u64) -> Option<u64> {
        self.binary.address_of_offset(offset)
    }

    /// True for names of one and the same open file.
    pub fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.binary, &other.binary)
    }

    /// The functions at an address, innermost first, by debug information; empty without.
    pub fn source_frames(&self, address: u64) -> Vec<SourceFrame> {
        self.dwarf.as_ref().map(|dwarf| dwarf.frames(address)).unwrap_or_default()
    }
}
