//! What is written comes back, all of it, and damage is noticed.

use expect_test::expect;
use perfblame_cct::{
    Cell, Frame, FrameId, Function, FunctionShape, Grain, Info, Layer, NodeId, ProfileBuilder,
    ScriptShapes, StringId, TimedCall, TimedSample, Unit, Warning, coarsen, merge_runs,
};
use perfblame_fixtures::{damaged, draw, profile};
use proptest::prelude::*;
use std::num::NonZeroU64;
use std::sync::Arc;

use super::*;
use crate::sections::{END, write_header, write_section};

/// Everything a profile holds, comparable.
#[derive(PartialEq, Debug)]
struct Dump {
    texts: Vec<String>,
    functions: Vec<Function>,
    frames: Vec<Frame>,
    threads: Vec<Thread>,
    metrics: Vec<Metric>,
    grain: Grain,
    tree: Vec<(Option<NodeId>, FrameId)>,
    cells: Vec<Cell>,
    samples: u64,
    timeline: Option<(Vec<TimedSample>, Vec<TimedCall>)>,
    info: Info,
    warnings: Vec<Warning>,
    shapes: Vec<(StringId, ScriptShapes)>,
}

fn dump(profile: &Profile) -> Dump {
    let Profile { symbols, tree, .. } = profile;
    Dump {
        texts: (0..symbols.strings.len())
            .map(|row| symbols.text(StringId::new(row)).to_owned())
            .collect(),
        functions: symbols.functions().map(|(_, function)| *function).collect(),
        frames: symbols.frames().map(|(_, frame)| *frame).collect(),
        threads: profile.threads.clone(),
        metrics: profile.metrics.clone(),
        grain: tree.grain(),
        tree: tree.nodes().map(|node| (tree.parent(node), tree.frame(node))).collect(),
        cells: profile.cells.rows().collect(),
        samples: profile.samples,
        timeline: profile.timeline.clone().map(|timeline| (timeline.samples, timeline.calls)),
        info: profile.info.clone(),
        warnings: profile.warnings.clone(),
        shapes: symbols.all_shapes().map(|(id, script)| (id, script.clone())).collect(),
    }
}

fn written(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(profile, &mut bytes).unwrap();
    bytes
}

fn reread(bytes: &[u8], grain: Grain) -> Result<Profile, FileError> {
    let profile = read(&mut &*bytes, Times::Keep)?;
    let coarse = profile.tree.grain() <= grain;
    Ok(if coarse { profile } else { coarsen(&profile, grain) })
}

/// A profile that uses every field, made of whatever numbers come.
fn build(grain: Grain, numbers: &[u64], texts: &[String]) -> Profile {
    let mut builder = ProfileBuilder::new(grain, Times::Keep);
    let mut numbers = numbers.iter().copied();
    let text = |number: u64| texts.get(number as usize % (texts.len() + 1));
    let metrics = [
        builder.metric(Metric::sampled("wall", Unit::Nanoseconds).with_period(-7)),
        builder.metric(Metric { decimals: 3, ..Metric::exact("odd", Unit::Other("µ".into())) }),
    ];
    let mut stack: Vec<FrameId> = Vec::new();
    while let Some(number) = numbers.next() {
        let name = builder.string(text(number).map_or("", String::as_str));
        let optional = text(number / 3).map(|text| builder.string(text));
        let layer = Layer::ALL[number as usize % Layer::ALL.len()];
        let odd = !number.is_multiple_of(2);
        let function = builder.function(Function {
            name,
            component: optional,
            signature: optional.filter(|_| odd),
            file: optional.filter(|_| !odd),
            line: perfblame_cct::position(number % 50),
            column: perfblame_cct::position(number % 7),
            layer,
        });
        if let Some(script) = optional.filter(|_| number % 3 == 0) {
            let shape = |row: u32| FunctionShape {
                line: number as u32,
                column: row,
                parent: row.checked_sub(1 + number as u32 % 3),
                hash: number.wrapping_mul(u64::from(row) + 1),
                size: row,
                sketch: (0..row).map(|mark| mark << 7).collect(),
            };
            let functions = (0..number as u32 % 5).map(shape).collect();
            builder.symbols.set_shapes(script, Arc::new(ScriptShapes { functions }));
        }
        let frame = builder.frame(Frame {
            function,
            file: optional.filter(|_| odd),
            line: perfblame_cct::position(number % 90),
            column: perfblame_cct::position(number % 5),
            bytecode: (number % 3 == 0).then_some(number as u32),
            address: NonZeroU64::new(number),
            inlined: odd,
            call_site: None,
        });
        stack.truncate(number as usize % 6);
        stack.push(frame);
        let id = Some(number).filter(|_| odd);
        let thread = Thread { name, process: optional, pid: id, tid: Some(number), group: None };
        let thread = Some(builder.thread(thread)).filter(|_| number % 4 != 0);
        let value = numbers.next().unwrap_or(1) as i64;
        let metric = metrics[usize::from(odd)];
        let at = builder.stack(&stack).unwrap();
        builder.add(at, thread, metric, value);
        builder.time_sample(value, at, thread, metric, number as i64);
        builder.time_call(value.wrapping_sub(9), value, at, thread);
        builder.count_samples(number % 10);
        builder.warn(text(number % 5).map_or("-", String::as_str), || format!("warning {number}"));
        builder.info.started = Some(value);
        builder.info.duration = Some(number as i64).filter(|_| odd);
        builder.info.producer = text(number / 2).cloned();
        builder.info.command = text(number / 5).cloned();
    }
    builder.info.labels = texts.iter().map(|text| (text.clone(), format!("{text}!"))).collect();
    builder.finish()
}

fn grains() -> impl Strategy<Value = Grain> {
    prop_oneof![Just(Grain::Functions), Just(Grain::CallSites), Just(Grain::Frames)]
}

proptest! {
    #[test]
    fn whatever_is_written_comes_back(
        grain in grains(),
        numbers in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..40], 0..120),
        texts in prop::collection::vec(".{0,9}", 0..9),
    ) {
        let profile = build(grain, &numbers, &texts);
        let again = reread(&written(&profile), grain).unwrap();
        prop_assert_eq!(dump(&again), dump(&profile));
    }

    #[test]
    fn a_coarser_grain_keeps_totals_and_tree(
        numbers in prop::collection::vec(prop_oneof![any::<u32>().prop_map(u64::from), 0u64..40], 0..120),
        texts in prop::collection::vec(".{0,9}", 0..9),
    ) {
        let fine = written(&build(Grain::Frames, &numbers, &texts));
        for grain in [Grain::Functions, Grain::CallSites] {
            let made = reread(&fine, grain).unwrap();
            let direct = build(grain, &numbers, &texts);
            prop_assert_eq!(sorted_lines(&made), sorted_lines(&direct));
            prop_assert_eq!(made.tree.grain(), grain);
            prop_assert_eq!(made.samples, direct.samples);
            prop_assert_eq!(
                made.timeline.map(|timeline| timeline.calls.len()),
                direct.timeline.map(|timeline| timeline.calls.len())
            );
        }
    }
}

/// Siblings of one name may stand in either order, as the finer tree has its own.
fn sorted_lines(profile: &Profile) -> Vec<String> {
    let mut lines: Vec<_> = draw(profile).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn sample() -> Vec<u8> {
    let texts: Vec<String> = ["main", "parse", "alloc"].map(str::to_owned).to_vec();
    let numbers: Vec<u64> =
        (0..600u64).map(|n| n.wrapping_mul(n).wrapping_mul(2_654_435)).collect();
    written(&build(Grain::Frames, &numbers, &texts))
}

#[test]
fn damaged_files_are_errors_and_never_panic() {
    let good = sample();
    let mut refused = 0;
    for seed in 0..600 {
        let bytes = damaged(&good, seed);
        if bytes == good || !bytes.starts_with(sections::MAGIC) {
            continue;
        }
        if let Ok(profile) = reread(&bytes, Grain::Frames) {
            // Only what lies behind the end mark, or in the reserved bytes, may differ.
            let original = reread(&good, Grain::Frames).unwrap();
            assert_eq!(dump(&profile), dump(&original), "seed {seed}");
        } else {
            refused += 1;
        }
    }
    // Nearly all: every section has a checksum. What lies behind the checksums is tested below.
    assert!(refused > 500, "{refused} were refused");
}

/// Damage that checksums cannot see, as they are right again.
#[test]
fn a_wrong_writer_is_an_error_and_never_a_panic() {
    let good = sample();
    let mut file = &good[..];
    sections::read_header(&mut file).unwrap();
    let sections = sections::read_sections(&mut file, |_| true).unwrap();
    let (mut readable, mut refused) = (0, 0);
    for seed in 0..400u64 {
        let mut bytes = Vec::new();
        write_header(VERSION, &mut bytes).unwrap();
        for (row, section) in sections.iter().enumerate() {
            let body = if row as u64 == seed % sections.len() as u64 {
                damaged(&section.body, seed)
            } else {
                section.body.clone()
            };
            write_section(section.tag, section.run, &body, &mut bytes).unwrap();
        }
        write_section(END, 0, &[], &mut bytes).unwrap();
        *if reread(&bytes, Grain::Functions).is_ok() { &mut readable } else { &mut refused } += 1;
    }
    assert!(readable > 0 && refused > 0, "{readable} were read, {refused} were refused");
}

#[test]
fn cutting_a_file_anywhere_is_noticed() {
    let good = written(&profile("main main\nparse ."));
    for length in sections::MAGIC.len()..good.len() {
        assert!(reread(&good[..length], Grain::Functions).is_err(), "{length} bytes");
    }
}

fn check_error(bytes: &[u8], expected: &expect_test::Expect) {
    let error = reread(bytes, Grain::Functions).unwrap_err();
    expected.assert_eq(&format!("{error}\nhelp: {}\n", error.help.unwrap_or("-")));
}

#[test]
fn errors_say_what_and_where() {
    let good = written(&profile("main main\nparse ."));
    let mut newer = good.clone();
    newer[10] = 7;
    check_error(
        &newer,
        &expect![[r#"
            at byte 10: the file has version 7, but this perfblame reads versions only up to 1
            help: update perfblame
        "#]],
    );
    let mut flipped = good.clone();
    let at = flipped.windows(4).position(|window| window == fields::STRINGS).unwrap();
    flipped[at + 40] ^= 1;
    check_error(
        &flipped,
        &expect![[r"
            at byte 16: section `STRS` is damaged: its checksum differs
            help: get the file again, or convert the original profile again
        "]],
    );
    check_error(
        &good[..good.len() - 30],
        &expect![[r"
        at byte 551: a record needs 28 bytes, 7 left
        help: the file looks cut off; get it again, or convert the original profile again
    "]],
    );
}

#[test]
fn a_section_nobody_knows_is_stepped_over() {
    let good = written(&profile("main main\nparse ."));
    let end = good.windows(4).rposition(|window| window == END).unwrap();
    let mut bytes = good[..end].to_vec();
    write_section(*b"XTRA", 0, b"from the future", &mut bytes).unwrap();
    write_section(END, 0, &[], &mut bytes).unwrap();
    expect![[r"
        main 2 1
          parse 1 1
    "]]
    .assert_eq(&draw(&reread(&bytes, Grain::Functions).unwrap()));
}

/// The mechanism of upgrades, with versions that never were.
#[test]
fn a_file_passes_through_every_upgrade_from_its_version_on() {
    fn with(sections: &mut Vec<Section>, number: u8) {
        sections.push(Section { tag: *b"TEST", run: 0, offset: 0, body: vec![number] });
    }
    let upgrades: [Upgrade; 3] = [
        |sections| {
            with(sections, 1);
            Ok(())
        },
        |sections| {
            with(sections, 2);
            Ok(())
        },
        |sections| Err(sections[0].malformed("cannot be upgraded")),
    ];
    let upgraded = |version, upgrades: &[Upgrade]| {
        let mut sections = Vec::new();
        upgrade(&mut sections, version, upgrades)
            .map(|()| sections.iter().map(|section| section.body[0]).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    };
    assert_eq!(upgraded(1, &upgrades[..2]), Ok(vec![1, 2]));
    assert_eq!(upgraded(2, &upgrades[..2]), Ok(vec![2]));
    assert_eq!(upgraded(3, &upgrades[..2]), Ok(vec![]));
    assert!(upgraded(1, &upgrades).unwrap_err().contains("cannot be upgraded"));
}

/// What the samples of version 1 hold.
fn version_1() -> (Profile, RunSet) {
    let texts: Vec<String> = ["main", "parse", "ä;\n"].map(str::to_owned).to_vec();
    let numbers: Vec<u64> = (1..90u64).map(|n| n.wrapping_mul(n).wrapping_mul(0x9e37)).collect();
    let runs = [1, 2].map(|run| build(Grain::CallSites, &numbers[run..run * 20], &texts));
    (build(Grain::Frames, &numbers, &texts), merge_runs(runs.to_vec()))
}

/// The samples were written once, by the version in their names. A new version adds files and leaves these alone.
#[test]
fn files_of_every_version_are_read() {
    let folder = perfblame_fixtures::samples().join("perfblame_file");
    let (profile, runs) = version_1();
    let stored = std::fs::read(folder.join("version-1.perfblame")).unwrap();
    assert_eq!(
        perfblame_cct::dump(&reread(&stored, Grain::Frames).unwrap()),
        perfblame_cct::dump(&profile)
    );
    let stored = std::fs::read(folder.join("version-1-runs.perfblame")).unwrap();
    let stored = read_runs(&mut &stored[..], Times::Keep).unwrap();
    assert_eq!(stored.runs.len(), 2);
    for run in 0..2 {
        assert_eq!(
            perfblame_cct::dump(&stored.profile(run).unwrap()),
            perfblame_cct::dump(&runs.profile(run).unwrap())
        );
    }
}

proptest! {
    #[test]
    fn runs_come_back_apart_and_add_up(
        runs in prop::collection::vec(prop::collection::vec(any::<u32>().prop_map(u64::from), 0..30), 0..5),
    ) {
        let texts: Vec<String> = ["main", "parse", "alloc"].map(str::to_owned).to_vec();
        let profiles = runs.iter().map(|numbers| build(Grain::Frames, numbers, &texts)).collect();
        let set = merge_runs(profiles);
        let mut bytes = Vec::new();
        write_runs(&set, &mut bytes).unwrap();
        let again = read_runs(&mut &bytes[..], Times::Keep).unwrap();
        prop_assert_eq!(again.runs.len(), set.runs.len());
        for run in 0..set.runs.len() {
            prop_assert_eq!(dump(&again.profile(run).unwrap()), dump(&set.profile(run).unwrap()));
        }
        prop_assert_eq!(dump(&reread(&bytes, Grain::Frames).unwrap()), dump(&set.sum()));
    }
}
