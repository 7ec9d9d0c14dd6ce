//! A file that is read at any place by those who share it.

use std::io::{Error, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex};

use rawzip::ReaderAt;

/// A file or another stream that can be sought.
#[derive(Debug)]
pub struct Shared<S> {
    source: Arc<Mutex<S>>,
    /// Where in the stream its first byte is.
    start: u64,
}

impl<S> Shared<S> {
    pub(crate) fn new(source: S) -> Self {
        Self { source: Arc::new(Mutex::new(source)), start: 0 }
    }

    /// The same without so many bytes at its start.
    pub(crate) fn without(self, prelude: u64) -> Self {
        Self { start: self.start + prelude, ..self }
    }
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self { source: Arc::clone(&self.source), start: self.start }
    }
}

impl<S: Read + Seek> ReaderAt for Shared<S> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let mut source = self.source.lock().map_err(|_| Error::other("another reader failed"))?;
        source.seek(SeekFrom::Start(self.start.saturating_add(offset)))?;
        source.read(buffer)
    }
}
