//! What a native program's file tells about how to profile it: whether it keeps frame pointers, whether it was built to
//! be traced.
//!
//! No header says that code keeps frame pointers, so we count: how many functions the unwind table has and how many
//! times the code sets a frame pointer up. One library without them is enough to lose callers, and on many systems
//! that is the C library; so every library the program names has to keep them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn as _, FileHeader as _, SectionHeader as _, SectionTable};

/// Of functions, at least so many set up a frame pointer where they are kept: leaf functions need none.
const SHARE: f64 = 0.5;

/// Where libraries are found; those elsewhere count as unknown.
const FOLDERS: &[&str] = &[
    "/lib64",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
];

/// True when a program and every library it names keep frame pointers, as far as can be told.
pub fn keeps_frame_pointers(program: &Path) -> bool {
    let mut seen = BTreeSet::new();
    let mut todo = vec![program.to_owned()];
    while let Some(path) = todo.pop() {
        let Ok(bytes) = std::fs::read(&path) else { return false };
        let Some(elf) = Elf::parse(&bytes) else { return false };
        if !elf.keeps_frame_pointers() {
            return false;
        }
        for name in elf.needed() {
            // The loader itself and the kernel's page have no part in what programs do.
            if name.starts_with("ld-linux") || !seen.insert(name.to_owned()) {
                continue;
            }
            let Some(found) = find_library(name) else { return false };
            todo.push(found);
        }
    }
    true
}

/// True when the code of one file keeps frame pointers, as far as can be told.
pub fn file_keeps_frame_pointers(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    Elf::parse(&bytes).is_some_and(|elf| elf.keeps_frame_pointers())
}

/// The names by which libraries know each other.
#[derive(Default)]
pub struct Links {
    /// Its own.
    pub name: Option<String>,
    /// Those of what it cannot do without.
    pub needed: Vec<String>,
}

/// The names in a program or library; none where it is neither.
pub fn links_of(path: &Path) -> Links {
    let bytes = std::fs::read(path).unwrap_or_default();
    let Some(elf) = Elf::parse(&bytes) else { return Links::default() };
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    Links { name: owned(elf.linked(elf::DT_SONAME)).pop(), needed: owned(elf.needed()) }
}

/// True when a program calls a tracer at every entry: built with `-pg` or `-finstrument-functions`.
pub fn is_instrumented(program: &Path) -> bool {
    let Ok(bytes) = std::fs::read(program) else { return false };
    let names: [&[u8]; 3] = [b"\0mcount\0", b"\0__fentry__\0", b"\0__cyg_profile_func_enter\0"];
    let versioned: [&[u8]; 2] = [b"\0_mcount\0", b"\0_mcount@"];
    names.iter().chain(&versioned).any(|name| memchr::memmem::find(&bytes, name).is_some())
}

fn find_library(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// A 64-bit file. What is damaged in it is as good as not there.
struct Elf<'a> {
    bytes: &'a [u8],
    endian: Endianness,
    machine: elf::Machine,
    sections: SectionTable<'a, FileHeader64<Endianness>>,
}

impl<'a> Elf<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, bytes).ok()?;
        Some(Self { bytes, endian, machine: header.e_machine(endian), sections })
    }

    fn section(&self, name: &[u8]) -> Option<&'a [u8]> {
        let (_, section) = self.sections.section_by_name(self.endian, name)?;
        section.data(self.endian, self.bytes).ok()
    }

    fn keeps_frame_pointers(&self) -> bool {
        // Go keeps them always and has no unwind table.
        if self.section(b".gopclntab").is_some()
            || self.section(b".data.rel.ro.gopclntab").is_some()
        {
            return self.machine == elf::EM_X86_64 || self.machine == elf::EM_AARCH64;
        }
        let Some(text) = self.section(b".text") else { return false };
        let functions = self.section(b".eh_frame_hdr").and_then(|table| {
            let count = table.get(8..12)?;
            Some(u32::from_le_bytes(count.try_into().ok()?))
        });
        let Some(functions) = functions.filter(|count| *count > 0) else { return false };
        let set_up = match self.machine {
            // push %rbp; mov %rsp,%rbp
            elf::EM_X86_64 => memchr::memmem::find_iter(text, b"\x55\x48\x89\xe5").count(),
            // stp x29, x30, [sp, …]!
            elf::EM_AARCH64 => text
                .chunks_exact(4)
                .filter(|word| word[0] == 0xfd && word[1] & 0x7f == 0x7b && word[3] == 0xa9)
                .count(),
            _ => return false,
        };
        set_up as f64 >= SHARE * f64::from(functions)
    }

    fn needed(&self) -> Vec<&'a str> {
        self.linked(elf::DT_NEEDED)
    }

    /// Names of one kind in the table for the dynamic linker.
    fn linked(&self, kind: elf::DynamicTag) -> Vec<&'a str> {
        let Ok(Some((entries, names))) = self.sections.dynamic(self.endian, self.bytes) else {
            return Vec::new();
        };
        let Ok(names) = self.sections.strings(self.endian, self.bytes, names) else {
            return Vec::new();
        };
        let linked = entries.iter().filter(|entry| entry.d_tag(self.endian) == kind);
        linked
            .filter_map(|entry| u32::try_from(entry.d_val(self.endian)).ok())
            .filter_map(|at| str::from_utf8(names.get(at).ok()?).ok())
            .filter(|name| !name.is_empty())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Vec<u8> {
        std::fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    fn c_library(elf: &Elf<'_>) -> bool {
        elf.needed().iter().any(|name| name.starts_with("libc.so"))
    }

    #[test]
    fn a_program_names_what_it_needs() {
        let own = own();
        let elf = Elf::parse(&own).unwrap();
        assert!(c_library(&elf), "{:?}", elf.needed());
        assert!(elf.section(b".text").is_some_and(|text| text.len() > 1000));
        assert!(elf.section(b".eh_frame_hdr").is_some());
        assert_eq!(elf.linked(elf::DT_SONAME), [""; 0]);
    }

    /// Where the table of sections stands, and how long it is.
    fn section_table(bytes: &[u8]) -> std::ops::Range<usize> {
        let at = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
        let count = usize::from(u16::from_le_bytes(bytes[60..62].try_into().unwrap()));
        at..at + 64 * count
    }

    /// Damage where it reaches the parser: in the header, and in the table of sections.
    #[test]
    fn damaged_files_tell_what_is_left_or_nothing() {
        let mut bytes = own();
        let table = section_table(&bytes);
        let (mut read, mut refused, mut lost) = (0, 0, 0);
        for at in (0..64).chain(table) {
            for damage in [0x00, 0xff] {
                let whole = std::mem::replace(&mut bytes[at], damage);
                if whole != damage {
                    match Elf::parse(&bytes) {
                        Some(elf) => {
                            // The code is long; looking at all of it takes a while.
                            if at % 64 == 24 {
                                let _ = elf.keeps_frame_pointers();
                            }
                            let _ = elf.linked(elf::DT_SONAME);
                            if c_library(&elf) { read += 1 } else { lost += 1 }
                        }
                        None => refused += 1,
                    }
                }
                bytes[at] = whole;
            }
        }
        assert!(read > 100, "{read} damaged files were read");
        assert!(refused > 0 && lost > 0, "{refused} were refused, {lost} name nothing any more");
    }

    #[test]
    fn files_that_are_cut_off_tell_nothing() {
        let own = own();
        for length in (0..4096).step_by(7).chain([own.len() - 1]) {
            assert!(Elf::parse(&own[..length]).is_none_or(|elf| elf.needed().is_empty()));
        }
    }
}
