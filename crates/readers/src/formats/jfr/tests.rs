//! Tests of whole recordings: drawn ones, real ones, damaged ones.

use expect_test::{Expect, expect};
use perfblame_cct::{Grain, Profile, Times};
use perfblame_fixtures::{corpus_files, damaged, draw, samples};
use std::fmt::Write as _;
use std::path::Path;

use super::drawn::Drawn;
use super::scan::Integers;
use crate::{Input, ReadError, ReadOptions, read};

fn read_bytes(bytes: Vec<u8>, grain: Grain) -> Result<Profile, ReadError> {
    read(
        Input::from_bytes(bytes)?,
        &ReadOptions { grain, times: Times::Keep, ..ReadOptions::default() },
    )
}

fn read_file(path: &Path) -> Result<Profile, ReadError> {
    read(Input::open(path)?, &ReadOptions::default())
}

fn sample(name: &str) -> Vec<u8> {
    Input::open(&samples().join("jfr").join(name)).unwrap().read_all().unwrap()
}

/// Metrics with their totals, then warnings.
fn totals(profile: &Profile) -> String {
    let mut out = format!("{} samples", profile.samples);
    for (id, metric) in profile.metrics() {
        let total: i64 = profile.self_values(id).iter().sum();
        write!(out, ", {} {total}", metric.name).unwrap();
    }
    for warning in &profile.warnings {
        write!(out, "\n{} x {}: {}", warning.count, warning.code, warning.message).unwrap();
    }
    out
}

fn check(bytes: Vec<u8>, expected: &Expect) {
    match read_bytes(bytes, Grain::Functions) {
        Ok(profile) => expected.assert_eq(&format!("{}\n{}", draw(&profile), totals(&profile))),
        Err(error) => {
            let help = error.help.as_deref().unwrap_or("none");
            expected.assert_eq(&format!("{error}\nhelp: {help}"));
        }
    }
}

/// Two samples of stack 1, one of the stack that is cut off, one without a stack, one whose stack is missing, and a
/// park of 300 ticks.
fn drawn(integers: Integers) -> Vec<u8> {
    let mut chunk = Drawn::new(integers);
    chunk.event(100, &[600, 9, 1]);
    chunk.unknown_event();
    chunk.event(100, &[700, 9, 1]);
    let pools = chunk.pools();
    chunk.event(100, &[800, 9, 2]);
    chunk.event(100, &[900, 9, 0]);
    chunk.event(100, &[950, 0, 77]);
    chunk.event(101, &[1000, 300, 9, 1]);
    chunk.finish(pools)
}

#[test]
fn both_encodings_of_integers_read_alike() {
    let expected = expect![[r"
        (missing stack) 1 1
        (no stack) 1 1
        (truncated) 1 0
          Main.parse 1 1
        Main.main 2 0
          a.Deep$$Lambda/0x1.run 2 0
            Main.parse 2 2

        5 samples, samples 5, waited 3000
        1 x missing-stacks: events whose stack is not in a constant pool are kept under (missing stack)"]];
    check(drawn(Integers::Compressed), &expected);
    check(drawn(Integers::Fixed), &expected);
}

#[test]
fn frames_threads_and_times_are_kept() {
    let profile = read_bytes(drawn(Integers::Compressed), Grain::Frames).unwrap();
    let mut out = String::new();
    for node in profile.tree.nodes() {
        let frame = profile.symbols.frame(profile.tree.frame(node));
        let function = profile.symbols.function(frame.function);
        let signature = function.signature.map_or("", |id| profile.symbols.text(id));
        let component = function.component.map_or("", |id| profile.symbols.text(id));
        let name = profile.name_of(node);
        writeln!(
            out,
            "{name} | {component} | {signature} | {:?} {:?} {}",
            frame.line, frame.bytecode, frame.inlined
        )
        .unwrap();
    }
    for sample in &profile.timeline.as_ref().unwrap().samples {
        writeln!(out, "{} {} {}", sample.time, profile.name_of(sample.node), sample.value).unwrap();
    }
    for (_, thread) in profile.threads() {
        writeln!(out, "{} {:?}", profile.symbols.text(thread.name), thread.tid).unwrap();
    }
    expect![[r"
        Main.main | Main | ()V | Some(10) Some(11) false
        a.Deep$$Lambda/0x1.run | a.Deep$$Lambda/0x1 | ()V | Some(20) Some(21) false
        Main.parse | Main | ()V | Some(30) Some(31) true
        (truncated) |  |  | None None false
        Main.parse | Main | ()V | Some(30) Some(31) true
        (no stack) |  |  | None None false
        (missing stack) |  |  | None None false
        1000000001000 Main.parse 1
        1000000002000 Main.parse 1
        1000000003000 Main.parse 1
        1000000004000 (no stack) 1
        1000000004500 (missing stack) 1
        1000000005000 Main.parse 3000
        a name of the pool Some(4711)
    "]]
    .assert_eq(&out);
}

#[test]
fn events_with_stacks_that_are_not_read_are_counted() {
    let mut chunk = Drawn::new(Integers::Compressed);
    chunk.event(100, &[600, 9, 1]);
    for stack in [1, 0, 2] {
        chunk.event(103, &[700, stack]);
    }
    let pools = chunk.pools();
    let profile = read_bytes(chunk.finish(pools), Grain::Functions).unwrap();
    expect![[r#"
        1 samples, samples 1
        2 x unread-events: events with stacks were not read: 2 of type my.Stacked"#]]
    .assert_eq(&totals(&profile));
}

#[test]
fn files_one_after_the_other_are_a_file() {
    let twice = [drawn(Integers::Compressed), drawn(Integers::Fixed)].concat();
    let profile = read_bytes(twice, Grain::Functions).unwrap();
    expect![[r"
        10 samples, samples 10, waited 6000
        2 x missing-stacks: events whose stack is not in a constant pool are kept under (missing stack)"]].assert_eq(&totals(&profile));
    assert_eq!(profile.info.duration, Some(4_000_000_000));
}

#[test]
fn a_file_that_is_cut_off_is_read_as_far_as_it_goes() {
    let whole = drawn(Integers::Compressed);
    // The drawn chunk has its metadata at the end, and nothing can be read without.
    check(
        whole[..whole.len() - 10].to_vec(),
        &expect![[r"
        jfr at byte 0: no chunk in it can be read
        help: the file is damaged or cut off near its start; record again"]],
    );
    let two = [whole.clone(), whole[..whole.len() - 10].to_vec()].concat();
    check(
        two,
        &expect![[r#"
            (missing stack) 1 1
            (no stack) 1 1
            (truncated) 1 0
              Main.parse 1 1
            Main.main 2 0
              a.Deep$$Lambda/0x1.run 2 0
                Main.parse 2 2

            5 samples, samples 5, waited 3000
            1 x missing-stacks: events whose stack is not in a constant pool are kept under (missing stack)
            1 x truncated: the file is cut off; 10 bytes are missing from the chunk at byte 1339
            1 x damaged-chunks: a chunk without a readable description of its layout, at byte 1339, was left out"#]],
    );
    let jdk = sample("jdk21.jfr.gz");
    let profile = read_bytes(jdk[..jdk.len() - 1000].to_vec(), Grain::Functions).unwrap();
    expect![[r#"
        16 samples, samples 16, native 6, allocated 76090784, allocated (buffers) 63914496, blocked 767551531, waited 3423499730, io 680317
        1 x truncated: the file is cut off; 1,000 bytes are missing from the chunk at byte 0
        22 x missing-methods: methods that are not in a constant pool are shown as (unknown)"#]].assert_eq(&totals(&profile));
}

#[test]
fn a_damaged_record_costs_little() {
    let mut bytes = drawn(Integers::Compressed);
    // The size of the first event: the walk goes on at the checkpoint.
    bytes[68] = 0;
    check(
        bytes,
        &expect![[r"
        (missing stack) 1 1
        (no stack) 1 1
        (truncated) 1 0
          Main.parse 1 1
        Main.main 0 0
          a.Deep$$Lambda/0x1.run 0 0
            Main.parse 0 0

        3 samples, samples 3, waited 3000
        1 x damaged-records: records were lost in 19 damaged bytes, first at byte 68
        1 x missing-stacks: events whose stack is not in a constant pool are kept under (missing stack)"]],
    );
}

#[test]
fn a_size_that_swallows_the_next_chunk_does_no_harm() {
    let mut bytes = [drawn(Integers::Compressed), drawn(Integers::Compressed)].concat();
    let both = bytes.len() as u64;
    bytes[8..16].copy_from_slice(&both.to_be_bytes());
    let profile = read_bytes(bytes, Grain::Functions).unwrap();
    expect![[r"
        10 samples, samples 10, waited 6000
        2 x missing-stacks: events whose stack is not in a constant pool are kept under (missing stack)"]].assert_eq(&totals(&profile));
}

#[test]
fn bytes_between_chunks_are_counted() {
    let one = drawn(Integers::Compressed);
    let bytes = [one.clone(), b"rubbish".to_vec(), one].concat();
    let profile = read_bytes(bytes, Grain::Functions).unwrap();
    expect![[r#"
        10 samples, samples 10, waited 6000
        2 x missing-stacks: events whose stack is not in a constant pool are kept under (missing stack)
        7 x damaged-bytes: bytes outside of chunks were left out, first at byte 1339"#]]
    .assert_eq(&totals(&profile));
}

#[test]
fn recordings_of_old_jdks_get_a_clear_error() {
    let mut bytes = drawn(Integers::Compressed);
    bytes[4..8].copy_from_slice(&[0, 0, 0, 9]);
    check(
        bytes,
        &expect![[r"
        jfr at byte 0: this is a recording of Oracle JDK 7 or 8 (chunk version 0.9), a format that ended with JDK 9
        help: record again with JDK 9 or later, OpenJDK 8u262 or later, or async-profiler; JDK Mission Control opens old files"]],
    );
}

#[test]
fn a_recording_that_never_reached_its_first_flush_gets_a_clear_error() {
    let mut bytes = drawn(Integers::Compressed)[..200].to_vec();
    bytes[8..32].fill(0);
    bytes[64] = 1;
    check(
        bytes,
        &expect![[r"
        jfr at byte 0: the recording was cut off in its first second, before anything in it could be read
        help: let the JVM run a little longer, or stop the recording with `jcmd <pid> JFR.stop`"]],
    );
}

#[test]
fn samples_have_their_totals() {
    let mut out = String::new();
    let mut files: Vec<_> = std::fs::read_dir(samples().join("jfr")).unwrap().collect();
    files.sort_by_key(|entry| entry.as_ref().unwrap().path());
    for entry in files {
        let path = entry.unwrap().path();
        let profile = read_file(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let truncated = profile.tree.roots().any(|root| profile.name_of(root) == "(truncated)");
        writeln!(out, "{name}: {}, {} threads", totals(&profile), profile.threads.len()).unwrap();
        let producer = profile.info.producer.as_deref().unwrap_or_default();
        writeln!(out, "  cut stacks: {truncated}, by {producer}").unwrap();
    }
    expect![[r#"
        async-profiler-2.9-wall.jfr.gz: 568 samples, wall 28400000000, 30 threads
          cut stacks: false, by async-profiler 2.9
        async-profiler-4.5-mixed.jfr.gz: 443 samples, cpu 705000000, wall 30200000000, allocated 88080384, malloc 11636256, frees 4529, blocked 1789239197, 31 threads
          cut stacks: false, by async-profiler 4.5
        datadog-1.22.jfr.gz: 104 samples, cpu 100000000, wall 9400000000, allocated 77746583, 21 threads
          cut stacks: true, by Datadog profiler 1.22.0
        jdk11.jfr.gz: 6 samples, samples 6, native 6, allocated 20459832, blocked 502833148, waited 4245184899, io 74520041, 14 threads
          cut stacks: false, by OpenJDK 64-Bit Server VM (11.0.13+8) for linux-amd64 JRE (11.0.13+8)
        jdk17-cut-stacks.jfr.gz: 15 samples, samples 15, native 6, allocated 32828872, allocated (buffers) 18479056, blocked 716521886, waited 3571747890, io 285472, 12 threads
          cut stacks: true, by OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1) for linux-amd64 JRE (17.0.15+6-Debian-1deb12u1)
        jdk21.jfr.gz: 16 samples, samples 16, native 6, allocated 76090784, allocated (buffers) 63914496, blocked 767551531, waited 3423499730, io 680317, 14 threads
          cut stacks: false, by OpenJDK 64-Bit Server VM (21.0.8+9-LTS) for linux-amd64 JRE (21.0.8+9-LTS)
        jdk25-killed.jfr.gz: 38 samples, samples 18, cpu 230000000, native 12, allocated 44124296, allocated (buffers) 116676856, blocked 869652461, waited 3051859899, io 873653
        1 x unfinished: the chunk at byte 0 was still being written and is read as far as it goes
        3 x lost-samples: the JVM's CPU-time sampler lost samples, 12 threads
          cut stacks: false, by OpenJDK 64-Bit Server VM (25.0.2+10-LTS) for linux-amd64 JRE (25.0.2+10-LTS)
        jdk25.jfr.gz: 30 samples, samples 16, cpu 160000000, native 6, allocated 42266488, allocated (buffers) 31330128, blocked 833284211, waited 3942881702, io 32150274, 13 threads
          cut stacks: false, by OpenJDK 64-Bit Server VM (25.0.2+10-LTS) for linux-amd64 JRE (25.0.2+10-LTS)
    "#]].assert_eq(&out);
}

/// What the files of the corpus hold, in agreement with `jfr print` (see `tests/jfr_against_jdk.rs`) and with the
/// expected outputs of Grafana's parser, but for these: it leaves out events without a stack (`object-allocation-sample`)
/// and `WallClockSleeping` (`FastSlow`), gives lock delays in ticks, and takes async-profiler's default interval of
/// 50 ms for 10 ms (`wall_tick_sample`).
#[test]
fn corpus_files_have_their_totals() {
    let mut out = String::new();
    for path in corpus_files("jfr") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let found = match read_file(&path) {
            Ok(profile) => totals(&profile),
            Err(error) => error.to_string(),
        };
        writeln!(out, "{name}: {found}").unwrap();
    }
    if out.is_empty() {
        return;
    }
    expect![[r#"
        FastSlow_2024_01_16_180855.jfr.gz: 10554 samples, wall 105540000000, allocated 4689568
        cortex-dev-01__kafka-0__cpu__0.jfr.gz: 478 samples, cpu 4780000000
        cortex-dev-01__kafka-0__cpu_lock0_alloc0__0.jfr.gz: 582 samples, cpu 5820000000, allocated 1642051408, blocked 1431762316
        event-with-type-zero.jfr.gz: 2508 samples, samples 996, cpu 15120000000, native 4500, allocated 25790699264, allocated (buffers) 25726084416, allocated (Datadog) 13015205709, old objects 65, old bytes 1669544, waited 1538131103621
        19 x unread-events: events with stacks were not read: 8 of type jdk.JavaErrorThrow, 6 of type jdk.ThreadStart, 2 of type datadog.AvailableProcessorCores, 2 of type datadog.ExceptionSample, 1 of type jdk.RetransformClasses
        example.jfr.gz: 1031 samples, cpu 10310000000, allocated 139883154160, blocked 8005192305
        goland-multichunk.jfr.gz: 1776 samples, cpu 17760000000, allocated 2695187976, blocked 11985140976
        jifa-ap-cpu-default.jfr: 1028 samples, cpu 10280000000
        jifa-ap-wall-default.jfr: 5008 samples, wall 250400000000
        jifa-jfr.jfr.gz: 1102 samples, samples 1102, native 1001, allocated 28723550528, old objects 3, blocked 33092, waited 58728876902, io 19003469969
        82 x unread-events: events with stacks were not read: 73 of type jdk.ClassLoad, 8 of type jdk.ThreadStart, 1 of type jdk.Shutdown
        jmc-7u40.jfr: jfr at byte 0: this is a recording of Oracle JDK 7 or 8 (chunk version 0.9), a format that ended with JDK 9
        jmc-8u60.jfr: jfr at byte 0: this is a recording of Oracle JDK 7 or 8 (chunk version 0.9), a format that ended with JDK 9
        jmc-9u0.jfr: 328 samples, allocated 2977296, waited 38406840316, io 9270105735
        jmc-allocation_10s_before.jfr: 756 samples, samples 756, allocated 2317352960, waited 20008085991
        jmc-allocation_10s_fixed.jfr: 738 samples, samples 738, allocated 3147776, waited 18736684061
        jmc-crash_jdk9.jfr: 0 samples
        jmc-flight_recording_17eaMonitoredVM10440_3.jfr: 598 samples, native 1, allocated 26369040, allocated (buffers) 21456864, old objects 9, blocked 3487687, waited 971792762348, io 59719143618
        82 x unread-events: events with stacks were not read: 72 of type jdk.Deserialization, 5 of type jdk.JavaExceptionThrow, 3 of type jdk.Deoptimization, 2 of type jdk.AllocationRequiringGC
        jmc-full_gc_cms.jfr: 0 samples
        jmc-hotmethods.jfr.gz: 24526 samples, samples 24526, native 4911, allocated 2073853408, old objects 5, waited 119562443628
        3498 x unread-events: events with stacks were not read: 3498 of type se.hirt.jmc.tutorial.hotmethods.WorkEvent
        jmc-jdk15.jfr: 0 samples
        3 x unread-events: events with stacks were not read: 2 of type jdk.HeapDump, 1 of type jdk.ProcessStart
        jmc-jdk18-finalizers.jfr: 0 samples
        jmc-jdk21.jfr: 11 samples, samples 11, native 2903, allocated 5135074896, allocated (buffers) 100317064, blocked 65068928, waited 373232631949
        jmc-openjdk8u292.jfr: 0 samples
        jmc-overlap.jfr: 0 samples
        1140 x unread-events: events with stacks were not read: 1140 of type org.openjdk.jmc.test.OverlappingEvent
        jmc-stringdedup_enabled_jdk9.jfr: 213 samples, samples 213, waited 8696083523
        nativemem.jfr.gz: 85 samples, malloc 34861, frees 28
        new_spancontext.jfr.gz: 472 samples, cpu 4720000000
        object-allocation-sample.jfr.gz: 1243 samples, samples 1243, allocated 32922398872, waited 707775933168
        2 x unread-events: events with stacks were not read: 1 of type com.datadog.profiling.controller.openjdk.events.SmapEntryFactory$SmapParseErrorEvent, 1 of type datadog.AvailableProcessorCores
        parse_failure_repro1.jfr.gz: 1500 samples, cpu 15000000000
        speedscope-heavy.jfr.gz: 346 samples, samples 346, native 44, allocated 878277960, old objects 15, old bytes 428173872
        3 x unread-events: events with stacks were not read: 2 of type jdk.ThreadStart, 1 of type jdk.JavaErrorThrow
        uint64-ref-id.jfr.gz: 25 samples, samples 25, allocated 175195696, allocated (buffers) 176050224, old objects 65, old bytes 4952440, waited 778281717314, io 11189464
        1 x missing-stacks: events whose stack is not in a constant pool are kept under (missing stack)
        2 x unread-events: events with stacks were not read: 1 of type com.datadog.profiling.controller.openjdk.events.SmapEntryFactory$SmapParseErrorEvent, 1 of type datadog.AvailableProcessorCores
        wall.jfr.gz: 26246 samples, wall 262460000000
        wall_tick_sample.jfr.gz: 2579 samples, wall 128950000000
    "#]].assert_eq(&out);
}

#[test]
fn damaged_recordings_never_panic() {
    let real = ["async-profiler-2.9-wall.jfr.gz", "jdk25-killed.jfr.gz", "jdk11.jfr.gz"];
    let mut inputs: Vec<Vec<u8>> = real.iter().map(|name| sample(name)).collect();
    inputs.push(drawn(Integers::Compressed));
    inputs.push([drawn(Integers::Fixed), drawn(Integers::Compressed)].concat());
    let mut readable = 0;
    for (place, input) in inputs.iter().enumerate() {
        // Damage to a small file is likelier to hit something that matters.
        let seeds = if input.len() < 10_000 { 2000 } else { 40 };
        for seed in 0..seeds {
            let bytes = damaged(input, seed * 7 + place as u64);
            readable += usize::from(read_bytes(bytes, Grain::CallSites).is_ok());
        }
    }
    assert!(readable > 1000, "damage left only {readable} files readable");
}
