//! What a native program's file tells about how to profile it: whether it keeps frame pointers, whether it was built to
//! be traced.
//!
//! No header says that code keeps frame pointers, so we count: how many functions the unwind table has and how many
//! times the code sets a frame pointer up. One library without them is enough to lose callers, and on many systems
//! that is the C library; so every library the program names has to keep them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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
    Links { name: owned(elf.linked(DT_SONAME)).pop(), needed: owned(elf.needed()) }
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

/// The sections of a 64-bit little-endian file. Every number is checked where it is used.
struct Elf<'a> {
    bytes: &'a [u8],
    machine: u16,
    sections: Vec<Section<'a>>,
}

struct Section<'a> {
    name: &'a [u8],
    kind: u32,
    link: usize,
    content: &'a [u8],
}

const X86_64: u16 = 62;
const AARCH64: u16 = 183;
const DYNAMIC: u32 = 6;
const DT_NEEDED: u64 = 1;
const DT_SONAME: u64 = 14;
const NO_BITS: u32 = 8;

impl<'a> Elf<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        // 64 bits, little end first.
        if !bytes.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let table = usize::try_from(u64_at(bytes, 40)?).ok()?;
        let (size, count) = (u16_at(bytes, 58)? as usize, u16_at(bytes, 60)? as usize);
        let names = u16_at(bytes, 62)? as usize;
        let header = |index: usize| bytes.get(table.checked_add(index.checked_mul(size)?)?..);
        let content = |header: &[u8]| {
            let at = usize::try_from(u64_at(header, 24)?).ok()?;
            let length = usize::try_from(u64_at(header, 32)?).ok()?;
            bytes.get(at..at.checked_add(length)?)
        };
        let names = content(header(names)?)?;
        let mut sections = Vec::new();
        for index in 0..count {
            let header = header(index)?;
            let kind = u32_at(header, 4)?;
            sections.push(Section {
                name: text_at(names, u32_at(header, 0)? as usize),
                kind,
                link: u32_at(header, 40)? as usize,
                content: if kind == NO_BITS { &[] } else { content(header)? },
            });
        }
        Some(Self { bytes, machine: u16_at(bytes, 18)?, sections })
    }

    fn section(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.sections.iter().find(|section| section.name == name).map(|section| section.content)
    }

    fn keeps_frame_pointers(&self) -> bool {
        // Go keeps them always and has no unwind table.
        if self.section(b".gopclntab").is_some()
            || self.section(b".data.rel.ro.gopclntab").is_some()
        {
            return self.machine == X86_64 || self.machine == AARCH64;
        }
        let Some(text) = self.section(b".text") else { return false };
        let functions = self.section(b".eh_frame_hdr").and_then(|table| u32_at(table, 8));
        let Some(functions) = functions.filter(|count| *count > 0) else { return false };
        let set_up = match self.machine {
            // push %rbp; mov %rsp,%rbp
            X86_64 => memchr::memmem::find_iter(text, b"\x55\x48\x89\xe5").count(),
            // stp x29, x30, [sp, …]!
            AARCH64 => text
                .chunks_exact(4)
                .filter(|word| word[0] == 0xfd && word[1] & 0x7f == 0x7b && word[3] == 0xa9)
                .count(),
            _ => return false,
        };
        set_up as f64 >= SHARE * f64::from(functions)
    }

    fn needed(&self) -> Vec<&'a str> {
        self.linked(DT_NEEDED)
    }

    /// Names of one kind in the table for the dynamic linker.
    fn linked(&self, kind: u64) -> Vec<&'a str> {
        let Some(dynamic) = self.sections.iter().find(|section| section.kind == DYNAMIC) else {
            return Vec::new();
        };
        let names = self.sections.get(dynamic.link).map_or(self.bytes, |section| section.content);
        let entries = dynamic.content.chunks_exact(16);
        let linked = entries.filter(|entry| u64_at(entry, 0) == Some(kind));
        linked
            .filter_map(|entry| usize::try_from(u64_at(entry, 8)?).ok())
            .filter_map(|at| str::from_utf8(text_at(names, at)).ok())
            .filter(|name| !name.is_empty())
            .collect()
    }
}

fn text_at(bytes: &[u8], at: usize) -> &[u8] {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_tell_nothing() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(Elf::parse(&own).is_some());
        for length in (0..4096).step_by(7) {
            let cut = &own[..length];
            assert!(Elf::parse(cut).is_none_or(|elf| elf.needed().is_empty()));
        }
        let mut broken = own[..4096].to_vec();
        for at in 16..64 {
            broken[at] = 0xff;
            let _ = Elf::parse(&broken).map(|elf| elf.keeps_frame_pointers());
        }
    }
}
