//! The longest chain of candidates: from each to the next both sides move on, and the two fit each other.

use std::cmp::Reverse;

/// Two children that could be partners, by their positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    pub(super) first: u32,
    pub(super) second: u32,
    /// Both are called from the same place: of two chains of one length, the one with more of these is better.
    pub(super) same_site: bool,
}

/// So many steps for one pair of parents: 512 candidates are compared each with each.
const STEPS: usize = 512 * 512;

/// Beyond the budget, each link of the chain looks back this far, and at the end of the best chain so far.
const LOOK_BACK: usize = 64;

/// The best of some chains: the highest score, then the earliest start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Best {
    score: u64,
    row: Option<Reverse<u32>>,
}

/// Finds chains; kept for its memory.
#[derive(Default)]
pub(super) struct Chains {
    score: Vec<u64>,
    link: Vec<Option<u32>>,
    chain: Vec<u32>,
}

impl Chains {
    /// Rows of the candidates of the longest chain, in order. Candidates are sorted by position, first side first.
    pub(super) fn longest(
        &mut self,
        candidates: &[Candidate],
        fits: impl Fn(&Candidate, &Candidate) -> bool,
    ) -> &[u32] {
        self.chain.clear();
        if candidates.len().saturating_mul(candidates.len()) <= STEPS {
            self.each_with_each(candidates, fits);
        } else {
            self.by_position(candidates);
            self.cut(candidates, fits);
        }
        &self.chain
    }

    /// From the last candidate to the first, so that of equally good chains the earliest is found.
    fn each_with_each(
        &mut self,
        candidates: &[Candidate],
        fits: impl Fn(&Candidate, &Candidate) -> bool,
    ) {
        self.reset(candidates.len());
        for (row, candidate) in candidates.iter().enumerate().rev() {
            let mut best = (0, None);
            for (next, after) in candidates.iter().enumerate().skip(row + 1) {
                let moves_on = candidate.first < after.first && candidate.second < after.second;
                if moves_on && self.score[next] > best.0 && fits(candidate, after) {
                    best = (self.score[next], Some(next as u32));
                }
            }
            self.score[row] = best.0 + worth(candidate);
            self.link[row] = best.1;
        }
        let start = (0..candidates.len() as u32)
            .max_by_key(|row| (self.score[*row as usize], Reverse(*row)));
        let next = |row: &u32| self.link[*row as usize];
        self.chain.extend(std::iter::successors(start, next));
    }

    /// The longest chain by position alone, in n log n steps.
    fn by_position(&mut self, candidates: &[Candidate]) {
        self.reset(candidates.len());
        let width = candidates.iter().map(|candidate| candidate.second + 1).max().unwrap_or(0);
        // A Fenwick tree over the second side, from its end: the best score behind each position, and its row.
        let mut behind: Vec<Best> = vec![Best::default(); width as usize + 1];
        let mut end = candidates.len();
        let mut best = Best::default();
        // From the last child of the first side to the first; of one child the lowest partner comes first, so that
        // none of its candidates builds on another.
        for child in candidates.chunk_by(|one, other| one.first == other.first).rev() {
            let start = end - child.len();
            for (row, candidate) in (start..end).zip(child) {
                let place = (width - candidate.second) as usize;
                let mut next = Best::default();
                let mut at = place - 1;
                while at > 0 {
                    next = next.max(behind[at]);
                    at &= at - 1;
                }
                let here =
                    Best { score: next.score + worth(candidate), row: Some(Reverse(row as u32)) };
                self.link[row] = next.row.map(|row| row.0);
                best = best.max(here);
                let mut at = place;
                while at < behind.len() {
                    behind[at] = behind[at].max(here);
                    at += at & at.wrapping_neg();
                }
            }
            end = start;
        }
        let next = |row: &u32| self.link[*row as usize];
        self.chain.extend(std::iter::successors(best.row.map(|row| row.0), next));
    }

    /// Leaves out of the chain what does not fit the link before it, as little as a look back can.
    fn cut(&mut self, candidates: &[Candidate], fits: impl Fn(&Candidate, &Candidate) -> bool) {
        let all = std::mem::take(&mut self.chain);
        let candidate = |at: usize| &candidates[all[at] as usize];
        self.reset(all.len());
        let mut best: Option<usize> = None;
        for at in 0..all.len() {
            let mut last: (u64, Option<u32>) = (0, None);
            for from in best.into_iter().chain(at.saturating_sub(LOOK_BACK)..at) {
                if self.score[from] > last.0 && fits(candidate(from), candidate(at)) {
                    last = (self.score[from], Some(from as u32));
                }
            }
            self.score[at] = last.0 + worth(candidate(at));
            self.link[at] = last.1;
            if best.is_none_or(|best| self.score[at] > self.score[best]) {
                best = Some(at);
            }
        }
        let last = |at: &u32| self.link[*at as usize];
        let links = std::iter::successors(best.map(|at| at as u32), last);
        self.chain.extend(links.map(|at| all[at as usize]));
        self.chain.reverse();
    }

    fn reset(&mut self, count: usize) {
        self.score.clear();
        self.score.resize(count, 0);
        self.link.clear();
        self.link.resize(count, None);
    }
}

/// Length counts first, equal call sites second.
fn worth(candidate: &Candidate) -> u64 {
    (1 << 32) + u64::from(candidate.same_site)
}
