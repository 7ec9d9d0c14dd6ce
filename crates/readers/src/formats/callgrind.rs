//! Callgrind profiles, as valgrind, xdebug, pprof, and converters for Python and Ruby write them; cachegrind's too.
//!
//! A file is a call graph: self cost per line of a function, and calls with what they cost including everything below.
//! [`call_graph`](crate::building::call_graph) makes contexts of it. Names and positions are compressed in the file, each with
//! its own table; a function's file may be told before or after its name, so lines are put together only when a cost
//! needs them.

mod graph;
mod lines;

use perfblame_cct::{Metric, Profile, ProfileBuilder, Thread, Unit};

use crate::building::sample_type;
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use lines::Parser;

/// Keys of header lines.
const HEADERS: &[&str] = &[
    "version",
    "creator",
    "pid",
    "cmd",
    "part",
    "desc",
    "positions",
    "event",
    "events",
    "summary",
    "thread",
    "target",
    "totals",
];

/// This format's row in the table.
pub const FORMAT: Format = Format {
    name: "callgrind",
    producers: "valgrind's callgrind and cachegrind, xdebug, pprof, converters for Python and Ruby",
    sniff,
    read,
    tracer: None,
};

/// True for text that starts with callgrind's header and names its events.
pub fn sniff(input: &Input) -> bool {
    let head = input.head();
    let mut first = true;
    for line in head.split(|byte| *byte == b'\n').take(200) {
        let line = line.trim_ascii();
        if first && line.starts_with(b"# callgrind format") {
            return true;
        }
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
        let Ok(key) = str::from_utf8(&line[..colon]) else { return false };
        if !HEADERS.contains(&key) {
            return false;
        }
        if key == "events" {
            return true;
        }
        first = false;
    }
    false
}

/// Reads a callgrind profile.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let mut parser = Parser::new(options.grain);
    let mut offset = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        parser.line(&mut builder, line, offset);
        offset += line.len() as u64 + 1;
    }
    let file = parser.finish();
    if file.events.is_empty() {
        return Err(ReadError::malformed(
            offset - 1,
            "there is no `events:` line, so the meaning of the costs is unknown",
        ));
    }
    let mut metrics = Vec::new();
    let mut scales = Vec::new();
    let mut taken = Vec::new();
    for event in &file.events {
        let (metric, scale) = metric_of(event, file.creator.as_deref());
        metrics.push(sample_type::add_metric(&mut builder, &mut taken, metric));
        scales.push(scale);
    }
    let calls = Metric::exact("calls", Unit::Count);
    let calls = sample_type::add_metric(&mut builder, &mut taken, calls);
    check_totals(&mut builder, &file);
    for (thread, graph) in file.graphs {
        let thread = thread.map(|number| {
            let name = builder.string(&format!("thread {number}"));
            builder.thread(Thread { pid: file.pid, tid: Some(number), ..Thread::named(name) })
        });
        graph.expand(&mut builder, &metrics, &scales, calls, thread);
    }
    builder.info.producer = file.creator;
    builder.info.command = file.command;
    if let Some(pid) = file.pid {
        builder.info.labels.push(("pid".to_owned(), pid.to_string()));
    }
    builder.info.labels.extend(file.descriptions);
    builder.info.labels.sort();
    Ok(builder.finish())
}

/// The metric an event stands for, and how many of its unit one of the file's is: `Ir`, `Time_(10ns)`, `cpu(ms)`.
fn metric_of(event: &str, creator: Option<&str>) -> (Metric, i64) {
    if let Some((name, unit)) = event.strip_suffix(')').and_then(|event| event.rsplit_once('(')) {
        let digits = unit.bytes().take_while(u8::is_ascii_digit).count();
        let (times, word) = unit.split_at(digits);
        let (unit, scale) = sample_type::unit(word);
        let times: i64 = times.parse().unwrap_or(1);
        return (Metric::exact(name.trim_end_matches('_'), unit), scale.saturating_mul(times));
    }
    // xdebug 2 says `Time` and means microseconds.
    if event == "Time" && creator.is_some_and(|creator| creator.starts_with("xdebug 2")) {
        return (Metric::exact(event, Unit::Nanoseconds), 1_000);
    }
    (Metric::exact(event, Unit::Count), 1)
}

/// Says so when the costs do not add up to what the file says they do.
fn check_totals(builder: &mut ProfileBuilder, file: &lines::CallgrindFile) {
    for (row, expected) in file.totals.iter().enumerate() {
        let found =
            file.graphs.values().fold(0i64, |sum, graph| sum.saturating_add(graph.total(row)));
        if found != *expected {
            let event = file.events.get(row).map_or("", String::as_str);
            builder.warn("totals-differ", || {
                format!("the costs of {event} add up to {found}, but the file states {expected}")
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use perfblame_cct::{Grain, Times};
    use std::fmt::Write as _;

    fn check(text: &str, grain: Grain, expected: &Expect) {
        let input = Input::from_bytes(text.as_bytes().to_vec()).unwrap();
        assert!(sniff(&input));
        let profile =
            read(input, &ReadOptions { grain, times: Times::Drop, ..ReadOptions::default() })
                .unwrap();
        let mut out = String::new();
        let values: Vec<Vec<i64>> =
            profile.metrics().map(|(id, _)| profile.self_values(id)).collect();
        for node in profile.tree.nodes() {
            let frame = profile.symbols.frame(profile.tree.frame(node));
            let function = profile.symbols.function(frame.function);
            let depth = 2 * profile.tree.ancestors(node).count().saturating_sub(1);
            let _ = write!(out, "{:depth$}{}", "", profile.name_of(node));
            if let Some(line) = function.line {
                let _ = write!(out, " starts {line}");
            }
            if let Some(line) = frame.line {
                let _ = write!(out, " line {line}");
            }
            if let Some(address) = frame.address {
                let _ = write!(out, " at {address:#x}");
            }
            let component = profile.symbols.component(frame.function).unwrap_or("-");
            let values: Vec<i64> = values.iter().map(|column| column[node.index()]).collect();
            let _ = writeln!(out, " in {component} {values:?}");
        }
        for (id, metric) in profile.metrics() {
            let _ =
                writeln!(out, "{} {} {}", metric.name, metric.unit.name(), profile.cells.total(id));
        }
        for (_, thread) in profile.threads() {
            let _ = writeln!(out, "{}", profile.symbols.text(thread.name));
        }
        for warning in &profile.warnings {
            let _ = writeln!(out, "{} {}: {}", warning.count, warning.code, warning.message);
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn names_and_positions_are_uncompressed() {
        check(
            "# callgrind format\nevents: Ir\nob=(1) /bin/prog\nfl=(1) a.c\nfn=(1) main\n16 20\ncfn=(2) f\n\
             calls=1 50\n* 400\ncob=(2) /lib/libz.so.1\ncfi=(2) z.c\ncfn=(3) g\ncalls=3 20\n+2 400\n\
             fn=(2)\n51 100\njump=3 +1\n+1\ncob=(2)\ncfi=(2)\ncfn=(3)\ncalls=2 20\n-1 300\n\
             ob=(2)\nfl=(2)\nfn=(3)\n20 700\ntotals: 820\n",
            Grain::Frames,
            &expect![[r"
                main line 16 in /bin/prog [20, 0]
                  f starts 50 line 51 in /bin/prog [100, 1]
                    g starts 20 line 20 in /lib/libz.so.1 [300, 2]
                main line 18 in /bin/prog [0, 0]
                  g starts 20 line 20 in /lib/libz.so.1 [400, 3]
                Ir count 820
                calls count 6
            "]],
        );
    }

    #[test]
    fn recursion_levels_are_one_function() {
        check(
            "events: Ir\nfl=fib.c\nfn=main\n1 2\ncfn=fib\ncalls=1 5\n1 10\nfn=fib\n5 3\ncfn=fib'2\ncalls=1 5\n\
             6 7\nfn=fib'2\n5 7\ncfn=fib'2\ncalls=4 5\n6 5\n",
            Grain::Functions,
            &expect![[r"
                main in fib.c [2, 0]
                  fib starts 5 in fib.c [3, 1]
                    fib starts 5 in fib.c [7, 1]
                      fib starts 5 in fib.c [0, 4]
                Ir count 12
                calls count 6
                1 call-graph-cycles: recursive calls are cut where they close a cycle; their cost counts for the outermost call
            "]],
        );
    }

    #[test]
    fn events_have_units_and_threads_their_own_graph() {
        check(
            "creator: xdebug 3.0.2\nevents: Time_(10ns) Memory_(bytes)\nthread: 1\nfl=a.php\nfn=main\n1 5 100\n\
             thread: 2\nfl=a.php\nfn=main\n1 7\n",
            Grain::Functions,
            &expect![[r"
                main in a.php [120, 100, 0]
                Time ns 120
                Memory bytes 100
                calls count 0
                thread 1
                thread 2
            "]],
        );
    }

    #[test]
    fn addresses_and_lines() {
        check(
            "positions: instr line\nevents: Ir Dr\nfn=main\n0x1000 5 1 2\n+4 * 3\n+4 +1 5 6\n",
            Grain::Frames,
            &expect![[r"
                main line 5 at 0x1000 in - [1, 2, 0]
                main line 5 at 0x1004 in - [3, 0, 0]
                main line 6 at 0x1008 in - [5, 6, 0]
                Ir count 9
                Dr count 8
                calls count 0
            "]],
        );
    }

    #[test]
    fn damage_is_counted() {
        check(
            "events: Ir\nsummary: 10\n5 1\nfn=main\nnonsense\n1 x\n1 4\nzzz=3\n-5 3\n99999999999999999999 1\n",
            Grain::Functions,
            &expect![[r#"
                main in - [4, 0]
                Ir count 4
                calls count 0
                6 damaged-lines: invalid lines were left out, first at byte 23
                1 totals-differ: the costs of Ir add up to 4, but the file states 10
            "#]],
        );
    }

    #[test]
    fn other_texts_are_not_claimed() {
        for text in ["main;foo 1\n", "version: 1\n{}", "events\n", "key: value\nevents: Ir\n", ""] {
            assert!(!sniff(&Input::from_bytes(text.as_bytes().to_vec()).unwrap()), "{text}");
        }
    }
}
