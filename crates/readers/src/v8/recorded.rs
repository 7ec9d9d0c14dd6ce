//! What of a trace is the recording: browsers trace from before a page is asked for until after it is done, and a
//! recorder that knows both moments notes them.
//!
//! What runs before and after is tracing itself. Between the last work and the end, the recorder waited for the page to
//! rest: whatever idles there idles for the recorder. Work of workers may still go on, and counts.

/// Three moments of a recording, in nanoseconds of the trace's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recorded {
    start: i64,
    done: i64,
    end: i64,
}

impl Recorded {
    /// From microseconds; none when they are in no order.
    pub fn from_micros(start: i64, done: i64, end: i64) -> Option<Self> {
        let nanos = |micros: i64| micros.checked_mul(1000);
        let recorded = Self { start: nanos(start)?, done: nanos(done)?, end: nanos(end)? };
        (recorded.start <= recorded.done && recorded.done <= recorded.end).then_some(recorded)
    }

    /// A moment, or the nearest one that was recorded.
    pub fn nearest(&self, time: i64) -> i64 {
        time.clamp(self.start, self.end)
    }

    /// The part of some work that was recorded.
    pub fn work(&self, from: i64, to: i64) -> Option<(i64, i64)> {
        between(self.start, self.end, from, to)
    }

    /// The part of some idling that was not for the recorder.
    pub fn idling(&self, from: i64, to: i64) -> Option<(i64, i64)> {
        between(self.start, self.done, from, to)
    }

    /// How long it took.
    pub fn duration(&self) -> i64 {
        self.done.saturating_sub(self.start)
    }
}

/// What takes no time is there when it is inside.
fn between(start: i64, end: i64, from: i64, to: i64) -> Option<(i64, i64)> {
    let part = (from.max(start), to.min(end));
    (part.0 < part.1 || part.0 == part.1 && from == to).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_recording() {
        let recorded = Recorded::from_micros(1, 3, 4).unwrap();
        for (from, to, work, idling) in [
            (0, 500, None, None),
            (0, 1000, None, None),
            (1000, 1000, Some((1000, 1000)), Some((1000, 1000))),
            (0, 9000, Some((1000, 4000)), Some((1000, 3000))),
            (2500, 3500, Some((2500, 3500)), Some((2500, 3000))),
            (3100, 3500, Some((3100, 3500)), None),
            (5000, 5000, None, None),
        ] {
            assert_eq!(recorded.work(from, to), work, "{from} to {to}");
            assert_eq!(recorded.idling(from, to), idling, "{from} to {to}");
        }
        assert_eq!(Recorded::from_micros(3, 1, 4), None);
        assert_eq!(Recorded::from_micros(0, 1, i64::MAX), None);
    }
}
