//! What a body is, for comparison: a stream of tokens and its hashes.
//!
//! The exact hash takes all tokens but comments. The loose one numbers local names by their first appearance, leaves
//! out what has no effect, and takes the shape of expressions in place of parentheses: `(a + b) * c` and `a + b * c`
//! stay apart, `(a + b)` and `a + b` do not.

use crate::source::hash::{BodyHash, FACTOR, hash_text, mix};

/// How a token takes part in the hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// In both, as it is.
    Plain,
    /// A name that may be local.
    Name,
    /// A name behind `this.`.
    OwnMember,
    /// `this` or `.` in front of such a name.
    OwnPrefix,
    /// In the exact hash only.
    ExactOnly,
    /// In the loose hash only.
    LooseOnly,
}

#[derive(Clone, Copy)]
pub(super) struct Token {
    pub hash: u64,
    pub class: Class,
}

const STAND_IN: u64 = 0x7361_6d65_0000;
const LOCAL: u64 = 0x6c6f_6361_6c00;
const OWN_NAME: u64 = 0x6f77_6e00;

/// In place of the hash of a body that is known to be the same on both sides, by its number among those.
pub(super) fn stand_in(number: usize) -> BodyHash {
    BodyHash((u128::from(STAND_IN) << 64) | number as u128)
}

/// Both hashes of a body and its tokens for fuzzy comparison.
pub(super) struct Digest {
    pub exact: BodyHash,
    pub loose: BodyHash,
    pub tokens: Box<[u32]>,
}

/// `is_local` tells names that the function or one around it declares; `own_name` is the function's own.
pub(super) fn digest(tokens: &[Token], own_name: u64, is_local: impl Fn(u64) -> bool) -> Digest {
    let mut exact = Hasher::default();
    let mut loose = Hasher::default();
    let mut numbers: hashbrown::HashMap<u64, u64> = hashbrown::HashMap::new();
    let mut kept = Vec::with_capacity(tokens.len());
    let comma = hash_text(b",");
    let closers = [hash_text(b")"), hash_text(b"]"), hash_text(b"}")];
    // A comma waits for what follows: before a closing bracket it means nothing.
    let mut comma_waits = false;
    for token in tokens {
        if token.class != Class::LooseOnly {
            exact.add(token.hash);
        }
        let (hash, plain) = match token.class {
            Class::ExactOnly => continue,
            // The member itself stays as it is, local names do not: there is nothing to confuse.
            Class::OwnPrefix => continue,
            Class::Name if is_local(token.hash) => {
                let next = numbers.len() as u64;
                (mix(LOCAL, *numbers.entry(token.hash).or_insert(next)), LOCAL)
            }
            Class::Name if token.hash == own_name => (OWN_NAME, OWN_NAME),
            _ => (token.hash, token.hash),
        };
        if comma_waits {
            comma_waits = false;
            if !closers.contains(&hash) {
                loose.add(comma);
                kept.push(comma as u32);
            }
        }
        if hash == comma {
            comma_waits = true;
            continue;
        }
        loose.add(hash);
        if token.class != Class::LooseOnly {
            kept.push((plain ^ (plain >> 32)) as u32);
        }
    }
    Digest { exact: exact.finish(), loose: loose.finish(), tokens: kept.into() }
}

/// Two chains side by side: 128 bits, so that chance equality is no concern.
#[derive(Default)]
struct Hasher {
    first: u64,
    second: u64,
}

impl Hasher {
    fn add(&mut self, word: u64) {
        self.first = mix(self.first, word);
        self.second = mix(self.second.wrapping_add(FACTOR), word.rotate_left(31));
    }

    fn finish(self) -> BodyHash {
        BodyHash((u128::from(self.first) << 64) | u128::from(self.second))
    }
}
