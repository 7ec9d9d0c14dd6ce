//! A real capture of OpenTelemetry profiles.

use perfblame_cct::{Layer, Times};
use perfblame_fixtures::{read_damaged, samples};
use perfblame_readers::{Input, ReadOptions, read};

#[test]
fn a_capture_of_the_ebpf_profiler() {
    let path = samples().join("otlp/profile.otlp");
    let options = ReadOptions { times: Times::Keep, ..ReadOptions::default() };
    let profile = read(Input::open(&path).unwrap(), &options).unwrap();
    assert_eq!(profile.info.format, "OTLP profiles");
    // 49 samples with 189 times and no values: each time is one sample.
    assert_eq!(profile.samples, 189);
    assert_eq!(profile.timeline.as_ref().map(|timeline| timeline.samples.len()), Some(189));
    let (metric, about) = profile.metrics().next().unwrap();
    assert_eq!((about.name.as_str(), profile.cells.total(metric)), ("samples", 189));
    assert_eq!(profile.info.producer.as_deref(), Some("go.opentelemetry.io/ebpf-profiler"));
    assert!(profile.warnings.is_empty());
    let (_, thread) = profile.threads().next().unwrap();
    let process = thread.process.map(|name| profile.symbols.text(name));
    assert_eq!((process, thread.pid, thread.tid), (Some("java"), Some(236_982), Some(237_382)));
    let functions = profile.symbols.functions();
    assert_eq!(functions.filter(|(_, function)| function.layer == Layer::Kernel).count(), 38);
}

#[test]
fn otlp_never_panics() {
    let bytes = std::fs::read(samples().join("otlp/profile.otlp")).unwrap();
    read_damaged(&bytes, 0..300, |bytes| read(Input::from_bytes(bytes)?, &ReadOptions::default()));
}
