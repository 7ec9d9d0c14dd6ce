//! One thread: its tables, its samples and what they weigh.

use perfblame_cct::{Metric, ProfileBuilder, Thread, ThreadId, Unit};

use super::frames::{FirefoxTables, Places, View};
use super::meta::{self, CpuUnit};
use super::strings;
use super::table::FirefoxTable;
use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number};

const STACKS: &[&str] = &["frame", "prefix"];
const FRAMES: &[&str] =
    &["func", "location", "line", "column", "address", "category", "inlineDepth"];
const FUNCTIONS: &[&str] =
    &["name", "resource", "fileName", "source", "lineNumber", "columnNumber", "isJS"];
const RESOURCES: &[&str] = &["lib", "name", "type"];
const SAMPLES: &[&str] = &["stack", "time", "timeDeltas", "weight", "threadCPUDelta"];
const ALLOCATIONS: &[&str] = &["stack", "time", "weight"];

impl<'a> FirefoxTables<'a> {
    /// Takes the value of `key` when it is one of the tables; false when it is not.
    pub fn take(&mut self, key: &str, cursor: Cursor<'a>) -> bool {
        match key {
            "stringTable" | "stringArray" => self.strings = Some(strings(cursor)),
            "stackTable" => self.stacks = Some(FirefoxTable::read(cursor, STACKS)),
            "frameTable" => self.frames = Some(FirefoxTable::read(cursor, FRAMES)),
            "funcTable" => self.functions = Some(FirefoxTable::read(cursor, FUNCTIONS)),
            "resourceTable" => self.resources = Some(FirefoxTable::read(cursor, RESOURCES)),
            "sources" => self.sources = Some(FirefoxTable::read(cursor, &["filename"])),
            _ => return false,
        }
        true
    }
}

/// A thread as the file has it.
#[derive(Debug, Default)]
pub struct RawThread<'a> {
    /// Its own tables.
    pub tables: FirefoxTables<'a>,
    /// Where its libraries are listed, in older files.
    pub libs: Option<Cursor<'a>>,
    name: String,
    process: Option<String>,
    process_type: Option<String>,
    pid: Option<u64>,
    tid: Option<u64>,
    samples: FirefoxTable<'a>,
    js_allocations: Option<FirefoxTable<'a>>,
    native_allocations: Option<FirefoxTable<'a>>,
    paused: Vec<(i64, i64)>,
}

/// What the clock of a thread needs to know of its process.
#[derive(Clone, Debug, Default)]
pub struct FirefoxClock {
    /// What to add to its times, in nanoseconds, to be on the clock of the whole profile.
    pub offset: i64,
    /// When the profiler was paused, in order.
    pub paused: Vec<(i64, i64)>,
}

impl<'a> RawThread<'a> {
    /// Reads a thread as far as it goes.
    pub fn read(cursor: Cursor<'a>) -> (Self, Option<JsonFault>) {
        let mut thread = Self::default();
        let fault = thread.fill(cursor).err();
        (thread, fault)
    }

    fn fill(&mut self, mut cursor: Cursor<'a>) -> Result<(), JsonFault> {
        if cursor.peek()? != JsonKind::Object {
            return Ok(());
        }
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            let value = cursor;
            match &*key {
                "name" => self.name = cursor.lenient_string()?.unwrap_or_default().into(),
                "processName" => self.process = cursor.lenient_string()?.map(Into::into),
                "processType" => self.process_type = cursor.lenient_string()?.map(Into::into),
                "pid" => self.pid = meta::id(&mut cursor)?,
                "tid" => self.tid = meta::id(&mut cursor)?,
                key => {
                    match key {
                        "samples" => self.samples = FirefoxTable::read(value, SAMPLES),
                        "jsAllocations" => {
                            self.js_allocations = Some(FirefoxTable::read(value, ALLOCATIONS));
                        }
                        "nativeAllocations" => {
                            self.native_allocations = Some(FirefoxTable::read(value, ALLOCATIONS));
                        }
                        "libs" => self.libs = Some(value),
                        "pausedRanges" => self.paused = paused(value),
                        _ => {
                            self.tables.take(key, value);
                        }
                    }
                    cursor.skip_value()?;
                }
            }
        }
        Ok(())
    }

    /// Hands over what broke off while its tables were read.
    pub fn take_faults(&mut self, faults: &mut Vec<JsonFault>) {
        let tables = &mut self.tables;
        let optional = [
            &mut tables.stacks,
            &mut tables.frames,
            &mut tables.functions,
            &mut tables.resources,
            &mut self.js_allocations,
            &mut self.native_allocations,
        ];
        faults.extend(optional.into_iter().flatten().filter_map(|table| table.fault.take()));
        faults.extend(self.samples.fault.take());
    }

    /// Adds the thread's samples to the profile. `shared` are the places of the tables that threads share.
    pub fn add(
        &self,
        view: View,
        shared: &mut Places,
        clock: &FirefoxClock,
        builder: &mut ProfileBuilder,
    ) {
        let name = builder.string(&self.name);
        let process_type = self.process_type.as_deref().filter(|kind| *kind != "default");
        let process = self.process.as_deref().or(process_type);
        let process = process.filter(|name| !name.is_empty()).map(|name| builder.string(name));
        let thread = Thread { name, process, pid: self.pid, tid: self.tid, group: None };
        let thread = Some(builder.thread(thread));
        let mut own = Places::default();
        let places = if view.has_own_stacks() { &mut own } else { shared };
        places.fill(view, builder);
        let paused = if self.paused.is_empty() { &clock.paused } else { &self.paused };
        self.add_samples(
            places,
            view,
            &FirefoxClock { paused: paused.clone(), ..*clock },
            thread,
            builder,
        );
        for (table, allocated, freed) in [
            (&self.js_allocations, "allocated", "freed"),
            (&self.native_allocations, "native-allocated", "native-freed"),
        ] {
            if let Some(table) = table {
                add_allocations(table, [allocated, freed], places, clock, thread, builder);
            }
        }
    }

    fn add_samples(
        &self,
        places: &Places,
        view: View,
        clock: &FirefoxClock,
        thread: Option<ThreadId>,
        builder: &mut ProfileBuilder,
    ) {
        let samples = &self.samples;
        let rows = samples.len();
        let interval = view.meta.interval.filter(|interval| *interval > 0);
        let in_nanoseconds = |metric: Metric| Metric { period: interval, ..metric };
        let count = builder.metric(Metric::sampled("samples", Unit::Count));
        let kind = samples.weight_type.as_deref().unwrap_or("samples");
        let weighted = match kind {
            "tracing-ms" => Some((builder.metric(Metric::exact("wall", Unit::Nanoseconds)), 6)),
            "bytes" => Some((builder.metric(Metric::sampled("bytes", Unit::Bytes)), 0)),
            _ => None,
        };
        let wall = match weighted {
            Some((metric, _)) => metric,
            None => builder.metric(in_nanoseconds(Metric::sampled("wall", Unit::Nanoseconds))),
        };
        let cpu_column = samples.column("threadCPUDelta");
        let cpu = cpu_column.iter().any(Option::is_some).then(|| {
            builder.metric(match view.meta.cpu_unit {
                CpuUnit::Cycles => Metric::sampled("cpu-cycles", Unit::Other("cycles".to_owned())),
                _ => Metric::sampled("cpu", Unit::Nanoseconds),
            })
        });
        let cpu_scale = if view.meta.cpu_unit == CpuUnit::Microseconds { 3 } else { 0 };
        let times = times(samples);
        let durations = durations(&times, clock, interval.unwrap_or(0), builder);
        for row in 0..rows {
            builder.count_samples(1);
            let Some(at) = samples.row("stack", row).and_then(|stack| places.stack(stack)) else {
                builder.warn("empty-stacks", || {
                    "samples without a stack are counted but have no place in the tree".to_owned()
                });
                continue;
            };
            let weight = samples.column("weight").get(row).copied().flatten();
            let scaled = |scale| weight.and_then(|weight: Number| weight.scaled(scale));
            let value = if let Some((metric, scale)) = weighted {
                let value = scaled(scale).unwrap_or(0);
                builder.add(at, thread, metric, value);
                builder.add(at, thread, count, 1);
                value
            } else {
                builder.add(at, thread, count, scaled(0).unwrap_or(1));
                let value = durations.get(row).copied().unwrap_or(0);
                builder.add(at, thread, wall, value);
                value
            };
            if let (Some(cpu), Some(Some(spent))) = (cpu, cpu_column.get(row)) {
                builder.add(at, thread, cpu, spent.scaled(cpu_scale).unwrap_or(0));
            }
            if let Some(Some(time)) = times.get(row) {
                let time = time.saturating_add(clock.offset);
                builder.time_sample(time, at, thread, wall, value);
            }
        }
    }
}

/// When each sample was taken, in nanoseconds: newer files may store what passed since the one before instead.
fn times(samples: &FirefoxTable) -> Vec<Option<i64>> {
    let scaled = |time: &Option<Number>| time.and_then(|time| time.scaled(6));
    let times = samples.column("time");
    if !times.is_empty() {
        return times.iter().map(scaled).collect();
    }
    let mut now = 0i64;
    let deltas = samples.column("timeDeltas").iter();
    let sum = deltas.map(|delta| {
        now = now.saturating_add(scaled(delta).unwrap_or(0));
        Some(now)
    });
    sum.collect()
}

/// What each sample stands for: the time to the next one of its thread, without what the profiler was paused. The last
/// stands for an interval, as nobody knows better.
fn durations(
    times: &[Option<i64>],
    clock: &FirefoxClock,
    interval: i64,
    builder: &mut ProfileBuilder,
) -> Vec<i64> {
    let mut durations = vec![interval; times.len()];
    let mut paused = clock.paused.iter().peekable();
    let mut last: Option<(usize, i64)> = None;
    for (row, time) in times.iter().enumerate() {
        let Some(time) = *time else { continue };
        if let Some((before, start)) = last {
            let mut spent = time.saturating_sub(start);
            if spent < 0 {
                builder
                    .warn("times-go-back", || "samples out of order count as zero time".to_owned());
            }
            while let Some((from, to)) = paused.peek() {
                let overlap = time.min(*to).saturating_sub(start.max(*from)).max(0);
                spent = spent.saturating_sub(overlap);
                if *to > time {
                    break;
                }
                paused.next();
            }
            durations[before] = spent.max(0);
        }
        last = Some((row, time));
    }
    durations
}

/// `[{"startTime": …, "endTime": …, "reason": …}, …]`, in milliseconds.
pub fn paused(cursor: Cursor) -> Vec<(i64, i64)> {
    let mut ranges = Vec::new();
    // What a fault leaves out makes a duration longer, no more.
    let _ = fill_paused(cursor, &mut ranges);
    ranges.sort_unstable();
    ranges
}

fn fill_paused(mut cursor: Cursor, ranges: &mut Vec<(i64, i64)>) -> Result<(), JsonFault> {
    cursor.begin_array()?;
    while cursor.next_element()? {
        if cursor.peek()? != JsonKind::Object {
            cursor.skip_value()?;
            continue;
        }
        cursor.begin_object()?;
        let (mut start, mut end) = (None, None);
        while let Some(key) = cursor.next_key()? {
            match &*key {
                "startTime" => start = meta::milliseconds(&mut cursor)?,
                "endTime" => end = meta::milliseconds(&mut cursor)?,
                _ => cursor.skip_value()?,
            }
        }
        if let (Some(start), Some(end)) = (start, end) {
            ranges.push((start, end));
        }
    }
    Ok(())
}

fn add_allocations(
    table: &FirefoxTable,
    names: [&str; 2],
    places: &Places,
    clock: &FirefoxClock,
    thread: Option<ThreadId>,
    builder: &mut ProfileBuilder,
) {
    for row in 0..table.len() {
        let at = table.row("stack", row).and_then(|stack| places.stack(stack));
        let weight = table.column("weight").get(row).copied().flatten();
        let (Some(at), Some(bytes)) = (at, weight.and_then(|weight| weight.scaled(0))) else {
            builder.warn("empty-allocations", || {
                "allocations without a stack or a size were left out".to_owned()
            });
            continue;
        };
        let name = names[usize::from(bytes < 0)];
        let metric = builder.metric(Metric::sampled(name, Unit::Bytes));
        builder.add(at, thread, metric, bytes.saturating_abs());
        if let Some(Some(time)) = table.column("time").get(row)
            && let Some(time) = time.scaled(6)
        {
            let time = time.saturating_add(clock.offset);
            builder.time_sample(time, at, thread, metric, bytes.saturating_abs());
        }
    }
}
