//! From places in a bundle to places in its sources: the `mappings` of a source map, [source-map] in the references.
//!
//! A profile asks for some hundred places of a map that has millions of segments. So the places come first, and the map
//! is decoded once past all of them without being kept: only the segments of one line are in memory at a time.

use crate::ScriptPlace;

/// Where something comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Where the segment begins in the bundle; on the line that was asked for, at or before the column.
    pub generated: ScriptPlace,
    /// The number of the source.
    pub source: u32,
    /// The place in it.
    pub place: ScriptPlace,
    /// The number of the name it has there.
    pub name: Option<u32>,
}

/// What a map says of some places.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Of each place, in their order; none where the bundle has something of its own.
    pub origins: Vec<Option<Origin>>,
    /// Segments that are no segments.
    pub damaged: u64,
}

/// Looks up places, which must be sorted.
///
/// Segments of a line mostly come in the order of their columns, and then only the last one is remembered: minified
/// bundles have all of their millions of segments on one line. A line that is in no order is read again and sorted.
pub fn origins(mappings: &str, wanted: &[ScriptPlace]) -> Found {
    let mut found = Found { origins: vec![None; wanted.len()], damaged: 0 };
    let mut reader = MappingReader { rest: mappings.as_bytes(), ..MappingReader::default() };
    let mut next = 0;
    while let Some(place) = wanted.get(next) {
        if reader.line == place.line {
            let count = wanted[next..].iter().take_while(|other| other.line == place.line).count();
            let places = next..next + count;
            let start = reader;
            if !reader.line_in_order(&wanted[places.clone()], &mut found.origins[places.clone()]) {
                reader = start;
                reader.line_in_no_order(&wanted[places.clone()], &mut found.origins[places]);
            }
            next += count;
        } else {
            reader.skip_line();
        }
        if reader.is_at_end() {
            break;
        }
    }
    found.damaged = reader.damaged;
    found
}

/// Where in the mappings one is, and what all segments before add up to.
#[derive(Clone, Copy, Default)]
struct MappingReader<'a> {
    rest: &'a [u8],
    line: u32,
    /// Set once there is no further line.
    ended: bool,
    source: i64,
    source_line: i64,
    source_column: i64,
    name: i64,
    damaged: u64,
}

impl MappingReader<'_> {
    fn is_at_end(&self) -> bool {
        self.ended
    }

    fn skip_line(&mut self) {
        self.each_segment(|_, _| true);
    }

    /// Answers for places of this line, sorted; false when its segments are not.
    fn line_in_order(&mut self, wanted: &[ScriptPlace], into: &mut [Option<Origin>]) -> bool {
        let (mut next, mut last, mut last_at) = (0, None, None);
        let is_sorted = self.each_segment(|at, origin| {
            if last_at.is_some_and(|last| at < last) {
                return false;
            }
            while wanted.get(next).is_some_and(|place| place.column < at) {
                into[next] = last;
                next += 1;
            }
            (last, last_at) = (origin, Some(at));
            true
        });
        into[next..].fill(last);
        is_sorted
    }

    fn line_in_no_order(&mut self, wanted: &[ScriptPlace], into: &mut [Option<Origin>]) {
        let mut segments: Vec<(u32, Option<Origin>)> = Vec::new();
        self.each_segment(|at, origin| {
            segments.push((at, origin));
            true
        });
        segments.sort_by_key(|(at, _)| *at);
        for (place, origin) in wanted.iter().zip(into) {
            let after = segments.partition_point(|(at, _)| *at <= place.column);
            let segment = after.checked_sub(1).and_then(|row| segments.get(row));
            *origin = segment.and_then(|(_, origin)| *origin);
        }
    }

    /// Hands the segments of a line to `take`, until that says no, and goes to the next line; true when all were taken.
    fn each_segment(&mut self, mut take: impl FnMut(u32, Option<Origin>) -> bool) -> bool {
        let mut column = 0i64;
        loop {
            let mut fields = [0i64; 5];
            let decoded = decode(&mut self.rest, &mut fields);
            match decoded {
                Decoded::Segment(count) => {
                    column = column.saturating_add(fields[0]);
                    if count >= 4 {
                        self.source = self.source.saturating_add(fields[1]);
                        self.source_line = self.source_line.saturating_add(fields[2]);
                        self.source_column = self.source_column.saturating_add(fields[3]);
                    }
                    if count == 5 {
                        self.name = self.name.saturating_add(fields[4]);
                    }
                    match u32::try_from(column) {
                        Ok(at) if !take(at, self.origin(at, count)) => return false,
                        Ok(_) => {}
                        Err(_) => self.damaged += 1,
                    }
                }
                Decoded::Nothing => {}
                Decoded::Damage => self.damaged += 1,
            }
            // What ended the segment.
            let Some((end, rest)) = self.rest.split_first() else {
                self.ended = true;
                return true;
            };
            self.rest = rest;
            if *end == b';' {
                self.ended = self.line == u32::MAX;
                self.line = self.line.saturating_add(1);
                return true;
            }
        }
    }

    /// Where a segment at `at` with so many numbers comes from.
    fn origin(&self, at: u32, count: usize) -> Option<Origin> {
        if count < 4 {
            return None;
        }
        let place = ScriptPlace::new(
            u32::try_from(self.source_line).ok()?,
            u32::try_from(self.source_column).ok()?,
        );
        Some(Origin {
            generated: ScriptPlace::new(self.line, at),
            source: u32::try_from(self.source).ok()?,
            place,
            name: u32::try_from(self.name).ok().filter(|_| count == 5),
        })
    }
}

/// What stands up to the next `,` or `;`.
enum Decoded {
    /// So many numbers.
    Segment(usize),
    Nothing,
    Damage,
}

/// What a byte is: a digit, the end of a segment, or nothing that may be there.
const END: u8 = 64;
const NONE: u8 = 65;
const DIGITS: [u8; 256] = {
    let mut digits = [NONE; 256];
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut at = 0;
    while at < letters.len() {
        digits[letters[at] as usize] = at as u8;
        at += 1;
    }
    digits[b',' as usize] = END;
    digits[b';' as usize] = END;
    digits
};

/// The numbers of a segment; `rest` is at its end then.
fn decode(rest: &mut &[u8], fields: &mut [i64; 5]) -> Decoded {
    let bytes = *rest;
    let mut count = 0;
    let (mut value, mut shift) = (0u64, 0u32);
    let (mut at, mut is_damaged) = (0, false);
    while let Some(byte) = bytes.get(at) {
        let digit = DIGITS[*byte as usize];
        if digit == END {
            break;
        }
        at += 1;
        // Numbers have 32 bits: seven digits of five.
        if digit == NONE || shift > 30 {
            is_damaged = true;
            continue;
        }
        value |= u64::from(digit & 31) << shift;
        shift += 5;
        if digit & 32 == 0 {
            let number = (value >> 1) as i64;
            match fields.get_mut(count) {
                Some(field) => *field = if value & 1 == 1 { -number } else { number },
                None => is_damaged = true,
            }
            (value, shift) = (0, 0);
            count += 1;
        }
    }
    *rest = &bytes[at..];
    match count {
        _ if is_damaged || shift != 0 => Decoded::Damage,
        0 => Decoded::Nothing,
        1 | 4 | 5 => Decoded::Segment(count),
        _ => Decoded::Damage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(mut value: i64, into: &mut String) {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let is_negative = value < 0;
        value = value.abs() << 1 | i64::from(is_negative);
        loop {
            let digit = value & 31;
            value >>= 5;
            into.push(char::from(DIGITS[(digit | if value > 0 { 32 } else { 0 }) as usize]));
            if value == 0 {
                return;
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_found(rows in prop::collection::vec((0u32..4, 0u32..60, 0u32..3, 0u32..90, 0u32..90, prop::option::of(0u32..5)), 1..30)) {
            let mut rows = rows;
            rows.sort();
            rows.dedup_by_key(|row| (row.0, row.1));
            let (mut text, mut at) = (String::new(), (0u32, 0i64));
            let mut last = [0i64; 4];
            for (line, column, source, to_line, to_column, name) in &rows {
                while at.0 < *line {
                    text.push(';');
                    at = (at.0 + 1, 0);
                }
                if !(text.is_empty() || text.ends_with(';')) {
                    text.push(',');
                }
                encode(i64::from(*column) - at.1, &mut text);
                at.1 = i64::from(*column);
                let now = [source, to_line, to_column].map(|part| i64::from(*part));
                for part in 0..3 {
                    encode(now[part] - last[part], &mut text);
                    last[part] = now[part];
                }
                if let Some(name) = name {
                    encode(i64::from(*name) - last[3], &mut text);
                    last[3] = i64::from(*name);
                }
            }
            let wanted: Vec<ScriptPlace> = rows.iter().map(|row| ScriptPlace::new(row.0, row.1)).collect();
            let found = origins(&text, &wanted);
            prop_assert_eq!(found.damaged, 0);
            for (row, origin) in rows.iter().zip(found.origins) {
                let expected = Origin { generated: ScriptPlace::new(row.0, row.1), source: row.2, place: ScriptPlace::new(row.3, row.4), name: row.5 };
                prop_assert_eq!(origin, Some(expected));
            }
        }

        #[test]
        fn any_text_is_survived(text in "[A-Za-z0-9+/,;!]{0,200}", line in 0u32..5, column in 0u32..9) {
            let _ = origins(&text, &[ScriptPlace::new(line, column), ScriptPlace::new(line + 1, 0)]);
        }
    }

    #[test]
    fn columns_may_go_back() {
        // Columns 8, 2 and 4; then a line in order, which goes on from where the sources were.
        let places = [(0, 1), (0, 3), (0, 5), (0, 9), (1, 0)]
            .map(|(line, column)| ScriptPlace::new(line, column));
        let found = origins("QAAA,NACA,EACA;AACA", &places);
        let lines: Vec<Option<u32>> =
            found.origins.iter().map(|origin| origin.map(|origin| origin.place.line)).collect();
        assert_eq!(lines, [None, Some(1), Some(2), Some(0), Some(3)]);
        assert_eq!(found.damaged, 0);
    }

    #[test]
    fn what_is_no_segment_is_counted() {
        let found = origins("AAAA,!,AA,gggggggggA,AAAAAA;AACA", &[ScriptPlace::new(1, 0)]);
        assert_eq!(found.damaged, 4);
        assert_eq!(found.origins[0].map(|origin| origin.place.line), Some(1));
    }

    #[test]
    fn a_place_belongs_to_the_segment_before_it() {
        let places = [(0, 0), (0, 4), (0, 20), (1, 0), (9, 9)]
            .map(|(line, column)| ScriptPlace::new(line, column));
        let found = origins("CAAC,GACEA,K;", &places);
        let origin = |column, line, to, name| {
            Some(Origin {
                generated: ScriptPlace::new(0, column),
                source: 0,
                place: ScriptPlace::new(line, to),
                name,
            })
        };
        assert_eq!(found.origins, [None, origin(4, 1, 3, Some(0)), None, None, None]);
        assert_eq!(found.damaged, 0);
    }
}
