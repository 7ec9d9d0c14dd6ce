//! Places in a text as JavaScript engines and source maps count: lines and columns from 0, columns in UTF-16 units.

/// A line and a column, both from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ScriptPlace {
    /// The line.
    pub line: u32,
    /// The column, in UTF-16 units.
    pub column: u32,
}

impl ScriptPlace {
    /// A line and a column.
    pub fn new(line: u32, column: u32) -> Self {
        Self { line, column }
    }

    /// The place in the whole of what is at this place in a part that begins at `start`: scripts inside pages.
    #[must_use]
    pub fn after(self, start: Self) -> Self {
        let line = self.line.saturating_add(start.line);
        let column =
            if self.line == 0 { self.column.saturating_add(start.column) } else { self.column };
        Self { line, column }
    }
}

impl ScriptPlace {
    /// The inverse of [`ScriptPlace::after`]; the beginning for what stands before `start`.
    #[must_use]
    pub fn before(self, start: Self) -> Self {
        if self < start {
            return Self::default();
        }
        let column = if self.line == start.line { self.column - start.column } else { self.column };
        Self { line: self.line - start.line, column }
    }
}

/// Walks a text once and tells the places of offsets that come in order.
pub(crate) struct Places<'a> {
    text: &'a [u8],
    offset: usize,
    place: ScriptPlace,
}

impl<'a> Places<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), offset: 0, place: ScriptPlace::default() }
    }

    /// The place of an offset; one before the last asked for has the last one's.
    pub fn of(&mut self, offset: usize) -> ScriptPlace {
        let end = offset.min(self.text.len());
        let (mut at, mut place) = (self.offset, self.place);
        while at < end {
            let byte = self.text[at];
            at += 1;
            match byte {
                b'\r' if self.text.get(at) == Some(&b'\n') => {}
                b'\n' | b'\r' => place = ScriptPlace::new(place.line.saturating_add(1), 0),
                // The line and paragraph separators, U+2028 and U+2029.
                0xa8 | 0xa9 if at >= 3 && self.text[at - 3..at - 1] == [0xe2, 0x80] => {
                    place = ScriptPlace::new(place.line.saturating_add(1), 0);
                }
                // One unit for the first byte of a character, two when it is outside the basic plane.
                0x80..=0xbf => {}
                0xf0..=0xff => place.column = place.column.saturating_add(2),
                _ => place.column = place.column.saturating_add(1),
            }
        }
        (self.offset, self.place) = (at.max(self.offset), place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_utf16_units() {
        let text = "aé😀b\r\nc\u{2028}d\re";
        let mut places = Places::new(text);
        let found: Vec<_> = text.char_indices().map(|(at, _)| places.of(at)).collect();
        let expected = [
            (0, 0),
            (0, 1),
            (0, 2),
            (0, 4),
            (0, 5),
            (0, 5),
            (1, 0),
            (1, 1),
            (2, 0),
            (2, 1),
            (3, 0),
        ];
        assert_eq!(found, expected.map(|(line, column)| ScriptPlace::new(line, column)));
    }

    #[test]
    fn a_script_in_a_page_is_moved_by_where_it_begins() {
        let start = ScriptPlace::new(5, 17);
        assert_eq!(ScriptPlace::new(0, 3).after(start), ScriptPlace::new(5, 20));
        assert_eq!(ScriptPlace::new(2, 3).after(start), ScriptPlace::new(7, 3));
    }
}
