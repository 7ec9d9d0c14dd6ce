//! Callgrind files of the corpus: totals as their own summary lines and another program's import state them.

use perfblame_fixtures::{corpus, draw, read_damaged, samples};
use perfblame_readers::{Input, ReadOptions, read};

/// The costs of `bzr` add up to less than its summary says (its converter rounds each down); those of `cfn-reset` to 40,
/// though the calls in it claim 50.
///
/// File, total of the first event, number of calls, and codes of warnings.
const FILES: &[(&str, i64, i64, &[&str])] = &[
    (
        "gprof2dot-bool.callgrind.gz",
        309_292_148,
        15_877_967,
        &["call-graph-cut", "call-graph-cycles"],
    ),
    (
        "gprof2dot-bzr.callgrind.gz",
        1_482_191,
        85_683_956,
        &["totals-differ", "call-graph-cut", "call-graph-cycles"],
    ),
    ("gprof2dot-empty.callgrind", 0, 0, &[]),
    (
        "gprof2dot-googlecode-issue98.callgrind.gz",
        1_356_335_734,
        26_582_344,
        &["call-graph-cut", "call-graph-cycles"],
    ),
    ("gprof2dot-issue35.callgrind", 9_600_070_538, 971, &[]),
    ("gprof2dot-selinux.callgrind.gz", 95_507_934_985, 527_249_026, &["call-graph-cycles"]),
    ("pair/gprof2dot-test1.callgrind", 610_235, 5_632, &["call-graph-cycles"]),
    ("pair/gprof2dot-test2.callgrind", 610_544, 5_632, &["call-graph-cycles"]),
    ("speedscope-callgrind.cfn-reset.log", 40, 4, &[]),
    ("speedscope-callgrind.example.log", 820, 6, &[]),
    ("speedscope-callgrind.multiple-event-types.log", 8_200, 6, &[]),
    ("speedscope-callgrind.name-compression.log", 820, 6, &[]),
    ("speedscope-callgrind.subposition-compression.log", 820, 6, &[]),
];

#[test]
fn the_corpus_is_read_with_its_totals() {
    let Some(corpus) = corpus() else { return };
    for (file, total, calls, warnings) in FILES {
        let path = corpus.join("callgrind").join(file);
        let profile = read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
        assert_eq!(profile.info.format, "callgrind", "{file}");
        let codes: Vec<&str> = profile.warnings.iter().map(|warning| &*warning.code).collect();
        assert_eq!(codes, *warnings, "{file}");
        let totals: Vec<i64> = profile.metrics().map(|(id, _)| profile.cells.total(id)).collect();
        assert_eq!((totals.first(), totals.last()), (Some(total), Some(calls)), "{file}");
    }
}

/// The stacks of the speedscope project's own import, `speedscope-snapshots/callgrind.test.ts.snap`.
#[test]
fn contexts_are_those_of_another_importer() {
    let Some(corpus) = corpus() else { return };
    for name in ["example", "name-compression", "subposition-compression"] {
        let path = corpus.join(format!("callgrind/speedscope-callgrind.{name}.log"));
        let profile = read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
        let expected = "main 820 20\n  func1 400 100\n    func2 300 300\n  func2 400 400\n";
        assert_eq!(draw(&profile), expected, "{name}");
    }
}

#[test]
fn callgrind_never_panics() {
    let bytes = std::fs::read(samples().join("callgrind/recursion.callgrind")).unwrap();
    read_damaged(&bytes, 0..300, |bytes| read(Input::from_bytes(bytes)?, &ReadOptions::default()));
}

#[test]
fn costs_of_a_program_of_our_own_add_up_and_recursion_shows() {
    let path = samples().join("callgrind/recursion.callgrind");
    let profile = read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
    let (ir, _) = profile.metrics().next().unwrap();
    assert_eq!(profile.cells.total(ir), 62213);
    let inclusive = profile.inclusive_values(ir);
    let of = |path: &[&str]| {
        let node = profile.tree.nodes().find(|node| {
            let names: Vec<&str> =
                profile.tree.path(*node).iter().map(|node| profile.name_of(*node)).collect();
            names.ends_with(path)
        });
        node.map(|node| inclusive[node.index()])
    };
    // What `callgrind_annotate --inclusive=yes --tree=both` says of the same file.
    assert_eq!(of(&["main", "fib", "fib"]), Some(7_649));
    assert_eq!(of(&["main", "twice", "fill"]), Some(16_026));
    assert_eq!(of(&["main", "fill"]), Some(32_013));
    assert_eq!(of(&["main", "even", "odd"]), Some(256));
}
