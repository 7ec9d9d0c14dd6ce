//! The stack of one sample: the kernel's part as recorded, the user's part as recorded, walked, or from the
//! processor's own record of calls.

use super::attr::{Attr, part};
use super::frames::Address;
use super::modules::key;
use super::process::Process;
use super::sample::Sample;
use super::session::{Core, MISC_MODE, MODE_KERNEL};
use super::unwind::{Ending, Machine, UnwindTables, Walk};
use crate::native::Bytes;

const BRANCH_CALL_STACK: u64 = 1 << 11;
const CLOCK_MONOTONIC: i32 = 1;

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

impl Core {
    /// Puts the frames of a sample into `self.stack`, innermost first.
    pub(super) fn collect_stack(&mut self, sample: &Sample<'_>, misc: u16, attr: &Attr) -> Ending {
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
        let mut ending = Ending::Root;
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
        if entries >= max_stack || innermost_of_user.is_some_and(|kept| self.drop_strays(kept)) {
            ending = Ending::Cut;
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
                let unknown = self.frames.unknown(&mut self.builder);
                self.stack.extend_from_slice(self.frames.frames(unknown));
            }
        }
        ending
    }

    /// Following frame pointers through code that does not keep them ends at an address where no code is: the callers
    /// are missing. The first `kept` frames are sure. Returns true when something was dropped.
    fn drop_strays(&mut self, kept: usize) -> bool {
        let unknown = self.frames.unknown(&mut self.builder);
        let unknown = self.frames.frames(unknown).first().copied();
        let whole = self.stack.len();
        while self.stack.len() > kept && self.stack.last().copied() == unknown {
            self.stack.pop();
        }
        self.stack.len() < whole
    }

    fn push_frames(&mut self, space: Space, pid: u32, address: Address, time: u64) {
        let Self { frames, builder, kernel, processes, stack, .. } = self;
        let range = match space {
            Space::Kernel => frames.find_in_kernel(builder, kernel, address),
            Space::User => {
                let process = processes.entry(pid).or_insert_with(|| Process::new(pid));
                frames.find(builder, process, address, time)
            }
            Space::Foreign => frames.unknown(builder),
        };
        stack.extend_from_slice(frames.frames(range));
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
    fn walk(&mut self, sample: &Sample<'_>, attr: &Attr, time: u64) -> Ending {
        let Some(registers) = &sample.registers else { return Ending::Root };
        let machine = self.machine.or_else(|| {
            // A stream may not say; the registers do.
            let arm = attr.regs_user >> 32 & 1 == 1;
            Some(if arm { Machine::Aarch64 } else { Machine::X86_64 })
        });
        let Some(machine) = machine.filter(|_| registers.abi == 2) else {
            self.builder.warn("unsupported-unwind", || {
                "stacks of 32-bit processes and of machines other than x86_64 and aarch64 cannot be \
                 walked; their samples have the innermost frame only"
                    .to_owned()
            });
            if let Some(ip) = sample.ip.filter(|_| self.stack.is_empty()) {
                self.push_frames(Space::User, sample.pid, Address::executing(ip), time);
            }
            return Ending::Cut;
        };
        let Some(ip) = machine.instruction_pointer(registers) else { return Ending::Cut };
        let Self { frames, builder, processes, tables, stack, order, .. } = self;
        let process = processes.entry(sample.pid).or_insert_with(|| Process::new(sample.pid));
        let tables = tables.get_or_insert_with(|| UnwindTables::new(machine));
        let end = process.end_of_code();
        let mut walk = Walk::start(machine, registers, sample.stack, *order, end);
        let mut address = Address::executing(ip);
        for depth in 0..DEEPEST {
            let place = frames.modules.place(builder, process, address);
            // Without unwind tables the walk goes by frame pointers, which may be anything.
            if depth > 0 && place.is_none() {
                return Ending::Cut;
            }
            let found = frames.find_place(builder, process, place, address, time);
            stack.extend_from_slice(frames.frames(found));
            let at = place.and_then(|place| key(place.module, place.address.exact));
            if let Some(place) = place {
                tables.add(place.module, || frames.modules.binary(builder, place.module));
            }
            let Some(walk) = &mut walk else { return Ending::Cut };
            match walk.step(tables, at.unwrap_or(address.exact), depth > 0) {
                Ok(Some(caller)) => address = Address::returning(caller),
                Ok(None) => return Ending::Root,
                Err(ending) => return ending,
            }
        }
        Ending::Cut
    }
}
