//! Flows that fail: which step, why, with which selectors, on which page, and a picture of it.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;
mod site;
mod stage;

use perfblame_record::chrome::ChromeError;
use perfblame_record::chrome::flow::{Flow, ReplayOptions, StepFailure, replay};
use run::Folder;
use serde_json::{Value, json};
use stage::{Stage, click};

/// How a step fails that follows going to the page. It has little time, or more where the machine is too busy for that.
#[track_caller]
fn failure(stage: &Stage, mut step: Value) -> StepFailure {
    let said = step.get("timeout").is_some();
    for time in [700, 4000, 25_000] {
        if !said {
            step["timeout"] = time.into();
        }
        match stage.try_steps(&stage.open(), json!([step])) {
            Err(ChromeError::Step(failure))
                if said || time > 9999 || !failure.why.contains("does not answer") =>
            {
                return *failure;
            }
            Err(ChromeError::Step(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    unreachable!("the last try counts")
}

/// What is said of a step that fails on the page `page` for the reason `why`.
#[track_caller]
fn check(stage: &Stage, step: &Value, page: &str, why: &str) {
    let kind = step["type"].as_str().unwrap();
    let selectors = step["selectors"].as_array().map(|selectors| {
        let words = |chain: &Value| match chain.as_array() {
            Some(parts) => {
                parts.iter().map(|part| part.as_str().unwrap()).collect::<Vec<_>>().join(" ▸ ")
            }
            None => chain.as_str().unwrap().to_owned(),
        };
        format!("selectors: {}\n", selectors.iter().map(words).collect::<Vec<_>>().join(", "))
    });
    let selectors = selectors.unwrap_or_default();
    let wanted =
        format!("step 2 of 2 ({kind}) failed\n{why}\n{selectors}page: http://localhost/{page}");
    let failure = failure(stage, step.clone());
    let text = stage.without_port(&format!("{failure}\n{}", failure.details()));
    // How much time it was given depends on the machine.
    let time = text.split("timed out after ").nth(1).and_then(|rest| rest.split(": ").next());
    let time = time.map(|time| format!("timed out after {time}: "));
    let text =
        time.map_or_else(|| text.clone(), |time| text.replace(&time, "timed out after TIME: "));
    assert_eq!(text, wanted, "{step}");
}

#[test]
fn failures_say_which_step_and_why() {
    let stage = Stage::set();
    let mut stays = click("#stay");
    stays["assertedEvents"] = json!([{ "type": "navigation" }]);
    for (step, why) in [
        (
            json!({ "type": "click", "selectors": ["#missing", ["my-app", "#none"], "aria/Nobody"], "offsetX": 1, "offsetY": 1 }),
            "timed out after TIME: no element was found",
        ),
        (click("#hidden"), "timed out after TIME: an element was found, but it is not visible"),
        (click("#never"), "timed out after TIME: an element was found, but it is disabled"),
        (
            click("##"),
            "no selector can be used: SyntaxError: Failed to execute 'querySelectorAll' on 'Document': '##' is not a valid selector.",
        ),
        (
            json!({ "type": "click", "selectors": ["##", "#missing"], "offsetX": 1, "offsetY": 1 }),
            "timed out after TIME: no element was found, and some selectors cannot be used: SyntaxError: Failed to execute 'querySelectorAll' on 'Document': '##' is not a valid selector.",
        ),
        (
            json!({ "type": "click", "selectors": ["#save"], "frame": [0, 7], "offsetX": 1, "offsetY": 1 }),
            "timed out after TIME: there is no frame [0, 7]",
        ),
        (
            json!({ "type": "hover", "selectors": ["#save"], "target": "http://localhost/nowhere" }),
            "timed out after TIME: there is no page or frame at http://localhost/nowhere",
        ),
        (
            json!({ "type": "change", "selectors": ["#text"], "value": "x" }),
            "timed out after TIME: an element was found, but it does not accept a value",
        ),
        (
            json!({ "type": "change", "selectors": ["#fruit"], "value": "cherry" }),
            "timed out after TIME: the list has no value \"cherry\"",
        ),
        (
            json!({ "type": "waitForElement", "selectors": ["aria/Same"], "operator": "==", "count": 3 }),
            "timed out after TIME: 2 elements were found (wanted: exactly 3)",
        ),
        (
            json!({ "type": "waitForElement", "selectors": ["#save"], "attributes": { "id": "x" } }),
            "timed out after TIME: 1 element was found, but not with these attributes (wanted: at least 1)",
        ),
        (
            json!({ "type": "waitForElement", "selectors": ["#save"], "visible": false }),
            "timed out after TIME: 1 element was found (wanted: not at least 1)",
        ),
        (
            json!({ "type": "waitForExpression", "expression": "missing.value" }),
            "timed out after TIME: the expression threw ReferenceError: missing is not defined",
        ),
        (
            json!({ "type": "waitForExpression", "expression": "0" }),
            "timed out after TIME: the expression was not true",
        ),
        (
            json!({ "type": "waitForExpression", "expression": "while (true);" }),
            "timed out after TIME: the expression threw SyntaxError: Unexpected token 'while'",
        ),
        (stays, "no navigation happened"),
        (
            json!({ "type": "navigate", "url": "http://127.0.0.1:1/" }),
            "http://127.0.0.1:1/ cannot be loaded: net::ERR_UNSAFE_PORT",
        ),
        (
            json!({ "type": "navigate", "url": stage.address("never") }),
            "http://localhost/never did not respond",
        ),
        (
            json!({ "type": "waitForExpression", "expression": "(() => { while (true); })()", "timeout": 700 }),
            "timed out after TIME: the page does not respond",
        ),
    ] {
        check(&stage, &step, "index.html", why);
    }
    // Part of the page is there.
    let endless = json!({ "type": "navigate", "url": stage.address("endless.html") });
    check(&stage, &endless, "endless.html", "the page did not finish loading");
}

#[test]
fn a_failing_step_leaves_a_screenshot() {
    let stage = Stage::set();
    let folder = Folder::new();
    let options = ReplayOptions {
        screenshots: Some((folder.path().join("out"), "run-1".to_owned())),
        ..ReplayOptions::default()
    };
    let flow = json!({ "title": "", "timeout": 300, "steps": [
        { "type": "navigate", "url": stage.address("next.html"), "timeout": 30_000 },
        click("#missing"),
    ] });
    let flow = Flow::parse(flow.to_string().as_bytes()).unwrap();
    let failed = replay(&stage.open(), &flow, &options);
    let Err(ChromeError::Step(failure)) = failed else { panic!("{failed:?}") };
    let path = folder.path().join("out/run-1.step-2.png");
    assert_eq!(failure.screenshot.as_deref(), Some(&*path));
    assert!(failure.details().contains(&path.display().to_string()));
    let picture = std::fs::read(&path).unwrap();
    assert!(picture.starts_with(b"\x89PNG\r\n") && picture.len() > 1000);
}
