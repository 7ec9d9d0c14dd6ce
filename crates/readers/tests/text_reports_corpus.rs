//! The text formats of many tools, each with a file or two in the corpus, against what other readers make of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod stackcollapse;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use perfblame_cct::{Grain, Profile};
use perfblame_fixtures::corpus;
use perfblame_readers::{FORMATS, Input, ReadOptions, read};
use stackcollapse::{Folded, parse, tidy};

/// File, format, samples, metrics with their totals, nodes, threads.
type Row = (&'static str, &'static str, u64, &'static [(&'static str, i64)], usize, usize);
const EXPECTED: &[Row] = &[
    ("other/inferno-dtrace-rust.txt", "dtrace", 6, &[("samples", 6)], 31, 0),
    ("other/gprof2dot-go.dtrace", "dtrace", 178, &[("samples", 178)], 146, 0),
    (
        "macos/inferno-xctrace-basic.xml.gz",
        "xctrace",
        9581,
        &[("cpu", 9_581_000_000), ("samples", 9581)],
        25,
        1,
    ),
    (
        "windows/gprof2dot-val3.xperf.csv.gz",
        "xperf",
        5045,
        &[("cpu", 5_045_146_811), ("samples", 5045)],
        89,
        1,
    ),
    ("other/inferno-dtrace-hex.txt", "dtrace", 4, &[("samples", 4)], 33, 0),
    (
        "macos/inferno-sample.txt",
        "macos sample",
        2475,
        &[("wall", 2_475_000_000), ("samples", 2475)],
        101,
        3,
    ),
    (
        "macos/instruments-7.3.1-simple-time-profile-deep-copy.txt",
        "instruments",
        0,
        &[("cpu", 4_273_000_000)],
        58,
        0,
    ),
    (
        "macos/instruments-7.3.1-random-allocations-deep-copy.txt",
        "instruments",
        0,
        &[("allocated", 450_814_280), ("allocations", 84_671)],
        26,
        0,
    ),
    (
        "macos/instruments-13.4-cycles-example-deep-copy.txt",
        "instruments",
        0,
        &[("cycles", 96_086_420_532)],
        44,
        1,
    ),
    (
        "macos/instruments-16.0-simple-time-profile-deep-copy.txt",
        "instruments",
        0,
        &[("cpu", 4_930_000_000)],
        94,
        0,
    ),
    ("other/inferno-vtune.csv", "vtune", 0, &[("cpu", 168_572_000)], 62, 0),
    (
        "other/inferno-ghc-ticks.prof",
        "ghc",
        23,
        &[("cpu", 23_000_000), ("allocated", 59_542_424), ("calls", 24_252)],
        300,
        0,
    ),
    (
        "other/speedscope-haskell-simple.prof",
        "ghc",
        798,
        &[("cpu", 798_000_000), ("allocated", 1_921_672_664), ("calls", 50_899_714)],
        179,
        0,
    ),
    (
        "other/speedscope-pmcstat-simple.txt",
        "pmcstat",
        12_603,
        &[("inst_retired.any", 12_603)],
        40,
        0,
    ),
    (
        "other/gprof2dot-gnu1.prof.gz",
        "gprof",
        0,
        &[("cpu", 330_000_000), ("calls", 323_572)],
        1674,
        0,
    ),
    ("other/gprof2dot-ibm.prof", "gprof", 0, &[("cpu", 1_170_000_000), ("calls", 2706)], 42, 0),
    (
        "windows/inferno-vsprof-CallTreeSummary.csv",
        "vsprof",
        0,
        &[("wall", 122_235_330_000), ("calls", 63_576_647)],
        162,
        1,
    ),
    ("windows/perfview-ls.strace", "strace", 0, &[("wall", 15_473_000), ("calls", 103)], 22, 0),
    (
        "windows/perfview-perf.strace.gz",
        "strace",
        0,
        &[("wall", 5_797_705_000), ("calls", 407)],
        3,
        0,
    ),
    (
        "hpctoolkit/tau-cpi-mpi/profile.0.0.0",
        "tau",
        0,
        &[("wall", 51_781_000), ("calls", 12)],
        12,
        1,
    ),
    (
        "hpctoolkit/tau-cpi-mpi/profile.1.0.0",
        "tau",
        0,
        &[("wall", 55_329_000), ("calls", 12)],
        12,
        1,
    ),
];

fn open(path: &Path) -> Profile {
    let input = Input::open(path).unwrap();
    read(input, &ReadOptions { grain: Grain::Frames, ..ReadOptions::default() }).unwrap()
}

fn text_of(path: &Path) -> String {
    let mut text = String::new();
    Input::open(path).unwrap().into_stream().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn every_report_has_its_totals() {
    let Some(corpus) = corpus() else { return };
    for (file, format, samples, metrics, nodes, threads) in EXPECTED {
        let path = corpus.join(file);
        let input = Input::open(&path).unwrap();
        let claims: Vec<_> = FORMATS
            .iter()
            .filter(|format| (format.sniff)(&input))
            .map(|format| format.name)
            .collect();
        assert_eq!(claims, [*format], "{file}");
        let profile = open(&path);
        let totals: Vec<_> = (profile.metrics())
            .map(|(id, metric)| (metric.name.as_str(), profile.cells.total(id)))
            .collect();
        assert_eq!(
            (profile.samples, totals.as_slice(), profile.tree.len(), profile.threads.len()),
            (*samples, *metrics, *nodes, *threads),
            "{file}"
        );
        let warned: Vec<_> = profile.warnings.iter().map(|w| (w.code.as_str(), w.count)).collect();
        let cycles: &[_] = if file.contains("gnu1") { &[("call-graph-cycles", 6)] } else { &[] };
        assert_eq!(warned, cycles, "{file}");
    }
}

/// Stacks as `module`function;…`, unknown functions by their address.
fn fold(profile: &Profile, metric: &str, with_module: bool) -> Folded {
    let mut folded = Folded::new();
    let symbols = &profile.symbols;
    for (node, _, value) in profile.cells.of(profile.metric(metric).unwrap()) {
        let path = profile.tree.path(node).into_iter().map(|node| {
            let frame = symbols.frame(profile.tree.frame(node));
            let name = tidy(symbols.name(frame.function));
            match (symbols.component(frame.function), frame.address) {
                (_, Some(address)) if name == "[unknown]" => format!("{:#x}", address.get()),
                (Some(module), _) if with_module => format!("{module}`{name}"),
                _ => name,
            }
        });
        *folded.entry(path.collect::<Vec<_>>().join(";")).or_default() += value;
    }
    folded
}

/// Their stacks with every frame in our words.
fn theirs(path: &Path, name: impl Fn(&str) -> Option<String>) -> Folded {
    let mut folded = Folded::new();
    for (stack, count) in parse(&text_of(path)) {
        // inferno leaves an underscore where it finishes Rust's half demangled names.
        let stack = stack.replace("::_{{", "::{{").replace("::_<", "::<");
        let frames: Vec<_> = stack.split(';').filter_map(&name).collect();
        *folded.entry(frames.join(";")).or_default() += count;
    }
    folded
}

/// Names the stacks that only one of the two has, or has with another value, by their last frames.
fn assert_same(ours: &Folded, theirs: &Folded, what: &str) {
    let mut differences = Vec::new();
    for stack in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        let (we, they) = (ours.get(stack), theirs.get(stack));
        if we != they {
            let frames: Vec<_> = stack.rsplit(';').take(5).collect();
            differences.push(format!("{frames:?}: ours {we:?}, theirs {they:?}"));
        }
    }
    assert!(differences.is_empty(), "{what}: {differences:#?}");
}

#[test]
fn dtrace_stacks_equal_inferno_s() {
    let Some(corpus) = corpus() else { return };
    for file in ["inferno-dtrace-hex.txt", "inferno-dtrace-rust.txt"] {
        let ours = fold(&open(&corpus.join("other").join(file)), "samples", true);
        let expected = corpus.join(format!("other/expected/{file}.folded"));
        // Theirs keeps the parameters of functions outside classes.
        let theirs = theirs(&expected, |frame| Some(tidy(frame)));
        assert_same(&ours, &theirs, file);
    }
}

#[test]
fn sample_reports_equal_inferno_s() {
    // Theirs leaves out stacks that end in one of these.
    const WAITING: [&str; 10] = [
        "__psynch_cvwait",
        "__select",
        "__semwait_signal",
        "__ulock_wait",
        "__wait4",
        "__workq_kernreturn",
        "kevent",
        "mach_msg_trap",
        "read",
        "semaphore_wait_trap",
    ];
    let Some(corpus) = corpus() else { return };
    let mut ours = Folded::new();
    for (stack, count) in fold(&open(&corpus.join("macos/inferno-sample.txt")), "samples", true) {
        let last = stack.rsplit(['`', ';']).next().unwrap();
        if !WAITING.contains(&last) {
            *ours.entry(stack.replace(".dylib`", "`")).or_default() += count;
        }
    }
    // The thread is no frame.
    let mut theirs = theirs(&corpus.join("macos/expected/inferno-sample-default.txt"), |frame| {
        (!frame.starts_with("Thread_")).then(|| tidy(frame))
    });
    // Of several lines with the same stack theirs keeps the last: 2 of 14 and 2 of 8 samples.
    let twice = ours.keys().find(|stack| ours[*stack] == 22 && stack.ends_with("`__open")).cloned();
    let twice = twice.unwrap();
    assert_eq!((ours.remove(&twice), theirs.remove(&twice)), (Some(22), Some(4)));
    assert_same(&ours, &theirs, "");
}

#[test]
fn xctrace_samples_equal_inferno_s() {
    let Some(corpus) = corpus() else { return };
    let ours = fold(&open(&corpus.join("macos/inferno-xctrace-basic.xml.gz")), "samples", false);
    let theirs = theirs(&corpus.join("macos/expected/inferno-xctrace-basic.folded"), |frame| {
        Some(tidy(frame))
    });
    assert_same(&ours, &theirs, "");
}

#[test]
fn vtune_times_equal_inferno_s() {
    let Some(corpus) = corpus() else { return };
    let ours = fold(&open(&corpus.join("other/inferno-vtune.csv")), "cpu", true);
    // Theirs counts milliseconds and takes the line of totals for a function.
    let ours: BTreeMap<_, _> =
        ours.into_iter().map(|(stack, value)| (stack, (value + 500_000) / 1_000_000)).collect();
    let theirs = theirs(&corpus.join("other/expected/inferno-vtune.csv.folded"), |frame| {
        (frame != "[Unknown]`Total")
            .then(|| tidy(frame.strip_prefix("[Unknown]`").unwrap_or(frame)))
    });
    let theirs: BTreeMap<_, _> = theirs.into_iter().filter(|(_, count)| *count > 0).collect();
    assert_same(&ours, &theirs, "");
}

#[test]
fn ghc_ticks_equal_inferno_s_shares() {
    let Some(corpus) = corpus() else { return };
    let profile = open(&corpus.join("other/inferno-ghc-ticks.prof"));
    let mut ours = Folded::new();
    for (stack, value) in fold(&profile, "cpu", true) {
        // Ticks of a millisecond, of 23 in all; theirs has tenths of a percent.
        let share = (value as f64 / 23e6 * 1000.0).round() as i64;
        ours.insert(stack.replace('`', "."), share);
    }
    let theirs = theirs(&corpus.join("other/expected/inferno-ghc-ticks.prof.folded"), |frame| {
        Some(tidy(frame))
    });
    let theirs: Folded = theirs.into_iter().filter(|(_, count)| *count > 0).collect();
    let rounded = |folded: &Folded| -> Vec<_> { folded.keys().cloned().collect() };
    assert_eq!(rounded(&ours), rounded(&theirs));
    for (stack, share) in &ours {
        assert!((share - theirs[stack]).abs() <= 1, "{stack}");
    }
}

#[test]
fn vsprof_stacks_are_inferno_s() {
    let Some(corpus) = corpus() else { return };
    let profile = open(&corpus.join("windows/inferno-vsprof-CallTreeSummary.csv"));
    let path = |node| {
        let names = profile.tree.path(node).into_iter().map(|node| tidy(profile.name_of(node)));
        names.collect::<Vec<_>>().join(";")
    };
    let ours: BTreeSet<_> = profile.tree.nodes().map(path).collect();
    // Theirs takes calls for samples and subtracts those of the callees, so numbers of calls cannot be compared.
    let theirs = theirs(&corpus.join("windows/expected/inferno-vsprof.txt"), |frame| {
        // Functions known by a token only.
        Some(if frame.starts_with("0x") { "[unknown]".to_owned() } else { tidy(frame) })
    });
    for stack in theirs.keys() {
        assert!(ours.contains(stack), "{stack}");
    }
    for leaf in profile.tree.nodes().filter(|node| profile.tree.children(*node).next().is_none()) {
        assert!(theirs.contains_key(&path(leaf)), "{}", path(leaf));
    }
}

#[test]
fn strace_durations_equal_perfview_s() {
    let Some(corpus) = corpus() else { return };
    for (file, expected, left_out) in [
        ("perfview-ls.strace", "perfview-ls.strace.perfview.xml", 0),
        // PerfView leaves out the first call, which was running when strace came.
        ("perfview-perf.strace.gz", "perfview-perf.strace.perfview.xml.gz", 378_930_000),
    ] {
        let profile = open(&corpus.join("windows").join(file));
        let xml = text_of(&corpus.join("windows/expected").join(expected));
        let millis: f64 = (xml.split("Metric=\"").skip(1))
            .map(|rest| rest.split('"').next().unwrap().parse::<f64>().unwrap())
            .sum();
        let wall = profile.cells.total(profile.metric("wall").unwrap());
        assert_eq!(wall - left_out, (millis * 1e6).round() as i64, "{file}");
    }
}
