//! Does the steps of a flow in a page, one after the other.
//!
//! A step is tried until its time is up: its place is located, its element found and got ready, all anew each time, as
//! pages change under our hands. Once the mouse or a key has moved, nothing is tried again. How long the page then takes
//! to deal with that is not counted: a page that has become slow is what we are here to record.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use perfblame_words::counted;
use serde_json::{Value, json};

use super::failure::StepFailure;
use super::find::{self, Need};
use super::input::{Hands, pause};
use super::navigation::{self, Watch};
use super::place::{FramePlace, Worlds, locate};
use super::snag::Snag;
use super::world::{Element, OF_STEP, plain, thrown};
use super::{
    Action, Click, Custom, DEFAULT_TIMEOUT, Device, Flow, Step, Viewport, WaitForElement, keys,
    screenshot,
};
use crate::chrome::{ChromeError, Page, Session};

/// How to replay.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// How long a step may take that neither says so itself nor has a flow that does.
    pub timeout: Duration,
    /// Where the screenshot of a failing step goes: `FOLDER/NAME.step-3.png`.
    pub screenshots: Option<(PathBuf, String)>,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self { timeout: DEFAULT_TIMEOUT, screenshots: None }
    }
}

/// A flow that was replayed to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// How long each step took.
    pub times: Vec<Duration>,
    /// What went another way than when it was recorded.
    pub notes: Vec<String>,
}

/// How long an address may take to load, where nobody says otherwise.
const LOADING: Duration = Duration::from_secs(30);

/// After a key, as the panel does.
const AFTER_KEY: Duration = Duration::from_millis(100);

/// Between two tries, from the first on.
const PAUSES: [u64; 5] = [10, 20, 40, 70, 100];

/// Longer texts are set and not typed, as the panel does.
const LONGEST_TYPED: usize = 100;

/// Does all steps of a flow in a page.
///
/// Each step leaves a mark in a trace that is being recorded: a `TimeStamp` event with the text `perfblame step 3/7
/// click`, and `perfblame flow end` after the last.
pub fn replay(
    page: &Page<'_>,
    flow: &Flow,
    options: &ReplayOptions,
) -> Result<Replayed, ChromeError> {
    let mut replay = Replay {
        page,
        flow,
        options,
        worlds: Worlds::default(),
        hands: Hands::default(),
        in_front: None,
        touch: (false, false),
        closed_by: None,
        number: 0,
        replayed: Replayed::default(),
    };
    let of = flow.steps.len();
    for (index, step) in flow.steps.iter().enumerate() {
        let start = Instant::now();
        replay.number = index + 1;
        replay.mark(&format!("perfblame step {}/{of} {}", index + 1, step.action.kind()));
        replay.step(step).map_err(|stuck| replay.failure(step, stuck))?;
        replay.release(step);
        replay.replayed.times.push(start.elapsed());
    }
    replay.mark("perfblame flow end");
    Ok(replay.replayed)
}

struct Replay<'a, 'f> {
    page: &'f Page<'a>,
    flow: &'f Flow,
    options: &'f ReplayOptions,
    worlds: Worlds<'a>,
    hands: Hands,
    /// The target that was brought to the front, if another than the page was.
    in_front: Option<String>,
    /// Whether pages are shown as on a mobile device, and with touch.
    touch: (bool, bool),
    /// The step that closed the page.
    closed_by: Option<usize>,
    number: usize,
    replayed: Replayed,
}

/// Why a step ends without being done.
enum Stuck {
    /// It failed.
    Failed(String),
    /// The browser or the whole run did.
    Browser(ChromeError),
}

impl From<ChromeError> for Stuck {
    fn from(error: ChromeError) -> Self {
        match error {
            ChromeError::Refused { why, .. } => Self::Failed(format!("the browser refuses: {why}")),
            other => Self::Browser(other),
        }
    }
}

impl From<Snag> for Stuck {
    fn from(snag: Snag) -> Self {
        match snag {
            Snag::Yet(why) | Snag::Never(why) => Self::Failed(why),
            Snag::Threw(why) => Self::Failed(format!("the page threw {why}")),
            Snag::Browser(error) => error.into(),
        }
    }
}

type Done<T = ()> = Result<T, Stuck>;

impl<'a> Replay<'a, '_> {
    fn step(&mut self, step: &Step) -> Done {
        if let (Some(by), None) = (self.closed_by, &step.target) {
            return Err(Stuck::Failed(format!("the page was closed by step {by}")));
        }
        match &step.action {
            Action::Navigate { url } => self.navigate(step, url),
            Action::SetViewport(viewport) => self.set_viewport(step, *viewport),
            Action::EmulateNetworkConditions { download, upload, latency } => {
                self.emulate_network(step, *download, *upload, *latency)
            }
            Action::Click(click) => self.click(step, click, 1),
            Action::DoubleClick(click) => self.click(step, click, 2),
            Action::Hover { selectors } => {
                let (place, area) = self.attempt(step, |place| {
                    let element = find::first(&place.world, selectors)?;
                    find::ready(place, &element, Need::Whole)
                })?;
                self.act(step, &place, |replay, page| {
                    replay.hands.move_to(page, area.middle()).map_err(Stuck::from)
                })
            }
            Action::Change { selectors, value } => {
                let (place, (element, kind)) = self.attempt(step, |place| {
                    let element = find::first(&place.world, selectors)?;
                    find::ready(place, &element, Need::Enabled)?;
                    let kind = "function(element, value) { return this.kindOf(element, value); }";
                    let kind = place.world.value(kind, &[element.argument(), plain(&**value)])?;
                    match kind.as_str() {
                        Some("nothing") => {
                            Err(Snag::yet("an element was found, but it does not accept a value"))
                        }
                        Some("other list") => {
                            Err(Snag::yet(format!("the list has no value {value:?}")))
                        }
                        kind => Ok((element, kind.unwrap_or_default().to_owned())),
                    }
                })?;
                self.act(step, &place, |replay, page| {
                    replay.change(&place, page, &element, &kind, value)
                })
            }
            Action::KeyDown { key } => self.key(step, key, Hands::key_down),
            Action::KeyUp { key } => self.key(step, key, Hands::key_up),
            Action::Scroll { selectors, x, y } => self.scroll(step, selectors, *x, *y),
            Action::WaitForElement(wait) => {
                let watched = self.attempt(step, |_| Ok(()))?.0;
                self.act(step, &watched, |replay, _| {
                    replay.attempt(step, |place| wait_for_element(place, wait)).map(drop)
                })
            }
            Action::WaitForExpression { expression } => {
                let watched = self.attempt(step, |_| Ok(()))?.0;
                self.act(step, &watched, |replay, _| {
                    replay.attempt(step, |place| wait_for_expression(place, expression)).map(drop)
                })
            }
            Action::Close => self.close(step),
            Action::Custom(Custom::Sleep(time)) => Ok(pause(self.page.session(), *time)?),
            Action::Custom(Custom::Mark(name)) => {
                self.mark(name);
                Ok(())
            }
        }
    }

    /// Lets go of what a step looked at, so that the page can, too.
    fn release(&self, step: &Step) {
        let group = json!({ "objectGroup": OF_STEP });
        self.page.session().send("Runtime.releaseObjectGroup", &group);
        if step.target.is_some() || !step.frame.is_empty() {
            for attached in self.page.attached() {
                self.page.session_of(&attached).send("Runtime.releaseObjectGroup", &group);
            }
        }
    }

    /// How long a step may take.
    fn time(&self, step: &Step) -> Duration {
        step.timeout.or(self.flow.timeout).unwrap_or(self.options.timeout)
    }

    /// Tries something at the step's place until it works or the step's time is up.
    fn attempt<T>(
        &mut self,
        step: &Step,
        mut work: impl FnMut(&FramePlace<'a>) -> Result<T, Snag>,
    ) -> Done<(FramePlace<'a>, T)> {
        let time = self.time(step);
        let until = self.page.session().until().at_most(time);
        let mut last = String::new();
        let mut pauses = PAUSES.iter();
        let mut pause = 0;
        loop {
            let (target, frame) = (step.target.as_deref(), &step.frame[..]);
            let located = locate(self.page, target, frame, &mut self.worlds, until);
            let tried = located.and_then(|place| {
                self.bring_to_front(&place)?;
                let done = work(&place)?;
                Ok((place, done))
            });
            match tried {
                // From here on only the run's time counts.
                Ok((place, done)) => return Ok((place.with(self.page.session().until()), done)),
                Err(Snag::Yet(why)) => last = why,
                Err(Snag::Threw(why)) => last = format!("the page threw {why}"),
                Err(Snag::Never(why)) => return Err(Stuck::Failed(why)),
                Err(Snag::Browser(error)) => {
                    // A document that is just gone; a frame with it, or the whole page.
                    self.worlds.forget_all();
                    match error {
                        ChromeError::TimedOut { .. } if last.is_empty() => {
                            "the page does not respond".clone_into(&mut last);
                        }
                        ChromeError::Refused { why, .. } if last.is_empty() => last = why,
                        ChromeError::TimedOut { .. } | ChromeError::Refused { .. } => {}
                        ChromeError::Closed | ChromeError::Crashed => {
                            self.page.session().alive()?;
                        }
                        other => return Err(other.into()),
                    }
                }
            }
            if until.check("").is_err() {
                self.page.session().until().check(&self.doing(step))?;
                let seconds = time.as_secs_f64();
                return Err(Stuck::Failed(format!("timed out after {seconds} s: {last}")));
            }
            pause = pauses.next().copied().unwrap_or(pause);
            std::thread::sleep(Duration::from_millis(pause));
        }
    }

    /// What we are at.
    fn doing(&self, step: &Step) -> String {
        let of = self.flow.steps.len();
        format!("step {} of {of} ({})", self.number, step.action.kind())
    }

    /// A window in the back is not drawn, and what is not drawn is never in view.
    fn bring_to_front(&mut self, place: &FramePlace<'a>) -> Result<(), Snag> {
        let front = self.in_front.as_deref().unwrap_or(self.page.target());
        if front != place.target {
            place.page.call("Page.bringToFront", json!({}))?;
            self.in_front = Some(place.target.clone());
        }
        Ok(())
    }

    /// Does something once, without a limit but the run's, and waits for the navigation that the step says it leads to.
    fn act(
        &mut self,
        step: &Step,
        place: &FramePlace<'a>,
        act: impl FnOnce(&mut Self, &Session<'a>) -> Done,
    ) -> Done {
        if step.asserted.is_empty() {
            return match act(self, &place.page) {
                // A window may close when it is clicked at.
                Err(Stuck::Browser(ChromeError::Closed)) if place.target != self.page.target() => {
                    self.back_to_page()
                }
                done => done,
            };
        }
        if place.is_whole_page() {
            let mut watch = Watch::new(&place.page, &place.target);
            act(self, &place.page)?;
            watch.wait(None, self.time(step))?;
        } else {
            let (before, _) = navigation::document(place)?;
            act(self, &place.page)?;
            self.attempt(step, |place| match navigation::document(place)? {
                (document, _) if document == before => Err(Snag::yet("no navigation happened")),
                (_, false) => Err(Snag::yet("the frame did not finish loading")),
                _ => Ok(()),
            })?;
        }
        self.compare_address(step)
    }

    /// After another window is gone.
    fn back_to_page(&mut self) -> Done {
        self.in_front = None;
        self.worlds.forget_all();
        self.page.session().call("Page.bringToFront", json!({}))?;
        Ok(())
    }

    /// Says so where a navigation led elsewhere than when it was recorded; that alone is no failure, as the same flow
    /// is replayed against other servers and versions.
    fn compare_address(&mut self, step: &Step) -> Done {
        let Some(recorded) = step.asserted.first() else { return Ok(()) };
        let (_, now) = self.attempt(step, |place| {
            let now = "function() { return [location.href, location.pathname, document.title]; }";
            place.world.value(now, &[])
        })?;
        let text = |index: usize| now[index].as_str().unwrap_or_default();
        let number = self.number;
        if let Some(url) = &recorded.url
            && path_of(url).is_some_and(|path| path != text(1))
        {
            let note = format!("step {number} led to {}; in the recorded flow, to {url}", text(0));
            self.replayed.notes.push(note);
        }
        if let Some(title) = recorded.title.as_deref().filter(|title| !title.is_empty())
            && title != text(2)
        {
            let note = format!(
                "step {number} led to a page titled {:?}; in the recorded flow, {title:?}",
                text(2)
            );
            self.replayed.notes.push(note);
        }
        Ok(())
    }

    fn navigate(&mut self, step: &Step, url: &str) -> Done {
        let (place, ()) = self.attempt(step, |_| Ok(()))?;
        let time = step.timeout.or(self.flow.timeout).unwrap_or(LOADING.max(self.options.timeout));
        let done = navigation::navigate(&place.page, &place.world.frame, url, time);
        self.worlds.forget(&place.world.frame);
        done?;
        self.compare_address(step)
    }

    fn set_viewport(&mut self, step: &Step, viewport: Viewport) -> Done {
        let (place, ()) = self.attempt(step, |_| Ok(()))?;
        let page = &place.page;
        let orientation = if viewport.is_landscape {
            json!({ "angle": 90, "type": "landscapePrimary" })
        } else {
            json!({ "angle": 0, "type": "portraitPrimary" })
        };
        let metrics = json!({
            "width": viewport.width,
            "height": viewport.height,
            "deviceScaleFactor": viewport.device_scale_factor,
            "mobile": viewport.is_mobile,
            "screenOrientation": orientation,
        });
        page.call("Emulation.setDeviceMetricsOverride", metrics)?;
        let touch = json!({ "enabled": viewport.has_touch });
        page.call("Emulation.setTouchEmulationEnabled", touch)?;
        let before = std::mem::replace(&mut self.touch, (viewport.is_mobile, viewport.has_touch));
        let (document, _) = navigation::document(&place)?;
        if before != self.touch && !document.ends_with(" about:blank") {
            // A page asks only once what it is shown on.
            let mut watch = Watch::new(page, &place.target);
            page.call("Page.reload", json!({}))?;
            watch.wait(None, LOADING)?;
            self.worlds.forget_all();
        }
        Ok(())
    }

    fn emulate_network(&mut self, step: &Step, download: f64, upload: f64, latency: f64) -> Done {
        let (place, ()) = self.attempt(step, |_| Ok(()))?;
        let conditions = json!({
            "offline": download == 0.0 && upload == 0.0,
            "latency": latency,
            "downloadThroughput": download,
            "uploadThroughput": upload,
        });
        let calls =
            [("Network.enable", json!({})), ("Network.emulateNetworkConditions", conditions)];
        let page = &place.page;
        for (method, params) in &calls {
            page.call(method, params.clone())?;
        }
        for attached in self.page.attached() {
            let session = self.page.session_of(&attached);
            for (method, params) in &calls {
                // Frames come and go, and not all kinds of workers know of networks.
                session.send(method, params);
            }
        }
        // Those that come later get it from the start.
        page.connection().attendant(|attendant| {
            attendant.each_frame.retain(|(method, _)| !method.starts_with("Network."));
            attendant.each_frame.extend(calls);
        });
        Ok(())
    }

    fn click(&mut self, step: &Step, click: &Click, times: u8) -> Done {
        let (place, area) = self.attempt(step, |place| {
            let element = find::first(&place.world, &click.selectors)?;
            find::ready(place, &element, Need::WholeAndEnabled)
        })?;
        if click.device != Device::Mouse {
            let note = format!(
                "step {} was recorded with touch or pen; perfblame used the mouse",
                self.number
            );
            self.replayed.notes.push(note);
        }
        let (right, down) = click.offset();
        let point = (area.x + right, area.y + down);
        self.act(step, &place, |replay, page| {
            replay
                .hands
                .click(page, point, click.button, times, click.duration)
                .map_err(Stuck::from)
        })
    }

    fn change(
        &mut self,
        place: &FramePlace<'a>,
        page: &Session<'a>,
        element: &Element<'a>,
        kind: &str,
        value: &str,
    ) -> Done {
        let call = |function: &str| {
            let function = format!("function(element, value) {{ return this.{function}; }}");
            place.world.value(&function, &[element.argument(), plain(value)])
        };
        match kind {
            "list" => call("choose(element, value)").map(drop)?,
            "checked" => {
                // "false" is what an unchecked box was recorded as.
                let wanted = !matches!(value, "" | "false");
                let now = call("isChecked(element)")?;
                if now != wanted {
                    let area = find::ready(place, element, Need::WholeAndEnabled)?;
                    let button = super::Button::Primary;
                    self.hands.click(page, area.middle(), button, 1, None)?;
                }
            }
            "typed" if value.encode_utf16().count() < LONGEST_TYPED => {
                let rest = call("prepareTyping(element, value)")?;
                self.hands.type_text(page, rest.as_str().unwrap_or_default())?;
            }
            _ => call("setDirectly(element, value)").map(drop)?,
        }
        Ok(())
    }

    fn key(
        &mut self,
        step: &Step,
        key: &str,
        press: fn(&mut Hands, &Session<'_>, &keys::Key) -> Result<(), ChromeError>,
    ) -> Done {
        let (place, ()) = self.attempt(step, |_| Ok(()))?;
        let Some(key) = keys::find(key) else {
            return Err(Stuck::Failed(format!("unknown key {key:?}")));
        };
        self.act(step, &place, |replay, page| {
            press(&mut replay.hands, page, &key)?;
            Ok(pause(page, AFTER_KEY)?)
        })
    }

    fn scroll(&mut self, step: &Step, selectors: &[super::Selector], x: f64, y: f64) -> Done {
        if selectors.is_empty() {
            let (place, ()) = self.attempt(step, |_| Ok(()))?;
            return self.act(step, &place, |_, _| {
                let function = "function(x, y) { window.scroll(x, y); }";
                Ok(place.world.value(function, &[plain(x), plain(y)]).map(drop)?)
            });
        }
        let (place, element) = self.attempt(step, |place| {
            let element = find::first(&place.world, selectors)?;
            find::ready(place, &element, Need::InView)?;
            Ok(element)
        })?;
        self.act(step, &place, |_, _| {
            let function =
                "function(element, x, y) { element.scrollTop = y; element.scrollLeft = x; }";
            let arguments = [element.argument(), plain(x), plain(y)];
            Ok(place.world.value(function, &arguments).map(drop)?)
        })
    }

    /// The trace is written by way of the flow's page, so that one only goes blank.
    fn close(&mut self, step: &Step) -> Done {
        let (place, ()) = self.attempt(step, |_| Ok(()))?;
        let page = &place.page;
        if !place.is_whole_page() {
            return Err(Stuck::Failed("a frame cannot be closed".to_owned()));
        }
        if place.target == self.page.target() {
            navigation::navigate(page, &place.target, "about:blank", LOADING)?;
            self.worlds.forget_all();
            self.closed_by = Some(self.number);
        } else {
            let browser = page.connection().browser(page.until());
            browser.call("Target.closeTarget", json!({ "targetId": place.target }))?;
            self.back_to_page()?;
        }
        Ok(())
    }

    /// Puts a text into the trace. The page does not see it, and we do not wait for it.
    fn mark(&self, text: &str) {
        let evaluate = json!({
            "expression": format!("console.timeStamp({})", Value::from(text)),
            "silent": true,
        });
        self.page.session().send("Runtime.evaluate", &evaluate);
    }

    fn failure(&self, step: &Step, stuck: Stuck) -> ChromeError {
        let why = match stuck {
            Stuck::Failed(why) => why,
            Stuck::Browser(error @ (ChromeError::Crashed | ChromeError::Closed)) => {
                error.to_string()
            }
            Stuck::Browser(ChromeError::TimedOut { after, why, .. }) => {
                return ChromeError::TimedOut { doing: self.doing(step), after, why };
            }
            Stuck::Browser(other) => return other,
        };
        // What is in front is what the step was about.
        let front = self.in_front.as_deref().unwrap_or(self.page.target());
        let attached = self.page.session().connection().attendant(|attendant| {
            attendant.attached.iter().find(|attached| attached.target == front).cloned()
        });
        let session = match &attached {
            Some(attached) if front != self.page.target() => self.page.session_of(attached),
            _ => self.page.session().clone(),
        };
        let (mut picture, mut no_screenshot) = (None, String::new());
        if let Some((folder, name)) = &self.options.screenshots {
            let path = folder.join(format!("{name}.step-{}.png", self.number));
            match screenshot::take(&session, &path) {
                Ok(()) => picture = Some(path),
                Err(why) => no_screenshot = why,
            }
        }
        ChromeError::Step(Box::new(StepFailure {
            number: self.number,
            of: self.flow.steps.len(),
            kind: step.action.kind(),
            why,
            tried: step.action.selectors().iter().map(ToString::to_string).collect(),
            url: attached.map(|attached| attached.url).unwrap_or_default(),
            screenshot: picture,
            no_screenshot,
        }))
    }
}

/// The path of an address that has one.
fn path_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let path = rest.get(rest.find('/')?..)?;
    path.split(['?', '#']).next()
}

/// Whether the elements are there, or are not, as the step wants it.
fn wait_for_element(place: &FramePlace<'_>, wait: &WaitForElement) -> Result<(), Snag> {
    let elements = if wait.attributes.is_none() && wait.properties.is_none() {
        None
    } else {
        Some(find::all(&place.world, &wait.selectors)?)
    };
    let found = match &elements {
        Some(elements) => elements.len(),
        None => find::count(&place.world, &wait.selectors)?,
    };
    let mut holds = wait.operator.holds(found, wait.count);
    let mut but = "";
    if let (true, Some(elements), Some(attributes)) = (holds, &elements, &wait.attributes) {
        let function =
            "function(wanted, ...elements) { return this.haveAttributes(elements, wanted); }";
        let mut arguments = vec![plain(Value::Object(attributes.clone()))];
        arguments.extend(elements.iter().map(Element::argument));
        holds = place.world.value(function, &arguments)? == true;
        but = ", but not with these attributes";
    }
    if let (true, Some(elements), Some(properties)) = (holds, &elements, &wait.properties) {
        for element in elements {
            holds &= has_properties(element, &Value::Object(properties.clone()))?;
        }
        but = ", but not with these properties";
    }
    if holds == wait.visible {
        return Ok(());
    }
    let elements = counted(found as u64, "element was", "elements were");
    let operator = match wait.operator {
        super::Operator::AtLeast => "at least",
        super::Operator::Exactly => "exactly",
        super::Operator::AtMost => "at most",
    };
    let not = if wait.visible { "" } else { "not " };
    let but = if wait.visible { but } else { "" };
    Err(Snag::yet(format!("{elements} found{but} (wanted: {not}{operator} {})", wait.count)))
}

/// Compares properties as the page's scripts see them.
fn has_properties(element: &Element<'_>, wanted: &Value) -> Result<bool, Snag> {
    const COMPARE: &str = "function(wanted) {
        const open = [[wanted, this]];
        while (open.length > 0) {
            const [a, b] = open.pop();
            if (a === b) continue;
            if (!(a instanceof Object) || b === null || (typeof b !== 'object' && typeof b !== 'function')) {
                return false;
            }
            for (const [key, value] of Object.entries(a)) open.push([value, b[key]]);
        }
        return true;
    }";
    let object = element.as_page_sees_it()?;
    let answer = element.world.session.call(
        "Runtime.callFunctionOn",
        json!({
            "functionDeclaration": COMPARE,
            "objectId": object,
            "arguments": [plain(wanted.clone())],
            "returnByValue": true,
        }),
    )?;
    thrown(&answer)?;
    Ok(answer["result"]["value"] == true)
}

/// Whether an expression is true now, for the page's own scripts.
fn wait_for_expression(place: &FramePlace<'_>, expression: &str) -> Result<(), Snag> {
    let document = place.world.object("function() { return document; }", &[])?;
    let document = document.ok_or_else(|| Snag::yet("there is no document"))?;
    // Lines of its own, as an expression may end in a comment.
    let function = format!(
        "function() {{ return (async function() {{ return Boolean(await (\n{expression}\n)); }})(); }}"
    );
    let answer = place.world.session.call(
        "Runtime.callFunctionOn",
        json!({
            "functionDeclaration": function,
            "objectId": document.as_page_sees_it()?,
            "returnByValue": true,
            "awaitPromise": true,
        }),
    )?;
    match thrown(&answer) {
        Ok(()) if answer["result"]["value"] == true => Ok(()),
        Ok(()) => Err(Snag::yet("the expression was not true")),
        // What it needs may come later.
        Err(Snag::Threw(why)) => Err(Snag::yet(format!("the expression threw {why}"))),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_addresses() {
        assert_eq!(path_of("http://a:80/b/c?d#e"), Some("/b/c"));
        assert_eq!(path_of("http://a/"), Some("/"));
        assert_eq!(path_of("http://a"), None);
        assert_eq!(path_of("about:blank"), None);
        assert_eq!(path_of("ü://é"), None);
    }
}
