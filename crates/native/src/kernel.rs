//! Symbols of the kernel that was recorded, when it is this machine's or `perf` has kept them.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::bytes::ByteOrder;
use crate::elf::build_id_of_notes;
use crate::locate::{in_perf_cache, same_build};
use crate::symbols::SymbolTable;

/// The list has megabytes; this much of it is read at once.
const PIECE: usize = 256 << 10;

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
    pub fn find(build_id: Option<&[u8]>, release: Option<&str>) -> Option<Arc<Self>> {
        if let Some(path) = build_id.and_then(|id| in_perf_cache(id, "kallsyms"))
            && let Some(symbols) = File::open(path).ok().and_then(Self::parse)
        {
            return Some(Arc::new(symbols));
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
        Self::running()
    }

    /// The symbols of the kernel that runs this program: the same for all files, and slow to come by, as the kernel
    /// prints its list anew each time.
    fn running() -> Option<Arc<Self>> {
        static RUNNING: OnceLock<Option<Arc<KernelSymbols>>> = OnceLock::new();
        let list = || File::open("/proc/kallsyms").ok().and_then(Self::parse).map(Arc::new);
        RUNNING.get_or_init(list).clone()
    }

    /// Reads a list as `/proc/kallsyms` prints it; none when addresses are hidden from us.
    pub fn parse(list: impl Read) -> Option<Self> {
        let mut kernel = Self::default();
        let mut list = list;
        let mut piece = vec![0; PIECE];
        let mut held = 0;
        loop {
            let free = piece.get_mut(held..)?;
            let read = match list.read(free) {
                Ok(read) => read.min(free.len()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            };
            held += read;
            let text = piece.get(..held)?;
            // Whole lines; at the end, or where one has no end, what there is.
            let whole = match memchr::memrchr(b'\n', text) {
                Some(end) if read > 0 => end + 1,
                None if read > 0 && held < PIECE => continue,
                _ => held,
            };
            for line in lines(text.get(..whole)?) {
                kernel.add_line(line);
            }
            piece.copy_within(whole..held, 0);
            held -= whole;
            if read == 0 {
                break;
            }
        }
        kernel.symbols.finish();
        (!kernel.symbols.is_empty()).then_some(kernel)
    }

    /// Adds `ffffffff81000100 t do_work`; for modules, a tab and the module follow.
    fn add_line(&mut self, line: &[u8]) -> Option<()> {
        let end = line.iter().position(|byte| *byte == b' ')?;
        let (address, rest) = line.split_at(end);
        // Most of the list is data.
        let [b' ', b't' | b'T' | b'w' | b'W', b' ', rest @ ..] = rest else { return None };
        let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t'));
        let name = rest.get(..end.unwrap_or(rest.len())).filter(|name| !name.is_empty())?;
        let address = hexadecimal(address).filter(|address| *address != 0)?;
        match name {
            // `_text` shares its address with the first function.
            b"_text" => self.text = Some(address),
            b"_stext" => _ = self.text.get_or_insert(address),
            _ => self.symbols.add(address, 0, name),
        }
        Some(())
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

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(digit))
    })
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
    use std::io::{Seek as _, SeekFrom};
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let size = usize::try_from(end.checked_sub(start)?).ok().filter(|size| *size <= 1 << 20)?;
    let mut memory = File::open(Path::new("/proc/self/mem")).ok()?;
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
    fn a_list_is_read_piece_by_piece() {
        let lines = (0..20_000u64).map(|n| format!("{:016x} t function_{n}\n", 0x1000 + 16 * n));
        let list: String = lines.collect();
        assert!(list.len() > 2 * PIECE);
        // Pieces end within lines, and the last line has no end.
        let kernel = KernelSymbols::parse(list.trim_end().as_bytes()).unwrap();
        for n in 0..20_000 {
            let name = kernel.find_symbol(0x1000 + 16 * n + 3, None);
            assert_eq!(name, Some(format!("function_{n}")));
        }
    }

    #[test]
    fn hidden_addresses_are_no_symbols() {
        assert!(
            KernelSymbols::parse(&b"0000000000000000 T _text\n0000000000000000 t f\n"[..])
                .is_none()
        );
    }
}
