//! Recordings that were made for perfblame with the real tools: totals as counted by small scripts of another language,
//! and threads by their names.

use perfblame_fixtures::samples;
use perfblame_readers::{Input, ReadOptions, read};

/// File, samples, totals of the metrics, threads, codes of warnings.
type Expected = (
    &'static str,
    u64,
    &'static [(&'static str, i64)],
    &'static [&'static str],
    &'static [&'static str],
);

const FILES: &[Expected] = &[
    (
        "folded/austin-3.7-full.txt",
        38,
        &[("wall", 445_731_000), ("cpu", 309_500_000), ("allocated", 7_921_664), ("freed", 0)],
        &["", ""],
        &[],
    ),
    ("folded/py-spy-0.4-threads.folded", 230, &[("samples", 230)], &["MainThread", ""], &[]),
    (
        "otlp/async-profiler-4.5.otlp",
        13,
        &[("itimer", 119)],
        &["C1 CompilerThre", "DestroyJavaVM", "GC Thread#1", "GC Thread#0", "C2 CompilerThre"],
        &[],
    ),
    ("trace-event/py-spy-0.4.json", 0, &[("wall", 426_648_000), ("calls", 82)], &[""], &[]),
    // The tool leaves out a begin whose end it writes.
    (
        "trace-event/uftrace-threads.json",
        0,
        &[("wall", 7_335_901), ("calls", 112)],
        &["[27210] u", "[27212] u"],
        &["loose-ends"],
    ),
    (
        "firefox/samply-0.13.json.gz",
        43,
        &[("samples", 43)],
        &["perf-exec", "b", "b"],
        &["addresses-only"],
    ),
];

#[test]
fn files_of_real_tools_have_their_totals() {
    for (file, samples_in_it, totals, threads, warnings) in FILES {
        let input = Input::open(&samples().join(file)).unwrap();
        let profile = read(input, &ReadOptions::default()).unwrap();
        assert_eq!(profile.samples, *samples_in_it, "{file}");
        let found: Vec<(&str, i64)> = profile
            .metrics()
            .map(|(id, metric)| (&*metric.name, profile.cells.total(id)))
            .collect();
        assert!(found.starts_with(totals), "{file}: {found:?}");
        let names: Vec<&str> =
            profile.threads.iter().map(|thread| profile.symbols.text(thread.name)).collect();
        assert_eq!(names, *threads, "{file}");
        let codes: Vec<&str> = profile.warnings.iter().map(|warning| &*warning.code).collect();
        assert_eq!(codes, *warnings, "{file}");
    }
}

#[test]
fn files_of_py_spy_and_a_trace_of_it_name_the_same_places() {
    let input = Input::open(&samples().join("trace-event/py-spy-0.4.json")).unwrap();
    let profile = read(input, &ReadOptions::default()).unwrap();
    let functions = profile.symbols.functions();
    let mut places: Vec<&str> = functions
        .filter(|(_, function)| profile.symbols.text(function.name) == "parse")
        .filter_map(|(_, function)| function.component.map(|file| profile.symbols.text(file)))
        .collect();
    places.dedup();
    assert_eq!(places, ["./prog.py"]);
}
