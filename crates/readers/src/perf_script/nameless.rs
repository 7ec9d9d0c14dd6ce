//! Functions without a name, told apart by where they are in their object.
//!
//! `perf script` writes `[unknown]` for every function of a stripped binary, and the object alone is too little: half
//! of a program would be one function. User addresses in the text are offsets in the object, the same in every run.

use super::symbol::{FrameText, UNKNOWN, is_jit};

/// Names what has no name.
#[derive(Debug, Default)]
pub(crate) struct NamelessFunctions {}

impl NamelessFunctions {
    /// A name for a function that has none; none where it has one, or where addresses mean nothing in another run.
    pub(crate) fn name(&self, text: &FrameText<'_>, address: Option<u64>) -> Option<String> {
        let (binary, address) = (text.binary?, address?);
        if text.symbol != UNKNOWN || text.inlined || binary.starts_with('[') || is_jit(binary) {
            return None;
        }
        let base = binary.strip_suffix(" (deleted)").unwrap_or(binary);
        let base = base.rsplit('/').next().unwrap_or(base);
        Some(format!("[{base}+{address:#x}]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_a_name_are_told_by_their_place() {
        let functions = NamelessFunctions::default();
        let name = |text: &str| functions.name(&FrameText::parse(text), Some(0x12a0));
        assert_eq!(name("[unknown] (/usr/bin/jq)").as_deref(), Some("[jq+0x12a0]"));
        for named in ["main (/usr/bin/jq)", "[unknown] ([unknown])", "[unknown] (/tmp/perf-7.map)"]
        {
            assert_eq!(name(named), None, "{named}");
        }
    }
}
