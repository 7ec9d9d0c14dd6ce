//! Traces that say what of them is the recording: what is outside is left out, and that is said.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use perfblame_cct::Unit;
use perfblame_readers::{Input, ReadOptions, read};
use serde_json::{Value, json};

/// What happens on one thread, from 0 to 100 ms.
///
/// Samples: idle to 10, `work` to 30, idle to 40, `work` to 60, idle to 80, `work` to 99, idle. Calls and timers as below.
fn events() -> Vec<Value> {
    let event = |name: &str, phase: &str, at: u32, args: &Value| json!({"pid": 1, "tid": 2, "ph": phase, "ts": at * 1000, "id": "0x1", "cat": "toplevel", "name": name, "args": args});
    let frame = |name: &str, url: &str| json!({"functionName": name, "scriptId": "3", "url": url, "lineNumber": 1, "columnNumber": 1});
    let nodes = json!([
        {"id": 1, "callFrame": {"functionName": "(root)", "scriptId": "0"}},
        {"id": 2, "parent": 1, "callFrame": frame("(idle)", "")},
        {"id": 3, "parent": 1, "callFrame": frame("work", "http://h/a.js")},
    ]);
    let samples = json!({"nodes": nodes, "samples": [2, 3, 2, 3, 2, 3, 2]});
    let deltas = [0, 10, 20, 10, 20, 20, 19].map(|ms| ms * 1000);
    let chunk = json!({"data": {"cpuProfile": samples, "timeDeltas": deltas, "endTime": 100_000}});
    let timer = |number: u32| {
        let stack = [
            json!({"functionName": "work", "scriptId": "3", "url": "http://h/a.js", "lineNumber": 3, "columnNumber": 1}),
        ];
        json!({"data": {"timerId": number, "timeout": 50, "frame": "A", "stackTrace": stack}})
    };
    let mut events = vec![
        event("Profile", "P", 0, &json!({"data": {"startTime": 0}})),
        event("ProfileChunk", "P", 0, &chunk),
        event("TimerInstall", "I", 5, &timer(1)),
        event("TimerFire", "I", 45, &timer(1)),
        event("TimerInstall", "I", 60, &timer(2)),
        event("TimerFire", "I", 99, &timer(2)),
        event("long", "B", 50, &json!({})),
        event("long", "E", 95, &json!({})),
    ];
    for (name, from, to) in
        [("early", 0, 19), ("across", 5, 25), ("inside", 30, 40), ("late", 91, 99)]
    {
        let mut call = event(name, "X", from, &json!({}));
        call["dur"] = json!((to - from) * 1000);
        events.push(call);
    }
    events
}

/// Own values by metric, in milliseconds where they are times; what was left out; how long it took.
fn check(metadata: &Value, expected: &Expect) {
    let text = json!({"metadata": metadata, "traceEvents": events()}).to_string();
    let profile =
        read(Input::from_bytes(text.into_bytes()).unwrap(), &ReadOptions::default()).unwrap();
    let mut shown = String::new();
    for (metric, about) in profile.metrics() {
        let own = profile.self_values(metric);
        let unit = if about.unit == Unit::Nanoseconds { 1_000_000 } else { 1 };
        let nodes = profile.tree.nodes().filter(|node| own[node.index()] != 0);
        let mut rows: Vec<String> = nodes
            .map(|node| format!("{} {}", profile.name_of(node), own[node.index()] / unit))
            .collect();
        rows.sort();
        let _ = writeln!(shown, "{}: {}", about.name, rows.join(", "));
    }
    for (key, value) in profile.info.labels.iter().filter(|(key, _)| key.contains("outside")) {
        let _ = writeln!(shown, "{key}: {value}");
    }
    let _ = writeln!(shown, "took {}", profile.info.duration.unwrap() / 1_000_000);
    expected.assert_eq(&shown);
}

/// Recorded from 20 on; the last work on the main thread is done at 70, and the recorder waited until 90 for more.
#[test]
fn what_is_outside_of_the_recording_is_left_out() {
    let moments = json!({"url": "http://h/", "start": 20_000, "done": 70_000, "end": 90_000});
    check(
        &json!({"source": "DevTools", "perfblame": moments}),
        &expect![[r#"
            wall: (idle) 20, work 40
            samples: (idle) 2, work 3
            events: across 5, inside 10, long 40
            calls: across 1, inside 1, long 1
            waits: work 55
            wait-count: work 2
            wait-idle: work 20
            calls outside of the recording: 2
            samples outside of the recording: 2
            took 50
        "#]],
    );
}

#[test]
fn without_word_of_a_recording_all_counts() {
    let all = expect![[r#"
        wall: (idle) 41, work 59
        samples: (idle) 4, work 3
        events: across 14, across 6, early 5, inside 10, late 4, late 4, long 41
        calls: across 1, early 1, inside 1, late 1, long 1
        waits: work 79
        wait-count: work 2
        wait-idle: work 35
        took 99
    "#]];
    check(&json!({"source": "DevTools"}), &all);
    // Moments in no order, too late or missing are not believed.
    for moments in [
        json!({"start": 70_000, "done": 20_000, "end": 90_000}),
        json!({"start": 0, "done": 1, "end": u64::MAX}),
        json!({"start": 20_000}),
        json!({}),
    ] {
        check(&json!({"source": "DevTools", "perfblame": moments}), &all);
    }
}
