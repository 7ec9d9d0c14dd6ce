#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    perfblame_fuzz::read("strace", data);
    perfblame_fuzz::read_trace(data);
});
