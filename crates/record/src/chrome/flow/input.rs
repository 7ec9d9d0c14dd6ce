//! The mouse and the keyboard, and what is held down of them.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::keys::{self, Key};
use super::{Button, Click};
use crate::chrome::{ChromeError, Session};

/// What is held down, and where the mouse is.
#[derive(Default)]
pub(super) struct Hands {
    modifiers: u8,
    pressed: BTreeSet<String>,
    buttons: u8,
}

const SHIFT: u8 = 8;

impl Button {
    /// The protocol's word and bit.
    fn of_protocol(self) -> (&'static str, u8) {
        match self {
            Self::Primary => ("left", 1),
            Self::Secondary => ("right", 2),
            Self::Auxiliary => ("middle", 4),
            Self::Back => ("back", 8),
            Self::Forward => ("forward", 16),
        }
    }
}

impl Hands {
    /// Moves the mouse.
    pub fn move_to(&mut self, page: &Session<'_>, (x, y): (f64, f64)) -> Result<(), ChromeError> {
        let event = json!({
            "type": "mouseMoved", "x": x, "y": y, "button": "none",
            "buttons": self.buttons, "modifiers": self.modifiers,
        });
        page.call("Input.dispatchMouseEvent", event).map(drop)
    }

    /// Clicks so many times in a row.
    pub fn click(
        &mut self,
        page: &Session<'_>,
        point: (f64, f64),
        button: Button,
        times: u8,
        held: Option<Duration>,
    ) -> Result<(), ChromeError> {
        self.move_to(page, point)?;
        for count in 1..=times {
            self.button(page, point, button, "mousePressed", count)?;
            // The last of them is held.
            if let Some(held) = held.filter(|_| count == times) {
                pause(page, held)?;
            }
            self.button(page, point, button, "mouseReleased", count)?;
        }
        Ok(())
    }

    fn button(
        &mut self,
        page: &Session<'_>,
        (x, y): (f64, f64),
        button: Button,
        kind: &str,
        count: u8,
    ) -> Result<(), ChromeError> {
        let (word, bit) = button.of_protocol();
        if kind == "mousePressed" {
            self.buttons |= bit;
        } else {
            self.buttons &= !bit;
        }
        let event = json!({
            "type": kind, "x": x, "y": y, "button": word, "clickCount": count,
            "buttons": self.buttons, "modifiers": self.modifiers,
        });
        page.call("Input.dispatchMouseEvent", event).map(drop)
    }

    /// Presses a key; pressed again while it is down, it repeats.
    pub fn key_down(&mut self, page: &Session<'_>, key: &Key) -> Result<(), ChromeError> {
        let repeats = !self.pressed.insert(key.code.clone());
        self.modifiers |= key.modifier();
        let mut event = self.key_event(key);
        // With other modifiers than Shift, keys are commands and make no text.
        let shift = self.modifiers & SHIFT != 0;
        let text = if self.modifiers & !SHIFT == 0 { key.text(shift) } else { "" };
        event["type"] = if text.is_empty() { "rawKeyDown" } else { "keyDown" }.into();
        event["text"] = text.into();
        event["unmodifiedText"] = text.into();
        event["autoRepeat"] = repeats.into();
        event["isKeypad"] = (key.location == 3).into();
        page.call("Input.dispatchKeyEvent", event).map(drop)
    }

    /// Lets go of a key.
    pub fn key_up(&mut self, page: &Session<'_>, key: &Key) -> Result<(), ChromeError> {
        self.modifiers &= !key.modifier();
        self.pressed.remove(&key.code);
        let mut event = self.key_event(key);
        event["type"] = "keyUp".into();
        page.call("Input.dispatchKeyEvent", event).map(drop)
    }

    fn key_event(&self, key: &Key) -> Value {
        let shift = self.modifiers & SHIFT != 0;
        json!({
            "modifiers": self.modifiers,
            "windowsVirtualKeyCode": key.number(shift),
            "code": key.code,
            "key": key.shown(shift),
            "location": key.location.min(3),
        })
    }

    /// Types a text key by key; what no key has is inserted.
    pub fn type_text(&mut self, page: &Session<'_>, text: &str) -> Result<(), ChromeError> {
        let mut buffer = [0; 4];
        for letter in text.chars() {
            let letter = &*letter.encode_utf8(&mut buffer);
            match keys::find(letter) {
                Some(key) => {
                    self.key_down(page, &key)?;
                    self.key_up(page, &key)?;
                }
                None => page.call("Input.insertText", json!({ "text": letter })).map(drop)?,
            }
        }
        Ok(())
    }
}

impl Click {
    /// From the upper left corner of the element.
    pub(super) fn offset(&self) -> (f64, f64) {
        (self.offset_x, self.offset_y)
    }
}

/// Waits, unless somebody wants us to stop or the time is up.
pub(super) fn pause(session: &Session<'_>, time: Duration) -> Result<(), ChromeError> {
    let until = session.until().at_most(time);
    loop {
        session.until().check("waiting")?;
        let left = until.deadline.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(25)));
    }
}
