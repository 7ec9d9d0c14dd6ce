//! GHC's cost centre profiles: the table of `+RTS -p` and `-P`, and the JSON of `-pj`.
//!
//! The table gives shares in tenths of a percent; only `-P` adds ticks and bytes. Where it did not, they are made from
//! the shares and the totals at the top.

use hashbrown::HashMap;
use perfblame_cct::{
    Cursor, Frame, FrameId, Function, Metric, MetricId, Profile, ProfileBuilder, Unit, position,
};

use crate::building::outline::Outline;
use crate::encodings::json;
use crate::encodings::text::{self, excerpt, shown};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format =
    Format { name: "ghc", producers: "GHC: +RTS -p, -P, -pj", sniff, read, tracer: None };

/// True for GHC's table or JSON.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    is_json(&head)
        || text::lines(&head)
            .take(3)
            .any(|line| shown(line).contains("Time and Allocation Profiling Report"))
}

fn is_json(head: &[u8]) -> bool {
    if !head.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    let keys = json::top_level_keys(head);
    ["total_ticks", "tick_interval", "cost_centres"].iter().all(|key| keys.iter().any(|k| k == key))
}

struct GhcMetrics {
    cpu: MetricId,
    allocated: MetricId,
    calls: MetricId,
    /// Nanoseconds.
    tick: i64,
}

impl GhcMetrics {
    fn new(builder: &mut ProfileBuilder, tick: i64) -> Self {
        let cpu = Metric::sampled("cpu", Unit::Nanoseconds).with_period(tick);
        Self {
            cpu: builder.metric(cpu),
            allocated: builder.metric(Metric::exact("allocated", Unit::Bytes)),
            calls: builder.metric(Metric::exact("calls", Unit::Count)),
            tick,
        }
    }

    fn add(&self, builder: &mut ProfileBuilder, at: Cursor, ticks: i64, bytes: i64, entries: i64) {
        for (metric, value) in [
            (self.cpu, ticks.saturating_mul(self.tick)),
            (self.allocated, bytes),
            (self.calls, entries),
        ] {
            if value > 0 {
                builder.add(at, None, metric, value);
            }
        }
        builder.count_samples(u64::try_from(ticks).unwrap_or(0));
    }
}

/// Reads a cost centre profile.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = text::read_whole(input)?;
    let mut builder = options.builder();
    builder.info.producer = Some("GHC".to_owned());
    if is_json(&bytes) {
        read_json(&bytes, &mut builder)?;
    } else {
        read_table(&bytes, &mut builder)?;
    }
    Ok(builder.finish())
}

fn frame(builder: &mut ProfileBuilder, name: &str, module: &str, place: &str) -> FrameId {
    let name = builder.string(name);
    let component = Some(builder.string(module));
    // `Foo.hs:133:11-53` or `Foo.hs:(57,1)-(118,43)`; `<built-in>` and `<entire-module>` are no places.
    let (file, line) = match place.split_once(".hs:") {
        Some((stem, rest)) => {
            let digits = rest.trim_start_matches('(').split(|c: char| !c.is_ascii_digit()).next();
            (Some(format!("{stem}.hs")), digits.and_then(|digits| digits.parse().ok()))
        }
        None => (None, None),
    };
    let file = file.map(|file| builder.string(&file));
    let line = line.and_then(position);
    let function = builder.function(Function { component, file, line, ..Function::named(name) });
    builder.frame(Frame::of(function))
}

struct Totals {
    ticks: i64,
    bytes: i64,
    tick: i64,
}

fn read_table(bytes: &[u8], builder: &mut ProfileBuilder) -> Result<(), ReadError> {
    let mut totals = Totals { ticks: 0, bytes: 0, tick: 1_000_000 };
    let mut lines = text::lines(bytes);
    let mut counted = None;
    let mut above = String::new();
    for line in lines.by_ref() {
        let text = shown(line);
        let first = text.trim();
        if first.starts_with("total time") {
            totals.ticks = number_before(first, " ticks").unwrap_or(0);
            let micros = number_before(first, " us").unwrap_or(1000);
            totals.tick = micros.saturating_mul(1000).max(1);
        } else if first.starts_with("total alloc") {
            totals.bytes = number_before(first, " bytes").unwrap_or(0);
        } else if first.contains(" +RTS ") || first.ends_with("-RTS") {
            builder.info.command = Some(first.to_owned());
        }
        // Two tables have this heading; that of the tree is below `individual      inherited`.
        if text.starts_with("COST CENTRE") && above.contains("individual") {
            counted = Some(first.ends_with("bytes"));
            break;
        }
        if !first.is_empty() {
            first.clone_into(&mut above);
        }
    }
    let Some(counted) = counted else {
        return Err(ReadError::malformed(
            bytes.len() as u64,
            "the table of cost centres is missing",
        ));
    };
    let metrics = GhcMetrics::new(builder, totals.tick);
    let mut outline = Outline::default();
    for line in lines {
        let text = shown(line);
        if text.trim().is_empty() {
            continue;
        }
        let Some(row) = row(&text, counted, &totals) else {
            builder.warn("damaged-lines", || {
                format!("lines with missing columns were left out; the first is {}", excerpt(line))
            });
            continue;
        };
        let indent = text.len() - text.trim_start().len();
        let frame = frame(builder, row.name, row.module, row.place);
        let at = outline.enter(builder, indent, frame);
        metrics.add(builder, at, row.ticks, row.bytes, row.entries);
    }
    Ok(())
}

/// The number in front of a word, without the commas of thousands.
fn number_before(text: &str, word: &str) -> Option<i64> {
    let front = text.split(word).next().filter(|front| front.len() < text.len())?;
    let digits = front.rsplit(|c: char| !c.is_ascii_digit() && c != ',').next()?;
    digits.replace(',', "").parse().ok()
}

struct CostCentreRow<'a> {
    name: &'a str,
    module: &'a str,
    place: &'a str,
    entries: i64,
    ticks: i64,
    bytes: i64,
}

/// Name, module, place, number, entries, four shares, and perhaps ticks and bytes. Places contain blanks
/// (`<no location info>`), so the columns are found from both ends.
fn row<'a>(line: &'a str, counted: bool, totals: &Totals) -> Option<CostCentreRow<'a>> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let (mut ticks, mut bytes) = (None, None);
    if counted {
        bytes = words.pop()?.parse::<i64>().ok();
        ticks = words.pop()?.parse::<i64>().ok();
        bytes?;
        ticks?;
    }
    let mut share = || words.pop()?.parse::<f64>().ok();
    let (_, _) = (share()?, share()?);
    let (alloc, time) = (share()?, share()?);
    let entries = words.pop()?.parse().ok()?;
    let _number: u64 = words.pop()?.parse().ok()?;
    let mut words = words.into_iter();
    let (name, module) = (words.next()?, words.next()?);
    // Old versions have no place.
    let place = words.next().unwrap_or("");
    let part = |share: f64, of: i64| (share / 100.0 * of as f64).round().clamp(0.0, 9e18) as i64;
    Some(CostCentreRow {
        name,
        module,
        place,
        entries,
        ticks: ticks.unwrap_or_else(|| part(time, totals.ticks)),
        bytes: bytes.unwrap_or_else(|| part(alloc, totals.bytes)),
    })
}

fn read_json(bytes: &[u8], builder: &mut ProfileBuilder) -> Result<(), ReadError> {
    let document = json::parse(bytes)?;
    let root = document.root();
    let text = |key: &str| root.get(key).and_then(json::JsonValue::as_str);
    builder.info.command = text("program").map(str::to_owned);
    let micros = root.get("tick_interval").and_then(json::JsonValue::as_i64).unwrap_or(1000);
    let metrics = GhcMetrics::new(builder, micros.saturating_mul(1000).max(1));
    let mut frames: HashMap<u64, FrameId> = HashMap::new();
    for centre in root.get("cost_centres").into_iter().flat_map(json::JsonValue::elements) {
        let word = |key: &str| centre.get(key).and_then(json::JsonValue::as_str).unwrap_or("");
        let Some(id) = centre.get("id").and_then(json::JsonValue::as_u64) else { continue };
        let frame = frame(builder, word("label"), word("module"), word("src_loc"));
        frames.insert(id, frame);
    }
    let mut todo: Vec<(json::JsonValue<'_>, Option<Cursor>)> = Vec::new();
    todo.extend(root.get("profile").map(|profile| (profile, None)));
    while let Some((node, parent)) = todo.pop() {
        let number = |key: &str| node.get(key).and_then(json::JsonValue::as_i64).unwrap_or(0);
        let frame = node.get("id").and_then(json::JsonValue::as_u64).and_then(|id| frames.get(&id));
        let at = match (frame, parent) {
            (Some(frame), Some(parent)) => Some(builder.child(parent, *frame)),
            (Some(frame), None) => Some(builder.root(*frame)),
            (None, _) => {
                builder.warn("damaged-records", || {
                    "contexts of an unknown cost centre count for their caller".to_owned()
                });
                parent
            }
        };
        if let Some(at) = at {
            metrics.add(builder, at, number("ticks"), number("alloc"), number("entries"));
        }
        let first = todo.len();
        let children = node.get("children").into_iter().flat_map(json::JsonValue::elements);
        todo.extend(children.map(|child| (child, at)));
        if let Some(added) = todo.get_mut(first..) {
            added.reverse();
        }
    }
    Ok(())
}
