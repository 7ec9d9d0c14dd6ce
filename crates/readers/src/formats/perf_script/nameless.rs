//! Functions without a name, told apart by where they are in their object.
//!
//! `perf script` writes `[unknown]` for every function of a stripped binary, and the object alone is too little: half
//! of a program would be one function. User addresses in the text are offsets in the object, the same in every run.
//! Where the object is at hand its unwind tables say at which offset the function starts.
//!
//! A text does not say which build an object was. A return address lies behind a call, and in another build hardly ever
//! does: so an object is believed where it has a call at the right place.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use hashbrown::HashMap;
use perfblame_native::{Binary, BinaryNames};

use crate::building::symbol::{FrameText, UNKNOWN, is_jit};

/// After so many calls at the right place an object is believed where there is none, too: a tick can hit anything.
const BELIEVED: u32 = 3;

/// Names what has no name.
#[derive(Default)]
pub(crate) struct NamelessFunctions {
    objects: HashMap<String, Option<NamelessObject>>,
}

struct NamelessObject {
    file: File,
    binary: Arc<Binary>,
    names: BinaryNames,
    /// Calls that were found at the right place.
    right: u32,
}

impl NamelessFunctions {
    /// A name for a function that has none; none where it has one, or where addresses mean nothing in another run.
    pub(crate) fn name(&mut self, text: &FrameText<'_>, address: Option<u64>) -> Option<String> {
        let (binary, address) = (text.binary?, address?);
        if text.symbol != UNKNOWN || text.inlined || binary.starts_with('[') || is_jit(binary) {
            return None;
        }
        let path = binary.strip_suffix(" (deleted)").unwrap_or(binary);
        let base = path.rsplit('/').next().unwrap_or(path);
        let start = self.start(path, address).unwrap_or(address);
        Some(format!("[{base}+{start:#x}]"))
    }

    /// Where the function starts that holds an offset of an object.
    fn start(&mut self, path: &str, offset: u64) -> Option<u64> {
        let Self { objects } = self;
        let object =
            objects.entry_ref(path).or_insert_with(|| NamelessObject::open(path)).as_mut()?;
        if object.has_call_before(offset) {
            object.right += 1;
        } else if object.right < BELIEVED {
            return None;
        }
        // The address may be behind the end of a function that calls what never returns.
        let linked = object.binary.address_of_offset(offset.checked_sub(1)?)?;
        let start = object.names.function_start(linked)?;
        Some(offset.wrapping_sub(1).wrapping_sub(linked.wrapping_sub(start)))
    }
}

impl NamelessObject {
    fn open(path: &str) -> Option<Self> {
        if !path.starts_with('/') {
            return None;
        }
        let binary = Arc::new(Binary::open(Path::new(path), None)?);
        let names = BinaryNames::of_binary(binary.clone());
        Some(Self { file: File::open(path).ok()?, binary, names, right: 0 })
    }

    fn has_call_before(&mut self, offset: u64) -> bool {
        let mut bytes = [0; 8];
        let Some(start) = offset.checked_sub(8) else { return false };
        let read = self.file.seek(SeekFrom::Start(start));
        read.and_then(|_| self.file.read_exact(&mut bytes)).is_ok() && ends_in_call(bytes)
    }
}

/// True where machine code of x86-64 ends in a call or a system call.
fn ends_in_call(bytes: [u8; 8]) -> bool {
    // `call *…` has its operand in the three middle bits of the byte behind it.
    let indirect = |at: usize| bytes[at] == 0xff && bytes[at + 1] & 0x38 == 0x10;
    bytes[3] == 0xe8 || bytes[6..] == [0x0f, 0x05] || [6, 5, 4, 2, 1].into_iter().any(indirect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_a_name_are_told_by_their_place() {
        let mut functions = NamelessFunctions::default();
        let mut name = |text: &str| functions.name(&FrameText::parse(text), Some(0x12a0));
        assert_eq!(name("[unknown] (/no/such/app)").as_deref(), Some("[app+0x12a0]"));
        for named in ["main (/usr/bin/jq)", "[unknown] ([unknown])", "[unknown] (/tmp/perf-7.map)"]
        {
            assert_eq!(name(named), None, "{named}");
        }
    }

    #[test]
    fn calls_are_recognised() {
        for (bytes, expected) in [
            ([0, 0, 0, 0xe8, 1, 2, 3, 4], true),
            ([0, 0, 0, 0, 0, 0, 0xff, 0xd0], true),
            ([0, 0, 0xff, 0x15, 1, 2, 3, 4], true),
            ([0, 0, 0, 0, 0, 0, 0x0f, 0x05], true),
            ([0x90; 8], false),
            ([0, 0, 0, 0, 0, 0, 0xff, 0xe0], false),
        ] {
            assert_eq!(ends_in_call(bytes), expected, "{bytes:x?}");
        }
    }
}
