//! Where the binary and the debug information of a build id are, on this machine.

use std::env;
use std::path::{Path, PathBuf};

use crate::elf::Elf;

/// Hexadecimal text of a build id.
pub fn hex(build_id: &[u8]) -> String {
    use std::fmt::Write as _;
    build_id.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// True when the two mean the same build; recorders pad short ids with zeros.
pub fn same_build(a: &[u8], b: &[u8]) -> bool {
    let significant = |id: &[u8]| id.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let (a_length, b_length) = (significant(a), significant(b));
    a_length > 0 && a.get(..a_length) == b.get(..b_length)
}

/// The folder where `perf` keeps binaries by build id.
fn perf_cache() -> Option<PathBuf> {
    Some(PathBuf::from(env::var_os("HOME")?).join(".debug"))
}

/// What `perf` kept of a build under this name: `elf`, `debug`, `kallsyms`, `vdso`.
pub fn in_perf_cache(build_id: &[u8], name: &str) -> Option<PathBuf> {
    let text = hex(build_id);
    let (first, rest) = text.split_at_checked(2)?;
    let folder = perf_cache()?.join(".build-id").join(first).join(rest);
    let path = folder.join(name);
    path.is_file().then_some(path)
}

/// A file with the symbols and debug information of a build id.
pub fn debug_file_of(build_id: &[u8]) -> Option<Elf> {
    let text = hex(build_id);
    let (first, rest) = text.split_at_checked(2)?;
    let mut candidates = vec![
        Path::new("/usr/lib/debug/.build-id").join(first).join(format!("{rest}.debug")),
        Path::new("/usr/local/lib/debug/.build-id").join(first).join(format!("{rest}.debug")),
    ];
    candidates.extend(in_perf_cache(build_id, "debug"));
    let cache = env::var_os("DEBUGINFOD_CACHE_PATH").map(PathBuf::from).or_else(|| {
        let folder = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let folder = folder.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache")))?;
        Some(folder.join("debuginfod_client"))
    });
    candidates.extend(cache.map(|folder| folder.join(&text).join("debuginfo")));
    candidates.iter().find_map(|path| {
        let elf = Elf::open(path)?;
        let found = elf.build_id();
        found.is_none_or(|found| same_build(&found, build_id)).then_some(elf)
    })
}

/// The separate debug file that belongs to `elf`: by build id, or by the name and checksum it states.
pub fn debug_file_for(elf: &Elf) -> Option<Elf> {
    let build_id = elf.build_id();
    if let Some(found) = build_id.as_deref().and_then(debug_file_of) {
        return Some(found);
    }
    let link = elf.section_bytes(b".gnu_debuglink")?;
    let name = crate::bytes::until_zero(&link);
    let checksum_at = (name.len() + 4) & !3;
    let checksum = crate::bytes::Bytes::new(link.get(checksum_at..)?, elf.order).u32()?;
    let name = Path::new(str::from_utf8(name).ok()?).file_name()?;
    let folder = elf.path.parent()?.canonicalize().ok()?;
    let below_root = folder.strip_prefix("/").unwrap_or(&folder);
    let candidates = [
        folder.join(name),
        folder.join(".debug").join(name),
        Path::new("/usr/lib/debug").join(below_root).join(name),
    ];
    candidates.iter().filter(|path| **path != elf.path).find_map(|path| {
        let found = Elf::open(path)?;
        let fits = match (found.build_id(), &build_id) {
            (Some(found), Some(wanted)) => same_build(&found, wanted),
            _ => checksum_of(path)? == checksum,
        };
        fits.then_some(found)
    })
}

fn checksum_of(path: &Path) -> Option<u32> {
    let mut sum = flate2::Crc::new();
    sum.update(&std::fs::read(path).ok()?);
    Some(sum.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_build_ids_are_padded() {
        assert!(same_build(&[1, 2, 3], &[1, 2, 3, 0, 0]));
        assert!(!same_build(&[1, 2, 3], &[1, 2, 4]));
        assert!(!same_build(&[0, 0], &[0, 0, 0]));
        assert_eq!(hex(&[0xab, 1]), "ab01");
    }
}
