//! ELF files, read piece by piece: a browser's binary has hundreds of megabytes, of which a profile needs a few.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use flate2::{Decompress, FlushDecompress, Status};

use crate::bytes::{ByteOrder, Bytes, until_zero};

/// Largest section that is loaded: more than any debug information seen, less than what would hurt.
const LARGEST_SECTION: u64 = 3 << 30;

const SHT_NOTE: u32 = 7;
const SHT_NOBITS: u32 = 8;
const SHF_COMPRESSED: u64 = 1 << 11;
const PT_LOAD: u32 = 1;
const PF_X: u32 = 1;
const ZLIB: u32 = 1;
const ZSTD: u32 = 2;

/// A byte of zlib's stands for this many at most.
const ZLIB_AT_BEST: u64 = 1032;

/// A section's header.
#[derive(Clone, Debug)]
pub struct ElfSection {
    pub name: Vec<u8>,
    pub kind: u32,
    pub flags: u64,
    pub address: u64,
    offset: u64,
    pub size: u64,
    pub link: u32,
}

/// A part of the file that is loaded into memory.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub offset: u64,
    pub address: u64,
    pub size: u64,
    pub executable: bool,
}

/// The headers of an ELF file, and the file to read sections from.
pub struct Elf {
    source: Arc<ElfSource>,
    pub path: PathBuf,
    pub order: ByteOrder,
    pub wide: bool,
    pub machine: u16,
    pub segments: Vec<Segment>,
    pub sections: Vec<ElfSection>,
}

/// The bytes of an ELF file.
#[derive(Debug)]
pub struct ElfSource {
    bytes: Bulk,
    length: u64,
}

#[derive(Debug)]
enum Bulk {
    /// A system-wide recording has more binaries than a process may hold open, so files are closed in between.
    File {
        path: PathBuf,
        changed: Option<SystemTime>,
        open: Mutex<Option<File>>,
    },
    Memory(Vec<u8>),
}

impl ElfSource {
    /// Fills `into` from `offset` on; none when there is less, or a fault.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Option<()> {
        match &self.bytes {
            Bulk::File { path, changed, open } => {
                let mut open = open.lock().ok()?;
                if open.is_none() {
                    let file = File::open(path).ok()?;
                    let about = file.metadata().ok()?;
                    if about.len() != self.length || about.modified().ok() != *changed {
                        return None;
                    }
                    *open = Some(file);
                }
                read_at(open.as_mut()?, offset, into).ok()
            }
            Bulk::Memory(bytes) => {
                let there = bytes.get(usize::try_from(offset).ok()?..)?.get(..into.len())?;
                into.copy_from_slice(there);
                Some(())
            }
        }
    }

    fn close(&self) {
        if let Bulk::File { open, .. } = &self.bytes
            && let Ok(mut open) = open.lock()
        {
            *open = None;
        }
    }

    /// True where `size` bytes from `offset` on are in the file, and not too many to load.
    fn holds(&self, offset: u64, size: u64) -> bool {
        offset.checked_add(size).is_some_and(|end| end <= self.length) && size <= LARGEST_SECTION
    }
}

impl Elf {
    /// Opens a file; none when it is not there or no ELF file.
    pub fn open(path: &Path) -> Option<Self> {
        // Traces name files as they like, and opening a named pipe waits for whoever writes to it.
        let about = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let file = File::open(path).ok()?;
        let changed = about.modified().ok();
        let bytes = Bulk::File { path: path.to_owned(), changed, open: Mutex::new(Some(file)) };
        Self::parse(ElfSource { bytes, length: about.len() }, path)
    }

    /// Takes an ELF file that is in memory.
    pub fn from_bytes(bytes: Vec<u8>, path: &Path) -> Option<Self> {
        let length = bytes.len() as u64;
        Self::parse(ElfSource { bytes: Bulk::Memory(bytes), length }, path)
    }

    /// Closes the file until the next section is read.
    pub fn close(&self) {
        self.source.close();
    }

    fn parse(source: ElfSource, path: &Path) -> Option<Self> {
        let length = source.length;
        let mut elf = Self {
            source: Arc::new(source),
            path: path.to_owned(),
            order: ByteOrder::Little,
            wide: true,
            machine: 0,
            segments: Vec::new(),
            sections: Vec::new(),
        };
        let head = elf.read(0, 64.min(length))?;
        let ident = head.get(..16)?;
        if !ident.starts_with(b"\x7fELF") {
            return None;
        }
        elf.wide = ident.get(4) == Some(&2);
        elf.order = if ident.get(5) == Some(&2) { ByteOrder::Big } else { ByteOrder::Little };
        let mut fields = Bytes::new(head.get(16..)?, elf.order);
        fields.u16()?;
        elf.machine = fields.u16()?;
        fields.u32()?;
        fields.word(elf.wide)?;
        let segments_at = fields.word(elf.wide)?;
        let sections_at = fields.word(elf.wide)?;
        fields.skip(6)?;
        let segment_size = u64::from(fields.u16()?);
        let segments = u64::from(fields.u16()?);
        let section_size = u64::from(fields.u16()?);
        let sections = u64::from(fields.u16()?);
        let names = usize::from(fields.u16()?);
        // A file without its tables (some vdso images) is still good for what it has.
        let table = elf.read(segments_at, segment_size * segments).unwrap_or_default();
        for row in table.chunks_exact(usize::try_from(segment_size.max(1)).ok()?) {
            elf.segments.extend(elf.segment(row));
        }
        let table = elf.read(sections_at, section_size * sections).unwrap_or_default();
        for row in table.chunks_exact(usize::try_from(section_size.max(1)).ok()?) {
            let section = elf.section_header(row)?;
            elf.sections.push(section);
        }
        let names = elf.sections.get(names).cloned();
        let names = names.and_then(|section| elf.bytes_of(&section)).unwrap_or_default();
        for section in &mut elf.sections {
            // Until here the name is the place of the name.
            let place = <[u8; 4]>::try_from(section.name.as_slice()).map_or(0, u32::from_le_bytes);
            section.name = names.get(place as usize..).map(until_zero).unwrap_or_default().to_vec();
        }
        Some(elf)
    }

    fn segment(&self, row: &[u8]) -> Option<Segment> {
        let mut fields = Bytes::new(row, self.order);
        let kind = fields.u32()?;
        let (mut flags, wide) = (0, self.wide);
        if wide {
            flags = fields.u32()?;
        }
        let offset = fields.word(wide)?;
        let address = fields.word(wide)?;
        fields.word(wide)?;
        let size = fields.word(wide)?;
        fields.word(wide)?;
        if !wide {
            flags = fields.u32()?;
        }
        (kind == PT_LOAD).then_some(Segment {
            offset,
            address,
            size,
            executable: flags & PF_X != 0,
        })
    }

    fn section_header(&self, row: &[u8]) -> Option<ElfSection> {
        let mut fields = Bytes::new(row, self.order);
        let wide = self.wide;
        Some(ElfSection {
            name: fields.u32()?.to_le_bytes().to_vec(),
            kind: fields.u32()?,
            flags: fields.word(wide)?,
            address: fields.word(wide)?,
            offset: fields.word(wide)?,
            size: fields.word(wide)?,
            link: fields.u32()?,
        })
    }

    /// The section of this name.
    pub fn section(&self, name: &[u8]) -> Option<&ElfSection> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The bytes of the section of this name, unpacked.
    pub fn section_bytes(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.bytes_of(self.section(name)?)
    }

    /// The same bytes, for several owners.
    pub fn shared_bytes(&self, name: &[u8]) -> Option<Arc<[u8]>> {
        let section = self.section(name)?;
        if section.flags & SHF_COMPRESSED != 0 {
            let packed = self.packed_bytes(section)?;
            let packed = self.packed(&packed)?;
            if packed.is_plausible() {
                return filled(packed.size, |out| packed.unpack(out));
            }
            return packed.unpack_bit_by_bit().map(Arc::from);
        }
        if section.kind == SHT_NOBITS || !self.source.holds(section.offset, section.size) {
            return None;
        }
        filled(section.size, |out| self.source.read(section.offset, out))
    }

    /// The bytes of a section, unpacked.
    pub fn bytes_of(&self, section: &ElfSection) -> Option<Vec<u8>> {
        let bytes = self.packed_bytes(section)?;
        if section.flags & SHF_COMPRESSED == 0 {
            return Some(bytes);
        }
        let packed = self.packed(&bytes)?;
        if !packed.is_plausible() {
            return packed.unpack_bit_by_bit();
        }
        let mut out = vec![0; usize::try_from(packed.size).ok()?];
        packed.unpack(&mut out)?;
        Some(out)
    }

    /// Where the bytes of a section are in the file; none where they are packed or not there.
    pub fn plain_place(&self, section: &ElfSection) -> Option<(Arc<ElfSource>, Range<u64>)> {
        let plain = section.kind != SHT_NOBITS && section.flags & SHF_COMPRESSED == 0;
        let there = plain && self.source.holds(section.offset, section.size);
        there.then(|| (self.source.clone(), section.offset..section.offset + section.size))
    }

    /// Hands out the bytes of a section, unpacked, in pieces of `size` bytes and a last one.
    pub fn pieces_of(
        &self,
        section: &ElfSection,
        size: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Option<()> {
        let Some((source, range)) = self.plain_place(section) else {
            take(&self.bytes_of(section)?);
            return Some(());
        };
        let mut piece = vec![0; size];
        let mut at = range.start;
        while at < range.end {
            let left = usize::try_from(range.end - at).unwrap_or(usize::MAX);
            piece.truncate(left);
            source.read(at, &mut piece)?;
            take(&piece);
            at += piece.len() as u64;
        }
        Some(())
    }

    fn packed_bytes(&self, section: &ElfSection) -> Option<Vec<u8>> {
        if section.kind == SHT_NOBITS {
            return None;
        }
        self.read(section.offset, section.size)
    }

    fn packed<'a>(&self, bytes: &'a [u8]) -> Option<Packed<'a>> {
        let mut fields = Bytes::new(bytes, self.order);
        let method = fields.u32()?;
        if self.wide {
            fields.u32()?;
        }
        let size = fields.word(self.wide)?;
        fields.word(self.wide)?;
        (size <= LARGEST_SECTION).then_some(Packed { method, size, bytes: fields.rest() })
    }

    /// The build id, when the file has one.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        let notes = self.sections.iter().filter(|section| section.kind == SHT_NOTE);
        notes.into_iter().find_map(|section| {
            let bytes = self.bytes_of(section)?;
            build_id_of_notes(&bytes, self.order)
        })
    }

    fn read(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        if !self.source.holds(offset, size) {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        self.source.read(offset, &mut bytes)?;
        Some(bytes)
    }

    /// True for machine code of x86-64, also for that with short pointers.
    pub fn is_x86_64(&self) -> bool {
        self.machine == crate::symbols::EM_X86_64
    }

    /// What is loaded to an address as code.
    pub fn code(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        let end = address.checked_add(size)?;
        let holds = |segment: &&Segment| {
            let segment_end = segment.address.saturating_add(segment.size);
            segment.executable && segment.address <= address && end <= segment_end
        };
        let segment = self.segments.iter().find(holds)?;
        self.read(segment.offset.checked_add(address - segment.address)?, size)
    }

    /// The address that the byte at `offset` of the file is linked for; the offset itself when no segment has it.
    pub fn address_of_offset(segments: &[Segment], offset: u64) -> Option<u64> {
        let holds = |segment: &&Segment| {
            // Pages are mapped whole: a mapping starts and ends a little outside of its segment.
            let start = segment.offset & !0xfff;
            let end = segment.offset.saturating_add(segment.size).saturating_add(0xfff);
            (start..end).contains(&offset)
        };
        let inside = |segment: &&Segment| {
            (segment.offset..segment.offset.saturating_add(segment.size)).contains(&offset)
        };
        let segment = (segments.iter().find(|segment| segment.executable && inside(segment)))
            .or_else(|| segments.iter().find(|segment| segment.executable && holds(segment)))
            .or_else(|| segments.iter().find(inside))
            .or_else(|| segments.iter().find(holds))?;
        Some(offset.wrapping_sub(segment.offset).wrapping_add(segment.address))
    }
}

#[cfg(unix)]
fn read_at(file: &mut File, offset: u64, into: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, offset)
}

#[cfg(not(unix))]
fn read_at(file: &mut File, offset: u64, into: &mut [u8]) -> io::Result<()> {
    use std::io::{Seek as _, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(into)
}

/// Bytes for several owners, written once: a copy of a large section costs more than reading it.
fn filled(size: u64, fill: impl FnOnce(&mut [u8]) -> Option<()>) -> Option<Arc<[u8]>> {
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, usize::try_from(size).ok()?).collect();
    fill(Arc::get_mut(&mut bytes)?)?;
    Some(bytes)
}

/// A packed section: how, what it says it unpacks to, and the bytes.
struct Packed<'a> {
    method: u32,
    size: u64,
    bytes: &'a [u8],
}

impl Packed<'_> {
    /// True when the size is one that the bytes can unpack to, and memory can be taken for it beforehand.
    fn is_plausible(&self) -> bool {
        self.method == ZLIB && self.size <= (self.bytes.len() as u64).saturating_mul(ZLIB_AT_BEST)
    }

    /// Unpacks in one go.
    fn unpack(&self, out: &mut [u8]) -> Option<()> {
        let mut unpacker = Decompress::new(true);
        let status = unpacker.decompress(self.bytes, out, FlushDecompress::Finish).ok()?;
        (status != Status::BufError && unpacker.total_out() == self.size).then_some(())
    }

    /// Unpacks into memory that grows with what is really there.
    fn unpack_bit_by_bit(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let read = match self.method {
            ZLIB => {
                flate2::bufread::ZlibDecoder::new(self.bytes).take(self.size).read_to_end(&mut out)
            }
            ZSTD => zstd::Decoder::with_buffer(self.bytes)
                .and_then(|unpacker| unpacker.take(self.size).read_to_end(&mut out)),
            _ => return None,
        };
        read.ok().filter(|read| *read as u64 == self.size).map(|_| out)
    }
}

/// The build id among the notes of a section or of `/sys/kernel/notes`.
pub fn build_id_of_notes(notes: &[u8], order: ByteOrder) -> Option<Vec<u8>> {
    let mut fields = Bytes::new(notes, order);
    loop {
        let name_size = fields.u32()? as usize;
        let size = fields.u32()? as usize;
        let kind = fields.u32()?;
        let name = fields.take(name_size)?;
        fields.skip(name_size.wrapping_neg() & 3)?;
        let value = fields.take(size)?;
        if kind == 3 && name == b"GNU\0" {
            return Some(value.to_vec());
        }
        fields.skip(size.wrapping_neg() & 3)?;
    }
}
