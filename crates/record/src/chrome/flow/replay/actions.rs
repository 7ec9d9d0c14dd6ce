//! What each kind of step does.

use std::time::Duration;

use serde_json::json;

use super::waits::{wait_for_element, wait_for_expression};
use super::{Done, LOADING, Replay, Stuck};
use crate::chrome::flow::find::{self, Need};
use crate::chrome::flow::input::{Hands, pause};
use crate::chrome::flow::navigation::{self, Watch};
use crate::chrome::flow::place::FramePlace;
use crate::chrome::flow::snag::Snag;
use crate::chrome::flow::world::{Element, plain};
use crate::chrome::flow::{Action, Button, Click, Custom, Device, Selector, Step, Viewport, keys};
use crate::chrome::{ChromeError, Session};

/// After a key, as the panel does.
const AFTER_KEY: Duration = Duration::from_millis(100);

/// Longer texts are set and not typed, as the panel does.
const LONGEST_TYPED: usize = 100;

impl<'a> Replay<'a, '_> {
    /// Does one step.
    pub(super) fn step(&mut self, step: &Step) -> Done {
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
                    let button = Button::Primary;
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

    fn scroll(&mut self, step: &Step, selectors: &[Selector], x: f64, y: f64) -> Done {
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
}
