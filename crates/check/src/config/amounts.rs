//! Amounts as people write them: `90s`, `10min`, `2GB`, `5%`, `3ms`.

use std::time::Duration;

use perfblame_analysis::MinDelta;

/// A number and its unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some((number, text[end..].trim()))
}

/// `90s`, `10 min`, `1h`.
pub fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "ms" => number / 1e3,
        "s" => number,
        "min" | "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

/// `500MB`, `2 GiB`.
pub fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = match unit {
        "B" => 1.0,
        "kB" | "KB" => 1e3,
        "KiB" => 1024.0,
        "MB" => 1e6,
        "MiB" => 1_048_576.0,
        "GB" => 1e9,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    Some((number * factor) as u64)
}

/// `2%`, `5ms`; times become nanoseconds.
pub fn min_delta(text: &str) -> Option<MinDelta> {
    let (number, unit) = split(text)?;
    let absolute = |factor: f64| Some(MinDelta::Absolute(number * factor));
    match unit {
        "%" => Some(MinDelta::Share(number / 100.0)),
        "" | "ns" | "B" => absolute(1.0),
        "us" | "µs" => absolute(1e3),
        "ms" => absolute(1e6),
        "s" => absolute(1e9),
        "kB" | "KB" => absolute(1e3),
        "MB" => absolute(1e6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        assert_eq!(duration("90s"), Some(Duration::from_secs(90)));
        assert_eq!(duration("1.5 min"), Some(Duration::from_secs(90)));
        assert_eq!(bytes("2GiB"), Some(2 << 30));
        assert_eq!(min_delta("2%"), Some(MinDelta::Share(0.02)));
        assert_eq!(min_delta("3ms"), Some(MinDelta::Absolute(3e6)));
        for bad in ["", "5", "-3s", "ten", "1e999h", "5 parsecs"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }
}
