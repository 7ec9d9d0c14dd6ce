//! Where the lines of one text are in another.
//!
//! A profile of yesterday speaks of yesterday's lines. The map is made from the hunks of a line diff, so it costs as
//! much as the change and not as the file.

use imara_diff::{Algorithm, Diff, InternedInput};
use memchr::{memchr_iter, memrchr_iter};

use crate::Hunk;

/// Where the lines of a text before are after.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LineMap {
    hunks: Vec<Hunk>,
}

/// Where a line went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineFate {
    /// It is there, with the same text.
    Same(u32),
    /// It was changed; this is where its place is now, as near as can be told.
    Changed(u32),
    /// It is gone; this is the line above where it was.
    Gone(u32),
}

impl LineFate {
    /// The line to show.
    pub fn line(self) -> u32 {
        match self {
            Self::Same(line) | Self::Changed(line) => line,
            Self::Gone(line) => line.max(1),
        }
    }
}

impl LineMap {
    /// The map between two texts.
    pub fn between(before: &[u8], after: &[u8]) -> Self {
        Self { hunks: hunks(before, after) }
    }

    /// The map that hunks in their order say.
    pub fn of_hunks(hunks: Vec<Hunk>) -> Self {
        Self { hunks }
    }

    /// Where the texts differ.
    pub fn hunks(&self) -> &[Hunk] {
        &self.hunks
    }

    /// Where a line, counted from 1, is after.
    pub fn after(&self, line: u32) -> LineFate {
        // The last hunk that begins at or above the line decides.
        let next = self.hunks.partition_point(|hunk| first_old(hunk) <= line);
        let Some(hunk) = next.checked_sub(1).and_then(|row| self.hunks.get(row)) else {
            return LineFate::Same(line);
        };
        let end_old = first_old(hunk).saturating_add(hunk.old_lines);
        let end_new = first_new(hunk).saturating_add(hunk.new_lines);
        if line >= end_old {
            return LineFate::Same(end_new.saturating_add(line - end_old));
        }
        if hunk.new_lines == 0 {
            return LineFate::Gone(hunk.new_start);
        }
        let inside = (line - first_old(hunk)).min(hunk.new_lines - 1);
        LineFate::Changed(first_new(hunk).saturating_add(inside))
    }

    /// Where a stretch of lines is after, and whether any of it changed. A stretch that is gone is empty and begins
    /// below the line that is left.
    pub fn stretch(&self, lines: (u32, u32)) -> ((u32, u32), bool) {
        let touched = self.touching(lines).next().is_some();
        let first = match self.after(lines.0) {
            LineFate::Same(line) => line,
            LineFate::Changed(line) => self.hunk_of(lines.0).map_or(line, first_new),
            LineFate::Gone(line) => line.saturating_add(1),
        };
        let last = match self.after(lines.1) {
            LineFate::Same(line) => line,
            LineFate::Changed(line) => self
                .hunk_of(lines.1)
                .map_or(line, |hunk| (first_new(hunk) + hunk.new_lines).saturating_sub(1)),
            LineFate::Gone(line) => line,
        };
        ((first, last), touched)
    }

    /// The hunks that change lines of a stretch before or add lines between them.
    pub fn touching(&self, lines: (u32, u32)) -> impl Iterator<Item = &Hunk> {
        let from = self
            .hunks
            .partition_point(|hunk| first_old(hunk).saturating_add(hunk.old_lines) <= lines.0);
        self.hunks[from..]
            .iter()
            .take_while(move |hunk| first_old(hunk) <= lines.1)
            // What is only added in front of the first line is not inside.
            .filter(move |hunk| hunk.old_lines > 0 || first_old(hunk) > lines.0)
    }

    /// The map from after to before.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let turned = self.hunks.iter().map(|hunk| Hunk {
            old_start: hunk.new_start,
            old_lines: hunk.new_lines,
            new_start: hunk.old_start,
            new_lines: hunk.old_lines,
        });
        Self { hunks: turned.collect() }
    }

    fn hunk_of(&self, line: u32) -> Option<&Hunk> {
        let next = self.hunks.partition_point(|hunk| first_old(hunk) <= line);
        self.hunks.get(next.checked_sub(1)?)
    }
}

/// First line before that a hunk takes, or the one below the gap.
pub(crate) fn first_old(hunk: &Hunk) -> u32 {
    hunk.old_start.saturating_add(u32::from(hunk.old_lines == 0))
}

/// First line after that a hunk brings, or the one below the gap.
pub(crate) fn first_new(hunk: &Hunk) -> u32 {
    hunk.new_start.saturating_add(u32::from(hunk.new_lines == 0))
}

/// Where two texts differ, line by line; how lines end does not matter.
pub(crate) fn hunks(before: &[u8], after: &[u8]) -> Vec<Hunk> {
    hunks_in(middle(before, after))
}

fn hunks_in(Middle { before, after, lines_above }: Middle<'_>) -> Vec<Hunk> {
    let mut input: InternedInput<&[u8]> = InternedInput::default();
    input.update_before(text_lines(before));
    input.update_after(text_lines(after));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let start =
        |range: &std::ops::Range<u32>| lines_above + range.start + u32::from(!range.is_empty());
    diff.hunks()
        .map(|hunk| Hunk {
            old_start: start(&hunk.before),
            old_lines: hunk.before.len() as u32,
            new_start: start(&hunk.after),
            new_lines: hunk.after.len() as u32,
        })
        .collect()
}

/// Two texts without most of what they begin and end with alike.
struct Middle<'t> {
    before: &'t [u8],
    after: &'t [u8],
    /// How many lines there are above it.
    lines_above: u32,
}

/// So many equal lines stay on either end: a hunk is moved along equal lines to where it reads best.
const MARGIN: usize = 100;

fn middle<'t>(before: &'t [u8], after: &'t [u8]) -> Middle<'t> {
    let same = common_prefix(before.iter(), after.iter());
    let prefix = before.get(..same).unwrap_or_default();
    let start = memrchr_iter(b'\n', prefix).nth(MARGIN).map_or(0, |end| end + 1);
    let whole = Middle { before, after, lines_above: 0 };
    let (Some(above), Some(before), Some(after)) =
        (before.get(..start), before.get(start..), after.get(start..))
    else {
        return whole;
    };
    let lines_above = memchr_iter(b'\n', above).count() as u32;
    let same = common_prefix(before.iter().rev(), after.iter().rev());
    let suffix = before.get(before.len() - same..).unwrap_or_default();
    // The first of these may be the end of two lines that differ.
    let below = memchr_iter(b'\n', suffix).nth(MARGIN).map_or(0, |end| same - end - 1);
    let cut = |text: &'t [u8]| text.get(..text.len() - below).unwrap_or(text);
    Middle { before: cut(before), after: cut(after), lines_above }
}

fn common_prefix<'a>(
    one: impl Iterator<Item = &'a u8>,
    other: impl Iterator<Item = &'a u8>,
) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}

fn text_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let inner = text.strip_suffix(b"\n").unwrap_or(text);
    let lines = (!text.is_empty()).then(|| inner.split(|byte| *byte == b'\n'));
    lines.into_iter().flatten().map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LineFate, LineMap};

    #[test]
    fn a_profile_of_yesterday_lands_on_todays_lines() {
        let map = LineMap::between(b"a\nb\nc\nd\ne\n", b"new\na\nb2\nd\ne\nf\n");
        let fates: Vec<LineFate> = (1..=5).map(|line| map.after(line)).collect();
        let expected = [
            LineFate::Same(2),
            LineFate::Changed(3),
            LineFate::Changed(3),
            LineFate::Same(4),
            LineFate::Same(5),
        ];
        assert_eq!(fates, expected);
        let map = LineMap::between(b"a\nb\nc\n", b"a\nc\n");
        assert_eq!(map.after(2), LineFate::Gone(1));
        assert_eq!(map.stretch((2, 2)), ((2, 1), true));
        assert_eq!(map.stretch((3, 3)), ((2, 2), false));
    }

    #[test]
    fn line_ends_do_not_matter() {
        assert_eq!(LineMap::between(b"a\r\nb\r\n", b"a\nb").hunks(), []);
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(vec!["a\n", "b\n", "c\n", "d\n", "\n"]), 0..30)
            .prop_map(|lines| lines.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn same_lines_have_the_same_text(before in text(), after in text()) {
            let map = LineMap::between(&before, &after);
            let old: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
            let new: Vec<&[u8]> = after.split_inclusive(|byte| *byte == b'\n').collect();
            let mut same = 0;
            for (row, line) in old.iter().enumerate() {
                if let LineFate::Same(there) = map.after(row as u32 + 1) {
                    prop_assert_eq!(*line, new[there as usize - 1]);
                    prop_assert_eq!(
                        map.reversed().after(there),
                        LineFate::Same(row as u32 + 1)
                    );
                    same += 1;
                }
            }
            let removed: u32 = map.hunks().iter().map(|hunk| hunk.old_lines).sum();
            prop_assert_eq!(same + removed as usize, old.len());
        }

        /// Most of what is equal is left out before the texts are compared; that changes no answer.
        #[test]
        fn long_texts_have_the_hunks_of_their_middle(
            before in text(), after in text(), above in 0..300_usize, below in 0..300_usize,
        ) {
            let around = |text: &[u8]| {
                let line = |number: usize| format!("line {number}\n").into_bytes();
                let mut whole: Vec<u8> = (0..above).flat_map(line).collect();
                whole.extend_from_slice(text);
                whole.extend_from_slice(b"\n");
                whole.extend((above..above + below).flat_map(line));
                whole
            };
            let (before, after) = (around(&before), around(&after));
            let whole = super::Middle { before: &before, after: &after, lines_above: 0 };
            prop_assert_eq!(super::hunks(&before, &after), super::hunks_in(whole));
        }

        #[test]
        fn a_text_against_itself_has_no_hunks(text in text()) {
            let map = LineMap::between(&text, &text);
            prop_assert!(map.hunks().is_empty());
        }
    }
}
