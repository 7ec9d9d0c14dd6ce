//! Flows of the DevTools Recorder, replayed in a real Chromium against small pages that note what happens to them; one
//! of them also by the `@puppeteer/replay` package, which must do the same to the page. Nothing here depends on how long
//! anything takes, other than that steps are given enough time.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;
mod site;
mod stage;

use expect_test::expect;
use perfblame_record::chrome::ChromeError;
use perfblame_record::chrome::flow::{Flow, ReplayOptions, replay};
use run::Folder;
use serde_json::{Value, json};
use stage::{Stage, by_frame, click, seen};

/// A flow file with the server's port in it.
fn everything(stage: &Stage) -> String {
    let port = stage.address("").trim_end_matches('/').rsplit(':').next().unwrap().to_owned();
    include_str!("flows/everything.json").replace("PORT", &port)
}

/// The panel's engine and ours do the same to a page, as far as that can tell.
#[test]
fn the_recorders_own_engine_has_the_same_effect() {
    let stage = Stage::set();
    let flow = everything(&stage);
    let folder = Folder::new();
    let file = folder.path().join(folder.file("everything.json", &flow));
    let page = stage.open();
    let replayed = replay(&page, &Flow::parse(flow.as_bytes()).unwrap(), &ReplayOptions::default());
    let replayed = replayed.unwrap_or_else(|error| panic!("{error}\n{}", error.why()));
    assert_eq!(replayed.notes, [""; 0]);
    let ours = seen(&page);
    let browser = perfblame_record::chrome::find_browser(None).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/flows/peer.mjs");
    let done = std::process::Command::new("node")
        .arg(script)
        .args([&*perfblame_fixtures::tools(), &browser, &file])
        .output()
        .expect("node is installed");
    let complaint = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{complaint}");
    let lines = serde_json::from_slice(&done.stdout).unwrap();
    let theirs = by_frame(lines);
    // All of it went through, to the page behind the last link.
    assert!(ours.ends_with("top: arrived"), "{ours}");
    assert_eq!(ours, theirs);
}

#[test]
fn each_kind_of_selector_finds_its_element() {
    let stage = Stage::set();
    stage.check(
        json!([
            click("#save"),
            click("aria/Save it"),
            click("aria/Save it[role=\"button\"]"),
            click("aria/[role=\"switch\"]"),
            click("text/quoted"),
            click("text/(and \"quoted\")"),
            click("xpath///button[@id=\"twice\"]"),
            click("pierce/#deep"),
            click("pierce/.deep"),
            click(json!(["#app", "#part", "#deep"])),
            click(json!(["my-app", "aria/Deep"])),
            click(json!(["#app", "aria/Inner"])),
            click(json!(["#menu", "xpath/ancestor::body/button[1]"])),
            click(json!(["my-app", "text/Shallow"])),
            click("text/Deep"),
            click("#same"),
            click("text/Same"),
            click("#shape"),
            json!({ "type": "click", "offsetX": 1, "offsetY": 1,
                    "selectors": ["#missing", "##", ["aria/Nobody"], ["#save"]] }),
        ]),
        &expect![[r#"
            top: clicked save button 0 at 4,5 1, focusing save
            top: clicked save button 0 at 4,5 1
            top: clicked save button 0 at 4,5 1
            top: clicked switch button 0 at 4,5 1, focusing switch undefined
            top: clicked bold button 0 at 4,5 1
            top: clicked bold button 0 at 4,5 1
            top: clicked twice button 0 at 4,5 1, focusing twice
            top: clicked deep button 0 at 4,5 1, focusing deep
            top: clicked deep button 0 at 4,5 1
            top: clicked deep button 0 at 4,5 1
            top: clicked deep button 0 at 4,5 1
            top: clicked inner button 0 at 4,5 1
            top: clicked save button 0 at 4,5 1, focusing save
            top: clicked shallow button 0 at 4,5 1, focusing shallow
            top: clicked deep button 0 at 4,5 1
            top: clicked same button 0 at 4,5 1, focusing same
            top: clicked same button 0 at 4,5 1
            top: clicked shape button 0 at 4,5 1
            top: clicked save button 0 at 1,1 1, focusing save"#]],
    );
}

#[test]
fn each_kind_of_step_reaches_the_page() {
    let stage = Stage::set();
    let change = |selector: &str, value: &str| json!({ "type": "change", "selectors": [selector], "value": value });
    let key = |kind: &str, key: &str| json!({ "type": kind, "key": key });
    stage.check(
        json!([
            { "type": "doubleClick", "selectors": ["#twice"], "offsetX": 3, "offsetY": 2 },
            { "type": "click", "selectors": ["#save"], "offsetX": 3, "offsetY": 2, "button": "secondary", "duration": 50 },
            { "type": "click", "selectors": ["#save"], "offsetX": 3, "offsetY": 2, "button": "auxiliary" },
            { "type": "hover", "selectors": ["#menu"] },
            click("#entry"),
            click("#far"),
        ]),
        &expect![[r#"
            top: clicked twice button 0 at 3,2 1, focusing twice
            top: clicked twice button 0 at 3,2 2
            top: dblclick twice button 0 at 3,2 2
            top: mousedown save button 2 at 3,2 1
            top: focusin save
            top: contextmenu save button 2 at 3,2 0
            top: mouseup save button 2 at 3,2 1
            top: auxclick save button 2 at 3,2 1
            top: mousedown save button 1 at 3,2 1
            top: mouseup save button 1 at 3,2 1
            top: auxclick save button 1 at 3,2 1
            top: mouseenter menu
            top: clicked entry button 0 at 4,5 1, focusing entry
            top: clicked far button 0 at 4,5 1, focusing far"#]],
    );
    stage.check(
        json!([
            change("#name", "New-1 ü\u{1f600}"),
            change("#mail", "a@b.c"),
            change("#mail", "a@b.c"),
            change("#notes", "two\nlines"),
            change("#notes", &"long ".repeat(30)),
            change("#colour", "#ff0000"),
            change("#fruit", "b"),
            change("#many", "y"),
            change("#agree", "true"),
            change("#agree", "true"),
            change("#agree", "false"),
            change("#one", "on"),
            change("#editable", "edited"),
            change("#switch", "true"),
        ]),
        &expect![[r#"
            top: focusin name
            top: typed name N KeyN 78 0 false, input name N
            top: typed name e KeyE 69 0 false as 101, input name Ne
            top: typed name w KeyW 87 0 false as 119, input name New
            top: typed name - Minus 189 0 false as 45, input name New-
            top: typed name 1 Digit1 49 0 false, input name New-1
            top: typed name Space 32 0 false, input name New-1
            top: input name New-1 ü
            top: input name New-1 ü😀
            top: change name New-1 ü😀
            top: focusin mail a@
            top: typed mail b KeyB 66 0 false as 98, input mail a@b
            top: typed mail . Period 190 0 false as 46, input mail a@b.
            top: typed mail c KeyC 67 0 false as 99, input mail a@b.c
            top: change mail a@b.c
            top: focusin notes
            top: typed notes t KeyT 84 0 false as 116, input notes t
            top: typed notes w KeyW 87 0 false as 119, input notes tw
            top: typed notes o KeyO 79 0 false as 111, input notes two
            top: typed notes Enter Enter 13 0 false, input notes two
            top: typed notes l KeyL 76 0 false as 108, input notes two
            l
            top: typed notes i KeyI 73 0 false as 105, input notes two
            li
            top: typed notes n KeyN 78 0 false as 110, input notes two
            lin
            top: typed notes e KeyE 69 0 false as 101, input notes two
            line
            top: typed notes s KeyS 83 0 false as 115, input notes two
            lines
            top: input notes long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long (made by a script)
            top: change notes long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long (made by a script)
            top: change notes long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long
            top: focusin colour #000000
            top: input colour #ff0000 (made by a script)
            top: change colour #ff0000 (made by a script)
            top: input fruit b (made by a script)
            top: change fruit b (made by a script)
            top: input many y (made by a script)
            top: change many y (made by a script)
            top: clicked agree button 0 at 75,12 1, focusing agree false
            top: input agree true
            top: change agree true
            top: clicked agree button 0 at 75,12 1
            top: input agree false
            top: change agree false
            top: clicked one button 0 at 75,12 1, focusing one false
            top: input one true
            top: change one true
            top: focusin editable
            top: typed editable e KeyE 69 0 false as 101, input editable e
            top: typed editable d KeyD 68 0 false as 100, input editable ed
            top: typed editable i KeyI 73 0 false as 105, input editable edi
            top: typed editable t KeyT 84 0 false as 116, input editable edit
            top: typed editable e KeyE 69 0 false as 101, input editable edite
            top: typed editable d KeyD 68 0 false as 100, input editable edited
            top: clicked switch button 0 at 50,12 1, focusing switch undefined"#]],
    );
    stage.check(
        json!([
            click("#name"),
            key("keyDown", "Shift"),
            key("keyDown", "KeyA"),
            key("keyUp", "KeyA"),
            key("keyUp", "Shift"),
            key("keyDown", "x"),
            key("keyDown", "x"),
            key("keyUp", "x"),
            key("keyDown", "Control"),
            key("keyDown", "b"),
            key("keyUp", "b"),
            key("keyUp", "Control"),
            key("keyDown", "Tab"),
            key("keyUp", "Tab"),
            key("keyDown", "Enter"),
            key("keyUp", "Enter"),
        ]),
        &expect![[r#"
            top: clicked name button 0 at 4,5 1, focusing name old
            top: keydown name Shift ShiftLeft 16 1 false shift
            top: typed name A KeyA 65 0 false shift, input name Aold
            top: keyup name Shift ShiftLeft 16 1 false
            top: keydown name x KeyX 88 0 false
            top: keypress name x KeyX 120 0 false
            top: input name Axold
            top: keydown name x KeyX 88 0 true
            top: keypress name x KeyX 120 0 true
            top: input name Axxold
            top: keyup name x KeyX 88 0 false
            top: keydown name Control ControlLeft 17 1 false ctrl
            top: keydown name b KeyB 66 0 false ctrl
            top: keyup name b KeyB 66 0 false ctrl
            top: keyup name Control ControlLeft 17 1 false
            top: keydown name Tab Tab 9 0 false
            top: change name Axxold
            top: focusin mail a@
            top: keyup mail Tab Tab 9 0 false
            top: keydown mail Enter Enter 13 0 false
            top: keypress mail Enter Enter 13 0 false
            top: keyup mail Enter Enter 13 0 false"#]],
    );
}

#[test]
fn scrolling_and_waiting() {
    let stage = Stage::set();
    let delayed = stage.address("index.html?delayed");
    let go = || json!({ "type": "navigate", "url": delayed });
    let page = stage.open();
    let flow = json!([
        { "type": "scroll", "selectors": ["#list"], "x": 30, "y": 400 },
        { "type": "scroll", "x": 0, "y": 250 },
        { "type": "waitForExpression", "expression": "scrollY === 250 // as told" },
        { "type": "waitForElement", "selectors": ["button"], "operator": ">=", "count": 3 },
        { "type": "waitForElement", "selectors": ["pierce/#deep"], "operator": "==", "count": 1 },
        { "type": "waitForElement", "selectors": ["aria/Same"], "operator": "==", "count": 2 },
        { "type": "waitForElement", "selectors": ["#missing"], "operator": "<=", "count": 0 },
        { "type": "waitForElement", "selectors": ["#missing"], "visible": false },
        { "type": "waitForElement", "selectors": ["#save"], "attributes": { "aria-label": "Save it" },
          "properties": { "perf": { "deep": { "list": { "1": 2 } } }, "id": "save" } },
        { "type": "waitForElement", "selectors": ["#save"], "visible": false,
          "properties": { "perf": { "more": false } } },
        { "type": "waitForExpression", "expression": "document.getElementById('save').perf.more" },
        go(),
        { "type": "waitForElement", "selectors": ["#delayed"] },
        { "type": "waitForExpression", "expression": "new Promise(done => done(window.ready))" },
        go(),
        click("#moving"),
        click("#delayed"),
        go(),
        click("#later"),
        { "type": "customStep", "name": "perfblame:sleep", "parameters": { "ms": 10 } },
        { "type": "customStep", "name": "perfblame:mark", "parameters": { "name": "mine" } },
    ]);
    let replayed = stage.try_steps(&page, flow).unwrap();
    assert_eq!((replayed.times.len(), &*replayed.notes), (22, &[][..]));
    expect![[r#"
        top: clicked moving button 0 at 4,5 1, focusing moving
        top: clicked delayed button 0 at 4,5 1, focusing delayed
        top: clicked later button 0 at 4,5 1, focusing later"#]]
    .assert_eq(&seen(&page));
    let page = stage.open();
    stage
        .try_steps(&page, json!([{ "type": "scroll", "selectors": ["#list"], "x": 30, "y": 400 }]))
        .unwrap();
    let at = page.evaluate("[list.scrollLeft, list.scrollTop]").unwrap();
    assert_eq!(at, json!([30, 400]));
}

#[test]
fn frames_in_the_same_process_and_in_others() {
    let stage = Stage::set();
    let within = |frame: &[usize], mut step: Value| {
        step["frame"] = json!(frame);
        step
    };
    let field = || json!({ "type": "change", "selectors": ["aria/Field"], "value": "ab" });
    let page = stage.after(json!([
        within(&[0], click("#inframe")),
        within(&[1], click("#inframe")),
        within(&[1], click("aria/In a frame")),
        within(&[0, 0], click("text/In a frame")),
        within(&[0, 1], click("pierce/#inframe")),
        within(&[1, 0], click("#inframe")),
        within(&[1, 1], click("xpath///button")),
        within(&[0], field()),
        within(&[1], field()),
        within(&[1, 1], field()),
        within(&[1], json!({ "type": "waitForExpression", "expression": "field.value === 'ab'" })),
        within(
            &[0, 0],
            json!({ "type": "waitForElement", "selectors": ["#inframe"],
                                "properties": { "id": "inframe" } })
        ),
        within(&[0, 1], json!({ "type": "scroll", "x": 0, "y": 10 })),
    ]));
    assert!(page.attached().iter().any(|attached| attached.kind == "iframe"));
    expect![[r#"
        near: clicked inframe button 0 at 4,5 1, focusing inframe
        near: focusin field
        near: typed field a KeyA 65 0 false as 97, input field a
        near: typed field b KeyB 66 0 false as 98, input field ab
        near: change field ab
        near-other: clicked inframe button 0 at 4,5 1, focusing inframe
        near-same: clicked inframe button 0 at 4,5 1, focusing inframe
        other: clicked inframe button 0 at 4,5 1, focusing inframe
        other: clicked inframe button 0 at 4,5 1
        other: focusin field
        other: typed field a KeyA 65 0 false as 97, input field a
        other: typed field b KeyB 66 0 false as 98, input field ab
        other: change field ab
        other-other: clicked inframe button 0 at 4,5 1, focusing inframe
        other-other: focusin field
        other-other: typed field a KeyA 65 0 false as 97, input field a
        other-other: typed field b KeyB 66 0 false as 98, input field ab
        other-same: clicked inframe button 0 at 4,5 1, focusing inframe"#]]
    .assert_eq(&seen(&page));
}

#[test]
fn navigations_are_waited_for() {
    let stage = Stage::set();
    let next = stage.address("next.html?from=link");
    let led = |mut step: Value, url: &str, title: &str| {
        step["assertedEvents"] = json!([{ "type": "navigation", "url": url, "title": title }]);
        step
    };
    let page = stage.open();
    let steps = json!([
        led(click("#next"), &next, "Next"),
        { "type": "waitForExpression", "expression": "document.readyState === 'complete' && location.pathname === '/next.html'" },
        led(click("#back"), &stage.address("elsewhere"), "Another title"),
        led(click("#hash"), &stage.address("index.html#part"), ""),
        led(click("#pushed"), &stage.address("index.html?pushed"), ""),
        { "type": "navigate", "url": stage.address("index.html#other") },
        { "type": "navigate", "url": stage.address("missing.html"),
          "assertedEvents": [{ "type": "navigation" }] },
        { "type": "navigate", "url": stage.address("index.html") },
        led(json!({ "type": "click", "selectors": ["#away"], "frame": [0], "offsetX": 1, "offsetY": 1 }), "", ""),
        led(json!({ "type": "click", "selectors": ["#away"], "frame": [1], "offsetX": 1, "offsetY": 1 }), "", ""),
        { "type": "waitForExpression", "frame": [1], "expression": "location.search === '?away'" },
    ]);
    let replayed = stage.try_steps(&page, steps).unwrap();
    let notes = stage.without_port(&replayed.notes.join("\n"));
    expect![[r#"
        step 4 led to http://localhost/index.html; in the recorded flow, to http://localhost/elsewhere
        step 4 led to a page titled "Everything a flow can touch"; in the recorded flow, "Another title""#]].assert_eq(&notes);
}

#[test]
fn windows_viewports_networks_and_closing() {
    let stage = Stage::set();
    let popup = stage.address("popup.html");
    let viewport = |width: u32, mobile: bool| {
        json!({ "type": "setViewport", "width": width, "height": 600, "deviceScaleFactor": 1,
                "isMobile": mobile, "hasTouch": mobile, "isLandscape": false })
    };
    let in_popup = |mut step: Value| {
        step["target"] = json!(popup);
        step
    };
    let network = |speed: u32| json!({ "type": "emulateNetworkConditions", "download": speed, "upload": speed, "latency": 1 });
    let page = stage.after(json!([
        viewport(700, false),
        { "type": "waitForExpression", "expression": "innerWidth === 700" },
        viewport(800, true),
        { "type": "waitForExpression", "expression": "navigator.maxTouchPoints > 0" },
        viewport(900, false),
        network(0),
        { "type": "waitForExpression", "expression": "fetch('record.js').then(() => false, () => true)" },
        network(1_000_000),
        { "type": "waitForExpression", "expression": "fetch('record.js').then(() => true, () => false)" },
        click("#opens"),
        in_popup(click("#inpopup")),
        in_popup(click("#typed")),
        in_popup(json!({ "type": "keyDown", "key": "q" })),
        in_popup(json!({ "type": "keyUp", "key": "q" })),
        in_popup(json!({ "type": "close" })),
        click("#opens"),
        in_popup(click("#closes")),
        click("#slow"),
        click("#asks"),
    ]));
    let all = seen(&page);
    assert!(all.contains("clicked in the popup\ntop: typed in the popup q"), "{all}");
    assert!(all.contains("answer true"), "{all}");
    let closed = stage.try_steps(&page, json!([{ "type": "close" }, click("#save")]));
    let Err(ChromeError::Step(failure)) = closed else { panic!("{closed:?}") };
    assert_eq!((failure.number, &*failure.why), (3, "the page was closed by step 2"));
}
