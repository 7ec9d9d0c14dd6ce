//! Real recordings: every one of the corpus with the totals that other tools count in it.

use std::path::Path;

use perfblame_cct::Profile;
use perfblame_fixtures::{corpus_files, damaged, samples};
use perfblame_readers::{Input, ReadError, ReadOptions, read};

/// Samples in each file of the corpus; none where no other tool counts them.
const SAMPLES: &[(&str, u64)] = &[
    ("fibo.compressed2.pipe.data", 547),
    ("hotspot-perf.data.true.v1", 0),
    ("hotspot-perf.data.true.v2.gz", 1),
    ("perf.data.armv7-3.4.gz", 3893),
    ("perf.data.branch-4.14", 13),
    ("perf.data.callgraph-3.8.gz", 1768),
    ("perf.data.ctx_switch_namespaces-4.14", 2),
    ("perf.data.forkexit-3.8.gz", 10335),
    ("perf.data.group_desc-4.14", 13),
    ("perf.data.hybrid_topology", 7),
    ("perf.data.i686-3.4.gz", 703),
    ("perf.data.lost_samples-4.4", 191),
    ("perf.data.piped.header_features_aligned-6.12", 9),
    ("perf.data.piped.target-3.8.gz", 5218),
    ("perf.data.raw_callgraph_branch-3.4.gz", 513),
    ("perf.data.remmap-3.2", 198),
    ("perf.data.singleprocess-3.4", 77),
    ("perfparser-vector_static_clang.perf.data.gz", 54),
    ("perfparser-vector_static_gcc.perf.data.gz", 45),
    ("perfview-sched-tracepoints.perf.data.gz", 602),
    ("sleep.compressed.data", 8),
    ("sleep.compressed.pipe.data", 8),
    ("sleep.compressed2.data", 7),
    ("sleep.compressed2.pipe.data", 7),
    ("sleep.data", 7),
];

fn read_file(path: &Path) -> Result<Profile, ReadError> {
    read(Input::open(path)?, &ReadOptions::default())
}

#[test]
fn every_recording_has_the_samples_that_other_tools_count() {
    for path in corpus_files("perf-data") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let profile = read_file(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(profile.info.format, "perf.data", "{name}");
        println!("{name} {} {:?} {:?}", profile.samples, profile.info, profile.warnings);
        println!("{:?}", profile.metrics);
        if let Some((_, expected)) = SAMPLES.iter().find(|row| row.0 == name) {
            assert_eq!(profile.samples, *expected, "{name}");
        }
        let total: i64 = profile.self_values(profile.metric("samples").unwrap()).iter().sum();
        assert_eq!(total as u64, profile.samples, "{name}: each sample has a place in the tree");
    }
}
