//! Names for functions that had none where they were recorded.
//!
//! Distributions ship binaries without names, and the files with the names apart. Where those are not at hand, functions
//! are called by their object and where they start in it, `[nginx+0x53fb0]`, which is the same in every run of that
//! build. Later, and elsewhere, the build id finds the file that has the name.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;
use perfblame_cct::{Profile, rename};

use crate::binary::{Binary, BinaryNames};
use crate::demangle::demangle_with_signature;
use crate::elf::Elf;
use crate::locate::{debug_file_of, same_build};

/// A profile with more names than before.
pub struct Symbolized {
    /// The profile.
    pub profile: Profile,
    /// Functions that have a name now.
    pub named: usize,
    /// Functions that have none still.
    pub nameless: usize,
    /// Objects with such functions, and the build ids to look for, in hexadecimal; sorted.
    pub wanted: Vec<(String, Option<String>)>,
}

/// Files that are looked at in each folder; more than any folder of debug files has.
const MOST_FILES: usize = 20_000;

/// Names what it can, with the debug files in these folders and those of this machine.
pub fn symbolize(profile: Profile, folders: &[PathBuf]) -> Symbolized {
    let mut shelf = Shelf { folders, listed: None, found: HashMap::new() };
    let mut names: HashMap<String, String> = HashMap::new();
    let (mut nameless, mut wanted) = (0, Vec::new());
    let symbols = &profile.symbols;
    for (_, function) in symbols.functions() {
        let name = symbols.text(function.name);
        let Some(address) = address_of(name) else { continue };
        let Some(component) = function.component else { continue };
        let build_id = symbols.build(component).id.map(|id| symbols.text(id));
        let found = build_id.and_then(|id| shelf.name(id, address));
        if let Some(found) = found {
            names.insert(name.to_owned(), found);
        } else {
            nameless += 1;
            wanted.push((symbols.text(component).to_owned(), build_id.map(str::to_owned)));
        }
    }
    wanted.sort();
    wanted.dedup();
    let named = names.len();
    let profile = if names.is_empty() {
        profile
    } else {
        rename(profile, |text| match names.get(text) {
            Some(name) => Cow::Owned(name.clone()),
            None => Cow::Borrowed(text),
        })
    };
    Symbolized { profile, named, nameless, wanted }
}

/// The address in `[nginx+0x53fb0]`.
fn address_of(name: &str) -> Option<u64> {
    let (_, address) = name.strip_prefix('[')?.strip_suffix(']')?.rsplit_once("+0x")?;
    u64::from_str_radix(address, 16).ok()
}

/// Where debug files are.
struct Shelf<'a> {
    folders: &'a [PathBuf],
    /// All files of the folders with their build ids, once they have been looked through.
    listed: Option<Vec<(Vec<u8>, PathBuf)>>,
    found: HashMap<String, Option<BinaryNames>>,
}

impl Shelf<'_> {
    fn name(&mut self, build_id: &str, address: u64) -> Option<String> {
        if !self.found.contains_key(build_id) {
            let names = self.open(build_id);
            self.found.insert(build_id.to_owned(), names);
        }
        let names = self.found.get(build_id)?.as_ref()?;
        let symbol = names.name(names.symbol(address)?).filter(|name| !name.is_empty())?;
        Some(demangle_with_signature(&symbol).0.into_owned())
    }

    fn open(&mut self, build_id: &str) -> Option<BinaryNames> {
        let wanted = from_hex(build_id)?;
        let elf =
            self.by_name(build_id, &wanted).or_else(|| debug_file_of(&wanted)).or_else(|| {
                let path = self.listed().iter().find(|(id, _)| same_build(id, &wanted));
                Elf::open(&path?.1)
            })?;
        Some(BinaryNames::of_binary(Arc::new(Binary::of_elf(elf))))
    }

    /// As folders of debug files are laid out.
    fn by_name(&self, text: &str, wanted: &[u8]) -> Option<Elf> {
        let (first, rest) = text.split_at_checked(2)?;
        let file = format!("{first}/{rest}.debug");
        let places = ["", ".build-id", "usr/lib/debug/.build-id"];
        let paths = self.folders.iter().flat_map(|folder| {
            places.iter().map(|place| folder.join(place).join(&file)).collect::<Vec<_>>()
        });
        paths.into_iter().find_map(|path| {
            let elf = Elf::open(&path)?;
            elf.build_id().is_none_or(|found| same_build(&found, wanted)).then_some(elf)
        })
    }

    fn listed(&mut self) -> &[(Vec<u8>, PathBuf)] {
        let folders = self.folders;
        self.listed.get_or_insert_with(|| folders.iter().flat_map(|path| builds_in(path)).collect())
    }
}

/// The files below a folder that state a build id, in the order of their names.
fn builds_in(folder: &Path) -> Vec<(Vec<u8>, PathBuf)> {
    let (mut todo, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            // Links are not followed: they may lead round in circles.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => todo.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
        if files.len() > MOST_FILES {
            break;
        }
    }
    files.sort();
    let build = |path: PathBuf| Some((Elf::open(&path)?.build_id()?, path));
    files.into_iter().filter_map(build).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    text.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_places_are_taken_for_such() {
        assert_eq!(address_of("[nginx+0x53fb0]"), Some(0x53fb0));
        for name in ["main", "[unknown]", "[x+0xzz]", "[x+12]", "operator+0x"] {
            assert_eq!(address_of(name), None, "{name}");
        }
        assert_eq!(from_hex("0aff"), Some(vec![10, 255]));
        assert_eq!(from_hex("0g"), None);
    }
}
