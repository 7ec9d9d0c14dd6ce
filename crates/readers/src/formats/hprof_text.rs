//! The text of Java's old profiling agent (`-agentlib:hprof=format=a`, JDK 1.2 to 8): stacks with numbers, then tables
//! that refer to them.
//!
//! A table that comes again, as the agent dumps one on every signal, counts from the start of the program: the last of
//! each kind is the one that holds. The agent cuts stacks at a depth that the file does not tell. A stack as deep as the
//! deepest, whose outermost method is none that threads start in, is taken for cut off.

use hashbrown::HashMap;
use perfblame_cct::{
    Cursor, Frame, FrameId, Function, Layer, Metric, Profile, ProfileBuilder, Thread, ThreadId,
    Unit,
};

use crate::building::java::layer_of_class;
use crate::encodings::text::{self, Blocks, excerpt, shown};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "hprof text",
    producers: "Java up to 8: -agentlib:hprof with cpu=samples, cpu=times, heap=sites or monitor=y",
    sniff,
    read,
    tracer: None,
};

/// True for the agent's text; its binary form has a zero byte after the version.
pub fn sniff(input: &Input) -> bool {
    let head = text::head(input);
    let first = text::head_lines(input, &head).next().unwrap_or_default();
    first.starts_with(b"JAVA PROFILE 1.") && first.windows(10).any(|part| part == b", created ")
}

/// What a table counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HprofTable {
    Samples,
    /// Time in methods, of which the table has the total in milliseconds and shares.
    Times(u64),
    /// Time in contended monitors, likewise.
    Monitors(u64),
    Sites,
}

/// Tables by place: where rows of each kind are kept until the next table of the kind.
const TABLES: usize = 4;

impl HprofTable {
    fn place(self) -> usize {
        match self {
            Self::Samples => 0,
            Self::Times(_) => 1,
            Self::Monitors(_) => 2,
            Self::Sites => 3,
        }
    }
}

/// A row of a table.
struct RankedSite {
    trace: u64,
    /// Hundredths of a percent.
    share: u64,
    /// Samples or calls; of sites, live bytes.
    count: u64,
    /// Of sites, allocated bytes.
    allocated: u64,
}

#[derive(Default)]
struct HprofTrace {
    thread: Option<u64>,
    /// Innermost first.
    frames: Vec<FrameId>,
    /// The outermost method is one that threads start in.
    whole: bool,
}

#[derive(Default)]
struct HprofDump {
    traces: HashMap<u64, HprofTrace>,
    threads: HashMap<u64, ThreadId>,
    tables: [Option<(HprofTable, Vec<RankedSite>)>; TABLES],
    /// The trace whose frames follow, or the table whose rows follow.
    trace: Option<u64>,
    table: Option<HprofTable>,
}

/// Reads the agent's text.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let mut builder = options.builder();
    let mut blocks = Blocks::new(input)?;
    let mut dump = HprofDump::default();
    while let Some(block) = blocks.next()? {
        for line in text::lines(block) {
            dump.line(&mut builder, &shown(line));
        }
    }
    if let Some(error) = blocks.broken() {
        builder.warn("truncated", || format!("the file cannot be read to its end: {error}"));
    }
    dump.add_up(&mut builder);
    builder.info.producer = Some("hprof".to_owned());
    Ok(builder.finish())
}

impl HprofDump {
    fn line(&mut self, builder: &mut ProfileBuilder, line: &str) {
        if let Some(frame) = line.strip_prefix('\t') {
            self.frame(builder, frame);
            return;
        }
        self.trace = None;
        let is_number = |text: &&str| text.starts_with(|c: char| c.is_ascii_digit());
        // The file opens with prose about its records.
        if let Some(rest) = line.strip_prefix("TRACE ").filter(is_number) {
            self.begin_trace(builder, rest);
        } else if let Some(rest) = line.strip_prefix("THREAD START ") {
            self.thread(builder, rest);
        } else if let Some(table) = table(line) {
            self.table = Some(table);
            self.tables[table.place()] = Some((table, Vec::new()));
        } else if line.contains(" END") && !line.starts_with(' ') {
            self.table = None;
        } else if let Some(table) = self.table {
            self.row(builder, table, line);
        }
    }

    /// `300556:` or `300556: (thread=200001)`.
    fn begin_trace(&mut self, builder: &mut ProfileBuilder, rest: &str) {
        let Some((id, rest)) = rest.split_once(':') else { return damaged(builder, rest) };
        let Ok(id) = id.parse() else { return damaged(builder, rest) };
        let thread = rest.trim().strip_prefix("(thread=").and_then(|rest| rest.strip_suffix(')'));
        let thread = thread.and_then(|id| id.parse().ok());
        self.traces.insert(id, HprofTrace { thread, ..HprofTrace::default() });
        self.trace = Some(id);
    }

    /// `java.io.RandomAccessFile.close(RandomAccessFile.java:543)`, or a line of a table's or dump's own.
    fn frame(&mut self, builder: &mut ProfileBuilder, text: &str) {
        let trace = self.trace.and_then(|id| self.traces.get_mut(&id));
        let Some(trace) = trace else { return };
        if text == "<empty>" {
            return;
        }
        let (name, place) = text.split_once('(').unwrap_or((text, ""));
        let place = place.strip_suffix(')').unwrap_or(place);
        // `File.java:12`, `File.java:Unknown line`, `File.java:Native method`, `Unknown Source:12`.
        let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
        let (class, method) = name.rsplit_once('.').unwrap_or(("", name));
        let file = Some(file).filter(|file| !file.is_empty() && *file != "Unknown Source");
        let function = Function {
            component: (!class.is_empty()).then(|| builder.string(class)),
            file: file.map(|file| builder.string(file)),
            layer: layer_of_class(class),
            ..Function::named(builder.string(name))
        };
        let function = builder.function(function);
        let frame = Frame::of(function).at_line(line.parse().unwrap_or(0));
        trace.frames.push(builder.frame(frame));
        trace.whole = matches!(method, "main" | "run");
    }

    /// `(obj=5000012d, id = 200001, name="main", group="main")`; a name may hold anything.
    fn thread(&mut self, builder: &mut ProfileBuilder, text: &str) {
        let id =
            text.split_once("id = ").and_then(|(_, rest)| rest.split(',').next()?.parse().ok());
        let name = text.split_once("name=\"").map_or("", |(_, rest)| rest);
        let (name, group) = name.rsplit_once("\", group=\"").unwrap_or((name, ""));
        let Some(id) = id else { return damaged(builder, text) };
        let group = group.strip_suffix("\")").filter(|group| !group.is_empty());
        let group = group.map(|group| builder.string(group));
        let name = builder.string(name);
        let thread = builder.thread(Thread { tid: Some(id), group, ..Thread::named(name) });
        self.threads.insert(id, thread);
    }

    fn row(&mut self, builder: &mut ProfileBuilder, table: HprofTable, line: &str) {
        let mut words = line.split_whitespace().peekable();
        // Headings have words where rows have their rank.
        if words.peek().is_none_or(|rank| rank.parse::<u64>().is_err()) {
            return;
        }
        match row(table, words.skip(1)) {
            Some(row) => {
                if let Some((_, rows)) = &mut self.tables[table.place()] {
                    rows.push(row);
                }
            }
            None => damaged(builder, line),
        }
    }

    fn add_up(self, builder: &mut ProfileBuilder) {
        let deepest = self.traces.values().map(|trace| trace.frames.len()).max().unwrap_or(0);
        let mut cursors: HashMap<u64, (Cursor, Option<ThreadId>)> = HashMap::new();
        for (table, rows) in self.tables.iter().flatten() {
            for row in rows {
                let (at, thread) = *cursors.entry(row.trace).or_insert_with(|| {
                    let trace = self.traces.get(&row.trace);
                    let thread = trace.and_then(|trace| self.threads.get(&trace.thread?));
                    (cursor(builder, trace, deepest), thread.copied())
                });
                let mut add = |metric: Metric, value: u64| {
                    let metric = builder.metric(metric);
                    builder.add(at, thread, metric, i64::try_from(value).unwrap_or(i64::MAX));
                };
                match *table {
                    HprofTable::Samples => {
                        add(Metric::sampled("samples", Unit::Count), row.count);
                        builder.count_samples(row.count);
                    }
                    HprofTable::Times(total) => {
                        add(Metric::exact("cpu", Unit::Nanoseconds), nanos(total, row.share));
                        add(Metric::exact("calls", Unit::Count), row.count);
                    }
                    HprofTable::Monitors(total) => {
                        add(Metric::exact("blocked", Unit::Nanoseconds), nanos(total, row.share));
                    }
                    HprofTable::Sites => {
                        add(Metric::exact("allocated", Unit::Bytes), row.allocated);
                        add(Metric::exact("live", Unit::Bytes), row.count);
                    }
                }
            }
        }
    }
}

/// What a share of so many milliseconds is; the table has no better.
fn nanos(total: u64, share: u64) -> u64 {
    total.saturating_mul(share).saturating_mul(100)
}

fn cursor(builder: &mut ProfileBuilder, trace: Option<&HprofTrace>, deepest: usize) -> Cursor {
    let empty = HprofTrace::default();
    let trace = trace.unwrap_or(&empty);
    let outermost_first: Vec<FrameId> = trace.frames.iter().rev().copied().collect();
    if trace.frames.len() == deepest && !trace.whole && deepest > 0 {
        return builder.partial_stack(&outermost_first);
    }
    builder.stack(&outermost_first).unwrap_or_else(|| {
        let frame = builder.named_frame("(no stack)", Layer::Runtime);
        builder.root(frame)
    })
}

fn damaged(builder: &mut ProfileBuilder, line: &str) {
    builder.warn("damaged-lines", || {
        format!("unreadable lines were left out; the first is {}", excerpt(line.as_bytes()))
    });
}

/// `CPU SAMPLES BEGIN (total = 3362) Fri Dec 18 16:33:36 2009`.
fn table(line: &str) -> Option<HprofTable> {
    let (name, rest) = line.split_once(" BEGIN ")?;
    let total = rest
        .split_once("total = ")
        .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    match name {
        "CPU SAMPLES" => Some(HprofTable::Samples),
        "CPU TIME (ms)" => Some(HprofTable::Times(total?)),
        "MONITOR TIME" | "MONITOR TIME (ms)" => Some(HprofTable::Monitors(total?)),
        "SITES" => Some(HprofTable::Sites),
        _ => None,
    }
}

/// The words of a row after its rank: shares, counts, then the number of the stack.
fn row<'a>(table: HprofTable, mut words: impl Iterator<Item = &'a str>) -> Option<RankedSite> {
    let share = words.next()?.strip_suffix('%')?.parse::<f64>().ok()?;
    words.next()?.strip_suffix('%')?;
    let share = (share.clamp(0.0, 100.0) * 100.0).round() as u64;
    let count = words.next()?.parse().ok()?;
    let mut allocated = 0;
    if table == HprofTable::Sites {
        // Live objects, allocated bytes, allocated objects.
        words.next()?.parse::<u64>().ok()?;
        allocated = words.next()?.parse().ok()?;
        words.next()?.parse::<u64>().ok()?;
    }
    Some(RankedSite { trace: words.next()?.parse().ok()?, share, count, allocated })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use perfblame_fixtures::{corpus, draw, read_damaged};
    use std::fmt::Write as _;

    const TEXT: &str = "JAVA PROFILE 1.0.1, created Fri Dec 18 16:33:00 2009\n\
        THREAD START (obj=5000012d, id = 200001, name=\"main\", group=\"main\")\n\
        TRACE 300001: (thread=200001)\n\
        \tjava.util.HashMap.get(HashMap.java:12)\n\
        \ta.Main.parse(Main.java:Unknown line)\n\
        \ta.Main.main(Main.java:3)\n\
        TRACE 300002: (thread=200001)\n\
        \ta.Main.read(Main.java:7)\n\
        \ta.Main.open(Main.java:8)\n\
        \ta.Main.load(Main.java:9)\n\
        TRACE 300003:\n\
        \t<empty>\n";

    fn check(tables: &str, expected: &Expect) {
        let input = Input::from_bytes([TEXT, tables].concat().into_bytes()).unwrap();
        let profile = crate::read(input, &ReadOptions::default()).unwrap();
        let mut out = draw(&profile);
        for (id, metric) in profile.metrics() {
            let total: i64 = profile.self_values(id).iter().sum();
            writeln!(out, "{} {total} {}", metric.name, metric.unit.name()).unwrap();
        }
        for warning in &profile.warnings {
            writeln!(out, "{} x {}: {}", warning.count, warning.code, warning.message).unwrap();
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn samples_are_read_and_the_last_table_holds() {
        check(
            "CPU SAMPLES BEGIN (total = 1) Fri Dec 18 16:33:20 2009\n\
             rank   self  accum   count trace method\n\
             \x20  1 100.00% 100.00%       1 300001 java.util.HashMap.get\n\
             CPU SAMPLES END\n\
             CPU SAMPLES BEGIN (total = 10) Fri Dec 18 16:33:36 2009\n\
             rank   self  accum   count trace method\n\
             \x20  1 60.00% 60.00%       6 300001 java.util.HashMap.get\n\
             \x20  2 30.00% 90.00%       3 300002 a.Main.read\n\
             \x20  3 10.00% 100.00%      1 300003 a.Main.read\n\
             \x20  4 nonsense\n\
             CPU SAMPLES END\n",
            &expect![[r#"
                (no stack) 1 1
                (truncated) 3 0
                  a.Main.load 3 0
                    a.Main.open 3 0
                      a.Main.read 3 3
                a.Main.main 6 0
                  a.Main.parse 6 0
                    java.util.HashMap.get 6 6
                samples 10 count
                1 x damaged-lines: unreadable lines were left out; the first is    4 nonsense
            "#]],
        );
    }

    #[test]
    fn times_monitors_and_sites_are_read() {
        check(
            "CPU TIME (ms) BEGIN (total = 2000) Fri Dec 18 16:33:36 2009\n\
             \x20  1 75.00% 75.00%      12 300001 java.util.HashMap.get\n\
             CPU TIME (ms) END\n\
             MONITOR TIME BEGIN (total = 50 ms) Fri Dec 18 16:33:36 2009\n\
             \x20  1 100.00% 100.00%   2 300002 java.lang.Object\n\
             MONITOR TIME END\n\
             SITES BEGIN (ordered by live bytes) Fri Dec 18 16:33:36 2009\n\
             \x20         percent          live          alloc'ed  stack class\n\
             \x20rank   self  accum     bytes objs     bytes  objs trace name\n\
             \x20   1 44.13% 44.13%   1117360 13967  1117361 13967 300001 java.util.zip.ZipEntry\n\
             SITES END\n",
            &expect![[r"
                (truncated) 0 0
                  a.Main.load 0 0
                    a.Main.open 0 0
                      a.Main.read 0 0
                a.Main.main 1500000000 0
                  a.Main.parse 1500000000 0
                    java.util.HashMap.get 1500000000 1500000000
                cpu 1500000000 ns
                calls 12 count
                blocked 50000000 ns
                allocated 1117361 bytes
                live 1117360 bytes
            "]],
        );
    }

    #[test]
    fn the_file_of_the_corpus_has_its_samples() {
        let Some(corpus) = corpus() else { return };
        let input = Input::open(&corpus.join("other/gprof2dot-jdbc.hprof.txt.gz")).unwrap();
        let profile = crate::read(input, &ReadOptions::default()).unwrap();
        let samples = profile.metric("samples").unwrap();
        // `total = 3362` in the table's heading.
        assert_eq!(profile.self_values(samples).iter().sum::<i64>(), 3362);
        assert_eq!((profile.samples, profile.warnings.len()), (3362, 0));
    }

    #[test]
    fn damaged_dumps_never_panic() {
        let text =
            [TEXT, "CPU SAMPLES BEGIN (total = 9)\n 1 9.9% 9.9% 9 300001 x\nCPU SAMPLES END\n"];
        read_damaged(text.concat().as_bytes(), 0..500, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
    }
}
