//! Recordings of Android and Python in the corpus: totals as counted by other programs.

use perfblame_fixtures::corpus;
use perfblame_readers::{Input, ReadOptions, read};

/// File, format, samples, totals of the metrics, threads, codes of warnings.
type Expected = (&'static str, &'static str, u64, &'static [i64], usize, &'static [&'static str]);

const FILES: &[Expected] = &[
    // Sample and switch records counted with a script of our own.
    (
        "ffprofiler-simpleperf-task-clock.trace.gz",
        "simpleperf",
        2_110,
        &[371_000_000, 626, 5_582_906_583],
        11,
        &[],
    ),
    // 13,295 records as the file says, 6,777 of them entries; 19 methods are not in its list.
    (
        "ffprofiler-art-trace-regular.trace.gz",
        "ART trace",
        0,
        &[52_599_734_000, 6_081_916_000, 6_777],
        40,
        &["unknown-methods"],
    ),
    // Sums that Python itself makes of the file: `marshal.load`, own time and calls by callers.
    (
        "gprof2dot-memtrail.pstats",
        "pstats",
        0,
        &[13_120_819_961, 36_414_260],
        0,
        &["call-graph-cycles"],
    ),
];

#[test]
fn the_corpus_is_read_with_its_totals() {
    let Some(corpus) = corpus() else { return };
    for (file, format, samples, totals, threads, warnings) in FILES {
        let input = Input::open(&corpus.join("other").join(file)).unwrap();
        let profile = read(input, &ReadOptions::default()).unwrap();
        assert_eq!(profile.info.format, *format, "{file}");
        assert_eq!(profile.samples, *samples, "{file}");
        let found: Vec<i64> = profile.metrics().map(|(id, _)| profile.cells.total(id)).collect();
        assert_eq!(found, *totals, "{file}");
        assert_eq!(profile.threads.len(), *threads, "{file}");
        let codes: Vec<&str> = profile.warnings.iter().map(|warning| &*warning.code).collect();
        assert_eq!(codes, *warnings, "{file}");
    }
}
