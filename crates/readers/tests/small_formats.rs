//! The samples of formats that people have one file of at a time: each is recognised by its bytes alone, read with the
//! totals that other programs state, and comes back unchanged from perfblame's own file.

use perfblame_cct::{Grain, NameKinds, Times, dump};
use perfblame_fixtures::{read_damaged, samples};
use perfblame_readers::{FORMATS, Input, ReadOptions, ScriptOptions, read};

/// File, format, samples, first metric, its total as stored.
const FILES: &[(&str, &str, u64, &str, i64)] = &[
    ("caliper/lulesh.cali", "Caliper", 0, "time.duration", 493_788),
    ("caliper/lulesh.json", "Caliper", 0, "time.duration", 47_247_337_000_000),
    ("firefox/firefox59-simple.json.gz", "Firefox Profiler", 38, "samples", 38),
    ("firefox/firefox63-simple.json.gz", "Firefox Profiler", 39, "samples", 39),
    ("hpctoolkit/experiment.xml", "HPCToolkit", 0, "cpu", 3_998_242_000),
    ("perfview/ls.strace.perfview.xml", "PerfView XML", 102, "metric", 15_473),
    ("pyinstrument/hatchet.json.gz", "pyinstrument", 432, "wall", 478_150_000),
    ("pyinstrument/work.pyisession.gz", "pyinstrument", 260, "wall", 1_216_794_707),
    ("speedscope/0.0.1-simple.speedscope.json", "speedscope", 0, "weight", 14),
    ("speedscope/0.6.0-two-sampled.speedscope.json", "speedscope", 10, "wall", 28_000_000_000),
    ("speedscope/py-spy-0.4.json", "speedscope", 155, "wall", 1_550_000_000),
    ("stackprof/simple-stackprof.json.gz", "stackprof", 1554, "wall", 1_551_604_000),
    ("timemory/wall.tree.json.gz", "timemory", 0, "wall", 113_816_802_493),
];

const EVERYTHING: ReadOptions = ReadOptions {
    grain: Grain::Frames,
    times: Times::Keep,
    names: NameKinds::none(),
    scripts: ScriptOptions::NONE,
};

#[test]
fn samples_have_their_totals() {
    for (file, format, samples_taken, metric, total) in FILES {
        let profile = read(Input::open(&samples().join(file)).unwrap(), &EVERYTHING).unwrap();
        assert_eq!(profile.info.format, *format, "{file}");
        assert_eq!(profile.samples, *samples_taken, "{file}");
        let first = profile.metric(metric).unwrap();
        assert_eq!(first.index(), 0, "{file}");
        assert_eq!(profile.cells.total(first), *total, "{file}");
        assert!(profile.warnings.is_empty(), "{file}: {:?}", profile.warnings);
    }
}

#[test]
fn one_format_claims_each_sample() {
    for (file, format, ..) in FILES {
        let input = Input::open(&samples().join(file)).unwrap();
        let claims: Vec<_> = FORMATS.iter().filter(|format| (format.sniff)(&input)).collect();
        let claims: Vec<_> = claims.iter().map(|format| format.name).collect();
        assert_eq!(claims, [*format], "{file}");
    }
}

#[test]
fn perfblame_files_give_back_what_they_were_given() {
    for (file, ..) in FILES {
        let profile = read(Input::open(&samples().join(file)).unwrap(), &EVERYTHING).unwrap();
        let mut bytes = Vec::new();
        perfblame_file::write(&profile, &mut bytes).unwrap();
        let again = read(Input::from_bytes(bytes).unwrap(), &EVERYTHING).unwrap();
        assert_eq!(dump(&again), dump(&profile), "{file}");
    }
}

#[test]
fn a_metric_database_leads_to_its_experiment() {
    let folder = samples().join("hpctoolkit");
    let rank = folder.join("1.cpi-000002-000-a8c00270-160445-0.metric-db");
    let whole = read(Input::open(&folder.join("experiment.xml")).unwrap(), &EVERYTHING).unwrap();
    let found = read(Input::open(&rank).unwrap(), &EVERYTHING).unwrap();
    assert_eq!(dump(&found), dump(&whole));
    let alone = Input::from_bytes(std::fs::read(&rank).unwrap()).unwrap();
    let error = read(alone, &EVERYTHING).unwrap_err();
    assert!(error.help.unwrap().contains("experiment.xml"));
}

#[test]
fn damaged_samples_never_panic() {
    for (file, ..) in FILES {
        let bytes = Input::open(&samples().join(file)).unwrap().read_all().unwrap();
        read_damaged(&bytes, 0..40, |bytes| read(Input::from_bytes(bytes)?, &EVERYTHING));
    }
}
