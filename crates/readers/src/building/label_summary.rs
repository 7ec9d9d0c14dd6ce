//! What the labels of samples say, in one line per label.

use std::fmt::Write as _;

use perfblame_words::counted;

/// Values that a summary names.
const SHOWN: usize = 5;

/// How many samples have a label, how many values it takes, and the most frequent of them.
pub(crate) fn label_summary(
    samples: u64,
    distinct: usize,
    there_are_more: bool,
    counts: impl Iterator<Item = (String, u64)>,
) -> String {
    let more = if there_are_more { " or more" } else { "" };
    let values = if distinct == 1 { "value" } else { "values" };
    let samples = counted(samples, "sample", "samples");
    let mut text = format!("{samples}, {distinct}{more} {values}:");
    for (place, (value, count)) in counts.take(SHOWN).enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let _ = write!(text, "{comma} {value} ({count})");
    }
    if distinct > SHOWN {
        text.push_str(", …");
    }
    text
}
