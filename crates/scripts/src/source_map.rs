//! From places in a bundle to places in its sources: the `mappings` of a source map, [source-map] in the references.
//!
//! A profile asks for some hundred places of a map that has millions of segments. So the places come first, and the map
//! is decoded once past all of them without being kept: only the segments of one line are in memory at a time.

use crate::Place;

/// Where something comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Where the segment begins in the bundle; on the line that was asked for, at or before the column.
    pub generated: Place,
    /// The number of the source.
    pub source: u32,
    /// The place in it.
    pub place: Place,
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
pub fn origins(mappings: &str, wanted: &[Place]) -> Found {
    let mut found = Found { origins: vec![None; wanted.len()], damaged: 0 };
    let (mut source, mut line, mut column, mut name) = (0i64, 0i64, 0i64, 0i64);
    let mut segments: Vec<(u32, Option<Origin>)> = Vec::new();
    let mut next = 0;
    for (number, text) in mappings.as_bytes().split(|byte| *byte == b';').enumerate() {
        let Ok(number) = u32::try_from(number) else { break };
        if next == wanted.len() {
            break;
        }
        let is_wanted = wanted[next].line == number;
        segments.clear();
        let mut generated = 0i64;
        for segment in text.split(|byte| *byte == b',').filter(|segment| !segment.is_empty()) {
            let mut fields = [0i64; 5];
            let Some(count) = decode(segment, &mut fields) else {
                found.damaged += 1;
                continue;
            };
            generated = generated.saturating_add(fields[0]);
            if count >= 4 {
                source = source.saturating_add(fields[1]);
                line = line.saturating_add(fields[2]);
                column = column.saturating_add(fields[3]);
            }
            if count == 5 {
                name = name.saturating_add(fields[4]);
            }
            let Ok(at) = u32::try_from(generated) else {
                found.damaged += 1;
                continue;
            };
            if !is_wanted {
                continue;
            }
            let origin = match count {
                4 | 5 => [source, line, column]
                    .iter()
                    .all(|part| u32::try_from(*part).is_ok())
                    .then(|| {
                        let place = Place::new(line as u32, column as u32);
                        let name = u32::try_from(name).ok().filter(|_| count == 5);
                        let generated = Place::new(number, at);
                        Origin { generated, source: source as u32, place, name }
                    }),
                _ => None,
            };
            segments.push((at, origin));
        }
        if !is_wanted {
            continue;
        }
        if !segments.is_sorted_by_key(|(at, _)| *at) {
            segments.sort_by_key(|(at, _)| *at);
        }
        while let Some(place) = wanted.get(next).filter(|place| place.line == number) {
            let after = segments.partition_point(|(at, _)| *at <= place.column);
            let segment = after.checked_sub(1).and_then(|row| segments.get(row));
            found.origins[next] = segment.and_then(|(_, origin)| *origin);
            next += 1;
        }
    }
    found
}

/// The numbers of a segment and how many there are; none when it is none.
fn decode(segment: &[u8], fields: &mut [i64; 5]) -> Option<usize> {
    let mut count = 0;
    let (mut value, mut shift) = (0u64, 0u32);
    for byte in segment {
        let digit = u64::from(digit(*byte)?);
        // Numbers have 32 bits: seven digits of five.
        if shift > 30 {
            return None;
        }
        value |= (digit & 31) << shift;
        shift += 5;
        if digit & 32 == 0 {
            let sign = if value & 1 == 1 { -1 } else { 1 };
            *fields.get_mut(count)? = sign * (value >> 1) as i64;
            (value, shift) = (0, 0);
            count += 1;
        }
    }
    (shift == 0 && matches!(count, 1 | 4 | 5)).then_some(count)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
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
            let wanted: Vec<Place> = rows.iter().map(|row| Place::new(row.0, row.1)).collect();
            let found = origins(&text, &wanted);
            prop_assert_eq!(found.damaged, 0);
            for (row, origin) in rows.iter().zip(found.origins) {
                let expected = Origin { generated: Place::new(row.0, row.1), source: row.2, place: Place::new(row.3, row.4), name: row.5 };
                prop_assert_eq!(origin, Some(expected));
            }
        }

        #[test]
        fn any_text_is_survived(text in "[A-Za-z0-9+/,;!]{0,200}", line in 0u32..5, column in 0u32..9) {
            let _ = origins(&text, &[Place::new(line, column), Place::new(line + 1, 0)]);
        }
    }

    #[test]
    fn a_place_belongs_to_the_segment_before_it() {
        let places = [(0, 0), (0, 4), (0, 20), (1, 0), (9, 9)]
            .map(|(line, column)| Place::new(line, column));
        let found = origins("CAAC,GACEA,K;", &places);
        let origin = |column, line, to, name| {
            Some(Origin {
                generated: Place::new(0, column),
                source: 0,
                place: Place::new(line, to),
                name,
            })
        };
        assert_eq!(found.origins, [None, origin(4, 1, 3, Some(0)), None, None, None]);
        assert_eq!(found.damaged, 0);
    }
}
