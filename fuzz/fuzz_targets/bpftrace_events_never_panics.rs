#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    perfblame_fuzz::read("bpftrace events", data);
    perfblame_fuzz::read_trace(data);
});
