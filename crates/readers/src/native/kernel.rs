//! Symbols of the kernel that was recorded, when it is this machine's or `perf` has kept them.

use std::fs;
use std::path::Path;

use super::bytes::ByteOrder;
use super::elf::build_id_of_notes;
use super::locate::{in_perf_cache, same_build};
use super::symbols::SymbolTable;

/// Symbols of a kernel and of the modules it had loaded.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    /// By address as the list states it.
    symbols: SymbolTable,
    /// `_text`, where the kernel's image starts: kernels are loaded at random addresses.
    text: Option<u64>,
}

impl KernelSymbols {
    /// The symbols of the kernel with this build id, or of this release where no build id was recorded.
    pub fn find(build_id: Option<&[u8]>, release: Option<&str>) -> Option<Self> {
        if let Some(path) = build_id.and_then(|id| in_perf_cache(id, "kallsyms"))
            && let Some(symbols) = fs::read(path).ok().and_then(|text| Self::parse(&text))
        {
            return Some(symbols);
        }
        let same = match build_id {
            Some(build_id) => {
                running_build_id().is_some_and(|running| same_build(&running, build_id))
            }
            None => release.is_some() && running_release().as_deref() == release,
        };
        if !same {
            return None;
        }
        fs::read("/proc/kallsyms").ok().and_then(|text| Self::parse(&text))
    }

    /// Reads a list as `/proc/kallsyms` prints it; none when addresses are hidden from us.
    pub fn parse(list: &[u8]) -> Option<Self> {
        let mut symbols = SymbolTable::default();
        let mut text = None;
        for line in lines(list) {
            // `ffffffff81000100 t do_work` and, for modules, a tab and the module.
            let Some((address, rest)) = hexadecimal(line) else { continue };
            let [b' ', kind, b' ', rest @ ..] = rest else { continue };
            let name = rest.split(|byte| matches!(byte, b' ' | b'\t')).next().unwrap_or_default();
            if address == 0 || name.is_empty() || !matches!(kind, b't' | b'T' | b'w' | b'W') {
                continue;
            }
            if name == b"_text" || (name == b"_stext" && text.is_none()) {
                text = Some(address);
            }
            // `_text` shares its address with the first function.
            if !matches!(name, b"_text" | b"_stext") {
                symbols.add(address, 0, name);
            }
        }
        symbols.finish();
        (!symbols.is_empty()).then_some(Self { symbols, text })
    }

    /// How far this list's addresses are from those of the recording.
    pub fn moved(&self, recorded_text: Option<u64>) -> u64 {
        match (recorded_text, self.text) {
            (Some(recorded), Some(here)) => here.wrapping_sub(recorded),
            _ => 0,
        }
    }

    /// The function at an address of the recording, where the kernel's image started at `recorded_text`.
    pub fn find_symbol(&self, address: u64, recorded_text: Option<u64>) -> Option<String> {
        let moved = self.moved(recorded_text);
        self.symbols.name(self.symbols.find(address.wrapping_add(moved))?)
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        rest = after.get(1..).unwrap_or_default();
        Some(line)
    })
}

/// A number in front of a line, and what follows it.
fn hexadecimal(line: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0u64;
    for (at, byte) in line.iter().enumerate() {
        let Some(digit) = char::from(*byte).to_digit(16) else {
            return (at > 0).then(|| (number, line.get(at..).unwrap_or_default()));
        };
        number = number.checked_mul(16)? | u64::from(digit);
    }
    None
}

/// The build id of the kernel that runs here.
pub fn running_build_id() -> Option<Vec<u8>> {
    let notes = fs::read("/sys/kernel/notes").ok()?;
    let order = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
    build_id_of_notes(&notes, order)
}

/// The release of the kernel that runs here.
pub fn running_release() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(text.trim().to_owned())
}

/// The code that this machine's kernel maps into every process.
pub fn running_vdso() -> Option<Vec<u8>> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let size = usize::try_from(end.checked_sub(start)?).ok().filter(|size| *size <= 1 << 20)?;
    let mut memory = fs::File::open(Path::new("/proc/self/mem")).ok()?;
    memory.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = vec![0; size];
    memory.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[u8] = b"ffffffff81000000 T _text\nffffffff81000000 T startup_64\n\
        ffffffff81000100 t do_work\nffffffff81000200 D some_data\nffffffffc0000000 t mod_fn\t[xfs]\n";

    #[test]
    fn kernels_move_between_boots() {
        let kernel = KernelSymbols::parse(LIST).unwrap();
        let name = |address, text| kernel.find_symbol(address, text);
        assert_eq!(name(0xffff_ffff_8100_0104, None), Some("do_work".to_owned()));
        assert_eq!(
            name(0xffff_ffff_9100_0104, Some(0xffff_ffff_9100_0000)),
            Some("do_work".to_owned())
        );
        assert_eq!(name(0xffff_ffff_8100_0000, None), Some("startup_64".to_owned()));
        assert_eq!(name(0x1000, None), None);
    }

    #[test]
    fn hidden_addresses_are_no_symbols() {
        assert!(
            KernelSymbols::parse(b"0000000000000000 T _text\n0000000000000000 t f\n").is_none()
        );
    }
}
