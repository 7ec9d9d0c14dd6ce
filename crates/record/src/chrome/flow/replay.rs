//! Does the steps of a flow in a page, one after the other; [`actions`] has what each kind of step does.
//!
//! A step is tried until its time is up: its place is located, its element found and got ready, all anew each time, as
//! pages change under our hands. Once the mouse or a key has moved, nothing is tried again. How long the page then takes
//! to deal with that is not counted: a page that has become slow is what we are here to record.

mod actions;
mod waits;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::failure::StepFailure;
use super::input::Hands;
use super::navigation::{self, Watch};
use super::place::{FramePlace, Worlds, locate};
use super::snag::Snag;
use super::world::OF_STEP;
use super::{DEFAULT_TIMEOUT, Flow, Step, screenshot};
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

/// Between two tries, from the first on.
const PAUSES: [u64; 5] = [10, 20, 40, 70, 100];

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
