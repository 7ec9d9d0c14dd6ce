//! The fuzz targets: each hands bytes to one reader, whatever they look like.
//!
//! All are rows of one table and part of one program, which is linked once: there are dozens.

use perfblame_readers::{FORMATS, Input, ReadOptions};

/// A name that states the property, and what is done with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// Every target. A target of a format is named after the module of the format.
pub const TARGETS: &[Target] = &[
    ("art_trace_never_panics", |data| read("ART trace", data)),
    ("bpftrace_events_never_panics", |data| read_as_both("bpftrace events", data)),
    ("bpftrace_never_panics", |data| read("bpftrace", data)),
    ("caliper_never_panics", |data| read("Caliper", data)),
    ("callgrind_never_panics", |data| read("callgrind", data)),
    ("classes_never_panic", compare_classes),
    ("cpuprofile_never_panics", |data| read("cpuprofile", data)),
    ("dhat_never_panics", |data| read("DHAT", data)),
    ("dtrace_never_panics", |data| read("dtrace", data)),
    ("firefox_never_panics", |data| read("Firefox Profiler", data)),
    ("folded_never_panics", |data| read("folded", data)),
    ("ftrace_never_panics", |data| read_as_both("ftrace", data)),
    ("ghc_never_panics", |data| read("ghc", data)),
    ("gprof_never_panics", |data| read("gprof", data)),
    ("heapprofile_never_panics", |data| read("heapprofile", data)),
    ("hpctoolkit_never_panics", |data| read("HPCToolkit", data)),
    ("hprof_text_never_panics", |data| read("hprof text", data)),
    ("instruments_never_panics", |data| read("instruments", data)),
    ("jfr_never_panics", |data| read("jfr", data)),
    ("macos_sample_never_panics", |data| read("macos sample", data)),
    ("nettrace_never_panics", |data| read("nettrace", data)),
    ("otlp_never_panics", |data| read("OTLP profiles", data)),
    ("perf_data_never_panics", |data| read("perf.data", data)),
    ("perf_script_never_panics", |data| read("perf script", data)),
    ("perf_trace_never_panics", |data| read_as_both("perf trace", data)),
    ("perfblame_file_never_panics", |data| read("perfblame", data)),
    ("perfview_never_panics", |data| read("PerfView XML", data)),
    ("pmcstat_never_panics", |data| read("pmcstat", data)),
    ("pprof_legacy_never_panics", |data| read("pprof legacy", data)),
    ("pprof_never_panics", |data| read("pprof", data)),
    ("pstats_never_panics", |data| read("pstats", data)),
    ("pyinstrument_never_panics", |data| read("pyinstrument", data)),
    ("safari_never_panics", |data| read("safari recording", data)),
    ("script_never_panics", outline_script),
    ("simpleperf_never_panics", |data| read("simpleperf", data)),
    ("source_map_never_panics", perfblame_readers::source_map_never_panics),
    ("source_never_panics", parse_source),
    ("speedscope_never_panics", |data| read("speedscope", data)),
    ("stackprof_never_panics", |data| read("stackprof", data)),
    ("strace_never_panics", |data| read_as_both("strace", data)),
    ("tau_never_panics", |data| read("tau", data)),
    ("timemory_never_panics", |data| read("timemory", data)),
    ("trace_event_never_panics", |data| read("trace event", data)),
    ("traces_never_panic", read_trace),
    ("v8_log_never_panics", |data| read("v8 log", data)),
    ("vsprof_never_panics", |data| read("vsprof", data)),
    ("vtune_never_panics", |data| read("vtune", data)),
    ("xctrace_never_panics", |data| read("xctrace", data)),
    ("xperf_never_panics", |data| read("xperf", data)),
];

/// Reads `data` as a format that can be a trace of the operating system, and as that.
fn read_as_both(name: &str, data: &[u8]) {
    read(name, data);
    read_trace(data);
}

/// Reads `data` as the format called `name`, in the most demanding way: every grain, times kept.
pub fn read(name: &str, data: &[u8]) {
    let format = FORMATS.iter().find(|format| format.name == name).expect("a format of this name");
    let grain = match data.first().map(|byte| byte % 3) {
        Some(0) => perfblame_cct::Grain::Functions,
        Some(1) => perfblame_cct::Grain::CallSites,
        _ => perfblame_cct::Grain::Frames,
    };
    let options =
        ReadOptions { grain, times: perfblame_cct::Times::Keep, ..ReadOptions::default() };
    let Ok(input) = Input::from_bytes(data.to_vec()) else { return };
    let _ = (format.sniff)(&input);
    if let Ok(profile) = (format.read)(input, &options) {
        // What was read must be a tree whose values can be asked for.
        for (metric, _) in profile.metrics() {
            let _ = profile.inclusive_values(metric);
        }
    }
}

/// Reads `data` as a trace of the operating system, in whatever format it seems to be, and infers latencies from it.
pub fn read_trace(data: &[u8]) {
    let grain = match data.last().map(|byte| byte % 2) {
        Some(0) => perfblame_cct::Grain::CallSites,
        _ => perfblame_cct::Grain::Functions,
    };
    let options =
        ReadOptions { grain, times: perfblame_cct::Times::Keep, ..ReadOptions::default() };
    let Ok(input) = Input::from_bytes(data.to_vec()) else { return };
    let how = perfblame_latency::InferenceOptions { instances: true, ..Default::default() };
    let mut inference = perfblame_latency::Inference::new(how);
    if let Ok(perfblame_readers::TraceRead::Trace(_, place)) =
        perfblame_readers::read_trace(input, &options, &mut inference)
    {
        assert_eq!(inference.totals(&place).len(), place.len());
        for call in inference.instances() {
            assert!(call.conservative <= call.estimate && call.estimate <= call.longest);
        }
    }
}

/// Reads `data` as source: the first byte chooses the language, and the rest is compared with its own first half.
pub fn parse_source(data: &[u8]) {
    const NAMES: [&str; 9] =
        ["a.java", "a.js", "a.ts", "a.tsx", "src/a.rs", "a.c", "a.cpp", "a.py", "a.go"];
    let Some((first, text)) = data.split_first() else { return };
    let path = NAMES[*first as usize % NAMES.len()];
    let version = |text: &[u8]| {
        Some(perfblame_changes::FileVersion { path: path.to_owned(), text: text.to_vec() })
    };
    let file = perfblame_changes::ChangedFile {
        before: version(&text[..text.len() / 2]),
        after: version(text),
    };
    let found = perfblame_changes::compare_sources(&[file]);
    for change in &found.changes.functions {
        let definition = change.after.as_ref().or(change.before.as_ref());
        let lines = definition.and_then(|it| it.lines).expect("a change is somewhere");
        assert!(0 < lines.0 && lines.0 <= lines.1);
    }
}

/// Takes `data` apart as a script: the first byte chooses the language. What is found must be nested and in order.
pub fn outline_script(data: &[u8]) {
    let Some((first, text)) = data.split_first() else { return };
    let name = if first % 2 == 0 { "a.js" } else { "a.ts" };
    let text = String::from_utf8_lossy(text);
    let outline = perfblame_scripts::outline(&text, name);
    assert!(outline.functions.is_sorted_by_key(|function| function.from));
    for (row, function) in outline.functions.iter().enumerate() {
        assert_eq!(function.parent.is_none(), row == 0);
        assert!(function.parent.is_none_or(|parent| (parent as usize) < row));
        assert!(function.from <= function.start && function.start <= function.end);
        let _ = perfblame_scripts::name_of(&text, &outline, row);
        let _ = (outline.starting_at(function.start), outline.around(function.end));
    }
}

/// Compares `data` with itself but for one byte: as a jar, and as a class in a jar.
pub fn compare_classes(data: &[u8]) {
    let mut other = data.to_vec();
    let middle = data.len() / 2;
    if let Some(byte) = other.get_mut(middle) {
        *byte = byte.wrapping_add(1);
    }
    let compare = |before: Vec<u8>, after: Vec<u8>| {
        let options = perfblame_classes::ClassOptions::default();
        if let Ok(compared) = perfblame_classes::compare_jars(before, after, options) {
            for change in &compared.changes.functions {
                assert!(change.before.is_some() || change.after.is_some());
            }
        }
    };
    compare(jar_of(data), jar_of(&other));
    compare(data.to_vec(), other);
}

/// A jar with one class, not packed. The checksum is right, or nothing would be read.
fn jar_of(class: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"A.class";
    let mut crc = flate2::Crc::new();
    crc.update(class);
    let size = class.len() as u32;
    let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for number in [crc.sum(), size, size] {
        common.extend(number.to_le_bytes());
    }
    common.extend((NAME.len() as u16).to_le_bytes());
    let mut jar = [&b"PK\x03\x04"[..], &common, &[0, 0], NAME, class].concat();
    let list = [&b"PK\x01\x02\x14\x00"[..], &common, &[0; 16], NAME].concat();
    let start = jar.len() as u32;
    jar.extend(&list);
    jar.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    jar.extend((list.len() as u32).to_le_bytes());
    jar.extend(start.to_le_bytes());
    jar.extend([0, 0]);
    jar
}
