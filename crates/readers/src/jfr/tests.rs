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
    read(Input::from_bytes(bytes)?, &ReadOptions { grain, times: Times::Keep })
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
    let expected = expect![[r#"
        (missing stack) 1 1
        (no stack) 1 1
        (truncated) 1 0
          Main.parse 1 1
        Main.main 2 0
          a.Deep$$Lambda/0x1.run 2 0
            Main.parse 2 2

        5 samples, samples 5, waited 3000
        1 x missing-stacks: events whose stack is in no constant pool are kept under (missing stack)"#]];
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
    expect![[""]].assert_eq(&out);
}

#[test]
fn files_one_after_the_other_are_a_file() {
    let twice = [drawn(Integers::Compressed), drawn(Integers::Fixed)].concat();
    let profile = read_bytes(twice, Grain::Functions).unwrap();
    expect![[""]].assert_eq(&totals(&profile));
    assert_eq!(profile.info.duration, Some(4_000_000_000));
}

#[test]
fn a_file_that_is_cut_off_is_read_as_far_as_it_goes() {
    let whole = drawn(Integers::Compressed);
    // The drawn chunk has its metadata at the end, and nothing can be read without.
    check(whole[..whole.len() - 10].to_vec(), &expect![[""]]);
    let two = [whole.clone(), whole[..whole.len() - 10].to_vec()].concat();
    check(two, &expect![[""]]);
    let jdk = sample("jdk21.jfr.gz");
    let profile = read_bytes(jdk[..jdk.len() - 1000].to_vec(), Grain::Functions).unwrap();
    expect![[""]].assert_eq(&totals(&profile));
}

#[test]
fn a_damaged_record_costs_little() {
    let mut bytes = drawn(Integers::Compressed);
    // The size of the first event: the walk goes on at the checkpoint.
    bytes[68] = 0;
    check(bytes, &expect![[""]]);
}

#[test]
fn a_size_that_swallows_the_next_chunk_does_no_harm() {
    let mut bytes = [drawn(Integers::Compressed), drawn(Integers::Compressed)].concat();
    let both = bytes.len() as u64;
    bytes[8..16].copy_from_slice(&both.to_be_bytes());
    let profile = read_bytes(bytes, Grain::Functions).unwrap();
    expect![[""]].assert_eq(&totals(&profile));
}

#[test]
fn bytes_between_chunks_are_counted() {
    let one = drawn(Integers::Compressed);
    let bytes = [one.clone(), b"rubbish".to_vec(), one].concat();
    let profile = read_bytes(bytes, Grain::Functions).unwrap();
    expect![[""]].assert_eq(&totals(&profile));
}

#[test]
fn recordings_of_old_jdks_get_a_clear_error() {
    let mut bytes = drawn(Integers::Compressed);
    bytes[4..8].copy_from_slice(&[0, 0, 0, 9]);
    check(bytes, &expect![[""]]);
}

#[test]
fn a_recording_that_never_reached_its_first_flush_gets_a_clear_error() {
    let mut bytes = drawn(Integers::Compressed)[..200].to_vec();
    bytes[8..32].fill(0);
    bytes[64] = 1;
    check(bytes, &expect![[""]]);
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
        writeln!(out, "  cut stacks: {truncated}, {:?}", profile.info.producer).unwrap();
    }
    expect![[""]].assert_eq(&out);
}

/// What the files of the corpus hold, in agreement with `jfr print` (see `tests/jfr_against_jdk.rs`) and, where it has
/// an opinion, with the expected outputs of Grafana's parser.
const CORPUS: &[(&str, &str)] = &[];

#[test]
fn corpus_files_have_their_totals() {
    for path in corpus_files("jfr") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let found = match read_file(&path) {
            Ok(profile) => totals(&profile),
            Err(error) => error.to_string(),
        };
        let expected = CORPUS.iter().find(|(known, _)| *known == name).map(|(_, totals)| *totals);
        assert_eq!(Some(found.as_str()), expected, "{name}");
    }
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
        let seeds = if input.len() < 10_000 { 2000 } else { 100 };
        for seed in 0..seeds {
            let bytes = damaged(input, seed * 7 + place as u64);
            readable += usize::from(read_bytes(bytes, Grain::CallSites).is_ok());
        }
    }
    assert!(readable > 1000, "damage left only {readable} files readable");
}
