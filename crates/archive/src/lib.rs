//! Zip files: what is in them, and the members unpacked and checked.
//!
//! Profiles come in zip files of one member, which is read as a stream; programs come as jars in memory, with jars
//! inside. `rawzip` knows the bytes (64-bit sizes, archives behind a script, sizes behind the data) and checks lengths
//! and checksums; which of it is believed is decided here. Sizes are claims: memory grows with the bytes that arrive.
#![warn(missing_docs)]

mod bytes;
mod error;
mod prelude;
mod shared;

use std::io::{BufReader, Read, Seek, SeekFrom};

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, RangeReader, ReaderAt, ZipArchive};

pub use bytes::Bytes;
pub use error::{ZipError, ZipErrorKind};
pub use shared::Shared;

use prelude::prelude;

/// The start of a zip file with at least one member.
pub const MAGIC: &[u8] = b"PK\x03\x04";

/// Packed bytes that are read at once.
const BUFFER: usize = 1 << 17;

/// Memory that is set aside before a member is unpacked; it grows from there.
const FIRST_BYTES: u64 = 1 << 16;

/// A zip file.
pub struct Archive<R> {
    inner: ZipArchive<R>,
    /// What is in it, in the order of the list at its end.
    pub members: Vec<Member>,
}

/// A file or folder in a zip file, as the list has it.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its path; folders end with a slash.
    pub name: String,
    /// The checksum of its bytes.
    pub crc: u32,
    /// How many bytes it unpacks to.
    pub size: u64,
    /// It cannot be read without a password.
    pub is_encrypted: bool,
    method: CompressionMethod,
    /// Where its header stands.
    offset: u64,
    way: rawzip::ZipArchiveEntryWayfinder,
}

impl<S: Read + Seek> Archive<Shared<S>> {
    /// Reads the list of a file.
    pub fn of_stream(mut source: S) -> Result<Self, ZipError> {
        let length = source.seek(SeekFrom::End(0)).map_err(|error| ZipError::read(0, &error))?;
        let source = Shared::new(source);
        let prelude = prelude(&source, length).map_err(|error| ZipError::read(0, &error))?;
        Self::open(source.without(prelude), length - prelude, prelude)
    }
}

impl Archive<Bytes> {
    /// Reads the list of an archive in memory.
    pub fn of_bytes(bytes: Bytes) -> Result<Self, ZipError> {
        let length = bytes.len() as u64;
        let prelude = prelude(&bytes, length).map_err(|error| ZipError::read(0, &error))?;
        let archive = if prelude == 0 { Some(bytes) } else { bytes.part(prelude, length) };
        let archive = archive.ok_or(ZipError { offset: prelude, kind: ZipErrorKind::NoList })?;
        Self::open(archive, length - prelude, prelude)
    }

    /// The bytes of a member, which must begin with `start`. More than `limit` of them are refused.
    pub fn read(&self, index: usize, limit: u64, start: &[u8]) -> Result<Vec<u8>, ZipError> {
        let member = self.member(index)?;
        let entry = self.inner.get_entry(member.way).map_err(|error| member.wrong(&error))?;
        let (from, to) = entry.compressed_data_range();
        let data = self.inner.get_ref().slice(from, to).ok_or_else(|| member.outside())?;
        if member.size > limit {
            return Err(member.error(ZipErrorKind::TooLarge));
        }
        let mut read: Box<dyn Read> = match member.method {
            CompressionMethod::STORE => Box::new(entry.verifying_reader(data)),
            CompressionMethod::DEFLATE => {
                Box::new(entry.verifying_reader(DeflateDecoder::new(data)))
            }
            method => return Err(member.error(ZipErrorKind::Method(method.as_u16()))),
        };
        // What does not begin as it should is not unpacked any further.
        let mut found = Vec::with_capacity(member.size.min(FIRST_BYTES) as usize);
        let first = read.by_ref().take(start.len() as u64).read_to_end(&mut found);
        if first.is_err() || found != start {
            return Err(member.error(ZipErrorKind::Start));
        }
        read.take(limit + 1).read_to_end(&mut found).map_err(|error| member.damage(&error))?;
        Ok(found)
    }

    /// A member that is an archive itself. Where it is not packed, its bytes are those of the outer one.
    pub fn nested(&self, index: usize, limit: u64) -> Result<Self, ZipError> {
        let member = self.member(index)?;
        if member.method != CompressionMethod::STORE || member.size > limit {
            return Self::of_bytes(Bytes::from(self.read(index, limit, b"")?));
        }
        let entry = self.inner.get_entry(member.way).map_err(|error| member.wrong(&error))?;
        let (from, to) = entry.compressed_data_range();
        let part = self.inner.get_ref().part(from, to).ok_or_else(|| member.outside())?;
        std::io::copy(&mut entry.verifying_reader(part.bytes()), &mut std::io::sink())
            .map_err(|error| member.damage(&error))?;
        Self::of_bytes(part)
    }
}

impl<R: ReaderAt + Clone + Send + 'static> Archive<R> {
    /// The unpacked bytes of a member as a stream. It ends with an error where they are not what the list says.
    pub fn stream(&self, index: usize) -> Result<Box<dyn Read + Send>, ZipError> {
        let member = self.member(index)?;
        let entry = self.inner.get_entry(member.way).map_err(|error| member.wrong(&error))?;
        let (from, to) = entry.compressed_data_range();
        let packed = RangeReader::new(self.inner.get_ref().clone(), from..to);
        let packed = BufReader::with_capacity(BUFFER, packed);
        Ok(match member.method {
            CompressionMethod::STORE => Box::new(entry.verifying_reader(packed)),
            CompressionMethod::DEFLATE => {
                Box::new(entry.verifying_reader(DeflateDecoder::new(packed)))
            }
            CompressionMethod::ZSTD => {
                let unpacked = zstd::Decoder::with_buffer(packed);
                let unpacked = unpacked.map_err(|error| ZipError::read(member.offset, &error))?;
                Box::new(entry.verifying_reader(unpacked))
            }
            method => return Err(member.error(ZipErrorKind::Method(method.as_u16()))),
        })
    }
}

impl<R: ReaderAt> Archive<R> {
    /// Reads the list. `prelude` bytes stand before the archive, which places in errors count.
    fn open(source: R, length: u64, prelude: u64) -> Result<Self, ZipError> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let locator = rawzip::ZipLocator::new();
        let inner =
            locator.locate_in_reader(source, &mut buffer, length).map_err(|(_, error)| {
                let offset = error.eocd_offset().unwrap_or(length);
                ZipError::of(prelude + offset, &error, ZipErrorKind::NoList)
            })?;
        let mut members = Vec::new();
        let mut offset = inner.directory_offset();
        let mut entries = inner.entries(&mut buffer);
        loop {
            let entry = entries
                .next_entry()
                .map_err(|error| ZipError::of(prelude + offset, &error, ZipErrorKind::List))?;
            let Some(entry) = entry else { break };
            offset = entry.central_directory_offset();
            members.push(Member {
                name: String::from_utf8_lossy(entry.file_path().as_ref()).into_owned(),
                crc: entry.crc32(),
                size: entry.uncompressed_size_hint(),
                is_encrypted: entry.flags().is_encrypted(),
                method: entry.compression_method(),
                offset: prelude + entry.local_header_offset(),
                way: entry.wayfinder(),
            });
        }
        Ok(Self { inner, members })
    }

    fn member(&self, index: usize) -> Result<&Member, ZipError> {
        let none = ZipError { offset: 0, kind: ZipErrorKind::Outside };
        let member = self.members.get(index).ok_or(none)?;
        if member.is_encrypted { Err(member.error(ZipErrorKind::Encrypted)) } else { Ok(member) }
    }
}

impl Member {
    fn error(&self, kind: ZipErrorKind) -> ZipError {
        ZipError { offset: self.offset, kind }
    }

    fn outside(&self) -> ZipError {
        self.error(ZipErrorKind::Outside)
    }

    /// The header that the list points to is not there.
    fn wrong(&self, error: &rawzip::Error) -> ZipError {
        ZipError::of(self.offset, error, ZipErrorKind::Outside)
    }

    /// The data cannot be unpacked, or is not what the list says.
    fn damage(&self, error: &std::io::Error) -> ZipError {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rawzip::Error>());
        match inner {
            Some(error) => ZipError::of(self.offset, error, ZipErrorKind::Damaged),
            None => self.error(ZipErrorKind::Damaged),
        }
    }
}

#[cfg(test)]
mod tests;
