//! Real traces of Chrome 65 to 156, read whole, against figures taken from the files by other means.
//!
//! The expected figures are those of a separate script: samples are counted, sample times added up, sorted and summed,
//! and calls of each thread laid over each other as intervals. They agree with the corpus' own list (which sums deltas,
//! the time before the first sample included).
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use perfblame_cct::{Grain, Layer, Profile, Times};
use perfblame_fixtures::{corpus, read_damaged, recordings, samples};
use perfblame_readers::{Input, ReadError, ReadOptions, read};

/// File, samples, microseconds sampled, microseconds in which a thread had a call open, calls and asynchronous spans.
#[rustfmt::skip]
const EXPECTED: &[(&str, u64, i64, i64, i64)] = &[
    ("chrome116-Trace-20230603T221323.json.gz", 1_600, 265_270, 154_495, 2_690),
    ("chrome141-no-arg-data.json.gz", 421, 55_993, 0, 0),
    ("chrome65-simple-timeline.json.gz", 4_081, 545_683, 356_807, 2_726),
    ("chrome66-worker.json.gz", 8_239, 1_917_332, 645_554, 1_890),
    ("chrome69-simple.json.gz", 2_051, 276_580, 109_629, 1_076),
    ("chrome85-webpack.json.gz", 1_498, 203_514, 327_234, 1_238),
    ("devtools-async-js-calls.json.gz", 32_900, 4_306_875, 2_712_201, 7_258),
    ("devtools-basic-stack.json.gz", 9_566, 1_245_125, 264_277, 9_288),
    ("devtools-enhanced-traces.json", 0, 0, 56, 1),
    ("devtools-generic-about-tracing.json.gz", 0, 0, 4_342_785, 24_735),
    ("devtools-long-task-from-worker-thread.json.gz", 22_200, 4_113_128, 1_136_482, 2_472),
    ("devtools-mainWasm_profile.json.gz", 6_459, 1_054_634, 1_283_729, 2_754),
    ("devtools-missing-process-data.json.gz", 0, 0, 481_368, 8_628),
    ("devtools-missing-tracing-start.json.gz", 0, 0, 481_368, 8_628),
    ("devtools-missing-url.json.gz", 0, 0, 0, 0),
    ("devtools-nested-interactions.json.gz", 14_798, 1_893_042, 572_753, 9_590),
    ("devtools-react-console-timestamp.json.gz", 18_733, 2_326_291, 957_520, 57_146),
    ("devtools-recursive-counting-js.json.gz", 47_068, 6_078_420, 3_460_655, 5_170),
    ("devtools-simple-js-program.json.gz", 10_688, 1_394_375, 1_581_275, 44_577),
    ("devtools-threejs-gpu.json.gz", 12_841, 3_399_039, 7_608_709, 5_081),
    ("devtools-timer-initiators.json.gz", 11_000, 1_415_917, 82_671, 2_090),
    ("devtools-two-functions-recursion.json.gz", 5_403, 933_274, 89_643, 2_431),
    ("devtools-two-workers.json.gz", 33_088, 4_338_709, 511_345, 12_762),
    ("devtools-user-timings-overlaps.json.gz", 29_114, 3_857_118, 207_877, 5_034),
    ("devtools-web-dev-initial-url.json.gz", 270_343, 34_735_208, 10_648_703, 72_316),
    ("ffprofiler-chrome-trace-issue-5429.json.gz", 206, 254_459, 0, 51),
    ("ffprofiler-chrome-tracing.json.gz", 0, 0, 18_838, 186),
    ("ffprofiler-test.chrome-unchunked.json", 20, 6_291_251, 276_706, 79),
    ("../../corpus-web-sample/new/1.json.gz", 6_378, 1_517_225, 2_991_535, 6_787),
    ("../../corpus-web-sample/new/2.json.gz", 3_773, 1_406_173, 2_645_324, 6_212),
    ("../../corpus-web-sample/new/3.json.gz", 5_652, 1_322_501, 2_554_899, 6_189),
    ("../../corpus-web-sample/old/1.json.gz", 4_659, 1_113_536, 1_790_519, 5_565),
    ("../../corpus-web-sample/old/2.json.gz", 3_809, 984_414, 1_883_161, 5_787),
    ("../../corpus-web-sample/old/3.json.gz", 3_147, 1_031_825, 1_815_067, 5_455),
];

fn open(path: &std::path::Path, options: &ReadOptions) -> Profile {
    let input = Input::open(path).unwrap();
    read(input, options).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn total(profile: &Profile, metric: &str) -> i64 {
    profile.metric(metric).map_or(0, |metric| profile.cells.total(metric))
}

#[test]
fn every_trace_of_the_corpus_is_read_whole() {
    let Some(corpus) = corpus() else { return };
    let folder = corpus.join("chrome-trace");
    for (file, samples, sampled, busy, calls) in EXPECTED {
        let profile = open(&folder.join(file), &ReadOptions::default());
        assert_eq!(profile.info.format, "chrome trace", "{file}");
        assert_eq!(profile.samples, *samples, "{file}");
        let (wall, events) = if *samples == 0 {
            (0, total(&profile, "wall"))
        } else {
            (total(&profile, "wall"), total(&profile, "events"))
        };
        let found = (wall / 1000, events / 1000, total(&profile, "calls"));
        assert_eq!(found, (*sampled, *busy, *calls), "{file}");
    }
    let listed = EXPECTED.iter().filter(|(file, ..)| !file.starts_with("..")).count();
    assert_eq!(listed, std::fs::read_dir(folder).unwrap().count(), "every file is in the table");
}

/// The recorded web regression says how long the slowed-down function took in each time line, in tenths of
/// milliseconds.
#[test]
fn a_planted_slow_down_lasts_as_long_as_its_recording_says() {
    let Some(folder) = recordings("corpus-web-sample") else { return };
    for (side, expected) in [("old", [14, 26, 18]), ("new", [4187, 4472, 4161])] {
        for (run, tenths) in (1..).zip(expected) {
            let path = folder.join(format!("{side}/{run}.json.gz"));
            let profile = open(&path, &ReadOptions::default());
            let inclusive = profile.inclusive_values(profile.metric("wall").unwrap());
            let is_it = |node| profile.name_of(node) == "ko.bindingContext";
            // It calls itself: the outermost counts.
            let outermost = |node| !profile.tree.ancestors(node).skip(1).any(is_it);
            let found = profile.tree.nodes().filter(|node| is_it(*node) && outermost(*node));
            let total: i64 = found.map(|node| inclusive[node.index()]).sum();
            assert_eq!((total + 50_000) / 100_000, tenths, "{side} {run}: {total} ns");
        }
    }
}

#[test]
fn the_first_metric_is_the_sampled_time_with_its_period() {
    let path = samples().join("chrome-trace/chrome69-simple.json.gz");
    let profile = open(&path, &ReadOptions::default());
    let names: Vec<_> = profile.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["wall", "samples", "events", "calls", "async"]);
    assert_eq!(profile.metrics[0].period, Some(130_000));
    let names: Vec<_> = (profile.threads.iter())
        .map(|thread| (profile.symbols.text(thread.name), thread.process))
        .map(|(name, process)| (name, process.map(|process| profile.symbols.text(process))))
        .collect();
    assert!(names.contains(&("CrRendererMain", Some("Renderer"))), "{names:?}");
    assert!(names.contains(&("async toplevel", Some("Renderer"))), "{names:?}");
}

#[test]
fn functions_have_places_and_layers() {
    let path = samples().join("chrome-trace/chrome69-simple.json.gz");
    let profile = open(&path, &ReadOptions::default());
    let wall = profile.metric("wall").unwrap();
    let own = profile.self_values(wall);
    let inclusive = profile.tree.inclusive(&own);
    // The figures of speedscope's import, in microseconds, but for the samples before a garbage collection, which it
    // prolongs by that.
    for (name, line, column, layer) in [
        ("alpha", 1, 15, Layer::Application),
        ("beta", 8, 14, Layer::Application),
        ("delta", 14, 15, Layer::Application),
        ("gamma", 20, 15, Layer::Application),
        ("saveBuiltin", 25, 21, Layer::Runtime),
        ("(program)", 0, 0, Layer::Runtime),
        ("(idle)", 0, 0, Layer::Idle),
        ("(garbage collector)", 0, 0, Layer::GarbageCollection),
    ] {
        let node = profile.tree.nodes().find(|node| profile.name_of(*node) == name).unwrap();
        let function = profile.symbols.function(profile.function_of(node));
        let at =
            |position: Option<std::num::NonZeroU32>| position.map_or(0, std::num::NonZeroU32::get);
        let found = (at(function.line), at(function.column), function.layer);
        assert_eq!(found, (line, column, layer), "{name}");
        assert!(inclusive[node.index()] > 0, "{name}");
    }
    assert!(profile.tree.nodes().all(|node| profile.name_of(node) != "(root)"));
}

#[test]
fn nodes_that_never_come_leave_partial_stacks() {
    let path = samples().join("chrome-trace/chrome141-no-arg-data.json.gz");
    let profile = open(&path, &ReadOptions::default());
    assert_eq!(profile.samples, 421);
    let codes: Vec<_> = profile.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["missing-nodes"]);
    assert_eq!(total(&profile, "samples"), 421);
}

#[test]
fn times_are_kept_on_demand() {
    let path = samples().join("chrome-trace/chrome69-simple.json.gz");
    let options =
        ReadOptions { times: Times::Keep, grain: Grain::Frames, ..ReadOptions::default() };
    let profile = open(&path, &options);
    let timeline = profile.timeline.as_ref().unwrap();
    assert_eq!(timeline.samples.len(), 2051);
    let sum: i64 = timeline.samples.iter().map(|sample| sample.value).sum();
    assert_eq!(sum, total(&profile, "wall"));
    // 1067 calls, and the asynchronous spans that ended.
    assert!(timeline.calls.len() >= 1067, "{}", timeline.calls.len());
}

#[test]
fn a_trace_cut_anywhere_keeps_what_came_before() {
    let path = samples().join("chrome-trace/devtools-enhanced-traces.json");
    let bytes = std::fs::read(path).unwrap();
    let mut most = 0;
    for length in (600..bytes.len()).step_by(97) {
        let input = Input::from_bytes(bytes[..length].to_vec()).unwrap();
        let profile = read(input, &ReadOptions::default()).unwrap();
        let events = profile.info.labels.iter().find(|(key, _)| key == "events").unwrap();
        let events: u64 = events.1.parse().unwrap();
        assert!(events >= most, "{length} bytes: {events} events, fewer than {most}");
        most = events;
    }
    assert!(most >= 45, "{most}");
}

#[test]
fn chrome_traces_never_panic() {
    for file in [
        "chrome69-simple.json.gz",
        "chrome141-no-arg-data.json.gz",
        "devtools-enhanced-traces.json",
    ] {
        let path = samples().join("chrome-trace").join(file);
        let mut bytes = Vec::new();
        let mut stream = Input::open(&path).unwrap().into_stream().unwrap();
        std::io::Read::read_to_end(&mut stream, &mut bytes).unwrap();
        bytes.truncate(300_000);
        for grain in [Grain::Functions, Grain::Frames] {
            let options = ReadOptions { grain, times: Times::Keep, ..ReadOptions::default() };
            read_damaged(&bytes, 0..60, |bytes| {
                let profile = read(Input::from_bytes(bytes)?, &options)?;
                assert!(profile.tree.len() < 100_000);
                Ok::<_, ReadError>(())
            });
        }
    }
}

/// One lost quote swallows the events up to the next; the rest must be found again.
#[test]
fn one_damaged_event_costs_one_event() {
    let event = |at: u32| {
        format!(
            r#"{{"name":"f{}","ph":"X","pid":1,"tid":1,"ts":{},"dur":5,"args":{{"x":[{{"y":1}},{{"z":"}}"}}]}}}}"#,
            at % 3,
            at * 10
        )
    };
    for joint in [",", ",\n"] {
        let events: Vec<_> = (0..2000).map(event).collect();
        let good = format!("[{}]", events.join(joint));
        let place = good.find(r#""ts":5000"#).unwrap();
        for damage in [r#""ts:5000,"#, r#""ts":}000"#, "\"ts\":\u{1}000"] {
            let mut bad = good.clone();
            bad.replace_range(place..place + 9, damage);
            let input = Input::from_bytes(bad.into_bytes()).unwrap();
            let profile = read(input, &ReadOptions::default()).unwrap();
            let calls = total(&profile, "calls");
            assert!((1998..=1999).contains(&calls), "{calls} calls left after {damage:?}");
            let lost: u64 = profile.warnings.iter().map(|warning| warning.count).sum();
            assert!(lost >= 1, "{:?}", profile.warnings);
        }
    }
}
