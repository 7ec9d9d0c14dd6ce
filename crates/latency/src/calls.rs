//! A call that is open, and how long it took when it is not any more.

use perfblame_cct::Cursor;

/// A call that is on a thread's stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenCall {
    pub(crate) cursor: Cursor,
    /// The first event with it: *t_s* of the paper.
    pub(crate) first: i64,
    /// The last event without it.
    pub(crate) earliest: i64,
    /// Where between the two it is expected to have begun.
    pub(crate) begun: i64,
    /// How long it ran itself, so far.
    pub(crate) ran: i64,
}

/// How a call ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The last event with it.
    pub(crate) seen: i64,
    /// Where it is expected to have returned.
    pub(crate) expected: i64,
    /// The first event without it.
    pub(crate) latest: i64,
}

impl End {
    /// An end that is known.
    pub(crate) fn at(time: i64) -> Self {
        Self { seen: time, expected: time, latest: time }
    }
}

/// How long a call took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) conservative: i64,
    pub(crate) aggressive: i64,
    pub(crate) estimate: i64,
    pub(crate) longest: i64,
}

impl OpenCall {
    pub(crate) fn took(&self, end: End) -> Took {
        let conservative = end.seen.saturating_sub(self.first).max(0);
        let longest = end.latest.saturating_sub(self.earliest).max(conservative);
        let estimate = end.expected.saturating_sub(self.begun);
        Took {
            conservative,
            aggressive: end.latest.saturating_sub(self.first).max(conservative),
            estimate: estimate.clamp(conservative, longest),
            longest,
        }
    }
}

/// Places between two events at which calls are expected to have returned or begun: as many, evenly.
///
/// Nothing is known of what happened between two events but its order: first the calls that are gone returned, the
/// innermost first, then those that are new began, the outermost first. With *n* such moments at random places the
/// expected place of the *i*-th is *i* / (*n* + 1) of the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    from: i64,
    gap: i64,
    pieces: i64,
}

impl Moments {
    /// `pieces` pieces between two times.
    pub(crate) fn between(from: i64, to: i64, pieces: usize) -> Self {
        // No stack is that deep; below, the square of it is still a number.
        let pieces = i64::from(i32::try_from(pieces).unwrap_or(i32::MAX)).max(1);
        Self { from, gap: to.saturating_sub(from).max(0), pieces }
    }

    /// The end of piece `piece`, counted from 1.
    pub(crate) fn end(&self, piece: usize) -> i64 {
        let piece = i64::try_from(piece).unwrap_or(i64::MAX).min(self.pieces);
        let (whole, rest) = (self.gap / self.pieces, self.gap % self.pieces);
        let part = rest * piece / self.pieces;
        self.from.saturating_add(whole.saturating_mul(piece)).saturating_add(part)
    }

    /// The length of piece `piece`, counted from 1.
    pub(crate) fn length(&self, piece: usize) -> i64 {
        self.end(piece).saturating_sub(self.end(piece.saturating_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_add_up(from in 0i64..1_000, gap in 0i64..1_000_000, pieces in 1usize..40) {
            let moments = Moments::between(from, from + gap, pieces);
            let sum: i64 = (1..=pieces).map(|piece| moments.length(piece)).sum();
            prop_assert_eq!(sum, gap);
            prop_assert_eq!(moments.end(pieces), from + gap);
            prop_assert!((1..=pieces).all(|piece| moments.length(piece) >= 0));
        }
    }

    #[test]
    fn times_of_damaged_files_do_no_harm() {
        let moments = Moments::between(i64::MIN, i64::MAX, 3);
        assert!(moments.end(1) <= moments.end(2));
        assert_eq!(Moments::between(5, 3, 2).length(1), 0);
    }
}
