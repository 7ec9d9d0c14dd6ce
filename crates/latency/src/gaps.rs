//! How the time between two events is divided among the calls that returned and began meanwhile.
//!
//! Of a gap only the order is known: first the calls that are gone returned, the innermost first, then there was the
//! innermost of those that go on, then the new ones began, the outermost first. Each of these *pieces* has some part of
//! the time. Five things tell how much:
//!
//! - Taking a stack takes some microseconds, and they come after the time that is written down: nothing returns or
//!   begins before they are over. In programs that make many system calls that is most of a gap. How long it takes is
//!   read off the shortest gaps.
//! - Clocks and other programs interrupt a thread at moments it knows nothing of. Where such a stack falls into a gap,
//!   it says which piece it hit; a gap between the same two contexts without one is taken to be like those with.
//! - What such a stack saw may have begun and returned within a piece. The time of that piece is then, in gaps of the
//!   same contexts that no stack fell into, in equal parts that of what was seen in the others: a server that computes
//!   for less than a tick between two waits would otherwise compute in its loop.
//! - Of a gap like none before: where the code is at hand, what each call had left to do, or to do first.
//! - Where it is not, how gaps of this trace are divided as a rule; at first, evenly.
//!
//! `docs/eval-introperf.md` has what this is worth against exact traces.

use hashbrown::HashMap;
use perfblame_cct::{OpenNode, ThreadId};

use crate::tally::Tally;

/// How the pieces of a gap lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pieces {
    /// Calls that are gone.
    pub(crate) gone: usize,
    /// One where calls go on, else none.
    pub(crate) between: usize,
    /// Calls that are new.
    pub(crate) new: usize,
}

/// Which part of a gap a piece is, as far as gaps are alike.
const KINDS: usize = 5;

impl Pieces {
    pub(crate) fn count(&self) -> usize {
        self.gone.saturating_add(self.between).saturating_add(self.new)
    }

    /// The kind of a piece, which are counted from 0: the innermost call that is gone, another one, what goes on, a new
    /// call, the innermost new call.
    fn kind(&self, piece: usize) -> usize {
        if piece < self.gone {
            usize::from(piece > 0)
        } else if piece < self.gone + self.between {
            2
        } else {
            3 + usize::from(piece + 1 == self.count())
        }
    }

    /// How many pieces there are of a kind.
    fn of_kind(&self, kind: usize) -> usize {
        match kind {
            0 => self.gone.min(1),
            1 => self.gone.saturating_sub(1),
            2 => self.between,
            3 => self.new.saturating_sub(1),
            _ => self.new.min(1),
        }
    }
}

/// The contexts before and after a gap.
pub(crate) type Pair = (OpenNode, OpenNode);

/// Of gaps between two contexts: what stacks taken at random hit, and how often.
#[derive(Debug, Default)]
struct Known {
    pieces: Vec<(u32, u32)>,
    /// By piece, the contexts that were hit: the call's own, or those of what it called.
    contexts: HashMap<(u32, OpenNode), u32>,
}

/// What is known of gaps so far.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    shortest: Shortest,
    /// Stacks taken at random by the kind of piece they hit.
    hits: [u64; KINDS],
    /// And in gaps between two contexts: the piece, and how often.
    by_pair: HashMap<Pair, Known>,
    /// Of gaps that no such stack fell into, after the first that one did, by piece: the call that has it, and its time.
    unseen: HashMap<(Pair, ThreadId, u32), (OpenNode, i64)>,
    /// Where the pieces of the gap at hand end, the first of them at 0.
    ends: Vec<i64>,
}

/// A trace has a rule of its own once more stacks than this were taken at random in gaps; a few hits say little.
const EVEN: f64 = 20.0;

/// A rule counts as much as so many stacks in gaps of the same contexts.
const RULE: f64 = 2.0;

impl Gaps {
    /// Divides the time between two events. `pair` are the contexts before and after; `cost` is how long it took to take
    /// the stack of the first; `weights` is how much each piece has to do, all positive, or empty.
    pub(crate) fn divide(
        &mut self,
        (from, to): (i64, i64),
        pieces: Pieces,
        pair: Option<Pair>,
        cost: i64,
        weights: &[f64],
    ) {
        let to = to.max(from);
        let start = from.saturating_add(cost).min(to);
        let gap = to.saturating_sub(start).max(0);
        let Self { hits, by_pair, ends, .. } = self;
        let count = pieces.count();
        ends.clear();
        ends.push(from);
        if count == 1 {
            // Most events find a thread where the last one did.
            ends.push(to);
            return;
        }
        let known = pair.and_then(|pair| by_pair.get(&pair)).map_or(&[][..], |known| &known.pieces);
        let seen: f64 = known.iter().map(|(_, times)| f64::from(*times)).sum();
        let rule = if weights.is_empty() { rule(pieces, hits) } else { [1.0; KINDS] };
        let share =
            |piece: usize| weights.get(piece).copied().unwrap_or(1.0) * rule[pieces.kind(piece)];
        let sum: f64 = (0..count).map(share).sum();
        let mut so_far = 0.0;
        for piece in 0..count {
            let times = known.iter().find(|(hit, _)| *hit as usize == piece);
            let times = times.map_or(0.0, |(_, times)| f64::from(*times));
            so_far += (times + RULE * share(piece) / sum) / (seen + RULE);
            // Halves and thirds are not exact.
            let end = start.saturating_add((gap as f64 * so_far + 1e-6) as i64);
            ends.push(end.min(to));
        }
        // Whatever rounding left.
        if let Some(last) = ends.last_mut() {
            *last = (*last).max(to);
        }
    }

    /// How long it takes to take a stack, as far as is known.
    pub(crate) fn cost(&self) -> i64 {
        self.shortest.cost()
    }

    /// The end of a piece of the gap at hand, counted from 1.
    pub(crate) fn end(&self, piece: usize) -> i64 {
        self.ends.get(piece).or(self.ends.last()).copied().unwrap_or(0)
    }

    /// The length of a piece, counted from 1.
    pub(crate) fn length(&self, piece: usize) -> i64 {
        self.end(piece).saturating_sub(self.end(piece.saturating_sub(1)))
    }

    /// A gap between two events of a running thread that both have stacks.
    pub(crate) fn saw(&mut self, length: i64) {
        self.shortest.add(length);
    }

    /// A stack that was taken at random in some context hit this piece of a gap, counted from 0.
    pub(crate) fn hit(&mut self, pieces: Pieces, piece: usize, context: OpenNode, pair: Pair) {
        if piece >= pieces.count() {
            return;
        }
        let known = self.by_pair.entry(pair).or_default();
        let number = u32::try_from(piece).unwrap_or(u32::MAX);
        let times = known.contexts.entry((number, context)).or_default();
        *times = times.saturating_add(1);
        // Where there is but one piece, it has all the time anyway.
        if pieces.count() > 1 {
            self.hits[pieces.kind(piece)] += 1;
            count(&mut known.pieces, number);
        }
    }

    /// True when stacks fell into other gaps between these contexts.
    pub(crate) fn is_known(&self, pair: Pair) -> bool {
        self.by_pair.contains_key(&pair)
    }

    /// No stack fell into the gap at hand, of which a call has this piece, counted from 1.
    pub(crate) fn not_seen(&mut self, pair: Pair, thread: ThreadId, piece: usize, call: OpenNode) {
        let time = self.length(piece);
        if time > 0 {
            let number = u32::try_from(piece - 1).unwrap_or(u32::MAX);
            let slot = self.unseen.entry((pair, thread, number)).or_insert((call, 0));
            slot.1 = slot.1.saturating_add(time);
        }
    }

    /// Hands the time of gaps that were not looked into to what was seen in the others.
    pub(crate) fn spread(&mut self, tally: &mut Tally) {
        let mut unseen: Vec<_> = self.unseen.drain().collect();
        unseen.sort_unstable_by_key(|(place, _)| *place);
        for ((pair, thread, piece), (call, time)) in unseen {
            let Some(known) = self.by_pair.get(&pair) else { continue };
            let contexts = known.contexts.iter().filter(|((of, _), _)| *of == piece);
            // One more for the call itself: a single stack does not say that it was always so.
            let all = contexts.clone().fold(1, |sum, (_, times)| sum + i128::from(*times));
            for ((_, context), times) in contexts.filter(|((_, node), _)| *node != call) {
                let part = (i128::from(time) * i128::from(*times) / all) as i64;
                tally.add(*context, thread, part, 0);
                tally.add(call, thread, part.saturating_neg(), 0);
            }
        }
    }
}

/// How much a piece of each kind has, by what stacks taken at random hit.
fn rule(pieces: Pieces, hits: &[u64; KINDS]) -> [f64; KINDS] {
    let even = EVEN / pieces.count() as f64;
    std::array::from_fn(|kind| hits[kind] as f64 / pieces.of_kind(kind).max(1) as f64 + even)
}

fn count<T: PartialEq>(list: &mut Vec<(T, u32)>, what: T) {
    match list.iter_mut().find(|(known, _)| *known == what) {
        Some((_, times)) => *times = times.saturating_add(1),
        None => list.push((what, 1)),
    }
}

/// Gaps by length, an eighth of a power of two each, to know the shortest.
#[derive(Debug)]
struct Shortest {
    counts: Vec<u32>,
    all: u64,
    cost: i64,
}

impl Default for Shortest {
    fn default() -> Self {
        Self { counts: vec![0; 64 * 8], all: 0, cost: 0 }
    }
}

/// So many gaps make a rule.
const ENOUGH: u64 = 200;

/// One gap in so many is as short as the tracer permits.
const ONE_IN: u64 = 20;

/// What takes longer is not taking a stack: 2 µs and half a microsecond for each KiB that is copied, of which there are
/// 16 at most in practice (`docs/record-os.md`).
const MOST: i64 = 20_000;

impl Shortest {
    fn add(&mut self, length: i64) {
        let length = length.max(1).unsigned_abs();
        let power = length.ilog2();
        let eighth = if power >= 3 { length >> (power - 3) & 7 } else { 0 };
        self.counts[(power * 8) as usize + eighth as usize] += 1;
        self.all += 1;
        if self.all.is_multiple_of(ENOUGH) {
            self.cost = self.quantile();
        }
    }

    fn quantile(&self) -> i64 {
        let mut left = self.all / ONE_IN;
        for (row, count) in self.counts.iter().enumerate() {
            let count = u64::from(*count);
            if left < count {
                let (power, eighth) = (row / 8, row % 8);
                let length = (1u128 << power) + ((eighth as u128) << power >> 3);
                // As far into the row as there are shorter ones in it.
                let length =
                    length + ((1u128 << power >> 3) * u128::from(left)) / u128::from(count);
                return i64::try_from(length).ok().filter(|length| *length <= MOST).unwrap_or(0);
            }
            left -= count;
        }
        0
    }

    fn cost(&self) -> i64 {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_add_up(from in 0i64..1_000, gap in 0i64..1_000_000_000, gone in 0usize..20, new in 0usize..20, hits in prop::collection::vec(0usize..40, 0..30)) {
            let mut gaps = Gaps::default();
            let pieces = Pieces { gone, between: 1, new };
            let pair = (OpenNode::new(0), OpenNode::new(1));
            for hit in hits {
                gaps.hit(pieces, hit, OpenNode::new(2), pair);
            }
            gaps.divide((from, from + gap), pieces, Some(pair), 0, &[]);
            let sum: i64 = (1..=pieces.count()).map(|piece| gaps.length(piece)).sum();
            prop_assert_eq!(sum, gap);
            prop_assert_eq!(gaps.end(pieces.count()), from + gap);
            prop_assert!((1..=pieces.count()).all(|piece| gaps.length(piece) >= 0));
        }
    }

    #[test]
    fn times_of_damaged_files_do_no_harm() {
        let mut gaps = Gaps::default();
        let pieces = Pieces { gone: 1, between: 1, new: 1 };
        gaps.divide((i64::MIN, i64::MAX), pieces, None, 5_000, &[]);
        assert!(gaps.end(1) <= gaps.end(2));
        gaps.divide((5, 3), pieces, None, 5_000, &[]);
        assert_eq!(gaps.length(1), 0);
        gaps.saw(i64::MIN);
        gaps.saw(i64::MAX);
    }

    #[test]
    fn gaps_are_like_those_that_were_looked_into() {
        let mut gaps = Gaps::default();
        let pieces = Pieces { gone: 1, between: 1, new: 2 };
        let lengths = |gaps: &mut Gaps, pair| {
            gaps.divide((100, 500), pieces, pair, 0, &[]);
            [1, 2, 3, 4].map(|piece| gaps.length(piece))
        };
        assert_eq!(lengths(&mut gaps, None), [100; 4]);
        let pair = (OpenNode::new(3), OpenNode::new(4));
        for _ in 0..18 {
            gaps.hit(pieces, 1, OpenNode::new(3), pair);
        }
        assert_eq!(lengths(&mut gaps, Some(pair)), [5, 384, 5, 6]);
        // The rule alone.
        assert_eq!(lengths(&mut gaps, None), [52, 242, 53, 53]);
    }

    #[test]
    fn what_has_more_to_do_has_more_of_a_gap() {
        let mut gaps = Gaps::default();
        let pieces = Pieces { gone: 1, between: 1, new: 0 };
        let pair = (OpenNode::new(3), OpenNode::new(4));
        // Whatever gaps are like as a rule.
        (0..90).for_each(|_| gaps.hit(pieces, 1, OpenNode::new(3), pair));
        gaps.divide((0, 400), pieces, None, 0, &[3.0, 1.0]);
        assert_eq!((gaps.length(1), gaps.length(2)), (300, 100));
        // But not whatever was seen of this one.
        gaps.divide((0, 400), pieces, Some(pair), 0, &[3.0, 1.0]);
        assert!(gaps.length(2) > 380);
    }

    #[test]
    fn nothing_returns_while_its_stack_is_taken() {
        let mut gaps = Gaps::default();
        for round in 0..400 {
            gaps.saw(if round % 4 == 0 { 5_200 } else { 90_000 });
        }
        let pieces = Pieces { gone: 1, between: 1, new: 0 };
        let cost = gaps.cost();
        assert!((5_120..5_632).contains(&cost), "{cost}");
        gaps.divide((0, 6_000), pieces, None, cost, &[]);
        assert_eq!(gaps.length(1), cost + (6_000 - cost) / 2);
        gaps.divide((0, 6_000), pieces, None, 0, &[]);
        assert_eq!(gaps.length(1), 3_000);
        // Ticks are far apart, and not because it takes so long.
        let mut ticks = Gaps::default();
        (0..400).for_each(|_| ticks.saw(2_000_000));
        assert_eq!(ticks.cost(), 0);
    }
}
