//! Amounts as people write them: `5ms`, `1.5MiB`, `2%`, `1000`.
//!
//! The command line and `perfblame.toml` read amounts here, so that a unit means the same in every place. The unit is
//! kept: whoever knows the metric can refuse milliseconds of memory before anything is measured.

use std::fmt;
use std::time::Duration;

use perfblame_cct::Unit;

use crate::MinDelta;

/// What an amount with a unit measures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Quantity {
    /// In nanoseconds.
    Time,
    /// In bytes.
    Size,
    /// Samples, calls and other things that are counted.
    Count,
}

impl Quantity {
    /// The unit in which profiles store it.
    pub fn unit(self) -> Unit {
        match self {
            Self::Time => Unit::Nanoseconds,
            Self::Size => Unit::Bytes,
            Self::Count => Unit::Count,
        }
    }

    /// What a metric measures that every reader gives the same unit; none for other names.
    pub fn of_metric(name: &str) -> Option<Self> {
        match name {
            "wall" | "cpu" | "blocked" | "waits" | "off-cpu" => Some(Self::Time),
            "allocated" | "live" => Some(Self::Size),
            "samples" | "calls" | "allocations" => Some(Self::Count),
            _ => None,
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Time => "a time",
            Self::Size => "a size",
            Self::Count => "a count",
        })
    }
}

/// A number with its unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    /// A number without a unit.
    Number(f64),
    /// A percentage, as a part of one: 2 % is 0.02.
    Share(f64),
    /// A number in nanoseconds, bytes or things that are counted.
    Of(Quantity, f64),
}

/// A text that is not an amount, or not one of the kind that is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AmountError {
    /// Neither a number with a known unit, nor a percentage, nor a number.
    #[error("an amount is a number with a unit or a percentage: 5ms, 2%, 1.5MiB, 1000")]
    Amount,
    /// Not a time.
    #[error("a time is a number and a unit (ms, s, min or h), such as 90s")]
    Time,
    /// Not a size.
    #[error("a size is a number and a unit (kB, MB, GB; KiB, MiB, GiB), such as 200MB")]
    Size,
    /// Not a percentage.
    #[error("a share is a percentage, such as 5%")]
    Share,
}

impl Amount {
    /// Reads an amount of anything.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        read(text, None).ok_or(AmountError::Amount)
    }

    /// Reads a time; a number without a unit is in seconds.
    pub fn time(text: &str) -> Result<Duration, AmountError> {
        let seconds = match read(text, Some(Quantity::Time)) {
            Some(Self::Of(Quantity::Time, nanoseconds)) => nanoseconds / 1e9,
            Some(Self::Number(seconds)) => seconds,
            _ => return Err(AmountError::Time),
        };
        Duration::try_from_secs_f64(seconds).map_err(|_| AmountError::Time)
    }

    /// Reads a size; a number without a unit is in bytes.
    pub fn size(text: &str) -> Result<u64, AmountError> {
        match read(text, Some(Quantity::Size)) {
            Some(Self::Of(Quantity::Size, bytes) | Self::Number(bytes))
                if bytes < u64::MAX as f64 =>
            {
                Ok(bytes as u64)
            }
            _ => Err(AmountError::Size),
        }
    }

    /// Reads a percentage: 0.05 for `5%`.
    pub fn share(text: &str) -> Result<f64, AmountError> {
        match read(text, None) {
            Some(Self::Share(share)) => Ok(share),
            _ => Err(AmountError::Share),
        }
    }
}

impl From<Amount> for MinDelta {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Number(value) => Self::Absolute(value),
            Amount::Share(share) => Self::Share(share),
            Amount::Of(quantity, value) => Self::Of(quantity, value),
        }
    }
}

fn read(text: &str, wanted: Option<Quantity>) -> Option<Amount> {
    let text = text.trim();
    let ends = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..ends].parse().ok()?;
    match text[ends..].trim() {
        "" => Some(Amount::Number(number)),
        "%" => Some(Amount::Share(number / 100.0)),
        word => {
            let (quantity, factor) = unit(word, wanted)?;
            let value = number * factor;
            value.is_finite().then_some(Amount::Of(quantity, value))
        }
    }
}

/// What a unit measures, and how much of it one is. `m` is a minute, but where sizes are wanted it is a mebibyte.
fn unit(word: &str, wanted: Option<Quantity>) -> Option<(Quantity, f64)> {
    let time = |factor| Some((Quantity::Time, factor));
    let size = |factor: u64| Some((Quantity::Size, factor as f64));
    match word.to_lowercase().as_str() {
        // Short forms of tools such as `du` and `dd`.
        "k" | "ki" | "kib" => size(1 << 10),
        "m" if wanted != Some(Quantity::Size) && word == "m" => time(60e9),
        "m" | "mi" | "mib" => size(1 << 20),
        "g" | "gi" | "gib" => size(1 << 30),
        "kb" | "kilobyte" | "kilobytes" => size(1_000),
        "mb" | "megabyte" | "megabytes" => size(1_000_000),
        "gb" | "gigabyte" | "gigabytes" => size(1_000_000_000),
        "min" => time(60e9),
        "h" => time(3_600e9),
        _ => match Unit::of_file(word) {
            (Unit::Nanoseconds, factor) => time(factor as f64),
            (Unit::Bytes, factor) => Some((Quantity::Size, factor as f64)),
            (Unit::Count, factor) => Some((Quantity::Count, factor as f64)),
            (Unit::Other(_), _) => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_keep_their_unit() {
        for (text, amount) in [
            ("1000", Amount::Number(1000.0)),
            (".5", Amount::Number(0.5)),
            ("2%", Amount::Share(0.02)),
            ("2 %", Amount::Share(0.02)),
            ("7ns", Amount::Of(Quantity::Time, 7.0)),
            ("7us", Amount::Of(Quantity::Time, 7e3)),
            ("7µs", Amount::Of(Quantity::Time, 7e3)),
            ("5ms", Amount::Of(Quantity::Time, 5e6)),
            ("5 ms", Amount::Of(Quantity::Time, 5e6)),
            ("1.5s", Amount::Of(Quantity::Time, 1.5e9)),
            ("3 seconds", Amount::Of(Quantity::Time, 3e9)),
            ("2min", Amount::Of(Quantity::Time, 120e9)),
            ("2m", Amount::Of(Quantity::Time, 120e9)),
            ("1h", Amount::Of(Quantity::Time, 3_600e9)),
            ("12B", Amount::Of(Quantity::Size, 12.0)),
            ("1kB", Amount::Of(Quantity::Size, 1e3)),
            ("1KB", Amount::Of(Quantity::Size, 1e3)),
            ("1KiB", Amount::Of(Quantity::Size, 1024.0)),
            ("1MB", Amount::Of(Quantity::Size, 1e6)),
            ("1.5MiB", Amount::Of(Quantity::Size, 1_572_864.0)),
            ("1GB", Amount::Of(Quantity::Size, 1e9)),
            ("1GiB", Amount::Of(Quantity::Size, 1_073_741_824.0)),
            ("20 samples", Amount::Of(Quantity::Count, 20.0)),
        ] {
            assert_eq!(Amount::parse(text), Ok(amount), "{text}");
        }
        let long = format!("{}h", "9".repeat(308));
        for bad in ["", "ms", "%", "-5ms", "5 parsecs", "1e400", "1.2.3", "nan", "inf", &long] {
            assert_eq!(Amount::parse(bad), Err(AmountError::Amount), "{bad}");
        }
    }

    #[test]
    fn a_number_alone_is_in_seconds_or_bytes() {
        assert_eq!(Amount::time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(Amount::time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(Amount::time("1.5 min"), Ok(Duration::from_secs(90)));
        assert_eq!(Amount::time("2 m"), Ok(Duration::from_secs(120)));
        for bad in ["", "-3s", "ten", "1e999h", "5 weeks", "5MB", "5%", "99999999999999999999h"] {
            assert_eq!(Amount::time(bad), Err(AmountError::Time), "{bad}");
        }
        assert_eq!(Amount::size("77"), Ok(77));
        assert_eq!(Amount::size("2GB"), Ok(2_000_000_000));
        assert_eq!(Amount::size("2GiB"), Ok(2 << 30));
        for short in ["200M", "200m", "200Mi", "200MiB"] {
            assert_eq!(Amount::size(short), Ok(200 << 20), "{short}");
        }
        for bad in ["", "-1", "5 hectares", "5ms", "99999999999G", "5%"] {
            assert_eq!(Amount::size(bad), Err(AmountError::Size), "{bad}");
        }
        assert_eq!(Amount::share("5%"), Ok(0.05));
        assert_eq!(Amount::share("5"), Err(AmountError::Share));
    }
}
