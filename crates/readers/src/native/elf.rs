//! ELF files, read piece by piece: a browser's binary has hundreds of megabytes, of which a profile needs a few.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bytes::{ByteOrder, Bytes, until_zero};

/// Largest section that is loaded: more than any debug information seen, less than what would hurt.
const LARGEST_SECTION: u64 = 3 << 30;

const SHT_NOTE: u32 = 7;
const SHT_NOBITS: u32 = 8;
const SHF_COMPRESSED: u64 = 1 << 11;
const PT_LOAD: u32 = 1;
const PF_X: u32 = 1;

/// A section's header.
#[derive(Clone, Debug)]
pub struct Section {
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
    source: Source,
    length: u64,
    pub path: PathBuf,
    pub order: ByteOrder,
    pub wide: bool,
    pub machine: u16,
    pub segments: Vec<Segment>,
    pub sections: Vec<Section>,
}

enum Source {
    File(File),
    Memory(Vec<u8>),
}

impl Elf {
    /// Opens a file; none when it is not there or no ELF file.
    pub fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let about = file.metadata().ok()?;
        if !about.is_file() {
            return None;
        }
        Self::parse(Source::File(file), about.len(), path)
    }

    /// Takes an ELF file that is in memory.
    pub fn from_bytes(bytes: Vec<u8>, path: &Path) -> Option<Self> {
        let length = bytes.len() as u64;
        Self::parse(Source::Memory(bytes), length, path)
    }

    fn parse(source: Source, length: u64, path: &Path) -> Option<Self> {
        let mut elf = Self {
            source,
            length,
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

    fn section_header(&self, row: &[u8]) -> Option<Section> {
        let mut fields = Bytes::new(row, self.order);
        let wide = self.wide;
        Some(Section {
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
    pub fn section(&self, name: &[u8]) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The bytes of the section of this name, unpacked.
    pub fn section_bytes(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        let section = self.section(name)?.clone();
        self.bytes_of(&section)
    }

    /// The same bytes, for several owners.
    pub fn shared_bytes(&mut self, name: &[u8]) -> Option<Arc<[u8]>> {
        self.section_bytes(name).map(Arc::from)
    }

    /// The bytes of a section, unpacked.
    pub fn bytes_of(&mut self, section: &Section) -> Option<Vec<u8>> {
        if section.kind == SHT_NOBITS {
            return None;
        }
        let bytes = self.read(section.offset, section.size)?;
        if section.flags & SHF_COMPRESSED == 0 { Some(bytes) } else { self.unpack(&bytes) }
    }

    fn unpack(&self, packed: &[u8]) -> Option<Vec<u8>> {
        let mut fields = Bytes::new(packed, self.order);
        let method = fields.u32()?;
        if self.wide {
            fields.u32()?;
        }
        let size = fields.word(self.wide)?;
        fields.word(self.wide)?;
        if size > LARGEST_SECTION {
            return None;
        }
        let mut out = Vec::new();
        let read = match method {
            1 => flate2::read::ZlibDecoder::new(fields.rest()).take(size).read_to_end(&mut out),
            2 => zstd::Decoder::new(fields.rest()).ok()?.take(size).read_to_end(&mut out),
            _ => return None,
        };
        read.ok().filter(|read| *read as u64 == size).map(|_| out)
    }

    /// The build id, when the file has one.
    pub fn build_id(&mut self) -> Option<Vec<u8>> {
        let notes: Vec<_> =
            self.sections.iter().filter(|section| section.kind == SHT_NOTE).cloned().collect();
        notes.iter().find_map(|section| {
            let bytes = self.bytes_of(section)?;
            build_id_of_notes(&bytes, self.order)
        })
    }

    fn read(&mut self, offset: u64, size: u64) -> Option<Vec<u8>> {
        let end = offset.checked_add(size)?;
        if end > self.length || size > LARGEST_SECTION {
            return None;
        }
        match &mut self.source {
            Source::File(file) => read_range(file, offset, usize::try_from(size).ok()?).ok(),
            Source::Memory(bytes) => {
                let range = usize::try_from(offset).ok()?..usize::try_from(end).ok()?;
                bytes.get(range).map(<[u8]>::to_vec)
            }
        }
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

fn read_range(file: &mut File, offset: u64, size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
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
