//! Likeness of two bodies: how many short runs of tokens they share.

use crate::source::mix;

/// Tokens in a run: long enough that chance runs are rare, short enough that an edit spoils few.
const RUN: usize = 4;

/// Bodies with fewer tokens are alike by chance.
pub(super) const MIN_TOKENS: usize = 8;

/// The runs of a body, sorted, each once.
pub(super) fn shingles(tokens: &[u32]) -> Vec<u64> {
    let run = |run: &[u32]| run.iter().fold(0, |hash, token| mix(hash, u64::from(*token)));
    let mut found: Vec<u64> = tokens.windows(RUN).map(run).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// How many are in both sorted lists.
pub(super) fn shared(one: &[u64], other: &[u64]) -> usize {
    let (mut left, mut right, mut count) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(left), other.get(right)) {
        match a.cmp(b) {
            std::cmp::Ordering::Less => left += 1,
            std::cmp::Ordering::Greater => right += 1,
            std::cmp::Ordering::Equal => {
                left += 1;
                right += 1;
                count += 1;
            }
        }
    }
    count
}

/// Share of runs that both have among those that either has.
pub(super) fn likeness(one: &[u64], other: &[u64]) -> f64 {
    let shared = shared(one, other);
    let all = one.len() + other.len() - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

/// What is in the first sorted list only.
pub(super) fn only_first(one: &[u64], other: &[u64]) -> Vec<u64> {
    let mut rest = other.iter().copied().peekable();
    let mut only = Vec::new();
    for &hash in one {
        while rest.next_if(|next| *next < hash).is_some() {}
        if rest.peek() != Some(&hash) {
            only.push(hash);
        }
    }
    only
}
