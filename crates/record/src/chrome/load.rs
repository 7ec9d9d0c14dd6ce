//! Loading a page until it is done: its load event, then a network that is quiet, then a main thread that is quiet.
//!
//! The browser says itself when a page's network has been quiet for half a second (`networkIdle`). Of the main thread we
//! ask how long it was busy, ten times a second: asking wakes it, but ever so shortly, and nothing is put into the page.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::connection::BrowserEvent;
use super::{ChromeError, Page};

/// How long the network has to be quiet for the browser to say so.
const NETWORK_QUIET: f64 = 0.5;

/// The main thread is quiet when it has been idle mostly, in so many looks of so long each.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS: u32 = 5;

/// Busy for less than this is mostly idle: an animation may go on.
const MOSTLY_IDLE: f64 = 0.2;

/// How a page came to rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Rest {
    /// When the last of the work was done, in seconds of the browser's clock.
    pub done: f64,
    /// Why it is not at rest, when the limit was met.
    pub restless: Option<&'static str>,
}

/// Loads an address and waits until the page is at rest, or `limit` has passed since it was loaded.
pub fn load(page: &Page<'_>, url: &str, limit: Duration) -> Result<Rest, ChromeError> {
    let events = page.session().listen(&["Page.lifecycleEvent"]);
    if let Err(error) = page.navigate(url) {
        let error = explain(error, page);
        // A page that crashes at once is not there, either.
        page.session().alive()?;
        return Err(error);
    }
    let doing = format!("loading {url}");
    let mut progress = Progress::default();
    while progress.load.is_none() {
        progress.see(&events.next(&doing)?, page.target());
    }
    let load = progress.load.unwrap_or_default();
    let network = || -> Result<Option<f64>, ChromeError> {
        while let Some(event) = events.next_within(Duration::ZERO)? {
            progress.see(&event, page.target());
        }
        // A page that sent us on meanwhile is loaded when the other one is.
        let since = progress.load.zip(progress.quiet);
        Ok(since.map(|(load, quiet)| load.max(quiet - NETWORK_QUIET)))
    };
    come_to_rest(page, limit, load, network)
}

/// Waits until the main thread is quiet, or `limit` has passed.
pub fn rest(page: &Page<'_>, limit: Duration) -> Result<Rest, ChromeError> {
    let now = clock(page)?.now;
    come_to_rest(page, limit, now, || Ok(Some(now)))
}

/// Waits until the main thread is quiet and the network has been since some time that `network` knows.
fn come_to_rest(
    page: &Page<'_>,
    limit: Duration,
    mut done: f64,
    mut network: impl FnMut() -> Result<Option<f64>, ChromeError>,
) -> Result<Rest, ChromeError> {
    let began = Instant::now();
    let mut last = clock(page)?;
    let mut quiet = 0;
    loop {
        page.session().until().check("waiting for the page to become idle")?;
        std::thread::sleep(LOOK);
        let next = clock(page)?;
        let busy = (next.busy - last.busy) / (next.now - last.now).max(1e-3);
        if busy < MOSTLY_IDLE {
            quiet += 1;
        } else {
            (quiet, done) = (0, next.now);
        }
        last = next;
        let network = network()?;
        if let (Some(since), LOOKS..) = (network, quiet) {
            return Ok(Rest { done: done.max(since), restless: None });
        }
        if began.elapsed() > limit {
            // A busy page has no time to notice that its network is quiet.
            let restless = match quiet {
                LOOKS.. => "its network is never quiet",
                _ => "its main thread is never quiet",
            };
            return Ok(Rest { done: last.now, restless: Some(restless) });
        }
    }
}

/// The browser's clock, and for how long the main thread was busy, in seconds.
#[derive(Clone, Copy)]
pub struct Clock {
    pub now: f64,
    pub busy: f64,
}

/// Looks at the clock.
pub fn clock(page: &Page<'_>) -> Result<Clock, ChromeError> {
    let answer = page.session().call("Performance.getMetrics", json!({}))?;
    let metric = |name: &str| {
        let metrics = answer["metrics"].as_array().into_iter().flatten();
        metrics.filter(|metric| metric["name"] == name).find_map(|metric| metric["value"].as_f64())
    };
    Ok(Clock {
        now: metric("Timestamp").unwrap_or_default(),
        busy: metric("TaskDuration").unwrap_or_default(),
    })
}

/// How far the main frame's document is.
#[derive(Default)]
struct Progress {
    document: Option<String>,
    load: Option<f64>,
    quiet: Option<f64>,
}

impl Progress {
    fn see(&mut self, event: &BrowserEvent, frame: &str) {
        let params = &event.params;
        if params["frameId"] != frame {
            return;
        }
        let loader = params["loaderId"].as_str();
        let time = params["timestamp"].as_f64();
        match params["name"].as_str() {
            // A page that sends us on to another one is loaded when that is.
            Some("init") => {
                *self = Self { document: loader.map(str::to_owned), ..Self::default() };
            }
            _ if self.document.as_deref() != loader => {}
            Some("load") => self.load = time,
            Some("networkIdle") => self.quiet = time,
            _ => {}
        }
    }
}

/// In words, where the browser has a code.
fn explain(error: ChromeError, page: &Page<'_>) -> ChromeError {
    let ChromeError::Load { url, why } = error else { return error };
    let words = match &*why {
        "net::ERR_CONNECTION_REFUSED" => "connection refused: no server listens there",
        "net::ERR_NAME_NOT_RESOLVED" => "unknown host name",
        "net::ERR_FILE_NOT_FOUND" => "there is no such file",
        "net::ERR_HTTP_RESPONSE_CODE_FAILURE" => "the server responded with an error and no page",
        "net::ERR_INVALID_URL" => "this is not a valid address",
        "net::ERR_ABORTED" if is_download(page) => "it is a download, not a page",
        "net::ERR_ABORTED" => "it is not a page: a download, or nothing at all",
        _ => return ChromeError::Load { url, why },
    };
    ChromeError::Load { url, why: format!("{words} ({why})") }
}

/// A download is told of by the browser, not by the page, and a moment later.
fn is_download(page: &Page<'_>) -> bool {
    let began = Instant::now();
    while page.met().downloads == 0 {
        if began.elapsed() > Duration::from_secs(1) || page.session().alive().is_err() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// What the server said, when that is no good sign.
pub fn status(page: &Page<'_>) -> Option<String> {
    let status = page
        .evaluate("performance.getEntriesByType('navigation')[0]?.responseStatus")
        .ok()
        .as_ref()
        .and_then(Value::as_u64)?;
    (status >= 400).then(|| format!("the server responded with status {status}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_main_frames_last_document_counts() {
        let mut progress = Progress::default();
        let mut see = |frame: &str, loader: &str, name: &str, timestamp: f64| {
            let params = json!({
                "frameId": frame, "loaderId": loader, "name": name, "timestamp": timestamp
            });
            let method = "Page.lifecycleEvent".to_owned();
            progress.see(&BrowserEvent { session: None, method, params }, "main");
            (progress.load, progress.quiet)
        };
        assert_eq!(see("main", "blank", "load", 0.5), (None, None));
        see("main", "first", "init", 1.0);
        assert_eq!(see("child", "first", "load", 2.0), (None, None));
        assert_eq!(see("main", "first", "load", 3.0), (Some(3.0), None));
        assert_eq!(see("main", "second", "init", 4.0), (None, None));
        see("main", "second", "load", 5.0);
        assert_eq!(see("main", "second", "networkIdle", 6.0), (Some(5.0), Some(6.0)));
    }
}
