//! Symbol tables: which function an address belongs to.
//!
//! Where several symbols share an address the choice follows `perf`, so that both tools name a function alike.

use std::ops::Range;

use super::bytes::{Bytes, until_zero};
use super::elf::Elf;

const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const SHN_UNDEF: u16 = 0;
const SHN_LORESERVE: u16 = 0xff00;
const SHF_EXECINSTR: u64 = 4;
const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;

/// Functions by address.
#[derive(Debug, Default)]
pub struct SymbolTable {
    rows: Vec<Row>,
    /// The file's own table of strings, not copied, and behind it what we add.
    names: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    start: u64,
    end: u64,
    name: u32,
    length: u32,
    rank: Rank,
}

/// Greater is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Rank {
    sized: bool,
    strong: bool,
    global: bool,
    /// Fewer underscores at the front are better.
    underscores: std::cmp::Reverse<u8>,
    length: u32,
}

/// A symbol that holds an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SymbolAt<'a> {
    pub name: &'a str,
    pub start: u64,
}

impl SymbolTable {
    /// The functions of `.symtab`, or of `.dynsym` where there is none, and the stubs that call into other objects.
    pub fn of_elf(elf: &mut Elf) -> Self {
        let mut table = Self::default();
        if table.add_section(elf, b".symtab").is_some() {
            table.add_stubs(elf, None);
        } else if let Some(symbols) = table.add_section(elf, b".dynsym") {
            table.add_stubs(elf, Some(symbols));
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
        self.push(start, size, name, Rank { strong: true, global: true, ..Rank::default() });
    }

    fn push(&mut self, start: u64, size: u64, name: &[u8], rank: Rank) {
        let at = self.names.len();
        self.names.extend_from_slice(name);
        self.push_at(start, size, at..at + name.len(), rank);
    }

    /// Adds a symbol whose name stands in `names` already.
    fn push_at(&mut self, start: u64, size: u64, name: Range<usize>, rank: Rank) {
        let Ok(at) = u32::try_from(name.start) else { return };
        let Some(text) = self.names.get(name) else { return };
        let length = text.len().min(1 << 20) as u32;
        let underscores = text.iter().take_while(|byte| **byte == b'_').count().min(255) as u8;
        let underscores = std::cmp::Reverse(underscores);
        let rank = Rank { sized: size > 0, underscores, length, ..rank };
        self.rows.push(Row { start, end: start.saturating_add(size), name: at, length, rank });
    }

    /// Puts the rows into order. Of several symbols at one address the best stays.
    pub fn finish(&mut self) {
        self.rows.sort_by(|a, b| {
            (a.start, b.rank, a.name).partial_cmp(&(b.start, a.rank, b.name)).expect("total order")
        });
        self.rows.dedup_by_key(|row| row.start);
        for row in 0..self.rows.len() {
            let next = self.rows.get(row + 1).map(|next| next.start);
            if let Some(row) = self.rows.get_mut(row)
                && row.end == row.start
            {
                // The last one has the rest of its page, as in `perf`.
                row.end = next.unwrap_or((row.start | 0xfff).saturating_add(1));
            }
        }
    }

    /// The symbol that holds `address`.
    pub fn find(&self, address: u64) -> Option<SymbolAt<'_>> {
        let after = self.rows.partition_point(|row| row.start <= address);
        // A short symbol may lie within a longer one that goes on behind it.
        let near = self.rows.get(after.saturating_sub(8)..after)?;
        let row = near.iter().rev().find(|row| address < row.end)?;
        let range = row.name as usize..row.name as usize + row.length as usize;
        let name = str::from_utf8(self.names.get(range)?).ok()?;
        Some(SymbolAt { name, start: row.start })
    }

    /// The address of a symbol.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        let text = |row: &Row| self.names.get(row.name as usize..(row.name + row.length) as usize);
        self.rows.iter().find(|row| text(row) == Some(name.as_bytes())).map(|row| row.start)
    }

    /// Adds the functions of a section; its bytes come back, none when there are no functions in it.
    fn add_section(&mut self, elf: &mut Elf, name: &[u8]) -> Option<Vec<u8>> {
        let section = elf.section(name)?.clone();
        let strings = elf.sections.get(section.link as usize)?.clone();
        let symbols = elf.bytes_of(&section)?;
        self.names = elf.bytes_of(&strings)?;
        self.rows.clear();
        for row in symbols.chunks_exact(if elf.wide { 24 } else { 16 }) {
            self.add_row(elf, row);
        }
        (!self.rows.is_empty()).then_some(symbols)
    }

    fn add_row(&mut self, elf: &Elf, row: &[u8]) -> Option<()> {
        let mut fields = Bytes::new(row, elf.order);
        let at = fields.u32()? as usize;
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
        let section = elf.sections.get(place as usize)?;
        // Labels count where they are code and meant to be seen: assembler routines often are no more than that.
        let label =
            kind == STT_NOTYPE && section.flags & SHF_EXECINSTR != 0 && !matches!(other & 3, 1 | 2);
        if !(label || matches!(kind, STT_FUNC | STT_GNU_IFUNC)) {
            return None;
        }
        let name = until_zero(self.names.get(at..)?);
        // Marks between code and data of ARM assemblers, no functions.
        if name.is_empty()
            || matches!(name, [b'$', b'a' | b'd' | b't' | b'x', rest @ ..] if rest.first().is_none_or(|c| *c == b'.'))
        {
            return None;
        }
        let rank = Rank { strong: binding != 2, global: binding == 1, ..Rank::default() };
        let name = at..at + name.len();
        self.push_at(value, size, name, rank);
        Some(())
    }

    /// Names the stubs of the procedure linkage table, `name@plt`: they have no symbols of their own.
    /// `dynamic` is the table of dynamic symbols where its strings are in `names`.
    fn add_stubs(&mut self, elf: &mut Elf, dynamic: Option<Vec<u8>>) -> Option<()> {
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
        let (symbols, strings) = if let Some(symbols) = dynamic {
            (symbols, None)
        } else {
            let symbols = elf.section(b".dynsym")?.clone();
            let strings = elf.sections.get(symbols.link as usize)?.clone();
            (elf.bytes_of(&symbols)?, Some(elf.bytes_of(&strings)?))
        };
        for (row, relocation) in relocations.chunks_exact(24).enumerate() {
            let mut fields = Bytes::new(relocation, elf.order);
            fields.u64()?;
            let symbol = usize::try_from(fields.u64()? >> 32).ok()?;
            let start = plt.checked_add(header)?.checked_add(size * row as u64)?;
            let place = symbols.get(symbol.checked_mul(24)?..)?;
            let name = Bytes::new(place, elf.order).u32()? as usize;
            let strings = strings.as_ref().unwrap_or(&self.names);
            let mut name = until_zero(strings.get(name..)?).to_vec();
            if symbol != 0 && !name.is_empty() {
                name.extend_from_slice(b"@plt");
                self.push(start, size, &name, Rank::default());
            }
        }
        Some(())
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
        let name = |address| table.find(address).map(|symbol| symbol.name);
        assert_eq!(name(0xff), None);
        assert_eq!(name(0x10f), Some("sized"));
        assert_eq!(name(0x110), None);
        assert_eq!(name(0x13f), Some("open"));
        assert_eq!(name(0x141), Some("twin"));
        assert_eq!(name(0x148), None);
        assert_eq!(table.address_of("open"), Some(0x120));
    }
}
