//! From the last stack of a thread to the next: which calls go on, which are over and which begin, and what the time
//! between is worth to each.

use perfblame_cct::{Code, Cursor, EventKind, FrameId, Leaving, ProfileBuilder};

use super::order::{Calls, Known};
use super::{Inference, Instance, Now, at};
use crate::calls::{End, OpenCall};
use crate::gaps::Pieces;

/// Where nothing is known of what comes behind a stack, it is this much of what taking it took: short gaps are like that.
const BEHIND: f64 = 1.0 / 6.0;

/// Taking a stack takes this much longer than the shortest time as a rule, and not longer than so many times as long; after
/// a wait, when nothing is in the processor's caches, that may be much longer.
const USUAL: f64 = 1.1;
const SLOWEST: f64 = 1.5;
const COLDEST: f64 = 8.0;

/// A gap longer than this many times the shortest was spent on something else.
const SHORT: f64 = 2.0;

/// What taking a stack costs at the start of a gap, if it is `cost` in the shortest ones and what comes behind it takes so
/// long at least. In short gaps both take longer in the same proportion.
fn likely_cost(cost: i64, least: Option<f64>, gap: i64, cold: bool) -> i64 {
    let cost = cost as f64;
    let times = gap as f64 / (cost + least.unwrap_or(cost * BEHIND)).max(1.0);
    let most = match cold {
        true => COLDEST,
        false if times < SHORT => SLOWEST,
        false => USUAL,
    };
    (cost * times.clamp(1.0, most)) as i64
}

impl Inference {
    /// Credits running time to a call.
    fn own(&mut self, row: usize, call: usize, time: i64) {
        if let Some(call) = self.threads.states[row].calls.get_mut(call) {
            call.ran = call.ran.saturating_add(time);
            self.coverage.ran = self.coverage.ran.saturating_add(time);
        }
    }

    /// Closes the innermost call of a thread.
    fn close(&mut self, builder: &mut ProfileBuilder, row: usize, end: End) {
        let state = &mut self.threads.states[row];
        state.frames.pop();
        let Some(call) = state.calls.pop() else { return };
        let took = call.took(end);
        let thread = state.thread;
        let node = call.cursor.node();
        let totals = at(&mut self.results.totals, node.index());
        totals.count += 1;
        totals.conservative.add(took.conservative);
        totals.aggressive.add(took.aggressive);
        totals.estimate.add(took.estimate);
        totals.longest.add(took.longest);
        self.results.tally.add(node, thread, call.ran, 1);
        builder.time_call(
            call.begun,
            call.begun.saturating_add(took.estimate),
            call.cursor,
            Some(thread),
        );
        if self.options.instances {
            self.results.instances.push(Instance {
                node,
                thread,
                start: call.first,
                conservative: took.conservative,
                aggressive: took.aggressive,
                estimate: took.estimate,
                longest: took.longest,
            });
        }
    }

    /// Remembers the stack in `self.clean` where it was taken at random, and learns from such stacks when the thread does
    /// something by itself again. To be called before the stack is observed.
    pub(super) fn learn(
        &mut self,
        builder: &ProfileBuilder,
        row: usize,
        kind: EventKind,
        now: Now,
        code: &mut dyn Code,
    ) {
        let Now { made, begins, exact } = now;
        let state = &mut self.threads.states[row];
        if matches!(kind, EventKind::Tick | EventKind::SwitchOut(Leaving::Preempted)) {
            if state.random.is_empty() {
                state.random.before.clone_from(&state.frames);
                state.random.made = state.made;
                state.random.node = state.calls.last().map(|call| call.cursor.node());
            }
            state.random.push(&self.clean);
            return;
        }
        if state.random.is_empty() {
            return;
        }
        let random = std::mem::take(&mut self.threads.states[row].random);
        let now = &self.clean[..self.clean.len().saturating_sub(exact)];
        let mut known = Known { code, symbols: &builder.symbols };
        let stacks =
            (Calls { frames: &random.before, made: random.made }, Calls { frames: now, made });
        let continuity = self.options.continuity;
        let (common, _) =
            self.code.order.going_on(&mut known, &self.cleaner, continuity, stacks, begins);
        let (gone, new) = (random.before.len() - common, now.len() - common);
        let pieces = Pieces { gone, between: usize::from(common > 0), new };
        let alike = |one: &[FrameId], other: &[FrameId]| {
            let function = |frame: &FrameId| self.cleaner.function(*frame);
            one.iter()
                .zip(other)
                .take_while(|(one, other)| function(one) == function(other))
                .count()
        };
        for (stack, context) in random.iter() {
            let (old, young) = (alike(&random.before, stack), alike(now, stack));
            if old.max(young) == 0 && common > 0 {
                // It was cut off, and is anywhere.
                continue;
            }
            let piece = if old > common && old >= young {
                random.before.len() - old
            } else if young > common {
                gone + pieces.between + young - common - 1
            } else {
                gone
            };
            self.gap.hits.push((pieces, piece, context));
        }
        let mut random = random;
        random.clear();
        self.gap.learning = random.node;
        self.threads.states[row].random = random;
    }

    /// A stack whose outermost frames are missing goes on where the last one has its outermost frame.
    pub(super) fn complete(&mut self, builder: &mut ProfileBuilder, row: usize, cut: bool) {
        let before = &self.threads.states[row].frames;
        let Some(outermost) = self.clean.first() else { return };
        if before.first() != Some(outermost) && !before.is_empty() {
            let same = |at: usize| {
                before
                    .get(at..)
                    .unwrap_or_default()
                    .iter()
                    .zip(&self.clean)
                    .take_while(|(a, b)| a == b)
                    .count()
            };
            // Of several places that with the longest agreement, of equals the innermost.
            let candidates = (1..before.len()).filter(|at| before[*at] == *outermost);
            if let Some(found) = candidates.max_by_key(|at| (same(*at), *at)) {
                let above = before[..found].to_vec();
                self.clean.splice(0..0, above);
                return;
            }
        }
        if cut {
            let truncated = self.cleaner.truncated(builder);
            self.clean.insert(0, truncated);
        }
    }

    /// Takes the stack in `self.clean`.
    pub(super) fn observe(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        time: i64,
        now: Now,
        code: &mut dyn Code,
    ) {
        let Now { made, begins, exact } = now;
        let state = &mut self.threads.states[row];
        if state.fresh {
            if state.started.is_none() {
                state.started = Some(time);
            } else {
                self.coverage.unobserved =
                    self.coverage.unobserved.saturating_add(time.saturating_sub(state.seen));
            }
            (state.seen, state.settled, state.fresh) = (time, time, false);
        }
        let state = &self.threads.states[row];
        let mut known = Known { code, symbols: &builder.symbols };
        let before = Calls { frames: &state.frames, made: state.made };
        let stacks = (before, Calls { frames: &self.clean, made });
        let continuity = self.options.continuity;
        let (common, plain) =
            self.code.order.going_on(&mut known, &self.cleaner, continuity, stacks, begins);
        for call in state.calls.get(common..plain).unwrap_or_default() {
            let splits = self.code.splits.entry((call.cursor.node(), state.thread)).or_default();
            *splits = splits.saturating_add(1);
        }
        let stacks = (state.frames.as_slice(), self.clean.as_slice());
        let gap = time.saturating_sub(state.settled);
        let taken = state.taken == state.settled;
        let cost = if taken { self.gap.gaps.cost() } else { 0 };
        let going = (common, exact);
        // Of what is left it is not known whether taking the stack took longer this time.
        let sure = gap.saturating_sub(cost.saturating_mul(2));
        let least =
            self.code.weighing.weigh(&mut known, stacks, going, sure, &mut self.gap.weights);
        let cost = likely_cost(cost, least, gap, state.cold);
        let before = state.frames.len();
        let gone = before - common;
        let new = (self.clean.len() - common).saturating_sub(exact);
        let between = usize::from(common > 0);
        let (seen, settled) = (state.seen, state.settled);
        let last = state.calls.last().map(|call| call.cursor.node());
        let mut caller = common.checked_sub(1).and_then(|at| state.calls.get(at)).map(|c| c.cursor);
        self.gap.cursors.clear();
        for frame in &self.clean[common..] {
            let cursor = match caller {
                Some(caller) => builder.child(caller, *frame),
                None => builder.root(*frame),
            };
            self.gap.cursors.push(cursor);
            caller = Some(cursor);
        }
        let next = new.checked_sub(1).and_then(|at| self.gap.cursors.get(at)).copied();
        let next = next.or_else(|| Some(state.calls.get(common.checked_sub(1)?)?.cursor));
        let pair = last.zip(next.map(Cursor::node));
        let looked_into = !self.gap.hits.is_empty() || !state.random.is_empty();
        for (pieces, piece, context) in self.gap.hits.drain(..) {
            if let Some(pair) = self.gap.learning.zip(next.map(Cursor::node)) {
                self.gap.gaps.hit(pieces, piece, context, pair);
            }
        }
        let pieces = Pieces { gone, between, new };
        if taken && time > settled {
            self.gap.gaps.saw(time - settled);
        }
        self.gap.gaps.divide((settled, time), pieces, pair, cost, &self.gap.weights);
        let unseen = pair.filter(|pair| !looked_into && self.gap.gaps.is_known(*pair));
        for piece in 1..=gone {
            self.own(row, before - piece, self.gap.gaps.length(piece));
            let state = &self.threads.states[row];
            if let (Some(pair), Some(call)) = (unseen, state.calls.last()) {
                self.gap.gaps.not_seen(pair, state.thread, piece, call.cursor.node());
            }
            let end = End { seen, expected: self.gap.gaps.end(piece), latest: time };
            self.close(builder, row, end);
        }
        if common > 0 {
            self.own(row, common - 1, self.gap.gaps.length(gone + 1));
            let state = &self.threads.states[row];
            if let (Some(pair), Some(call)) = (unseen, state.calls.last()) {
                self.gap.gaps.not_seen(pair, state.thread, gone + 1, call.cursor.node());
            }
            // The same function at another place of it.
            if let (Some(slot), Some(frame)) =
                (self.threads.states[row].frames.get_mut(common - 1), self.clean.get(common - 1))
            {
                *slot = *frame;
            }
        }
        for place in common..self.clean.len() {
            let frame = self.clean[place];
            let number = place - common;
            let cursor = self.gap.cursors[number];
            let known = number >= new;
            let begun = if known { time } else { self.gap.gaps.end(gone + between + number) };
            let earliest = if known { time } else { settled.min(seen) };
            let state = &mut self.threads.states[row];
            state.frames.push(frame);
            state.calls.push(OpenCall { cursor, first: time, earliest, begun, ran: 0 });
            if !known {
                let piece = gone + between + number + 1;
                if let Some(pair) = unseen {
                    self.gap.gaps.not_seen(pair, state.thread, piece, cursor.node());
                }
                self.own(row, place, self.gap.gaps.length(piece));
            }
        }
        let state = &mut self.threads.states[row];
        (state.seen, state.settled) = (time, time);
    }

    /// Closes the calls of a thread from `from` on, at a time that is known.
    pub(super) fn close_from(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        from: usize,
        time: i64,
    ) {
        while self.threads.states[row].calls.len() > from {
            self.close(builder, row, End::at(time));
        }
    }

    pub(super) fn close_all(&mut self, builder: &mut ProfileBuilder, row: usize, time: i64) {
        self.close_from(builder, row, 0, time);
        let state = &mut self.threads.states[row];
        (state.call, state.off, state.fresh) = (None, None, true);
        if let Some(started) = state.started.take() {
            state.lived = state.lived.saturating_add(time.saturating_sub(started));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::likely_cost;

    #[test]
    fn stacks_take_longer_where_all_does() {
        let warm = |gap| likely_cost(5_000, Some(1_000.0), gap, false);
        assert_eq!(
            [3_000, 6_000, 7_200, 11_000, 900_000].map(warm),
            [5_000, 5_000, 6_000, 7_500, 5_500]
        );
        let cold = |gap| likely_cost(5_000, Some(1_000.0), gap, true);
        assert_eq!([3_000, 24_000, 900_000].map(cold), [5_000, 20_000, 40_000]);
        assert_eq!(likely_cost(6_000, None, 14_000, true), 12_000);
        assert_eq!(likely_cost(0, None, i64::MAX, true), 0);
    }
}
