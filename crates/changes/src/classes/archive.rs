//! Jars, as far as their lists of contents go.
//!
//! The list at the end of a zip file is what the JVM goes by, so sizes and checksums are known even where the entries
//! themselves carry them behind their data. Sizes are claims: what is unpacked is bounded by what is asked for.

use std::ops::Range;
use std::sync::Arc;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::class_file::MAGIC;

/// A jar, or a jar in a jar.
pub struct Archive {
    /// How to call it: `app.jar!/BOOT-INF/lib/a.jar`.
    pub name: String,
    bytes: Arc<Vec<u8>>,
    range: Range<usize>,
    /// In the order of the list.
    pub entries: Vec<ArchiveEntry>,
}

/// A file in a jar.
pub struct ArchiveEntry {
    pub name: String,
    pub crc: u32,
    pub size: u64,
    packed: u64,
    method: u16,
    encrypted: bool,
    /// Where its header stands, from the start of the archive.
    offset: u64,
}

/// Why something in an archive cannot be had.
pub type Reason = &'static str;

/// What was unpacked: a copy, or a place in the archive itself where it was not packed.
pub enum Unpacked {
    Copy(Vec<u8>),
    Place(Range<usize>),
}

const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const END_64_LOCATOR: u32 = 0x0706_4b50;
const LISTED: u32 = 0x0201_4b50;
const HEADER: u32 = 0x0403_4b50;
/// Deflate cannot make more of one byte.
const MOST_PER_BYTE: u64 = 1032;

impl Archive {
    /// Reads the list of contents.
    pub fn open(name: String, bytes: Arc<Vec<u8>>, range: Range<usize>) -> Result<Self, Reason> {
        let (entries, start) = read_list(&bytes[range.clone()])?;
        let range = range.start + start..range.end;
        Ok(Self { name, bytes, range, entries })
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }

    /// Whether this entry is an archive in the archive, and opens it.
    pub fn open_nested(&self, index: usize, limit: u64) -> Result<Self, Reason> {
        let entry = &self.entries[index];
        let name = format!("{}!/{}", self.name, entry.name);
        match self.unpack(index, limit, None)? {
            Unpacked::Place(range) => Self::open(name, Arc::clone(&self.bytes), range),
            Unpacked::Copy(bytes) => {
                let range = 0..bytes.len();
                Self::open(name, Arc::new(bytes), range)
            }
        }
    }

    /// A class file's bytes.
    pub fn class(&self, index: usize, limit: u64) -> Result<Vec<u8>, Reason> {
        self.read(index, limit, Some(MAGIC))
    }

    /// An entry's bytes, which must begin with `magic`.
    pub fn read(
        &self,
        index: usize,
        limit: u64,
        magic: Option<[u8; 4]>,
    ) -> Result<Vec<u8>, Reason> {
        match self.unpack(index, limit, magic)? {
            Unpacked::Copy(bytes) => Ok(bytes),
            Unpacked::Place(range) => Ok(self.bytes[range].to_vec()),
        }
    }

    fn unpack(&self, index: usize, limit: u64, magic: Option<[u8; 4]>) -> Result<Unpacked, Reason> {
        let entry = &self.entries[index];
        if entry.encrypted {
            return Err("it is encrypted");
        }
        if entry.size > limit {
            return Err("it is larger than such a file can be");
        }
        let bytes = self.bytes();
        let header = usize::try_from(entry.offset).map_err(|_| OUTSIDE)?;
        if u32_at(bytes, header) != Some(HEADER) {
            return Err("its header is not where the list says");
        }
        let skip = |at| u16_at(bytes, header + at).map(usize::from).ok_or(OUTSIDE);
        let start = header + 30 + skip(26)? + skip(28)?;
        let packed = usize::try_from(entry.packed).map_err(|_| OUTSIDE)?;
        let end = start.checked_add(packed).ok_or(OUTSIDE)?;
        let data = bytes.get(start..end).ok_or(OUTSIDE)?;
        match entry.method {
            0 => {
                if magic.is_some_and(|magic| !data.starts_with(&magic)) {
                    return Err("it does not begin as its name promises");
                }
                check(entry, data)?;
                Ok(Unpacked::Place(self.range.start + start..self.range.start + end))
            }
            8 => {
                let copy = inflate(data, entry.size, magic)?;
                check(entry, &copy)?;
                Ok(Unpacked::Copy(copy))
            }
            _ => Err("it is packed in a way that the JVM does not know"),
        }
    }
}

const OUTSIDE: Reason = "it lies outside of the archive";

fn check(entry: &ArchiveEntry, bytes: &[u8]) -> Result<(), Reason> {
    let mut crc = Crc::new();
    crc.update(bytes);
    if bytes.len() as u64 == entry.size && crc.sum() == entry.crc {
        Ok(())
    } else {
        Err("its checksum is wrong")
    }
}

/// Unpacks at most `size` bytes, and stops early when they begin with something else than `magic`.
fn inflate(data: &[u8], size: u64, magic: Option<[u8; 4]>) -> Result<Vec<u8>, Reason> {
    if size > (data.len() as u64).saturating_mul(MOST_PER_BYTE).saturating_add(64) {
        return Err("it claims to be larger than its data can be");
    }
    let mut inflater = Decompress::new(false);
    if let Some(magic) = magic {
        let mut first = Vec::with_capacity(magic.len());
        // A stream that ends earlier fails below.
        if inflater.decompress_vec(data, &mut first, FlushDecompress::None).is_err()
            || first != magic
        {
            return Err("it does not begin as its name promises");
        }
        inflater.reset(false);
    }
    let mut bytes = Vec::with_capacity(size as usize);
    // One byte more than claimed would be lost silently; the checksum tells.
    match inflater.decompress_vec(data, &mut bytes, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) => Ok(bytes),
        Ok(_) if bytes.len() as u64 == size => Ok(bytes),
        _ => Err("its data is damaged"),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk::<2>().map(|chunk| u16::from_le_bytes(*chunk))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|chunk| u32::from_le_bytes(*chunk))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk::<8>().map(|chunk| u64::from_le_bytes(*chunk))
}

/// The entries, and where the archive starts: a script or a header may stand before it.
fn read_list(bytes: &[u8]) -> Result<(Vec<ArchiveEntry>, usize), Reason> {
    const NOT: Reason = "this is no archive, or its end is missing";
    let earliest = bytes.len().saturating_sub(22 + 0xffff);
    let last = bytes.len().checked_sub(22).ok_or(NOT)?;
    let end = (earliest..=last).rev().find(|at| u32_at(bytes, *at) == Some(END)).ok_or(NOT)?;
    let number = |at: usize| u32_at(bytes, end + at).map(u64::from).ok_or(NOT);
    let (mut size, mut offset, mut list_end) = (number(12)?, number(16)?, end);
    if let Some(locator) = end.checked_sub(20)
        && u32_at(bytes, locator) == Some(END_64_LOCATOR)
        && let Some(at) = find_end_64(bytes, locator)
    {
        size = u64_at(bytes, at + 40).ok_or(NOT)?;
        offset = u64_at(bytes, at + 48).ok_or(NOT)?;
        list_end = at;
    }
    let size = usize::try_from(size).map_err(|_| NOT)?;
    let list = list_end.checked_sub(size).ok_or("its list is longer than the archive")?;
    let start = usize::try_from(offset).ok().and_then(|offset| list.checked_sub(offset));
    let start = start.ok_or("its list lies outside of the archive")?;
    let mut entries = Vec::new();
    let mut at = list;
    while at < list_end && u32_at(bytes, at) == Some(LISTED) {
        const SHORT: Reason = "its list is cut off";
        let short = |from: usize| u16_at(bytes, at + from).ok_or(SHORT);
        let long = |from: usize| u32_at(bytes, at + from).map(u64::from).ok_or(SHORT);
        let (names, extras, comments) =
            (usize::from(short(28)?), usize::from(short(30)?), usize::from(short(32)?));
        let name = bytes.get(at + 46..at + 46 + names).ok_or(SHORT)?;
        let extra = bytes.get(at + 46 + names..at + 46 + names + extras).ok_or(SHORT)?;
        let mut entry = ArchiveEntry {
            name: String::from_utf8_lossy(name).into_owned(),
            crc: long(16)? as u32,
            size: long(24)?,
            packed: long(20)?,
            method: short(10)?,
            encrypted: short(8)? & 1 != 0,
            offset: long(42)?,
        };
        long_sizes(&mut entry, extra);
        entries.push(entry);
        at += 46 + names + extras + comments;
    }
    Ok((entries, start))
}

/// The larger form of the end stands right before its locator, whatever stands before the archive.
fn find_end_64(bytes: &[u8], locator: usize) -> Option<usize> {
    let claimed = usize::try_from(u64_at(bytes, locator + 8)?).ok()?;
    let usual = locator.checked_sub(56);
    [Some(claimed), usual].into_iter().flatten().find(|at| u32_at(bytes, *at) == Some(END_64))
}

/// Sizes and places beyond 32 bits stand in a field of their own.
fn long_sizes(entry: &mut ArchiveEntry, extra: &[u8]) {
    let mut at = 0;
    while let (Some(kind), Some(length)) = (u16_at(extra, at), u16_at(extra, at + 2)) {
        if kind == 1 {
            let mut from = at + 4;
            for value in [&mut entry.size, &mut entry.packed, &mut entry.offset] {
                if *value == u64::from(u32::MAX)
                    && let Some(long) = u64_at(extra, from)
                {
                    *value = long;
                    from += 8;
                }
            }
        }
        at += 4 + usize::from(length);
    }
}
