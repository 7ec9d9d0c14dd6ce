//! The rows of a bit-parallel longest common subsequence, kept to be walked.
//!
//! Row `r`, bit `k` is 0 when the longest common subsequence of the first `r + 1` labels of one sequence and the first
//! `k + 1` of the other is longer than that with the first `k` only. Each row holds the words near the diagonal; words
//! below them are those of an earlier row, words above them all ones.

use super::BITS;

#[derive(Default)]
pub(super) struct Rows {
    /// The last row, all of it.
    state: Vec<u64>,
    words: Vec<u64>,
    /// Where in `words` each row starts, and which word of the row that is.
    start: Vec<(usize, usize)>,
}

impl Rows {
    /// Begins anew, with rows of so many words.
    pub(super) fn start(&mut self, words: usize) {
        self.state.clear();
        self.state.resize(words, u64::MAX);
        self.words.clear();
        self.start.clear();
    }

    /// The next row, from its matches in the words that start with word `low`.
    pub(super) fn push(&mut self, low: usize, matches: &[u64]) {
        self.start.push((self.words.len(), low));
        let mut carry = false;
        for (state, matches) in self.state[low..].iter_mut().zip(matches) {
            let (sum, first) = state.overflowing_add(*state & matches);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first | second;
            *state = sum | (*state & !matches);
            self.words.push(*state);
        }
    }

    /// The length of the longest common subsequence.
    pub(super) fn length(&self) -> usize {
        self.state.iter().map(|word| word.count_zeros() as usize).sum()
    }

    /// True when the subsequence gets shorter without this bit's label.
    pub(super) fn needs_bit(&self, row: usize, bit: usize) -> bool {
        self.word(row, bit / BITS) >> (bit % BITS) & 1 == 0
    }

    /// True when the subsequence gets shorter without this row's label: the topmost bit in which this row differs from
    /// the one before tells by which of the two it was set last.
    pub(super) fn needs_row(&self, row: usize, bit: usize) -> bool {
        let (_, low) = self.start[row];
        let mut seen = u64::MAX >> (BITS - 1 - bit % BITS);
        for word in (low..=bit / BITS).rev() {
            let here = self.word(row, word);
            let above = row.checked_sub(1).map_or(u64::MAX, |row| self.word(row, word));
            let differs = (here ^ above) & seen;
            if differs != 0 {
                let topmost = BITS - 1 - differs.leading_zeros() as usize;
                return here >> topmost & 1 == 0;
            }
            seen = u64::MAX;
        }
        false
    }

    /// A word of a row, at or above the row's lowest.
    fn word(&self, row: usize, word: usize) -> u64 {
        let (start, low) = self.start[row];
        let end = self.start.get(row + 1).map_or(self.words.len(), |(next, _)| *next);
        let at = (word >= low).then(|| start + word - low).filter(|at| *at < end);
        at.map_or(u64::MAX, |at| self.words[at])
    }
}
