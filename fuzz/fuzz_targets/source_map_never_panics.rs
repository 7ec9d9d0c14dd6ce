#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| perfblame_readers::source_map_never_panics(data));
