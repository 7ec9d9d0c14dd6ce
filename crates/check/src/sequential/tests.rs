//! Checks of programs that do not exist: how often the same code is called changed, and a slower one found.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use perfblame_analysis::{LoadOptions, Source, load};
use perfblame_cct::{Grain, Layer, Metric, ProfileBuilder, Times, Unit};

use super::*;

/// A small generator of random numbers (splitmix64): the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        // Twelve uniform numbers: close enough, and the same everywhere.
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// A program of a few functions whose runs scatter: as a whole, each function on its own, and by being sampled.
struct Program {
    random: Random,
    /// How much whole runs and functions scatter, as parts.
    scatter: (f64, f64),
    /// What one function costs more after.
    slower: f64,
    looks: u32,
}

/// Samples of each function in a typical run.
const COSTS: [(&str, f64); 8] = [
    ("main", 5.0),
    ("read", 40.0),
    ("lex", 120.0),
    ("parse", 200.0),
    ("check", 90.0),
    ("lower", 60.0),
    ("emit", 150.0),
    ("write", 30.0),
];

impl Runs for Program {
    fn run(&mut self, side: Side, _: u32) -> Result<Reading, Failure> {
        let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        let metric = builder.metric(Metric {
            period: Some(1_000_000),
            ..Metric::sampled("cpu", Unit::Nanoseconds)
        });
        let whole = (self.random.normal() * self.scatter.0).exp();
        let main = builder.named_frame("main", Layer::Application);
        let root = builder.root(main);
        for (name, cost) in COSTS {
            let mut cost = cost * whole * (self.random.normal() * self.scatter.1).exp();
            if name == "parse" && side == Side::After {
                cost *= 1.0 + self.slower;
            }
            let samples = (cost + cost.sqrt() * self.random.normal()).round().max(0.0);
            let frame = builder.named_frame(name, Layer::Application);
            let at = if name == "main" { root } else { builder.child(root, frame) };
            builder.add(at, None, metric, samples as i64 * 1_000_000);
            builder.count_samples(samples as u64);
        }
        let profile = builder.finish();
        Ok(Box::new(|| Ok(profile)))
    }

    fn has_time(&mut self, _: u32) -> bool {
        true
    }

    fn looked(&mut self, _: u32, _: Verdict, _: bool) {
        self.looks += 1;
    }
}

fn plan() -> Plan {
    Plan {
        min_runs: 3,
        max_runs: 20,
        false_alarm: FALSE_ALARM,
        precision: 0.05,
        query: DiffQuery::default(),
        set_by: SetBy::Config,
    }
}

/// How many of so many checks say that something changed, and how many runs of each side they take.
fn check_many(checks: u64, scatter: (f64, f64), slower: f64) -> (u64, f64) {
    let (mut changed, mut runs) = (0, 0);
    // Seeds by which nothing was set.
    for seed in 100_000..100_000 + checks {
        let random = Random(seed * 7919 + 17);
        let mut program = Program { random, scatter, slower, looks: 0 };
        let mut sides = CollectedRuns::default();
        let decided = decide(&plan(), &mut sides, &mut program, &Ask::default()).unwrap();
        changed +=
            u64::from(matches!(decided.diff.verdict, Verdict::Regressed | Verdict::Improved));
        runs += sides.done();
    }
    (changed, f64::from(runs) / checks as f64)
}

#[test]
fn looks_are_few_and_fixed() {
    assert_eq!(plan().looks(), [3, 5, 8, 12, 20]);
    assert_eq!(Plan { min_runs: 5, max_runs: 5, ..plan() }.looks(), [5]);
    assert_eq!(Plan { min_runs: 2, max_runs: 4, ..plan() }.looks(), [2, 3, 4]);
}

#[test]
fn runs_alternate() {
    use Side::{After as B, Before as A};
    let order: Vec<Side> = (0..4).flat_map(order).collect();
    assert_eq!(order, [A, B, B, A, A, B, B, A]);
}

#[test]
fn the_same_code_is_rarely_called_changed() {
    for scatter in [(0.01, 0.01), (0.05, 0.03), (0.15, 0.05)] {
        let (changed, runs) = check_many(200, scatter, 0.0);
        println!("scatter {scatter:?}: {changed} of 200 false alarms, {runs:.1} runs");
        assert!(changed <= 10, "{scatter:?}: {changed} of 200");
    }
}

#[test]
fn a_slower_function_is_found() {
    for (scatter, slower) in [((0.01, 0.01), 0.3), ((0.05, 0.03), 0.5)] {
        let (changed, runs) = check_many(60, scatter, slower);
        println!("scatter {scatter:?}, {slower} slower: {changed} of 60, {runs:.1} runs");
        assert!(changed >= 57, "{scatter:?}: {changed} of 60");
    }
}

#[test]
fn no_time_means_the_answer_so_far() {
    struct Hurried(Program);
    impl Runs for Hurried {
        fn run(&mut self, side: Side, number: u32) -> Result<Reading, Failure> {
            self.0.run(side, number)
        }
        fn has_time(&mut self, done: u32) -> bool {
            done < 4
        }
        fn looked(&mut self, _: u32, _: Verdict, _: bool) {}
    }
    let random = Random(5);
    let mut runs = Hurried(Program { random, scatter: (0.3, 0.2), slower: 0.1, looks: 0 });
    let mut sides = CollectedRuns::default();
    let decided = decide(&plan(), &mut sides, &mut runs, &Ask::default()).unwrap();
    assert_eq!((sides.done(), decided.ended), (4, Ended::Budget));
}

#[test]
fn stored_runs_are_not_made_again() {
    let random = Random(3);
    let mut program = Program { random, scatter: (0.01, 0.01), slower: 3.0, looks: 0 };
    let mut sides = CollectedRuns::default();
    let decided = decide(&plan(), &mut sides, &mut program, &Ask::default()).unwrap();
    assert_eq!((decided.diff.verdict, decided.ended), (Verdict::Regressed, Ended::Clear));
    let done = sides.done();
    let again = decide(&plan(), &mut sides, &mut program, &Ask::default()).unwrap();
    assert_eq!((again.diff.verdict, sides.done()), (Verdict::Regressed, done));
}

#[test]
fn how_often_runs_were_looked_at_changes_no_answer() {
    let random = Random(11);
    let mut program = Program { random, scatter: (0.05, 0.03), slower: 0.5, looks: 0 };
    let ask = Ask::default();
    let (mut looked, mut unlooked) = (CollectedRuns::default(), CollectedRuns::default());
    for pair in 0..6 {
        for side in order(pair) {
            let profile = program.run(side, pair).unwrap()().unwrap();
            looked.add(side, profile.clone(), format!("run {pair}"));
            unlooked.add(side, profile, format!("run {pair}"));
        }
        looked.compare(&plan().query, &ask).unwrap();
    }
    let query = plan().query;
    assert_eq!(looked.compare(&query, &ask).unwrap(), unlooked.compare(&query, &ask).unwrap());
    assert_eq!((looked.done(), unlooked.done()), (6, 6));
}

/// Runs that leave a large profile each.
struct Large {
    text: Arc<[u8]>,
    ask: Ask,
    /// How many were read to their ends.
    read: Arc<AtomicU32>,
}

impl Runs for Large {
    fn run(&mut self, _: Side, _: u32) -> Result<Reading, Failure> {
        let source = Source::Bytes { name: "large".to_owned(), bytes: Arc::clone(&self.text) };
        let (ask, read) = (self.ask.clone(), Arc::clone(&self.read));
        Ok(Box::new(move || {
            let loaded = load(&[source], LoadOptions::default(), &ask)?;
            read.fetch_add(1, Ordering::Relaxed);
            loaded.runs.profile(0).ok_or_else(|| Failure::new("there is no run", ""))
        }))
    }

    fn has_time(&mut self, _: u32) -> bool {
        true
    }

    fn looked(&mut self, _: u32, _: Verdict, _: bool) {}
}

#[test]
fn cancelling_ends_the_reading_of_a_profile() {
    let mut text = String::new();
    for row in 0..60_000 {
        writeln!(text, "main;serve_{};handle_{};work_{row} 1", row % 7, row % 211).unwrap();
    }
    let size = text.len() as u64;
    // Somewhere in the second profile.
    let ask = Ask::watched(move |at| {
        if at.bytes > size * 5 / 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let mut runs = Large {
        text: Arc::from(text.into_bytes()),
        ask: ask.clone(),
        read: Arc::new(AtomicU32::new(0)),
    };
    let failure = decide(&plan(), &mut CollectedRuns::default(), &mut runs, &ask).unwrap_err();
    assert!(failure.cancelled, "{failure:?}");
    assert_eq!(runs.read.load(Ordering::Relaxed), 1, "the second one was not read to its end");
    let bytes = ask.progress().bytes;
    assert!(bytes < size * 2, "{bytes} bytes of two profiles with {size} bytes each");
}

#[test]
fn cancelling_ends_a_comparison() {
    let mut program = Program { random: Random(7), scatter: (0.01, 0.01), slower: 3.0, looks: 0 };
    let ask = Ask::watched(|at| match at.phase {
        perfblame_analysis::Phase::Matching => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let failure = decide(&plan(), &mut CollectedRuns::default(), &mut program, &ask).unwrap_err();
    assert!(failure.cancelled, "{failure:?}");
    assert_eq!(program.looks, 0);
}
