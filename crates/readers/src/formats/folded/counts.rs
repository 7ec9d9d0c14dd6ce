//! Counts with and without fractions, held as integers: all values of a file are scaled when a fraction turns up.

use perfblame_cct::{Cursor, Metric, MetricId, ProfileBuilder, ThreadId, Unit};

/// Digits behind the point that are kept. Beyond, a share of a sample means nothing.
const MOST_DECIMALS: u8 = 6;

/// A number times ten to the power of `decimals`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Count {
    pub value: i64,
    pub decimals: u8,
}

impl Count {
    /// `12`, `-3`, `31.23` or `1e-05`.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut value = 0i64;
        let plain = text.len() <= 18 && !text.is_empty();
        if plain && text.iter().all(u8::is_ascii_digit) {
            for digit in text {
                value = value * 10 + i64::from(digit - b'0');
            }
            return Some(Self { value, decimals: 0 });
        }
        Self::parse_rare(str::from_utf8(text).ok()?)
    }

    fn parse_rare(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let sign = if unsigned.len() < text.len() { -1 } else { 1 };
        if !unsigned.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if digits(whole) && digits(fraction) && fraction.len() <= usize::from(MOST_DECIMALS) {
            let joined: i64 = [whole, fraction].concat().parse().ok()?;
            return Some(Self { value: sign * joined, decimals: fraction.len() as u8 });
        }
        let number: f64 = unsigned.parse().ok().filter(|number: &f64| number.is_finite())?;
        let scaled = number * 10f64.powi(i32::from(MOST_DECIMALS));
        (scaled < 9e18)
            .then(|| Self { value: sign * scaled.round() as i64, decimals: MOST_DECIMALS })
    }
}

/// What a line of austin's full mode says behind its stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full {
    pub micros: i64,
    pub is_idle: bool,
    pub bytes: i64,
}

impl Full {
    /// `9868,1,-4096`.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut numbers = str::from_utf8(text).ok()?.split(',').map(str::parse::<i64>);
        let mut next = || numbers.next()?.ok();
        let (micros, idle, bytes) = (next()?, next()?, next()?);
        let fits = (0..=1).contains(&idle) && numbers.next().is_none();
        fits.then_some(Self { micros, is_idle: idle == 1, bytes })
    }
}

/// The metrics that a file's counts go to.
pub(crate) struct Counts {
    metrics: Vec<MetricId>,
    decimals: u8,
    total: i128,
    lines: u64,
    /// What one counted thing is in the metric's unit.
    factor: i64,
    /// Counts are amounts; a line is one sample.
    by_line: bool,
}

impl Counts {
    /// Counts of samples.
    pub(crate) fn new(builder: &mut ProfileBuilder, metrics: &[Metric]) -> Self {
        let metrics = metrics.iter().map(|metric| builder.metric(metric.clone())).collect();
        Self { metrics, decimals: 0, total: 0, lines: 0, factor: 1, by_line: false }
    }

    /// What austin measures in a mode: microseconds, or bytes of memory (3.7 was looked at).
    pub(crate) fn austin(builder: &mut ProfileBuilder, mode: &str) -> Self {
        let (metric, factor) = match mode {
            "memory" => (Metric::sampled("allocated", Unit::Bytes), 1),
            "cpu" => (Metric::sampled("cpu", Unit::Nanoseconds), 1000),
            _ => (Metric::sampled("wall", Unit::Nanoseconds), 1000),
        };
        Self { factor, by_line: true, ..Self::new(builder, &[metric]) }
    }

    /// What austin's full mode measures.
    pub(crate) fn austin_full(builder: &mut ProfileBuilder) -> Self {
        let metrics = [
            Metric::sampled("wall", Unit::Nanoseconds),
            Metric::sampled("cpu", Unit::Nanoseconds),
            Metric::sampled("allocated", Unit::Bytes),
            Metric::sampled("freed", Unit::Bytes),
        ];
        Self { by_line: true, ..Self::new(builder, &metrics) }
    }

    /// Adds a sample of austin's full mode: time, time on the processor, memory that came and that went.
    pub(crate) fn add_full(
        &mut self,
        builder: &mut ProfileBuilder,
        at: Cursor,
        thread: Option<ThreadId>,
        sample: Full,
    ) {
        let time = sample.micros.saturating_mul(1000);
        let on_cpu = if sample.is_idle { 0 } else { time };
        let (came, gone) = (sample.bytes.max(0), sample.bytes.saturating_neg().max(0));
        for (metric, value) in self.metrics.iter().zip([time, on_cpu, came, gone]) {
            builder.add(at, thread, *metric, value);
        }
        self.lines += 1;
    }

    /// Adds one count to the metric number `row`.
    pub(crate) fn add(
        &mut self,
        builder: &mut ProfileBuilder,
        row: usize,
        at: Cursor,
        thread: Option<ThreadId>,
        count: Count,
    ) {
        if count.decimals > self.decimals {
            self.rescale(builder, count.decimals);
        }
        let Some(metric) = self.metrics.get(row) else { return };
        let value = if count.decimals == self.decimals {
            count.value
        } else {
            count.value.saturating_mul(power(self.decimals - count.decimals))
        };
        builder.add(at, thread, *metric, value.saturating_mul(self.factor));
        self.total = self.total.saturating_add(i128::from(value.max(0)));
        self.lines += 1;
    }

    fn rescale(&mut self, builder: &mut ProfileBuilder, decimals: u8) {
        let factor = power(decimals - self.decimals);
        for metric in &self.metrics {
            builder.scale_metric(*metric, factor);
            if let Some(known) = builder.known_metric(*metric).cloned() {
                builder.update_metric(*metric, Metric { decimals, ..known });
            }
        }
        self.total = self.total.saturating_mul(i128::from(factor));
        self.decimals = decimals;
    }

    /// At the end of the file: how many samples that were.
    pub(crate) fn finish(&self, builder: &mut ProfileBuilder) {
        let one = i128::from(power(self.decimals));
        let samples = (self.total.saturating_add(one / 2)) / one;
        let samples = u64::try_from(samples).unwrap_or(u64::MAX);
        builder.count_samples(if self.by_line { self.lines } else { samples });
    }
}

fn power(decimals: u8) -> i64 {
    10i64.pow(u32::from(decimals.min(MOST_DECIMALS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_exactly() {
        let check = |text: &str, expected: Option<(i64, u8)>| {
            let count = Count::parse(text.as_bytes()).map(|count| (count.value, count.decimals));
            assert_eq!(count, expected, "{text}");
        };
        check("12", Some((12, 0)));
        check("-3", Some((-3, 0)));
        check("31.23", Some((3123, 2)));
        check("19.0", Some((190, 1)));
        check("0.33333333333", Some((333_333, 6)));
        check("1e-05", Some((10, 6)));
        check("99999999999999999999", None);
        check("", None);
        check("x", None);
        check(".5", None);
        check("inf", None);
        check("1.2.3", None);
    }
}
