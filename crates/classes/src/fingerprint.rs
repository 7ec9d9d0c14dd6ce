//! A 128-bit hash of bytes, the same on every machine.
//!
//! Bodies are compared by their fingerprints, so that no body has to be kept. Two lanes of multiplication with the
//! halves folded; nobody gains by making two bodies collide, so it need not be a cryptographic one.

const KEYS: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03, 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];

/// The fingerprint of `bytes`.
pub fn fingerprint(bytes: &[u8]) -> u128 {
    let mut first = KEYS[0] ^ bytes.len() as u64;
    let mut second = KEYS[1];
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        first = fold(first ^ word, KEYS[2]);
        second = fold(second.rotate_left(23) ^ word, KEYS[3]);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let last = u64::from_le_bytes(last);
    first = fold(fold(first ^ last, KEYS[2]) ^ second, KEYS[0]);
    second = fold(fold(second.rotate_left(23) ^ last, KEYS[3]) ^ first, KEYS[1]);
    u128::from(first) << 64 | u128::from(second)
}

/// The fingerprint of several parts; where one ends counts.
pub fn fingerprint_of(kind: u8, parts: &[&[u8]]) -> u128 {
    let mut bytes = Vec::with_capacity(parts.iter().map(|part| part.len() + 4).sum::<usize>() + 1);
    bytes.push(kind);
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    fingerprint(&bytes)
}

fn fold(word: u64, key: u64) -> u64 {
    // Adding keeps a word of zeros from wiping out what came before it.
    let product = u128::from(word) * u128::from(key);
    (product as u64) ^ ((product >> 64) as u64) ^ word.rotate_left(32)
}

/// Where a class is looked up.
pub fn class_key(name: &[u8]) -> u128 {
    fingerprint_of(b'C', &[name])
}

/// Where a method is looked up.
pub fn method_key(class: &[u8], name: &[u8], descriptor: &[u8]) -> u128 {
    fingerprint_of(b'M', &[class, name, descriptor])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{fingerprint, fingerprint_of};

    #[test]
    fn near_bytes_have_far_fingerprints() {
        let mut seen = HashSet::new();
        for length in 0..40 {
            let zeros = vec![0u8; length];
            assert!(seen.insert(fingerprint(&zeros)), "{length} zeros");
            for place in 0..length {
                for bit in 0..8 {
                    let mut bytes = zeros.clone();
                    bytes[place] ^= 1 << bit;
                    assert!(seen.insert(fingerprint(&bytes)), "{length}, {place}, {bit}");
                }
            }
        }
    }

    #[test]
    fn it_is_the_same_on_every_machine() {
        assert_eq!(fingerprint(b"perfblame"), 118_189_166_181_376_768_636_547_958_739_305_101_390);
        assert_ne!(fingerprint_of(1, &[b"ab", b"c"]), fingerprint_of(1, &[b"a", b"bc"]));
    }
}
