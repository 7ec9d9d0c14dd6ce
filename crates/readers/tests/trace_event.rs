//! The Trace Event format of other writers, against what speedscope makes of the same files.
//!
//! Deliberate differences:
//!
//! | file | speedscope | here |
//! |---|---|---|
//! | all | arguments are part of a name | names are names |
//! | all with samples | the last sample of a thread lasts no time | it lasts the median gap |
//! | `invalid-x-nesting` | `alpha` grows from 10 to 15 to hold `beta` | both last as stated; `beta` stands alone once `alpha` has ended |
//! | `unbalanced-name`, `out-of-order-unbalanced-name` | `alpha` grows until `beta` ends | as above |
//! | `end-non-top-of-stack` | the end of `A` is not believed, as `B` is open | `A` ends, `B` goes on alone |
//! | `mismatched-name` | a call that never ends lasts no time | it lasts until the last event of its thread |
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![allow(clippy::needless_pass_by_value, reason = "an expectation is written where it is checked")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;

use expect_test::{Expect, expect};
use perfblame_cct::{MetricId, Profile, Times};
use perfblame_fixtures::{corpus, corpus_files, draw, read_damaged, samples};
use perfblame_readers::{Input, ReadOptions, read};

fn open(path: &std::path::Path) -> Profile {
    let input = Input::open(path).unwrap();
    read(input, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Self and total nanoseconds by function name; a function counts once per stack.
fn by_name(profile: &Profile) -> BTreeMap<String, (i64, i64)> {
    let own = profile.self_values(MetricId::new(0));
    let mut names: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for node in profile.tree.nodes() {
        let value = own[node.index()];
        names.entry(profile.name_of(node).to_owned()).or_default().0 += value;
        let mut above: Vec<_> =
            profile.tree.ancestors(node).map(|at| profile.name_of(at)).collect();
        above.sort_unstable();
        above.dedup();
        for name in above {
            names.entry(name.to_owned()).or_default().1 += value;
        }
    }
    names
}

/// Self and total time of a name, in nanoseconds, and how many names it was before arguments were cut off.
type Known = (i64, i64, u32);

/// What a snapshot of speedscope's import says of each file, all threads together.
fn snapshot(text: &str) -> BTreeMap<String, BTreeMap<String, Known>> {
    let mut titles: BTreeMap<String, BTreeMap<String, Known>> = BTreeMap::new();
    let mut files = BTreeMap::new();
    for export in text.split("exports[`").skip(1) {
        let (title, body) = export.split_once("`] = `").unwrap();
        if let Some(title) = title.strip_suffix(": profileGroup.name 1") {
            files.insert(title.to_owned(), body.split('"').nth(1).unwrap().to_owned());
        }
        if !body.contains("\"stacks\"") {
            continue;
        }
        let title = title.rsplit_once(' ').unwrap().0;
        let names = titles.entry(title.to_owned()).or_default();
        for frame in body.split("    Frame {").skip(1) {
            let field = |key: &str| {
                let line = frame.lines().find(|line| line.trim_start().starts_with(key)).unwrap();
                line.split_once(": ").unwrap().1.trim_end_matches(',').trim_matches('"').to_owned()
            };
            let name = field("\"name\"");
            let name = name.split(" {").next().unwrap();
            let name = if name == "(unnamed)" { "" } else { name };
            let name = name.split("(http").next().unwrap();
            let weight = |key| (field(key).parse::<f64>().unwrap() * 1000.0).round() as i64;
            let entry = names.entry(name.to_owned()).or_default();
            entry.0 += weight("\"selfWeight\"");
            entry.1 += weight("\"totalWeight\"");
            entry.2 += 1;
        }
    }
    let of_file = |(title, names)| Some((files.get(&title)?.clone(), names));
    titles.into_iter().filter_map(of_file).collect()
}

#[test]
fn speedscope_sees_the_same() {
    let Some(corpus) = corpus() else { return };
    let snapshots = corpus.join("speedscope-snapshots/trace-event.test.ts.snap.gz");
    let mut text = String::new();
    Input::open(&snapshots).unwrap().into_stream().unwrap().read_to_string(&mut text).unwrap();
    let snapshots = snapshot(&text);
    let different = [
        "invalid-x-nesting.json",
        "unbalanced-name.json",
        "out-of-order-unbalanced-name.json",
        "end-non-top-of-stack.json",
        "mismatched-name.json",
    ];
    let mut compared = 0;
    for path in corpus_files("trace-event") {
        let file = path.file_name().unwrap().to_str().unwrap();
        let Some(expected) = snapshots.get(file) else { continue };
        let profile = open(&path);
        assert_eq!(profile.info.format, "trace event", "{file}");
        let mut found = by_name(&profile);
        if file.ends_with("with-samples.json") {
            // Take off what the last sample of each thread stands for.
            let period = profile.metrics[0].period.unwrap();
            for (name, last) in
                [("[root thread 2]", 1), ("[root]", 1), ("[GC Young Gen]", 1), ("function2", 1)]
            {
                let before = found.clone();
                let Some(values) = found.get_mut(name) else { continue };
                let spare = values.0 - expected.get(name).map_or(0, |expected| expected.0);
                assert!(spare == 0 || spare == last * period, "{file} {name} {spare} {before:?}");
                values.0 -= spare;
            }
            for (name, values) in &mut found {
                let total = expected.get(name).map_or(0, |expected| expected.1);
                assert!((0..=2 * period).contains(&(values.1 - total)), "{file} {name}");
                values.1 = total;
            }
            found.retain(|name, _| expected.contains_key(name));
        }
        // Where names differed in their arguments only, one may have called the other: the totals cannot be added.
        let same = found.keys().eq(expected.keys())
            && found.iter().zip(expected.values()).all(|((_, (own, total)), known)| {
                *own == known.0 && (*total == known.1 || (known.2 > 1 && *total < known.1))
            });
        assert_eq!(same, !different.contains(&file), "{file}: {found:?}, speedscope {expected:?}");
        compared += 1;
    }
    assert_eq!(compared, 29);
}

fn check(json: &str, expected: Expect) {
    let input = Input::from_bytes(json.as_bytes().to_vec()).unwrap();
    let profile = read(input, &ReadOptions::default()).unwrap();
    let mut out = draw(&profile);
    for warning in &profile.warnings {
        let _ = writeln!(out, "{} {}", warning.code, warning.count);
    }
    expected.assert_eq(&out);
}

/// Events in short: phase, name, time and, for complete ones, duration.
fn events(list: &[(&str, &str, &str, &str)]) -> String {
    let events: Vec<_> = (list.iter())
        .map(|(phase, name, time, duration)| {
            format!(
                r#"{{"ph":"{phase}","name":"{name}","ts":{time},"dur":{duration},"pid":1,"tid":2}}"#
            )
        })
        .collect();
    format!("[{}]", events.join(",\n"))
}

#[test]
fn overlapping_calls_last_as_long_as_they_say() {
    check(
        &events(&[("X", "alpha", "0", "10"), ("X", "beta", "5", "10")]),
        expect![[r"
            alpha 10000 5000
              beta 5000 5000
            beta 5000 5000
            overlapping-calls 1
        "]],
    );
}

#[test]
fn an_end_closes_its_own_call() {
    check(
        &events(&[
            ("B", "A", "0", "0"),
            ("B", "B", "1", "0"),
            ("E", "A", "9", "0"),
            ("E", "B", "10", "0"),
        ]),
        expect![[r"
            A 9000 1000
              B 8000 8000
            B 1000 1000
            overlapping-calls 1
        "]],
    );
}

#[test]
fn callees_may_come_before_their_callers() {
    check(
        &events(&[("X", "leaf", "2", "1"), ("X", "leaf", "4", "1"), ("X", "main", "1.5", "8.25")]),
        expect![[r"
            main 8250 6250
              leaf 2000 2000
        "]],
    );
}

#[test]
fn rounding_makes_no_overlap() {
    check(
        &events(&[("X", "outer", "0", "9"), ("X", "inner", "1", "9"), ("X", "next", "9", "3")]),
        expect![[r"
            next 3000 3000
            outer 9000 1000
              inner 8000 8000
        "]],
    );
}

#[test]
fn times_may_be_strings_and_fractions() {
    check(
        r#"{"traceEvents":[{"ph":"X","name":"f","ts":"1234567890123456.789","dur":"0.001","pid":"1","tid":"worker"}],
            "displayTimeUnit":"ns"}"#,
        expect![[r"
            f 1 1
        "]],
    );
}

#[test]
fn what_never_ends_ends_with_its_thread() {
    check(
        &events(&[("B", "task", "0", "0"), ("X", "step", "1", "2"), ("E", "other", "4", "0")]),
        expect![[r"
            task 4000 2000
              step 2000 2000
            loose-ends 1
            unfinished-calls 1
        "]],
    );
}

#[test]
fn asynchronous_spans_have_a_metric_of_their_own() {
    let json = r#"[
        {"ph":"X","name":"f","ts":0,"dur":10,"pid":1,"tid":1},
        {"ph":"e","cat":"net","name":"load","id":"0x1","ts":30,"pid":1,"tid":2},
        {"ph":"b","cat":"net","name":"load","id":"0x1","ts":5,"pid":1,"tid":1},
        {"ph":"b","cat":"net","name":"load","id":"0x2","ts":6,"pid":1,"tid":1},
        {"ph":"b","cat":"net","name":"parse","id":"0x2","ts":7,"pid":1,"tid":1},
        {"ph":"e","cat":"net","name":"parse","id":"0x2","ts":9,"pid":1,"tid":1},
        {"ph":"e","cat":"net","name":"load","id":"0x2","ts":16,"pid":1,"tid":1},
        {"ph":"e","cat":"net","name":"load","id":"0x3","ts":16,"pid":1,"tid":1}]"#;
    let input = Input::from_bytes(json.as_bytes().to_vec()).unwrap();
    let profile = read(input, &ReadOptions::default()).unwrap();
    let totals: Vec<_> = (profile.metrics())
        .map(|(id, metric)| (metric.name.as_str(), profile.cells.total(id)))
        .collect();
    assert_eq!(totals, [("wall", 10_000), ("calls", 4), ("async", 35_000)]);
    let names: Vec<_> = profile.threads.iter().map(|t| profile.symbols.text(t.name)).collect();
    assert_eq!(names, ["", "async net"]);
    assert_eq!(
        profile.warnings.iter().map(|w| (&*w.code, w.count)).collect::<Vec<_>>(),
        [("unfinished-async", 1)]
    );
}

#[test]
fn many_events_of_a_window_and_more_come_out_in_order() {
    // More than the windows hold, neighbours swapped, once callers first and once callees first.
    for callees_first in [false, true] {
        let mut list = Vec::new();
        for round in 0..30_000u64 {
            let start = round * 100;
            let mut calls =
                vec![(start, 90, "outer"), (start + 10, 50, "middle"), (start + 20, 10, "leaf")];
            if callees_first {
                calls.reverse();
            } else if round % 50 == 7 {
                calls.swap(1, 2);
            }
            list.extend(calls);
        }
        if callees_first {
            list.push((0, 3_000_000, "main"));
        }
        let events: Vec<_> = (list.iter())
            .map(|(start, duration, name)| {
                format!(
                    r#"{{"ph":"X","name":"{name}","ts":{start},"dur":{duration},"pid":1,"tid":1}}"#
                )
            })
            .collect();
        let input = Input::from_bytes(format!("[{}]", events.join(",")).into_bytes()).unwrap();
        let profile = read(input, &ReadOptions::default()).unwrap();
        assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
        let drawn = draw(&profile);
        let expected = if callees_first {
            "main 3000000000 300000000\n  outer 2700000000 1200000000\n    middle 1500000000 1200000000\n      leaf 300000000 300000000\n"
        } else {
            "outer 2700000000 1200000000\n  middle 1500000000 1200000000\n    leaf 300000000 300000000\n"
        };
        assert_eq!(drawn, expected);
    }
}

#[test]
fn uftrace_and_viztracer() {
    let profile = open(&samples().join("trace-event/uftrace.json"));
    expect![[r"
        __cxa_atexit 922 922
        __monstartup 1272 1272
        main 20961 1131
          middle 12429 3184
            leaf 9245 9245
          printf 7401 7401
    "]]
    .assert_eq(&draw(&profile));
    assert!(profile.info.producer.as_deref().unwrap().starts_with("uftrace v0.13"));
    assert_eq!(profile.threads[0].tid, profile.threads[0].pid);
    let profile = open(&samples().join("trace-event/viztracer.json"));
    expect![[r"
        builtins.exec 78566 4036
          <module> 74530 5408
            builtins.print 23825 23825
            main 45297 5570
              middle 39727 11699
                leaf 28028 8870
                  builtins.sum 19158 19158
    "]]
    .assert_eq(&draw(&profile));
    assert_eq!(profile.info.producer.as_deref(), Some("VizTracer 1.1.1"));
    let leaf =
        profile.symbols.functions().find(|(id, _)| profile.symbols.name(*id) == "leaf").unwrap();
    assert_eq!(profile.symbols.component(leaf.0), Some("/tmp/s/work.py"));
    assert_eq!(leaf.1.line.unwrap().get(), 1);
}

#[test]
fn hermes_samples_of_two_threads() {
    let profile = open(&samples().join("trace-event/hermes-samples.json"));
    assert_eq!((profile.samples, profile.threads.len()), (8, 2));
    let names: Vec<_> = profile.threads.iter().map(|t| profile.symbols.text(t.name)).collect();
    assert_eq!(names, ["mqt_js", ""]);
}

#[test]
fn trace_events_never_panic() {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    for file in ["uftrace.json", "viztracer.json", "hermes-samples.json"] {
        texts.push(std::fs::read(samples().join("trace-event").join(file)).unwrap());
    }
    for text in &texts {
        let options = ReadOptions { times: Times::Keep, ..ReadOptions::default() };
        read_damaged(text, 0..200, |bytes| read(Input::from_bytes(bytes)?, &options));
    }
}
