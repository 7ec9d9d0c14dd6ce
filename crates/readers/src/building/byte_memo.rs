//! What a piece of text meant the last time: most lines of a text profile repeat an earlier one.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Text that the memo holds before it starts afresh, so that a file in which nothing repeats costs no more.
const LIMIT: usize = 256 << 20;

/// From bytes to a small value.
pub(crate) struct ByteMemo<T> {
    bytes: Vec<u8>,
    /// End in `bytes`, hash, value.
    rows: Vec<(u32, u64, T)>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl<T: Copy> ByteMemo<T> {
    pub(crate) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            rows: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// The value of `key`, and the hash to [`ByteMemo::insert`] it with when there is none.
    pub(crate) fn find(&self, key: &[u8]) -> Result<T, u64> {
        let hash = self.hasher.hash_one(key);
        let row = self.index.find(hash, |row| self.key(*row) == key).ok_or(hash)?;
        self.rows.get(*row as usize).map(|row| row.2).ok_or(hash)
    }

    /// Remembers a key that is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, key: &[u8], value: T) {
        if key.len() > LIMIT {
            return;
        }
        if self.bytes.len() + key.len() > LIMIT {
            self.bytes.clear();
            self.rows.clear();
            self.index.clear();
        }
        self.bytes.extend_from_slice(key);
        let row = self.rows.len() as u32;
        self.rows.push((self.bytes.len() as u32, hash, value));
        let Self { index, rows, .. } = self;
        index.insert_unique(hash, row, |row| rows.get(*row as usize).map_or(0, |row| row.1));
    }

    fn key(&self, row: u32) -> &[u8] {
        let row = row as usize;
        let start = row.checked_sub(1).and_then(|row| self.rows.get(row)).map_or(0, |row| row.0);
        let end = self.rows.get(row).map_or(0, |row| row.0);
        self.bytes.get(start as usize..end as usize).unwrap_or(&[])
    }
}
