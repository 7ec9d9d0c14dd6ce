//! Drawn stacks, as each profiler folds them.

use super::*;
use perfblame_cct::MetricId;
use perfblame_fixtures::draw;

fn profile(text: &str) -> Profile {
    let input = Input::from_bytes(text.as_bytes().to_vec()).unwrap();
    assert!(sniff(&input), "not recognised: {text}");
    read(input, &ReadOptions::default()).unwrap()
}

#[test]
fn lines_that_begin_alike_share_their_contexts() {
    let profile = profile("a;b;c 1\na;b 2\na;bc 3\na;b;c;d 4\na 5\nb;a 6\na;b;c 7\n");
    assert_eq!(
        draw(&profile),
        "a 22 5\n  b 14 2\n    c 12 8\n      d 4 4\n  bc 3 3\nb 6 0\n  a 6 6\n"
    );
    assert_eq!(profile.samples, 28);
}

#[test]
fn threads_of_py_spy_are_threads() {
    let profile = profile(
        "thread (12): Main Thread;a (x.py:1) 1\nthread (13);a (x.py:2) 2\nthread (1) 9\n\
         process 5:\"python x.py; y\";thread (0x14): w;b 3\n",
    );
    let threads: Vec<_> = (profile.threads.iter())
        .map(|thread| (profile.symbols.text(thread.name), thread.pid, thread.tid))
        .collect();
    assert_eq!(
        threads,
        [("Main Thread", None, Some(12)), ("", None, Some(13)), ("w", Some(5), Some(20))]
    );
    assert_eq!(draw(&profile), "a 3 3\nb 3 3\nthread (1) 9 9\n");
}

#[test]
fn the_full_mode_of_austin_has_time_and_memory() {
    let profile = profile(
        "# austin: 3.7.0\n# mode: full\n\nP1;T0:2;x.py:a:1 100,0,4096\n\
         P1;T0:2;x.py:a:2 50,1,-100\nP1;T0:2 10,1,0\nP1;T0:2;x.py:a:1 5\n# duration: 200\n",
    );
    let totals: Vec<_> = (profile.metrics())
        .map(|(id, metric)| (metric.name.as_str(), profile.cells.total(id)))
        .collect();
    let expected = [("wall", 160_000), ("cpu", 100_000), ("allocated", 4096), ("freed", 100)];
    assert_eq!(totals, expected);
    assert_eq!((profile.samples, profile.info.duration), (3, Some(200_000)));
    assert_eq!(draw(&profile), "(idle) 10000 10000\na 150000 150000\n");
    assert_eq!(profile.warnings[0].code, "damaged-lines");
}

#[test]
fn a_first_line_may_be_longer_than_any_other() {
    let deep = "deep;".repeat(50_000);
    for text in [format!("{deep}leaf 3"), format!("{deep}leaf 3\n{deep}other 4\n")] {
        let profile = profile(&text);
        assert_eq!(profile.tree.len(), if profile.samples == 3 { 50_001 } else { 50_002 });
        let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
        assert!(sniff(&Input::from_bytes(packed).unwrap()));
    }
    let script = "var a;b;c={};".repeat(50_000);
    assert!(!sniff(&Input::from_bytes(script.into_bytes()).unwrap()));
}

#[test]
fn a_fraction_scales_what_came_before_it() {
    let profile = profile("a;b 1\na;c 2.25\na;b 0.5\n");
    let metric = &profile.metrics[0];
    assert_eq!(metric.decimals, 2);
    assert_eq!(draw(&profile), "a 375 0\n  b 150 150\n  c 225 225\n");
    assert!((metric.shown(profile.cells.total(MetricId::new(0))) - 3.75).abs() < 1e-9);
    assert_eq!(profile.samples, 4);
}

#[test]
fn two_counts_are_before_and_after() {
    let profile = profile("a;b 1 2\na;c 3 0\n");
    let totals: Vec<_> = (profile.metrics())
        .map(|(id, metric)| (metric.name.as_str(), profile.cells.total(id)))
        .collect();
    assert_eq!(totals, [("before", 4), ("after", 2)]);
}

#[test]
fn threads_in_front_are_threads() {
    let profile = profile("[main tid=7];a 1\n[pool-1 tid=9];a 2\n[unknown];a 3\n");
    let names: Vec<_> = (profile.threads.iter())
        .map(|thread| (profile.symbols.text(thread.name), thread.tid))
        .collect();
    assert_eq!(names, [("main", Some(7)), ("pool-1", Some(9))]);
    assert_eq!(draw(&profile), "[unknown] 3 0\n  a 3 3\na 3 3\n");
}

#[test]
fn bad_lines_cost_themselves() {
    let profile = profile("a;b 1\r\nnothing\r\n\r\n# note 3\r\na;b x\r\na;c 2\r\n");
    assert_eq!(draw(&profile), "a 3 0\n  b 1 1\n  c 2 2\n");
    assert_eq!(profile.warnings[0].count, 2);
    assert_eq!(
        profile.warnings[0].message,
        "lines without a count were left out; the first is nothing"
    );
}

#[test]
fn one_line_is_a_file_and_other_text_is_not() {
    for text in ["main 12", "a;b;c 1\n", "std::vec<int, x>::push 3\n"] {
        assert!(sniff(&Input::from_bytes(text.as_bytes().to_vec()).unwrap()), "{text}");
    }
    for text in [
        "hello world\n",
        "{\"a\": 1,\n \"b\": 2\n}\n",
        "int x = 1; // 12\nint y = \"a\"; return 3\n",
        "total time  =        0.02\n",
        "events: Ir\nfn=(1) main\n16 400\n+3 400\n",
        "@[\n    f\n]: 5\n",
        "1 2\n3 4\n",
        "\0\0a;b 1\n",
    ] {
        assert!(!sniff(&Input::from_bytes(text.as_bytes().to_vec()).unwrap()), "{text}");
    }
}
