//! What `convert` writes, read back: nothing is lost that the format has a place for.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::collections::BTreeMap;

use run::{Folder, samples};
use serde_json::Value;

fn show(folder: &Folder, file: &str, extra: &[&str]) -> Value {
    let arguments = [&["show", file, "--format", "json", "--no-normalise"], extra].concat();
    serde_json::from_str(&folder.ok(&arguments)).unwrap()
}

/// Own values by name, which every format keeps; overloads of one name fall together in some.
fn by_name(json: &Value, key: &str) -> BTreeMap<String, i64> {
    let mut values = BTreeMap::new();
    for row in json[key].as_array().unwrap().iter().filter(|row| row["self"] != 0) {
        let name = row["function"].as_str().unwrap().to_owned();
        *values.entry(name).or_default() += row["self"].as_i64().unwrap();
    }
    values
}

/// The metrics' totals.
fn totals(json: &Value) -> Vec<(&str, i64)> {
    let metrics = json["metrics"].as_array().unwrap().iter();
    metrics
        .map(|row| (row["name"].as_str().unwrap(), row["total"].as_f64().unwrap().round() as i64))
        .collect()
}

#[test]
fn own_files_keep_everything() {
    let folder = Folder::new();
    for sample in samples() {
        let path = sample.to_str().unwrap();
        // As recorded: names can also come from scripts that happen to lie on this machine.
        folder.ok(&["convert", "-q", path, "out.perfblame", "--raw-names"]);
        let before = show(&folder, path, &["--tree"]);
        let after = show(&folder, "out.perfblame", &["--tree"]);
        for key in ["samples", "functions", "metrics", "threads", "duration"] {
            assert_eq!(before[key], after[key], "{path}: {key}");
        }
        // A tree made from a call graph depends on what its nodes are told apart by, and files hold the finest.
        if before["format"] != "callgrind" {
            for key in ["nodes", "top", "tree", "hot"] {
                assert_eq!(before[key], after[key], "{path}: {key}");
            }
        }
    }
}

#[test]
fn own_files_keep_runs_apart() {
    let folder = Folder::new();
    folder.file("a.folded", "main;parse 3\n");
    folder.file("b.folded", "main;parse 4\nmain;write 5\n");
    folder.ok(&["convert", "a.folded", "b.folded", "both.perfblame"]);
    let json = show(&folder, "both.perfblame", &[]);
    assert_eq!(json["runs"], 2);
    assert_eq!((&json["inputs"][0]["total"], &json["inputs"][1]["total"]), (&3.into(), &9.into()));
    // Others add up, and that is said.
    let output = folder.run(&["convert", "both.perfblame", "sum.folded"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "note: 2 runs are added up\n");
    let text = std::fs::read_to_string(folder.path().join("sum.folded")).unwrap();
    assert_eq!(text, "main;parse 7\nmain;write 5\n");
}

#[test]
fn pprof_keeps_values_of_every_function() {
    let folder = Folder::new();
    for sample in samples() {
        let path = sample.to_str().unwrap();
        folder.ok(&["convert", "-q", path, "out.pb.gz", "--raw-names"]);
        let limit = ["--limit", "100000"];
        let (before, after) = (show(&folder, path, &limit), show(&folder, "out.pb.gz", &limit));
        // pprof knows whole numbers only: sums of rounded fractions are off by a little.
        for (row, total) in totals(&before).into_iter().enumerate() {
            let off = (total.1 - totals(&after)[row].1).abs();
            let fractional = !before["metrics"][row]["total"].is_i64();
            assert_eq!(total.0, totals(&after)[row].0, "{path}");
            assert!(off == 0 || (fractional && off < 1000), "{path}: {total:?} is off by {off}");
        }
        if before["total"].is_i64() && before["format"] != "callgrind" {
            assert_eq!(by_name(&before, "top"), by_name(&after, "top"), "{path}");
        }
    }
}

#[test]
fn folded_stacks_keep_the_metric() {
    let folder = Folder::new();
    for sample in samples() {
        let path = sample.to_str().unwrap();
        folder.ok(&["convert", "-q", path, "out.folded", "--style", "plain"]);
        let before = show(&folder, path, &[]);
        if before["total"] == 0 {
            continue;
        }
        let after = show(&folder, "out.folded", &[]);
        assert_eq!(before["total"].as_f64(), after["total"].as_f64(), "{path}");
    }
}

#[test]
fn speedscope_and_firefox_files_keep_the_metric() {
    let folder = Folder::new();
    let mut checked = 0;
    for sample in samples() {
        let path = sample.to_str().unwrap();
        let before = show(&folder, path, &[]);
        // Neither format names its metrics, so that those of one unit fall together; and both count in floating point.
        let one = before["metrics"].as_array().unwrap().len() == 1;
        if !one || !before["total"].is_i64() || before["total"] == 0 {
            continue;
        }
        for file in ["out.speedscope.json", "out.firefox.json"] {
            folder.ok(&["convert", "-q", path, file]);
            let after = show(&folder, file, &[]);
            let total = before["total"].as_i64().unwrap();
            let found = totals(&after).iter().any(|(_, after)| *after == total);
            assert!(found, "{path} {file}: {total} {:?}", totals(&after));
            checked += 1;
        }
    }
    assert!(checked > 0);
}

#[test]
fn calls_with_times_survive_as_events() {
    let folder = Folder::new();
    let trace = r#"[
        {"ph":"X","pid":1,"tid":2,"ts":10,"dur":100,"name":"outer"},
        {"ph":"X","pid":1,"tid":2,"ts":20,"dur":30.5,"name":"inner"},
        {"ph":"X","pid":1,"tid":2,"ts":60,"dur":10,"name":"inner"},
        {"ph":"X","pid":1,"tid":3,"ts":0,"dur":5,"name":"other"}]"#;
    folder.file("calls.json", trace);
    let before = show(&folder, "calls.json", &["--tree"]);
    for file in ["out.trace.json", "out.speedscope.json", "out.perfblame"] {
        folder.ok(&["convert", "-q", "calls.json", file]);
        let after = show(&folder, file, &["--tree"]);
        assert_eq!(before["total"], 105_000, "{file}");
        assert_eq!(after["total"], before["total"], "{file}");
        assert_eq!(by_name(&after, "tree"), by_name(&before, "tree"), "{file}");
    }
}

#[test]
fn folded_stacks_render_in_inferno() {
    let folder = Folder::new();
    for sample in samples() {
        let path = sample.to_str().unwrap();
        let json = show(&folder, path, &[]);
        let text = folder.ok(&["convert", "-q", path, "-", "--to", "folded"]);
        let Some(total) = json["total"].as_i64().filter(|total| *total > 0) else { continue };
        let mut svg = Vec::new();
        let mut options = inferno::flamegraph::Options::default();
        inferno::flamegraph::from_lines(&mut options, text.lines(), &mut svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        let digits = total.to_string();
        let grouped: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().map(|part| str::from_utf8(part).unwrap()).collect();
        let all = format!("all ({} samples, 100%)", grouped.join(","));
        assert!(svg.contains(&all), "{path}: no `{all}`");
    }
}
