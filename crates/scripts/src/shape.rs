//! What is left of a function when identifiers are dropped: the order of its signs, words of the language, literals and
//! property names. Minifiers rename what is local and leave the rest, so two builds of one function have one shape.
//!
//! Where a function was edited its shape is another one; what it still shares with itself are the rare things it names.
//! A sketch holds the sixteen smallest hashes of those: the share of equal ones estimates how much two functions have in
//! common.

/// How many hashes a sketch holds at most.
const SKETCH: usize = 16;

/// What a function looks like without its identifiers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Of everything in it, functions inside included.
    pub hash: u64,
    /// How many tokens that are, without those of functions inside.
    pub size: u32,
    /// Hashes of literals, property names and long identifiers, sorted, without those of functions inside.
    pub sketch: Box<[u32]>,
}

/// Grows a shape.
#[derive(Clone, Debug)]
pub(crate) struct Growing {
    hash: u64,
    size: u32,
    sketch: Vec<u32>,
}

impl Default for Growing {
    fn default() -> Self {
        Self { hash: SEED, size: 0, sketch: Vec::new() }
    }
}

impl Growing {
    /// Something that says nothing by itself.
    pub fn add(&mut self, part: u64) {
        self.hash = mixed(self.hash, part);
        self.size = self.size.saturating_add(1);
    }

    /// A function inside.
    pub fn add_inner(&mut self, inner: u64) {
        self.hash = mixed(self.hash, inner);
    }

    /// Something rare.
    pub fn mark(&mut self, text: u64) {
        let mark = (mixed(SEED, text) >> 32) as u32;
        match self.sketch.binary_search(&mark) {
            Err(at) if at < SKETCH => {
                self.sketch.insert(at, mark);
                self.sketch.truncate(SKETCH);
            }
            _ => {}
        }
    }

    pub fn finish(self) -> Shape {
        Shape { hash: self.hash, size: self.size, sketch: self.sketch.into() }
    }
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The same on every machine, unlike the hashes of tables.
fn mixed(hash: u64, part: u64) -> u64 {
    let folded = u128::from(hash ^ part) * u128::from(0xd6e8_feb8_6659_fd93_u64);
    ((folded >> 64) as u64 ^ folded as u64).rotate_left(17).wrapping_add(SEED)
}

/// The hash of a text.
pub(crate) fn hash_of(text: &[u8]) -> u64 {
    let mut hash = text.len() as u64;
    for chunk in text.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mixed(hash, u64::from_le_bytes(word));
    }
    hash
}
