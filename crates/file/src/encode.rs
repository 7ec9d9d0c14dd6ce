//! From a profile to sections.

use perfblame_cct::{
    Build, CallSite, Cct, Cells, Function, Grain, Info, Layer, Measure, Metric, MetricId, StringId,
    Symbols, Thread, ThreadId, Timeline, Warning,
};
use std::num::NonZeroU32;

use crate::columns::ColumnWriter;
use crate::fields;

/// Id + 1, and 0 for none.
fn optional(id: Option<usize>) -> u64 {
    id.map_or(0, |row| row as u64 + 1)
}

fn text_id(id: Option<StringId>) -> u64 {
    optional(id.map(StringId::index))
}

fn thread_id(id: Option<ThreadId>) -> u64 {
    optional(id.map(ThreadId::index))
}

fn position(number: Option<NonZeroU32>) -> u64 {
    number.map_or(0, |number| u64::from(number.get()))
}

/// What one run says about itself. Its periods are those of the metrics where there are none.
pub fn info(info: &Info, samples: u64, warnings: &[Warning], periods: &[Option<i64>]) -> Vec<u8> {
    use fields::info as f;
    let mut out = ColumnWriter::default();
    out.numbers(f::SAMPLES, [samples]);
    out.bytes(f::FORMAT, info.format.as_bytes());
    for (field, text) in [(f::PRODUCER, &info.producer), (f::COMMAND, &info.command)] {
        if let Some(text) = text {
            out.bytes(field, text.as_bytes());
        }
    }
    for (field, number) in [(f::DURATION, info.duration), (f::STARTED, info.started)] {
        if let Some(number) = number {
            out.signed(field, [number]);
        }
    }
    out.texts(f::LABEL_KEYS, info.labels.iter().map(|(key, _)| key.as_str()));
    out.texts(f::LABEL_VALUES, info.labels.iter().map(|(_, value)| value.as_str()));
    out.texts(f::WARNING_CODES, warnings.iter().map(|warning| warning.code.as_str()));
    out.texts(f::WARNING_MESSAGES, warnings.iter().map(|warning| warning.message.as_str()));
    out.numbers(f::WARNING_COUNTS, warnings.iter().map(|warning| warning.count));
    if !periods.is_empty() {
        out.numbers(f::HAS_PERIOD, periods.iter().map(|period| u64::from(period.is_some())));
        out.signed(f::PERIOD, periods.iter().map(|period| period.unwrap_or(0)));
    }
    out.finish()
}

pub fn strings(symbols: &Symbols) -> Vec<u8> {
    let mut out = ColumnWriter::default();
    let texts = (0..symbols.strings.len()).map(|row| symbols.text(StringId::new(row)));
    out.texts(fields::strings::TEXTS, texts);
    out.finish()
}

pub fn functions(symbols: &Symbols) -> Vec<u8> {
    use fields::functions as f;
    let mut out = ColumnWriter::default();
    let rows = || symbols.functions().map(|(_, function)| function);
    // Readers intern names in the order in which functions come, so names mostly count up.
    out.deltas(f::NAME, rows().map(|function| function.name.index() as i64));
    out.numbers(f::COMPONENT, rows().map(|function| text_id(function.component)));
    out.numbers(f::SIGNATURE, rows().map(|function| text_id(function.signature)));
    out.numbers(f::FILE, rows().map(|function| text_id(function.file)));
    out.numbers(f::LINE, rows().map(|function| position(function.line)));
    out.numbers(f::COLUMN, rows().map(|function| position(function.column)));
    out.numbers(f::LAYER, rows().map(|function| layer(function.layer)));
    let build = |function: &Function| function.component.map(|id| symbols.build(id));
    let builds = || rows().map(|function| build(function).unwrap_or_default());
    if builds().any(|build| build != Build::default()) {
        out.numbers(f::PACKAGE, builds().map(|build| text_id(build.package)));
        out.numbers(f::BUILD_ID, builds().map(|build| text_id(build.id)));
    }
    out.finish()
}

fn layer(layer: Layer) -> u64 {
    Layer::ALL.iter().position(|known| *known == layer).unwrap_or(0) as u64
}

pub fn frames(symbols: &Symbols) -> Vec<u8> {
    use fields::frames as f;
    let mut out = ColumnWriter::default();
    let rows = || symbols.frames().map(|(_, frame)| frame);
    out.deltas(f::FUNCTION, rows().map(|frame| frame.function.index() as i64));
    out.numbers(f::FILE, rows().map(|frame| text_id(frame.file)));
    out.numbers(f::LINE, rows().map(|frame| position(frame.line)));
    out.numbers(f::COLUMN, rows().map(|frame| position(frame.column)));
    out.numbers(f::BYTECODE, rows().map(|frame| optional(frame.bytecode.map(|at| at as usize))));
    let address = |number: Option<std::num::NonZeroU64>| number.map_or(0, |at| at.get() as i64);
    out.deltas(f::ADDRESS, rows().map(|frame| address(frame.address)));
    out.numbers(f::INLINED, rows().map(|frame| u64::from(frame.inlined)));
    let site = |call_site: Option<CallSite>| match call_site {
        None => (f::NO_SITE, 0, 0),
        Some(CallSite::Line(line, column)) => {
            (f::SITE_LINE, u64::from(line.get()), position(column))
        }
        Some(CallSite::Bytecode(at)) => (f::SITE_BYTECODE, u64::from(at), 0),
        Some(CallSite::Address(at)) => (f::SITE_ADDRESS, at.get(), 0),
    };
    if rows().any(|frame| frame.call_site.is_some()) {
        out.numbers(f::SITE_KIND, rows().map(|frame| site(frame.call_site).0));
        out.numbers(f::SITE, rows().map(|frame| site(frame.call_site).1));
        out.numbers(f::SITE_COLUMN, rows().map(|frame| site(frame.call_site).2));
    }
    out.finish()
}

pub fn threads(threads: &[Thread]) -> Vec<u8> {
    use fields::threads as f;
    let mut out = ColumnWriter::default();
    out.numbers(f::NAME, threads.iter().map(|thread| thread.name.index() as u64));
    out.numbers(f::PROCESS, threads.iter().map(|thread| text_id(thread.process)));
    out.numbers(f::GROUP, threads.iter().map(|thread| text_id(thread.group)));
    let known = |thread: &Thread| {
        let pid = thread.pid.map_or(0, |_| f::PID_KNOWN);
        pid | thread.tid.map_or(0, |_| f::TID_KNOWN)
    };
    out.numbers(f::KNOWN, threads.iter().map(known));
    out.numbers(f::PID, threads.iter().map(|thread| thread.pid.unwrap_or(0)));
    out.numbers(f::TID, threads.iter().map(|thread| thread.tid.unwrap_or(0)));
    out.finish()
}

pub fn metrics(metrics: &[Metric]) -> Vec<u8> {
    use fields::metrics as f;
    let mut out = ColumnWriter::default();
    let rows = || metrics.iter();
    out.texts(f::NAMES, rows().map(|metric| metric.name.as_str()));
    out.texts(f::UNITS, rows().map(|metric| metric.unit.name()));
    out.numbers(f::EXACT, rows().map(|metric| u64::from(metric.measure == Measure::Exact)));
    out.numbers(f::HAS_PERIOD, rows().map(|metric| u64::from(metric.period.is_some())));
    out.signed(f::PERIOD, rows().map(|metric| metric.period.unwrap_or(0)));
    out.numbers(f::DECIMALS, rows().map(|metric| u64::from(metric.decimals)));
    out.finish()
}

pub fn tree(tree: &Cct) -> Vec<u8> {
    use fields::tree as f;
    let mut out = ColumnWriter::default();
    let grain = match tree.grain() {
        Grain::Functions => 0,
        Grain::CallSites => 1,
        Grain::Frames => 2,
    };
    out.numbers(f::GRAIN, [grain]);
    let mut open = 0u64;
    let closed = tree.depths().into_iter().map(|depth| {
        let closed = open - u64::from(depth);
        open = u64::from(depth) + 1;
        closed
    });
    out.numbers(f::CLOSED, closed);
    out.numbers(f::FRAME, tree.nodes().map(|node| tree.frame(node).index() as u64));
    out.finish()
}

pub fn cells(cells: &Cells) -> Vec<u8> {
    use fields::cells as f;
    let mut out = ColumnWriter::default();
    out.deltas(f::NODE, cells.keys().map(|(node, _)| node.index() as i64));
    out.numbers(f::THREAD, cells.keys().map(|(_, thread)| thread_id(thread)));
    for metric in 0..cells.metrics() {
        let values = cells.column(MetricId::new(metric));
        out.signed(f::VALUES + metric as u64, values.iter().copied());
    }
    out.finish()
}

pub fn timeline(timeline: &Timeline) -> Vec<u8> {
    use fields::timeline as f;
    let mut out = ColumnWriter::default();
    let samples = &timeline.samples;
    out.deltas(f::SAMPLE_TIME, samples.iter().map(|sample| sample.time));
    out.numbers(f::SAMPLE_THREAD, samples.iter().map(|sample| thread_id(sample.thread)));
    out.numbers(f::SAMPLE_NODE, samples.iter().map(|sample| sample.node.index() as u64));
    out.numbers(f::SAMPLE_METRIC, samples.iter().map(|sample| sample.metric.index() as u64));
    out.signed(f::SAMPLE_VALUE, samples.iter().map(|sample| sample.value));
    let calls = &timeline.calls;
    out.deltas(f::CALL_START, calls.iter().map(|call| call.start));
    out.signed(f::CALL_DURATION, calls.iter().map(|call| call.end.wrapping_sub(call.start)));
    out.numbers(f::CALL_THREAD, calls.iter().map(|call| thread_id(call.thread)));
    out.numbers(f::CALL_NODE, calls.iter().map(|call| call.node.index() as u64));
    out.finish()
}
