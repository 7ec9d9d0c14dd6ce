//! Sentences against the data: what must hold for every answer, drawn or recorded.

use std::path::{Path, PathBuf};

use perfblame_analysis::{
    Ask, Diff, DiffQuery, LoadOptions, Loaded, Source, SuspectKind, Verdict, diff, expand, load,
};
use perfblame_cct::{Layer, Metric, Unit, merge_runs};
use perfblame_fixtures::{profile, recordings};
use proptest::prelude::*;

use super::tests::{MS, answer, runtime, suspect};
use super::*;

/// All that a sentence says against its answer.
fn against(diff: &Diff) -> Vec<String> {
    let said = Headline::of(diff, Words::of(diff, true));
    let mut wrong = broken(diff, &said.text());
    let unchanged = diff.verdict == Verdict::Unchanged;
    if said.title.starts_with("No ") && !unchanged {
        wrong.push(format!("no change is unchanged: {said:?}"));
    }
    if (said.title == "Cannot tell") != (diff.verdict == Verdict::Inconclusive) {
        wrong.push(format!("cannot tell and inconclusive are one: {said:?}"));
    }
    wrong
}

/// The laws that a text breaks, whoever wrote it.
fn broken(diff: &Diff, text: &str) -> Vec<String> {
    let (before, after) = (diff.before.total.median, diff.after.total.median);
    let net = after - before;
    let mut wrong = Vec::new();
    let mut law = |holds: bool, law: &str| {
        if !holds {
            wrong.push(format!("{law}: {text:?}, {:?}", diff.verdict));
        }
    };
    let holds = |part: &str| text.contains(part);
    let percents = percents(text);
    let shares = || percents.iter().filter(|it| it.kind == PercentKind::Share);
    law(shares().all(|share| share.value <= 100.0), "a share is at most 100 %");
    law(shares().map(|share| share.value).sum::<f64>() <= 100.01, "shares add up to 100 %");
    law(
        percents.iter().all(|it| match it.kind {
            PercentKind::Plus => net > 0.0,
            PercentKind::Minus => net < 0.0,
            PercentKind::Share => true,
            PercentKind::Noticed => it.value >= net / before * 100.0 - 1e-6,
        }),
        "the sign of a percentage is that of the change, and what is noticed is larger",
    );
    law(!holds("aster overall") || net < 0.0, "faster is less");
    law(!holds("lower overall") || net > 0.0, "slower is more");
    let shared = shares().next().is_some();
    law(!(shared && holds("(slower") && net < 0.0), "a slower function has no share of a saving");
    law(!(shared && holds("(faster") && net > 0.0), "a faster function has no share of a slowdown");
    law(!holds("of the slowdown is") || net > 0.0, "a slowdown is more");
    law(!holds("of the speedup is") || net < 0.0, "a speedup is less");
    law(!holds("slower alike") || net > 0.0, "slower alike is more");
    let same = holds("About the same overall");
    law(!same || net.abs() <= before * 0.1 + 1e-6, "about the same is within a tenth");
    let both = same || holds("lower overall") || holds("ore overall");
    let improved = diff.verdict == Verdict::Improved;
    law(!(improved && net > 0.0) || both, "improved with a total that rose says both");
    let waits = diff.suspects.first().is_some_and(|it| it.kind == SuspectKind::Waits);
    let both = same || holds("aster overall") || holds("ess overall") || waits;
    let regressed = diff.verdict == Verdict::Regressed;
    law(!(regressed && net < 0.0) || both, "regressed with a total that fell says both");
    let zero_within =
        diff.change.high > diff.change.low && diff.change.low <= 0.0 && diff.change.high >= 0.0;
    law(!holds("anything from") || zero_within, "an interval of doubt holds zero");
    let hedged = ["About the same", "noise", "ossibly", "no change", "no clear", "anything from"];
    let hedged = waits || hedged.iter().any(|words| holds(words));
    let one_run = diff.before.totals.len().min(diff.after.totals.len()) < 2;
    law(!zero_within || hedged || one_run, "a sure sentence has an interval without zero");
    let doubts_the_total = holds("the total alone") || holds("ossibly");
    law(!doubts_the_total || zero_within, "a total in doubt has an interval with zero");
    if let Some((head, _)) = text.split_once(" on each side would tell") {
        let number = head.rsplit("; ").next().and_then(|it| it.split(' ').next());
        let number = number.and_then(|it| it.replace(',', "").parse::<usize>().ok());
        let fewest = diff.before.totals.len().min(diff.after.totals.len());
        law(number.is_some_and(|number| number > fewest), "more runs than there are");
    }
    law(!holds("(idle)"), "totals leave idle time out");
    let small = net.abs() <= before * 0.25 + 1e-6;
    let plain = text.starts_with("no change") || text.starts_with("no difference");
    law(!plain || small || holds("are ignored"), "a large change is not plainly no change");
    let whole = net.abs() * (1.0 + 1e-9) + 1e-6;
    law(diff.unexplained.abs() <= whole, "what is unexplained is part of the change");
    let sum: f64 = diff.suspects.iter().map(|suspect| suspect.share).sum();
    law(sum <= 1.0 + 1e-6, "shares of suspects are parts of one whole");
    wrong
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum PercentKind {
    Plus,
    Minus,
    Noticed,
    Share,
}

#[derive(Clone, Copy, Debug)]
struct Percent {
    kind: PercentKind,
    value: f64,
}

/// All percentages of a sentence.
fn percents(text: &str) -> Vec<Percent> {
    let of = |(at, _): (usize, &str)| {
        let head = &text[..at];
        let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let start = head.trim_end_matches(digits).len();
        let value = head[start..].replace(',', "").parse().ok()?;
        let kind = match &head[..start] {
            before if before.ends_with('+') => PercentKind::Plus,
            before if before.ends_with('−') => PercentKind::Minus,
            before if before.ends_with("more than ") => PercentKind::Noticed,
            _ => PercentKind::Share,
        };
        Some(Percent { kind, value })
    };
    text.match_indices(" %").filter_map(of).collect()
}

/// An answer as the engine gives them: functions with deltas of their sign, shares of all that grew or shrank.
fn any_answer() -> impl Strategy<Value = Diff> {
    let delta = prop_oneof![1.0..50.0, 50.0..2000.0];
    let functions = |most: usize| proptest::collection::vec((0usize..4, delta.clone()), 0..=most);
    let totals = (10.0..5000.0f64, prop_oneof![0.97..1.03, 0.5..2.0, 0.05..20.0]);
    let doubt = (prop_oneof![0.0..0.05, 0.05..3.0], 1usize..6, 1usize..6, any::<bool>());
    let rest = (0usize..3, 0usize..4, proptest::option::of(0.001..5.0), 1u32..30, 0usize..4);
    let engine_rows = proptest::collection::vec((0usize..2, 0.0..500.0f64, 0.0..500.0f64), 0..3);
    (totals, functions(4), functions(3), engine_rows, doubt, rest).prop_map(
        |((before, factor), more, less, grown, doubt, rest)| {
            let after = before * factor;
            let net = after - before;
            let (spread, runs_before, runs_after, waiting) = doubt;
            let (metric, verdict, noticed, needed, waits) = rest;
            let half = spread * before;
            let mut diff = answer(Verdict::Unchanged, [before, after], [net - half, net + half]);
            diff.metric = match metric {
                0 => Metric::sampled("wall", Unit::Nanoseconds),
                1 => Metric::sampled("samples", Unit::Count),
                _ => Metric::exact("allocated", Unit::Bytes),
            };
            let names = [("(idle)", Layer::Idle), ("(program)", Layer::Runtime)];
            let cost = |(which, before, after): &(usize, f64, f64)| {
                let (name, layer) = names[*which];
                runtime(name, layer, [*before, *after])
            };
            diff.runtime = grown.iter().map(cost).collect();
            let engine = |sign: f64| -> f64 {
                let rows = grown.iter().filter(|(which, ..)| *which == 1);
                rows.map(|(_, before, after)| ((after - before) * sign).max(0.0)).sum()
            };
            let sum = |list: &[(usize, f64)]| list.iter().map(|(_, delta)| delta).sum::<f64>();
            let grows = [
                SuspectKind::Slower,
                SuspectKind::MoreCalls,
                SuspectKind::New,
                if waiting && waits == 0 { SuspectKind::Waits } else { SuspectKind::Slower },
            ];
            let shrinks = [SuspectKind::Faster, SuspectKind::FewerCalls, SuspectKind::Gone];
            let whole = net.max(sum(&more) + engine(1.0));
            diff.suspects = (more.iter())
                .map(|(kind, delta)| {
                    suspect(grows[*kind], "main run", [5.0, 5.0 + delta], delta / whole)
                })
                .collect();
            let whole = (-net).max(sum(&less) + engine(-1.0));
            diff.improvements = (less.iter())
                .map(|(kind, delta)| {
                    suspect(shrinks[kind % 3], "main draw", [5.0 + delta, 5.0], delta / whole)
                })
                .collect();
            // A verdict comes from functions or from the total.
            diff.verdict = match verdict {
                0 if !more.is_empty() || net > 0.0 => Verdict::Regressed,
                1 if !less.is_empty() || net < 0.0 => Verdict::Improved,
                2 => Verdict::Unchanged,
                _ => Verdict::Inconclusive,
            };
            // Without functions it comes from the total alone, and goes with it.
            diff.noticed = noticed;
            diff.runs_needed = (diff.verdict == Verdict::Inconclusive).then_some(needed);
            diff.before.totals = vec![before * MS; runs_before];
            diff.after.totals = vec![after * MS; runs_after];
            diff
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn no_sentence_is_against_its_data(diff in any_answer()) {
        let wrong = against(&diff);
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Runs in which `main` calls five functions, some of them more or less often after than before, and no two runs alike.
fn any_sides() -> impl Strategy<Value = (Loaded, Loaded)> {
    let costs = proptest::collection::vec((0usize..60, 0usize..60), 5);
    (costs, 1usize..4, 1usize..4, 0usize..20).prop_map(|(costs, before, after, noise)| {
        let run = |number: usize, costs: &dyn Fn(usize) -> usize| {
            let mut names = vec!["main"];
            for (row, name) in ["parse", "draw", "load", "save", "tick"].into_iter().enumerate() {
                let off = (number * 7 + row * 3) % (noise + 1);
                names.extend(vec![name; costs(row) + off]);
            }
            profile(&format!("{}\n{}", "run ".repeat(names.len()), names.join(" ")))
        };
        let side = |runs: usize, costs: &dyn Fn(usize) -> usize| Loaded {
            names: Vec::new(),
            runs: merge_runs((0..runs).map(|number| run(number, costs)).collect()),
        };
        (side(before, &|row| costs[row].0), side(after, &|row| costs[row].1))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_sentence_is_against_the_runs((before, after) in any_sides()) {
        let diff = diff(&before, &after, &DiffQuery::default(), &Ask::default()).unwrap();
        let wrong = against(&diff);
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// The runs of a folder, and its first run alone.
fn read(folder: &Path) -> [Loaded; 2] {
    let sources = expand(&[folder.to_path_buf()]).unwrap();
    let read = |sources: &[Source]| load(sources, LoadOptions::default(), &Ask::default()).unwrap();
    [read(&sources), read(&sources[..1])]
}

fn check_recorded(folder: &Path) {
    let ([before, one_before], [after, one_after]) =
        (read(&folder.join("before")), read(&folder.join("after")));
    for (before, after) in [(&before, &after), (&after, &before), (&one_before, &one_after)] {
        let diff = diff(before, after, &DiffQuery::default(), &Ask::default()).unwrap();
        let wrong = against(&diff);
        assert!(wrong.is_empty(), "{}: {}", folder.display(), wrong.join("\n"));
    }
}

#[test]
fn no_sentence_is_against_the_examples() {
    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
    check_recorded(&examples.join("jq-prepend"));
    check_recorded(&examples.join("tour/runs"));
}

#[test]
fn no_sentence_is_against_recorded_data() {
    let Some(answers) = recordings("corpus-answers") else { return };
    let cases = std::fs::read_dir(answers).unwrap().flatten().map(|case| case.path());
    let cases: Vec<PathBuf> = cases.filter(|case| case.is_dir()).collect();
    assert!(!cases.is_empty());
    for case in cases {
        check_recorded(&case);
    }
}

#[test]
fn the_laws_find_what_was_written_once() {
    let mut fell = answer(Verdict::Regressed, [381.0, 329.0], [-80.0, -24.0]);
    fell.suspects = vec![suspect(SuspectKind::Slower, "main dispatchEvent", [20.0, 61.0], 1.0)];
    let mut rose = answer(Verdict::Improved, [401.0, 533.0], [100.0, 164.0]);
    rose.improvements = vec![suspect(SuspectKind::Faster, "main draw", [120.0, 70.0], 1.0)];
    let mut idle = answer(Verdict::Regressed, [400.0, 900.0], [400.0, 600.0]);
    idle.suspects = vec![suspect(SuspectKind::New, "main Vector3", [0.0, 500.0], 1.0)];
    idle.runtime = vec![runtime("(idle)", Layer::Idle, [0.0, 600.0])];
    let blind = answer(Verdict::Unchanged, [2640.0, 4400.0], [-6750.0, 10_270.0]);
    let mut enough = answer(Verdict::Inconclusive, [171.0, 1110.0], [-200.0, 2000.0]);
    enough.runs_needed = Some(3);
    for (diff, old) in [
        (fell, "381 ms → 329 ms (−14 %): 100 % of it is dispatchEvent, called from main (slower)"),
        (rose, "401 ms → 533 ms (+33 %): 100 % of it is draw, called from main (faster)"),
        (
            idle,
            "400 ms → 900 ms (+125 %): 100 % of it is the runtime's (idle); 100 % is Vector3 (new)",
        ),
        (blind, "no difference: 2.64 s → 4.40 s, within the noise of ±8.51 s"),
        (
            enough,
            "cannot tell: 171 ms → 1.11 s (+549 %), anything from −200 ms to +2.00 s is possible; 3 runs on each side would tell",
        ),
    ] {
        assert!(!broken(&diff, old).is_empty(), "{old}");
        let now = against(&diff);
        assert!(now.is_empty(), "{}", now.join("\n"));
    }
}
