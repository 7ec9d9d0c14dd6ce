//! The text formats on the samples inside the project: what they hold, and what is left of them when damaged.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use expect_test::expect;
use perfblame_cct::Grain;
use perfblame_fixtures::{read_damaged, samples};
use perfblame_readers::{FORMATS, Input, ReadError, ReadOptions, read};
use std::fmt::Write as _;

/// The folder of samples and the format of each.
const FOLDERS: &[(&str, &str)] = &[
    ("bpftrace", "bpftrace"),
    ("bpftrace_events", "bpftrace events"),
    ("dtrace", "dtrace"),
    ("folded", "folded"),
    ("ftrace", "ftrace"),
    ("ghc", "ghc"),
    ("gprof", "gprof"),
    ("instruments", "instruments"),
    ("macos_sample", "macos sample"),
    ("perf_script", "perf script"),
    ("perf_trace", "perf trace"),
    ("pmcstat", "pmcstat"),
    ("strace", "strace"),
    ("tau", "tau"),
    ("vsprof", "vsprof"),
    ("vtune", "vtune"),
    ("xctrace", "xctrace"),
    ("xperf", "xperf"),
];

fn files() -> Vec<(&'static str, PathBuf)> {
    let mut files = Vec::new();
    for (folder, format) in FOLDERS {
        let entries = std::fs::read_dir(samples().join(folder)).unwrap();
        files.extend(entries.map(|entry| (*format, entry.unwrap().path())));
    }
    files.sort();
    files
}

#[test]
fn samples_hold_what_they_should() {
    let mut out = String::new();
    for (format, path) in files() {
        let input = Input::open(&path).unwrap();
        let claims = FORMATS.iter().filter(|format| (format.sniff)(&input));
        let claims: Vec<_> = claims.map(|format| format.name).collect();
        assert_eq!(claims, [format], "{}", path.display());
        for grain in [Grain::CallSites, Grain::Frames] {
            read(Input::open(&path).unwrap(), &ReadOptions { grain, ..ReadOptions::default() })
                .unwrap();
        }
        let profile = read(input, &ReadOptions::default()).unwrap();
        let _ = write!(out, "{} {}:", format, path.file_name().unwrap().to_str().unwrap());
        for (id, metric) in profile.metrics() {
            let _ = write!(out, " {} {}", metric.name, metric.shown(profile.cells.total(id)));
        }
        let (nodes, threads) = (profile.tree.len(), profile.threads.len());
        let _ = write!(out, "; {} samples, {nodes} nodes, {threads} threads", profile.samples);
        for warning in &profile.warnings {
            let _ = write!(out, "; {} × {}", warning.count, warning.code);
        }
        out.push('\n');
    }
    expect![[r#"
        bpftrace made.txt: samples 7; 7 samples, 6 nodes, 0 threads
        bpftrace events work.txt: samples 44; 44 samples, 60 nodes, 1 threads
        dtrace made.txt: samples 5; 5 samples, 4 nodes, 0 threads
        folded austin-3.7-full.txt: wall 445731000 cpu 309500000 allocated 7921664 freed 0; 38 samples, 83 nodes, 2 threads
        folded made.txt: samples 10.5; 11 samples, 8 nodes, 1 threads; 1 × damaged-lines
        folded py-spy-0.4-threads.folded: samples 230; 230 samples, 30 nodes, 2 threads
        folded speedscope-simple-utf16-le.txt: samples 14; 14 samples, 4 nodes, 0 threads
        folded speedscope-simple.txt: samples 14; 14 samples, 4 nodes, 0 threads
        ftrace trace-cmd-report.txt: samples 58; 58 samples, 50 nodes, 1 threads; 123 × frames-without-object
        ftrace trace_pipe.txt: samples 59; 59 samples, 276 nodes, 1 threads; 17 × frames-without-object
        ghc speedscope-haskell-simple.prof: cpu 798000000 allocated 1921672664 calls 50899714; 798 samples, 179 nodes, 0 threads
        gprof made.txt: cpu 50000000 calls 12; 0 samples, 4 nodes, 0 threads
        instruments instruments-16.0-simple-time-profile-deep-copy.txt: cpu 4930000000; 0 samples, 94 nodes, 0 threads
        instruments instruments-7.3.1-random-allocations-deep-copy.txt: allocated 450814280 allocations 84671; 0 samples, 26 nodes, 0 threads
        macos sample made.txt: wall 15000000 samples 15; 15 samples, 6 nodes, 2 threads
        perf script made.txt: cpu 20202020 samples 3 sched:sched_switch 1; 3 samples, 9 nodes, 3 threads
        perf script perfview-corner_case_process_names.perf.data.dump: event_name 6 samples 6; 6 samples, 13 nodes, 6 threads
        perf script speedscope-simple-with-header.linux-perf.txt.gz: cpu 136136136 samples 136; 136 samples, 9 nodes, 1 threads
        perf trace work.txt: wall 498237000 calls 26 samples 4; 4 samples, 56 nodes, 1 threads; 1 × events-without-time; 1 × calls-without-duration; 1 × unfinished-calls
        pmcstat speedscope-pmcstat-simple.txt: inst_retired.any 12603; 12603 samples, 40 nodes, 0 threads
        strace perfview-ls.strace: wall 15473000 calls 103; 0 samples, 22 nodes, 0 threads
        tau profile.0.0.0: wall 51781000 calls 12; 0 samples, 12 nodes, 1 threads
        vsprof made.csv: wall 100000000 calls 1001; 0 samples, 2 nodes, 1 threads
        vtune made.csv: cpu 36000000; 0 samples, 4 nodes, 0 threads
        xctrace made.xml: cpu 3000000 samples 3; 3 samples, 2 nodes, 1 threads
        xperf made.csv: cpu 2000000 samples 2; 2 samples, 3 nodes, 1 threads
    "#]].assert_eq(&out);
}

#[test]
fn damaged_samples_neither_panic_nor_hang() {
    let start = Instant::now();
    for (format, path) in files() {
        let format = FORMATS.iter().find(|row| row.name == format).unwrap();
        let mut whole = Vec::new();
        let mut stream = Input::open(&path).unwrap().into_stream().unwrap();
        std::io::Read::read_to_end(&mut stream, &mut whole).unwrap();
        let seeds = if whole.len() < 4096 { 300 } else { 40 };
        for grain in [Grain::Functions, Grain::Frames] {
            let options = ReadOptions { grain, ..ReadOptions::default() };
            // By its own reader, whatever it looks like now.
            read_damaged(&whole, 0..seeds, |bytes| {
                let input = Input::from_bytes(bytes)?;
                let _ = (format.sniff)(&input);
                let profile = (format.read)(input, &options)?;
                let few = profile.tree.len() <= whole.len() * 4;
                assert!(few || grain == Grain::Frames, "{}", path.display());
                Ok::<_, ReadError>(())
            });
        }
    }
    assert!(start.elapsed() < Duration::from_secs(120));
}
