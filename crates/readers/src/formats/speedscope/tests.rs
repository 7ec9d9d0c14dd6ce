//! Drawn files of both kinds, and the corpus.

use expect_test::{Expect, expect};
use perfblame_cct::{Grain, MetricId, Times};
use perfblame_fixtures::{corpus_files, describe, read_damaged};

use super::*;

fn parse(text: &str) -> Profile {
    let options =
        ReadOptions { grain: Grain::Functions, times: Times::Keep, ..ReadOptions::default() };
    read(Input::from_bytes(text.as_bytes().to_vec()).unwrap(), &options).unwrap()
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&describe(&parse(text)));
}

const FRAMES: &str =
    r#""shared":{"frames":[{"name":"a","file":"a.py","line":3},{"name":"b"},{"name":"c"}]}"#;

#[test]
fn samples_weigh_what_the_file_says() {
    check(
        &format!(
            r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[
            {{"type":"sampled","name":"one","unit":"milliseconds","startValue":0,"endValue":3,
              "samples":[[0,1],[0],[],[0,9]],"weights":[1,0.5,7,2]}},
            {{"type":"sampled","name":"two","unit":"none","samples":[[2],[2]],"weights":[1.25,2]}}],{FRAMES}}}"#
        ),
        &expect![[r"
            6 samples
            wall 3500000 ns
            samples 5 count
            weight 3.25 count
            thread one
            thread two
            a 3500000 2500000
              b 1000000 1000000
            c 0 0
            1 × empty-stacks: samples without a stack are counted but have no place in the tree
            1 × unknown-frames: frames that are not in `shared.frames` were left out of stacks
        "]],
    );
}

#[test]
fn names_of_threads() {
    for (text, expected) in [
        ("Thread 5636 \"MainThread\"", ("MainThread", None, Some(5636))),
        ("Process 12 Thread 0x7F \"a b\"", ("a b", Some(12), Some(0x7f))),
        ("Thread (34)", ("", None, Some(34))),
        ("Thread of execution", ("Thread of execution", None, None)),
        ("Process x", ("Process x", None, None)),
        ("simple.txt", ("simple.txt", None, None)),
    ] {
        assert_eq!(thread_name(text), expected, "{text}");
    }
}

#[test]
fn py_spys_processes_and_threads_are_no_frames() {
    check(
        r#"{"exporter":"py-spy@0.4.3","profiles":[
            {"type":"sampled","name":"Process 12 Thread 34 \"MainThread\"","unit":"seconds",
              "samples":[[0,1,2,3],[0,1]],"weights":[0.5,0.25]}],
            "shared":{"frames":[{"name":"process 12:\"python a.py; b\"","file":"","line":0},
              {"name":"thread (0x7F): MainThread","file":"","line":0},
              {"name":"process","file":"a.py","line":3},{"name":"thread (x)"}]}}"#,
        &expect![[r#"
            2 samples
            wall 750000000 ns
            samples 2 count
            thread MainThread
            (no Python) 250000000 250000000
            process 500000000 0
              thread (x) 500000000 500000000
        "#]],
    );
}

#[test]
fn events_become_calls() {
    let events = r#"[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1},{"type":"C","frame":1,"at":4},
        {"type":"O","frame":1,"at":5},{"type":"C","frame":1,"at":6},{"type":"C","frame":0,"at":10}]"#;
    let text = format!(
        r#"{{{FRAMES},"profiles":[{{"type":"evented","name":"t","unit":"microseconds","startValue":0,"endValue":10,
        "events":{events}}}]}}"#
    );
    check(
        &text,
        &expect![[r"
            0 samples
            wall 10000 ns
            calls 3 count
            thread t
            a 10000 6000
              b 4000 4000
        "]],
    );
    assert_eq!(parse(&text).timeline.unwrap().calls.len(), 3);
}

#[test]
fn what_does_not_fit_is_said() {
    let events = r#"[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":3},{"type":"C","frame":2,"at":3},
        {"type":"C","frame":0,"at":2},{"type":"O","frame":2,"at":5},{"type":"X","frame":2,"at":5}]"#;
    check(
        &format!(
            r#"{{{FRAMES},"profiles":[{{"type":"evented","name":"t","unit":"none","endValue":9,"events":{events}}},
            {{"type":"odd"}}, 7]}}"#
        ),
        &expect![[r#"
            0 samples
            weight 7 count
            calls 3 count
            thread t
            thread 
            a 3 3
              b 0 0
            c 4 4
            1 × damaged-profiles: a profile is not an object
            1 × events-out-of-order: ends of calls that were not open were left out
            1 × times-go-back: events out of order were moved to the time of the previous event
            1 × calls-closed: calls still open when their caller ended were closed with it
            1 × damaged-events: events without a type, a known frame or a time were left out
            1 × unfinished-calls: calls without an end were closed at the end of the profile
            1 × unknown-profiles: a profile of type `odd` was left out; only sampled and evented are supported
        "#]],
    );
}

#[test]
fn a_cut_off_file_keeps_what_came_before() {
    check(
        &format!(
            r#"{{{FRAMES},"profiles":[{{"type":"sampled","unit":"none","weights":[1,2,3],"samples":[[0],[0,1],[0"#
        ),
        &expect![[r"
            2 samples
            weight 3 count
            samples 2 count
            thread 
            a 3 1
              b 2 2
            1 × damaged-json: the rest of a list was left out: the file ends at byte 170
        "]],
    );
}

#[test]
fn files_without_frames_are_an_error() {
    let text = br#"{"$schema":"speedscope","profiles":[{"type":"sampled""#.to_vec();
    let error = read(Input::from_bytes(text).unwrap(), &ReadOptions::default()).unwrap_err();
    expect!["at byte 53: it contains no frames"].assert_eq(&error.to_string());
}

#[test]
fn the_corpus_has_its_totals() {
    // File, first metric, its total, samples, warnings.
    let expected = [
        ("0.0.1-simple-no-pretty-print.speedscope.json", "weight", 14, 0, ""),
        ("0.0.1-simple.speedscope.json", "weight", 14, 0, ""),
        ("0.1.2-simple-sampled.speedscope.json", "wall", 14_000_000_000, 5, ""),
        ("0.6.0-two-sampled.speedscope.json", "wall", 28_000_000_000, 10, ""),
        ("invalid-incomplete-trace.json", "weight", 100, 0, "unfinished-calls"),
        ("invalid-out-of-order-events.json", "weight", 3, 0, "calls-closed events-out-of-order"),
    ];
    let mut seen = 0;
    for path in corpus_files("speedscope") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let row = expected.iter().find(|row| row.0 == name).unwrap();
        let profile = crate::read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
        let warnings: Vec<_> = profile.warnings.iter().map(|w| w.code.as_str()).collect();
        let total = profile.cells.total(MetricId::new(0));
        assert_eq!(profile.info.format, "speedscope");
        assert_eq!(
            (name, profile.metrics[0].name.as_str(), total, profile.samples, &*warnings.join(" ")),
            *row
        );
        read_damaged(&std::fs::read(&path).unwrap(), 0..100, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
        seen += 1;
    }
    assert!(seen == 0 || seen == expected.len());
}
