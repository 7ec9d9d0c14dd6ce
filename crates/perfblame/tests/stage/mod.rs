//! A browser and pages that note what happens to them, for flows of the DevTools Recorder.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use expect_test::Expect;
use perfblame_record::chrome::flow::{Flow, ReplayOptions, Replayed, replay};
use perfblame_record::chrome::{Browser, ChromeError, Launch, Page, PageSettings, Until};
use serde_json::{Value, json};

use crate::site::Site;

static NEVER: AtomicBool = AtomicBool::new(false);

/// Enough for all the flows of a test, on a machine that is busy with others.
fn enough() -> Until<'static> {
    Until::after(Duration::from_secs(300), &NEVER)
}

/// Pages that note what happens to them, and some that do not end well.
pub const PAGES: &[(&str, &str)] = &[
    ("/index.html", include_str!("../flows/index.html")),
    ("/frame.html", include_str!("../flows/frame.html")),
    ("/next.html", include_str!("../flows/next.html")),
    ("/popup.html", include_str!("../flows/popup.html")),
    ("/record.js", include_str!("../flows/record.js")),
    ("/never", "(never)"),
    ("/endless.html", "<img src=never>"),
];

/// A browser, and what it can go to.
pub struct Stage {
    browser: Browser,
    site: Site,
}

impl Stage {
    pub fn set() -> Self {
        let browser = Browser::start(&Launch::default(), enough()).unwrap();
        Self { browser, site: Site::new(PAGES) }
    }

    /// Of a page, by a name that is another site than `127.0.0.1`.
    pub fn address(&self, page: &str) -> String {
        self.site.url(&format!("/{page}")).replace("127.0.0.1", "localhost")
    }

    /// The same text in every run.
    pub fn without_port(&self, text: &str) -> String {
        text.replace(&self.address(""), "http://localhost/")
    }

    pub fn open(&self) -> Page<'static> {
        self.browser.open(&PageSettings::default(), enough()).unwrap()
    }

    /// Replays steps after going to the page.
    pub fn try_steps(&self, page: &Page<'_>, steps: Value) -> Result<Replayed, ChromeError> {
        let mut all = vec![json!({ "type": "navigate", "url": self.address("index.html") })];
        let Value::Array(steps) = steps else { panic!("{steps}") };
        all.extend(steps);
        let flow = json!({ "title": "steps", "timeout": 30_000, "steps": all });
        let flow = Flow::parse(flow.to_string().as_bytes()).unwrap();
        replay(page, &flow, &ReplayOptions::default())
    }

    /// The page after some steps, which must not fail.
    #[track_caller]
    pub fn after(&self, steps: Value) -> Page<'static> {
        let page = self.open();
        match self.try_steps(&page, steps) {
            Ok(_) => page,
            Err(error) => panic!("{error}\n{}", error.why()),
        }
    }

    /// What the page saw of some steps.
    #[track_caller]
    pub fn check(&self, steps: Value, wanted: &Expect) {
        wanted.assert_eq(&seen(&self.after(steps)));
    }
}

/// All that was noted, by frame, as frames tell it each at their own time.
pub fn seen(page: &Page<'_>) -> String {
    // A message is behind those that were sent before it.
    page.evaluate("new Promise(done => setTimeout(done, 50))").unwrap();
    let seen = page.evaluate("seen()").unwrap();
    by_frame(serde_json::from_value(seen).unwrap())
}

/// Lines as they were noted, grouped by frame, with what belongs together on one.
pub fn by_frame(mut lines: Vec<String>) -> String {
    lines.sort_by(|a, b| frame_of(a).cmp(frame_of(b)));
    folded(&lines).join("\n")
}

fn frame_of(line: &str) -> &str {
    line.split(':').next().unwrap_or_default()
}

/// What a line tells of: frame, kind of event, and the rest.
fn parts(line: &str) -> Option<(&str, &str, &str)> {
    let (frame, rest) = line.split_once(": ")?;
    let (kind, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    Some((frame, kind, rest))
}

/// A whole click and a whole key on one line each. Only what is told in full and agrees is put together, so that
/// nothing is lost: the rest stays as it was noted.
fn folded(lines: &[String]) -> Vec<String> {
    let mut rest = lines;
    let mut out = Vec::new();
    while let Some(first) = rest.first() {
        let (line, count) =
            clicked(rest).or_else(|| typed(rest)).unwrap_or_else(|| (first.clone(), 1));
        out.push(line);
        rest = &rest[count..];
    }
    out
}

/// Pressing, perhaps focusing, letting go and clicking at one place; how many lines that were.
fn clicked(lines: &[String]) -> Option<(String, usize)> {
    let of = |row: usize| lines.get(row).and_then(|line| parts(line));
    let (frame, "mousedown", place) = of(0)? else { return None };
    let (focus, up) = match of(1)? {
        (same, "focusin", what) if same == frame => (format!(", focusing {what}"), 2),
        _ => (String::new(), 1),
    };
    let is_whole = of(up)? == (frame, "mouseup", place) && of(up + 1)? == (frame, "click", place);
    is_whole.then(|| (format!("{frame}: clicked {place}{focus}"), up + 2))
}

/// A key that goes down, is pressed, makes input and goes up; how many lines that were.
fn typed(lines: &[String]) -> Option<(String, usize)> {
    let of = |row: usize| lines.get(row).and_then(|line| parts(line));
    let (frame, "keydown", key) = of(0)? else { return None };
    let (same, "keypress", pressed) = of(1)? else { return None };
    let (also, "input", input) = of(2)? else { return None };
    // Keys have a code of their own when they make a letter.
    let [down, press] = [key, pressed].map(|words| words.split(' ').collect::<Vec<_>>());
    let differ = down.iter().zip(&press).filter(|(one, other)| one != other).count();
    let is_whole = [same, also] == [frame; 2]
        && down.len() == press.len()
        && differ <= 1
        && of(3)? == (frame, "keyup", key);
    let code = down.iter().zip(&press).find(|(one, other)| one != other);
    let code = code.map(|(_, code)| format!(" as {code}")).unwrap_or_default();
    is_whole.then(|| (format!("{frame}: typed {key}{code}, input {input}"), 4))
}

/// A click near the corner.
pub fn click(selector: impl Into<Value>) -> Value {
    json!({ "type": "click", "selectors": [selector.into()], "offsetX": 4, "offsetY": 5 })
}
