//! Weights on the common tree: how alike they are distributed, and the pairs that make the difference. Section 3.4 of
//! `[parcs]`.
//!
//! | here | there |
//! |---|---|
//! | share | *pweight*, a node's part of all weight of its common tree |
//! | [`share_overlap`] | *overlap* |
//! | [`match_weights`] | the weight adjustments up to an overlap threshold |
//!
//! The paper leaves open how a pair is adjusted. A function that takes longer makes the shares of all others smaller, so
//! the adjusted pair is taken out and the others' shares are of what is left: one slow function is one adjustment, not
//! as many as there are functions. The pair itself counts from then on with the mean of its two shares on both sides.
//!
//! Taking a pair out changes the shares of all others. Looking at all of them again each time would be quadratic. As long
//! as both sides lose as much, the order of the differences stays; so they wait in a heap, each is looked at again when
//! it comes out on top, and all are when one side has lost more than the other, or when only that tells whether the
//! threshold is reached.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// How alike two distributions of weight are, 0 to 1: the sum of the lesser shares. None when neither side has weight;
/// nothing in common when only one has, which the paper leaves out. Weights are not negative.
///
/// Shares add up to 1, so this is 1 less half of what they differ by, which is exact for equal ones.
pub fn share_overlap(pairs: &[(f64, f64)]) -> Option<f64> {
    let (before, after) = totals(pairs.iter());
    if before <= 0.0 && after <= 0.0 {
        return None;
    }
    if before <= 0.0 || after <= 0.0 {
        return Some(0.0);
    }
    let apart: f64 = pairs.iter().map(|(a, b)| (a / before - b / after).abs()).sum();
    Some((1.0 - apart / 2.0).clamp(0.0, 1.0))
}

/// A pair of nodes whose weights were adjusted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adjusted {
    /// Its row among the pairs.
    pub pair: usize,
    /// Its share before, of all pairs not adjusted until then.
    pub share_before: f64,
    /// Its share after, likewise.
    pub share_after: f64,
    /// The overlap once it is adjusted.
    pub overlap: f64,
}

/// What makes the difference on the common tree.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WeightMatching {
    /// The pairs in the order of adjustment: the largest difference of shares first.
    pub adjusted: Vec<Adjusted>,
    /// The overlap in the end; none without weight.
    pub overlap: Option<f64>,
}

/// Adjusts the pair with the largest difference of shares, again and again, until the overlap reaches the threshold, no
/// pair differs any more, or `most` are adjusted.
pub fn match_weights(pairs: &[(f64, f64)], threshold: f64, most: usize) -> WeightMatching {
    let mut found = WeightMatching { adjusted: Vec::new(), overlap: share_overlap(pairs) };
    let (before, after) = totals(pairs.iter());
    if before <= 0.0 || after <= 0.0 {
        return found;
    }
    let mut rest = Rest::of(pairs);
    while found.overlap.is_some_and(|overlap| overlap < threshold) && found.adjusted.len() < most {
        let Some((row, share_before, share_after)) = rest.take_largest(pairs) else { break };
        // What both sides have in common by now, and the part of the whole that is left.
        let part = f64::midpoint(rest.left.0 / before, rest.left.1 / after);
        let whole = |rest: f64| (1.0 - part + part * rest).clamp(0.0, 1.0);
        let (mut low, high) = rest.overlap();
        if whole(low) < threshold && whole(high) >= threshold || rest.is_stale() {
            rest.make(pairs);
            low = rest.overlap().0;
        }
        let overlap = whole(low);
        found.adjusted.push(Adjusted { pair: row as usize, share_before, share_after, overlap });
        found.overlap = Some(overlap);
    }
    found
}

/// A pair with its difference of shares when it was last looked at; of equals the first is the greatest.
#[derive(Clone, Copy, PartialEq)]
struct Waiting {
    difference: f64,
    row: u32,
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.difference.total_cmp(&other.difference).then(other.row.cmp(&self.row))
    }
}

/// The pairs that were not adjusted.
struct Rest {
    heap: BinaryHeap<Waiting>,
    /// Rows that weigh something and were not taken when the heap was made.
    rows: Vec<u32>,
    taken: Vec<bool>,
    /// Weight that is left, by side.
    left: (f64, f64),
    /// The same when the heap was made.
    made: (f64, f64),
    /// The lesser shares of what is left added up; shares of what was left when the heap was made.
    lesser: f64,
}

impl Rest {
    fn of(pairs: &[(f64, f64)]) -> Self {
        let weighs = |(_, pair): &(u32, &(f64, f64))| pair.0 > 0.0 || pair.1 > 0.0;
        let mut rest = Self {
            heap: BinaryHeap::new(),
            rows: (0u32..).zip(pairs).filter(weighs).map(|(row, _)| row).collect(),
            taken: vec![false; pairs.len()],
            left: (0.0, 0.0),
            made: (0.0, 0.0),
            lesser: 0.0,
        };
        rest.make(pairs);
        rest
    }

    /// Looks at all pairs that are left.
    fn make(&mut self, pairs: &[(f64, f64)]) {
        let Self { heap, rows, taken, .. } = self;
        rows.retain(|row| !taken[*row as usize]);
        let of = |row: &u32| &pairs[*row as usize];
        let left = totals(rows.iter().map(of));
        let mut waiting = std::mem::take(heap).into_vec();
        waiting.clear();
        let look = |row: &u32| Waiting { difference: difference(*of(row), left), row: *row };
        waiting.extend(rows.iter().map(look));
        // One less half of the differences is exact where there are none.
        let apart: f64 = waiting.iter().map(|waiting| waiting.difference).sum();
        *heap = BinaryHeap::from(waiting);
        (self.left, self.made) = (left, left);
        let empty = left.0 <= 0.0 || left.1 <= 0.0;
        self.lesser = if empty { f64::from(rows.is_empty()) } else { 1.0 - apart / 2.0 };
    }

    /// Differences keep their order as long as both sides lose as much.
    fn is_stale(&self) -> bool {
        /// How unequal that may be; a heavy pair alone is more, noise on both sides is not.
        const UNEQUAL: f64 = 1.0 / 64.0;
        let (x, y) = (self.left.0 / self.made.0, self.left.1 / self.made.1);
        let apart = (x - y).abs();
        apart > UNEQUAL * x.min(y) || apart.is_nan()
    }

    /// The pair with the largest difference, and its shares.
    fn take_largest(&mut self, pairs: &[(f64, f64)]) -> Option<(u32, f64, f64)> {
        if self.left.0 <= 0.0 || self.left.1 <= 0.0 {
            return None;
        }
        loop {
            let top = self.heap.pop()?;
            let pair = pairs[top.row as usize];
            let now = Waiting { difference: difference(pair, self.left), ..top };
            // Its difference has become less: another may be on top by now.
            if now.difference < top.difference && self.heap.peek().is_some_and(|next| *next > now) {
                self.heap.push(now);
                continue;
            }
            if now.difference <= 0.0 {
                return None;
            }
            self.taken[top.row as usize] = true;
            let (a, b) = (pair.0 / self.made.0, pair.1 / self.made.1);
            self.lesser -= a.min(b);
            let shares = (pair.0 / self.left.0, pair.1 / self.left.1);
            self.left = ((self.left.0 - pair.0).max(0.0), (self.left.1 - pair.1).max(0.0));
            return Some((top.row, shares.0, shares.1));
        }
    }

    /// Between what the overlap of the pairs that are left lies.
    fn overlap(&self) -> (f64, f64) {
        let part = |left: f64, made: f64| if left > 0.0 { made / left } else { f64::INFINITY };
        let (x, y) = (part(self.left.0, self.made.0), part(self.left.1, self.made.1));
        let lesser = self.lesser.max(0.0);
        let share = |factor: f64| if lesser == 0.0 { 0.0 } else { (lesser * factor).min(1.0) };
        (share(x.min(y)), share(x.max(y)))
    }
}

/// What the shares of a pair differ by.
fn difference((a, b): (f64, f64), (before, after): (f64, f64)) -> f64 {
    let share = |weight: f64, total: f64| if total > 0.0 { weight / total } else { 0.0 };
    (share(a, before) - share(b, after)).abs()
}

fn totals<'a>(pairs: impl Iterator<Item = &'a (f64, f64)>) -> (f64, f64) {
    pairs.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1))
}
