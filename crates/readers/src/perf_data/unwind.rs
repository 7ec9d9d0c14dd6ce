//! From registers and a copy of the stack to the addresses of the callers.

use std::sync::Arc;

use framehop::aarch64::{CacheAarch64, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{Error, ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};

use super::sample::Registers;
use crate::native::{ByteOrder, Bytes, UnwindSections};

/// A stack of 64 KiB, the most a record holds, has fewer frames.
const DEEPEST: usize = 4096;

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

/// What is remembered from one stack to the next, whatever the process.
///
/// The library's cache has 509 places, few for a compiler or a browser. Addresses are spread over many of them.
#[derive(Default)]
pub struct UnwindCache {
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

/// The unwind tables of one process.
pub enum Unwinder {
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

impl Unwinder {
    /// Nothing mapped yet.
    pub fn new(machine: Machine) -> Self {
        match machine {
            Machine::X86_64 => Self::X86_64(UnwinderX86_64::new()),
            Machine::Aarch64 => Self::Aarch64(UnwinderAarch64::new()),
        }
    }

    /// Adds a binary that is mapped at `start..end`, with `bias` between its own addresses and those in memory.
    pub fn add(&mut self, start: u64, end: u64, bias: u64, sections: &UnwindSections) {
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
        let module = Module::new(String::new(), start..end, bias, info);
        match self {
            Self::X86_64(unwinder) => unwinder.add_module(module),
            Self::Aarch64(unwinder) => unwinder.add_module(module),
        }
    }

    /// Walks a stack. Puts the address of each frame into `out`, innermost first; all but the first are return
    /// addresses. `is_code` says whether an address can be one.
    pub fn walk(
        &self,
        cache: &mut UnwindCache,
        registers: &Registers<'_>,
        stack: &[u8],
        order: ByteOrder,
        is_code: impl Fn(u64) -> bool,
        out: &mut Vec<u64>,
    ) -> Ending {
        match self {
            Self::X86_64(unwinder) => {
                let value = |number| registers.get(number);
                let (Some(fp), Some(sp), Some(ip)) = (value(6), value(7), value(8)) else {
                    return Ending::Cut;
                };
                let mut registers = UnwindRegsX86_64::new(ip, sp, fp);
                let mut read = |address| read_stack(stack, sp, order, address);
                let step = |frame: FrameAddress| {
                    let cache = shard(&mut cache.x86_64, frame.address()).ok_or(None)?;
                    unwinder.unwind_frame(frame, &mut registers, cache, &mut read).map_err(Some)
                };
                collect(ip, step, is_code, out)
            }
            Self::Aarch64(unwinder) => {
                let value = |number| registers.get(number);
                let (Some(sp), Some(ip)) = (value(31), value(32)) else { return Ending::Cut };
                let (fp, lr) = (value(29).unwrap_or(0), value(30).unwrap_or(0));
                let mask = PtrAuthMask::from_max_known_address(unwinder.max_known_code_address());
                let mut registers = UnwindRegsAarch64::new_with_ptr_auth_mask(mask, lr, sp, fp);
                let mut read = |address| read_stack(stack, sp, order, address);
                let step = |frame: FrameAddress| {
                    let cache = shard(&mut cache.aarch64, frame.address()).ok_or(None)?;
                    unwinder.unwind_frame(frame, &mut registers, cache, &mut read).map_err(Some)
                };
                collect(ip, step, is_code, out)
            }
        }
    }
}

fn read_stack(stack: &[u8], sp: u64, order: ByteOrder, address: u64) -> Result<u64, ()> {
    let at = address.checked_sub(sp).and_then(|at| usize::try_from(at).ok()).ok_or(())?;
    Bytes::new(stack.get(at..).ok_or(())?, order).u64().ok_or(())
}

fn collect(
    ip: u64,
    mut step: impl FnMut(FrameAddress) -> Result<Option<u64>, Option<Error>>,
    is_code: impl Fn(u64) -> bool,
    out: &mut Vec<u64>,
) -> Ending {
    out.push(ip);
    let mut frame = FrameAddress::from_instruction_pointer(ip);
    for _ in 0..DEEPEST {
        let Ok(caller) = step(frame) else { return Ending::Cut };
        // No caller, or none that makes sense: threads begin with a return address of zero.
        let Some(caller) = caller.and_then(FrameAddress::from_return_address) else {
            return Ending::Root;
        };
        // Without unwind tables the walk goes by frame pointers, which may be anything.
        if !is_code(caller.address()) {
            return Ending::Cut;
        }
        out.push(caller.address());
        frame = caller;
    }
    Ending::Cut
}
