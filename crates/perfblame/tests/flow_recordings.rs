//! Flows from the command line: recorded with a mark for each step, from a file or from standard input, and what is
//! said when that fails.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;
mod site;
mod stage;

use std::io::Read;

use expect_test::expect;
use run::Folder;
use serde_json::{Value, json};
use site::Site;
use stage::{PAGES, click};

/// The texts of marks in a trace, in the order of time.
fn marks(folder: &Folder, file: &str) -> Vec<String> {
    let packed = std::fs::File::open(folder.path().join(file)).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let mut marks: Vec<(f64, String)> = events
        .iter()
        .filter(|event| event["name"] == "TimeStamp")
        .filter_map(|event| {
            let text = event["args"]["data"]["message"].as_str()?;
            Some((event["ts"].as_f64()?, text.to_owned()))
        })
        .collect();
    marks.sort_by(|a, b| a.0.total_cmp(&b.0));
    marks.into_iter().map(|(_, text)| text).filter(|text| !text.contains("perfblame:")).collect()
}

#[test]
fn flows_are_recorded_with_a_mark_for_each_step() {
    let site = Site::new(PAGES);
    let folder = Folder::new();
    let flow = json!({ "title": "short", "timeout": 30_000, "steps": [
        { "type": "navigate", "url": "http://elsewhere.invalid/index.html" },
        click("#slow"),
        { "type": "customStep", "name": "perfblame:mark", "parameters": { "name": "mine \"x\"" } },
        { "type": "change", "selectors": ["#name"], "value": "x" },
        { "type": "close" },
    ] });
    folder.file("short.json", flow.to_string());
    let url = site.url("/index.html");
    let recorded = folder.run(&[
        "record",
        "chrome",
        "--flow",
        "short.json",
        "--url",
        &url,
        "--output",
        "runs",
        "--timeout",
        "200s",
    ]);
    let said = String::from_utf8(recorded.stderr).unwrap();
    assert!(recorded.status.success(), "{said}");
    let wanted = [
        "perfblame step 1/5 navigate",
        "perfblame step 2/5 click",
        "perfblame step 3/5 customStep",
        "mine \"x\"",
        "perfblame step 4/5 change",
        "perfblame step 5/5 close",
        "perfblame flow end",
    ];
    assert_eq!(marks(&folder, "runs/run-1.json.gz"), wanted);
    let shown = folder.ok(&["show", "--format", "json", "runs/run-1.json.gz"]);
    assert!(shown.contains("/index.html"), "{shown}");
}

#[test]
fn flows_come_from_standard_input_and_fail_in_words() {
    let site = Site::new(PAGES);
    let folder = Folder::new();
    let url = site.url("/next.html");
    let mut wrong = click("#nothing-here");
    wrong["timeout"] = 5000.into();
    let steps = json!([{ "type": "navigate", "url": url }, wrong]);
    let flow = json!({ "title": "fails", "steps": steps }).to_string();
    let options = ["record", "chrome", "--flow", "-", "--output", "runs", "--timeout", "200s"];
    let mut command = folder.perfblame(&options);
    let input = folder.path().join(folder.file("input.json", &flow));
    let output = command.stdin(std::fs::File::open(input).unwrap()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap().replace(&url, "URL");
    assert_eq!(output.status.code(), Some(2), "{said}");
    let place = folder.path().join("runs").display().to_string();
    expect![[r#"
        error: step 2 of 2 (click) failed
          timed out after 5 s: no element was found
          selectors: #nothing-here
          page: URL
          screenshot: FOLDER/run-1.step-2.png
    "#]]
    .assert_eq(&said.replace(&place, "FOLDER"));
    let runs: Vec<_> = std::fs::read_dir(folder.path().join("runs")).unwrap().collect();
    assert_eq!(runs.len(), 1);
    assert!(folder.path().join("runs/run-1.step-2.png").is_file());

    folder.file("wrong.json", "{ \"title\": \"x\", \"steps\": [{ \"type\": \"click\" }] }");
    let output = folder.run(&["record", "chrome", "--flow", "wrong.json"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    expect![[r#"
        error: wrong.json is not a valid flow
          step 1 of 1 (click): selectors: expected a list of selectors, found nothing
          help: export it from DevTools' Recorder panel as JSON; see docs/flows.md
    "#]]
    .assert_eq(&said);
}
