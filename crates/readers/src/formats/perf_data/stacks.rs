//! The stack of one sample: the kernel's part as recorded, the user's part as recorded, walked, or from the
//! processor's own record of calls.

use hashbrown::HashMap;
use perfblame_native::{Bytes, StackEnding, StackWalk, UnwindMachine, UnwindTables};

use super::attr::{Attr, part};
use super::frames::Address;
use super::modules::{FilePlace, Modules, key};
use super::process::{Mapping, Process};
use super::sample::Sample;
use super::session::{Core, MISC_MODE, MODE_KERNEL};
use super::told::{Asked, KernelTold, Outbox, Slot, Told};

const BRANCH_CALL_STACK: u64 = 1 << 11;
const CLOCK_MONOTONIC: i32 = 1;

/// Width of the user's registers, `PERF_SAMPLE_REGS_ABI_*`.
const ABI_32: u64 = 1;
const ABI_64: u64 = 2;

/// The instruction pointer among the registers of a 32-bit program.
const ARM_PC: u32 = 15;

/// Marks between the addresses of a chain, `PERF_CONTEXT_*`.
mod context {
    pub const FIRST: u64 = -4095i64 as u64;
    pub const KERNEL: u64 = -128i64 as u64;
    pub const USER: u64 = -512i64 as u64;
    pub const USER_DEFERRED: u64 = -640i64 as u64;
    pub const HYPERVISOR: u64 = -32i64 as u64;
}

/// The longest chain the kernel records unless told otherwise.
const DEFAULT_MAX_STACK: u16 = 127;

/// A stack of 64 KiB, the most a record holds, has fewer frames.
const DEEPEST: usize = 4096;

/// Whose addresses are looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Space {
    Kernel,
    User,
    /// A virtual machine or its host: nothing here knows its mappings.
    Foreign,
}

/// How the stack of a sample ends.
pub struct Collected {
    pub ending: StackEnding,
    /// Slots of the stack that are sure, where the kernel has followed frame pointers.
    pub sure: Option<u32>,
}

impl Core {
    /// Puts the frames of a sample into `self.stack`, innermost first.
    pub(super) fn collect_stack(
        &mut self,
        sample: &Sample<'_>,
        misc: u16,
        attr: &Attr,
    ) -> Collected {
        self.stack.clear();
        let time = match attr.clock {
            Some(CLOCK_MONOTONIC) => sample.time.unwrap_or(u64::MAX),
            _ => u64::MAX,
        };
        let mode = match misc & MISC_MODE {
            MODE_KERNEL => Space::Kernel,
            2 => Space::User,
            _ => Space::Foreign,
        };
        let walks = sample.registers.is_some() && attr.has(part::STACK_USER);
        let by_branches = attr.branch_type & BRANCH_CALL_STACK != 0 && !sample.branches.is_empty();
        let mut ending = StackEnding::Root;
        let mut chain = Bytes::new(sample.chain.unwrap_or_default(), self.order);
        let max_stack = if attr.max_stack == 0 { DEFAULT_MAX_STACK } else { attr.max_stack };
        let (mut space, mut first, mut entries) = (mode, true, 0);
        let mut innermost_of_user = None;
        while let Some(address) = chain.u64() {
            if address >= context::FIRST {
                space = match address {
                    context::KERNEL => Space::Kernel,
                    context::USER => Space::User,
                    context::USER_DEFERRED => {
                        // A number stands for the chain that follows in another record.
                        chain.u64();
                        Space::User
                    }
                    context::HYPERVISOR => Space::Foreign,
                    _ => Space::Foreign,
                };
                first = true;
                continue;
            }
            entries += 1;
            if space == Space::User && (walks || by_branches) {
                continue;
            }
            let address =
                if first { Address::executing(address) } else { Address::returning(address) };
            first = false;
            self.push_frames(space, sample.pid, address, time);
            if space == Space::User {
                innermost_of_user.get_or_insert(self.stack.len());
            }
        }
        if entries >= max_stack {
            ending = StackEnding::Cut;
        }
        if by_branches {
            self.push_branches(sample, time);
        } else if walks {
            ending = self.walk(sample, attr, time);
        }
        if self.stack.is_empty() {
            if let Some(ip) = sample.ip {
                self.push_frames(mode, sample.pid, Address::executing(ip), time);
            } else {
                let unknown = self.unknown();
                self.stack.push(unknown);
            }
        }
        Collected { ending, sure: innermost_of_user.map(|sure| sure as u32) }
    }

    fn push_frames(&mut self, space: Space, pid: u32, address: Address, time: u64) {
        let slot = match space {
            Space::Kernel => self.in_kernel(address),
            Space::User => {
                let Self { outbox, modules, seen, processes, .. } = self;
                let process = processes.entry(pid).or_insert_with(|| Process::new(pid));
                let place = modules.place(outbox, process, address);
                seen.of_place(outbox, modules, process, place, address, time)
            }
            Space::Foreign => self.unknown(),
        };
        self.stack.push(slot);
    }

    fn unknown(&mut self) -> Slot {
        *self.seen.unknown.get_or_insert_with(|| self.outbox.ask(Asked::Unknown))
    }

    fn in_kernel(&mut self, address: Address) -> Slot {
        let Self { outbox, modules, kernel, kernel_text, kernel_told, .. } = self;
        if let Some(known) = kernel.seen.get(&address.lookup) {
            return *known;
        }
        let mapping = kernel.find(address.lookup).unwrap_or_else(|| {
            let module = modules.module(b"[kernel.kallsyms]", None, true);
            let start = kernel_text.unwrap_or(0);
            Mapping::new(start, u64::MAX, start, module)
        });
        if kernel_told.as_ref().is_none_or(|told| told.text != *kernel_text) {
            let told = KernelTold {
                text: *kernel_text,
                build_id: modules.kernel_build_id().map(<[u8]>::to_vec),
                release: modules.release().map(str::to_owned),
            };
            *kernel_told = Some(told.clone());
            outbox.tell(Told::Kernel(told));
        }
        modules.binary(outbox, mapping.module);
        let (module, start) = (mapping.module, mapping.start);
        let slot = outbox.ask(Asked::InKernel { module, start, address });
        kernel.seen.insert(address.lookup, slot);
        slot
    }

    /// The processor's own record of calls: where the last one went, and where each came from.
    fn push_branches(&mut self, sample: &Sample<'_>, time: u64) {
        for (row, entry) in sample.branches.chunks_exact(24).enumerate() {
            let mut fields = Bytes::new(entry, self.order);
            let (Some(from), Some(to)) = (fields.u64(), fields.u64()) else { return };
            if row == 0 {
                self.push_frames(Space::User, sample.pid, Address::executing(to), time);
            }
            self.push_frames(Space::User, sample.pid, Address::executing(from), time);
        }
    }

    /// The user's part of the stack, from registers and a copy of the stack.
    fn walk(&mut self, sample: &Sample<'_>, attr: &Attr, time: u64) -> StackEnding {
        let Some(registers) = &sample.registers else { return StackEnding::Root };
        let machine = self.machine.or_else(|| {
            // A stream may not say; the registers do.
            let arm = attr.regs_user >> 32 & 1 == 1;
            Some(if arm { UnwindMachine::Aarch64 } else { UnwindMachine::X86_64 })
        });
        let Some(machine) = machine.filter(|_| registers.abi == ABI_64) else {
            let (code, message) = if registers.abi == ABI_32 {
                (
                    "unwalked-32-bit",
                    "stacks of 32-bit processes cannot be unwound; their samples have only the innermost user frame, below (truncated); record these processes with frame pointers (`perf record --call-graph fp`)",
                )
            } else {
                (
                    "unwalked-machine",
                    "stacks can be unwound only for x86_64 and aarch64; samples have only the innermost user frame, below (truncated)",
                )
            };
            self.outbox.warn(code, message);
            // 32-bit programs have the instruction pointer where 64-bit ones have it, except on ARM.
            let in_registers = machine.and_then(|machine| match (machine, registers.abi) {
                (UnwindMachine::Aarch64, ABI_32) => registers.get(ARM_PC),
                _ => machine.instruction_pointer(|number| registers.get(number)),
            });
            if let Some(ip) = in_registers.or(sample.ip.filter(|_| self.stack.is_empty())) {
                self.push_frames(Space::User, sample.pid, Address::executing(ip), time);
            }
            return StackEnding::Cut;
        };
        let Some(ip) = machine.instruction_pointer(|number| registers.get(number)) else {
            return StackEnding::Cut;
        };
        let Self { modules, seen, outbox, processes, tables, stack, order, recent, .. } = self;
        let process = processes.entry(sample.pid).or_insert_with(|| Process::new(sample.pid));
        let tables = tables.get_or_insert_with(|| UnwindTables::new(machine));
        let end = process.end_of_code();
        let mut walk =
            StackWalk::start(machine, |number| registers.get(number), sample.stack, *order, end);
        let mut address = Address::executing(ip);
        for depth in 0..DEEPEST {
            let at = if let Some((slot, at)) = recent.get(process.pid, address) {
                stack.push(slot);
                at
            } else {
                let place = modules.place(outbox, process, address);
                // Without unwind tables the walk goes by frame pointers, which may be anything.
                if depth > 0 && place.is_none() {
                    return StackEnding::Cut;
                }
                let slot = seen.of_place(outbox, modules, process, place, address, time);
                stack.push(slot);
                let at = place.and_then(|place| key(place.module, place.address.exact));
                if let Some(place) = place {
                    let binary = modules.binary(outbox, place.module).cloned();
                    if let (Some(at), Some(_)) = (at, &binary) {
                        recent.remember(process.pid, address, slot, at);
                    }
                    if let Some(start) = key(place.module, 0) {
                        tables.add(start, || binary);
                    }
                }
                at.unwrap_or(address.exact)
            };
            let Some(walk) = &mut walk else { return StackEnding::Cut };
            match walk.step(tables, at, depth > 0) {
                Ok(Some(caller)) => address = Address::returning(caller),
                Ok(None) => return StackEnding::Root,
                Err(ending) => return ending,
            }
        }
        StackEnding::Cut
    }
}

/// The addresses in binaries that walks came across last: most of a stack is what it was in the sample before, and
/// finding the mapping, the place in its file and the slot of each frame again would take as long as the walk itself.
#[derive(Default)]
pub struct Recent {
    entries: Vec<RecentPlace>,
    /// What is remembered holds for one state of the mappings.
    generation: u32,
}

#[derive(Clone, Copy, Default)]
struct RecentPlace {
    address: u64,
    /// The number of the address in its file.
    at: u64,
    slot: u32,
    pid: u32,
    generation: u32,
}

impl Recent {
    const BITS: u32 = 12;

    /// Mappings have changed.
    pub fn forget(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.entries.clear();
        }
    }

    fn row(address: Address) -> usize {
        // Fibonacci hashing: neighbouring addresses go to different places.
        (address.exact.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::BITS)) as usize
    }

    fn get(&self, pid: u32, address: Address) -> Option<(Slot, u64)> {
        let entry = self.entries.get(Self::row(address))?;
        let same = entry.address == tagged(address)
            && entry.pid == pid
            && entry.generation == self.generation;
        same.then_some((Slot(entry.slot), entry.at))
    }

    fn remember(&mut self, pid: u32, address: Address, slot: Slot, at: u64) {
        if self.entries.is_empty() {
            self.entries.resize(1 << Self::BITS, RecentPlace::default());
            self.generation = self.generation.max(1);
        }
        let generation = self.generation;
        if let Some(entry) = self.entries.get_mut(Self::row(address)) {
            *entry = RecentPlace { address: tagged(address), at, slot: slot.0, pid, generation };
        }
    }
}

/// An address, told apart by whether it is executed or returned to; no program has code in the upper half.
fn tagged(address: Address) -> u64 {
    address.exact | u64::from(address.exact != address.lookup) << 63
}

/// Places that have been told.
#[derive(Default)]
pub struct Seen {
    /// By the keys of places in binaries.
    places: HashMap<u64, Slot>,
    unknown: Option<Slot>,
}

impl Seen {
    /// The slot of an address of a process, whose place in a file is known already.
    fn of_place(
        &mut self,
        outbox: &mut Outbox,
        modules: &mut Modules,
        process: &mut Process,
        place: Option<FilePlace>,
        address: Address,
        time: u64,
    ) -> Slot {
        let key = place.and_then(FilePlace::key);
        if let Some(known) = key.and_then(|key| self.places.get(&key)) {
            return *known;
        }
        if let Some(known) = process.seen.get(&address.lookup) {
            return *known;
        }
        if let Some(place) = place
            && modules.binary(outbox, place.module).is_some()
        {
            let slot = outbox.ask(Asked::InBinary(place));
            if let Some(key) = key {
                self.places.insert(key, slot);
            }
            return slot;
        }
        let slot = outbox.ask(Asked::Elsewhere { pid: process.pid, place, address, time });
        // A log tells at which times an address meant what; without one it means one thing.
        if process.jit_dumps == 0 {
            process.seen.insert(address.lookup, slot);
        }
        slot
    }
}
