#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    perfblame_fuzz::read("ftrace", data);
    perfblame_fuzz::read_trace(data);
});
