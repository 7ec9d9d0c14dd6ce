//! Bytes to read: a file, standard input or memory, unpacked on the way.
//!
//! Readers see the unpacked bytes only. Those that can, stream; those that must see everything say so with
//! [`Input::read_all`], which is bounded.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{ReadError, ReadErrorKind};
use crate::tally::Tally;
use crate::zip;

/// Bytes shown to `sniff`; enough to get past the licence text or metadata that some files start with.
const HEAD_BYTES: usize = 64 << 10;

/// Bytes shown to `sniff` where the first line is longer: a stack that went wild has a hundred thousand frames.
const LONGEST_HEAD: usize = 16 << 20;

/// Packed files inside packed files that we follow. More is a bomb or a mistake.
const PACKING_LEVELS: usize = 4;

/// What [`Input::read_all`] holds in memory at most.
const MEMORY_LIMIT: u64 = 8 << 30;

/// Something that can be read and sought.
pub trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// A file or stream whose bytes are counted.
struct Counted<T> {
    inner: T,
    tally: Tally,
}

impl<T: Read> Read for Counted<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.tally.go_on()?;
        let read = self.inner.read(buffer)?;
        self.tally.add(read);
        Ok(read)
    }
}

impl<T: Seek> Seek for Counted<T> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

enum Source {
    File(Counted<File>),
    Memory(Cursor<Vec<u8>>),
    Shared(Counted<Cursor<Arc<[u8]>>>),
    Stream(Box<dyn Read + Send>),
}

/// The unpacked bytes of one input, and its first bytes to recognise it by.
pub struct Input {
    head: Vec<u8>,
    /// True when `head` is all there is.
    whole: bool,
    source: Source,
    path: Option<PathBuf>,
}

impl Input {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_counted(path, Tally::default())
    }

    /// Opens a file and counts what is read of it.
    pub fn open_counted(path: &Path, tally: Tally) -> Result<Self, ReadError> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            let help = "give the files in it";
            return Err(ReadError::unsupported("this is a directory").help(help));
        }
        let mut input = Self::from_source(Source::File(Counted { inner: file, tally }))?;
        input.path = Some(path.to_owned());
        Ok(input)
    }

    /// Takes bytes that are in memory already.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ReadError> {
        Self::from_source(Source::Memory(Cursor::new(bytes)))
    }

    /// Takes bytes that others hold as well, and counts what is read of them.
    pub fn from_shared_bytes(bytes: Arc<[u8]>, tally: Tally) -> Result<Self, ReadError> {
        Self::from_source(Source::Shared(Counted { inner: Cursor::new(bytes), tally }))
    }

    /// Takes a stream such as standard input.
    pub fn from_stream(stream: Box<dyn Read + Send>) -> Result<Self, ReadError> {
        Self::from_stream_counted(stream, Tally::default())
    }

    /// Takes a stream and counts what is read of it.
    pub fn from_stream_counted(
        stream: Box<dyn Read + Send>,
        tally: Tally,
    ) -> Result<Self, ReadError> {
        Self::from_source(Source::Stream(Box::new(Counted { inner: stream, tally })))
    }

    fn from_source(mut source: Source) -> Result<Self, ReadError> {
        for _ in 0..PACKING_LEVELS {
            let (head, whole) = read_head(&mut source)?;
            if head.starts_with(zip::MAGIC) {
                source = Source::Stream(match source {
                    Source::File(file) => zip::open(file)?,
                    Source::Memory(memory) => zip::open(memory)?,
                    Source::Shared(shared) => zip::open(shared)?,
                    // The list of members stands at the end.
                    Source::Stream(rest) => {
                        zip::open(Cursor::new(all_bytes(Cursor::new(head).chain(rest))?))?
                    }
                });
                continue;
            }
            let Some(unpack) = packing(&head) else {
                return Ok(Self { head, whole, source, path: None });
            };
            // A file keeps its own first bytes; a stream has given them away.
            let packed: Box<dyn Read + Send> = match source {
                Source::File(mut file) => {
                    file.seek(SeekFrom::Start(0))?;
                    Box::new(file)
                }
                Source::Memory(mut memory) => {
                    memory.set_position(0);
                    Box::new(memory)
                }
                Source::Shared(mut shared) => {
                    shared.inner.set_position(0);
                    Box::new(shared)
                }
                Source::Stream(rest) => Box::new(Cursor::new(head).chain(rest)),
            };
            source = Source::Stream(unpack(packed)?);
        }
        let message = format!("compressed more than {PACKING_LEVELS} times");
        Err(ReadError::new(ReadErrorKind::Malformed(message)).help("decompress the file first"))
    }

    /// The first bytes, up to 64 KiB, or more where the first line is longer.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// True when [`Input::head`] is the whole input.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Where the input lies, for formats that keep a second file beside the first.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// True when bytes come straight from a file, neither packed nor piped.
    pub(crate) fn is_plain_file(&self) -> bool {
        matches!(self.source, Source::File(_))
    }

    /// All bytes from the start, as a stream.
    pub fn into_stream(self) -> Result<Box<dyn Read + Send>, ReadError> {
        Ok(match self.source {
            Source::File(mut file) => {
                file.seek(SeekFrom::Start(0))?;
                Box::new(file)
            }
            Source::Memory(mut memory) => {
                memory.set_position(0);
                Box::new(memory)
            }
            Source::Shared(mut shared) => {
                shared.inner.set_position(0);
                Box::new(shared)
            }
            Source::Stream(rest) => Box::new(Cursor::new(self.head).chain(rest)),
        })
    }

    /// All bytes from the start, for formats that jump about. A file is not copied into memory.
    pub fn into_seekable(self) -> Result<Box<dyn ReadSeek>, ReadError> {
        Ok(match self.source {
            Source::File(mut file) => {
                file.seek(SeekFrom::Start(0))?;
                Box::new(io::BufReader::new(file))
            }
            Source::Memory(mut memory) => {
                memory.set_position(0);
                Box::new(memory)
            }
            Source::Shared(mut shared) => {
                shared.inner.set_position(0);
                Box::new(shared)
            }
            Source::Stream(_) => Box::new(Cursor::new(self.read_all()?)),
        })
    }

    /// All bytes in memory.
    pub fn read_all(self) -> Result<Vec<u8>, ReadError> {
        if let Source::Memory(memory) = self.source {
            return Ok(memory.into_inner());
        }
        all_bytes(self.into_stream()?)
    }
}

fn all_bytes(stream: impl Read) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    stream.take(MEMORY_LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MEMORY_LIMIT {
        let kind = ReadErrorKind::TooLarge {
            what: "an input",
            size: bytes.len() as u64,
            limit: MEMORY_LIMIT,
        };
        return Err(ReadError::new(kind));
    }
    Ok(bytes)
}

fn read_head(source: &mut Source) -> Result<(Vec<u8>, bool), ReadError> {
    let (mut head, mut wanted) = (Vec::new(), HEAD_BYTES);
    loop {
        let more = (wanted - head.len()) as u64;
        match source {
            Source::File(file) => {
                file.take(more).read_to_end(&mut head)?;
            }
            Source::Memory(memory) => {
                memory.take(more).read_to_end(&mut head)?;
            }
            Source::Shared(shared) => {
                shared.take(more).read_to_end(&mut head)?;
            }
            Source::Stream(stream) => {
                // A damaged packed file may still have a readable beginning: let the reader find out how far it goes.
                match stream.take(more).read_to_end(&mut head) {
                    Err(error) if head.is_empty() => return Err(error.into()),
                    _ => {}
                }
            }
        }
        let whole = head.len() < wanted;
        if whole || wanted >= LONGEST_HEAD || !is_open_line(&head) {
            return Ok((head, whole));
        }
        wanted *= 2;
    }
}

/// True for bytes that are within their first line, unless it is a line of JSON or XML, which is known by its start.
fn is_open_line(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    !matches!(text.first(), Some(b'{' | b'[' | b'<')) && memchr::memchr(b'\n', head).is_none()
}

type Unpack = fn(Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>, ReadError>;

/// What unpacks bytes that start like this; none when they are not packed.
fn packing(head: &[u8]) -> Option<Unpack> {
    if head.starts_with(&[0x1f, 0x8b, 8]) {
        return Some(|packed| {
            Ok(Box::new(flate2::read::MultiGzDecoder::new(io::BufReader::new(packed))))
        });
    }
    if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Some(|packed| Ok(Box::new(zstd::Decoder::new(packed)?)));
    }
    None
}
