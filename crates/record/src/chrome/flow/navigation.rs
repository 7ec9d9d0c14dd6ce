//! Going elsewhere: by address, and as the consequence of a step.
//!
//! The main frame of a page tells by events when it has gone somewhere and when that is loaded. Another frame may move
//! to a process of its own on its way, and its events with it, so it is looked at again and again instead.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::place::FramePlace;
use super::snag::Snag;
use crate::chrome::{BrowserEvent, ChromeError, Events, Session};

/// What a page tells when it goes elsewhere.
const EVENTS: [&str; 3] =
    ["Page.frameNavigated", "Page.navigatedWithinDocument", "Page.lifecycleEvent"];

/// Sees where a page's main frame goes from now on.
pub(super) struct Watch<'a> {
    events: Events<'a>,
    frame: String,
    progress: Progress,
}

/// How far a frame has got.
#[derive(Debug, Default, PartialEq, Eq)]
struct Progress {
    /// The document that has come.
    document: Option<String>,
    done: bool,
}

impl Progress {
    /// Takes an event into account. With `wanted`, other documents than that one do not count.
    fn see(&mut self, event: &BrowserEvent, frame: &str, wanted: Option<&str>) {
        let params = &event.params;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match &*event.method {
            "Page.frameNavigated" if params["frame"]["id"] == frame => {
                let document = text(&params["frame"]["loaderId"]);
                // What comes back from the cache is complete.
                self.done = params["type"] == "BackForwardCacheRestore";
                self.document = Some(document);
            }
            "Page.navigatedWithinDocument" if params["frameId"] == frame => {
                self.done |= wanted.is_none();
            }
            "Page.lifecycleEvent" if params["frameId"] == frame && params["name"] == "load" => {
                let document = params["loaderId"].as_str();
                // Having been asked for, a document counts even if its arrival was told before we listened.
                let expected = wanted.or(self.document.as_deref());
                self.done |= document.is_some() && document == expected;
            }
            _ => {}
        }
    }
}

impl<'a> Watch<'a> {
    /// Begins.
    pub fn new(page: &Session<'a>, frame: &str) -> Self {
        let (events, frame) = (page.listen(&EVENTS), frame.to_owned());
        Self { events, frame, progress: Progress::default() }
    }

    /// Waits until the frame has gone somewhere and that is loaded; if `wanted` is given, that document.
    pub fn wait(&mut self, wanted: Option<&str>, time: Duration) -> Result<(), Snag> {
        let start = Instant::now();
        while !self.progress.done {
            let left = time.saturating_sub(start.elapsed());
            let Some(event) = self.events.next_within(left)? else {
                return Err(Snag::never(match (wanted, &self.progress.document) {
                    (None, None) => "no navigation happened".to_owned(),
                    _ => "the page did not finish loading".to_owned(),
                }));
            };
            self.progress.see(&event, &self.frame, wanted);
        }
        Ok(())
    }
}

/// Goes to an address in the main frame and waits until it is loaded.
pub(super) fn navigate(
    page: &Session<'_>,
    frame: &str,
    url: &str,
    time: Duration,
) -> Result<(), Snag> {
    let mut watch = Watch::new(page, frame);
    let start = Instant::now();
    let until = page.until().at_most(time);
    let answer = page.with(until).call("Page.navigate", json!({ "url": url, "frameId": frame }));
    let answer = match answer {
        // The address does not answer; the page may well.
        Err(ChromeError::TimedOut { .. }) => {
            return Err(Snag::never(format!("{url} did not respond")));
        }
        other => other?,
    };
    match answer["errorText"].as_str() {
        // There is a page for this kind of failure, and it is shown.
        None | Some("" | "net::ERR_HTTP_RESPONSE_CODE_FAILURE") => {}
        Some(why) => return Err(Snag::never(format!("{url} cannot be loaded: {why}"))),
    }
    match answer["loaderId"].as_str() {
        Some(document) => watch.wait(Some(document), time.saturating_sub(start.elapsed())),
        // It is there already; only the part behind `#` differs.
        None => Ok(()),
    }
}

/// The document in a frame: another one has another name.
pub(super) fn document(place: &FramePlace<'_>) -> Result<(String, bool), Snag> {
    let state = place.world.value("function() { return this.state(); }", &[])?;
    let document = state["document"].as_str().unwrap_or_default().to_owned();
    Ok((document, state["complete"] == true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(events: &[(&str, Value)], wanted: Option<&str>, done: bool) {
        let mut progress = Progress::default();
        for (method, params) in events {
            let (method, params) = ((*method).to_owned(), params.clone());
            progress.see(&BrowserEvent { session: None, method, params }, "F", wanted);
        }
        assert_eq!(progress.done, done, "{events:?}");
    }

    #[test]
    fn a_navigation_is_over_when_its_own_document_is_loaded() {
        let came = |document: &str| {
            ("Page.frameNavigated", json!({ "frame": { "id": "F", "loaderId": document } }))
        };
        let loaded = |document: &str| {
            let params = json!({ "frameId": "F", "name": "load", "loaderId": document });
            ("Page.lifecycleEvent", params)
        };
        let within = || ("Page.navigatedWithinDocument", json!({ "frameId": "F" }));
        check(&[came("1")], None, false);
        check(&[loaded("0")], None, false);
        check(&[loaded("0"), came("1")], None, false);
        check(&[came("1"), loaded("1")], None, true);
        check(&[came("1"), came("2"), loaded("1")], None, false);
        check(&[within()], None, true);
        check(&[within()], Some("1"), false);
        check(&[came("0"), loaded("0")], Some("1"), false);
        check(&[loaded("1")], Some("1"), true);
        check(&[came("0"), came("1"), loaded("1")], Some("1"), true);
        let other = json!({ "frame": { "id": "G", "loaderId": "1" } });
        check(&[("Page.frameNavigated", other), loaded("1")], None, false);
    }
}
