//! A tab: where it is, what runs in it, what it brought with it.

use serde_json::{Value, json};

use super::ChromeError;
use super::attendant::Attached;
use super::connection::{Connection, Session, Until};

/// The part of a page that is seen, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewport {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
}

impl Default for Viewport {
    fn default() -> Self {
        Self { width: 1280, height: 720 }
    }
}

/// How pages are shown and run.
#[derive(Clone, Debug, Default)]
pub struct PageSettings {
    /// What is seen of them.
    pub viewport: Viewport,
    /// How many times slower the processor is made to look; frames in processes of their own, too.
    pub cpu_throttle: Option<f64>,
}

/// What a page did that a person would have had to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Met {
    /// Dialogs that were answered with yes.
    pub dialogs: u64,
    /// What the last one said.
    pub last_dialog: String,
    /// Downloads that were refused.
    pub downloads: u64,
    /// Windows that the page opened.
    pub popups: u64,
}

/// A tab.
pub struct Page<'a> {
    session: Session<'a>,
    target: String,
}

impl<'a> Page<'a> {
    pub(super) fn open(
        connection: &Connection,
        context: Option<&str>,
        settings: &PageSettings,
        until: Until<'a>,
    ) -> Result<Self, ChromeError> {
        let mut each_frame = vec![
            ("Inspector.enable", json!({})),
            ("Page.enable", json!({})),
            ("Page.setLifecycleEventsEnabled", json!({ "enabled": true })),
        ];
        if let Some(rate) = settings.cpu_throttle {
            each_frame.push(("Emulation.setCPUThrottlingRate", json!({ "rate": rate })));
        }
        let browser = connection.browser(until);
        connection.attendant(|attendant| attendant.each_frame = each_frame);
        let mut wanted = json!({ "url": "about:blank" });
        if let Some(context) = context {
            wanted["browserContextId"] = context.into();
        }
        let made = browser.call("Target.createTarget", wanted)?;
        let target = made["targetId"].as_str().unwrap_or_default().to_owned();
        let info = browser.call("Target.getTargetInfo", json!({ "targetId": target }))?;
        let home = info["targetInfo"]["browserContextId"].as_str().map(str::to_owned);
        connection.attendant(|attendant| attendant.home = home.map(|home| (home, target.clone())));
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach)?;
        // From now on we are told of windows that open, and where all of them are.
        browser.call("Target.setDiscoverTargets", json!({ "discover": true }))?;
        let session = connection.session(attached["sessionId"].as_str().unwrap_or_default(), until);
        let page = Self { session, target };
        page.set_viewport(settings.viewport)?;
        page.session.call("Performance.enable", json!({}))?;
        page.session.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }))?;
        Ok(page)
    }

    /// What calls go to.
    pub fn session(&self) -> &Session<'a> {
        &self.session
    }

    /// The same page, with less time or more.
    pub fn with(&self, until: Until<'a>) -> Self {
        Self { session: self.session.with(until), target: self.target.clone() }
    }

    /// The target's id, which is also its main frame's.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Frames in processes of their own, workers, and windows that pages opened, as attached at the moment.
    pub fn attached(&self) -> Vec<Attached> {
        let all = self.session.connection().attendant(|attendant| attendant.attached.clone());
        all.into_iter().filter(|attached| attached.target != self.target).collect()
    }

    /// Something that is attached, to talk to.
    pub fn session_of(&self, attached: &Attached) -> Session<'a> {
        self.session.connection().session(&attached.session, self.session.until())
    }

    /// What the page did that a person would have had to look at, so far.
    pub fn met(&self) -> Met {
        self.session.connection().attendant(|attendant| Met {
            dialogs: attendant.dialogs,
            last_dialog: attendant.last_dialog.clone(),
            downloads: attendant.downloads,
            popups: attendant.popups,
        })
    }

    /// Sets what is seen.
    pub fn set_viewport(&self, viewport: Viewport) -> Result<(), ChromeError> {
        let Viewport { width, height } = viewport;
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.session.call("Emulation.setDeviceMetricsOverride", metrics)?;
        Ok(())
    }

    /// Calls JavaScript and waits for what it promises.
    pub fn evaluate(&self, expression: &str) -> Result<Value, ChromeError> {
        self.session.evaluate(expression)
    }

    /// Goes to an address and waits until that has begun to arrive.
    pub fn navigate(&self, url: &str) -> Result<(), ChromeError> {
        let answer = self.session.call("Page.navigate", json!({ "url": url }))?;
        match answer["errorText"].as_str().filter(|text| !text.is_empty()) {
            // What becomes a download leaves the page where it was.
            Some(text) => Err(ChromeError::Load { url: url.to_owned(), why: text.to_owned() }),
            None => Ok(()),
        }
    }
}

impl Session<'_> {
    /// Calls JavaScript and waits for what it promises.
    pub fn evaluate(&self, expression: &str) -> Result<Value, ChromeError> {
        let answer = self.call(
            "Runtime.evaluate",
            json!({
                "expression": expression,
                "awaitPromise": true,
                "returnByValue": true,
                "userGesture": true,
            }),
        )?;
        value_of(answer, "JavaScript")
    }
}

/// The value in an answer of `Runtime.evaluate` and `Runtime.callFunctionOn`, or what was thrown.
pub fn value_of(mut answer: Value, script: &str) -> Result<Value, ChromeError> {
    match answer.get("exceptionDetails") {
        Some(details) => {
            Err(ChromeError::Script { script: script.to_owned(), why: thrown(details) })
        }
        None => Ok(answer["result"]["value"].take()),
    }
}

/// What was thrown, and where.
fn thrown(details: &Value) -> String {
    let exception = &details["exception"];
    let text = exception["description"]
        .as_str()
        .map(str::to_owned)
        .or_else(|| Some(exception.get("value")?.to_string()))
        .unwrap_or_else(|| details["text"].as_str().unwrap_or("an error").to_owned());
    // An error's own text has the places in it, when it is one.
    if text.contains("\n    at ") {
        return text;
    }
    let number = |key: &str| details[key].as_u64().map(|number| number.saturating_add(1));
    match (details["url"].as_str(), number("lineNumber"), number("columnNumber")) {
        (Some(url), Some(line), Some(column)) if !url.is_empty() => {
            format!("{text}\n    at {url}:{line}:{column}")
        }
        (_, Some(line), Some(column)) => format!("{text}\n    at line {line}, column {column}"),
        _ => text,
    }
}
