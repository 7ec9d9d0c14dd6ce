//! Flows as the panel writes them, and as it does not.
#![expect(clippy::needless_pass_by_value, reason = "steps are drawn where they are used")]

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

/// A recording of these steps.
fn flow(steps: &Value) -> Vec<u8> {
    json!({ "title": "drawn", "steps": steps }).to_string().into_bytes()
}

#[track_caller]
fn step(step: Value) -> Step {
    Flow::parse(&flow(&json!([step]))).unwrap().steps.remove(0)
}

#[track_caller]
fn check_error(text: &[u8], wanted: &Expect) {
    wanted.assert_eq(&Flow::parse(text).unwrap_err().to_string());
}

#[track_caller]
fn check_step_error(step: Value, wanted: &Expect) {
    check_error(&flow(&json!([{ "type": "close" }, step])), wanted);
}

/// What an export looks like.
#[test]
fn an_export_of_the_panel() {
    let text = br##"{
        "title": "Recording 3",
        "timeout": 7000,
        "selectorAttribute": "data-id",
        "steps": [
            { "type": "setViewport", "width": 1280, "height": 720, "deviceScaleFactor": 1,
              "isMobile": false, "hasTouch": false, "isLandscape": false },
            { "type": "navigate", "url": "http://localhost/",
              "assertedEvents": [{ "type": "navigation", "url": "http://localhost/", "title": "Home" }] },
            { "type": "click", "target": "main", "frame": [0, 1],
              "selectors": [["aria/Save[role=\"button\"]"], ["my-app", "#save"], "text/Save"],
              "offsetX": 12.5, "offsetY": 3, "button": "secondary", "deviceType": "touch",
              "duration": 80, "timeout": 10 }
        ]
    }
    //# recorderSourceMap=BBC
    "##;
    let flow = Flow::parse(text).unwrap();
    assert_eq!(flow.title, "Recording 3");
    assert_eq!(flow.timeout, Some(Duration::from_secs(7)));
    assert_eq!(flow.selector_attribute.as_deref(), Some("data-id"));
    let kinds: Vec<_> = flow.steps.iter().map(|step| step.action.kind()).collect();
    assert_eq!(kinds, ["setViewport", "navigate", "click"]);
    let asserted = &flow.steps[1].asserted[0];
    assert_eq!(
        (asserted.url.as_deref(), asserted.title.as_deref()),
        (Some("http://localhost/"), Some("Home"))
    );
    let step = &flow.steps[2];
    assert_eq!((&step.target, &*step.frame), (&None, &[0, 1][..]));
    assert_eq!(step.timeout, Some(Duration::from_millis(10)));
    let Action::Click(click) = &step.action else { panic!("{step:?}") };
    let selectors: Vec<_> = click.selectors.iter().map(ToString::to_string).collect();
    assert_eq!(selectors, ["aria/Save[role=\"button\"]", "my-app ▸ #save", "text/Save"]);
    assert_eq!((click.button, click.device), (Button::Secondary, Device::Touch));
    assert_eq!(click.duration, Some(Duration::from_millis(80)));
}

#[test]
fn what_is_left_out_has_a_meaning() {
    let Action::WaitForElement(wait) =
        step(json!({ "type": "waitForElement", "selectors": ["a"] })).action
    else {
        panic!()
    };
    assert_eq!((wait.operator, wait.count, wait.visible), (Operator::AtLeast, 1.0, true));
    let scroll = step(json!({ "type": "scroll" })).action;
    assert_eq!(scroll, Action::Scroll { selectors: vec![], x: 0.0, y: 0.0 });
    assert_eq!(step(json!({ "type": "close", "target": "main" })).target, None);
    let popup = step(json!({ "type": "close", "target": "http://other/" })).target;
    assert_eq!(popup.as_deref(), Some("http://other/"));
}

#[test]
fn steps_of_our_own() {
    let sleep =
        json!({ "type": "customStep", "name": "perfblame:sleep", "parameters": { "ms": 20 } });
    assert_eq!(step(sleep).action, Action::Custom(Custom::Sleep(Duration::from_millis(20))));
    let mark =
        json!({ "type": "customStep", "name": "perfblame:mark", "parameters": { "name": "x" } });
    assert_eq!(step(mark).action, Action::Custom(Custom::Mark("x".to_owned())));
}

#[test]
fn files_that_are_no_flows() {
    check_error(
        b"",
        &expect![
            "expected a recording, exported by DevTools as JSON, found text that is not JSON (EOF while parsing a value at line 1 column 0)"
        ],
    );
    check_error(
        b"const puppeteer = require('puppeteer');",
        &expect![
            "expected a recording, exported by DevTools as JSON, found text that is not JSON (expected value at line 1 column 1)"
        ],
    );
    check_error(
        b"\xff\xfe{",
        &expect![
            "expected a recording, exported by DevTools as JSON, found text that is not JSON (expected value at line 1 column 1)"
        ],
    );
    check_error(b"[1, 2]", &expect!["expected a recording, which is an object, found a list of 2"]);
    check_error(b"{}", &expect!["title: expected a text, found nothing"]);
    check_error(b"{\"title\": \"x\"}", &expect!["steps: expected a list of steps, found nothing"]);
    check_error(
        b"{\"title\": \"x\", \"steps\": {}}",
        &expect!["steps: expected a list of steps, found an object with 0 fields"],
    );
    check_error(
        b"{\"title\": \"x\", \"timeout\": 0, \"steps\": []}",
        &expect!["timeout: expected milliseconds from 1 to 30000, found 0"],
    );
    check_error(
        b"{\"title\": \"x\", \"steps\": [1]}",
        &expect!["step 1 of 1: expected a step, which is an object, found 1"],
    );
    check_error(
        &vec![b'['; 1 << 20],
        &expect![
            "expected a recording, exported by DevTools as JSON, found text that is not JSON (recursion limit exceeded at line 1 column 128)"
        ],
    );
}

#[test]
fn wrong_steps_are_named() {
    check_step_error(json!({}), &expect!["step 2 of 2: type: expected a text, found nothing"]);
    check_step_error(json!({ "type": 1 }), &expect!["step 2 of 2: type: expected a text, found 1"]);
    check_step_error(
        json!({ "type": "tap" }),
        &expect![[
            r#"step 2 of 2 (tap): type: expected a type of step that the Recorder has, such as "click", found "tap""#
        ]],
    );
    check_step_error(
        json!({ "type": "navigate" }),
        &expect!["step 2 of 2 (navigate): url: expected a text, found nothing"],
    );
    check_step_error(
        json!({ "type": "keyDown", "key": "enter" }),
        &expect![[
            r#"step 2 of 2 (keyDown): key: expected the name of a key, such as "Enter", "a" or "KeyA", found "enter""#
        ]],
    );
    check_step_error(
        json!({ "type": "waitForExpression" }),
        &expect!["step 2 of 2 (waitForExpression): expression: expected a text, found nothing"],
    );
    check_step_error(
        json!({ "type": "close", "timeout": 30_001 }),
        &expect![
            "step 2 of 2 (close): timeout: expected milliseconds from 1 to 30000, found 30001"
        ],
    );
    check_step_error(
        json!({ "type": "close", "timeout": "5 s" }),
        &expect![[
            r#"step 2 of 2 (close): timeout: expected milliseconds from 1 to 30000, found "5 s""#
        ]],
    );
    check_step_error(
        json!({ "type": "close", "target": 7 }),
        &expect![[r#"step 2 of 2 (close): target: expected "main" or an address, found 7"#]],
    );
    check_step_error(
        json!({ "type": "close", "frame": [0, -1] }),
        &expect![
            "step 2 of 2 (close): frame[1]: expected a list of whole numbers, each the index of a frame among its siblings, found -1"
        ],
    );
    check_step_error(
        json!({ "type": "close", "frame": [1.5] }),
        &expect![
            "step 2 of 2 (close): frame[0]: expected a list of whole numbers, each the index of a frame among its siblings, found 1.5"
        ],
    );
    check_step_error(
        json!({ "type": "close", "frame": "0" }),
        &expect![[
            r#"step 2 of 2 (close): frame: expected a list of whole numbers, each the index of a frame among its siblings, found "0""#
        ]],
    );
    check_step_error(
        json!({ "type": "setViewport", "width": 1e300, "height": 1 }),
        &expect![
            "step 2 of 2 (setViewport): width: expected a whole number of pixels, found 1e+300"
        ],
    );
    check_step_error(
        json!({ "type": "emulateNetworkConditions", "download": 1, "upload": 1, "latency": -1 }),
        &expect![
            "step 2 of 2 (emulateNetworkConditions): latency: expected a number that is not negative, found -1"
        ],
    );
}

#[test]
fn wrong_selectors_are_named() {
    let hover = |selectors: Value| json!({ "type": "hover", "selectors": selectors });
    check_step_error(
        json!({ "type": "hover" }),
        &expect!["step 2 of 2 (hover): selectors: expected a list of selectors, found nothing"],
    );
    check_step_error(
        hover(json!("#a")),
        &expect![[r##"step 2 of 2 (hover): selectors: expected a list of selectors, found "#a""##]],
    );
    check_step_error(
        hover(json!([])),
        &expect!["step 2 of 2 (hover): selectors: expected at least one selector, found none"],
    );
    check_step_error(
        hover(json!(["#a", 3])),
        &expect![
            "step 2 of 2 (hover): selectors[1]: expected a selector: a string, or a list of strings, found 3"
        ],
    );
    check_step_error(
        hover(json!(["#a", []])),
        &expect![
            "step 2 of 2 (hover): selectors[1]: expected a selector: a string, or a list of strings, found a list of 0"
        ],
    );
    check_step_error(
        hover(json!([["#a", null]])),
        &expect![
            "step 2 of 2 (hover): selectors[0][1]: expected a selector, which is a string, found null"
        ],
    );
    check_step_error(
        hover(json!(["text/"])),
        &expect![[
            r#"step 2 of 2 (hover): selectors[0]: expected a selector that is not empty, found "text/""#
        ]],
    );
    check_step_error(
        hover(json!(["aria/x[level=\"2\"]"])),
        &expect![[
            r#"step 2 of 2 (hover): selectors[0]: expected `name` or `role` in brackets, not `level`, found "aria/x[level=\"2\"]""#
        ]],
    );
}

#[test]
fn wrong_details_are_named() {
    let click = |name: &str, value: Value| {
        let mut step = json!({ "type": "click", "selectors": ["a"], "offsetX": 1, "offsetY": 1 });
        step[name] = value;
        step
    };
    check_step_error(
        click("offsetX", json!("1")),
        &expect![[r#"step 2 of 2 (click): offsetX: expected a number, found "1""#]],
    );
    check_step_error(
        click("offsetY", json!(null)),
        &expect!["step 2 of 2 (click): offsetY: expected a number, found null"],
    );
    check_step_error(
        click("button", json!("left")),
        &expect![[
            r#"step 2 of 2 (click): button: expected one of "primary", "auxiliary", "secondary", "back", "forward", found "left""#
        ]],
    );
    check_step_error(
        click("deviceType", json!("trackball")),
        &expect![[
            r#"step 2 of 2 (click): deviceType: expected one of "mouse", "pen", "touch", found "trackball""#
        ]],
    );
    check_step_error(
        click("duration", json!(-1)),
        &expect!["step 2 of 2 (click): duration: expected a number that is not negative, found -1"],
    );
    check_step_error(
        click("assertedEvents", json!({})),
        &expect![
            "step 2 of 2 (click): assertedEvents: expected a list of events, found an object with 0 fields"
        ],
    );
    check_step_error(
        click("assertedEvents", json!(["navigation"])),
        &expect![[
            r#"step 2 of 2 (click): assertedEvents[0]: expected an event, which is an object, found "navigation""#
        ]],
    );
    check_step_error(
        click("assertedEvents", json!([{ "type": "load" }])),
        &expect![[
            r#"step 2 of 2 (click): assertedEvents[0].type: expected "navigation", found "load""#
        ]],
    );
    check_step_error(
        click("assertedEvents", json!([{ "type": "navigation", "url": 5 }])),
        &expect!["step 2 of 2 (click): assertedEvents[0].url: expected a text, found 5"],
    );
    let wait = |name: &str, value: Value| {
        let mut step = json!({ "type": "waitForElement", "selectors": ["a"] });
        step[name] = value;
        step
    };
    check_step_error(
        wait("operator", json!("<")),
        &expect![[
            r#"step 2 of 2 (waitForElement): operator: expected one of ">=", "==", "<=", found "<""#
        ]],
    );
    check_step_error(
        wait("count", json!("2")),
        &expect![[r#"step 2 of 2 (waitForElement): count: expected a number, found "2""#]],
    );
    check_step_error(
        wait("visible", json!(1)),
        &expect!["step 2 of 2 (waitForElement): visible: expected true or false, found 1"],
    );
    check_step_error(
        wait("attributes", json!({ "id": 1 })),
        &expect!["step 2 of 2 (waitForElement): attributes.id: expected a text, found 1"],
    );
    check_step_error(
        wait("properties", json!([])),
        &expect!["step 2 of 2 (waitForElement): properties: expected an object, found a list of 0"],
    );
}

#[test]
fn custom_steps_of_others_are_named() {
    check_step_error(
        json!({ "type": "customStep" }),
        &expect!["step 2 of 2 (customStep): name: expected a text, found nothing"],
    );
    check_step_error(
        json!({ "type": "customStep", "name": "acme:check", "parameters": 3 }),
        &expect![[
            r#"step 2 of 2 (customStep): name: expected a custom step that perfblame supports ("perfblame:sleep", "perfblame:mark"), found "acme:check""#
        ]],
    );
    check_step_error(
        json!({ "type": "customStep", "name": "perfblame:sleep", "parameters": { "ms": "1" } }),
        &expect![[r#"step 2 of 2 (customStep): parameters.ms: expected a number, found "1""#]],
    );
    check_step_error(
        json!({ "type": "customStep", "name": "perfblame:mark" }),
        &expect!["step 2 of 2 (customStep): parameters.name: expected a text, found nothing"],
    );
}

/// Every value of a flow with all kinds of steps, in turn, is something else: that is an error or still a flow.
#[test]
fn hostile_values_in_every_place() {
    let selectors = json!([["aria/x[role=\"y\"]", "#a"], "text/b"]);
    let whole = json!({ "title": "t", "timeout": 1, "selectorAttribute": "s", "steps": [
        { "type": "setViewport", "width": 1, "height": 1, "deviceScaleFactor": 1,
          "isMobile": false, "hasTouch": false, "isLandscape": false },
        { "type": "navigate", "url": "u", "assertedEvents": [{ "type": "navigation", "url": "u", "title": "t" }] },
        { "type": "click", "selectors": selectors, "offsetX": 1, "offsetY": 1, "button": "back",
          "deviceType": "pen", "duration": 1, "target": "main", "frame": [0, 1], "timeout": 5 },
        { "type": "change", "selectors": selectors, "value": "v" },
        { "type": "keyDown", "key": "a" },
        { "type": "scroll", "selectors": selectors, "x": 1, "y": 1 },
        { "type": "waitForElement", "selectors": selectors, "operator": "<=", "count": 1, "visible": true,
          "attributes": { "a": "b" }, "properties": { "c": { "d": [1] } } },
        { "type": "emulateNetworkConditions", "download": 1, "upload": 1, "latency": 1 },
        { "type": "customStep", "name": "perfblame:sleep", "parameters": { "ms": 1 } },
    ] });
    Flow::parse(whole.to_string().as_bytes()).unwrap();
    let hostile = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e308),
        json!(-1e308),
        json!(0.5),
        json!(u64::MAX),
        json!(""),
        json!("\u{0}\u{202e}é["),
        json!("aria/[name=\""),
        json!([]),
        json!([[[]]]),
        json!({}),
        json!({ "type": "close" }),
    ];
    let mut paths = vec![String::new()];
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        next += 1;
        match whole.pointer(&path) {
            Some(Value::Object(fields)) => {
                paths.extend(fields.keys().map(|name| format!("{path}/{name}")));
            }
            Some(Value::Array(items)) => {
                paths.extend((0..items.len()).map(|index| format!("{path}/{index}")));
            }
            _ => {}
        }
    }
    assert!(paths.len() > 80, "{}", paths.len());
    let (mut refused, mut taken) = (0, 0);
    for path in &paths {
        for value in &hostile {
            let mut flow = whole.clone();
            *flow.pointer_mut(path).unwrap() = value.clone();
            match Flow::parse(flow.to_string().as_bytes()) {
                Ok(_) => taken += 1,
                Err(error) => {
                    let in_step = path.strip_prefix("/steps/");
                    if let Some(index) = in_step.and_then(|rest| rest.split('/').next()) {
                        let number = error.step.unwrap().0;
                        assert_eq!((number - 1).to_string(), index, "{error}");
                    }
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 3 * taken && taken > 100, "{refused} {taken}");
}

/// A text of a megabyte is not repeated.
#[test]
fn long_values_are_cut_in_messages() {
    let long = "ü\n".repeat(1 << 19);
    let error = Flow::parse(&flow(&json!([{ "type": long }]))).unwrap_err().to_string();
    assert!(error.len() < 1000, "{}", error.len());
    assert!(!error.contains('\n'));
}
