//! The container: a header, then sections that can be stepped over, each packed and with a checksum.

use std::io::{self, Read, Write};

use flate2::Crc;
use hashbrown::HashSet;

use crate::error::{FileError, FileErrorKind};

/// The first bytes of every file.
pub const MAGIC: &[u8] = b"PERFBLAME\0";

/// Marks the end, so that a file that was cut off between two sections is noticed.
pub const END: Tag = *b"END ";

/// What a section holds, as four letters.
pub type Tag = [u8; 4];

/// Magic, version (2 bytes), reserved (4 bytes).
const HEADER_BYTES: u64 = 16;

/// Tag, run, packed length, unpacked length, checksum.
const SECTION_HEADER_BYTES: usize = 4 + 4 + 8 + 8 + 4;

/// What one section may unpack to.
const SECTION_LIMIT: u64 = 4 << 30;

/// zstd's own default.
const LEVEL: i32 = 3;

/// One section, unpacked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// What it holds.
    pub tag: Tag,
    /// Which run's it is; 0 for what all runs share.
    pub run: u32,
    /// Where it starts in the file, for error messages.
    pub offset: u64,
    /// Its columns.
    pub body: Vec<u8>,
}

impl Section {
    /// An error in this section.
    pub fn malformed(&self, what: &str) -> FileError {
        FileError::malformed(self.offset, format!("section {}: {what}", name(self.tag)))
    }
}

/// A tag as users see it.
pub fn name(tag: Tag) -> String {
    format!("`{}`", tag.escape_ascii().to_string().trim_end())
}

/// Writes the header.
pub fn write_header(version: u16, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(MAGIC)?;
    out.write_all(&version.to_le_bytes())?;
    out.write_all(&[0; 4])
}

/// Packs and writes one section.
pub fn write_section(tag: Tag, run: u32, body: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let packed = zstd::bulk::compress(body, LEVEL)?;
    let lengths = [packed.len() as u64, body.len() as u64];
    out.write_all(&tag)?;
    out.write_all(&run.to_le_bytes())?;
    out.write_all(&lengths[0].to_le_bytes())?;
    out.write_all(&lengths[1].to_le_bytes())?;
    out.write_all(&checksum(tag, run, lengths, &packed).to_le_bytes())?;
    out.write_all(&packed)
}

/// The checksum covers the section's header too, so a changed tag or length does not go unnoticed.
fn checksum(tag: Tag, run: u32, lengths: [u64; 2], packed: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(&tag);
    crc.update(&run.to_le_bytes());
    crc.update(&lengths[0].to_le_bytes());
    crc.update(&lengths[1].to_le_bytes());
    crc.update(packed);
    crc.sum()
}

/// Reads the header and says which version it is.
pub fn read_header(file: &mut dyn Read) -> Result<u16, FileError> {
    let mut header = [0; HEADER_BYTES as usize];
    let got = fill(file, &mut header)?;
    match header.strip_prefix(MAGIC) {
        Some([low, high, ..]) if got == header.len() => Ok(u16::from_le_bytes([*low, *high])),
        _ => Err(cut_off(0, HEADER_BYTES, got as u64)),
    }
}

/// Reads and unpacks all sections that `wanted` wants; the others are only checked.
pub fn read_sections(
    file: &mut dyn Read,
    wanted: impl Fn(Tag) -> bool,
) -> Result<Vec<Section>, FileError> {
    let mut sections: Vec<Section> = Vec::new();
    let mut seen = HashSet::new();
    let mut offset = HEADER_BYTES;
    loop {
        let mut header = [0; SECTION_HEADER_BYTES];
        let got = fill(file, &mut header)?;
        if got < header.len() {
            return Err(cut_off(offset, header.len() as u64, got as u64));
        }
        let tag: Tag = [header[0], header[1], header[2], header[3]];
        let number = |at: usize| {
            let bytes = header[at..].iter().take(8);
            bytes.rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let [run, expected] = [4, 24].map(|at| number(at) as u32);
        let lengths = [number(8), number(16)];
        let mut packed = Vec::new();
        // The length is a claim; the vector grows with the bytes that are there.
        file.take(lengths[0]).read_to_end(&mut packed)?;
        if packed.len() as u64 != lengths[0] {
            return Err(cut_off(offset, lengths[0], packed.len() as u64));
        }
        if checksum(tag, run, lengths, &packed) != expected {
            let what = format!("section {} is damaged: its checksum differs", name(tag));
            let help = "get the file again, or convert the original profile again";
            return Err(FileError::malformed(offset, what).help(help));
        }
        if tag == END {
            return Ok(sections);
        }
        if !seen.insert((tag, run)) {
            let what = format!("section {} occurs twice", name(tag));
            return Err(FileError::malformed(offset, what));
        }
        if wanted(tag) {
            let body = unpack(tag, offset, &packed, lengths[1])?;
            sections.push(Section { tag, run, offset, body });
        }
        offset = offset.saturating_add(SECTION_HEADER_BYTES as u64).saturating_add(lengths[0]);
    }
}

fn unpack(tag: Tag, offset: u64, packed: &[u8], length: u64) -> Result<Vec<u8>, FileError> {
    if length > SECTION_LIMIT {
        let kind =
            FileErrorKind::TooLarge { what: "a section", size: length, limit: SECTION_LIMIT };
        return Err(FileError::new(kind).at(offset));
    }
    // Real sections shrink to a fifth or so; what claims more has to grow as it is unpacked.
    let likely = length.min(packed.len() as u64 * 32);
    let mut body = Vec::with_capacity(likely as usize);
    let unpacked = zstd::stream::read::Decoder::with_buffer(packed)
        .and_then(|decoder| decoder.take(length + 1).read_to_end(&mut body));
    match unpacked {
        Ok(got) if got as u64 == length => Ok(body),
        Ok(_) => {
            let what = format!("section {} does not unpack to {length} bytes", name(tag));
            Err(FileError::malformed(offset, what))
        }
        Err(error) => {
            let what = format!("section {} cannot be unpacked: {error}", name(tag));
            Err(FileError::malformed(offset, what))
        }
    }
}

fn cut_off(offset: u64, wanted: u64, left: u64) -> FileError {
    FileError::new(FileErrorKind::Truncated { wanted, left })
        .at(offset)
        .help("the file looks cut off; get it again, or convert the original profile again")
}

/// Reads until `into` is full or the file ends.
fn fill(file: &mut dyn Read, into: &mut [u8]) -> io::Result<usize> {
    let mut bytes = Vec::with_capacity(into.len());
    file.take(into.len() as u64).read_to_end(&mut bytes)?;
    into[..bytes.len()].copy_from_slice(&bytes);
    Ok(bytes.len())
}
