//! What is measured, in which unit, and how often.

/// The unit of a metric's values.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unit {
    /// Time; every other time unit is converted on reading.
    Nanoseconds,
    /// Memory.
    Bytes,
    /// Samples, calls, objects, instructions: things that are counted.
    Count,
    /// What a file says and nobody else knows.
    Other(String),
}

impl Unit {
    /// The word that JSON and files use.
    pub fn name(&self) -> &str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
            Self::Count => "count",
            Self::Other(name) => name,
        }
    }

    /// The unit a file means by its own word, and how many of it one of the file's are: `ms` is a million nanoseconds.
    pub fn of_file(word: &str) -> (Self, i64) {
        match word.trim().to_ascii_lowercase().as_str() {
            "ns" | "nanosecond" | "nanoseconds" | "nanos" => (Self::Nanoseconds, 1),
            "us" | "µs" | "μs" | "microsecond" | "microseconds" | "micros" => {
                (Self::Nanoseconds, 1_000)
            }
            "ms" | "millisecond" | "milliseconds" | "millis" => (Self::Nanoseconds, 1_000_000),
            "s" | "sec" | "second" | "seconds" => (Self::Nanoseconds, 1_000_000_000),
            "minute" | "minutes" => (Self::Nanoseconds, 60_000_000_000),
            "byte" | "bytes" | "b" => (Self::Bytes, 1),
            "kb" | "kib" | "kilobyte" | "kilobytes" => (Self::Bytes, 1 << 10),
            "mb" | "mib" | "megabyte" | "megabytes" => (Self::Bytes, 1 << 20),
            "gb" | "gib" | "gigabyte" | "gigabytes" => (Self::Bytes, 1 << 30),
            "count" | "samples" | "none" | "" => (Self::Count, 1),
            _ => (Self::Other(word.to_owned()), 1),
        }
    }

    /// The inverse of [`Unit::name`].
    pub fn from_name(name: &str) -> Self {
        match name {
            "ns" => Self::Nanoseconds,
            "bytes" => Self::Bytes,
            "count" => Self::Count,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// How the values came about, which decides how they scatter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Measure {
    /// Each value stands for samples taken once in a while.
    Sampled,
    /// Every event was seen.
    Exact,
}

/// One measured quantity of a profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metric {
    /// `wall`, `cpu`, `samples`, `calls`, `allocated`, `blocked`, or the name the file gives it.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Sampled or exact.
    pub measure: Measure,
    /// What one sample stands for, in `unit`, when the profile says so.
    pub period: Option<i64>,
    /// Values are stored times ten to this power; 0 but for files with fractional counts.
    pub decimals: u8,
}

impl Metric {
    /// A metric that was sampled.
    pub fn sampled(name: &str, unit: Unit) -> Self {
        Self { name: name.to_owned(), unit, measure: Measure::Sampled, period: None, decimals: 0 }
    }

    /// A metric whose every event was seen.
    pub fn exact(name: &str, unit: Unit) -> Self {
        Self { measure: Measure::Exact, ..Self::sampled(name, unit) }
    }

    /// The same metric with what one sample stands for.
    pub fn with_period(self, period: i64) -> Self {
        Self { period: Some(period), ..self }
    }

    /// The value users see for a stored one.
    pub fn shown(&self, stored: i64) -> f64 {
        stored as f64 / 10f64.powi(i32::from(self.decimals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_files_become_units() {
        for (word, unit, factor) in [
            ("ns", Unit::Nanoseconds, 1),
            ("microseconds", Unit::Nanoseconds, 1_000),
            ("ms", Unit::Nanoseconds, 1_000_000),
            ("Seconds", Unit::Nanoseconds, 1_000_000_000),
            ("bytes", Unit::Bytes, 1),
            ("MiB", Unit::Bytes, 1 << 20),
            ("samples", Unit::Count, 1),
            ("", Unit::Count, 1),
            ("furlongs", Unit::Other("furlongs".to_owned()), 1),
        ] {
            assert_eq!(Unit::of_file(word), (unit, factor), "{word}");
        }
    }

    #[test]
    fn units_are_known_by_their_names() {
        for unit in [Unit::Nanoseconds, Unit::Bytes, Unit::Count, Unit::Other("beats".to_owned())] {
            assert_eq!(Unit::from_name(unit.name()), unit);
        }
    }

    #[test]
    fn fractional_counts_are_stored_whole() {
        let metric = Metric { decimals: 2, ..Metric::sampled("samples", Unit::Count) };
        assert!((metric.shown(12_345) - 123.45).abs() < 1e-9);
    }
}
