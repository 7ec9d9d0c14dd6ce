//! From sections to runs. Every reference is checked: a checksum says that a file is as it was written, not that
//! its writer was right.

use hashbrown::HashMap;
use perfblame_cct::{
    Build, CallSite, Cct, Cells, Frame, FrameId, Function, FunctionId, Grain, Info, Layer, Measure,
    Metric, MetricId, NodeId, Run, RunSet, StringId, Symbols, Thread, ThreadId, TimedCall,
    TimedSample, Timeline, Unit, Warning, position,
};
use std::num::NonZeroU64;

use crate::columns::Columns;
use crate::error::FileError;
use crate::fields;
use crate::sections::{Section, Tag};
use crate::shapes;

/// Makes runs over one tree of all sections there are; a table that has no section is empty.
pub fn run_set(sections: &[Section]) -> Result<RunSet, FileError> {
    let index = sections.iter().map(|section| ((section.tag, section.run), section)).collect();
    let sections: &Sections = &index;
    let mut set = RunSet::default();
    let texts = with(sections, fields::STRINGS, 0, |columns| {
        let texts = columns.texts(fields::strings::TEXTS)?;
        Ok(texts.into_iter().map(|text| set.symbols.string(text)).collect())
    })?;
    let texts = Rows(texts.unwrap_or_default());
    let functions = with(sections, fields::FUNCTIONS, 0, |columns| {
        functions(columns, &texts, &mut set.symbols)
    })?;
    let functions = Rows(functions.unwrap_or_default());
    let frames = with(sections, fields::FRAMES, 0, |columns| {
        frames(columns, &texts, &functions, &mut set.symbols)
    })?;
    let frames = Rows(frames.unwrap_or_default());
    with(sections, fields::SHAPES, 0, |columns| shapes::decode(columns, &texts, &mut set.symbols))?;
    set.threads =
        with(sections, fields::THREADS, 0, |columns| threads(columns, &texts))?.unwrap_or_default();
    set.metrics = with(sections, fields::METRICS, 0, metrics)?.unwrap_or_default();
    set.tree =
        with(sections, fields::TREE, 0, |columns| tree(columns, &frames))?.unwrap_or_default();
    // Runs are numbered from 0 without gaps, so there are no more of them than sections.
    for number in 0.. {
        match run(sections, number, &set)? {
            Some(run) => set.runs.push(run),
            None => break,
        }
    }
    Ok(set)
}

fn run(sections: &Sections, number: u32, set: &RunSet) -> Result<Option<Run>, FileError> {
    let metrics = set.metrics.len();
    let Some(mut run) = with(sections, fields::INFO, number, |columns| info(columns, set))? else {
        return Ok(None);
    };
    let cells = with(sections, fields::CELLS, number, |columns| cells(columns, set))?;
    run.cells = cells.unwrap_or_else(|| Cells::from_columns(&[], &vec![Vec::new(); metrics]));
    run.timeline = with(sections, fields::TIMELINE, number, |columns| timeline(columns, set))?;
    Ok(Some(run))
}

/// Sections by what they hold and whose they are.
type Sections<'a> = HashMap<(Tag, u32), &'a Section>;

fn with<T>(
    sections: &Sections,
    tag: Tag,
    run: u32,
    decode: impl FnOnce(&Columns) -> Result<T, FileError>,
) -> Result<Option<T>, FileError> {
    sections.get(&(tag, run)).map(|section| decode(&Columns::of(section)?)).transpose()
}

/// The ids of a table's rows. Equal rows have one id, so it is not always the row.
pub struct Rows<Id>(Vec<Id>);

impl<Id: Copy> Rows<Id> {
    pub fn get(&self, row: u64, columns: &Columns) -> Result<Id, FileError> {
        let id = usize::try_from(row).ok().and_then(|row| self.0.get(row));
        id.copied().ok_or_else(|| columns.malformed("a row refers to a row that does not exist"))
    }

    /// 0 is none.
    fn optional(&self, number: u64, columns: &Columns) -> Result<Option<Id>, FileError> {
        number.checked_sub(1).map(|row| self.get(row, columns)).transpose()
    }
}

/// A row below `end`.
fn below(row: u64, end: usize, columns: &Columns) -> Result<usize, FileError> {
    match usize::try_from(row) {
        Ok(row) if row < end => Ok(row),
        _ => Err(columns.malformed("a row refers to a row that does not exist")),
    }
}

fn thread_below(
    number: u64,
    threads: usize,
    columns: &Columns,
) -> Result<Option<ThreadId>, FileError> {
    let row = number.checked_sub(1).map(|row| below(row, threads, columns)).transpose()?;
    Ok(row.map(ThreadId::new))
}

fn info(columns: &Columns, set: &RunSet) -> Result<Run, FileError> {
    use fields::info as f;
    let owned = |field| columns.text(field).map(|text| text.map(str::to_owned));
    let texts = |fields| -> Result<Vec<String>, FileError> {
        Ok(columns.texts(fields)?.into_iter().map(str::to_owned).collect())
    };
    let info = Info {
        format: owned(f::FORMAT)?.unwrap_or_default(),
        producer: owned(f::PRODUCER)?,
        command: owned(f::COMMAND)?,
        duration: columns.number(f::DURATION)?,
        started: columns.number(f::STARTED)?,
        labels: texts(f::LABEL_KEYS)?.into_iter().zip(texts(f::LABEL_VALUES)?).collect(),
    };
    let codes = texts(f::WARNING_CODES)?;
    let counts = columns.numbers(f::WARNING_COUNTS, codes.len())?;
    let warnings = codes.into_iter().zip(texts(f::WARNING_MESSAGES)?).zip(counts);
    let periods = if columns.rows(f::HAS_PERIOD) == 0 {
        set.metrics.iter().map(|metric| metric.period).collect()
    } else {
        let metrics = set.metrics.len();
        let known = columns.numbers(f::HAS_PERIOD, metrics)?.into_iter();
        let period = columns.signed(f::PERIOD, metrics)?;
        known.zip(period).map(|(known, period)| (known != 0).then_some(period)).collect()
    };
    Ok(Run {
        info,
        cells: Cells::default(),
        samples: columns.number(f::SAMPLES)?.unwrap_or(0) as u64,
        periods,
        timeline: None,
        warnings: warnings
            .map(|((code, message), count)| Warning { code, message, count })
            .collect(),
    })
}

fn functions(
    columns: &Columns,
    texts: &Rows<StringId>,
    symbols: &mut Symbols,
) -> Result<Vec<FunctionId>, FileError> {
    use fields::functions as f;
    let rows = columns.rows(f::NAME);
    let [name, component, signature, file, line, column, layer] =
        [f::NAME, f::COMPONENT, f::SIGNATURE, f::FILE, f::LINE, f::COLUMN, f::LAYER]
            .map(|field| columns.numbers(field, rows));
    let (name, component, signature, file) = (name?, component?, signature?, file?);
    let (line, column, layer) = (line?, column?, layer?);
    let (package, build_id) =
        (columns.numbers(f::PACKAGE, rows)?, columns.numbers(f::BUILD_ID, rows)?);
    let mut ids = Vec::with_capacity(rows);
    for row in 0..rows {
        ids.push(symbols.intern_function(Function {
            name: texts.get(name[row], columns)?,
            component: texts.optional(component[row], columns)?,
            signature: texts.optional(signature[row], columns)?,
            file: texts.optional(file[row], columns)?,
            line: position(line[row]),
            column: position(column[row]),
            layer: layer_of(layer[row], columns)?,
        }));
        let package = texts.optional(package[row], columns)?;
        let id = texts.optional(build_id[row], columns)?;
        if let Some(component) = texts.optional(component[row], columns)? {
            symbols.set_build(component, Build { package, id });
        }
    }
    Ok(ids)
}

fn layer_of(number: u64, columns: &Columns) -> Result<Layer, FileError> {
    let layer = usize::try_from(number).ok().and_then(|row| Layer::ALL.get(row));
    layer.copied().ok_or_else(|| columns.malformed("an unknown layer"))
}

fn frames(
    columns: &Columns,
    texts: &Rows<StringId>,
    functions: &Rows<FunctionId>,
    symbols: &mut Symbols,
) -> Result<Vec<FrameId>, FileError> {
    use fields::frames as f;
    let rows = columns.rows(f::FUNCTION);
    let numbers = |field| columns.numbers(field, rows);
    let function = numbers(f::FUNCTION)?;
    let (file, line, column) = (numbers(f::FILE)?, numbers(f::LINE)?, numbers(f::COLUMN)?);
    let (bytecode, address) = (numbers(f::BYTECODE)?, numbers(f::ADDRESS)?);
    let (inlined, site_kind) = (numbers(f::INLINED)?, numbers(f::SITE_KIND)?);
    let (site, site_column) = (numbers(f::SITE)?, numbers(f::SITE_COLUMN)?);
    let mut ids = Vec::with_capacity(rows);
    for row in 0..rows {
        let bytecode = match bytecode[row].checked_sub(1).map(u32::try_from) {
            Some(Err(_)) => return Err(columns.malformed("a bytecode index beyond 32 bits")),
            other => other.and_then(Result::ok),
        };
        ids.push(symbols.intern_frame(Frame {
            function: functions.get(function[row], columns)?,
            file: texts.optional(file[row], columns)?,
            line: position(line[row]),
            column: position(column[row]),
            bytecode,
            address: NonZeroU64::new(address[row]),
            inlined: inlined[row] != 0,
            call_site: call_site(site_kind[row], site[row], site_column[row], columns)?,
        }));
    }
    Ok(ids)
}

fn call_site(
    kind: u64,
    site: u64,
    column: u64,
    columns: &Columns,
) -> Result<Option<CallSite>, FileError> {
    use fields::frames as f;
    let site = match kind {
        f::NO_SITE => return Ok(None),
        f::SITE_LINE => position(site).map(|line| CallSite::Line(line, position(column))),
        f::SITE_BYTECODE => u32::try_from(site).ok().map(CallSite::Bytecode),
        f::SITE_ADDRESS => NonZeroU64::new(site).map(CallSite::Address),
        _ => None,
    };
    site.map(Some).ok_or_else(|| columns.malformed("an impossible call site"))
}

fn threads(columns: &Columns, texts: &Rows<StringId>) -> Result<Vec<Thread>, FileError> {
    use fields::threads as f;
    let rows = columns.rows(f::NAME);
    let numbers = |field| columns.numbers(field, rows);
    let (name, process, group) = (numbers(f::NAME)?, numbers(f::PROCESS)?, numbers(f::GROUP)?);
    let (known, pid, tid) = (numbers(f::KNOWN)?, numbers(f::PID)?, numbers(f::TID)?);
    let thread = |row: usize| {
        Ok(Thread {
            name: texts.get(name[row], columns)?,
            process: texts.optional(process[row], columns)?,
            pid: (known[row] & f::PID_KNOWN != 0).then_some(pid[row]),
            tid: (known[row] & f::TID_KNOWN != 0).then_some(tid[row]),
            group: texts.optional(group[row], columns)?,
        })
    };
    (0..rows).map(thread).collect()
}

fn metrics(columns: &Columns) -> Result<Vec<Metric>, FileError> {
    use fields::metrics as f;
    let names = columns.texts(f::NAMES)?;
    let rows = names.len();
    let units = columns.texts(f::UNITS)?;
    let (exact, has_period) =
        (columns.numbers(f::EXACT, rows)?, columns.numbers(f::HAS_PERIOD, rows)?);
    let (period, decimals) =
        (columns.signed(f::PERIOD, rows)?, columns.numbers(f::DECIMALS, rows)?);
    let metric = |(row, name): (usize, &str)| Metric {
        name: name.to_owned(),
        unit: units.get(row).map_or(Unit::Count, |unit| Unit::from_name(unit)),
        measure: if exact[row] == 0 { Measure::Sampled } else { Measure::Exact },
        period: (has_period[row] != 0).then_some(period[row]),
        decimals: u8::try_from(decimals[row]).unwrap_or(u8::MAX),
    };
    Ok(names.into_iter().enumerate().map(metric).collect())
}

fn tree(columns: &Columns, frames: &Rows<FrameId>) -> Result<Cct, FileError> {
    use fields::tree as f;
    let grain = match columns.number(f::GRAIN)? {
        None | Some(0) => Grain::Functions,
        Some(1) => Grain::CallSites,
        Some(2) => Grain::Frames,
        Some(_) => return Err(columns.malformed("an unknown grain")),
    };
    let rows = columns.rows(f::FRAME);
    let closed = columns.numbers(f::CLOSED, rows)?;
    let mut parent = Vec::with_capacity(rows);
    let mut open: Vec<NodeId> = Vec::new();
    for (row, closed) in closed.into_iter().enumerate() {
        let left = usize::try_from(closed).ok().and_then(|closed| open.len().checked_sub(closed));
        let left = left.ok_or_else(|| columns.malformed("more nodes end than began"))?;
        open.truncate(left);
        parent.push(open.last().copied());
        open.push(NodeId::new(row));
    }
    let frame = columns.numbers(f::FRAME, rows)?;
    let frame = frame.into_iter().map(|row| frames.get(row, columns));
    Ok(Cct::from_preorder(grain, parent, frame.collect::<Result<_, _>>()?))
}

fn cells(columns: &Columns, set: &RunSet) -> Result<Cells, FileError> {
    use fields::cells as f;
    let rows = columns.rows(f::NODE);
    let node = columns.numbers(f::NODE, rows)?;
    let thread = columns.numbers(f::THREAD, rows)?;
    let mut keys = Vec::with_capacity(rows);
    for (node, thread) in node.into_iter().zip(thread) {
        let node = NodeId::new(below(node, set.tree.len(), columns)?);
        keys.push((node, thread_below(thread, set.threads.len(), columns)?));
    }
    let values = (f::VALUES..).take(set.metrics.len());
    let values: Vec<_> =
        values.map(|field| columns.signed(field, rows)).collect::<Result<_, _>>()?;
    Ok(Cells::from_columns(&keys, &values))
}

fn timeline(columns: &Columns, set: &RunSet) -> Result<Timeline, FileError> {
    use fields::timeline as f;
    let (nodes, threads) = (set.tree.len(), set.threads.len());
    let mut timeline = Timeline::default();
    let rows = columns.rows(f::SAMPLE_TIME);
    let (time, value) =
        (columns.signed(f::SAMPLE_TIME, rows)?, columns.signed(f::SAMPLE_VALUE, rows)?);
    let [thread, node, metric] = [f::SAMPLE_THREAD, f::SAMPLE_NODE, f::SAMPLE_METRIC]
        .map(|field| columns.numbers(field, rows));
    let (thread, node, metric) = (thread?, node?, metric?);
    for row in 0..rows {
        timeline.samples.push(TimedSample {
            time: time[row],
            thread: thread_below(thread[row], threads, columns)?,
            node: NodeId::new(below(node[row], nodes, columns)?),
            metric: MetricId::new(below(metric[row], set.metrics.len(), columns)?),
            value: value[row],
        });
    }
    let rows = columns.rows(f::CALL_START);
    let (start, duration) =
        (columns.signed(f::CALL_START, rows)?, columns.signed(f::CALL_DURATION, rows)?);
    let (thread, node) =
        (columns.numbers(f::CALL_THREAD, rows)?, columns.numbers(f::CALL_NODE, rows)?);
    for row in 0..rows {
        timeline.calls.push(TimedCall {
            start: start[row],
            end: start[row].wrapping_add(duration[row]),
            thread: thread_below(thread[row], threads, columns)?,
            node: NodeId::new(below(node[row], nodes, columns)?),
        });
    }
    Ok(timeline)
}
