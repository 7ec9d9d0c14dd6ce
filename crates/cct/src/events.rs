//! Events of the operating system, each with the stack of the thread it happened in: what a kernel tracer sees of a
//! program. Readers hand them out one by one, in the order of time, as a trace is larger than memory; whoever infers
//! something from them is an [`EventSink`].

use crate::{FrameId, ProfileBuilder, StringId, Symbols, ThreadId};

/// One event of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackEvent {
    /// Nanoseconds on the trace's clock.
    pub time: i64,
    /// The thread that it is about.
    pub thread: ThreadId,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A system call of this name begins.
    Enter(StringId),
    /// A system call ends; its name where the trace says so.
    Exit(Option<StringId>),
    /// The thread leaves its processor.
    SwitchOut(Leaving),
    /// The thread is on a processor again.
    SwitchIn,
    /// The thread may run again; by which thread, where that is known.
    Wakeup(Option<ThreadId>),
    /// Since the last such event, the thread could have run for so many nanoseconds and had no processor. The stack at
    /// it says nothing.
    Queued(i64),
    /// The thread touched memory that is not there.
    PageFault,
    /// A clock looked where the thread is.
    Tick,
    /// Something else that says where the thread is.
    Other,
}

/// Why a thread leaves its processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaving {
    /// It could go on; somebody else's turn.
    Preempted,
    /// It waits for something.
    Blocked,
    /// It is at its end.
    Exited,
    /// The event does not say; where its stack is in the kernel, that does.
    Unsaid,
}

/// Takes the events of a trace.
pub trait EventSink {
    /// The next event and the stack at it, outermost frame first with the exact addresses where they are known; empty
    /// where the event has none. Frames are those of `builder`, whose tree is the sink's to fill; `code` is that of the
    /// programs they are in.
    fn event(
        &mut self,
        builder: &mut ProfileBuilder,
        event: StackEvent,
        stack: &[FrameId],
        code: &mut dyn Code,
    );

    /// Events are missing here.
    fn lost(&mut self, builder: &mut ProfileBuilder, events: u64);

    /// That was all.
    fn finish(&mut self, builder: &mut ProfileBuilder);
}

/// What code has to do to come somewhere, as far as that can be guessed from the code alone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Work {
    /// Instructions, about, by how many loops they are in, each of which is taken to go round [`Work::ROUNDS`] times.
    pub amounts: [f64; Work::DEPTHS],
    /// How likely it is to come there.
    pub odds: f64,
}

impl Work {
    /// So deep loops are told apart; the last are all that are deeper.
    pub const DEPTHS: usize = 4;
    /// How often a loop goes round that nothing is known of.
    pub const ROUNDS: f64 = 8.0;

    /// Instructions, if loops go round so many times as often.
    pub fn amount(amounts: &[f64; Self::DEPTHS], times: f64) -> f64 {
        amounts.iter().rev().fold(0.0, |sum, amount| sum * times + amount)
    }
}

/// What the machine code of traced programs tells of their stacks. Frames are at the places where they call the next
/// one, the innermost where it is. Answers never change, and are true where nothing is known.
pub trait Code {
    /// False where nothing is known, and nobody need ask.
    fn is_at_hand(&self) -> bool;

    /// Whether one call can have been at `from` first and then, without having returned, at `to`; where both are the
    /// same place, whether it can have come there again. A function that jumps to another one is still the same call.
    fn can_follow(&mut self, symbols: &Symbols, from: FrameId, to: FrameId) -> bool;

    /// How much a call does from one place of it, or from its start, to another one, or to its end; one of the places is
    /// given. What is called at `to` is the call that is meant by these odds, else things go on. None where nothing is
    /// known, or no way leads there.
    fn work(
        &mut self,
        symbols: &Symbols,
        from: Option<FrameId>,
        to: Option<FrameId>,
        odds: f64,
    ) -> Option<Work>;

    /// Whether what is called at `caller` can be `callee` itself, without another frame between them.
    fn can_call(&mut self, symbols: &Symbols, caller: FrameId, callee: FrameId) -> bool;
}

/// No code is at hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnknownCode;

impl Code for UnknownCode {
    fn is_at_hand(&self) -> bool {
        false
    }

    fn can_follow(&mut self, _: &Symbols, _: FrameId, _: FrameId) -> bool {
        true
    }

    fn work(
        &mut self,
        _: &Symbols,
        _: Option<FrameId>,
        _: Option<FrameId>,
        _: f64,
    ) -> Option<Work> {
        None
    }

    fn can_call(&mut self, _: &Symbols, _: FrameId, _: FrameId) -> bool {
        true
    }
}
