//! From registers and a copy of the stack to the addresses of the callers.

use std::sync::Arc;

use framehop::aarch64::{CacheAarch64, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};
use hashbrown::HashSet;

use super::modules::key;
use super::process::ModuleId;
use super::sample::Registers;
use crate::native::{Binary, ByteOrder, Bytes};

/// Machines whose stacks can be walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    X86_64,
    Aarch64,
}

impl Machine {
    /// The machine of this name, as `uname -m` prints it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "x86_64" | "amd64" => Some(Self::X86_64),
            "aarch64" | "arm64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// The instruction pointer among the user's registers.
    pub fn instruction_pointer(self, registers: &Registers<'_>) -> Option<u64> {
        registers.get(match self {
            Self::X86_64 => 8,
            Self::Aarch64 => 32,
        })
    }
}

/// What is remembered from one stack to the next.
///
/// The library's cache has 509 places, few for a compiler or a browser. Addresses are spread over many of them.
#[derive(Default)]
struct UnwindCache {
    x86_64: Vec<CacheX86_64>,
    aarch64: Vec<CacheAarch64>,
}

const SHARDS: usize = 64;

/// One of the caches, always the same for an address.
fn shard<T: Default>(caches: &mut Vec<T>, address: u64) -> Option<&mut T> {
    if caches.is_empty() {
        caches.resize_with(SHARDS, T::default);
    }
    // Fibonacci hashing: neighbouring addresses go to different places.
    let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
    caches.get_mut(mixed as usize % SHARDS)
}

/// The unwind tables of all mapped files. Each file stands at the place that [`key`] gives it, not where a process
/// has it: what is found out about an address serves all processes.
pub struct UnwindTables {
    tables: Tables,
    cache: UnwindCache,
    added: HashSet<ModuleId>,
}

enum Tables {
    X86_64(UnwinderX86_64<Arc<[u8]>>),
    Aarch64(UnwinderAarch64<Arc<[u8]>>),
}

/// How a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// At the outermost function.
    Root,
    /// At the end of the copy, or where nothing says how to go on.
    Cut,
}

impl UnwindTables {
    /// Nothing mapped yet.
    pub fn new(machine: Machine) -> Self {
        let tables = match machine {
            Machine::X86_64 => Tables::X86_64(UnwinderX86_64::new()),
            Machine::Aarch64 => Tables::Aarch64(UnwinderAarch64::new()),
        };
        Self { tables, cache: UnwindCache::default(), added: HashSet::new() }
    }

    /// Adds a file that has not been added yet.
    pub fn add(&mut self, id: ModuleId, binary: impl FnOnce() -> Option<Arc<Binary>>) {
        if !self.added.insert(id) {
            return;
        }
        let (Some(start), Some(binary)) = (key(id, 0), binary()) else { return };
        let sections = binary.unwind_sections();
        let range =
            |(start, bytes): &(u64, Arc<[u8]>)| *start..start.saturating_add(bytes.len() as u64);
        let info = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: sections.text.map(|(start, end)| start..end),
            got_svma: sections.got.map(|(start, end)| start..end),
            eh_frame_svma: sections.eh_frame.as_ref().map(range),
            eh_frame: sections.eh_frame.as_ref().map(|(_, bytes)| bytes.clone()),
            eh_frame_hdr_svma: sections.eh_frame_hdr.as_ref().map(range),
            eh_frame_hdr: sections.eh_frame_hdr.as_ref().map(|(_, bytes)| bytes.clone()),
            debug_frame: sections.debug_frame.clone(),
            ..ExplicitModuleSectionInfo::default()
        };
        let end = start.saturating_add(1 << 40);
        let module = Module::new(String::new(), start..end, start, info);
        match &mut self.tables {
            Tables::X86_64(unwinder) => unwinder.add_module(module),
            Tables::Aarch64(unwinder) => unwinder.add_module(module),
        }
    }
}

/// One walk from the innermost frame outwards.
pub struct Walk<'a> {
    registers: State,
    stack: &'a [u8],
    sp: u64,
    order: ByteOrder,
}

enum State {
    X86_64(UnwindRegsX86_64),
    Aarch64(UnwindRegsAarch64),
}

impl<'a> Walk<'a> {
    /// Starts at the registers; none when those that matter were not recorded. No code is at or above `end_of_code`.
    pub fn start(
        machine: Machine,
        registers: &Registers<'_>,
        stack: &'a [u8],
        order: ByteOrder,
        end_of_code: u64,
    ) -> Option<Self> {
        let value = |number| registers.get(number);
        let (sp, registers) = match machine {
            Machine::X86_64 => {
                let (fp, sp, ip) = (value(6)?, value(7)?, value(8)?);
                (sp, State::X86_64(UnwindRegsX86_64::new(ip, sp, fp)))
            }
            Machine::Aarch64 => {
                let (fp, lr, sp) = (value(29)?, value(30)?, value(31)?);
                // Return addresses may be signed in the bits that addresses do not use.
                let mask = PtrAuthMask::from_max_known_address(end_of_code);
                (sp, State::Aarch64(UnwindRegsAarch64::new_with_ptr_auth_mask(mask, lr, sp, fp)))
            }
        };
        Some(Self { registers, stack, sp, order })
    }

    /// The return address of the frame at `place`, a key or an address that no file has; none at the outermost frame,
    /// an error where the walk cannot go on.
    pub fn step(
        &mut self,
        tables: &mut UnwindTables,
        place: u64,
        is_return: bool,
    ) -> Result<Option<u64>, Ending> {
        let frame = if is_return {
            FrameAddress::from_return_address(place).ok_or(Ending::Root)?
        } else {
            FrameAddress::from_instruction_pointer(place)
        };
        let (stack, sp, order) = (self.stack, self.sp, self.order);
        let mut read = |address| read_stack(stack, sp, order, address);
        let UnwindTables { tables, cache, .. } = tables;
        let caller = match (tables, &mut self.registers) {
            (Tables::X86_64(unwinder), State::X86_64(registers)) => {
                let cache = shard(&mut cache.x86_64, place).ok_or(Ending::Cut)?;
                unwinder.unwind_frame(frame, registers, cache, &mut read)
            }
            (Tables::Aarch64(unwinder), State::Aarch64(registers)) => {
                let cache = shard(&mut cache.aarch64, place).ok_or(Ending::Cut)?;
                unwinder.unwind_frame(frame, registers, cache, &mut read)
            }
            _ => return Err(Ending::Cut),
        };
        // Threads begin with a return address of zero.
        caller.map(|caller| caller.filter(|address| *address != 0)).map_err(|_| Ending::Cut)
    }
}

fn read_stack(stack: &[u8], sp: u64, order: ByteOrder, address: u64) -> Result<u64, ()> {
    let at = address.checked_sub(sp).and_then(|at| usize::try_from(at).ok()).ok_or(())?;
    Bytes::new(stack.get(at..).ok_or(())?, order).u64().ok_or(())
}
