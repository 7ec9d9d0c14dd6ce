//! What the thread that walks stacks tells the thread that names their frames, in the order it comes up.
//!
//! Walking and naming take about the same time and need little of each other: every place in a binary is told once and
//! gets a number, a stack is a list of such numbers. The naming thread knows nothing of records and mappings, the
//! walking thread nothing of symbols.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use perfblame_cct::{Leaving, Metric};
use perfblame_native::{Binary, JitDump, JitFunction};

use super::frames::Address;
use super::modules::{FilePlace, MappedKind};
use super::objects::Object;
use super::process::ModuleId;

/// Stacks of about this many frames together are handed over at once.
const ENOUGH: usize = 8 << 10;

/// Batches under way: a few megabytes, so that the threads seldom wait for each other where processors are busy.
pub const BATCHES: usize = 128;

/// Something that has frames; the naming thread keeps them under this number, counted in the order of telling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot(pub u32);

/// One thing to know.
pub enum Told {
    /// A mapped file that is looked into for the first time.
    Module(ModuleId, ModuleTold),
    /// A metric of the next event; none for events that exist for their other records.
    Metric(Option<Metric>),
    /// The next thread.
    Thread(ThreadTold),
    /// A process runs another program: what it made at run time is gone.
    NewProgram(u32),
    /// A log of code made at run time.
    JitDump(u32, JitDump),
    /// The kernel, before the first address in it and when more is known of it.
    Kernel(KernelTold),
    /// A program loaded into the kernel.
    KernelProgram(JitFunction),
    /// The next slot.
    Slot(Asked),
    Sample(SampleTold),
    /// Whether this is a trace of the operating system, before the first sample.
    IsTrace(bool),
    /// The name of the next system call.
    CallName(String),
    /// A thread left its processor or is back on it; its stack was not taken.
    Switch {
        thread: u32,
        time: u64,
        left: Option<Leaving>,
    },
    /// Events are missing here.
    Lost(u64),
    Warning {
        code: &'static str,
        count: u64,
        message: Cow<'static, str>,
    },
}

/// A mapped file.
pub struct ModuleTold {
    pub path: String,
    pub kind: MappedKind,
    pub binary: Sought,
    /// In hexadecimal.
    pub build_id: Option<String>,
    /// What was known of it where it was recorded.
    pub object: Option<Object>,
}

/// A binary that was looked for on first use.
#[derive(Clone, Default)]
pub enum Sought {
    #[default]
    NotYet,
    /// Not to be had, and nobody expects it.
    Nowhere,
    /// Not on this machine.
    Missing,
    /// There is one of this name, which is not, or may not be, what was recorded.
    Changed,
    Found(Arc<Binary>),
}

impl Sought {
    pub fn found(&self) -> Option<&Arc<Binary>> {
        if let Self::Found(binary) = self { Some(binary) } else { None }
    }
}

/// A thread under the name it has from now on.
pub struct ThreadTold {
    pub name: String,
    pub process: Option<String>,
    pub pid: u32,
    pub tid: u32,
}

/// What tells which kernel was recorded.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct KernelTold {
    /// Where its image started.
    pub text: Option<u64>,
    pub build_id: Option<Vec<u8>>,
    pub release: Option<String>,
}

/// An address whose frames are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    /// What no mapping holds, in the kernel, a virtual machine or elsewhere.
    Unknown,
    /// In a binary that is here.
    InBinary(FilePlace),
    /// In a file that is not here, in memory without a file or where nothing is mapped: perhaps code made at run time.
    Elsewhere { pid: u32, place: Option<FilePlace>, address: Address, time: u64 },
    /// In the kernel, in a mapping that starts at `start`.
    InKernel { module: ModuleId, start: u64, address: Address },
}

/// A sample; its stack and its values are the next ones of the batch.
#[derive(Clone, Copy, Debug)]
pub struct SampleTold {
    pub thread: u32,
    pub time: Option<u64>,
    /// Where the outermost frames are missing.
    pub cut: bool,
    /// Slots of the stack, innermost first.
    pub slots: u32,
    /// Values it brings: the event's number and how much.
    pub values: u32,
    /// Frames up to this slot are sure; unknown ones at the end beyond it are where the kernel lost its way.
    pub sure: Option<u32>,
    pub traced: TracedTold,
}

/// What an event of the operating system says; system calls by the number of their name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TracedTold {
    Enter(u32),
    Exit(u32),
    Switch(Leaving, u32),
    Wakeup(u32),
    PageFault,
    Tick,
    #[default]
    Other,
}

/// What is handed over at once.
#[derive(Default)]
pub struct Batch {
    pub told: Vec<Told>,
    pub slots: Vec<Slot>,
    pub values: Vec<(u32, u64)>,
}

/// The walking thread's end.
pub struct Outbox {
    batch: Batch,
    send: SyncSender<Batch>,
    slots: u32,
    urgent: bool,
}

impl Outbox {
    /// Nothing told yet.
    pub fn new(send: SyncSender<Batch>) -> Self {
        Self { batch: Batch::default(), send, slots: 0, urgent: false }
    }

    /// Tells something.
    pub fn tell(&mut self, told: Told) {
        // Loading the names of a binary takes long: better start soon.
        self.urgent |= matches!(told, Told::Module(..) | Told::Kernel(_));
        self.batch.told.push(told);
    }

    /// Asks for the frames of an address.
    pub fn ask(&mut self, asked: Asked) -> Slot {
        let slot = Slot(self.slots);
        self.slots = self.slots.saturating_add(1);
        self.batch.told.push(Told::Slot(asked));
        slot
    }

    /// Tells a sample with its stack and values.
    pub fn sample(&mut self, sample: SampleTold, stack: &[Slot], values: &[(u32, u64)]) {
        self.batch.slots.extend_from_slice(stack);
        self.batch.values.extend_from_slice(values);
        let (slots, values) = (stack.len() as u32, values.len() as u32);
        self.batch.told.push(Told::Sample(SampleTold { slots, values, ..sample }));
        if self.urgent || self.batch.slots.len() >= ENOUGH {
            self.flush();
        }
    }

    /// Warns once.
    pub fn warn(&mut self, code: &'static str, message: impl Into<Cow<'static, str>>) {
        self.warn_many(code, 1, message);
    }

    /// Warns of something that happened `count` times.
    pub fn warn_many(
        &mut self,
        code: &'static str,
        count: u64,
        message: impl Into<Cow<'static, str>>,
    ) {
        self.tell(Told::Warning { code, count, message: message.into() });
    }

    /// Hands over what is there.
    pub fn flush(&mut self) {
        self.urgent = false;
        // Nobody listens any more only where the naming thread has come to grief, which it will report itself.
        let next = Batch { slots: Vec::with_capacity(2 * ENOUGH), ..Batch::default() };
        let _ = self.send.send(std::mem::replace(&mut self.batch, next));
    }
}
