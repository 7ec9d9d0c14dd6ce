//! A file that is read at any place by those who share it.

use std::io::{Error, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex};

use rawzip::ReaderAt;

/// A file or another stream that can be sought.
#[derive(Debug)]
pub struct Shared<S>(Arc<Mutex<S>>);

impl<S> Shared<S> {
    pub(crate) fn new(source: S) -> Self {
        Self(Arc::new(Mutex::new(source)))
    }
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Read + Seek> ReaderAt for Shared<S> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let mut source = self.0.lock().map_err(|_| Error::other("another reader failed"))?;
        source.seek(SeekFrom::Start(offset))?;
        source.read(buffer)
    }
}
