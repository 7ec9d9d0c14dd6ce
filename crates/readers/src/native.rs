//! Native code: what readers of different formats know alike about binaries, their symbols and whose code they are.

mod binary;
mod bytes;
mod component;
mod demangle;
mod dwarf;
mod elf;
mod flow;
mod jit;
mod kernel;
mod locate;
mod mini_debug;
mod ranges;
mod symbols;

pub use component::layer_of;
pub use demangle::{demangle, demangle_with_signature, signature};

pub(crate) use binary::{Binary, BinaryNames};
pub use bytes::ByteOrder;
pub(crate) use bytes::{Bytes, until_zero};
pub(crate) use elf::Elf;
pub(crate) use flow::{Callee, Destination, FunctionFlow, UNKNOWN_WORK, Walk, walk};
pub(crate) use jit::{JitCode, JitDump, JitFunction};
pub(crate) use kernel::{KernelSymbols, running_build_id, running_release, running_vdso};
pub(crate) use locate::{debug_file_of, hex, in_perf_cache, same_build};
pub(crate) use symbols::SymbolAt;
