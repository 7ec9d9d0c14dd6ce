//! Evented profiles: calls that open and close, not always in order.

use hashbrown::HashMap;
use perfblame_cct::{FrameId, ProfileBuilder, ThreadId};

use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number};

/// One event, as far as it could be read.
#[derive(Default)]
pub struct FrameEvent<'a> {
    /// True when a call opens, false when one closes.
    pub opens: Option<bool>,
    /// A row of `shared.frames`.
    pub frame: Option<u64>,
    /// When, in the profile's unit.
    pub at: Option<Number<'a>>,
}

/// Walks the events of a profile.
pub fn events<'a>(
    mut cursor: Cursor<'a>,
    mut each: impl FnMut(&FrameEvent<'a>),
) -> Result<(), JsonFault> {
    cursor.begin_array()?;
    while cursor.next_element()? {
        if cursor.peek()? != JsonKind::Object {
            cursor.skip_value()?;
            each(&FrameEvent::default());
            continue;
        }
        cursor.begin_object()?;
        let mut event = FrameEvent::default();
        while let Some(key) = cursor.next_raw_key()? {
            match key {
                b"type" => {
                    event.opens = match cursor.lenient_string()?.as_deref() {
                        Some("O") => Some(true),
                        Some("C") => Some(false),
                        _ => None,
                    }
                }
                b"frame" => event.frame = cursor.lenient_number()?.and_then(Number::as_u64),
                b"at" => event.at = cursor.lenient_number()?,
                _ => cursor.skip_value()?,
            }
        }
        each(&event);
    }
    Ok(())
}

/// The open calls of an evented profile, so that events out of order can be told from good ones without searching.
#[derive(Default)]
pub struct OpenFrames {
    stack: Vec<FrameId>,
    /// How often each frame is open.
    open: HashMap<FrameId, u32>,
    /// The time of the last event.
    pub last: i64,
}

impl OpenFrames {
    /// Nothing is open at `start`.
    pub fn since(start: i64) -> Self {
        Self { last: start, ..Self::default() }
    }

    /// A call opens or closes.
    pub fn event(
        &mut self,
        builder: &mut ProfileBuilder,
        thread: Option<ThreadId>,
        opens: bool,
        frame: FrameId,
        at: i64,
    ) {
        if at < self.last {
            builder.warn("times-go-back", || {
                "events out of order were moved to the time of the previous event".to_owned()
            });
        }
        self.last = at.max(self.last);
        if opens {
            builder.enter(thread, frame, self.last);
            self.stack.push(frame);
            *self.open.entry(frame).or_default() += 1;
            return;
        }
        if self.open.get(&frame).is_none_or(|count| *count == 0) {
            return builder.warn("events-out-of-order", || {
                "ends of calls that were not open were left out".to_owned()
            });
        }
        loop {
            let ended = self.pop(builder, thread, self.last);
            if ended.is_none_or(|ended| ended == frame) {
                break;
            }
            builder.warn("calls-closed", || {
                "calls still open when their caller ended were closed with it".to_owned()
            });
        }
    }

    fn pop(
        &mut self,
        builder: &mut ProfileBuilder,
        thread: Option<ThreadId>,
        at: i64,
    ) -> Option<FrameId> {
        let frame = self.stack.pop()?;
        builder.leave(thread, at);
        if let Some(count) = self.open.get_mut(&frame) {
            *count -= 1;
        }
        Some(frame)
    }

    /// Ends what is still open.
    pub fn close(&mut self, builder: &mut ProfileBuilder, thread: Option<ThreadId>, end: i64) {
        let end = end.max(self.last);
        while self.pop(builder, thread, end).is_some() {
            builder.warn("unfinished-calls", || {
                "calls without an end were closed at the end of the profile".to_owned()
            });
        }
    }
}
