//! A longest common subsequence of two sequences of labels.
//!
//! There can be many; one is chosen by a rule that does not know which side is which, so that swapping the sides mirrors
//! the answer. The beginning that both have in common is paired, and labels that one side lacks after it are set aside.
//! Then, from there: equal heads are partners; of two heads that differ, the one whose loss costs nothing is skipped, and
//! when that is true of both, the one whose name sorts later.
//!
//! Lengths are computed 64 at a time, as the bits of machine words, one row of words for each label of the shorter one (the
//! recurrence of `[bitlcs]`), and only near the diagonal: sequences that differ in `d` places never leave it by more than
//! `d`. The width starts at one word and grows until the answer fits, so that near-equal sequences take time in
//! proportion to their length. The rows are kept to walk through them again. The amount of work is bounded; beyond it
//! there is no answer, on any machine.

mod rows;

use std::cmp::Ordering;

use rows::Rows;

const BITS: usize = u64::BITS as usize;

/// Words that may be touched for each label of both sequences: enough for sequences of some 8,000 labels in whatever
/// order, and for longer ones the nearer they are to each other. All levels of two trees together stay linear in their
/// size.
const WORK_PER_LABEL: usize = 128;

/// Words that may be touched at all, since they are kept: 64 MB.
const WORK: usize = 1 << 23;

/// How much wider to look when the answer did not fit.
const WIDER: usize = 4;

/// No position, no row of masks.
const NONE: u32 = u32::MAX;

/// Finds longest common subsequences; keeps its memory from one to the next.
#[derive(Default)]
pub(crate) struct Lcs {
    /// By label: on which sides it is.
    sides: Vec<u8>,
    /// What both sides have, label and position; the side with less of it is `short`.
    short: Vec<(u32, u32)>,
    long: Vec<(u32, u32)>,
    /// By label: the lowest bit that stands for it.
    first: Vec<u32>,
    /// By bit: the next one with the same label.
    next: Vec<u32>,
    /// By label: how often it occurs in `long`, then its row in `masks`.
    mask: Vec<u32>,
    /// The bits of the labels that occur often.
    masks: Vec<u64>,
    /// The bits of the label at hand.
    bits: Vec<u64>,
    rows: Rows,
}

impl Lcs {
    /// For labels below `labels`.
    pub(crate) fn new(labels: usize) -> Self {
        Self {
            sides: vec![0; labels],
            first: vec![NONE; labels],
            mask: vec![0; labels],
            ..Self::default()
        }
    }

    /// Appends the positions of partners, in ascending order. False, with nothing appended, when that would be too much
    /// work. `by_name` compares the names at a position before and one after.
    pub(crate) fn pair(
        &mut self,
        before: &[u32],
        after: &[u32],
        by_name: impl Fn(usize, usize) -> Ordering,
        pairs: &mut Vec<(u32, u32)>,
    ) -> bool {
        let same = before.iter().zip(after).take_while(|(before, after)| before == after).count();
        self.set_aside(before, after, same);
        // The rule of the walk does not care which side is which, so the amount of work decides.
        let swapped = self.short.len() > self.long.len();
        if swapped {
            std::mem::swap(&mut self.short, &mut self.long);
        }
        let work = (before.len() + after.len()).saturating_mul(WORK_PER_LABEL).min(WORK);
        if !self.measure(work) {
            return false;
        }
        pairs.extend((0..same as u32).map(|position| (position, position)));
        if swapped {
            let by_name = |short, long| by_name(long, short).reverse();
            self.walk(by_name, |short, long| pairs.push((long, short)));
        } else {
            self.walk(by_name, |short, long| pairs.push((short, long)));
        }
        true
    }

    /// Takes what both sequences have, beyond the first `skip` of each.
    fn set_aside(&mut self, before: &[u32], after: &[u32], skip: usize) {
        let sides = &mut self.sides;
        before[skip..].iter().for_each(|label| sides[*label as usize] |= 1);
        after[skip..].iter().for_each(|label| sides[*label as usize] |= 2);
        for (labels, into) in [(before, &mut self.short), (after, &mut self.long)] {
            let labelled = (0u32..).zip(labels).skip(skip);
            let common = labelled.filter(|(_, label)| sides[**label as usize] == 3);
            into.clear();
            into.extend(common.map(|(position, label)| (*label, position)));
        }
        for labels in [before, after] {
            labels[skip..].iter().for_each(|label| sides[*label as usize] = 0);
        }
    }

    /// Fills the rows at a width that holds the answer; false when that is too much work.
    fn measure(&mut self, mut work: usize) -> bool {
        let (rows, bits) = (self.short.len(), self.long.len());
        let all = bits.div_ceil(BITS);
        let mut width = BITS.max(bits - rows);
        loop {
            let mut words = 2 * width / BITS + 2;
            if words >= all {
                (words, width) = (all, bits);
            }
            let Some(left) = work.checked_sub(rows.saturating_mul(words)) else { return false };
            work = left;
            let length = self.fill(width);
            if width >= bits || rows + bits - 2 * length <= width {
                return true;
            }
            width *= WIDER;
        }
    }

    /// Computes all rows within `width` of the diagonal; returns the length of the longest common subsequence there.
    ///
    /// Both sequences are taken from their ends, so that they can be walked from their beginnings: bit `k` stands for
    /// the `k`-th label of the longer one, from the end.
    fn fill(&mut self, width: usize) -> usize {
        let Self { short, long, first, next, mask, masks, bits, rows, .. } = self;
        let count = long.len();
        let words = count.div_ceil(BITS);
        next.clear();
        next.resize(count, NONE);
        for (bit, (label, _)) in (0..count).rev().zip(long.iter()) {
            next[bit] = first[*label as usize];
            first[*label as usize] = bit as u32;
            mask[*label as usize] += 1;
        }
        // A label that occurs often gets its bits once instead of in every row. There can be at most 64 of those.
        masks.clear();
        for (bit, (label, _)) in (0..count).rev().zip(long.iter()) {
            if first[*label as usize] != bit as u32 {
                continue;
            }
            let often = mask[*label as usize] as usize > BITS.max(words);
            mask[*label as usize] = NONE;
            if often {
                let start = masks.len();
                mask[*label as usize] = (start / words) as u32;
                masks.resize(start + words, 0);
                set_bits(&mut masks[start..], 0, bit as u32, next);
            }
        }
        rows.start(words);
        for (row, (label, _)) in short.iter().rev().enumerate() {
            let low = (row.saturating_sub(width) / BITS).min(words);
            let high = words.min((row + width) / BITS + 1);
            if mask[*label as usize] == NONE {
                let lowest = &mut first[*label as usize];
                while *lowest != NONE && (*lowest as usize) < low * BITS {
                    *lowest = next[*lowest as usize];
                }
                bits.clear();
                bits.resize(high - low, 0);
                set_bits(bits, low, *lowest, next);
                rows.push(low, bits);
            } else {
                let start = mask[*label as usize] as usize * words;
                rows.push(low, &masks[start + low..start + high]);
            }
        }
        for (label, _) in long.iter() {
            first[*label as usize] = NONE;
            mask[*label as usize] = 0;
        }
        rows.length()
    }

    fn walk(&self, by_name: impl Fn(usize, usize) -> Ordering, mut partners: impl FnMut(u32, u32)) {
        let (mut short, mut long) = (&self.short[..], &self.long[..]);
        while let ([(row_label, row_at), more_rows @ ..], [(bit_label, bit_at), more_bits @ ..]) =
            (short, long)
        {
            let (row, bit) = (more_rows.len(), more_bits.len());
            if row_label == bit_label {
                partners(*row_at, *bit_at);
                (short, long) = (more_rows, more_bits);
            } else if self.rows.needs_bit(row, bit) {
                short = more_rows;
            } else if self.rows.needs_row(row, bit)
                || by_name(*row_at as usize, *bit_at as usize) == Ordering::Less
            {
                long = more_bits;
            } else {
                short = more_rows;
            }
        }
    }
}

/// Sets the bits of a chain in words that start with word `low`, as far as they reach.
fn set_bits(words: &mut [u64], low: usize, mut bit: u32, next: &[u32]) {
    while bit != NONE {
        let Some(word) = words.get_mut(bit as usize / BITS - low) else { break };
        *word |= 1 << (bit as usize % BITS);
        bit = next[bit as usize];
    }
}

#[cfg(test)]
mod tests;
