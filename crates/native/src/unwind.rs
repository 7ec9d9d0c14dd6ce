//! From registers and a copy of the stack to the addresses of the callers.

use std::sync::Arc;

use framehop::aarch64::{CacheAarch64, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};
use hashbrown::HashSet;

use crate::binary::Binary;
use crate::bytes::{ByteOrder, Bytes};

/// UnwindMachines whose stacks can be walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnwindMachine {
    X86_64,
    Aarch64,
}

impl UnwindMachine {
    /// The machine of this name, as `uname -m` prints it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "x86_64" | "amd64" => Some(Self::X86_64),
            "aarch64" | "arm64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// The instruction pointer, by the kernel's number of its register.
    pub fn instruction_pointer(self, register: impl Fn(u32) -> Option<u64>) -> Option<u64> {
        register(match self {
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

/// The addresses that one file has at most.
const FILE_SPAN: u64 = 1 << 40;

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

/// The unwind tables of all mapped files. Each file stands at a place of its own, not where a process has it: what is
/// found out about an address serves all processes.
pub struct UnwindTables {
    tables: MachineTables,
    cache: UnwindCache,
    added: HashSet<u64>,
}

enum MachineTables {
    X86_64(UnwinderX86_64<Arc<[u8]>>),
    Aarch64(UnwinderAarch64<Arc<[u8]>>),
}

/// How a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackEnding {
    /// At the outermost function.
    Root,
    /// At the end of the copy, or where nothing says how to go on.
    Cut,
}

impl UnwindTables {
    /// Nothing mapped yet.
    pub fn new(machine: UnwindMachine) -> Self {
        let tables = match machine {
            UnwindMachine::X86_64 => MachineTables::X86_64(UnwinderX86_64::new()),
            UnwindMachine::Aarch64 => MachineTables::Aarch64(UnwinderAarch64::new()),
        };
        Self { tables, cache: UnwindCache::default(), added: HashSet::new() }
    }

    /// Adds a file at its place, unless it is there. Places are 2^40 bytes apart at least.
    pub fn add(&mut self, start: u64, binary: impl FnOnce() -> Option<Arc<Binary>>) {
        if !self.added.insert(start) {
            return;
        }
        let Some(binary) = binary() else { return };
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
        let end = start.saturating_add(FILE_SPAN);
        let module = Module::new(String::new(), start..end, start, info);
        match &mut self.tables {
            MachineTables::X86_64(unwinder) => unwinder.add_module(module),
            MachineTables::Aarch64(unwinder) => unwinder.add_module(module),
        }
    }
}

/// One walk from the innermost frame outwards.
pub struct StackWalk<'a> {
    registers: StackRegisters,
    stack: &'a [u8],
    sp: u64,
    order: ByteOrder,
}

enum StackRegisters {
    X86_64(UnwindRegsX86_64),
    Aarch64(UnwindRegsAarch64),
}

impl<'a> StackWalk<'a> {
    /// Starts at the registers, by the kernel's numbers; none when those that matter were not recorded. No code is at or
    /// above `end_of_code`.
    pub fn start(
        machine: UnwindMachine,
        register: impl Fn(u32) -> Option<u64>,
        stack: &'a [u8],
        order: ByteOrder,
        end_of_code: u64,
    ) -> Option<Self> {
        let (sp, registers) = match machine {
            UnwindMachine::X86_64 => {
                let (fp, sp, ip) = (register(6)?, register(7)?, register(8)?);
                (sp, StackRegisters::X86_64(UnwindRegsX86_64::new(ip, sp, fp)))
            }
            UnwindMachine::Aarch64 => {
                let (fp, lr, sp) = (register(29)?, register(30)?, register(31)?);
                // Return addresses may be signed in the bits that addresses do not use.
                let mask = PtrAuthMask::from_max_known_address(end_of_code);
                (
                    sp,
                    StackRegisters::Aarch64(UnwindRegsAarch64::new_with_ptr_auth_mask(
                        mask, lr, sp, fp,
                    )),
                )
            }
        };
        Some(Self { registers, stack, sp, order })
    }

    /// The return address of the frame at `place`, in a file added before or an address that no file has; none at the outermost frame,
    /// an error where the walk cannot go on.
    pub fn step(
        &mut self,
        tables: &mut UnwindTables,
        place: u64,
        is_return: bool,
    ) -> Result<Option<u64>, StackEnding> {
        let frame = if is_return {
            FrameAddress::from_return_address(place).ok_or(StackEnding::Root)?
        } else {
            FrameAddress::from_instruction_pointer(place)
        };
        let (stack, sp, order) = (self.stack, self.sp, self.order);
        let mut read = |address| read_stack(stack, sp, order, address);
        let UnwindTables { tables, cache, .. } = tables;
        let caller = match (tables, &mut self.registers) {
            (MachineTables::X86_64(unwinder), StackRegisters::X86_64(registers)) => {
                let cache = shard(&mut cache.x86_64, place).ok_or(StackEnding::Cut)?;
                unwinder.unwind_frame(frame, registers, cache, &mut read)
            }
            (MachineTables::Aarch64(unwinder), StackRegisters::Aarch64(registers)) => {
                let cache = shard(&mut cache.aarch64, place).ok_or(StackEnding::Cut)?;
                unwinder.unwind_frame(frame, registers, cache, &mut read)
            }
            _ => return Err(StackEnding::Cut),
        };
        // Threads begin with a return address of zero.
        caller.map(|caller| caller.filter(|address| *address != 0)).map_err(|_| StackEnding::Cut)
    }
}

fn read_stack(stack: &[u8], sp: u64, order: ByteOrder, address: u64) -> Result<u64, ()> {
    let at = address.checked_sub(sp).and_then(|at| usize::try_from(at).ok()).ok_or(())?;
    Bytes::new(stack.get(at..).ok_or(())?, order).u64().ok_or(())
}
