//! Whether anybody still waits for an answer.
//!
//! Matchers that walk large trees ask every few thousand nodes. Once nobody waits, they end with the partners that they
//! have found so far. Such a matching is valid but not complete, so whoever cancels does not use it.

use std::fmt;

/// Steps of a walk between two questions. They take a millisecond or so.
const EVERY: usize = 4096;

/// Asks whether somebody still waits; unless given a question, somebody always does.
#[derive(Clone, Copy, Default)]
pub struct Wanted<'a>(Option<&'a (dyn Fn() -> bool + Sync)>);

impl<'a> Wanted<'a> {
    /// The answer is wanted while this is true. Several threads may ask.
    pub fn so_long_as(ask: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self(Some(ask))
    }

    /// True while somebody waits.
    pub fn goes_on(self) -> bool {
        self.0.is_none_or(|ask| ask())
    }

    /// True when a walk ends at this step, because nobody waits any more.
    #[inline]
    pub fn ends_at(self, step: usize) -> bool {
        step.is_multiple_of(EVERY) && !self.goes_on()
    }
}

impl fmt::Debug for Wanted<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_some() { "Wanted(while asked)" } else { "Wanted(always)" })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use perfblame_cct::Profile;
    use perfblame_fixtures::profile;

    use super::*;
    use crate::{
        Identity, Matching, RelaxedRules, SideTree, match_anchored_while, match_relaxed_by,
    };

    /// Functions that the root calls; each of them calls two others.
    const CALLED: usize = 2 * EVERY;
    const CONTEXTS: usize = 1 + 3 * CALLED;

    fn wide() -> Profile {
        let twice: Vec<String> = (0..CALLED).map(|row| format!("f{row} f{row}")).collect();
        let main = "main ".repeat(2 * CALLED);
        profile(&format!("{main}\n{}\n{}", twice.join(" "), "one other ".repeat(CALLED)))
    }

    /// How many contexts have a partner when the answer is wanted for so many questions.
    fn paired(
        questions: usize,
        matches: impl Fn(&SideTree<'_>, &Identity, Wanted<'_>) -> Matching,
    ) -> usize {
        let wide = wide();
        let side = SideTree { symbols: &wide.symbols, tree: &wide.tree, weights: &[] };
        let identity = Identity::by_name(&side, &side);
        let asked = AtomicUsize::new(0);
        let is_wanted = || asked.fetch_add(1, Ordering::Relaxed) < questions;
        matches(&side, &identity, Wanted::so_long_as(&is_wanted)).pairs_count()
    }

    #[test]
    fn matching_ends_once_nobody_waits() {
        let anchored = |side: &SideTree<'_>, identity: &Identity, wanted: Wanted<'_>| {
            match_anchored_while(side, side, identity, wanted)
        };
        let relaxed = |side: &SideTree<'_>, identity: &Identity, wanted: Wanted<'_>| {
            match_relaxed_by(side, side, identity, &RelaxedRules { wanted, ..Default::default() })
        };
        assert_eq!(paired(usize::MAX, anchored), CONTEXTS);
        assert_eq!(paired(usize::MAX, relaxed), CONTEXTS);
        let anchored = [1, 2, 3].map(|questions| paired(questions, anchored));
        let relaxed = [1, 2, 3].map(|questions| paired(questions, relaxed));
        for counts in [anchored, relaxed] {
            assert!(counts[0] > 0 && counts.is_sorted_by(|one, next| one < next), "{counts:?}");
            assert!(counts[2] < CONTEXTS, "{counts:?}");
        }
    }
}
