//! The symbols that distributions leave in stripped binaries: a small packed ELF file in the section `.gnu_debugdata`,
//! with the functions that the table of dynamic symbols does not have.

use std::io::Read;

use lzma_rust2::XzReader;

use crate::elf::Elf;

/// Tables of the largest binaries have a few megabytes.
const LARGEST: u64 = 256 << 20;

/// Memory for unpacking, in KiB; the strongest setting of `xz` asks for 64 MiB.
const MEMORY: u32 = 80 << 10;

/// The ELF file within `elf`; none when there is none, or it cannot be unpacked.
pub fn mini_debug_file(elf: &Elf) -> Option<Elf> {
    let packed = elf.section_bytes(b".gnu_debugdata")?;
    let mut bytes = Vec::new();
    let unpacker = XzReader::new_mem_limit(packed.as_slice(), false, MEMORY);
    unpacker.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LARGEST).then_some(())?;
    Elf::from_bytes(bytes, &elf.path)
}
