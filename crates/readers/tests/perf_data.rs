//! Real recordings: every one of the corpus with the totals that other tools count in it.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use expect_test::expect;
use perfblame_cct::{Grain, Profile, TRUNCATED, Times};
use perfblame_fixtures::{corpus, corpus_files, damaged, draw, samples};
use perfblame_readers::perf_data::read_tracepoints;
use perfblame_readers::perf_data::tracepoint::TracepointValue;
use perfblame_readers::{Input, ReadOptions, read};

/// Samples in each file of the corpus, as the manifest has them from perf or from a walk over the records. In the
/// corrupted file 227 is what is left when a record of size zero costs 48 bytes.
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
    ("perf.data.piped.corrupted.zero_size_sample-3.2", 227),
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

fn read_with(path: &Path, grain: Grain, times: Times) -> Profile {
    let input = Input::open(path).unwrap();
    read(input, &ReadOptions { grain, times, ..ReadOptions::default() })
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn own_samples() -> Vec<PathBuf> {
    ["sleep.data.gz", "sleep.compressed2.pipe.data.gz", "tower.perf.data.gz"]
        .map(|name| samples().join("perf-data").join(name))
        .to_vec()
}

/// The text of a packed file of expected output.
fn expected(name: &str) -> Option<String> {
    let path = corpus()?.join(name);
    let mut text = String::new();
    Input::open(&path).unwrap().into_stream().unwrap().read_to_string(&mut text).unwrap();
    Some(text)
}

#[test]
fn every_recording_has_the_samples_that_other_tools_count() {
    for path in corpus_files("perf-data") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let profile = read_with(&path, Grain::Functions, Times::Drop);
        assert_eq!(profile.info.format, "perf.data", "{name}");
        let (_, expected) = SAMPLES.iter().find(|row| row.0 == name).expect(name);
        assert_eq!(profile.samples, *expected, "{name}");
        let total: i64 = profile.self_values(profile.metric("samples").unwrap()).iter().sum();
        assert_eq!(total as u64, profile.samples, "{name}: each sample has a place in the tree");
    }
}

#[test]
fn every_sample_is_its_threads() {
    for name in [
        "perf.data.callgraph-3.8.gz",
        "perf.data.lost_samples-4.4",
        "perf.data.remmap-3.2",
        "perf.data.singleprocess-3.4",
    ] {
        let plain = name.trim_end_matches(".gz");
        let Some(text) = expected(&format!("perf-data/expected/{plain}.pb_text.gz")) else {
            return;
        };
        // Every record as protobuf text; samples are the blocks named so.
        let mut theirs: BTreeMap<(u64, u64), i64> = BTreeMap::new();
        let mut lines = text.lines().map(str::trim);
        while let Some(line) = lines.next() {
            if line != "sample_event {" {
                continue;
            }
            let fields: Vec<_> = lines.by_ref().take_while(|line| *line != "}").collect();
            let field = |name: &str| {
                let value = fields.iter().find_map(|line| line.strip_prefix(name)).unwrap();
                value.trim_start_matches(": ").parse().unwrap()
            };
            *theirs.entry((field("pid"), field("tid"))).or_default() += 1;
        }
        assert!(!theirs.is_empty(), "{name}");
        let path = corpus().unwrap().join("perf-data").join(name);
        let profile = read_with(&path, Grain::Functions, Times::Keep);
        let mut ours: BTreeMap<(u64, u64), i64> = BTreeMap::new();
        for sample in &profile.timeline.as_ref().unwrap().samples {
            let thread = profile.threads[sample.thread.unwrap().index()];
            *ours.entry((thread.pid.unwrap(), thread.tid.unwrap())).or_default() += 1;
        }
        assert_eq!(ours, theirs, "{name}");
    }
}

/// Addresses where no file is mapped are numbers of one run in perf's text and not kept here.
fn known(address: &str) -> &str {
    let number = u64::from_str_radix(address, 16).unwrap();
    if number >> 28 != 0 && number >> 63 == 0 { "?" } else { address }
}

/// Where frame pointers led astray perf prints what they led to; here the stack ends.
fn without_strays(stack: &[&str]) -> String {
    let end = stack.iter().rposition(|address| *address != "?").map_or(0, |last| last + 1);
    stack[..end].join(" ")
}

#[test]
fn tracepoints_have_the_stacks_that_perf_prints() {
    let script = "perf-script/perfview-sched-tracepoints.perf-script.txt.gz";
    let Some(text) = expected(script) else { return };
    let mut theirs: BTreeMap<String, i64> = BTreeMap::new();
    for sample in text.split("\n\n").filter(|sample| !sample.trim().is_empty()) {
        let mut lines = sample.lines();
        let head = lines.next().unwrap();
        let event = head.split_whitespace().find(|word| word.starts_with("sched:")).unwrap();
        // `kworker/u128:1 31619/31619 [000]`
        let (before, _) = head.split_once(" [0").unwrap();
        let tid = before.trim_end().rsplit('/').next().unwrap();
        let stack: Vec<_> = lines.map(str::trim).map(known).collect();
        let stack = without_strays(&stack);
        let key = format!("{} {tid} {stack}", event.trim_end_matches(':'));
        *theirs.entry(key).or_default() += 1;
    }
    let path = corpus().unwrap().join("perf-data/perfview-sched-tracepoints.perf.data.gz");
    let profile = read_with(&path, Grain::Frames, Times::Keep);
    let mut ours: BTreeMap<String, i64> = BTreeMap::new();
    for sample in &profile.timeline.as_ref().unwrap().samples {
        let mut stack = Vec::new();
        let mut at = Some(sample.node);
        while let Some(node) = at {
            let frame = profile.symbols.frame(profile.tree.frame(node));
            if profile.symbols.name(frame.function) != TRUNCATED {
                stack.push(frame.address.map_or("?".to_owned(), |at| format!("{at:x}")));
            }
            at = profile.tree.parent(node);
        }
        let stack: Vec<_> = stack.iter().map(String::as_str).collect();
        let stack = without_strays(&stack);
        let tid = profile.threads[sample.thread.unwrap().index()].tid.unwrap();
        let event = &profile.metrics[sample.metric.index()].name;
        *ours.entry(format!("{event} {tid} {stack}")).or_default() += 1;
    }
    assert_eq!(ours.values().sum::<i64>(), 602);
    let differ = |a: &BTreeMap<String, i64>, b: &BTreeMap<String, i64>| -> Vec<String> {
        let rows = a.iter().filter(|(key, count)| b.get(*key) != Some(count));
        rows.map(|(key, count)| format!("{count} {key}")).collect()
    };
    assert_eq!(differ(&ours, &theirs), differ(&theirs, &ours));
}

#[test]
fn fields_of_tracepoints_say_who_was_switched_to() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("perf-data/perfview-sched-tracepoints.perf.data.gz");
    let mut switches = Vec::new();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    read_tracepoints(Input::open(&path).unwrap(), &mut |event| {
        *counts.entry(format!("{}:{}", event.format.system, event.format.name)).or_default() += 1;
        if event.format.name == "sched_switch" {
            let number = |name| match event.value(name) {
                Some(TracepointValue::Signed(number)) => number,
                other => panic!("{name}: {other:?}"),
            };
            // The event happens in the thread that is switched away from.
            assert_eq!(number("prev_pid"), i64::from(event.tid));
            switches.push((event.time.unwrap(), number("prev_pid"), number("next_pid")));
        }
    })
    .unwrap();
    let expected =
        [("sched:sched_stat_sleep".to_owned(), 198), ("sched:sched_switch".to_owned(), 404)];
    assert_eq!(counts, BTreeMap::from(expected));
    switches.sort_unstable();
    // The thread that waits all the time: from each switch away to the next one back.
    let (mut away, mut off) = (None, 0);
    for (time, before, after) in switches {
        if after == 31621 {
            off += time - away.take().unwrap_or(time);
        }
        if before == 31621 {
            away = Some(time);
        }
    }
    assert_eq!(off / 1000, 20_853_246);
}

#[test]
fn a_walked_stack_has_functions_inlines_and_lines() {
    let path = samples().join("perf-data/tower.perf.data.gz");
    let profile = read_with(&path, Grain::Functions, Times::Drop);
    expect![[r"
        _start 20000000 0
          main_loop 20000000 0
            tower 20000000 0
              leaf 5000000 1000000
                mix 4000000 4000000
              tower 15000000 0
                leaf 6000000 4000000
                  mix 2000000 2000000
                tower 9000000 0
                  leaf 5000000 2000000
                    mix 3000000 3000000
                  tower 4000000 0
                    leaf 4000000 1000000
                      mix 3000000 3000000
    "]]
    .assert_eq(&draw(&profile));
    let info = &profile.info;
    assert_eq!(profile.samples, 20);
    assert_eq!(
        info.command.as_deref(),
        Some(
            "/usr/bin/perf record -q -N -e cpu-clock:u -F 1000 --call-graph dwarf,1024 -o tower.perf.data ./tower"
        )
    );
    let metrics: Vec<_> =
        profile.metrics.iter().map(|m| (m.name.as_str(), m.unit.name(), m.period)).collect();
    assert_eq!(metrics, [("cpu", "ns", Some(1_000_000)), ("samples", "count", None)]);
    let mut functions: Vec<_> = (profile.symbols.functions())
        .map(|(id, function)| {
            let file = function.file.map_or("", |file| profile.symbols.text(file));
            let file = file.rsplit('/').next().unwrap();
            let line = function.line.map_or(0, std::num::NonZero::get);
            format!("{} {file}:{line}", profile.symbols.name(id))
        })
        .collect();
    functions.sort();
    expect![[r"
        _start tower.c:23
        leaf tower.c:7
        main_loop tower.c:15
        mix tower.c:3
        tower tower.c:11"]]
    .assert_eq(&functions.join("\n"));
}

#[test]
fn damaged_recordings_are_read_as_far_as_they_go() {
    let mut files = own_samples();
    files.extend(corpus_files("perf-data"));
    let (mut readable, mut refused) = (0, 0);
    for path in files {
        let bytes = Input::open(&path).unwrap().read_all().unwrap();
        // Small files many times, large ones a few.
        let seeds = (30_000_000 / (bytes.len() as u64 + 1)).clamp(4, 60);
        for seed in 0..seeds {
            let started = std::time::Instant::now();
            let input = Input::from_bytes(damaged(&bytes, seed));
            let answer = input.and_then(|input| read(input, &ReadOptions::default()));
            let took = started.elapsed();
            assert!(took.as_secs() < 20, "{} with seed {seed} took {took:?}", path.display());
            *if answer.is_ok() { &mut readable } else { &mut refused } += 1;
        }
    }
    assert!(readable > 50 && refused > 0, "{readable} were read, {refused} were refused");
}

#[test]
fn damaged_stacks_are_walked_as_far_as_they_go() {
    // The binary lies beside the recording, so that there is something to walk with.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("damaged-stacks");
    std::fs::create_dir_all(&folder).unwrap();
    let from = samples().join("perf-data");
    std::fs::copy(from.join("tower"), folder.join("tower")).unwrap();
    let bytes = Input::open(&from.join("tower.perf.data.gz")).unwrap().read_all().unwrap();
    let mut walked = 0;
    for seed in 0..300 {
        let path = folder.join("perf.data");
        std::fs::write(&path, damaged(&bytes, seed)).unwrap();
        if let Ok(profile) = Input::open(&path).and_then(|i| read(i, &ReadOptions::default())) {
            walked += u64::from(draw(&profile).contains("tower"));
        }
    }
    assert!(walked > 100, "{walked} of the damaged recordings still have names");
    // A damaged binary is no danger either, whatever its build id.
    let binary = std::fs::read(from.join("tower")).unwrap();
    std::fs::write(folder.join("perf.data"), &bytes).unwrap();
    for seed in 0..300 {
        std::fs::write(folder.join("tower"), damaged(&binary, seed)).unwrap();
        read_with(&folder.join("perf.data"), Grain::Functions, Times::Drop);
    }
}
