//! Processed profiles of the Firefox Profiler, which profiler.firefox.com opens by dropping the file on it.
//!
//! Version 61 of the format: the first with today's shape (one set of tables shared by all threads, sources with their
//! own table), which every later profiler upgrades on loading. A thread has one kind of sample there, so one metric is
//! written. Layers become categories, which colour the graphs.

use std::fmt::Display;
use std::io::{self, Write};

use hashbrown::HashMap;
use perfblame_analysis::function_name;
use perfblame_cct::{
    FrameId, FunctionId, Layer, MetricId, NodeId, Profile, StringId, ThreadId, Unit,
};

use crate::json::quoted;
use crate::numbers::decimal;
use crate::threads;

/// The version of the processed format that is written.
const VERSION: u32 = 61;

/// JavaScript keeps whole numbers up to here; addresses beyond it would name another place.
const SAFE_INTEGER: u64 = 1 << 53;

/// Categories by [`Layer::ALL`]; the profiler wants a grey one for whatever has none, which comes first.
const COLORS: [&str; 7] =
    ["yellow", "blue", "magenta", "lightblue", "orange", "transparent", "brown"];

/// Writes one metric of every thread.
pub fn write(profile: &Profile, metric: MetricId, out: &mut dyn Write) -> io::Result<()> {
    let tables = Tables::of(profile);
    write!(out, r#"{{"meta":"#)?;
    meta(profile, out)?;
    write!(out, r#","libs":["#)?;
    for (row, lib) in tables.libs.iter().enumerate() {
        let comma = if row > 0 { "," } else { "" };
        let path = profile.symbols.text(*lib);
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let (name, path) = (quoted(name), quoted(path));
        write!(
            out,
            r#"{comma}{{"arch":"","name":{name},"path":{path},"debugName":{name},"debugPath":{path},"breakpadId":"","codeId":null}}"#
        )?;
    }
    write!(out, r#"],"pages":[],"shared":"#)?;
    tables.write(profile, out)?;
    write!(out, r#","threads":["#)?;
    let mut first = true;
    for (thread, samples) in timed(profile, metric) {
        if !std::mem::replace(&mut first, false) {
            out.write_all(b",")?;
        }
        write_thread(profile, metric, thread, &samples, out)?;
    }
    out.write_all(b"]}\n")
}

fn meta(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let info = &profile.info;
    let started = info.started.unwrap_or(0);
    let period = profile.metrics.first().and_then(|metric| match metric.unit {
        Unit::Nanoseconds => metric.period.filter(|period| *period > 0),
        _ => None,
    });
    let product = info.command.as_deref().or(info.producer.as_deref()).unwrap_or("perfblame");
    write!(
        out,
        r#"{{"interval":{},"startTime":{},"#,
        millis(period.unwrap_or(1_000_000)),
        millis(started)
    )?;
    write!(out, r#""product":{},"importedFrom":{},"#, quoted(product), quoted(&info.format))?;
    write!(
        out,
        r#""version":30,"preprocessedProfileVersion":{VERSION},"processType":0,"stackwalk":1,"#
    )?;
    write!(
        out,
        r#""debug":false,"symbolicated":true,"abi":"","misc":"","oscpu":"","platform":"","toolkit":"","#
    )?;
    write!(
        out,
        r#""appBuildID":"","sourceURL":"","physicalCPUs":0,"logicalCPUs":0,"CPUName":"","#
    )?;
    write!(
        out,
        r#""extensions":{{"id":[],"name":[],"baseURL":[],"length":0}},"markerSchema":[],"#
    )?;
    write!(out, r#""categories":[{{"name":"Other","color":"grey","subcategories":["Other"]}}"#)?;
    for (layer, color) in Layer::ALL.into_iter().zip(COLORS) {
        write!(
            out,
            r#",{{"name":"{}","color":"{color}","subcategories":["Other"]}}"#,
            layer.name()
        )?;
    }
    out.write_all(b"]}")
}

/// A sample: when, where, what it stands for.
type Sample = (i64, NodeId, i64);

/// Rows of each thread.
type ByThread<T> = Vec<(Option<ThreadId>, Vec<T>)>;

/// Samples of one metric by thread. Where the profile has no times, each begins where the one before ends.
fn timed(profile: &Profile, metric: MetricId) -> ByThread<Sample> {
    let times = profile.timeline.as_ref().map_or(&[][..], |timeline| &timeline.samples);
    let times: Vec<_> = times.iter().filter(|sample| sample.metric == metric).collect();
    let total = times.iter().fold(0i64, |sum, sample| sum.saturating_add(sample.value));
    if !times.is_empty() && total == profile.cells.total(metric) {
        let start = times.iter().map(|sample| sample.time).min().unwrap_or(0);
        let rows: Vec<_> = times
            .iter()
            .map(|sample| (sample.thread, (sample.time - start, sample.node, sample.value)))
            .collect();
        return bare(threads::split(&rows, |row| row.0));
    }
    let unit = profile.metrics.get(metric.index()).map(|metric| &metric.unit);
    let rows: Vec<_> = (profile.cells.of(metric))
        .map(|(node, thread, value)| (thread, (0, node, value)))
        .collect();
    let mut split = bare(threads::split(&rows, |row| row.0));
    for (_, samples) in &mut split {
        let mut clock = 0i64;
        for (time, _, value) in samples {
            *time = clock;
            let step = if unit == Some(&Unit::Nanoseconds) { *value } else { 1_000_000 };
            clock = clock.saturating_add(step.max(0));
        }
    }
    split
}

fn bare(split: ByThread<(Option<ThreadId>, Sample)>) -> ByThread<Sample> {
    let samples =
        |rows: Vec<(Option<ThreadId>, Sample)>| rows.into_iter().map(|row| row.1).collect();
    split.into_iter().map(|(thread, rows)| (thread, samples(rows))).collect()
}

fn write_thread(
    profile: &Profile,
    metric: MetricId,
    thread: Option<ThreadId>,
    samples: &[Sample],
    out: &mut dyn Write,
) -> io::Result<()> {
    let row = thread.and_then(|id| profile.threads.get(id.index()));
    let Some(metric) = profile.metrics.get(metric.index()) else { return Ok(()) };
    let name = threads::title(profile, thread);
    let pid = row.and_then(|thread| thread.pid).unwrap_or(0);
    let tid = row.and_then(|thread| thread.tid).or(thread.map(|id| id.index() as u64)).unwrap_or(0);
    let main = row.is_none_or(|row| row.tid.is_some() && row.tid == row.pid);
    write!(out, r#"{{"processType":"default","processStartupTime":0,"processShutdownTime":null,"#)?;
    write!(
        out,
        r#""registerTime":0,"unregisterTime":null,"pausedRanges":[],"name":{},"#,
        quoted(&name)
    )?;
    if let Some(process) = row.and_then(|row| row.process) {
        write!(out, r#""processName":{},"#, quoted(profile.symbols.text(process)))?;
    }
    write!(out, r#""isMainThread":{main},"pid":"{pid}","tid":{tid},"samples":{{"#)?;
    array(out, "stack", samples.iter().map(|sample| sample.1.index()))?;
    array(out, ",time", samples.iter().map(|sample| millis(sample.0)))?;
    let weight = |stored: i64| match metric.unit {
        Unit::Nanoseconds => decimal(stored, metric.decimals.saturating_add(6)),
        _ => decimal(stored, metric.decimals),
    };
    array(out, ",weight", samples.iter().map(|sample| weight(sample.2)))?;
    let kind = match metric.unit {
        Unit::Nanoseconds => "tracing-ms",
        Unit::Bytes => "bytes",
        Unit::Count | Unit::Other(_) => "samples",
    };
    write!(
        out,
        r#","weightType":"{kind}","length":{}}},"markers":{{"data":[],"name":[],"#,
        samples.len()
    )?;
    write!(out, r#""startTime":[],"endTime":[],"phase":[],"category":[],"length":0}}}}"#)
}

/// The tables all threads share. Stacks are the tree's nodes as they stand: parents come first there too.
struct Tables {
    strings: Vec<String>,
    string_index: HashMap<String, usize>,
    frames: Vec<FrameId>,
    frame_index: HashMap<FrameId, usize>,
    functions: Vec<FunctionId>,
    function_index: HashMap<FunctionId, usize>,
    libs: Vec<StringId>,
    /// Component, its name, and its row in `libs` when it is a binary.
    resources: Vec<(StringId, usize, Option<usize>)>,
    resource_index: HashMap<StringId, usize>,
    sources: Vec<StringId>,
    source_index: HashMap<StringId, usize>,
    function_names: Vec<usize>,
    source_names: Vec<usize>,
}

impl Tables {
    fn of(profile: &Profile) -> Self {
        let mut tables = Self {
            strings: Vec::new(),
            string_index: HashMap::new(),
            frames: Vec::new(),
            frame_index: HashMap::new(),
            functions: Vec::new(),
            function_index: HashMap::new(),
            libs: Vec::new(),
            resources: Vec::new(),
            resource_index: HashMap::new(),
            sources: Vec::new(),
            source_index: HashMap::new(),
            function_names: Vec::new(),
            source_names: Vec::new(),
        };
        let symbols = &profile.symbols;
        for node in profile.tree.nodes() {
            let id = profile.tree.frame(node);
            if tables.frame_index.contains_key(&id) {
                continue;
            }
            tables.frame_index.insert(id, tables.frames.len());
            tables.frames.push(id);
            let frame = symbols.frame(id);
            if tables.function_index.contains_key(&frame.function) {
                continue;
            }
            tables.function_index.insert(frame.function, tables.functions.len());
            tables.functions.push(frame.function);
            let name = tables.string(function_name(symbols, frame.function));
            tables.function_names.push(name);
            let function = symbols.function(frame.function);
            if let Some(component) = function.component {
                tables.resource(profile, component, frame.address.is_some());
            }
            if let Some(file) = source_of(profile, frame.function)
                && !tables.source_index.contains_key(&file)
            {
                tables.source_index.insert(file, tables.sources.len());
                tables.sources.push(file);
                let name = tables.string(symbols.text(file));
                tables.source_names.push(name);
            }
        }
        tables
    }

    fn string(&mut self, text: &str) -> usize {
        if let Some(row) = self.string_index.get(text) {
            return *row;
        }
        let row = self.strings.len();
        self.strings.push(text.to_owned());
        self.string_index.insert(text.to_owned(), row);
        row
    }

    fn resource(&mut self, profile: &Profile, component: StringId, binary: bool) {
        if self.resource_index.contains_key(&component) {
            return;
        }
        self.resource_index.insert(component, self.resources.len());
        let lib = binary.then(|| {
            self.libs.push(component);
            self.libs.len() - 1
        });
        let name = self.string(profile.symbols.text(component));
        self.resources.push((component, name, lib));
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
        let (symbols, tree) = (&profile.symbols, &profile.tree);
        write!(out, r#"{{"stackTable":{{"#)?;
        let frame_row = |node| self.frame_index.get(&tree.frame(node)).copied().unwrap_or(0);
        array(out, "frame", tree.nodes().map(frame_row))?;
        array(out, ",prefix", tree.nodes().map(|node| null(tree.parent(node).map(NodeId::index))))?;
        write!(out, r#","length":{}}},"frameTable":{{"#, tree.len())?;

        let frames = || self.frames.iter().map(|id| symbols.frame(*id));
        let address = |address: u64| (address < SAFE_INTEGER).then_some(address);
        let category = |layer: Layer| {
            1 + Layer::ALL.iter().position(|known| *known == layer).unwrap_or_default()
        };
        array(
            out,
            "address",
            frames().map(|frame| {
                frame
                    .address
                    .and_then(|number| address(number.get()))
                    .map_or(-1, |number| number as i64)
            }),
        )?;
        array(out, ",inlineDepth", frames().map(|frame| u8::from(frame.inlined)))?;
        let layers = frames().map(|frame| symbols.function(frame.function).layer);
        array(out, ",category", layers.map(category))?;
        array(out, ",subcategory", frames().map(|_| 0))?;
        array(
            out,
            ",func",
            frames().map(|frame| self.function_index.get(&frame.function).copied().unwrap_or(0)),
        )?;
        array(out, ",nativeSymbol", frames().map(|_| "null"))?;
        array(out, ",innerWindowID", frames().map(|_| "null"))?;
        array(out, ",line", frames().map(|frame| null(frame.line)))?;
        array(out, ",column", frames().map(|frame| null(frame.column)))?;
        write!(out, r#","length":{}}},"funcTable":{{"#, self.frames.len())?;

        let functions = || self.functions.iter().map(|id| symbols.function(*id));
        array(out, "name", self.function_names.iter())?;
        let script = |id: &FunctionId| is_script(profile, *id);
        array(out, ",isJS", self.functions.iter().map(script))?;
        array(out, ",relevantForJS", functions().map(|_| false))?;
        array(
            out,
            ",resource",
            functions().map(|function| {
                let row = function.component.and_then(|id| self.resource_index.get(&id));
                row.map_or(-1, |row| *row as i64)
            }),
        )?;
        array(
            out,
            ",source",
            self.functions.iter().map(|id| {
                null(source_of(profile, *id).and_then(|file| self.source_index.get(&file)))
            }),
        )?;
        array(out, ",lineNumber", functions().map(|function| null(function.line)))?;
        array(out, ",columnNumber", functions().map(|function| null(function.column)))?;
        write!(out, r#","length":{}}},"resourceTable":{{"#, self.functions.len())?;

        array(out, "lib", self.resources.iter().map(|(_, _, lib)| null(lib.as_ref())))?;
        array(out, ",name", self.resources.iter().map(|(_, name, _)| name))?;
        array(out, ",host", self.resources.iter().map(|_| "null"))?;
        array(
            out,
            ",type",
            self.resources.iter().map(|(component, _, lib)| match lib {
                Some(_) => 1,
                None if symbols.text(*component).contains("://") => 5,
                None => 0,
            }),
        )?;
        write!(out, r#","length":{}}},"sources":{{"#, self.resources.len())?;

        array(out, "id", self.sources.iter().map(|_| "null"))?;
        array(out, ",filename", self.source_names.iter())?;
        array(out, ",startLine", self.sources.iter().map(|_| 1))?;
        array(out, ",startColumn", self.sources.iter().map(|_| 1))?;
        array(out, ",sourceMapURL", self.sources.iter().map(|_| "null"))?;
        write!(out, r#","length":{}}},"nativeSymbols":{{"libIndex":[],"#, self.sources.len())?;
        write!(out, r#""address":[],"name":[],"functionSize":[],"length":0}},"#)?;
        array(out, "stringArray", self.strings.iter().map(|text| quoted(text)))?;
        out.write_all(b"}")
    }
}

/// The file a function is in: what the profile says, or the component where that is a script.
fn source_of(profile: &Profile, function: FunctionId) -> Option<StringId> {
    let row = profile.symbols.function(function);
    row.file.or(row.component.filter(|_| is_script(profile, function)))
}

fn is_script(profile: &Profile, function: FunctionId) -> bool {
    profile.symbols.component(function).is_some_and(|component| {
        let path = component.split(['?', '#']).next().unwrap_or(component);
        component.contains("://")
            || [".js", ".mjs", ".cjs", ".ts"].iter().any(|end| path.ends_with(end))
    })
}

/// `"key":[…]`; a comma before the key comes before the quotes.
fn array<T: Display>(
    out: &mut dyn Write,
    key: &str,
    items: impl Iterator<Item = T>,
) -> io::Result<()> {
    match key.strip_prefix(',') {
        Some(key) => write!(out, ",\"{key}\":[")?,
        None => write!(out, "\"{key}\":[")?,
    }
    for (row, item) in items.enumerate() {
        let comma = if row > 0 { "," } else { "" };
        write!(out, "{comma}{item}")?;
    }
    out.write_all(b"]")
}

fn null<T: Display>(item: Option<T>) -> String {
    item.map_or_else(|| "null".to_owned(), |item| item.to_string())
}

/// Milliseconds with as many decimals as the nanoseconds need.
fn millis(nanoseconds: i64) -> String {
    decimal(nanoseconds, 6)
}
