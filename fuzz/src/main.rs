//! The program of all fuzz targets. libFuzzer owns the command line, so a variable names the target.
#![no_main]

use std::sync::LazyLock;

use perfblame_fuzz::TARGETS;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let wanted = std::env::var("PERFBLAME_FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(name, _)| *name == wanted);
    found.unwrap_or_else(|| panic!("PERFBLAME_FUZZ_TARGET: no target {wanted:?}")).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
