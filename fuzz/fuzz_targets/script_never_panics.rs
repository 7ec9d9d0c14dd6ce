#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| perfblame_fuzz::outline_script(data));
