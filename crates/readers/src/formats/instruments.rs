//! What Instruments puts on the clipboard with "Deep Copy": the call tree as indented lines, with cost and own cost.

use perfblame_cct::{Metric, MetricId, Profile, ProfileBuilder, Thread, ThreadId, Unit};

use crate::building::module_frame::module_frame;
use crate::building::outline::Outline;
use crate::encodings::text::{self, excerpt, shown};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "instruments",
    producers: "Xcode Instruments: Deep Copy",
    sniff,
    read,
    tracer: None,
};

/// True for text whose first line names the columns of a call tree.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    text::lines(&head).next().is_some_and(|line| InstrumentsColumns::of(&shown(line)).is_some())
}

/// What the second column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Second {
    /// The line's own cost; a number without unit is in milliseconds.
    Own,
    /// How many there were, in the line and below it.
    Count,
}

struct InstrumentsColumns {
    second: Second,
}

impl InstrumentsColumns {
    fn of(line: &str) -> Option<Self> {
        let names: Vec<_> = line.split('\t').map(str::trim).collect();
        let (first, second, last) = (names.first()?, names.get(1)?, names.last()?);
        if !matches!(*last, "Symbol Name" | "Symbol Names") || names.len() < 3 {
            return None;
        }
        match (*first, *second) {
            ("Weight" | "Running Time" | "Samples", _) => Some(Self { second: Second::Own }),
            ("Bytes Used" | "# Bytes Used" | "Bytes", "Count" | "# Count") => {
                Some(Self { second: Second::Count })
            }
            _ => None,
        }
    }
}

/// Reads a deep copy.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = text::read_whole(input)?;
    let mut builder = options.builder();
    let mut lines = text::lines(&bytes);
    let Some(columns) = lines.next().and_then(|line| InstrumentsColumns::of(&shown(line))) else {
        return Err(ReadError::malformed(0, "the columns of a call tree are missing"));
    };
    let mut metrics: Option<(MetricId, Option<MetricId>)> = None;
    let (mut outline, mut counts) = (Outline::default(), Outline::default());
    let mut thread: Option<ThreadId> = None;
    for line in lines.filter(|line| !line.is_empty()) {
        let text = shown(line);
        let Some(row) = row(&text) else {
            builder.warn("damaged-lines", || {
                format!(
                    "lines without cost and symbol were left out; the first is {}",
                    excerpt(line)
                )
            });
            continue;
        };
        let (cost_metric, count_metric) = *metrics.get_or_insert_with(|| {
            let cost = builder.metric(row.cost.metric());
            let count = (columns.second == Second::Count)
                .then(|| builder.metric(Metric::exact("allocations", Unit::Count)));
            (cost, count)
        });
        let inclusive = |builder: &mut ProfileBuilder, at, own: i64, metric| {
            if own > 0 {
                builder.add(at, thread, metric, own);
            }
        };
        if let Some(process) = process(row.symbol) {
            let (name, pid) = process;
            let name = builder.string(name);
            let unnamed = builder.string("");
            let ids = Thread { process: Some(name), pid: Some(pid), ..Thread::named(unnamed) };
            outline.close_to(&mut builder, 0, |b, at, own| inclusive(b, at, own, cost_metric));
            if let Some(metric) = count_metric {
                counts.close_to(&mut builder, 0, |b, at, own| inclusive(b, at, own, metric));
            }
            thread = Some(builder.thread(ids));
            continue;
        }
        let frame = module_frame(&mut builder, None, row.symbol, None, None);
        match count_metric {
            None => {
                let at = outline.enter(&mut builder, row.indent, frame);
                let own = if row.second == "-" { None } else { Cost::parse(row.second) };
                // Old versions leave the unit of the own time to the heading.
                let own =
                    own.map_or(
                        0,
                        |own| if own.unit.is_empty() { own.as_millis() } else { own.value() },
                    );
                if own > 0 {
                    builder.add(at, thread, cost_metric, own);
                }
            }
            Some(metric) => {
                let count = row.second.replace(',', "").parse().unwrap_or(0);
                let value = row.cost.value();
                outline.enter_inclusive(&mut builder, row.indent, frame, value, |b, at, own| {
                    inclusive(b, at, own, cost_metric);
                });
                counts.enter_inclusive(&mut builder, row.indent, frame, count, |b, at, own| {
                    inclusive(b, at, own, metric);
                });
            }
        }
    }
    if let Some((cost, Some(count))) = metrics {
        let mut add = |outline: &mut Outline, metric| {
            outline.close_to(&mut builder, 0, |builder, at, own| {
                if own > 0 {
                    builder.add(at, thread, metric, own);
                }
            });
        };
        add(&mut outline, cost);
        add(&mut counts, count);
    }
    builder.info.producer = Some("Instruments".to_owned());
    Ok(builder.finish())
}

struct InstrumentsRow<'a> {
    cost: Cost<'a>,
    second: &'a str,
    indent: usize,
    symbol: &'a str,
}

/// `4.93 s  100.0%\t0 s\t   start`.
fn row(line: &str) -> Option<InstrumentsRow<'_>> {
    let mut columns = line.split('\t');
    let first = columns.next()?;
    let second = columns.next()?.trim();
    let last = columns.next_back()?;
    let symbol = last.trim_start();
    let indent = last.len() - symbol.len();
    let cost = Cost::parse(first.trim())?;
    (!symbol.is_empty()).then(|| InstrumentsRow { cost, second, indent, symbol: symbol.trim_end() })
}

/// `example_app (40414)`: the line of a process.
fn process(symbol: &str) -> Option<(&str, u64)> {
    let (name, pid) = symbol.strip_suffix(')')?.rsplit_once(" (")?;
    Some((name, pid.parse().ok()?))
}

/// A number and its unit.
#[derive(Clone, Copy)]
struct Cost<'a> {
    number: f64,
    unit: &'a str,
}

impl<'a> Cost<'a> {
    /// `96.08 Gc  100.0%`, `4273.0ms   99.9%` or `429.93 MB     100.0%`.
    fn parse(text: &'a str) -> Option<Self> {
        let end =
            text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
        let number: f64 = text.get(..end)?.replace(',', "").parse().ok()?;
        let unit = text.get(end..)?.trim_start();
        let unit = unit.split(|c: char| c.is_whitespace() || c.is_ascii_digit()).next()?;
        Some(Self { number, unit }).filter(|cost| cost.number.is_finite())
    }

    /// Nanoseconds, bytes or cycles.
    fn value(self) -> i64 {
        let factor = match self.unit {
            "ns" => 1.0,
            "µs" | "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            "h" => 3600e9,
            "KB" => 1024.0,
            "MB" => 1024.0 * 1024.0,
            "GB" => 1024.0 * 1024.0 * 1024.0,
            "Kc" | "kc" => 1e3,
            "Mc" => 1e6,
            "Gc" => 1e9,
            _ => 1.0,
        };
        (self.number * factor).round().clamp(0.0, 9e18) as i64
    }

    fn as_millis(self) -> i64 {
        Self { unit: "ms", ..self }.value()
    }

    fn metric(self) -> Metric {
        match self.unit {
            "ns" | "µs" | "us" | "ms" | "s" | "min" | "h" => {
                Metric::sampled("cpu", Unit::Nanoseconds)
            }
            "KB" | "MB" | "GB" | "Bytes" | "bytes" | "B" => Metric::exact("allocated", Unit::Bytes),
            "c" | "Kc" | "kc" | "Mc" | "Gc" => Metric::sampled("cycles", Unit::Count),
            _ => Metric::sampled("samples", Unit::Count),
        }
    }
}
