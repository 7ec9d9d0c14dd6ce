//! `perfblame diff` as users and programs meet it: the real program, its output, its errors, its exit status.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::fmt::Write as _;

use expect_test::expect;
use run::Folder;
use serde_json::Value;

const BEFORE: &str = "\
main;serve;handle;parse 400
main;serve;handle;render 600
main;serve;log 90
";

/// `parse` got slower, and calls something new.
const AFTER: &str = "\
main;serve;handle;parse 900
main;serve;handle;parse;validate 700
main;serve;handle;render 600
main;serve;log 90
";

/// Memory, where the others have samples.
const HEAP: &str = r#"{"head":{"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,
"columnNumber":-1},"selfSize":0,"id":1,"children":[{"callFrame":{"functionName":"grow","scriptId":"1",
"url":"app.js","lineNumber":3,"columnNumber":1},"selfSize":4096,"id":2,"children":[]}]},"samples":[]}"#;

/// Two folders of three runs each that scatter a little.
fn folder() -> Folder {
    let folder = Folder::new();
    for (run, extra) in [(1, 0), (2, 4), (3, 9)] {
        for (side, text) in [("old", BEFORE), ("new", AFTER)] {
            let text = format!("{text}main;serve;wait {}\n", 50 + extra);
            folder.file(&format!("{side}/run-{run}.folded"), text);
        }
    }
    folder
}

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let output = folder.run(&[&["diff", "--format", "json"], arguments].concat());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn sides_are_files_folders_patterns_lists_and_pipes() {
    let folder = folder();
    let runs = |arguments: &[&str]| {
        let json = json(&folder, arguments);
        assert_eq!(json["schema"], "perfblame.diff/1");
        let inputs = |side: &str| json[side]["inputs"].as_array().unwrap().len();
        assert_eq!(json["before"]["runs"], inputs("before"));
        [inputs("before"), inputs("after")]
    };
    assert_eq!(runs(&["old", "new"]), [3, 3]);
    assert_eq!(runs(&["old/run-1.folded", "new"]), [1, 3]);
    assert_eq!(runs(&["old/run-[12].folded", "new/*.folded"]), [2, 3]);
    let list = ["--before", "old/run-1.folded", "--before", "old/run-3.folded", "--after", "new"];
    assert_eq!(runs(&list), [2, 3]);
    let piped = folder.piped(&["diff", "old", "-", "--format", "json"], AFTER.as_bytes());
    let json: Value = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(json["after"]["inputs"][0], "standard input");
}

#[test]
fn a_page_is_written_beside_the_text_or_instead_of_it() {
    let folder = folder();
    let text = folder.run(&["diff", "old", "new"]);
    let beside = folder.run(&["diff", "old", "new", "--html", "page.html"]);
    assert_eq!(text.stdout, beside.stdout);
    assert_eq!(text.status.code(), beside.status.code());
    assert_eq!(String::from_utf8_lossy(&beside.stderr), "note: wrote the page to page.html\n");
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    let instead = folder.run(&["diff", "old", "new", "--format", "html"]);
    assert_eq!(String::from_utf8(instead.stdout).unwrap(), page);
    // The page's headline is the first sentence of the text, which has it on several lines.
    let text = String::from_utf8(text.stdout).unwrap();
    let headline: Vec<&str> =
        text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(data["headline"], headline.join(" "));
}

#[test]
fn a_part_of_the_program_is_compared_alone() {
    let folder = folder();
    let total = |arguments: &[&str]| {
        let json = json(&folder, &[&["old", "new"], arguments].concat());
        [&json["before"], &json["after"]].map(|side| side["total"]["median"].as_i64().unwrap())
    };
    assert_eq!(total(&[]), [1144, 2344]);
    assert_eq!(total(&["--root", "handle"]), [1000, 2200]);
    assert_eq!(total(&["--root", "log"]), [90, 90]);
    assert_eq!(total(&["--task", "render"]), [600, 600]);
}

#[test]
fn errors_say_what_is_wrong_and_what_to_do() {
    let folder = folder();
    folder.file("empty.folded", "");
    folder.file("wrong.json", r#"[{ "kind": "touched", "function": "f" }]"#);
    folder.file("heap.heapprofile", HEAP);
    let mut text = String::new();
    for arguments in [
        &["old", "nowhere"][..],
        &["old", "no-*.folded"],
        &["old", "empty.folded"],
        &["old", "heap.heapprofile"],
        &["-", "-"],
        &["old", "@HEAD"],
        &["old", "new", "--root", "nothing"],
        &["old", "new", "--root", "validate"],
        &["old", "new", "--thread", "main"],
        &["old", "new", "--metric", "allocated"],
        &["old", "new", "--min-delta", "5ms"],
        &["old", "new", "--changes", "changes.json"],
        &["old", "new", "--method", "stages", "--changes", "nothing.json"],
        &["old", "new", "--method", "stages", "--changes", "empty.folded"],
        &["old", "new", "--method", "stages", "--changes", "wrong.json"],
        &["old", "new", "--work", "1:2,3"],
    ] {
        let shown = arguments.join(" ");
        let errors = folder.fails(&[&["diff"], arguments].concat());
        let _ = write!(text, "$ perfblame diff {shown}\n{errors}");
    }
    expect![[r#"
        $ perfblame diff old nowhere
        error: cannot read nowhere
          there is no such file
        $ perfblame diff old no-*.folded
        error: cannot read no-*.folded
          no file matches this pattern
        $ perfblame diff old empty.folded
        error: cannot read empty.folded
          the file is empty
        $ perfblame diff old heap.heapprofile
        error: before and after share no metric
          before has samples
          after has allocated
          help: record both sides the same way
        $ perfblame diff - -
        error: standard input cannot be both sides
          `-` is given for BEFORE and for AFTER
          help: write one side to a file first
        $ perfblame diff old @HEAD
        error: this is not a git repository
          help: run this inside a git repository with a working tree
        $ perfblame diff old new --root nothing
        error: before: no function matches `nothing`
          help: `perfblame show --functions` lists all functions
        $ perfblame diff old new --root validate
        error: before: no function matches `validate`
          help: `perfblame show --functions` lists all functions
        $ perfblame diff old new --thread main
        error: before: no thread's name contains `main`
          its threads have no names
          help: remove `--thread`
        $ perfblame diff old new --metric allocated
        error: before has no metric `allocated`
          help: both sides have samples
        $ perfblame diff old new --min-delta 5ms
        error: `--min-delta` does not fit the metric
          it is a time, but samples is measured in count
          help: a percentage or a number without a unit always works
        $ perfblame diff old new --changes changes.json
        error: `--classes` and `--changes` need `--method stages`
          the other methods need sources to find the change that explains a suspect
          help: add `--method stages`, or use `--repo` or `--source`
        $ perfblame diff old new --method stages --changes nothing.json
        error: cannot read nothing.json
          there is no such file
        $ perfblame diff old new --method stages --changes empty.folded
        error: cannot read empty.folded
          EOF while parsing a value at line 1 column 0
          help: docs/stages.md shows what changes look like
        $ perfblame diff old new --method stages --changes wrong.json
        error: cannot read wrong.json
          change 1: unknown kind `touched`; expected added, deleted, modified or renamed
          help: docs/stages.md shows what changes look like
        $ perfblame diff old new --work 1:2,3
        error: before has 3 runs, but `--work` gives 2 numbers for it
          help: give one number per side, or one per run separated by `:`, as in `--work 100:110:90,80`
    "#]]
    .assert_eq(&text);
    for arguments in [
        &["old"][..],
        &["old", "new", "--min-delta", "5 parsecs"],
        &["old", "new", "--work", "12"],
        &["old", "new", "--before", "x"],
        &["old", "new", "--format", "yaml"],
    ] {
        let errors = folder.fails(&[&["diff"], arguments].concat());
        assert!(errors.starts_with("error: "), "{errors}");
    }
}

#[test]
fn the_answer_goes_to_a_file_whole_or_not_at_all() {
    let folder = folder();
    let output = folder.run(&["diff", "old", "new", "--format", "json", "--output", "out.json"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let written = std::fs::read_to_string(folder.path().join("out.json")).unwrap();
    serde_json::from_str::<Value>(&written).unwrap();
    folder.fails(&["diff", "old", "new", "--output", "no/such/folder.txt"]);
    assert_eq!(folder.files(), ["new", "old", "out.json"]);
}

#[test]
fn the_critical_graph_names_the_lowest_calls_that_got_slower() {
    let folder = folder();
    let arguments = ["old", "new", "--method", "critical-graph", "--min-delta", "50"];
    let json = json(&folder, &arguments);
    assert_eq!(json["method"], "critical-graph");
    assert_eq!(json["verdict"], "regressed");
    assert_eq!(json["suspects"], Value::Array(Vec::new()), "they are another method's");
    let nodes: Vec<String> = (json["graph"]["nodes"].as_array().unwrap().iter())
        .map(|node| {
            let fields = ["id", "parent", "function", "before", "after", "delta", "cause"];
            fields.map(|field| node[field].to_string()).join(" ")
        })
        .collect();
    expect![[r#"
        0 null "(root)" 1144 2344 1200 false
        1 0 "main" 1144 2344 1200 false
        2 1 "serve" 1144 2344 1200 false
        3 2 "handle" 1000 2200 1200 false
        4 3 "parse" 400 1600 1200 false
        5 4 "validate" 0 700 700 true
    "#]]
    .assert_eq(&(nodes.join("\n") + "\n"));
    let output = folder.run(&[&["diff", "--format", "dot"], &arguments[..]].concat());
    assert_eq!(output.status.code(), Some(1), "a slowdown was found");
    let dot = String::from_utf8_lossy(&output.stdout).into_owned();
    expect![[r#"
        digraph perfblame {
          graph [label="1,144 → 2,344 samples (+105 %): the cause is validate (+700)", labelloc=t];
          node [shape=box];
          n0 [label="(root)\n1,144 → 2,344 samples (+1,200)", tooltip="(root)"];
          n1 [label="main\n1,144 → 2,344 samples (+1,200)", tooltip="main"];
          n2 [label="serve\n1,144 → 2,344 samples (+1,200)", tooltip="serve"];
          n3 [label="handle\n1,000 → 2,200 samples (+1,200)", tooltip="handle"];
          n4 [label="parse\n400 → 1,600 samples (+1,200)", tooltip="parse"];
          n5 [label="validate\nnew, 700", tooltip="validate", style=filled, fillcolor=lightgrey];
          n0 -> n1;
          n1 -> n2;
          n2 -> n3;
          n3 -> n4;
          n4 -> n5;
        }
    "#]]
    .assert_eq(&dot);
}

#[test]
fn whoever_stops_reading_still_gets_the_status() {
    let folder = folder();
    let arguments = ["diff", "old", "new", "--format", "json"];
    let wanted = folder.run(&arguments).status.code();
    let mut child = folder
        .perfblame(&arguments)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), wanted);
}

#[test]
fn every_format_is_written() {
    let folder = folder();
    for (format, start) in [
        ("text", "1,144 → 2,344 samples (+105 %): "),
        ("json", "{\n  \"schema\": \"perfblame.diff/1\""),
        ("html", "<!doctype html>"),
        ("markdown", "🔴 **Slower**: 1,144 → 2,344 samples"),
        ("sarif", "{\n  \"$schema\""),
    ] {
        let output = folder.run(&["diff", "old", "new", "--format", format]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with(start) && text.len() > 80, "{format}: {text}");
        assert!(!text.contains('\u{1b}'), "no colours in a pipe");
    }
}

#[test]
fn the_status_says_whether_it_got_slower() {
    let folder = folder();
    let status = |arguments: &[&str]| {
        let output = folder.run(&[&["diff", "-q"], arguments].concat());
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text.lines().next().unwrap().to_owned())
    };
    expect![[r#"
        [
            (
                1,
                "1,144 → 2,344 samples (+105 %): 58 % of the slowdown is validate under parse",
            ),
            (
                0,
                "2,344 → 1,144 samples (−51 %): 58 % of the speedup is validate under parse",
            ),
            (
                0,
                "no change: 1,144 → 1,144 samples; a slowdown of more than 6.7 % would show",
            ),
            (
                0,
                "cannot tell: 1,140 → 1,144 samples (+0.4 %) with one run on each side may be",
            ),
            (
                0,
                "below the threshold: 1,144 → 2,344 samples (+105 %); changes under 2,289 samples",
            ),
            (
                0,
                "1,144 → 781 samples (−32 %): render under handle is faster and saves 400",
            ),
            (
                0,
                "no change: 90 → 90 samples; a slowdown of more than 21 % would show",
            ),
        ]
    "#]]
    .assert_debug_eq(&[
        status(&["old", "new"]),
        status(&["new", "old"]),
        status(&["old", "old"]),
        status(&["old/run-1.folded", "old/run-2.folded"]),
        status(&["old", "new", "--min-delta", "200%"]),
        status(&["old", "new", "--work", "100,300"]),
        status(&["old", "new", "--root", "log"]),
    ]);
}

/// A profile of V8: milliseconds in the program's own functions, and in the runtime.
fn of_script(functions: &[(&str, usize)]) -> String {
    let frame = |name: &str| {
        let (script, url) = if name.starts_with('(') { (0, "") } else { (1, "app.js") };
        serde_json::json!({ "functionName": name, "scriptId": script.to_string(), "url": url,
            "lineNumber": name.len(), "columnNumber": 1 })
    };
    let children: Vec<usize> = (2..functions.len() + 2).collect();
    let mut nodes =
        vec![serde_json::json!({ "id": 1, "callFrame": frame("(root)"), "children": children })];
    let mut samples = Vec::new();
    for (id, (name, count)) in (2..).zip(functions) {
        nodes.push(serde_json::json!({ "id": id, "callFrame": frame(name) }));
        samples.extend(std::iter::repeat_n(id, *count));
    }
    let deltas = vec![1_000; samples.len()];
    let end = samples.len() * 1_000;
    serde_json::json!({ "nodes": nodes, "startTime": 0, "endTime": end, "samples": samples,
        "timeDeltas": deltas })
    .to_string()
}

#[test]
fn the_runtime_is_named_where_it_is_most_of_the_change() {
    let folder = Folder::new();
    for run in 0..4 {
        let before = [("parse", 400 + run), ("render", 300 - run), ("(program)", 200 + 3 * run)];
        let after = [
            ("parse", 402 - run),
            ("render", 301 + run),
            ("(program)", 900 - 4 * run),
            ("measure", 60 + run),
        ];
        folder.file(&format!("old/run-{run}.cpuprofile"), of_script(&before));
        folder.file(&format!("new/run-{run}.cpuprofile"), of_script(&after));
    }
    let output = folder.run(&["diff", "old", "new"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = text.split("\n\n").next().unwrap().replace('\n', " ");
    expect![
        "904 ms → 1.66 s (+83 %): 92 % of the slowdown is the runtime's (program); 8.0 % is measure (new)"
    ]
    .assert_eq(&first);
}

#[test]
fn a_page_is_written_whole_or_not_at_all() {
    let folder = folder();
    folder.run(&["diff", "old", "new", "--html", "page.html"]);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    folder.fails(&["diff", "old", "new", "--html", "no/such/page.html"]);
    assert_eq!(folder.files(), ["new", "old", "page.html"]);
}

#[test]
fn fractional_counts_stay_fractions() {
    let folder = Folder::new();
    folder.file("old.folded", "main;a 10.5\nmain;b 20\n");
    folder.file("new.folded", "main;a 310.25\nmain;b 20\n");
    for method in ["suspects", "critical-graph", "paths"] {
        let json = json(&folder, &["old.folded", "new.folded", "--method", method]);
        assert_eq!(json["before"]["total"]["median"], 30.5, "{method}");
        assert_eq!(json["after"]["total"]["median"], 330.25, "{method}");
        match method {
            "suspects" => assert_eq!(json["suspects"][0]["after"], 310.25),
            "critical-graph" => assert_eq!(json["graph"]["nodes"][0]["after"], 330.25),
            _ => assert_eq!(json["paths"][0]["cost"], 299.75),
        }
    }
}
