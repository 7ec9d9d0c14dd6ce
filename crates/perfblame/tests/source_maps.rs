//! Source maps at the command line: `show` and `diff` name functions of a minified bundle as their authors did, wherever
//! its map lies. `maps/README.md` says what the bundles are; the profiles of them are drawn, so no browser is needed.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use run::Folder;
use serde_json::{Value, json};

/// The folder of a build: `shop.js` and `shop.js.map`.
fn build(side: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/maps").join(side)
}

fn script(side: &str) -> String {
    std::fs::read_to_string(build(side).join("shop.js")).unwrap()
}

/// What runs: the depth on the stack, the head of a function in the bundle with `|` where the engine has it start, and
/// the milliseconds it takes itself. Every build has these six, under different letters.
type Stack = [(usize, &'static str, u32)];

/// How a profile of a build is written, where its script is at an address.
type Make = fn(&str, &str, &Stack) -> String;

/// One node per row, as V8 counts: lines and columns from 0, a name only where the function has one of its own.
fn nodes(side: &str, url: &str, stack: &Stack) -> Vec<Value> {
    let text = script(side);
    let frame = |name: &str, url: &str, column: usize| json!({"functionName": name, "scriptId": "7", "url": url, "lineNumber": 0, "columnNumber": column});
    let mut nodes = vec![json!({"id": 1, "callFrame": frame("(root)", "", 0)})];
    let mut callers = vec![1];
    for (depth, head, _) in stack {
        let (before, after) = head.split_once('|').unwrap();
        let column = text.find(&format!("{before}{after}")).unwrap() + before.len();
        let name = before.strip_prefix("function ").unwrap_or_default();
        let id = nodes.len() + 1;
        callers.truncate(depth + 1);
        nodes.push(
            json!({"id": id, "parent": callers[*depth], "callFrame": frame(name, url, column)}),
        );
        callers.push(id);
    }
    nodes
}

/// Ids of the nodes that were sampled, a sample per millisecond.
fn sampled(stack: &Stack) -> Vec<usize> {
    let times = stack.iter().enumerate();
    times.flat_map(|(row, (_, _, time))| vec![row + 2; *time as usize]).collect()
}

/// What `node --cpu-prof` writes.
fn cpuprofile(side: &str, url: &str, stack: &Stack) -> String {
    let samples = sampled(stack);
    let end = samples.len() * 1000;
    let deltas: Vec<u32> =
        samples.iter().enumerate().map(|(row, _)| u32::from(row > 0) * 1000).collect();
    let nodes = nodes(side, url, stack);
    json!({"nodes": nodes, "startTime": 0, "endTime": end, "samples": samples, "timeDeltas": deltas}).to_string()
}

/// What a browser writes, with the script's text in it.
fn trace(side: &str, url: &str, stack: &Stack) -> String {
    let samples = sampled(stack);
    let deltas = vec![1000; samples.len()];
    let nodes = nodes(side, url, stack);
    let event = |ph: &str, name: &str, tid: u32, args: &Value| json!({"pid": 1, "tid": tid, "ph": ph, "ts": 1000, "cat": "devtools", "id": "0x1", "name": name, "args": args});
    let text = json!({"isolate": 1, "scriptId": 7, "url": url, "sourceMapUrl": "shop.js.map", "sourceText": script(side)});
    let events = [
        event("M", "thread_name", 2, &json!({"name": "CrRendererMain"})),
        event("I", "ScriptCatchup", 2, &json!({"data": text})),
        event("P", "Profile", 2, &json!({"data": {"startTime": 1000}})),
        event(
            "P",
            "ProfileChunk",
            3,
            &json!({"data": {"cpuProfile": {"nodes": nodes, "samples": samples}, "timeDeltas": deltas}}),
        ),
    ];
    json!({"metadata": {"source": "DevTools"}, "traceEvents": events}).to_string()
}

const BEFORE: &Stack = &[
    (0, "(|()=>{", 0),
    (1, "function a|()", 5),
    (2, "function c|(t)", 15),
    (3, "function i|(t)", 20),
    (4, "function e|()", 30),
    (4, "reduce(|(o,r)=>", 10),
    (3, "onTotal=|t=>", 20),
];

/// `rates`, which was `e` and is `n`, takes 70 ms more.
const AFTER: &Stack = &[
    (0, "(|()=>{", 0),
    (1, "function s|()", 5),
    (2, "function c|(t)", 15),
    (3, "function p|(t)", 20),
    (4, "function n|()", 100),
    (4, "reduce(|(o,r)=>", 10),
    (3, "onTotal=|t=>", 20),
];

const URL: &str = "http://127.0.0.1:8080/dist/shop.js";

fn check_functions(folder: &Folder, arguments: &[&str], expected: &Expect) {
    let shown = folder.ok(&[&["show"], arguments, &["--tree"]].concat());
    let (_, tree) = shown.split_once("\n\n").unwrap();
    expected.assert_eq(tree);
}

#[test]
fn show_finds_maps_where_the_user_says() {
    let folder = Folder::new();
    folder.file("run.cpuprofile", cpuprofile("before", URL, BEFORE));
    let maps = build("before").display().to_string();
    check_functions(
        &folder,
        &["run.cpuprofile", "--source-maps", &maps],
        &expect![[r#"
        Call tree
         share    total     self  call path
        100.0%   100 ms           (immediate)  http://127.0.0.1:8080/dist/shop.js:1
        100.0%   100 ms  5.00 ms  start  http://127.0.0.1:8080/src/main.js:3
         95.0%  95.0 ms  15.0 ms  priceCart  http://127.0.0.1:8080/src/cart.js:4
         60.0%  60.0 ms  20.0 ms  ├─ taxOf  http://127.0.0.1:8080/src/cart.js:10
         30.0%  30.0 ms  30.0 ms  │  ├─ rates  http://127.0.0.1:8080/src/rates.js:1
         10.0%  10.0 ms  10.0 ms  │  └─ taxOf > reduce(callback)  cart.js:11
         20.0%  20.0 ms  20.0 ms  └─ handlers.onTotal  cart.js:14
    "#]],
    );
    // The map itself will do, which has no text of the bundle.
    let map = format!("{maps}/shop.js.map");
    check_functions(
        &folder,
        &["run.cpuprofile", "--source-maps", &map],
        &expect![[r#"
        Call tree
         share    total     self  call path
        100.0%   100 ms           (anonymous)  http://127.0.0.1:8080/dist/shop.js:1
        100.0%   100 ms  5.00 ms  start  http://127.0.0.1:8080/src/main.js:3
         95.0%  95.0 ms  15.0 ms  priceCart  http://127.0.0.1:8080/src/cart.js:4
         60.0%  60.0 ms  20.0 ms  ├─ taxOf  http://127.0.0.1:8080/src/cart.js:10
         30.0%  30.0 ms  30.0 ms  │  ├─ rates  http://127.0.0.1:8080/src/rates.js:1
         10.0%  10.0 ms  10.0 ms  │  └─ taxOf > reduce(callback)  cart.js:11
         20.0%  20.0 ms  20.0 ms  └─ handlers.onTotal  cart.js:14
    "#]],
    );
    check_functions(
        &folder,
        &["run.cpuprofile"],
        &expect![[r#"
        Call tree
         share    total     self  call path
        100.0%   100 ms           (anonymous)  http://127.0.0.1:8080/dist/shop.js:1
        100.0%   100 ms  5.00 ms  a  http://127.0.0.1:8080/dist/shop.js:1
         95.0%  95.0 ms  15.0 ms  c  http://127.0.0.1:8080/dist/shop.js:1
         60.0%  60.0 ms  20.0 ms  ├─ i  http://127.0.0.1:8080/dist/shop.js:1
         30.0%  30.0 ms  30.0 ms  │  ├─ e  http://127.0.0.1:8080/dist/shop.js:1
         10.0%  10.0 ms  10.0 ms  │  └─ (anonymous)  shop.js:1
         20.0%  20.0 ms  20.0 ms  └─ (anonymous)  http://127.0.0.1:8080/dist/shop.js:1
    "#]],
    );
}

#[test]
fn show_finds_maps_beside_scripts_and_profiles() {
    let folder = Folder::new();
    let maps = build("before").display().to_string();
    folder.file("run.cpuprofile", cpuprofile("before", URL, BEFORE));
    let expected = folder.ok(&["show", "run.cpuprofile", "--functions", "--source-maps", &maps]);
    // Which function is in which file's which line, whatever the folder.
    let names = |shown: &str| -> Vec<(String, String)> {
        let rows = shown.lines().filter_map(|row| row.rsplit_once("  "));
        let rows = rows.filter(|(_, file)| file.contains(".js:"));
        rows.map(|(row, file)| {
            let name = row.rsplit("  ").next().unwrap().to_owned();
            (name, file.rsplit('/').next().unwrap().to_owned())
        })
        .collect()
    };
    assert_eq!(names(&expected)[0], ("rates".to_owned(), "rates.js:1".to_owned()));
    // Beside the script, which is a file.
    let url = format!("file://{maps}/shop.js");
    folder.file("node/run.cpuprofile", cpuprofile("before", &url, BEFORE));
    let shown = folder.ok(&["show", "node/run.cpuprofile", "--functions"]);
    assert_eq!(names(&shown), names(&expected), "{shown}");
    // Beside the profile.
    folder.file("saved/run.cpuprofile", cpuprofile("before", URL, BEFORE));
    folder.file("saved/shop.js.map", std::fs::read(build("before").join("shop.js.map")).unwrap());
    let shown = folder.ok(&["show", "saved/run.cpuprofile", "--functions"]);
    let nameless =
        |(name, file): (String, String)| (name.replace("(immediate)", "(anonymous)"), file);
    let expected: Vec<_> = names(&expected).into_iter().map(nameless).collect();
    assert_eq!(names(&shown), expected, "without the script: {shown}");
}

#[test]
fn show_names_functions_of_a_trace_with_texts() {
    let folder = Folder::new();
    folder.file("run.json", trace("before", URL, BEFORE));
    let maps = build("before").display().to_string();
    check_functions(
        &folder,
        &["run.json", "--source-maps", &maps],
        &expect![[r#"
            Call tree
             share    total     self  call path
            100.0%   100 ms           (immediate)  http://127.0.0.1:8080/dist/shop.js:1
            100.0%   100 ms  5.00 ms  start  http://127.0.0.1:8080/src/main.js:3
             95.0%  95.0 ms  15.0 ms  priceCart  http://127.0.0.1:8080/src/cart.js:4
             60.0%  60.0 ms  20.0 ms  ├─ taxOf  http://127.0.0.1:8080/src/cart.js:10
             30.0%  30.0 ms  30.0 ms  │  ├─ rates  http://127.0.0.1:8080/src/rates.js:1
             10.0%  10.0 ms  10.0 ms  │  └─ taxOf > reduce(callback)  cart.js:11
             20.0%  20.0 ms  20.0 ms  └─ handlers.onTotal  cart.js:14
        "#]],
    );
    // By what holds them in the bundle, where there is no map.
    check_functions(
        &folder,
        &["run.json"],
        &expect![[r#"
        Call tree
         share    total     self  call path
        100.0%   100 ms           (immediate)  http://127.0.0.1:8080/dist/shop.js:1
        100.0%   100 ms  5.00 ms  a  http://127.0.0.1:8080/dist/shop.js:1
         95.0%  95.0 ms  15.0 ms  c  http://127.0.0.1:8080/dist/shop.js:1
         60.0%  60.0 ms  20.0 ms  ├─ i  http://127.0.0.1:8080/dist/shop.js:1
         30.0%  30.0 ms  30.0 ms  │  ├─ e  http://127.0.0.1:8080/dist/shop.js:1
         10.0%  10.0 ms  10.0 ms  │  └─ i > reduce(callback)  shop.js:1
         20.0%  20.0 ms  20.0 ms  └─ n.onTotal  http://127.0.0.1:8080/dist/shop.js:1
    "#]],
    );
}

/// A folder with three runs that differ a little.
fn runs(folder: &Folder, name: &str, (side, stack): (&str, &Stack), make: Make) {
    for run in 0..3 {
        let longer =
            |(depth, head, time): &(usize, &'static str, u32)| (*depth, *head, time + run % 2);
        let stack: Vec<_> = stack.iter().map(longer).collect();
        folder.file(&format!("{name}/{run}.json"), make(side, URL, &stack));
    }
}

#[test]
fn diff_compares_builds_under_their_authors_names() {
    for make in [cpuprofile as Make, trace] {
        let folder = Folder::new();
        runs(&folder, "one", ("before", BEFORE), make);
        runs(&folder, "two", ("after", AFTER), make);
        let maps = ["before", "after"].map(|side| build(side).display().to_string());
        let sides = ["--source-maps-before", &maps[0], "--source-maps-after", &maps[1]];
        let words = [&["diff", "one", "two", "--format", "json"], &sides[..]].concat();
        let output = folder.run(&words);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let suspects = answer["suspects"].as_array().unwrap();
        assert_eq!(suspects.len(), 1, "{answer}");
        let first = &suspects[0];
        assert_eq!(first["function"], "rates", "{answer}");
        assert!(first["component"].as_str().unwrap().ends_with("/src/rates.js"), "{first}");
        assert_eq!(first["line"], 1, "{first}");
        let path = first["path"].as_array().unwrap().iter();
        let path: Vec<&str> = path.filter_map(|row| row["function"].as_str()).collect();
        assert_eq!(path[path.len() - 4..], ["start", "priceCart", "taxOf", "rates"], "{first}");
    }
}

#[test]
fn diff_takes_one_folder_for_both_sides() {
    let folder = Folder::new();
    let slower = |(depth, head, time): &(usize, &'static str, u32)| {
        (*depth, *head, if *head == "function e|()" { 100 } else { *time })
    };
    let slower: Vec<_> = BEFORE.iter().map(slower).collect();
    runs(&folder, "one", ("before", BEFORE), cpuprofile);
    runs(&folder, "two", ("before", &slower), cpuprofile);
    let maps = build("before").display().to_string();
    let output = folder.run(&["diff", "one", "two", "--source-maps", &maps]);
    assert_eq!(output.status.code(), Some(1));
    expect![[r#"
        100 ms → 170 ms (+70 %): 100 % of the slowdown is rates under taxOf (slower)

          before    3 runs, 100 ms to 107 ms  ⡄ ⡀                   one
          after     3 runs, 170 ms to 177 ms                   ⢠ ⢀  two
          change    +70.0 ms (+56.3 ms to +83.8 ms), p < 0.001
          metric    wall; changes under 667 µs are ignored

        Suspects
        #  share    change  function
        1  100 %  +70.0 ms  rates  http://127.0.0.1:8080/src/rates.js:1
           slower, 30.3 ms → 100 ms (+62.5 ms to +77.6 ms), p < 0.001
           │⡆       │       ⢰│
           (immediate) › start › priceCart › taxOf › rates

        Self time by function
            change   before   after  function
          +70.0 ms  30.3 ms  100 ms  rates  http://127.0.0.1:8080/src/rates.js:1
    "#]]
    .assert_eq(&String::from_utf8(output.stdout).unwrap());
}

/// The tables of an answer, without what is said about the files.
fn tables(json: &str, keys: &[&str]) -> Vec<Value> {
    let json: Value = serde_json::from_str(json).unwrap();
    keys.iter().map(|key| json[*key].clone()).collect()
}

#[test]
fn converted_files_keep_names() {
    let folder = Folder::new();
    let maps = build("before").display().to_string();
    let url = format!("file://{maps}/shop.js");
    folder.file("node.cpuprofile", cpuprofile("before", &url, BEFORE));
    folder.file("page.json", trace("before", URL, BEFORE));
    for (file, extra) in
        [("node.cpuprofile", &[][..]), ("page.json", &[]), ("page.json", &["--source-maps", &maps])]
    {
        let shown = |file: &str, extra: &[&str]| {
            let shown = folder.ok(&[&["show", file, "--tree", "--format", "json"], extra].concat());
            tables(&shown, &["functions", "nodes", "top", "tree", "hot", "warnings"])
        };
        folder.ok(&[&["convert", "-q", file, "out.perfblame", "--force"], extra].concat());
        assert_eq!(shown(file, extra), shown("out.perfblame", &[]), "{file} {extra:?}");
        // And as recorded, where that is wanted.
        folder
            .ok(&[&["convert", "-q", file, "raw.perfblame", "--force", "--raw-names"], extra]
                .concat());
        let raw = ["--no-normalise"];
        assert_eq!(shown(file, &raw), shown("raw.perfblame", &raw), "{file} {extra:?}");
    }
}

/// Without maps, builds are matched by their code, of which a converted file knows as much as the trace.
#[test]
fn converted_files_are_matched_by_code() {
    let folder = Folder::new();
    runs(&folder, "one", ("before", BEFORE), trace);
    runs(&folder, "two", ("after", AFTER), trace);
    for side in ["one", "two"] {
        folder.ok(&["convert", "-q", side, &format!("{side}.perfblame")]);
    }
    let diff = |before: &str, after: &str| {
        let output = folder.run(&["diff", before, after, "--format", "json"]);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        tables(&text, &["verdict", "suspects", "improvements", "renames"])
    };
    let answer = diff("one", "two");
    assert_eq!(answer[1][0]["function"], "n", "{answer:?}");
    let note = "was `e` (same code except for names, 98 % sure)";
    assert_eq!(answer[1][0]["notes"], json!([note]), "{answer:?}");
    assert_eq!(answer, diff("one.perfblame", "two.perfblame"));
}
