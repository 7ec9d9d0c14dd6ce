//! Symbol tables: which function an address belongs to.
//!
//! A compiler or a browser has hundreds of thousands of symbols whose names are tens of megabytes, of which a profile
//! asks for a few thousand. So a table is rows of numbers; names stay in the file until an address needs them.
//! Where several symbols share an address the choice follows `perf`, so that both tools name a function alike.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use crate::bytes::{Bytes, until_zero};
use crate::elf::{Elf, ElfSection, ElfSource};

const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const SHN_UNDEF: u16 = 0;
const SHN_LORESERVE: u16 = 0xff00;
const SHF_EXECINSTR: u64 = 4;
const EM_ARM: u16 = 40;
pub const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;

/// Tables of names up to this size are loaded whole: the many small libraries of a process need no open file each.
const SMALL: u64 = 256 << 10;

/// More symbols than any binary has; rows are counted in 32 bits.
const MOST: usize = 1 << 30;

/// The longest name that is read.
const LONGEST: usize = 1 << 20;

/// Functions by address.
#[derive(Debug, Default)]
pub struct SymbolTable {
    /// By address, when finished.
    rows: Vec<SymbolRow>,
    buckets: Buckets,
    /// The file's own table of names.
    names: SymbolNames,
    /// Names that we add, each with a zero behind it.
    added: Vec<u8>,
}

#[derive(Debug, Default)]
enum SymbolNames {
    #[default]
    None,
    Loaded(Vec<u8>),
    InFile(Arc<ElfSource>, Range<u64>),
}

#[derive(Clone, Copy, Debug)]
struct SymbolRow {
    start: u64,
    end: u64,
    /// Where the name starts in the names of the file, or in those we add.
    name: u32,
    added: bool,
    standing: Standing,
}

/// What is known of a symbol's rank without its name. Greater is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Standing {
    sized: bool,
    strong: bool,
    global: bool,
}

/// A symbol that holds an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SymbolAt {
    /// Its place in the table; the same for all addresses of a function.
    row: u32,
    pub start: u64,
}

impl SymbolTable {
    /// The functions of `.symtab`, or of `.dynsym` where there is none, and the stubs that call into other objects.
    pub fn of_elf(elf: &Elf) -> Self {
        Self::with_more(elf, None)
    }

    /// The same, and the functions of another file that has those this one lacks.
    pub fn with_more(elf: &Elf, more: Option<&Elf>) -> Self {
        let mut table = Self::default();
        if table.add_section(elf, b".symtab").is_some()
            || table.add_section(elf, b".dynsym").is_some()
        {
            table.add_stubs(elf);
        }
        let mut other = Self::default();
        if more.and_then(|more| other.add_section(more, b".symtab")).is_some() {
            for (at, row) in other.rows.iter().enumerate() {
                let name = other.name_at(at).unwrap_or_default();
                table.push_named(row.start, row.end.saturating_sub(row.start), &name, row.standing);
            }
        }
        table.finish();
        table
    }

    /// True when there is no symbol.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a symbol; one without size ends where the next begins.
    pub fn add(&mut self, start: u64, size: u64, name: &[u8]) {
        self.push_named(start, size, name, Standing { strong: true, global: true, sized: false });
    }

    fn push_named(&mut self, start: u64, size: u64, name: &[u8], standing: Standing) {
        let Ok(at) = u32::try_from(self.added.len()) else { return };
        self.added.extend_from_slice(name);
        self.added.push(0);
        self.push(start, size, (at, true), standing);
    }

    fn push(&mut self, start: u64, size: u64, (name, added): (u32, bool), standing: Standing) {
        let standing = Standing { sized: size > 0, ..standing };
        self.rows.push(SymbolRow { start, end: start.saturating_add(size), name, added, standing });
    }

    /// Puts the rows into order.
    pub fn finish(&mut self) {
        self.buckets = Buckets::sort(&mut self.rows);
        // Those without size end where the next begins.
        let mut behind = None;
        for at in (0..self.rows.len()).rev() {
            let next = self.rows.get(at + 1).map(|next| next.start);
            let Some(row) = self.rows.get_mut(at) else { continue };
            if next != Some(row.start) {
                behind = next;
            }
            if row.end == row.start {
                // The last one has the rest of its page, as in `perf`.
                row.end = behind.unwrap_or((row.start | 0xfff).saturating_add(1));
            }
        }
    }

    /// The symbol that holds `address`.
    pub fn find(&self, address: u64) -> Option<SymbolAt> {
        let mut after = self.buckets.rows_up_to(&self.rows, address);
        // A short symbol may lie within a longer one that goes on behind it.
        for _ in 0..8 {
            let before = self.rows.get(..after)?;
            let start = before.last()?.start;
            let first = before.iter().rposition(|row| row.start != start).map_or(0, |row| row + 1);
            let best = self.best(first)?;
            if address < self.rows.get(best)?.end {
                return Some(SymbolAt { row: u32::try_from(best).ok()?, start });
            }
            after = first;
        }
        None
    }

    /// The best of the symbols that start where the one in row `first` does.
    fn best(&self, first: usize) -> Option<usize> {
        let one = self.rows.get(first)?;
        let equal = |row: &&SymbolRow| row.start == one.start && row.standing == one.standing;
        let twins = self.rows.get(first..)?.iter().take_while(equal).count();
        if twins == 1 {
            return Some(first);
        }
        // Fewer underscores at the front are better, then longer names, then those that come first.
        let rank = |at: usize| {
            let name = self.name_at(at).unwrap_or_default();
            let underscores = name.iter().take_while(|byte| **byte == b'_').count().min(255);
            (Reverse(underscores), name.len(), Reverse(at))
        };
        (first..first + twins).max_by_key(|at| rank(*at))
    }

    /// The name of a symbol.
    pub fn name(&self, symbol: SymbolAt) -> Option<String> {
        String::from_utf8(self.name_at(symbol.row as usize)?.into_owned()).ok()
    }

    fn name_at(&self, row: usize) -> Option<Cow<'_, [u8]>> {
        let row = self.rows.get(row)?;
        if row.added {
            return self.added.get(row.name as usize..).map(until_zero).map(Cow::from);
        }
        self.names.get(row.name)
    }

    /// The address of a symbol.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        let found = (0..self.rows.len())
            .find(|row| self.name_at(*row).is_some_and(|text| *text == *name.as_bytes()));
        self.rows.get(found?).map(|row| row.start)
    }

    /// Adds the functions of a section; none when there are no functions in it.
    fn add_section(&mut self, elf: &Elf, name: &[u8]) -> Option<()> {
        let section = elf.section(name)?;
        self.names = SymbolNames::of_section(elf, elf.sections.get(section.link as usize)?)?;
        self.rows.clear();
        let size = if elf.wide { 24 } else { 16 };
        let mut left = MOST;
        elf.pieces_of(section, size * 4096, |piece| {
            let rows = left.min(piece.len() / size);
            left -= rows;
            self.rows.reserve(rows);
            for row in piece.chunks_exact(size).take(rows) {
                self.add_row(elf, row);
            }
        })?;
        (!self.rows.is_empty()).then_some(())
    }

    fn add_row(&mut self, elf: &Elf, row: &[u8]) -> Option<()> {
        let mut fields = Bytes::new(row, elf.order);
        let at = fields.u32()?;
        let (info, other, place, value, size);
        if elf.wide {
            (info, other, place) = (fields.u8()?, fields.u8()?, fields.u16()?);
            (value, size) = (fields.u64()?, fields.u64()?);
        } else {
            (value, size) = (fields.word(false)?, fields.word(false)?);
            (info, other, place) = (fields.u8()?, fields.u8()?, fields.u16()?);
        }
        let kind = info & 15;
        let binding = info >> 4;
        if place == SHN_UNDEF || place >= SHN_LORESERVE || at == 0 {
            return None;
        }
        if !matches!(kind, STT_FUNC | STT_GNU_IFUNC) {
            // Labels count where they are code and meant to be seen: assembler routines often are no more than that.
            let section = elf.sections.get(place as usize)?;
            let label = kind == STT_NOTYPE
                && section.flags & SHF_EXECINSTR != 0
                && !matches!(other & 3, 1 | 2);
            if !label || self.is_mark(elf, at) {
                return None;
            }
        }
        let standing = Standing { strong: binding != 2, global: binding == 1, sized: false };
        self.push(value, size, (at, false), standing);
        Some(())
    }

    /// True for the marks between code and data of ARM assemblers, which are no functions, and for labels without name.
    fn is_mark(&self, elf: &Elf, name: u32) -> bool {
        if !matches!(elf.machine, EM_ARM | EM_AARCH64) {
            return false;
        }
        let name = self.names.get(name).unwrap_or_default();
        match *name {
            [] => true,
            [b'$', b'a' | b'd' | b't' | b'x', ref rest @ ..] => {
                rest.first().is_none_or(|byte| *byte == b'.')
            }
            _ => false,
        }
    }

    /// Names the stubs of the procedure linkage table, `name@plt`: they have no symbols of their own.
    fn add_stubs(&mut self, elf: &Elf) -> Option<()> {
        let (header, size) = match elf.machine {
            EM_X86_64 => (16, 16),
            EM_AARCH64 => (32, 16),
            _ => return None,
        };
        // With control-flow protection the stubs that are called stand in a section of their own, without header.
        let (plt, header) = match elf.section(b".plt.sec") {
            Some(section) => (section.address, 0),
            None => (elf.section(b".plt")?.address, header),
        };
        let relocations = elf.section_bytes(b".rela.plt")?;
        let symbols = elf.section(b".dynsym")?;
        let strings = elf.bytes_of(elf.sections.get(symbols.link as usize)?)?;
        let symbols = elf.bytes_of(symbols)?;
        for (row, relocation) in relocations.chunks_exact(24).enumerate() {
            let mut fields = Bytes::new(relocation, elf.order);
            fields.u64()?;
            let symbol = usize::try_from(fields.u64()? >> 32).ok()?;
            let start = plt.checked_add(header)?.checked_add(size * row as u64)?;
            let place = symbols.get(symbol.checked_mul(24)?..)?;
            let name = Bytes::new(place, elf.order).u32()? as usize;
            let mut name = until_zero(strings.get(name..)?).to_vec();
            if symbol != 0 && !name.is_empty() {
                name.extend_from_slice(b"@plt");
                self.push_named(start, size, &name, Standing::default());
            }
        }
        Some(())
    }
}

/// Where in the table the rows of a stretch of addresses are. Putting rows into buckets that hold a few each orders
/// them nearly at once, and finds them later without touching rows far away.
#[derive(Debug, Default)]
struct Buckets {
    base: u64,
    /// A bucket has two to the power of this many addresses.
    shift: u32,
    /// The first row of each bucket, and the end.
    first: Vec<u32>,
}

impl Buckets {
    /// Sorts rows by address. Of one address the best come first, so far as their names do not decide.
    fn sort(rows: &mut Vec<SymbolRow>) -> Self {
        let lowest = rows.iter().map(|row| row.start).min().unwrap_or(0);
        let highest = rows.iter().map(|row| row.start).max().unwrap_or(0);
        let mut shift = 0;
        while (highest - lowest) >> shift > rows.len() as u64 / 4 {
            shift += 1;
        }
        let mut buckets = Self { base: lowest, shift, first: Vec::new() };
        let count = ((highest - lowest) >> shift) as usize + 1;
        let mut next = vec![0u32; count + 1];
        for row in rows.iter() {
            next[buckets.of(row.start) + 1] += 1;
        }
        for bucket in 0..count {
            next[bucket + 1] += next[bucket];
        }
        buckets.first.clone_from(&next);
        let mut sorted = rows.clone();
        for row in rows.iter() {
            let place = &mut next[buckets.of(row.start)];
            sorted[*place as usize] = *row;
            *place += 1;
        }
        for range in buckets.first.windows(2) {
            // What is equal stays in the order of the file.
            sorted[range[0] as usize..range[1] as usize]
                .sort_by_key(|row| (row.start, Reverse(row.standing)));
        }
        *rows = sorted;
        buckets
    }

    fn of(&self, address: u64) -> usize {
        (address.saturating_sub(self.base) >> self.shift) as usize
    }

    /// How many rows start at `address` or before.
    fn rows_up_to(&self, rows: &[SymbolRow], address: u64) -> usize {
        if address < self.base {
            return 0;
        }
        let Some(&[start, end]) = self.first.get(self.of(address)..).and_then(<[u32]>::first_chunk)
        else {
            return rows.len();
        };
        let (start, end) = (start as usize, end as usize);
        let within = rows.get(start..end).unwrap_or_default();
        start + within.partition_point(|row| row.start <= address)
    }
}

impl SymbolNames {
    fn of_section(elf: &Elf, section: &ElfSection) -> Option<Self> {
        // The marks of ARM assemblers are told by their names.
        let look_at_all = matches!(elf.machine, EM_ARM | EM_AARCH64);
        if section.size > SMALL
            && !look_at_all
            && let Some((source, place)) = elf.plain_place(section)
        {
            return Some(Self::InFile(source, place));
        }
        elf.bytes_of(section).map(Self::Loaded)
    }

    /// The name at this place of the table.
    fn get(&self, at: u32) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::None => None,
            Self::Loaded(bytes) => {
                let name = until_zero(bytes.get(at as usize..)?);
                name.get(..name.len().min(LONGEST)).map(Cow::from)
            }
            Self::InFile(source, place) => {
                let start = place.start.checked_add(at.into())?;
                let left = usize::try_from(place.end.checked_sub(start)?).ok()?.min(LONGEST);
                let mut name = Vec::new();
                let mut wanted = 256;
                loop {
                    name.resize(left.min(wanted), 0);
                    source.read(start, &mut name)?;
                    if let Some(end) = memchr::memchr(0, &name) {
                        name.truncate(end);
                        return Some(name.into());
                    }
                    if wanted >= left {
                        return Some(name.into());
                    }
                    wanted *= 8;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_finds_the_symbol_around_it() {
        let mut table = SymbolTable::default();
        table.add(0x100, 0x10, b"sized");
        table.add(0x120, 0, b"open");
        table.add(0x140, 8, b"__twin");
        table.add(0x140, 8, b"twin");
        table.finish();
        let name = |address| table.find(address).and_then(|symbol| table.name(symbol));
        assert_eq!(name(0xff), None);
        assert_eq!(name(0x10f), Some("sized".to_owned()));
        assert_eq!(name(0x110), None);
        assert_eq!(name(0x13f), Some("open".to_owned()));
        assert_eq!(name(0x141), Some("twin".to_owned()));
        assert_eq!(name(0x148), None);
        assert_eq!(table.address_of("open"), Some(0x120));
    }
}
