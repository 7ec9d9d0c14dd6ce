//! How far apart samples are, for the last one, which nothing follows.

/// Gaps between samples, to find the usual one.
#[derive(Default, Debug)]
pub struct Gaps(Vec<i64>);

/// Gaps that are looked at; the usual one shows early.
const GAPS: usize = 1 << 16;

impl Gaps {
    /// Counts one gap; those that are not positive say nothing.
    pub fn add(&mut self, gap: i64) {
        if gap > 0 && self.0.len() < GAPS {
            self.0.push(gap);
        }
    }

    /// Adds those of another tree.
    pub fn merge(&mut self, other: &Self) {
        let room = GAPS.saturating_sub(self.0.len());
        self.0.extend(other.0.iter().take(room));
    }

    /// The median gap.
    pub fn median(&self) -> Option<i64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}
