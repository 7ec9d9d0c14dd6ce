//! What goes along with a question that can take long: how far its answer is, and whether anybody still waits for it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use perfblame_readers::Tally;

/// How far an answer is, and whether it is still wanted. Clones are about the same answer, so that one thread asks and
/// another looks on or cancels.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    tally: Tally,
    phase: Arc<AtomicU8>,
}

/// What is being done for an answer, in the order in which it is done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Phase {
    /// Finding out what changed in the code.
    #[default]
    Code,
    /// Reading inputs.
    Reading,
    /// Cutting out the part that was asked for.
    Selecting,
    /// Finding out which function before is which after.
    Identifying,
    /// Finding out which context before is which after.
    Matching,
    /// Weighing the costs.
    Explaining,
    /// Holding code changes against suspects.
    Attributing,
}

/// How far an answer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// Bytes read so far.
    pub bytes: u64,
}

/// Somebody cancelled the question.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl Ask {
    /// Tells a function of every step, which says whether to go on. It is called from the threads that do the work.
    pub fn watched(watch: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        let phase = Arc::new(AtomicU8::default());
        let at = Arc::clone(&phase);
        let tally = Tally::watched(move |bytes| watch(Progress { phase: phase_of(&at), bytes }));
        Self { tally, phase }
    }

    /// How far the answer is.
    pub fn progress(&self) -> Progress {
        Progress { phase: phase_of(&self.phase), bytes: self.tally.bytes() }
    }

    /// Nobody wants the answer any more: the question fails as cancelled.
    pub fn cancel(&self) {
        self.tally.cancel();
    }

    /// True once the question was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.tally.is_cancelled()
    }

    /// Fails when the question was cancelled.
    pub fn go_on(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// The flag that cancels, for code that knows nothing but a flag: recorders, processes of others.
    pub fn cancel_flag(&self) -> &AtomicBool {
        self.tally.cancel_flag()
    }

    /// True while the answer is wanted. Whoever watches hears that it is still being worked on, and can end it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.tally.look();
        !self.is_cancelled()
    }

    /// Begins a phase, unless the question was cancelled.
    pub(crate) fn enter(&self, phase: Phase) -> Result<(), Cancelled> {
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.tally.look();
        self.go_on()
    }

    /// What counts the bytes that are read.
    pub(crate) fn tally(&self) -> Tally {
        self.tally.clone()
    }
}

fn phase_of(number: &AtomicU8) -> Phase {
    match number.load(Ordering::Relaxed) {
        0 => Phase::Code,
        1 => Phase::Reading,
        2 => Phase::Selecting,
        3 => Phase::Identifying,
        4 => Phase::Matching,
        5 => Phase::Explaining,
        _ => Phase::Attributing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_survive_the_way_through_a_number() {
        let ask = Ask::default();
        for phase in [
            Phase::Code,
            Phase::Reading,
            Phase::Selecting,
            Phase::Identifying,
            Phase::Matching,
            Phase::Explaining,
            Phase::Attributing,
        ] {
            ask.enter(phase).unwrap();
            assert_eq!(ask.progress().phase, phase);
        }
    }

    #[test]
    fn whoever_watches_can_end_it() {
        let ask = Ask::watched(|progress| match progress.phase {
            Phase::Matching => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert_eq!(ask.enter(Phase::Identifying), Ok(()));
        assert_eq!(ask.enter(Phase::Matching), Err(Cancelled));
        assert_eq!(ask.enter(Phase::Explaining), Err(Cancelled));
    }
}
