//! Native code: binaries, their symbols and debug information, whose code they are, how their stacks are walked and
//! where their machine code can go.
//!
//! Nothing here knows a format: readers hand in paths, build ids, registers and addresses.

mod binary;
mod bytes;
mod code;
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
mod symbolize;
mod symbols;
mod unwind;

pub use binary::{Binary, BinaryNames};
pub use bytes::{ByteOrder, Bytes, until_zero};
pub use code::CodeTable;
pub use component::layer_of;
pub use demangle::{demangle, demangle_with_signature, signature};
pub use elf::Elf;
pub use jit::{JitCode, JitDump, JitFunction};
pub use kernel::{KernelSymbols, running_build_id, running_release, running_vdso};
pub use locate::{debug_file_of, hex, in_perf_cache, same_build};
pub use symbolize::{Symbolized, symbolize};
pub use symbols::SymbolAt;
pub use unwind::{StackEnding, StackWalk, UnwindMachine, UnwindTables};
