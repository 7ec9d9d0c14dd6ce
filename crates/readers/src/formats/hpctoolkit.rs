//! HPCToolkit's databases of version 2: `experiment.xml` with the tree, and one `.metric-db` beside it for every rank
//! and thread.
//!
//! Cost is measured at statements; what procedures and loops have is the sum of theirs, and is left alone. The numbers
//! in the XML are rounded to six digits and used only where the files beside it are missing.

use hashbrown::HashMap;
use perfblame_cct::{
    Cursor, Frame, Function, FunctionId, Metric, MetricId, Profile, ProfileBuilder, Thread,
    ThreadId, Unit, position,
};
use perfblame_native as native;
use std::path::{Path, PathBuf};

use crate::encodings::xml::{Element, Event, Scanner};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "HPCToolkit",
    producers: "hpcprof, hpcprof-mpi (experiment.xml)",
    sniff,
    read,
    tracer: None,
};

/// The first bytes of a `.metric-db`; a version follows.
const METRIC_DB: &[u8] = b"HPCPROF-metricdb__";

/// Magic, version and byte order, rows, metrics.
const METRIC_DB_HEADER: usize = 32;

/// True for XML whose outermost element, or document type, is HPCToolkit's, and for the values that lie beside it.
pub fn sniff(input: &Input) -> bool {
    let head = input.head();
    let start = head.trim_ascii_start();
    if head.starts_with(METRIC_DB) {
        return true;
    }
    if !start.starts_with(b"<") {
        return false;
    }
    // The document type can be longer than what we see.
    if memchr::memmem::find(&head[..head.len().min(512)], b"<!DOCTYPE HPCToolkitExperiment")
        .is_some()
    {
        return true;
    }
    matches!(
        Scanner::new(head).next_event(),
        Some(Event::Start(element)) if element.name == b"HPCToolkitExperiment"
    )
}

/// Reads a database by its `experiment.xml`.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let folder = input.path().and_then(Path::parent).map(Path::to_owned);
    if input.head().starts_with(METRIC_DB) {
        return read_beside(folder.as_deref(), options);
    }
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    builder.info.producer = Some("HPCToolkit".to_owned());
    let mut reader = HpctoolkitReader { builder, ..HpctoolkitReader::default() };
    let mut scanner = Scanner::new(&bytes);
    while let Some(event) = scanner.next_event() {
        match event {
            Event::Start(element) => reader.start(&element),
            Event::End(name) => reader.end(name),
            Event::Text(_) => {}
        }
    }
    if scanner.is_cut() || !reader.open.is_empty() {
        reader.builder.warn("cut-off", || "the file ends inside the tree".to_owned());
    }
    let files = folder.map(|folder| metric_files(&folder)).unwrap_or_default();
    let read: usize = files.iter().map(|file| usize::from(reader.metric_db(file))).sum();
    if read == 0 {
        reader.use_sums();
    }
    Ok(reader.builder.finish())
}

/// Somebody named the values of one rank: the tree is in the file beside it.
fn read_beside(folder: Option<&Path>, options: &ReadOptions) -> Result<Profile, ReadError> {
    let tree = folder.map(|folder| folder.join("experiment.xml"));
    let Some(tree) = tree.filter(|tree| tree.is_file()) else {
        let what = "this file has the values of one rank; the tree is in experiment.xml";
        return Err(ReadError::unsupported(what).help("give the experiment.xml of the database"));
    };
    let input = Input::open(&tree)?;
    if !sniff(&input) || input.head().starts_with(METRIC_DB) {
        return Err(ReadError::unsupported("the experiment.xml next to it is not from HPCToolkit"));
    }
    read(input, options)
}

/// A metric of the file, when it counts what is exclusive.
#[derive(Clone, Copy)]
struct Exclusive {
    metric: MetricId,
    scale: f64,
}

/// An element of the tree that has not ended.
#[derive(Clone, Copy)]
enum OpenTag {
    /// A procedure, the last of `Reader::frames`.
    Procedure,
    /// A call, loop or statement on a line of the procedure around it.
    Line(Option<u32>),
}

#[derive(Default)]
struct HpctoolkitReader {
    builder: ProfileBuilder,
    modules: HashMap<String, String>,
    files: HashMap<String, String>,
    procedures: HashMap<String, String>,
    /// By number in the XML.
    sums: HashMap<String, Exclusive>,
    /// By place in the rows of a `.metric-db`.
    columns: HashMap<usize, Exclusive>,
    open: Vec<OpenTag>,
    /// The open procedures, each with the place that called it.
    frames: Vec<(Option<Cursor>, FunctionId)>,
    /// The place of each statement, by number.
    statements: HashMap<u64, Cursor>,
    /// Values in the XML, for want of better ones.
    values: Vec<(Cursor, Exclusive, f64)>,
    /// The statement that values belong to.
    current: Option<Cursor>,
}

impl HpctoolkitReader {
    fn start(&mut self, element: &Element) {
        let text = |name: &str| element.attribute(name).unwrap_or_default().into_owned();
        match element.name {
            b"Header" => {
                self.builder.info.command = Some(text("n")).filter(|name| !name.is_empty());
            }
            b"LoadModule" => {
                self.modules.insert(text("i"), text("n"));
            }
            b"File" => {
                self.files.insert(text("i"), text("n"));
            }
            b"Procedure" => {
                self.procedures.insert(text("i"), text("n"));
            }
            // Statistics of one quantity over ranks; only sums can be added up.
            b"Metric"
                if text("t") == "exclusive"
                    && (text("n").contains(":Sum") || !text("n").contains(':')) =>
            {
                let metric = self.exclusive(&text("n"));
                self.sums.insert(text("i"), metric);
            }
            b"MetricDB" if text("t") == "exclusive" => {
                if let Some(column) = element.number("db-id") {
                    let metric = self.exclusive(&text("n"));
                    self.columns.insert(column, metric);
                }
            }
            b"PF" | b"Pr" => self.procedure(element),
            b"C" | b"L" if !element.empty => self.open.push(OpenTag::Line(element.number("l"))),
            b"S" => {
                let at = self.place(element.number("l"));
                self.current = at;
                if let (Some(at), Some(id)) = (at, element.number("i")) {
                    self.statements.insert(id, at);
                }
                if !element.empty {
                    self.open.push(OpenTag::Line(element.number("l")));
                }
            }
            b"M" => {
                let known = self.sums.get(&text("n"));
                if let (Some(at), Some(metric), Some(value)) =
                    (self.current, known, element.number("v"))
                {
                    self.values.push((at, *metric, value));
                }
            }
            _ => {}
        }
        if element.empty && element.name == b"S" {
            self.current = None;
        }
    }

    fn end(&mut self, name: &[u8]) {
        if matches!(name, b"PF" | b"Pr" | b"C" | b"L" | b"S") {
            if matches!(self.open.pop(), Some(OpenTag::Procedure)) {
                self.frames.pop();
            }
            self.current = None;
        }
    }

    /// `CPUTIME (usec) (E)`, `CPUTIME (usec):Sum (E)`
    fn exclusive(&mut self, name: &str) -> Exclusive {
        let name = name.strip_suffix(" (E)").unwrap_or(name);
        let name = name.split(":Sum").next().unwrap_or(name);
        let times = [("usec", 1e3), ("sec", 1e9), ("us", 1e3), ("ns", 1.0)];
        let time = times.iter().find_map(|(unit, scale)| {
            Some((name.strip_suffix(&format!("({unit})"))?.trim(), *scale))
        });
        let metric = match time {
            Some(("CPUTIME", _)) => Metric::sampled("cpu", Unit::Nanoseconds),
            Some(("WALLCLOCK" | "REALTIME", _)) => Metric::sampled("wall", Unit::Nanoseconds),
            Some((name, _)) => Metric::sampled(name, Unit::Nanoseconds),
            None => Metric::sampled(name, Unit::Count),
        };
        Exclusive { metric: self.builder.metric(metric), scale: time.map_or(1.0, |time| time.1) }
    }

    fn procedure(&mut self, element: &Element) {
        let text = |name: &str| element.attribute(name).unwrap_or_default().into_owned();
        let look = |table: &HashMap<String, String>, key: &str| table.get(&text(key)).cloned();
        // The caller is at the line of the call that this procedure is in.
        let line = match self.open.last() {
            Some(OpenTag::Line(line)) => *line,
            _ => None,
        };
        let caller = self.place(line);
        let name = look(&self.procedures, "n").unwrap_or_default();
        let module = look(&self.modules, "lm").filter(|module| !module.is_empty());
        let unknown = |file: &String| !file.is_empty() && !file.starts_with("<unknown");
        let file = look(&self.files, "f").filter(unknown);
        let builder = &mut self.builder;
        let function = Function {
            component: module.as_deref().map(|module| builder.string(module)),
            file: file.as_deref().map(|file| builder.string(file)),
            line: element.number("l").and_then(position),
            layer: module.as_deref().map_or_else(Default::default, native::layer_of),
            ..Function::named(builder.string(&native::demangle(&name)))
        };
        let function = builder.function(function);
        if !element.empty {
            self.open.push(OpenTag::Procedure);
            self.frames.push((caller, function));
        }
        // A procedure without a statement has a place all the same.
        self.place_of(caller, function, None);
    }

    /// The place of a line in the innermost open procedure.
    fn place(&mut self, line: Option<u32>) -> Option<Cursor> {
        let (caller, function) = *self.frames.last()?;
        Some(self.place_of(caller, function, line))
    }

    fn place_of(
        &mut self,
        caller: Option<Cursor>,
        function: FunctionId,
        line: Option<u32>,
    ) -> Cursor {
        let builder = &mut self.builder;
        let line = line.and_then(|line| position(u64::from(line)));
        let frame = builder.frame(Frame { line, ..Frame::of(function) });
        match caller {
            Some(caller) => builder.child(caller, frame),
            None => builder.root(frame),
        }
    }

    /// Adds the values of one rank and thread; false for a file that cannot be read.
    fn metric_db(&mut self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = std::fs::read(path).unwrap_or_default();
        let Some((rows, columns)) = header(&bytes) else {
            self.builder.warn("damaged-metrics", || format!("{name} is not a metric database"));
            return false;
        };
        let thread = self.thread(&name);
        let body = &bytes[METRIC_DB_HEADER..];
        let mut ids: Vec<_> = self.statements.iter().map(|(id, at)| (*id, *at)).collect();
        ids.sort_unstable_by_key(|(id, _)| *id);
        for (id, at) in ids {
            let row = id.checked_sub(1).filter(|row| *row < rows);
            let Some(row) = row.and_then(|row| usize::try_from(row).ok()) else {
                self.builder.warn("damaged-metrics", || {
                    format!("{name} has no values for some statements")
                });
                continue;
            };
            for column in 0..columns {
                let Some(known) = self.columns.get(&column) else { continue };
                let start = row.checked_mul(columns).and_then(|at| at.checked_add(column));
                let start = start.and_then(|at| at.checked_mul(8));
                let bytes = start.and_then(|start| body.get(start..)?.first_chunk::<8>());
                let Some(bytes) = bytes else {
                    self.builder.warn("damaged-metrics", || format!("{name} is cut off"));
                    break;
                };
                let value = f64::from_be_bytes(*bytes) * known.scale;
                if value != 0.0 && value.abs() < 9e18 {
                    self.builder.add(at, thread, known.metric, value.round() as i64);
                }
            }
        }
        true
    }

    /// `1.cpi-000003-000-a8c00270-160446-0.metric-db`: program, rank, thread, host, process.
    fn thread(&mut self, name: &str) -> Option<ThreadId> {
        let mut parts = name.strip_suffix(".metric-db")?.rsplitn(6, '-').skip(1);
        let pid = parts.next().and_then(|pid| pid.parse().ok());
        let _host = parts.next();
        let tid = parts.next().and_then(|tid| tid.parse::<u64>().ok());
        let rank = parts.next().and_then(|rank| rank.parse::<u64>().ok())?;
        let name = self.builder.string(&format!("rank {rank}"));
        Some(self.builder.thread(Thread { pid, tid, ..Thread::named(name) }))
    }

    fn use_sums(&mut self) {
        for (at, metric, value) in std::mem::take(&mut self.values) {
            let value = value * metric.scale;
            if value.abs() < 9e18 {
                self.builder.add(at, None, metric.metric, value.round() as i64);
            }
        }
        self.builder.warn("no-metric-files", || {
            "the .metric-db files are missing; values are sums over ranks with six digits"
                .to_owned()
        });
    }
}

/// The files of all ranks and threads beside `experiment.xml`, in order.
fn metric_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "metric-db")).collect();
    files.sort();
    files
}

/// Rows and columns, when the header is right.
fn header(bytes: &[u8]) -> Option<(u64, usize)> {
    let header = bytes.get(..METRIC_DB_HEADER)?.strip_prefix(METRIC_DB)?;
    // `00.10b`: version, and b for the byte order that all files have.
    let (_, numbers) = header.split_at_checked(6)?;
    let number = |at: usize| Some(u32::from_be_bytes(*numbers.get(at..)?.first_chunk::<4>()?));
    Some((u64::from(number(0)?), usize::try_from(number(4)?).ok()?))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use perfblame_fixtures::{corpus, describe, read_damaged};

    use super::*;

    const EXAMPLE: &str = r#"<?xml version="1.0"?><HPCToolkitExperiment version="2.0"><Header n="a.out"/>
<MetricTable><Metric i="3" n="CPUTIME (usec):Sum (E)" t="exclusive"/></MetricTable>
<LoadModule i="1" n="a.out"/><LoadModule i="2" n="/lib/libc.so"/><File i="1" n="a.c"/>
<Procedure i="1" n="main"/><Procedure i="2" n="memcpy"/>
<PF i="2" l="3" lm="1" f="1" n="1"><M n="3" v="5"/><C i="3" l="7"><PF i="4" l="0" lm="2" n="2"><S i="5" l="9"><M n="3" v="2.5"/></S></PF></C>
<L i="6" l="8"><S i="7" l="8"><M n="3" v="4"/></S></L></PF></HPCToolkitExperiment>"#;

    #[test]
    fn statements_have_the_cost() {
        let input = Input::from_bytes(EXAMPLE.as_bytes().to_vec()).unwrap();
        expect![[r"
            0 samples
            cpu 6500 ns
            main 6500 4000
              memcpy 2500 2500
            1 × no-metric-files: the .metric-db files are missing; values are sums over ranks with six digits
        "]].assert_eq(&describe(&crate::read(input, &ReadOptions::default()).unwrap()));
    }

    /// Totals by rank and inclusive times by function, as hatchet's data frame of the database has them.
    #[test]
    fn the_corpus_agrees_with_hatchet() {
        let Some(corpus) = corpus() else { return };
        let path = corpus.join("hpctoolkit/hpctoolkit-cpi-database/experiment.xml");
        let profile = crate::read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
        assert_eq!(profile.info.format, "HPCToolkit");
        assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
        let cpu = profile.metric("cpu").unwrap();
        let expected = std::fs::read_to_string(
            corpus.join("hpctoolkit/expected/hpctoolkit-cpi-graphframe.csv"),
        );
        // Rank, inclusive, name and type stand at these places from the end of a line, behind a quoted text.
        let mut seen = 0;
        for line in expected.unwrap().lines().skip(1) {
            let fields: Vec<&str> = line.rsplit("}\",").next().unwrap().split(',').collect();
            let (rank, inclusive, name, kind) = (fields[0], fields[1], fields[4], fields[5]);
            let inclusive: f64 = inclusive.parse().unwrap();
            if kind != "PF" || name.contains(':') || name.starts_with('<') {
                continue;
            }
            let rank = format!("rank {rank}");
            let thread = profile
                .threads()
                .find(|(_, thread)| profile.symbols.text(thread.name) == rank)
                .map(|(id, _)| id);
            let own = profile.cells.dense_on(cpu, thread, profile.tree.len());
            let totals = profile.tree.inclusive(&own);
            let nanoseconds = (inclusive * 1000.0) as i64;
            let found = profile
                .tree
                .nodes()
                .any(|node| profile.name_of(node) == name && totals[node.index()] == nanoseconds);
            assert!(found, "{line}");
            seen += 1;
        }
        assert!(seen > 10, "{seen}");
        assert_eq!(profile.cells.total(cpu), (999_238 + 999_390 + 1_000_306 + 999_308) * 1000);
    }

    #[test]
    fn damaged_files_never_panic() {
        read_damaged(EXAMPLE.as_bytes(), 0..300, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
    }
}
