//! gperftools' binary CPU profiles: machine words of the profiled machine, 4 or 8 bytes, either end first.

use super::memory_map::MemoryMap;
use super::{Legacy, LegacySample, text};
use crate::error::{ReadError, ReadErrorKind};
use hashbrown::HashMap;
use perfblame_cct::ProfileBuilder;

/// How words are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Words {
    size: usize,
    is_big_endian: bool,
}

const KINDS: [Words; 4] = [
    Words { size: 4, is_big_endian: false },
    Words { size: 4, is_big_endian: true },
    Words { size: 8, is_big_endian: false },
    Words { size: 8, is_big_endian: true },
];

/// Longest sampling period believed, in microseconds: an hour.
const MAX_PERIOD: u64 = 3_600_000_000;

impl Words {
    fn at(self, bytes: &[u8], row: usize) -> Option<u64> {
        let start = row.checked_mul(self.size)?;
        let word = bytes.get(start..start.checked_add(self.size)?)?;
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(if self.is_big_endian {
            word.iter().fold(0, add)
        } else {
            word.iter().rev().fold(0, add)
        })
    }
}

struct LegacyHeader {
    words: Words,
    is_java: bool,
    /// Microseconds.
    period: u64,
}

/// The header is 0, the number of words that follow (3), the version (0, or 1 for Java), the period, 0.
fn header(bytes: &[u8]) -> Option<LegacyHeader> {
    KINDS.into_iter().find_map(|words| {
        let word = |row| words.at(bytes, row);
        let (version, period) = (word(2)?, word(3)?);
        let fits = word(0)? == 0 && word(1)? == 3 && version <= 1 && word(4)? == 0;
        let is_header = fits && (1..=MAX_PERIOD).contains(&period);
        is_header.then_some(LegacyHeader { words, is_java: version == 1, period })
    })
}

/// True for bytes that start with the header.
pub fn sniff(bytes: &[u8]) -> bool {
    header(bytes).is_some()
}

/// Reads samples and what follows them: a memory map, or Java's names.
pub fn read(builder: &mut ProfileBuilder, bytes: &[u8]) -> Result<Legacy, ReadError> {
    let Some(header) = header(bytes) else {
        return Err(ReadError::malformed(0, "the header of a CPU profile is missing"));
    };
    let LegacyHeader { words, is_java, period } = header;
    let period = period as i64 * 1_000;
    let mut legacy = Legacy {
        types: vec![("samples", "count".to_owned()), ("cpu", "nanoseconds".to_owned())],
        period: Some((period, "nanoseconds")),
        ..Legacy::default()
    };
    let mut row = 5;
    let mut is_ended = false;
    while let (Some(count), Some(depth)) = (words.at(bytes, row), words.at(bytes, row + 1)) {
        row += 2;
        let left = (bytes.len() / words.size).saturating_sub(row) as u64;
        if depth > left {
            let kind = ReadErrorKind::Truncated {
                wanted: depth.saturating_mul(words.size as u64),
                left: left * words.size as u64,
            };
            if legacy.samples.is_empty() {
                return Err(ReadError::new(kind).at((row * words.size) as u64));
            }
            builder.warn("cut-off", || {
                format!(
                    "the sample at byte {} is longer than the file; samples end there",
                    row * words.size
                )
            });
            return Ok(legacy);
        }
        let mut addresses = Vec::with_capacity(depth as usize);
        for _ in 0..depth {
            addresses.push(words.at(bytes, row).unwrap_or(0));
            row += 1;
        }
        if count == 0 && addresses == [0] {
            is_ended = true;
            break;
        }
        if !is_java {
            // All but the innermost are return addresses: the call is before.
            for address in addresses.iter_mut().skip(1) {
                *address = address.wrapping_sub(1);
            }
        }
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let values = vec![count, count.saturating_mul(period)];
        legacy.samples.push(LegacySample { values, addresses, ..LegacySample::default() });
    }
    if !is_ended {
        builder.warn("cut-off", || "the file ends without an end mark for its samples".to_owned());
    }
    let rest = String::from_utf8_lossy(bytes.get(row * words.size..).unwrap_or(&[]));
    if is_java {
        legacy.names = text::java_names(rest.lines());
    } else {
        drop_signal_frames(&mut legacy.samples);
        legacy.map = MemoryMap::read(rest.lines());
        drop_repeated_leaves(&mut legacy.samples);
    }
    Ok(legacy)
}

/// The frame of the signal handler that takes the samples stands right above nearly every leaf; there may be two of
/// them. pprof's rule: an address there in all samples but one in 32 is such a frame.
fn drop_signal_frames(samples: &mut [LegacySample]) {
    let spared = samples.len() / 32;
    for _ in 0..2 {
        let mut counts: HashMap<u64, usize> = HashMap::new();
        for sample in &*samples {
            if let Some(address) = sample.addresses.get(1) {
                *counts.entry(*address).or_insert(0) += 1;
            }
        }
        let most = counts.into_iter().max_by_key(|(address, count)| (*count, *address));
        let Some((handler, count)) = most else { return };
        if count < samples.len() - spared {
            return;
        }
        for sample in &mut *samples {
            if sample.addresses.get(1) == Some(&handler) {
                sample.addresses.remove(1);
            }
        }
    }
}

/// Some unwinders find the leaf twice, once as a return address.
pub fn drop_repeated_leaves(samples: &mut [LegacySample]) {
    for sample in samples {
        if let [leaf, above, ..] = sample.addresses[..]
            && leaf == above.wrapping_add(1)
        {
            sample.addresses.remove(1);
        }
    }
}
