//! Pages in a real browser: what they say, how they are used, what they do with names that mean
//! harm, how long a frame takes. `cargo xtask setup` installs the browser; without it these tests fail rather than
//! pretend.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod made;

use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect;
use perfblame_analysis::{
    Ask, Diff, DiffQuery, DiffTree, LoadOptions, diff_with_tree, expand, load,
};
use perfblame_cct::MetricId;
use perfblame_fixtures::{tool, tool_file};
use perfblame_report::{FlamePage, flame_html};
use serde_json::Value;

/// What a page does in one of the cases of `drive.cjs`; it must not complain or ask for anything.
fn drive(case: &str, (diff, tree): &(Diff, DiffTree)) -> Value {
    let mut page = Vec::new();
    perfblame_report::diff_html(diff, tree, &mut page).unwrap();
    drive_page(case, &page, None)
}

/// Pictures for the documents are put into a folder when one is given.
fn drive_page(case: &str, content: &[u8], pictures: Option<PathBuf>) -> Value {
    let folder = Folder::new();
    let page = folder.0.join("page.html");
    std::fs::write(&page, content).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/drive.cjs");
    let mut node = Command::new(tool("node"));
    node.arg(script)
        .arg(tool_file("node_modules/playwright-core"))
        .arg(tool("chromium"))
        .arg(page)
        .arg(case);
    node.args(pictures);
    let output = node.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["errors"], Value::Array(Vec::new()));
    result["seen"].take()
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("perfblame-page-{}-{next}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A line per row.
fn lines(rows: &Value, of: impl Fn(&Value) -> String) -> String {
    let rows: Vec<String> = rows.as_array().unwrap().iter().map(of).collect();
    rows.join("\n") + "\n"
}

#[test]
fn everything_is_said_wide_and_narrow_light_and_dark() {
    let seen = drive("looks", &made::everything());
    assert_eq!(seen["widths"], serde_json::json!([0, 0, 0, 0]), "the page scrolls sideways");
    assert_eq!(seen["contrasts"], serde_json::json!([]));
    assert_eq!(seen["theme"], serde_json::json!(["light", "dark"]));
    assert_eq!(seen["unnamed"], 0);
    let text = seen["text"].as_str().unwrap();
    for part in [
        "▲ regressed",
        "#1 utf",
        "map.js:57",
        "+ new",
        "83 % of the slowdown",
        "+171 ms",
        "calls 0 → 1,204",
        "added utf src/layer.js:41–58 in 3f2c1aa",
        "was fillDraw",
        "Paths to the suspects",
        "Ranked call paths",
        "Improvements",
        "− gone",
        "(garbage collector)",
        "Unexplained: +4.00 ms",
        "Self time by function",
        "12 more functions changed, +3.00 ms together.",
        "samples were lost (37 times)",
        "before/2.json.gz",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

#[test]
fn search_counts_what_it_finds_and_goes_there() {
    let seen = drive("search", &made::everything());
    let seen = lines(&seen, |row| format!("{} | {} | {}", row["focus"], row["found"], row["tip"]));
    expect![[r#"
        "search" | "" | null
        "search" | "2 contexts of 1 function: 0 s → 171 ms (+171 ms)" | null
        "search" | "2 contexts of 2 functions: 64.0 ms → 79.0 ms (+15.0 ms)" | null
        "search" | "invalid regular expression" | null
        "search" | "nothing found" | null
        "scroll" | "2 contexts of 1 function: 0 s → 171 ms (+171 ms)" | "utf"
        "scroll" | "" | "utf"
    "#]]
    .assert_eq(&seen);
}

#[test]
fn clicks_zoom_and_the_trail_leads_back() {
    let seen = drive("zoom", &made::everything());
    let seen = lines(&seen, |row| format!("{} | {} | {}", row["tip"], row["trail"], row["found"]));
    expect![[r#"
        "query" | "Click a call to zoom in. Callees are below their callers; costs are means over the runs." | ""
        null | "allmainqueryRenderedFeaturesrenderedquery 34.0 ms → 182 ms, +148 ms, +435 %" | ""
        "query" | "allmainqueryRenderedFeaturesrenderedquery 34.0 ms → 182 ms, +148 ms, +435 %" | ""
        null | "Click a call to zoom in. Callees are below their callers; costs are means over the runs." | ""
        "utf" | "Click a call to zoom in. Callees are below their callers; costs are means over the runs." | "utf: 2 contexts; n goes to the next"
    "#]].assert_eq(&seen);
}

#[test]
fn keys_do_what_the_pointer_does() {
    let seen = lines(&drive("keys", &made::everything()), Value::to_string);
    expect![[r#"
        ["ArrowDown","main","Click a call to zoom in. Callees are below their callers; costs are means over the runs.","main: 189 ms → 355 ms, +166 ms, +88 %"]
        ["ArrowDown","queryRenderedFeatures","Click a call to zoom in. Callees are below their callers; costs are means over the runs.","queryRenderedFeatures: 105 ms → 222 ms, +117 ms, +111 %"]
        ["ArrowRight","paint","Click a call to zoom in. Callees are below their callers; costs are means over the runs.","paint: 82.0 ms → 131 ms, +49.0 ms, +60 %"]
        ["ArrowDown","drawFill","Click a call to zoom in. Callees are below their callers; costs are means over the runs.","drawFill: 42.0 ms → 57.0 ms, +15.0 ms, +36 %"]
        ["Enter",null,"allmainpaintdrawFill 42.0 ms → 57.0 ms, +15.0 ms, +36 %","drawFill: 42.0 ms → 57.0 ms, +15.0 ms, +36 %"]
        ["ArrowUp","paint","allmainpaintdrawFill 42.0 ms → 57.0 ms, +15.0 ms, +36 %","paint: 82.0 ms → 131 ms, +49.0 ms, +60 %"]
        ["Backspace",null,"allmainpaint 82.0 ms → 131 ms, +49.0 ms, +60 %","paint: 82.0 ms → 131 ms, +49.0 ms, +60 %"]
        ["Escape",null,"Click a call to zoom in. Callees are below their callers; costs are means over the runs.","paint: 82.0 ms → 131 ms, +49.0 ms, +60 %"]
        ["?",true]
        ["Escape",false]
    "#]].assert_eq(&seen);
}

#[test]
fn widths_follow_the_mode() {
    let seen = lines(&drive("modes", &made::everything()), Value::to_string);
    expect![[r#"
        ["difference absolute","layer"]
        ["before absolute","serialize"]
        ["after absolute","layer"]
        ["after share","layer"]
        ["difference share","layer"]
        ["before share","serialize"]
        ["after share","layer"]
        ["difference share","layer"]
        ["difference absolute","layer"]
    "#]]
    .assert_eq(&seen);
}

#[test]
fn paths_to_suspects_and_the_critical_graph_are_drawn() {
    let seen = drive("parts", &made::everything());
    expect![[r##"{"calls":["main","queryRenderedFeatures","rendered","query","layer","#1 utf","paint","#2 drawFill","layer","#1 utf"],"causes":3,"cells":32,"folded":"","new":2,"rows":9,"title":"Paths to the suspects"}"##]].assert_eq(&seen.to_string());
    let seen = drive("parts", &made::critical());
    expect![[r#"{"calls":["root","queryRenderedFeatures","rendered","query","layer","utf","paint"],"causes":2,"cells":32,"folded":"","new":1,"rows":9,"title":"Critical graph"}"#]].assert_eq(&seen.to_string());
}

#[test]
fn profiles_are_drawn_by_the_same_flame_graph() {
    let profile = perfblame_fixtures::profile(
        "main  main  main main
         parse parse draw .
         read  .     .    .",
    );
    let page = FlamePage { title: "t", about: "a", metric: MetricId::new(0) };
    let mut html = Vec::new();
    flame_html(&profile, page, &mut html).unwrap();
    let seen = lines(&drive_page("flame", &html, None), |row| {
        format!("{} | {} | {}", row["tip"], row["trail"], row["found"])
    });
    expect![[r#"
        "main" | "Click a call to zoom in. Width is cost; callees are below their callers." | ""
        "parse" | "Click a call to zoom in. Width is cost; callees are below their callers." | ""
        "draw" | "Click a call to zoom in. Width is cost; callees are below their callers." | ""
        "parse" | "Click a call to zoom in. Width is cost; callees are below their callers." | ""
        null | "allmainparse 2 samples, 50.0% of all" | ""
        null | "allmain 4 samples, 100.0% of all" | ""
        null | "Click a call to zoom in. Width is cost; callees are below their callers." | ""
        null | "Click a call to zoom in. Width is cost; callees are below their callers." | "25.0% in 1 function"
        null | "Click a call to zoom in. Width is cost; callees are below their callers." | ""
    "#]].assert_eq(&seen);
}

#[test]
fn names_that_mean_harm_stay_text() {
    let seen = drive("harm", &made::hostile());
    assert_eq!(seen["harmed"], Value::Null);
    assert_eq!(
        (&seen["scripts"], &seen["images"], &seen["bold"]),
        (&2.into(), &0.into(), &0.into())
    );
    assert_eq!(seen["tip"], made::HOSTILE[0]);
    assert_eq!(seen["names"][0], format!("#1 {}", made::HOSTILE[0]));
    assert_eq!(seen["names"][1], format!("#2 {}", made::HOSTILE[4]));
    assert_eq!(seen["notes"][0], made::HOSTILE[1]);
    assert!(seen["warnings"][0].as_str().unwrap().starts_with(made::HOSTILE[0]));
}

#[test]
fn two_hundred_thousand_contexts_stay_fluid() {
    let seen = drive("fluid", &made::large(200_000));
    eprintln!("milliseconds: {seen}");
    // Twenty frames a second without a graphics card. The lower quartile, since other tests run beside this one.
    for what in ["hover", "scroll", "zoom"] {
        let frame = seen[what]["frame"][0].as_f64().unwrap();
        assert!(frame < 50.0, "{what}: {frame} ms a frame, {seen}");
    }
}

#[test]
fn what_is_folded_is_said() {
    let seen = drive("parts", &made::large(320_000));
    let folded = seen["folded"].as_str().unwrap();
    assert!(folded.starts_with("20,000 small contexts are drawn together in grey"), "{folded}");
}

#[test]
fn real_recordings_are_shown() {
    let Some(recordings) = perfblame_fixtures::recordings("corpus-web-sample") else { return };
    let side = |name: &str| {
        let folder = recordings.join(name);
        load(&expand(&[folder]).unwrap(), LoadOptions::default(), &Ask::default()).unwrap()
    };
    let (mut diff, tree) =
        diff_with_tree(&side("old"), &side("new"), &DiffQuery::default(), &Ask::default()).unwrap();
    for side in [&mut diff.before, &mut diff.after] {
        for input in &mut side.inputs {
            *input = input
                .rsplit('/')
                .take(2)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect::<Vec<_>>()
                .join("/");
        }
    }
    let mut page = Vec::new();
    perfblame_report::diff_html(&diff, &tree, &mut page).unwrap();
    let pictures = std::env::var_os("PERFBLAME_PICTURES").map(PathBuf::from);
    let seen = drive_page("looks", &page, pictures);
    assert_eq!(seen["widths"], serde_json::json!([0, 0, 0, 0]), "the page scrolls sideways");
    assert_eq!(seen["contrasts"], serde_json::json!([]));
}
