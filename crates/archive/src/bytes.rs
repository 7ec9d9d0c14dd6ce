//! Bytes in memory, or a part of them, that several archives share.

use std::ops::Range;
use std::sync::Arc;

use rawzip::ReaderAt;

/// A part of some bytes.
#[derive(Clone, Debug)]
pub struct Bytes {
    all: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { all: Arc::new(bytes), range }
    }
}

impl Bytes {
    pub(crate) fn len(&self) -> usize {
        self.range.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.all.get(self.range.clone()).unwrap_or_default()
    }

    pub(crate) fn slice(&self, from: u64, to: u64) -> Option<&[u8]> {
        self.bytes().get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
    }

    pub(crate) fn part(&self, from: u64, to: u64) -> Option<Self> {
        self.slice(from, to)?;
        let start = self.range.start;
        let range = start + usize::try_from(from).ok()?..start + usize::try_from(to).ok()?;
        Some(Self { all: Arc::clone(&self.all), range })
    }
}

impl ReaderAt for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        self.bytes().read_at(buffer, offset)
    }
}
