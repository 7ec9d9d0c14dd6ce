//! How much of a program a trace saw: what fell between events, came late, or is missing.

use perfblame_cct::ProfileBuilder;

/// Counts of events, and the time they are about.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    /// The times of the first and the last event.
    pub(super) span: Option<(i64, i64)>,
    pub(super) events: u64,
    /// Events with a stack, and the time that threads ran between them.
    pub(super) looks: u64,
    pub(super) ran: i64,
    pub(super) late: u64,
    pub(super) broken: u64,
    pub(super) lost: u64,
    pub(super) unobserved: i64,
}

impl Coverage {
    /// Counts an event.
    pub(super) fn event(&mut self, time: i64) {
        self.events += 1;
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
    }

    /// The time of the last event.
    pub(super) fn end(&self) -> i64 {
        self.span.map_or(0, |(_, last)| last)
    }

    /// Running time is known as finely as threads are looked at: what falls between two looks is a guess.
    pub(super) fn between_looks(&self) -> i64 {
        let looks = i64::try_from(self.looks).unwrap_or(i64::MAX);
        self.ran.checked_div(looks).unwrap_or(0)
    }

    /// Says what is missing.
    pub(super) fn warn(&self, builder: &mut ProfileBuilder) {
        if self.late > 0 {
            builder.warn_many("late-events", self.late, || {
                "events arrived after later events of their thread and were left out".to_owned()
            });
        }
        if self.broken > 0 {
            builder.warn_many("broken-stacks", self.broken, || {
                "stacks are incomplete; perfblame assumes that their threads were in the same calls as before"
                    .to_owned()
            });
        }
        if self.lost > 0 {
            let share = self.unobserved as f64 / 1e6;
            builder.warn_many("lost-events", self.lost, || {
                format!(
                    "events were lost; calls end where events are missing, and {share:.1} ms of thread time are not assigned"
                )
            });
        }
    }
}
