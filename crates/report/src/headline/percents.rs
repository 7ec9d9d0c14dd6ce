//! Percentages of one whole, rounded so that they stay true.

use crate::numbers::{grouped, in_percent};

/// A part of the total that the change has to exceed, rounded up: `4 %`, `150 %`.
pub(super) fn more_than(part: f64) -> String {
    let percent = part * 100.0;
    let percent = if percent < 9.9 { (percent * 10.0).ceil() / 10.0 } else { percent.ceil() };
    match percent {
        percent if percent.fract() == 0.0 => format!("{} %", grouped(percent as u64)),
        percent => format!("{percent:.1} %"),
    }
}

/// Percentages of one whole. Each is rounded, but never so that together they exceed 100 %.
#[derive(Default)]
pub(super) struct Percents {
    /// What was printed, in tenths of a percent.
    printed: u64,
}

impl Percents {
    pub(super) fn next(&mut self, share: f64) -> String {
        let left = 1000u64.saturating_sub(self.printed);
        let share = share.clamp(0.0, 1.0);
        let text = in_percent(share);
        let tenths = (text.trim_start_matches('<').trim_end_matches(" %").parse::<f64>())
            .map_or(0, |percent| (percent * 10.0).round() as u64);
        let (text, tenths) = if tenths <= left {
            (text, tenths)
        } else if left >= 100 {
            (format!("{} %", left / 10), left / 10 * 10)
        } else {
            (in_percent(left as f64 / 1000.0), left)
        };
        self.printed += tenths;
        text
    }
}
