//! Names that stay the same: hashes of what is kept on disk or compared later.
//!
//! FNV-1a, because it must give the same tomorrow, on every machine and in every version of Rust, and nobody here has
//! a reason to make two things alike. Identities of contexts, which uploads of strangers are merged by, are
//! `cct::ContentId`, which has a hash of its own.
#![warn(missing_docs)]

const START_64: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME_64: u64 = 0x0000_0100_0000_01b3;
const START_128: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME_128: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// A name for what is made of these parts: 128 bits as hexadecimal digits. Where a part ends counts.
pub fn key<P: AsRef<[u8]>>(parts: &[P]) -> String {
    let mut hash = START_128;
    let mut add = |byte: u8| hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME_128);
    for part in parts {
        part.as_ref().iter().copied().for_each(&mut add);
        // No text has this byte, so `a`, `bc` is not `ab`, `c`.
        add(0xff);
    }
    format!("{hash:032x}")
}

/// A name for the content of a file: its length and 64 bits. Eight bytes are taken at a time, as files can be large.
pub fn content_key(bytes: &[u8]) -> String {
    let mut hash = START_64;
    for word in bytes.chunks(8) {
        let mut eight = [0; 8];
        eight[..word.len()].copy_from_slice(word);
        hash = (hash ^ u64::from_le_bytes(eight)).wrapping_mul(PRIME_64);
        // Multiplying moves bits up only: two changes of highest bits would undo each other.
        hash ^= hash >> 29;
    }
    format!("{}-{hash:016x}", bytes.len())
}

/// A number for some bytes.
pub fn hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    seeded_hash(0, bytes)
}

/// The same with a seed, for experiments that are repeated with others.
pub fn seeded_hash(seed: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME_64);
    bytes.into_iter().fold(START_64 ^ seed, add)
}

#[cfg(test)]
mod tests {
    use super::{content_key, hash, key, seeded_hash};

    #[test]
    fn where_parts_end_counts() {
        assert_ne!(key(&["a", "bc"]), key(&["ab", "c"]));
        assert_ne!(key(&["a"]), key(&["a", ""]));
        assert_eq!(key(&["a", "b"]).len(), 32);
    }

    #[test]
    fn contents_are_told_apart() {
        let bytes = [0u8; 32];
        let mut other = bytes;
        (other[7], other[15]) = (0x80, 0x80);
        assert_ne!(content_key(&bytes), content_key(&other));
        assert_ne!(content_key(&bytes[..31]), content_key(&bytes));
    }

    /// Keys on disk and fingerprints in reports depend on these.
    #[test]
    fn published_values_are_met() {
        assert_eq!(hash(*b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(*b"foobar"), 0x8594_4171_f739_67e8);
        assert_ne!(seeded_hash(1, *b"a"), hash(*b"a"));
        assert_eq!(key::<&str>(&[]), "6c62272e07bb014262b821756295c58d");
    }
}
