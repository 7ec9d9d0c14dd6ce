//! Numbers as people read them: with units, three significant digits and thousands in groups.

use perfblame_analysis::MetricTotal;
use perfblame_cct::{Metric, Unit};
pub use perfblame_words::{counted, grouped};

/// A stored value with its decimals, exactly.
pub fn decimal(stored: i64, decimals: u8) -> String {
    if decimals == 0 {
        return stored.to_string();
    }
    let digits = stored.unsigned_abs().to_string();
    let digits = format!("{digits:0>width$}", width = usize::from(decimals) + 1);
    let (whole, part) = digits.split_at(digits.len() - usize::from(decimals));
    let part = part.trim_end_matches('0');
    let sign = if stored < 0 { "-" } else { "" };
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

/// A value of a metric with its unit: `12.3 s`, `4.50 MiB`, `1,204`.
pub fn value(stored: i64, metric: &MetricTotal) -> String {
    let (sign, size) = if stored < 0 { ("-", -(stored as f64)) } else { ("", stored as f64) };
    let size = size / 10f64.powi(i32::from(metric.decimals));
    let text = match &metric.unit {
        Unit::Nanoseconds => nanoseconds(size),
        Unit::Bytes => bytes(size),
        Unit::Count | Unit::Other(_) if metric.decimals == 0 => grouped(stored.unsigned_abs()),
        Unit::Count | Unit::Other(_) => format!("{size:.2}"),
    };
    format!("{sign}{text}")
}

/// A cost that need not be whole, without its sign: `12.3 s`, `4.50 MiB`, `1,204`, `0.33`.
pub fn quantity(cost: f64, metric: &Metric) -> String {
    let size = cost.abs() / 10f64.powi(i32::from(metric.decimals));
    match &metric.unit {
        _ if !size.is_finite() => "unknown".to_owned(),
        Unit::Nanoseconds => nanoseconds(size),
        Unit::Bytes => bytes(size),
        // A half sample matters only where there are few.
        Unit::Count | Unit::Other(_) if size >= 99.5 || size.fract() == 0.0 => {
            grouped(size.round() as u64)
        }
        Unit::Count | Unit::Other(_) => significant(size),
    }
}

/// A share of one in a sentence: `54 %`, `3.2 %`.
pub fn in_percent(share: f64) -> String {
    match share.abs() * 100.0 {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.1 => "<0.1 %".to_owned(),
        percent if percent < 9.95 => format!("{percent:.1} %"),
        // What is left matters: almost all of it is not all of it.
        percent if percent > 99.0 && percent < 100.0 => format!("{:.1} %", percent.min(99.9)),
        percent => format!("{} %", grouped(percent.round() as u64)),
    }
}

/// A time, in the largest unit that leaves a digit before the point.
pub fn nanoseconds(size: f64) -> String {
    match size {
        0.0 => "0 s".to_owned(),
        size if size < 999.5 => format!("{size:.0} ns"),
        size if size < 999.5e3 => format!("{} µs", significant(size / 1e3)),
        size if size < 999.5e6 => format!("{} ms", significant(size / 1e6)),
        size if size < 600e9 => format!("{} s", significant(size / 1e9)),
        size if size < 2.0 * 3600e9 => format!("{:.1} min", size / 60e9),
        size => format!("{:.1} h", size / 3600e9),
    }
}

fn bytes(size: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut size = size;
    let mut unit = 0;
    while size >= 999.5 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{size:.0} B")
    } else {
        format!("{} {}", significant(size), units[unit])
    }
}

/// Three significant digits.
pub fn significant(size: f64) -> String {
    match size {
        size if size < 9.995 => format!("{size:.2}"),
        size if size < 99.95 => format!("{size:.1}"),
        size => format!("{size:.0}"),
    }
}

/// A share of one: `43.1%`; a cost too small to show a digit is `<0.1%`, not nothing.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        "<0.1%".to_owned()
    } else {
        format!("{:.1}%", share * 100.0)
    }
}

/// The day and time of a moment, in UTC: `2024-03-01 10:33`.
pub fn moment(since_1970: i64) -> String {
    let minutes = since_1970.div_euclid(60_000_000_000);
    let (days, minute) = (minutes.div_euclid(1440), minutes.rem_euclid(1440));
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minute / 60, minute % 60)
}

/// The date of a day counted from 1970-01-01. The year is taken to begin in March, so that the leap day is its last
/// and the months before it have fixed lengths.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(decimal(-125, 2), "-1.25");
        assert_eq!(decimal(5, 3), "0.005");
        assert_eq!(decimal(700, 2), "7");
        for (size, expected) in [
            (0.0, "0 s"),
            (999.0, "999 ns"),
            (999.6, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (999_600.0, "1.00 ms"),
            (1.26e9, "1.26 s"),
            (599e9, "599 s"),
            (3600e9, "60.0 min"),
        ] {
            assert_eq!(nanoseconds(size), expected);
        }
        assert_eq!(bytes(1023.0), "1.00 KiB");
        assert_eq!(bytes(3.0 * 1_048_576.0), "3.00 MiB");
        assert_eq!(percent(0.000_01), "<0.1%");
        assert_eq!(percent(0.431), "43.1%");
        for (share, expected) in [
            (0.0, "0 %"),
            (0.000_4, "<0.1 %"),
            (-0.032, "3.2 %"),
            (0.996, "99.6 %"),
            (0.9999, "99.9 %"),
            (1.0, "100 %"),
            (0.54, "54 %"),
        ] {
            assert_eq!(in_percent(share), expected);
        }
        let count = Metric::sampled("samples", Unit::Count);
        assert_eq!(quantity(1204.4, &count), "1,204");
        assert_eq!(quantity(-2.5, &count), "2.50");
        assert_eq!(quantity(3.0, &count), "3");
        assert_eq!(quantity(125.0, &Metric { decimals: 1, ..count }), "12.5");
        assert_eq!(moment(0), "1970-01-01 00:00 UTC");
        assert_eq!(moment(1_709_289_180_000_000_000), "2024-03-01 10:33 UTC");
    }
}
