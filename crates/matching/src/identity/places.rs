//! Where functions start in their files, as far as it tells which is which.
//!
//! Edits move functions and keep their order. Functions that are matched already are anchors: those between two anchors
//! before are between the same two after, and where both anchors moved by the same number of lines, so did everything
//! between them.

use hashbrown::HashMap;
use perfblame_cct::{Side, Sides};

use super::Why;
use super::functions::{Naming, SourcePlace};
use super::work::{FunctionRow, NONE, Work};

/// Of the named functions of a file, so many in ten must start where they did for the file to be unchanged.
const UNMOVED_IN_TEN: u32 = 9;

/// Matches functions of files that did not change: same name, same place.
pub(super) fn match_unmoved(work: &mut Work<'_>) {
    let homes = work.home.iter().flatten().max().map_or(0, |most| *most as usize + 1);
    // Named pairs by file: all, and those that start where they did.
    let mut named = vec![(0u32, 0u32); homes];
    for (before, after, _, _) in &work.pairs {
        let (was, is) = (work.fact(Side::Before, *before), work.fact(Side::After, *after));
        if let (Some(from), Some(to)) = (was.place, is.place)
            && was.home == is.home
        {
            let (all, unmoved) = &mut named[was.home as usize];
            *all += 1;
            *unmoved += u32::from(from == to);
        }
    }
    // Files without named pairs: functions with a place by side, and those that both sides have.
    let mut nameless = vec![(Sides::same(0u32), 0u32); homes];
    let mut places: HashMap<_, Sides<bool>> = HashMap::new();
    for side in Side::BOTH {
        for row in work.open(side) {
            let fact = work.fact(side, row);
            if let Some(place) = fact.place {
                let (count, both) = &mut nameless[fact.home as usize];
                count[side] += 1;
                let known = places.entry((fact.home, place, fact.name)).or_default();
                known[side] = true;
                *both += u32::from(side == Side::After && known.before);
            }
        }
    }
    let is_unmoved = |home: u32| {
        let (all, unmoved) = named[home as usize];
        let (Sides { before, after }, both) = nameless[home as usize];
        let fewer = before.min(after);
        if all > 0 {
            unmoved * 10 >= all * UNMOVED_IN_TEN
        } else {
            both * 2 >= fewer && (both >= 2 || before.max(after) == 1)
        }
    };
    work.pair_unique(Why::Name, 1.0, |work, side, row| {
        let fact = work.fact(side, row);
        let place = fact.place.filter(|_| is_unmoved(fact.home))?;
        Some((fact.name, fact.home, place, fact.signature, fact.layers))
    });
}

/// Anchors on both sides of a stretch of a file, each as its place before and after.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    low: Option<Sides<SourcePlace>>,
    high: Option<Sides<SourcePlace>>,
}

/// What places say about two functions of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// One of them has no place, or they are in different files.
    Unknown,
    /// Between the same anchors, which moved alike, and so did it.
    Exact,
    /// Between the same anchors, and it moved like one of them.
    Likely,
    /// Between the same anchors.
    Between,
    /// Between other anchors, or between anchors that moved alike while it did not.
    Against,
}

/// The gap of every open function that has a place, by side.
pub(super) struct Places {
    gap_of: Sides<Vec<u32>>,
    gaps: Vec<Gap>,
}

impl Places {
    pub fn of(work: &Work<'_>) -> Self {
        let homes = work.home.iter().flatten().max().map_or(0, |most| *most as usize + 1);
        let mut anchors: Vec<(u32, Sides<SourcePlace>)> = Vec::new();
        for (before, after, _, _) in &work.pairs {
            let home = work.home.before[*before as usize];
            if let (Some(from), Some(to)) =
                (work.fact(Side::Before, *before).place, work.fact(Side::After, *after).place)
                && home != 0
                && home == work.home.after[*after as usize]
            {
                anchors.push((home, Sides::new(from, to)));
            }
        }
        // Who shares its place with another is no anchor: nothing can be said to stand between the two.
        let mut sharing: HashMap<(u32, Side, SourcePlace), u32> = HashMap::new();
        for (home, places) in &anchors {
            for (side, place) in places.each() {
                *sharing.entry((*home, side, *place)).or_default() += 1;
            }
        }
        anchors.retain(|(home, places)| {
            let is_alone = |side: Side| sharing.get(&(*home, side, places[side])) == Some(&1);
            Side::BOTH.into_iter().all(is_alone)
        });
        anchors.sort_unstable();
        let mut gaps = Vec::new();
        // By file: its first gap and its anchors, those that keep the order of all others.
        let mut first_gap = vec![NONE; homes];
        let mut chain: Vec<Sides<SourcePlace>> = Vec::new();
        let mut chain_of = vec![(0usize, 0usize); homes];
        for group in anchors.chunk_by(|one, other| one.0 == other.0) {
            let home = group[0].0 as usize;
            let start = chain.len();
            chain.extend(in_order(group));
            chain_of[home] = (start, chain.len());
            first_gap[home] = gaps.len() as u32;
            for at in start..=chain.len() {
                let low = at.checked_sub(1).filter(|at| *at >= start).map(|at| chain[at]);
                gaps.push(Gap { low, high: chain.get(at).copied() });
            }
        }
        let gap_of = Sides::of(|side| {
            let mut gap_of = vec![NONE; work.class[side].len()];
            for row in work.open(side) {
                let home = work.home[side][row as usize] as usize;
                let Some(place) = work.fact(side, row).place.filter(|_| home != 0) else {
                    continue;
                };
                if first_gap[home] == NONE {
                    first_gap[home] = gaps.len() as u32;
                    gaps.push(Gap::default());
                }
                let (start, end) = chain_of[home];
                let before = chain[start..end].partition_point(|anchor| anchor[side] <= place);
                gap_of[row as usize] = first_gap[home] + before as u32;
            }
            gap_of
        });
        Self { gap_of, gaps }
    }

    /// The gap of an open function; [`NONE`] when it has no place.
    pub fn gap(&self, side: Side, row: FunctionRow) -> u32 {
        self.gap_of[side][row as usize]
    }

    /// True when both anchors of a gap moved alike: what is in it moved with them.
    pub fn is_rigid(&self, gap: u32) -> bool {
        let gap = self.gaps[gap as usize];
        gap.low.zip(gap.high).is_some_and(|(low, high)| moved_alike(low, high) != Alike::No)
    }

    pub fn fit(&self, work: &Work<'_>, before: FunctionRow, after: FunctionRow) -> Fit {
        if work.home.before[before as usize] != work.home.after[after as usize] {
            return Fit::Unknown;
        }
        let (gap, other) = (self.gap(Side::Before, before), self.gap(Side::After, after));
        let places = work.fact(Side::Before, before).place.zip(work.fact(Side::After, after).place);
        let Some((from, to)) = places.filter(|_| gap != NONE && other != NONE) else {
            return Fit::Unknown;
        };
        if gap != other {
            return Fit::Against;
        }
        let Gap { low, high } = self.gaps[gap as usize];
        let alike = |anchor: Option<Sides<SourcePlace>>| {
            anchor.map_or(Alike::No, |anchor| moved_alike(anchor, Sides::new(from, to)))
        };
        match (self.is_rigid(gap), alike(low).max(alike(high))) {
            (true, Alike::Yes) => Fit::Exact,
            (true, Alike::No) => Fit::Against,
            (_, Alike::Line) | (false, Alike::Yes) => Fit::Likely,
            (false, Alike::No) => match low.zip(high) {
                Some((low, high)) => between(low, high, Sides::new(from, to)),
                None => Fit::Between,
            },
        }
    }

    /// Matches open functions of like names that moved exactly as the anchors on both sides of them.
    pub fn match_exact(&self, work: &mut Work<'_>) -> usize {
        let before = work.pairs.len();
        work.pair_unique(Why::Place, 0.95, |work, side, row| {
            let gap = self.gap(side, row);
            let place = work.fact(side, row).place?;
            let gap = (gap != NONE && self.is_rigid(gap)).then_some(gap)?;
            let Sides { before: from, after: to } = self.gaps[gap as usize].low?;
            // On the before side, where it should be after.
            let expected = match side {
                Side::After => Some(place),
                Side::Before if place.line == from.line => (place.column.checked_sub(from.column))
                    .and_then(|more| to.column.checked_add(more))
                    .map(|column| SourcePlace { line: to.line, column }),
                Side::Before => (place.line.checked_sub(from.line))
                    .and_then(|more| to.line.checked_add(more))
                    .map(|line| SourcePlace { line, ..place }),
            };
            Some((gap, expected?, like_name(work, side, row)))
        });
        work.pairs.len() - before
    }
}

/// What functions must have in common for their places to tell them: the name, or that it says nothing.
pub(super) fn like_name(work: &Work<'_>, side: Side, row: FunctionRow) -> (Naming, u32) {
    match work.naming[side][row as usize] {
        Naming::Chosen => (Naming::Chosen, work.functions.base(work.fact(side, row))),
        nothing => (nothing, 0),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Alike {
    No,
    /// By as many lines, in another column.
    Line,
    Yes,
}

/// Between anchors that moved apart, edits moved it by something between the two; much else would take edits that undo
/// each other.
fn between(low: Sides<SourcePlace>, high: Sides<SourcePlace>, this: Sides<SourcePlace>) -> Fit {
    let is_one_line = Side::BOTH.into_iter().all(|side| low[side].line == high[side].line);
    let at = |place: SourcePlace| i64::from(if is_one_line { place.column } else { place.line });
    let shift = |place: Sides<SourcePlace>| at(place.after) - at(place.before);
    let (least, most) = (shift(low).min(shift(high)), shift(low).max(shift(high)));
    let slack = 1 + (at(high.before) - at(low.before)) / 20;
    match shift(this) {
        shift if (least..=most).contains(&shift) => Fit::Likely,
        shift if (least - slack..=most + slack).contains(&shift) => Fit::Between,
        _ => Fit::Against,
    }
}

/// Whether two functions, each with its place before and after, moved alike. On one line they move by columns.
fn moved_alike(one: Sides<SourcePlace>, other: Sides<SourcePlace>) -> Alike {
    let shift = |before: u32, after: u32| i64::from(after) - i64::from(before);
    let lines = [one, other].map(|place| shift(place.before.line, place.after.line));
    let columns = [one, other].map(|place| shift(place.before.column, place.after.column));
    let on_one_line = one.before.line == other.before.line;
    if lines[0] != lines[1] {
        return Alike::No;
    }
    if on_one_line {
        return if columns[0] == columns[1] { Alike::Yes } else { Alike::No };
    }
    if columns[1] == 0 { Alike::Yes } else { Alike::Line }
}

/// Those that every longest sequence with growing places on both sides has: who was moved within the file is left out,
/// and if it could be either of two, both are. Asking from the after side gives the same.
fn in_order(group: &[(u32, Sides<SourcePlace>)]) -> Vec<Sides<SourcePlace>> {
    let upto = longest(group.iter().map(|(_, place)| (place.after.line, place.after.column)));
    let mirrored = group
        .iter()
        .rev()
        .map(|(_, place)| place.after)
        .map(|to| (u32::MAX - to.line, u32::MAX - to.column));
    let mut from = longest(mirrored);
    from.reverse();
    let whole = upto.iter().copied().max().unwrap_or(0);
    let mut at_level = vec![0u32; whole as usize + 1];
    let is_part = |row: usize| upto[row] + from[row] == whole + 1;
    for row in (0..group.len()).filter(|row| is_part(*row)) {
        at_level[upto[row] as usize] += 1;
    }
    let rows = (0..group.len()).filter(|row| is_part(*row) && at_level[upto[*row] as usize] == 1);
    rows.map(|row| group[row].1).collect()
}

/// The length of the longest growing sequence that ends at each of them.
fn longest(places: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut tails: Vec<(u32, u32)> = Vec::new();
    let mut lengths = Vec::new();
    for place in places {
        let at = tails.partition_point(|tail| *tail < place);
        if at == tails.len() {
            tails.push(place);
        } else {
            tails[at] = place;
        }
        lengths.push(at as u32 + 1);
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: u32, column: u32) -> SourcePlace {
        SourcePlace { line, column }
    }

    #[test]
    fn functions_move_with_their_neighbours() {
        let moved = |from, to| Sides::new(from, to);
        let anchor = moved(place(10, 5), place(14, 5));
        assert_eq!(moved_alike(anchor, moved(place(20, 3), place(24, 3))), Alike::Yes);
        assert_eq!(moved_alike(anchor, moved(place(20, 3), place(24, 7))), Alike::Line);
        assert_eq!(moved_alike(anchor, moved(place(20, 3), place(23, 3))), Alike::No);
        let minified = moved(place(1, 100), place(1, 160));
        assert_eq!(moved_alike(minified, moved(place(1, 300), place(1, 360))), Alike::Yes);
        assert_eq!(moved_alike(minified, moved(place(1, 300), place(1, 300))), Alike::No);
    }

    #[test]
    fn who_was_moved_within_the_file_is_no_anchor() {
        let group = |pairs: &[(u32, u32)]| -> Vec<_> {
            pairs.iter().map(|(from, to)| (1, Sides::new(place(*from, 0), place(*to, 0)))).collect()
        };
        let lines = |chain: Vec<Sides<SourcePlace>>| -> Vec<u32> {
            chain.iter().map(|anchor| anchor.before.line).collect()
        };
        assert_eq!(lines(in_order(&group(&[(1, 1), (2, 9), (3, 3), (4, 4)]))), [1, 3, 4]);
        assert_eq!(lines(in_order(&group(&[(1, 1), (2, 3), (3, 2), (4, 4)]))), [1, 4]);
    }
}
