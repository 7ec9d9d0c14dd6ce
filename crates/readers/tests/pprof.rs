//! pprof profiles of the corpus: totals as counted by another program.

use perfblame_fixtures::{corpus, read_damaged, samples};
use perfblame_readers::{Input, ReadOptions, read};

/// File, sample records, and totals of the metrics, the default one first.
const FILES: &[(&str, u64, &str)] = &[
    ("google-large.cpu.pb.gz", 20_430, "cpu/ns=240290000000 samples/count=24029"),
    ("google-report-sample.cpu.pb.gz", 76, "cpu/ns=1760000000 samples/count=176"),
    ("speedscope-simple.prof", 9, "cpu/ns=1500000000 samples/count=150"),
    (
        "parca-alloc_objects.pb.gz",
        4_661,
        "alloc_space/bytes=116044559690 alloc_objects/count=310797348 inuse_objects/count=74172 inuse_space/bytes=14730706",
    ),
    ("parca-fgprof.pb.gz", 175, "time/ns=2104393918350 samples/count=208335"),
    ("parca-profile-with-labels.pb.gz", 439, "samples/count=462"),
    ("parca-fib.pb.gz", 120, "cpu/ns=29740000000 samples/count=2974"),
    ("parca-no-python.pb.gz", 4, "samples/count=4"),
    ("parca-single-stack.pb.gz", 1, "cpu/ns=52631578"),
    ("parca-two-stacks.pb.gz", 2, "cpu/ns=368421046"),
    (
        "parca-many/1644509272337470000.pb.gz",
        54,
        "inuse_space/bytes=48928729 alloc_objects/count=83487 alloc_space/bytes=51965338 inuse_objects/count=73788",
    ),
    (
        "parca-many/1644509275338070000.pb.gz",
        81,
        "inuse_space/bytes=48928729 alloc_objects/count=83487 alloc_space/bytes=51965338 inuse_objects/count=73788",
    ),
    (
        "parca-many/1644509278338696000.pb.gz",
        100,
        "inuse_space/bytes=48928729 alloc_objects/count=83487 alloc_space/bytes=51965338 inuse_objects/count=73788",
    ),
    (
        "parca-many/1644509281339135000.pb.gz",
        108,
        "inuse_space/bytes=48928729 alloc_objects/count=83487 alloc_space/bytes=51965338 inuse_objects/count=73788",
    ),
    (
        "parca-many/1644509284338649000.pb.gz",
        114,
        "inuse_space/bytes=48928729 alloc_objects/count=83487 alloc_space/bytes=51965338 inuse_objects/count=73788",
    ),
    (
        "parca-many/1644509287338709000.pb.gz",
        125,
        "inuse_space/bytes=48928729 alloc_objects/count=83487 alloc_space/bytes=51965338 inuse_objects/count=73788",
    ),
    (
        "parca-many/1644509290338056000.pb.gz",
        135,
        "inuse_space/bytes=48928729 alloc_objects/count=83487 alloc_space/bytes=51965338 inuse_objects/count=73788",
    ),
    (
        "parca-many/1644509293338714000.pb.gz",
        145,
        "inuse_space/bytes=48928729 alloc_objects/count=83487 alloc_space/bytes=51965338 inuse_objects/count=73788",
    ),
    (
        "parca-many/1644509296350592000.pb.gz",
        162,
        "inuse_space/bytes=143698391 alloc_objects/count=112767 alloc_space/bytes=149359340 inuse_objects/count=82373",
    ),
    (
        "parca-many/1644509299337903000.pb.gz",
        241,
        "inuse_space/bytes=143698391 alloc_objects/count=112767 alloc_space/bytes=149359340 inuse_objects/count=82373",
    ),
    ("parca-node-profile.pb.gz", 190, "samples/count=190"),
    ("parca-inlining-disabled-cpu.stripped.pprof", 82, "cpu/ns=10200000000 samples/count=1020"),
    ("parca-normal-cpu.stripped.pprof", 56, "cpu/ns=9070000000 samples/count=907"),
    ("parca-stripped-cpu.stripped.pprof", 55, "cpu/ns=9580000000 samples/count=958"),
];

fn totals(profile: &perfblame_cct::Profile) -> String {
    let total = |(id, metric): (_, &perfblame_cct::Metric)| {
        format!("{}/{}={}", metric.name, metric.unit.name(), profile.cells.total(id))
    };
    profile.metrics().map(total).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_corpus_is_read_with_its_totals() {
    let Some(corpus) = corpus() else { return };
    for (file, samples, expected) in FILES {
        let path = corpus.join("pprof").join(file);
        let profile = read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
        assert_eq!(profile.info.format, "pprof", "{file}");
        assert_eq!(profile.samples, *samples, "{file}");
        assert_eq!(totals(&profile), *expected, "{file}");
        assert!(profile.warnings.is_empty(), "{file}: {:?}", profile.warnings);
    }
}

#[test]
fn pprof_never_panics() {
    for sample in ["google-report-sample.cpu.pb.gz", "parca-node-profile.pb.gz"] {
        let bytes = std::fs::read(samples().join("pprof").join(sample)).unwrap();
        let unpacked = Input::from_bytes(bytes).unwrap().read_all().unwrap();
        read_damaged(&unpacked, 0..300, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
    }
}
