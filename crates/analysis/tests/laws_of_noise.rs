//! What must hold of every comparison, whatever the model: on drawn runs, through the one way to ask.
#![allow(clippy::unwrap_used, reason = "a test that cannot compare has failed")]

use std::fmt::Write as _;

use perfblame_analysis::{
    Ask, CompareQuestion, Diff, Sides, Source, SuspectKind, Verdict, compare,
};
use perfblame_fixtures::Random;
use proptest::prelude::*;

/// Functions of the drawn program, each below its caller, with their usual samples.
const PROGRAM: [(&str, f64); 14] = [
    ("main;read;open", 40.0),
    ("main;read;fill", 300.0),
    ("main;read;check", 90.0),
    ("main;parse;lex", 700.0),
    ("main;parse;tree", 420.0),
    ("main;parse;names", 150.0),
    ("main;solve;order", 60.0),
    ("main;solve;step", 900.0),
    ("main;solve;step;norm", 240.0),
    ("main;solve;step;scale", 120.0),
    ("main;write;format", 260.0),
    ("main;write;flush", 33.0),
    ("main;write;close", 12.0),
    ("main;log", 80.0),
];

/// Runs of the program: factors for the machine and for each function, then samples.
struct Draw<'a> {
    random: &'a mut Random,
    machine: f64,
    function: f64,
}

impl Draw<'_> {
    fn run(&mut self, change: &dyn Fn(&str) -> f64, extra: &[(&str, f64)]) -> String {
        let mut text = String::new();
        let machine = (self.machine * self.random.normal()).exp();
        let usual = PROGRAM.iter().map(|(stack, cost)| (*stack, cost * change(stack)));
        for (stack, cost) in usual.chain(extra.iter().copied()) {
            let mean = cost * machine * (self.function * self.random.normal()).exp();
            let samples = (mean + mean.sqrt() * self.random.normal()).round().max(0.0);
            let _ = writeln!(text, "{stack} {samples}");
        }
        text
    }

    fn side(
        &mut self,
        runs: usize,
        change: &dyn Fn(&str) -> f64,
        extra: &[(&str, f64)],
    ) -> Vec<String> {
        (0..runs).map(|_| self.run(change, extra)).collect()
    }
}

fn ask(before: &[String], after: &[String]) -> Diff {
    let side = |runs: &[String]| -> Vec<Source> {
        (1..)
            .zip(runs)
            .map(|(number, text)| {
                Source::bytes(format!("{number}.folded"), text.clone().into_bytes())
            })
            .collect()
    };
    let sources = Sides::new(side(before), side(after));
    compare(&CompareQuestion { sources, ..CompareQuestion::default() }, &Ask::default()).unwrap()
}

fn first(diff: &Diff) -> Option<&str> {
    diff.suspects.first().map(|suspect| suspect.function.name.as_str())
}

fn as_usual(_: &str) -> f64 {
    1.0
}

/// More runs never hurt: over many draws, power grows with the number of runs.
#[test]
fn power_grows_with_the_number_of_runs() {
    let slower = |stack: &str| if stack.ends_with("tree") { 1.25 } else { 1.0 };
    let mut last = 0;
    for runs in [2, 3, 5, 8] {
        let mut random = Random::new(41);
        let mut draw = Draw { random: &mut random, machine: 0.05, function: 0.06 };
        let found = (0..60)
            .filter(|_| {
                let before = draw.side(runs, &as_usual, &[]);
                let after = draw.side(runs, &slower, &[]);
                first(&ask(&before, &after)) == Some("tree")
            })
            .count();
        assert!(found + 2 >= last, "{found} of 60 with {runs} runs, {last} with fewer");
        last = found;
    }
    assert!(last >= 55, "{last} of 60 with 8 runs");
}

/// What one run shows, two runs show.
#[test]
fn two_runs_find_what_one_run_guesses() {
    let slower = |stack: &str| if stack.ends_with("fill") { 2.5 } else { 1.0 };
    let found = [1, 2, 3].map(|runs| {
        let mut random = Random::new(46);
        let mut draw = Draw { random: &mut random, machine: 0.1, function: 0.1 };
        (0..40)
            .filter(|_| {
                let before = draw.side(runs, &as_usual, &[]);
                let diff = ask(&before, &draw.side(runs, &slower, &[]));
                first(&diff) == Some("fill") && (runs == 1 || diff.verdict == Verdict::Regressed)
            })
            .count()
    });
    assert!(found[0] <= found[1] && found[1] <= found[2] && found[1] >= 39, "{found:?}");
}

/// A function that was nothing in every run before and is there in every run after is a finding, however much whole runs
/// scatter.
#[test]
fn new_is_new() {
    let mut random = Random::new(42);
    let mut draw = Draw { random: &mut random, machine: 0.4, function: 0.1 };
    for _ in 0..40 {
        let before = draw.side(3, &as_usual, &[]);
        let mut after = draw.side(3, &as_usual, &[]);
        for (run, samples) in after.iter_mut().zip([59, 59, 66]) {
            let _ = writeln!(run, "main;write;audit {samples}");
        }
        let diff = ask(&before, &after);
        let audit = diff.suspects.iter().find(|suspect| suspect.function.name == "audit");
        let audit = audit.unwrap_or_else(|| panic!("{:?} {:?}", diff.suspects, diff.moved));
        assert_eq!(audit.kind, SuspectKind::New);
    }
}

/// A new function is the suspect, not its only expensive callee; the answer says who takes the time.
#[test]
fn a_new_function_answers_for_its_callee() {
    let mut random = Random::new(47);
    let mut draw = Draw { random: &mut random, machine: 0.03, function: 0.03 };
    let before = draw.side(3, &as_usual, &[]);
    for extra in [
        &[("main;parse;known;strcmp", 300.0)][..],
        // A function that others call, too.
        &[("main;parse;known;norm", 300.0)],
        &[
            ("main;parse;known;strcmp", 90.0),
            ("main;parse;known;strlen", 80.0),
            ("main;parse;known;memcpy", 70.0),
        ],
    ] {
        let diff = ask(&before, &draw.side(3, &as_usual, extra));
        assert_eq!(first(&diff), Some("known"), "{extra:?}: {:?}", diff.suspects);
        let suspect = &diff.suspects[0];
        assert_eq!(suspect.kind, SuspectKind::New);
        let callee = extra[0].0.rsplit(';').next().unwrap();
        let said = suspect.notes.iter().any(|note| note.contains(callee));
        assert_eq!(said, extra.len() == 1, "{:?}", suspect.notes);
    }
}

/// With one run on each side the page is never empty where something changed, and says that it guesses.
#[test]
fn one_run_gives_a_guess() {
    let mut random = Random::new(43);
    let mut draw = Draw { random: &mut random, machine: 0.03, function: 0.03 };
    let slower = |stack: &str| if stack.ends_with("lex") { 1.2 } else { 1.0 };
    let mut right = 0;
    for _ in 0..30 {
        let before = draw.side(1, &as_usual, &[]);
        let diff = ask(&before, &draw.side(1, &slower, &[]));
        assert!(!diff.suspects.is_empty());
        assert!(diff.suspects.iter().all(|suspect| suspect.p_value.is_none()));
        assert!(diff.warnings.iter().any(|warning| warning.code == "few-runs"));
        right += u32::from(first(&diff) == Some("lex"));
    }
    assert!(right >= 27, "{right} of 30");
}

/// False alarms on identical code: at most one in twenty, from two runs on each side on.
#[test]
fn identical_code_raises_few_alarms() {
    let mut random = Random::new(44);
    for runs in [2, 3, 5, 8] {
        for machine in [0.02, 0.15] {
            let mut draw = Draw { random: &mut random, machine, function: 0.08 };
            let alarms = (0..100)
                .filter(|_| {
                    let (before, after) =
                        (draw.side(runs, &as_usual, &[]), draw.side(runs, &as_usual, &[]));
                    let diff = ask(&before, &after);
                    diff.verdict == Verdict::Regressed || !diff.suspects.is_empty()
                })
                .count();
            assert!(alarms <= 5, "{alarms} of 100 with {runs} runs, machine {machine}");
        }
    }
}

/// The number of runs that would tell is larger than the runs at hand.
#[test]
fn runs_needed_are_more_than_there_are() {
    let mut random = Random::new(45);
    let mut draw = Draw { random: &mut random, machine: 0.3, function: 0.2 };
    let slower = |_: &str| 1.25;
    let mut said = 0;
    for _ in 0..60 {
        let diff = ask(&draw.side(3, &as_usual, &[]), &draw.side(3, &slower, &[]));
        if let Some(needed) = diff.runs_needed {
            assert!(needed > 3, "{needed}");
            said += 1;
        }
    }
    assert!(said > 10, "{said} of 60 said how many");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// All runs after at least twice all runs before: never *no difference*, never *cannot tell*.
    #[test]
    fn twice_is_slower(seed in 0u64..1_000_000, runs in 2usize..5, factor in 2.0f64..9.0, machine in 0.0f64..0.5) {
        let mut random = Random::new(seed);
        let mut draw = Draw { random: &mut random, machine, function: 0.05 };
        let before = draw.side(runs, &as_usual, &[]);
        let total = |run: &String| -> f64 {
            run.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
        };
        let most = before.iter().map(total).fold(0.0, f64::max);
        let after: Vec<String> = (0..runs)
            .map(|_| {
                let run = draw.run(&as_usual, &[]);
                let scale = most * factor * 1.02 / total(&run);
                let mut text = String::new();
                for line in run.lines() {
                    let (stack, samples) = line.rsplit_once(' ').unwrap();
                    let samples = (samples.parse::<f64>().unwrap() * scale).round();
                    let _ = writeln!(text, "{stack} {samples}");
                }
                text
            })
            .collect();
        let diff = ask(&before, &after);
        prop_assert_eq!(diff.verdict, Verdict::Regressed);
        prop_assert!(diff.change.low > 0.0, "{:?}", diff.change);
        let mirrored = ask(&after, &before);
        prop_assert_eq!(mirrored.verdict, Verdict::Improved);
    }

    /// Interval, p and verdict agree.
    #[test]
    fn interval_p_and_verdict_agree(seed in 0u64..1_000_000, runs in 2usize..6, factor in 0.7f64..1.5) {
        let mut random = Random::new(seed);
        let mut draw = Draw { random: &mut random, machine: 0.05, function: 0.05 };
        let slower = |_: &str| factor;
        let diff = ask(&draw.side(runs, &as_usual, &[]), &draw.side(runs, &slower, &[]));
        let p = diff.p_value.unwrap();
        let zero = diff.change.low <= 0.0 && diff.change.high >= 0.0;
        if (p - 0.05).abs() > 1e-6 {
            prop_assert!(zero == (p > 0.05), "{p} {:?}", diff.change);
        }
        match diff.verdict {
            Verdict::Regressed if diff.suspects.is_empty() => prop_assert!(diff.change.low > 0.0),
            Verdict::Improved if diff.improvements.is_empty() => prop_assert!(diff.change.high < 0.0),
            Verdict::Unchanged => prop_assert!(zero || diff.change.median.abs() < diff.threshold),
            _ => {}
        }
        for suspect in &diff.suspects {
            prop_assert!(suspect.delta.low > 0.0 && suspect.share <= 1.0, "{suspect:?}");
        }
        prop_assert!(diff.suspects.iter().map(|suspect| suspect.share).sum::<f64>() <= 1.0 + 1e-9);
    }

    /// Sides swapped: the same answer, mirrored.
    #[test]
    fn sides_swapped(seed in 0u64..1_000_000, runs in 2usize..5) {
        let mut random = Random::new(seed);
        let mut draw = Draw { random: &mut random, machine: 0.05, function: 0.05 };
        let slower = |stack: &str| if stack.ends_with("fill") { 1.8 } else { 1.0 };
        let (before, after) = (draw.side(runs, &as_usual, &[]), draw.side(runs, &slower, &[]));
        let (there, back) = (ask(&before, &after), ask(&after, &before));
        let names = |of: &[perfblame_analysis::Suspect]| -> Vec<String> {
            of.iter().map(|suspect| suspect.function.name.clone()).collect()
        };
        // Only what got slower is asked whether it moved.
        let all = |diff: &Diff| -> Vec<String> {
            let mut names = [names(&diff.suspects), names(&diff.moved)].concat();
            names.sort();
            names
        };
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        prop_assert_eq!(all(&there), sorted(names(&back.improvements)));
        prop_assert_eq!(sorted(names(&there.improvements)), all(&back));
        prop_assert!((there.change.median + back.change.median).abs() < 1e-6);
        prop_assert!((there.p_value.unwrap() - back.p_value.unwrap()).abs() < 1e-6);
    }
}
