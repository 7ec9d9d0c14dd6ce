//! V8's CPU and heap profiles and Safari's recordings, against what other tools make of the same files.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![allow(clippy::needless_pass_by_value, reason = "an expectation is written where it is checked")]

use expect_test::expect;
use perfblame_cct::{Grain, Layer, Profile, Times};
use perfblame_fixtures::{corpus, draw, read_damaged, samples};
use perfblame_readers::{Input, ReadOptions, read};
use std::fmt::Write as _;

fn open(path: &std::path::Path) -> Profile {
    let input = Input::open(path).unwrap();
    read(input, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// File, format, samples, total of the first metric. Samples, spans and sizes are those of the corpus' own list; the
/// time before the first sample is not sampled and left out.
const EXPECTED: &[(&str, &str, u64, i64)] = &[
    ("cpuprofile/chrome65-simple.cpuprofile", "cpuprofile", 29, 36_317_000),
    ("cpuprofile/chrome65-sucrase.cpuprofile.gz", "cpuprofile", 17_138, 22_003_906_000),
    ("cpuprofile/devtools-basic.cpuprofile.gz", "cpuprofile", 18_407, 2_370_042_000),
    (
        "cpuprofile/devtools-node-fibonacci-website.cpuprofile.gz",
        "cpuprofile",
        15_710,
        2_648_585_000,
    ),
    ("cpuprofile/node10-example.cpuprofile", "cpuprofile", 29, 35_615_000),
    ("v8-other/chrome69.heapprofile.gz", "heapprofile", 0, 10_030_888),
    ("v8-other/node10.heapprofile", "heapprofile", 0, 525_704),
    ("v8-other/node8-isolate-v8.log.gz", "v8 log", 93, 117_041_000),
    ("v8-other/safari13.1-recording.json", "safari recording", 23, 34_006_755),
];

#[test]
fn every_profile_of_the_corpus_is_read_whole() {
    let Some(corpus) = corpus() else { return };
    for (file, format, samples, total) in EXPECTED {
        let profile = open(&corpus.join(file));
        let (metric, _) = profile.metrics().next().unwrap();
        let found = (profile.info.format.as_str(), profile.samples, profile.cells.total(metric));
        assert_eq!(found, (*format, *samples, *total), "{file}");
        assert!(profile.warnings.is_empty(), "{file}: {:?}", profile.warnings);
    }
}

/// The same figures as speedscope's import, but that the last sample lasts too: 1.27 ms, the median gap.
#[test]
fn a_nested_tree_with_timestamps() {
    let profile = open(&samples().join("cpuprofile/node10-head.cpuprofile"));
    let drawn = draw(&profile);
    let lines: Vec<_> = drawn.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "35615000 1060000",
            "a 34555000 0",
            "b 17002000 0",
            "d 17002000 17002000",
            "c 17553000 0",
            "d 17553000 17553000",
        ]
    );
}

#[test]
fn node_marks_its_own_code() {
    let profile = open(&samples().join("cpuprofile/node20.cpuprofile"));
    assert_eq!(profile.samples, 45);
    assert_eq!(profile.metrics[0].period, Some(1_089_000));
    for (name, layer) in [
        ("hash", Layer::Application),
        ("executeUserEntryPoint", Layer::Runtime),
        ("consoleCall", Layer::Runtime),
        ("(garbage collector)", Layer::GarbageCollection),
        ("(program)", Layer::Runtime),
    ] {
        let function =
            profile.symbols.functions().find(|(id, _)| profile.symbols.name(*id) == name);
        assert_eq!(function.unwrap().1.layer, layer, "{name}");
    }
}

fn check(json: &str, expected: expect_test::Expect) {
    let input = Input::from_bytes(json.as_bytes().to_vec()).unwrap();
    let profile = read(input, &ReadOptions::default()).unwrap();
    let mut out = draw(&profile);
    for warning in &profile.warnings {
        let _ = writeln!(out, "{} {}", warning.code, warning.count);
    }
    expected.assert_eq(&out);
}

#[test]
fn negative_deltas_are_sorted_and_gaps_go_to_the_earlier_sample() {
    // Samples at 10 (f), 40 (g), 20 (f), 50 (g) and an end at 70.
    check(
        r#"{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,3]},
            {"id":2,"callFrame":{"functionName":"f","url":"a.js","lineNumber":3}},
            {"id":3,"callFrame":{"functionName":"g","url":"a.js","lineNumber":9}}],
            "startTime":0,"endTime":70,"samples":[2,3,2,3],"timeDeltas":[10,30,-20,30]}"#,
        expect![[r"
            f 30000 30000
            g 30000 30000
        "]],
    );
}

#[test]
fn a_root_with_time_of_its_own_stays() {
    check(
        r#"{"nodes":[{"callFrame":{"functionName":"(root)"},"children":[2],"id":1},
            {"callFrame":{"functionName":"f"},"id":2}],
            "startTime":0,"endTime":30,"samples":[1,2],"timeDeltas":[10,10]}"#,
        expect![[r"
            (root) 10000 10000
            f 10000 10000
        "]],
    );
}

#[test]
fn hit_counts_do_where_samples_are_missing() {
    check(
        r#"{"head":{"functionName":"(root)","id":1,"hitCount":0,"children":[
            {"functionName":"f","id":2,"hitCount":3,"children":[{"functionName":"g","hitCount":1,"children":[]}]}]},
            "startTime":0,"endTime":40}"#,
        expect![[r"
            f 40000 30000
              g 10000 10000
        "]],
    );
}

#[test]
fn callers_that_call_themselves_and_missing_nodes() {
    check(
        r#"{"nodes":[{"id":2,"parent":3,"callFrame":{"functionName":"f"}},{"id":3,"parent":2,"callFrame":{"functionName":"g"}}],
            "startTime":0,"endTime":30,"samples":[2,9],"timeDeltas":[10,10]}"#,
        expect![[r"
            (truncated) 20000 10000
              g 10000 0
                f 10000 0
                  g 10000 0
                    f 10000 10000
            missing-nodes 2
        "]],
    );
}

#[test]
fn deep_trees_need_no_stack() {
    let depth = 200_000;
    let mut json = String::from(r#"{"head":"#);
    for id in 0..depth {
        let _ = write!(json, r#"{{"id":{id},"functionName":"f","hitCount":1,"children":["#);
    }
    json += &"]}".repeat(depth);
    json += r#","startTime":0,"endTime":1000000}"#;
    let profile =
        read(Input::from_bytes(json.into_bytes()).unwrap(), &ReadOptions::default()).unwrap();
    assert_eq!(profile.tree.len(), depth);
}

#[test]
fn lines_tell_frames_apart() {
    let json = r#"{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},
        {"id":2,"callFrame":{"functionName":"f","url":"a.js","lineNumber":3}}],
        "startTime":0,"endTime":30,"samples":[2,2],"timeDeltas":[10,10],"lines":[5,6]}"#;
    let options =
        ReadOptions { grain: Grain::Frames, times: Times::Keep, ..ReadOptions::default() };
    let profile = read(Input::from_bytes(json.as_bytes().to_vec()).unwrap(), &options).unwrap();
    assert_eq!(profile.tree.roots().count(), 2);
    assert_eq!(profile.timeline.unwrap().samples.len(), 2);
}

#[test]
fn heap_profiles_with_samples() {
    let profile = open(&samples().join("heapprofile/node20.heapprofile"));
    let names: Vec<_> = profile.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!((names, profile.samples), (vec!["allocated", "samples"], 1));
    let profile = open(&samples().join("heapprofile/node10.heapprofile"));
    assert_eq!(profile.metrics.len(), 1);
}

#[test]
fn a_safari_recording() {
    let profile = open(&samples().join("safari/safari13.1-recording.json"));
    // Speedscope: alpha 32.49 ms in total, gamma 29.40, delta 3.09, beta none itself.
    expect![[r"
        (program) 32489331 0
          alpha 32489331 0
            beta 12376888 0
              gamma 12376888 12376888
            delta 20112443 3094222
              gamma 17018221 17018221
        firstOpenSearchURLString 517424 517424
        injectModule 1000000 0
           1000000 1000000
    "]]
    .assert_eq(&draw(&profile));
}

#[test]
fn v8_and_safari_profiles_never_panic() {
    for file in [
        "cpuprofile/node20.cpuprofile",
        "cpuprofile/node10-head.cpuprofile",
        "heapprofile/node20.heapprofile",
        "safari/safari13.1-recording.json",
        "v8-log/node8-isolate-v8.log.gz",
    ] {
        let mut bytes = Vec::new();
        let mut stream = Input::open(&samples().join(file)).unwrap().into_stream().unwrap();
        std::io::Read::read_to_end(&mut stream, &mut bytes).unwrap();
        let seeds = if bytes.len() < 100_000 { 300 } else { 30 };
        let options =
            ReadOptions { grain: Grain::Frames, times: Times::Keep, ..ReadOptions::default() };
        read_damaged(&bytes, 0..seeds, |bytes| read(Input::from_bytes(bytes)?, &options));
    }
}

/// The recorder's own script looks elements up while a page works: that is one cost of its own, but for the handlers of
/// the page that it sets off.
#[test]
fn a_replayed_flow_is_told_from_the_page() {
    let node = |id: u32, name: &str, url: &str, children: &str| {
        let line = if url.is_empty() { -1 } else { 1 };
        format!(
            r#"{{"id":{id},"callFrame":{{"functionName":"{name}","scriptId":"{id}","url":"{url}","lineNumber":{line},"columnNumber":0}},"hitCount":1,"children":[{children}]}}"#
        )
    };
    let nodes = [
        node(1, "(root)", "", "2"),
        node(2, "find", "perfblame-flow.js", "3,4"),
        node(3, "querySelectorAll", "", ""),
        node(4, "set", "perfblame-flow.js", "5"),
        node(5, "dispatchEvent", "", "6"),
        node(6, "onchange", "http://x/app.js", "7"),
        node(7, "querySelectorAll", "", ""),
    ];
    let text = format!(
        r#"{{"nodes":[{}],"startTime":0,"endTime":8000,"samples":[2,3,4,5,6,7],"timeDeltas":[1000,1000,1000,1000,1000,1000]}}"#,
        nodes.join(",")
    );
    let profile =
        read(Input::from_bytes(text.into_bytes()).unwrap(), &ReadOptions::default()).unwrap();
    expect![[r#"
        (perfblame flow) 7000000 4000000
          onchange 3000000 1000000
            querySelectorAll 2000000 2000000
    "#]]
    .assert_eq(&draw(&profile));
}
