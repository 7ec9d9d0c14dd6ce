//! Every folded file of the corpus: totals, stacks and what was left out.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;

use perfblame_cct::{MetricId, Profile};
use perfblame_fixtures::{corpus, corpus_files};
use perfblame_readers::{Input, ReadOptions, detect, read};

/// File, sum of counts (times ten to the number of decimals), decimals, distinct stacks, deepest stack, lines left
/// out. The sums and depths are those of the corpus' manifest.
type Row = (&'static str, i64, u8, usize, u32, u64);
const EXPECTED: &[Row] = &[
    ("diff/async-profiler-sample1.collapsed", 185, 0, 17, 12, 0),
    ("diff/async-profiler-sample2.collapsed", 188, 0, 17, 12, 0),
    ("diff/inferno-after.txt", 80, 0, 8, 8, 0),
    ("diff/inferno-before.txt", 65, 0, 8, 8, 0),
    ("ffprofiler-flamegraph.txt", 152_364, 0, 45, 37, 0),
    ("inferno-async-profiler-part.txt", 3279, 0, 30, 117, 0),
    // 105 and 186 microseconds (the manifest adds up the numbers in comments too), in nanoseconds; process and thread are no frames.
    ("inferno-austin.txt", 291_000, 0, 2, 11, 0),
    ("inferno-bad-lines.txt", 607, 0, 6, 10, 2),
    ("inferno-flames.txt.gz", 598_400, 0, 205, 14, 0),
    ("inferno-fractional.txt", 334_618, 3, 6, 10, 0),
    ("inferno-tricky-stack.txt", 3, 0, 1, 3, 0),
    ("inferno-with-space.txt", 334_618, 3, 6, 10, 0),
    ("speedscope-alternating.txt", 182, 0, 2, 2, 0),
    ("speedscope-recursion.txt", 10, 0, 7, 6, 0),
    ("speedscope-simple-crlf.txt", 14, 0, 3, 3, 0),
    ("speedscope-simple-utf16-be.txt", 14, 0, 3, 3, 0),
    ("speedscope-simple-utf16-le.txt", 14, 0, 3, 3, 0),
    ("speedscope-simple-with-invalids.txt", 14, 0, 3, 3, 1),
    ("speedscope-simple.txt", 14, 0, 3, 3, 0),
    ("speedscope-tall.txt", 1, 0, 1, 26, 0),
];

fn open(path: &std::path::Path) -> Profile {
    let input = Input::open(path).unwrap();
    assert_eq!(detect(&input).map(|format| format.name), Some("folded"), "{}", path.display());
    read(input, &ReadOptions::default()).unwrap()
}

#[test]
fn every_file_has_its_totals() {
    let Some(corpus) = corpus() else { return };
    let mut rows = Vec::new();
    for path in corpus_files("collapsed") {
        let profile = open(&path);
        let name = path.strip_prefix(corpus.join("collapsed")).unwrap();
        let metric = MetricId::new(0);
        let nodes: BTreeSet<_> = profile.cells.of(metric).map(|(node, _, _)| node).collect();
        rows.push((
            name.to_str().unwrap().to_owned(),
            profile.cells.total(metric),
            profile.metrics[0].decimals,
            nodes.len(),
            profile.tree.depths().into_iter().max().unwrap() + 1,
            profile.warnings.iter().map(|warning| warning.count).sum::<u64>(),
        ));
    }
    let expected: Vec<_> =
        EXPECTED.iter().map(|row| (row.0.to_owned(), row.1, row.2, row.3, row.4, row.5)).collect();
    assert_eq!(rows, expected);
}

#[test]
fn differential_files_have_two_metrics() {
    let Some(corpus) = corpus() else { return };
    let profile = open(&corpus.join("collapsed/diff/expected/inferno-diff-default.txt"));
    let totals: Vec<_> = (profile.metrics())
        .map(|(id, metric)| (metric.name.as_str(), profile.cells.total(id)))
        .collect();
    assert_eq!(totals, [("before", 65), ("after", 80)]);
}
