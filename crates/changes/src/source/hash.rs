//! Hashes of texts and bodies, to be compared within one run of the program.

/// A hash of a body, to be compared within one run of the program only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct BodyHash(pub(super) u128);

/// Spreads the bits of a word.
pub(super) const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hash of some text: the same on every machine.
pub(crate) fn hash_text(text: &[u8]) -> u64 {
    let mut hash = FACTOR ^ text.len() as u64;
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        hash = mix(hash, u64::from_le_bytes(word));
    }
    let rest = chunks.remainder();
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    mix(hash, u64::from_le_bytes(word))
}

pub(crate) fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(FACTOR);
    (mixed ^ (mixed >> 29)).rotate_left(17)
}
