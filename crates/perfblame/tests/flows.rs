//! Flows of the DevTools Recorder, replayed in a real Chromium against small pages that note what happens to them; one
//! of them also by the `@puppeteer/replay` package, which must do the same to the page. Nothing here depends on how long
//! anything takes, other than that steps are given enough time.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;
mod site;

use std::io::Read;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use expect_test::{Expect, expect};
use perfblame_record::chrome::flow::{Flow, ReplayOptions, Replayed, StepFailure, replay};
use perfblame_record::chrome::{Browser, ChromeError, Launch, Page, PageSettings, Until};
use run::Folder;
use serde_json::{Value, json};
use site::Site;

static NEVER: AtomicBool = AtomicBool::new(false);

/// Enough for all the flows of a test, on a machine that is busy with others.
fn enough() -> Until<'static> {
    Until::after(Duration::from_secs(300), &NEVER)
}

/// Pages that note what happens to them, and some that do not end well.
const PAGES: &[(&str, &str)] = &[
    ("/index.html", include_str!("flows/index.html")),
    ("/frame.html", include_str!("flows/frame.html")),
    ("/next.html", include_str!("flows/next.html")),
    ("/popup.html", include_str!("flows/popup.html")),
    ("/record.js", include_str!("flows/record.js")),
    ("/never", "(never)"),
    ("/endless.html", "<img src=never>"),
];

/// A browser, and what it can go to.
struct Stage {
    browser: Browser,
    site: Site,
}

impl Stage {
    fn set() -> Self {
        let browser = Browser::start(&Launch::default(), enough()).unwrap();
        Self { browser, site: Site::new(PAGES) }
    }

    /// Of a page, by a name that is another site than `127.0.0.1`.
    fn address(&self, page: &str) -> String {
        self.site.url(&format!("/{page}")).replace("127.0.0.1", "localhost")
    }

    /// The same text in every run.
    fn without_port(&self, text: &str) -> String {
        text.replace(&self.address(""), "http://localhost/")
    }

    fn open(&self) -> Page<'static> {
        self.browser.open(&PageSettings::default(), enough()).unwrap()
    }

    /// Replays steps after going to the page.
    fn try_steps(&self, page: &Page<'_>, steps: Value) -> Result<Replayed, ChromeError> {
        let mut all = vec![json!({ "type": "navigate", "url": self.address("index.html") })];
        let Value::Array(steps) = steps else { panic!("{steps}") };
        all.extend(steps);
        let flow = json!({ "title": "steps", "timeout": 30_000, "steps": all });
        let flow = Flow::parse(flow.to_string().as_bytes()).unwrap();
        replay(page, &flow, &ReplayOptions::default())
    }

    /// What the page saw of some steps.
    #[track_caller]
    fn check(&self, steps: Value, wanted: &Expect) {
        let page = self.open();
        if let Err(error) = self.try_steps(&page, steps) {
            panic!("{error}\n{}", error.why());
        }
        wanted.assert_eq(&seen(&page));
    }

    /// How a step fails that follows going to the page. It has little time, or more where the machine is too busy for
    /// that.
    #[track_caller]
    fn failure(&self, mut step: Value) -> StepFailure {
        let said = step.get("timeout").is_some();
        for time in [700, 4000, 25_000] {
            if !said {
                step["timeout"] = time.into();
            }
            match self.try_steps(&self.open(), json!([step])) {
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

    #[track_caller]
    fn check_failure(&self, step: Value, wanted: &Expect) {
        let failure = self.failure(step);
        let text = self.without_port(&format!("{failure}\n{}", failure.details()));
        let time = text.split(", within ").nth(1).and_then(|rest| rest.split('\n').next());
        let time = time.map(|time| format!(", within {time}\n")).unwrap_or_default();
        wanted.assert_eq(&if time.is_empty() {
            text
        } else {
            text.replace(&time, ", within TIME\n")
        });
    }
}

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

/// Lines as they were noted, grouped by frame, as frames tell each at their own time.
fn by_frame(mut lines: Vec<String>) -> String {
    lines.sort_by(|a, b| frame_of(a).cmp(frame_of(b)));
    lines.join("\n")
}

/// All that was noted, by frame, as frames tell it each at their own time.
fn seen(page: &Page<'_>) -> String {
    // A message is behind those that were sent before it.
    page.evaluate("new Promise(done => setTimeout(done, 50))").unwrap();
    let seen = page.evaluate("seen()").unwrap();
    by_frame(serde_json::from_value(seen).unwrap())
}

fn frame_of(line: &str) -> &str {
    line.split(':').next().unwrap_or_default()
}

fn click(selector: impl Into<Value>) -> Value {
    json!({ "type": "click", "selectors": [selector.into()], "offsetX": 4, "offsetY": 5 })
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
            top: mousedown save button 0 at 4,5 1
            top: focusin save
            top: mouseup save button 0 at 4,5 1
            top: click save button 0 at 4,5 1
            top: mousedown save button 0 at 4,5 1
            top: mouseup save button 0 at 4,5 1
            top: click save button 0 at 4,5 1
            top: mousedown save button 0 at 4,5 1
            top: mouseup save button 0 at 4,5 1
            top: click save button 0 at 4,5 1
            top: mousedown switch button 0 at 4,5 1
            top: focusin switch undefined
            top: mouseup switch button 0 at 4,5 1
            top: click switch button 0 at 4,5 1
            top: mousedown bold button 0 at 4,5 1
            top: mouseup bold button 0 at 4,5 1
            top: click bold button 0 at 4,5 1
            top: mousedown bold button 0 at 4,5 1
            top: mouseup bold button 0 at 4,5 1
            top: click bold button 0 at 4,5 1
            top: mousedown twice button 0 at 4,5 1
            top: focusin twice
            top: mouseup twice button 0 at 4,5 1
            top: click twice button 0 at 4,5 1
            top: mousedown deep button 0 at 4,5 1
            top: focusin deep
            top: mouseup deep button 0 at 4,5 1
            top: click deep button 0 at 4,5 1
            top: mousedown deep button 0 at 4,5 1
            top: mouseup deep button 0 at 4,5 1
            top: click deep button 0 at 4,5 1
            top: mousedown deep button 0 at 4,5 1
            top: mouseup deep button 0 at 4,5 1
            top: click deep button 0 at 4,5 1
            top: mousedown deep button 0 at 4,5 1
            top: mouseup deep button 0 at 4,5 1
            top: click deep button 0 at 4,5 1
            top: mousedown inner button 0 at 4,5 1
            top: mouseup inner button 0 at 4,5 1
            top: click inner button 0 at 4,5 1
            top: mousedown save button 0 at 4,5 1
            top: focusin save
            top: mouseup save button 0 at 4,5 1
            top: click save button 0 at 4,5 1
            top: mousedown shallow button 0 at 4,5 1
            top: focusin shallow
            top: mouseup shallow button 0 at 4,5 1
            top: click shallow button 0 at 4,5 1
            top: mousedown deep button 0 at 4,5 1
            top: mouseup deep button 0 at 4,5 1
            top: click deep button 0 at 4,5 1
            top: mousedown same button 0 at 4,5 1
            top: focusin same
            top: mouseup same button 0 at 4,5 1
            top: click same button 0 at 4,5 1
            top: mousedown same button 0 at 4,5 1
            top: mouseup same button 0 at 4,5 1
            top: click same button 0 at 4,5 1
            top: mousedown shape button 0 at 4,5 1
            top: mouseup shape button 0 at 4,5 1
            top: click shape button 0 at 4,5 1
            top: mousedown save button 0 at 1,1 1
            top: focusin save
            top: mouseup save button 0 at 1,1 1
            top: click save button 0 at 1,1 1"#]],
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
            top: mousedown twice button 0 at 3,2 1
            top: focusin twice
            top: mouseup twice button 0 at 3,2 1
            top: click twice button 0 at 3,2 1
            top: mousedown twice button 0 at 3,2 2
            top: mouseup twice button 0 at 3,2 2
            top: click twice button 0 at 3,2 2
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
            top: mousedown entry button 0 at 4,5 1
            top: focusin entry
            top: mouseup entry button 0 at 4,5 1
            top: click entry button 0 at 4,5 1
            top: mousedown far button 0 at 4,5 1
            top: focusin far
            top: mouseup far button 0 at 4,5 1
            top: click far button 0 at 4,5 1"#]],
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
            top: keydown name N KeyN 78 0 false
            top: keypress name N KeyN 78 0 false
            top: input name N
            top: keyup name N KeyN 78 0 false
            top: keydown name e KeyE 69 0 false
            top: keypress name e KeyE 101 0 false
            top: input name Ne
            top: keyup name e KeyE 69 0 false
            top: keydown name w KeyW 87 0 false
            top: keypress name w KeyW 119 0 false
            top: input name New
            top: keyup name w KeyW 87 0 false
            top: keydown name - Minus 189 0 false
            top: keypress name - Minus 45 0 false
            top: input name New-
            top: keyup name - Minus 189 0 false
            top: keydown name 1 Digit1 49 0 false
            top: keypress name 1 Digit1 49 0 false
            top: input name New-1
            top: keyup name 1 Digit1 49 0 false
            top: keydown name Space 32 0 false
            top: keypress name Space 32 0 false
            top: input name New-1
            top: keyup name Space 32 0 false
            top: input name New-1 ü
            top: input name New-1 ü😀
            top: change name New-1 ü😀
            top: focusin mail a@
            top: keydown mail b KeyB 66 0 false
            top: keypress mail b KeyB 98 0 false
            top: input mail a@b
            top: keyup mail b KeyB 66 0 false
            top: keydown mail . Period 190 0 false
            top: keypress mail . Period 46 0 false
            top: input mail a@b.
            top: keyup mail . Period 190 0 false
            top: keydown mail c KeyC 67 0 false
            top: keypress mail c KeyC 99 0 false
            top: input mail a@b.c
            top: keyup mail c KeyC 67 0 false
            top: change mail a@b.c
            top: focusin notes
            top: keydown notes t KeyT 84 0 false
            top: keypress notes t KeyT 116 0 false
            top: input notes t
            top: keyup notes t KeyT 84 0 false
            top: keydown notes w KeyW 87 0 false
            top: keypress notes w KeyW 119 0 false
            top: input notes tw
            top: keyup notes w KeyW 87 0 false
            top: keydown notes o KeyO 79 0 false
            top: keypress notes o KeyO 111 0 false
            top: input notes two
            top: keyup notes o KeyO 79 0 false
            top: keydown notes Enter Enter 13 0 false
            top: keypress notes Enter Enter 13 0 false
            top: input notes two
            top: keyup notes Enter Enter 13 0 false
            top: keydown notes l KeyL 76 0 false
            top: keypress notes l KeyL 108 0 false
            top: input notes two
            l
            top: keyup notes l KeyL 76 0 false
            top: keydown notes i KeyI 73 0 false
            top: keypress notes i KeyI 105 0 false
            top: input notes two
            li
            top: keyup notes i KeyI 73 0 false
            top: keydown notes n KeyN 78 0 false
            top: keypress notes n KeyN 110 0 false
            top: input notes two
            lin
            top: keyup notes n KeyN 78 0 false
            top: keydown notes e KeyE 69 0 false
            top: keypress notes e KeyE 101 0 false
            top: input notes two
            line
            top: keyup notes e KeyE 69 0 false
            top: keydown notes s KeyS 83 0 false
            top: keypress notes s KeyS 115 0 false
            top: input notes two
            lines
            top: keyup notes s KeyS 83 0 false
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
            top: mousedown agree button 0 at 75,12 1
            top: focusin agree false
            top: mouseup agree button 0 at 75,12 1
            top: click agree button 0 at 75,12 1
            top: input agree true
            top: change agree true
            top: mousedown agree button 0 at 75,12 1
            top: mouseup agree button 0 at 75,12 1
            top: click agree button 0 at 75,12 1
            top: input agree false
            top: change agree false
            top: mousedown one button 0 at 75,12 1
            top: focusin one false
            top: mouseup one button 0 at 75,12 1
            top: click one button 0 at 75,12 1
            top: input one true
            top: change one true
            top: focusin editable
            top: keydown editable e KeyE 69 0 false
            top: keypress editable e KeyE 101 0 false
            top: input editable e
            top: keyup editable e KeyE 69 0 false
            top: keydown editable d KeyD 68 0 false
            top: keypress editable d KeyD 100 0 false
            top: input editable ed
            top: keyup editable d KeyD 68 0 false
            top: keydown editable i KeyI 73 0 false
            top: keypress editable i KeyI 105 0 false
            top: input editable edi
            top: keyup editable i KeyI 73 0 false
            top: keydown editable t KeyT 84 0 false
            top: keypress editable t KeyT 116 0 false
            top: input editable edit
            top: keyup editable t KeyT 84 0 false
            top: keydown editable e KeyE 69 0 false
            top: keypress editable e KeyE 101 0 false
            top: input editable edite
            top: keyup editable e KeyE 69 0 false
            top: keydown editable d KeyD 68 0 false
            top: keypress editable d KeyD 100 0 false
            top: input editable edited
            top: keyup editable d KeyD 68 0 false
            top: mousedown switch button 0 at 50,12 1
            top: focusin switch undefined
            top: mouseup switch button 0 at 50,12 1
            top: click switch button 0 at 50,12 1"#]],
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
            top: mousedown name button 0 at 4,5 1
            top: focusin name old
            top: mouseup name button 0 at 4,5 1
            top: click name button 0 at 4,5 1
            top: keydown name Shift ShiftLeft 16 1 false shift
            top: keydown name A KeyA 65 0 false shift
            top: keypress name A KeyA 65 0 false shift
            top: input name Aold
            top: keyup name A KeyA 65 0 false shift
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
        top: mousedown moving button 0 at 4,5 1
        top: focusin moving
        top: mouseup moving button 0 at 4,5 1
        top: click moving button 0 at 4,5 1
        top: mousedown delayed button 0 at 4,5 1
        top: focusin delayed
        top: mouseup delayed button 0 at 4,5 1
        top: click delayed button 0 at 4,5 1
        top: mousedown later button 0 at 4,5 1
        top: focusin later
        top: mouseup later button 0 at 4,5 1
        top: click later button 0 at 4,5 1"#]]
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
    let page = stage.open();
    let steps = json!([
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
    ]);
    if let Err(error) = stage.try_steps(&page, steps) {
        panic!("{error}\n{}", error.why());
    }
    assert!(page.attached().iter().any(|attached| attached.kind == "iframe"));
    expect![[r#"
        near: mousedown inframe button 0 at 4,5 1
        near: focusin inframe
        near: mouseup inframe button 0 at 4,5 1
        near: click inframe button 0 at 4,5 1
        near: focusin field
        near: keydown field a KeyA 65 0 false
        near: keypress field a KeyA 97 0 false
        near: input field a
        near: keyup field a KeyA 65 0 false
        near: keydown field b KeyB 66 0 false
        near: keypress field b KeyB 98 0 false
        near: input field ab
        near: keyup field b KeyB 66 0 false
        near: change field ab
        near-other: mousedown inframe button 0 at 4,5 1
        near-other: focusin inframe
        near-other: mouseup inframe button 0 at 4,5 1
        near-other: click inframe button 0 at 4,5 1
        near-same: mousedown inframe button 0 at 4,5 1
        near-same: focusin inframe
        near-same: mouseup inframe button 0 at 4,5 1
        near-same: click inframe button 0 at 4,5 1
        other: mousedown inframe button 0 at 4,5 1
        other: focusin inframe
        other: mouseup inframe button 0 at 4,5 1
        other: click inframe button 0 at 4,5 1
        other: mousedown inframe button 0 at 4,5 1
        other: mouseup inframe button 0 at 4,5 1
        other: click inframe button 0 at 4,5 1
        other: focusin field
        other: keydown field a KeyA 65 0 false
        other: keypress field a KeyA 97 0 false
        other: input field a
        other: keyup field a KeyA 65 0 false
        other: keydown field b KeyB 66 0 false
        other: keypress field b KeyB 98 0 false
        other: input field ab
        other: keyup field b KeyB 66 0 false
        other: change field ab
        other-other: mousedown inframe button 0 at 4,5 1
        other-other: focusin inframe
        other-other: mouseup inframe button 0 at 4,5 1
        other-other: click inframe button 0 at 4,5 1
        other-other: focusin field
        other-other: keydown field a KeyA 65 0 false
        other-other: keypress field a KeyA 97 0 false
        other-other: input field a
        other-other: keyup field a KeyA 65 0 false
        other-other: keydown field b KeyB 66 0 false
        other-other: keypress field b KeyB 98 0 false
        other-other: input field ab
        other-other: keyup field b KeyB 66 0 false
        other-same: mousedown inframe button 0 at 4,5 1
        other-same: focusin inframe
        other-same: mouseup inframe button 0 at 4,5 1
        other-same: click inframe button 0 at 4,5 1"#]]
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
        step 4 led to http://localhost/index.html; when recorded, to http://localhost/elsewhere
        step 4 led to a page titled "Everything a flow can touch"; when recorded, "Another title""#]].assert_eq(&notes);
}

#[test]
fn windows_viewports_networks_and_closing() {
    let stage = Stage::set();
    let popup = stage.address("popup.html");
    let page = stage.open();
    let viewport = |width: u32, mobile: bool| {
        json!({ "type": "setViewport", "width": width, "height": 600, "deviceScaleFactor": 1,
                "isMobile": mobile, "hasTouch": mobile, "isLandscape": false })
    };
    let in_popup = |mut step: Value| {
        step["target"] = json!(popup);
        step
    };
    let network = |speed: u32| json!({ "type": "emulateNetworkConditions", "download": speed, "upload": speed, "latency": 1 });
    let steps = json!([
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
    ]);
    if let Err(error) = stage.try_steps(&page, steps) {
        panic!("{error}\n{}", error.why());
    }
    let all = seen(&page);
    assert!(all.contains("clicked in the popup\ntop: typed in the popup q"), "{all}");
    assert!(all.contains("answer true"), "{all}");
    let closed = stage.try_steps(&page, json!([{ "type": "close" }, click("#save")]));
    let Err(ChromeError::Step(failure)) = closed else { panic!("{closed:?}") };
    assert_eq!((failure.number, &*failure.why), (3, "the page was closed by step 2"));
}

#[test]
fn failures_say_which_step_and_why() {
    let stage = Stage::set();
    stage.check_failure(
        json!({ "type": "click", "selectors": ["#missing", ["my-app", "#none"], "aria/Nobody"], "offsetX": 1, "offsetY": 1 }),
        &expect![[r#"
            step 2 of 2 (click) failed
            no element was found, within TIME
            selectors: #missing, my-app ▸ #none, aria/Nobody
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        click("#hidden"),
        &expect![[r#"
            step 2 of 2 (click) failed
            an element was found, but it is not visible, within TIME
            selectors: #hidden
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        click("#never"),
        &expect![[r#"
            step 2 of 2 (click) failed
            an element was found, but it is disabled, within TIME
            selectors: #never
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(click("##"), &expect![[r#"
        step 2 of 2 (click) failed
        no selector can be used: SyntaxError: Failed to execute 'querySelectorAll' on 'Document': '##' is not a valid selector.
        selectors: ##
        page: http://localhost/index.html"#]]);
    stage.check_failure(
        json!({ "type": "click", "selectors": ["##", "#missing"], "offsetX": 1, "offsetY": 1 }),
        &expect![[r#"
            step 2 of 2 (click) failed
            no element was found, and some selectors cannot be used: SyntaxError: Failed to execute 'querySelectorAll' on 'Document': '##' is not a valid selector., within TIME
            selectors: ##, #missing
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "click", "selectors": ["#save"], "frame": [0, 7], "offsetX": 1, "offsetY": 1 }),
        &expect![[r#"
            step 2 of 2 (click) failed
            there is no frame [0, 7], within TIME
            selectors: #save
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "hover", "selectors": ["#save"], "target": "http://localhost/nowhere" }),
        &expect![[r#"
            step 2 of 2 (hover) failed
            there is no page or frame at http://localhost/nowhere, within TIME
            selectors: #save
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "change", "selectors": ["#text"], "value": "x" }),
        &expect![[r#"
            step 2 of 2 (change) failed
            an element was found, but it takes no value, within TIME
            selectors: #text
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "change", "selectors": ["#fruit"], "value": "cherry" }),
        &expect![[r#"
            step 2 of 2 (change) failed
            the list has no value "cherry", within TIME
            selectors: #fruit
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "waitForElement", "selectors": ["aria/Same"], "operator": "==", "count": 3 }),
        &expect![[r#"
            step 2 of 2 (waitForElement) failed
            2 elements were found (wanted: exactly 3), within TIME
            selectors: aria/Same
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "waitForElement", "selectors": ["#save"], "attributes": { "id": "x" } }),
        &expect![[r#"
            step 2 of 2 (waitForElement) failed
            1 element was found, but not with these attributes (wanted: at least 1), within TIME
            selectors: #save
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "waitForElement", "selectors": ["#save"], "visible": false }),
        &expect![[r#"
            step 2 of 2 (waitForElement) failed
            1 element was found (wanted: not at least 1), within TIME
            selectors: #save
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "waitForExpression", "expression": "missing.value" }),
        &expect![[r#"
            step 2 of 2 (waitForExpression) failed
            the expression threw ReferenceError: missing is not defined, within TIME
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "waitForExpression", "expression": "0" }),
        &expect![[r#"
            step 2 of 2 (waitForExpression) failed
            the expression was not true, within TIME
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "waitForExpression", "expression": "while (true);" }),
        &expect![[r#"
            step 2 of 2 (waitForExpression) failed
            the expression threw SyntaxError: Unexpected token 'while', within TIME
            page: http://localhost/index.html"#]],
    );
    let mut stays = click("#stay");
    stays["assertedEvents"] = json!([{ "type": "navigation" }]);
    stage.check_failure(
        stays,
        &expect![[r#"
        step 2 of 2 (click) failed
        no navigation happened
        selectors: #stay
        page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "navigate", "url": "http://127.0.0.1:1/" }),
        &expect![[r#"
            step 2 of 2 (navigate) failed
            http://127.0.0.1:1/ cannot be loaded: net::ERR_UNSAFE_PORT
            page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "navigate", "url": stage.address("never") }),
        &expect![[r#"
        step 2 of 2 (navigate) failed
        http://localhost/never did not answer
        page: http://localhost/index.html"#]],
    );
    stage.check_failure(
        json!({ "type": "navigate", "url": stage.address("endless.html") }),
        &expect![[r#"
            step 2 of 2 (navigate) failed
            the page did not finish loading
            page: http://localhost/endless.html"#]],
    );
    stage.check_failure(
        json!({ "type": "waitForExpression", "expression": "(() => { while (true); })()", "timeout": 700 }),
        &expect![[r#"
            step 2 of 2 (waitForExpression) failed
            the page does not answer, within TIME
            page: http://localhost/index.html"#]],
    );
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
          no element was found, within 5 s
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
        error: wrong.json is no flow that can be replayed
          step 1 of 1 (click): selectors: expected a list of selectors, found nothing
          help: export it from DevTools' Recorder panel as JSON; see docs/flows.md
    "#]]
    .assert_eq(&said);
}
