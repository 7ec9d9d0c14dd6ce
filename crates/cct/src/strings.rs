//! Interned strings: each distinct text is stored once, so equality is an integer test.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::StringId;

/// All texts of a profile, in one buffer.
#[derive(Clone, Default)]
pub struct StringTable {
    bytes: String,
    ends: Vec<usize>,
    index: HashTable<StringId>,
    hasher: DefaultHashBuilder,
}

impl StringTable {
    /// Finds or adds `text`.
    pub fn intern(&mut self, text: &str) -> StringId {
        let Self { bytes, ends, index, hasher } = self;
        let hash = hasher.hash_one(text);
        let found = index.find(hash, |id| slice(bytes, ends, *id) == text);
        if let Some(id) = found {
            return *id;
        }
        let id = StringId::new(ends.len());
        bytes.push_str(text);
        ends.push(bytes.len());
        index.insert_unique(hash, id, |id| hasher.hash_one(slice(bytes, ends, *id)));
        id
    }

    /// Finds `text` without adding it.
    pub fn find(&self, text: &str) -> Option<StringId> {
        let hash = self.hasher.hash_one(text);
        self.index.find(hash, |id| slice(&self.bytes, &self.ends, *id) == text).copied()
    }

    /// The text of `id`; empty for an id of another table.
    pub fn get(&self, id: StringId) -> &str {
        slice(&self.bytes, &self.ends, id)
    }

    /// Makes room for the texts of another table.
    pub(crate) fn reserve_for(&mut self, other: &Self) {
        let Self { bytes, ends, index, hasher } = self;
        bytes.reserve(other.bytes.len());
        ends.reserve(other.ends.len());
        index.reserve(other.ends.len(), |id| hasher.hash_one(slice(bytes, ends, *id)));
    }

    /// How many distinct texts there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Gives back memory that was reserved for growing.
    pub fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Memory behind the table, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.index.allocation_size()
    }

    /// True when nothing was interned yet.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn slice<'a>(bytes: &'a str, ends: &[usize], id: StringId) -> &'a str {
    let row = id.index();
    let start = if row == 0 { 0 } else { ends.get(row - 1).copied().unwrap_or(0) };
    ends.get(row).and_then(|end| bytes.get(start..*end)).unwrap_or("")
}

impl std::fmt::Debug for StringTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StringTable({} texts, {} bytes)", self.len(), self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_keeps_its_id_and_an_id_its_text(texts in prop::collection::vec(".{0,12}", 0..40)) {
            let mut table = StringTable::default();
            let ids: Vec<_> = texts.iter().map(|text| table.intern(text)).collect();
            for (text, id) in texts.iter().zip(&ids) {
                prop_assert_eq!(table.get(*id), text);
                prop_assert_eq!(table.find(text), Some(*id));
            }
            let distinct: std::collections::BTreeSet<_> = texts.iter().collect();
            prop_assert_eq!(table.len(), distinct.len());
        }
    }
}
