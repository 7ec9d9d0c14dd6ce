//! What is planted into noisy runs is named, and nothing else is.

use perfblame_cct::{
    Frame, Function, Grain, Layer, Metric, MetricId, Profile, ProfileBuilder, RunSet, Sides, Times,
    Unit, merge_runs,
};
use perfblame_fixtures::Random;
use perfblame_matching::{Identity, Joint, SideTree, join, match_anchored};

use super::{Evidence, Explanation, RunCosts, SuspectKind, SuspectOptions, Verdict, suspects};

/// A program: stacks, outermost first, and how many samples a run has of each.
type Program = Vec<(Vec<&'static str>, f64)>;

fn program() -> Program {
    let stacks: [(&str, f64); 12] = [
        ("main parse lex", 200.0),
        ("main parse lex read", 80.0),
        ("main parse tree", 150.0),
        ("main check types", 120.0),
        ("main check types unify", 90.0),
        ("main check names", 60.0),
        ("main emit code", 180.0),
        ("main emit code alloc", 40.0),
        ("main emit link", 70.0),
        ("main emit link alloc", 30.0),
        ("main idle", 300.0),
        ("main gc", 100.0),
    ];
    stacks.iter().map(|(stack, samples)| (stack.split(' ').collect(), *samples)).collect()
}

/// One run: every stack has its own spread, and the machine one for all.
fn run(program: &Program, random: &mut Random) -> Profile {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    let metric = builder.metric(Metric::sampled("samples", Unit::Count));
    let machine = 1.0 + 0.03 * random.normal();
    for (stack, samples) in program {
        let frames: Vec<_> = (stack.iter())
            .map(|name| {
                let layer = match *name {
                    "idle" => Layer::Idle,
                    "gc" | "sweep" => Layer::GarbageCollection,
                    _ => Layer::Application,
                };
                let name = builder.string(name);
                let function = builder.function(Function::named(name).in_layer(layer));
                builder.frame(Frame::of(function))
            })
            .collect();
        let wild = if matches!(stack.last(), Some(&"idle" | &"gc")) { 0.5 } else { 0.04 };
        let mean = samples * machine * (1.0 + wild * random.normal()).max(0.05);
        let count = (mean + mean.sqrt() * random.normal()).round().max(0.0) as i64;
        builder.sample(&frames, None, metric, count);
    }
    builder.finish()
}

fn runs(program: &Program, count: usize, seed: u64) -> RunSet {
    let mut random = Random::new(seed);
    merge_runs((0..count).map(|_| run(program, &mut random)).collect())
}

struct Compared {
    joint: Joint,
    found: Explanation,
}

impl Compared {
    fn new(before: &RunSet, after: &RunSet) -> Self {
        let metric = MetricId::new(0);
        let weights = Sides { before, after }.map(|set| {
            let mut weights = vec![0; set.tree.len()];
            for run in &set.runs {
                for (node, _, value) in run.cells.of(metric) {
                    weights[node.index()] += value;
                }
            }
            weights
        });
        let old =
            SideTree { symbols: &before.symbols, tree: &before.tree, weights: &weights.before };
        let new = SideTree { symbols: &after.symbols, tree: &after.tree, weights: &weights.after };
        let identity = Identity::of(&old, &new);
        let joint = join(&old, &new, &identity, &match_anchored(&old, &new, &identity));
        let found = {
            let (before, after) = (costs_of(before, metric), costs_of(after, metric));
            let evidence = Evidence {
                joint: &joint,
                runs: Sides { before: &before, after: &after },
                exact: false,
                waits: false,
            };
            suspects(&evidence, SuspectOptions::default())
        };
        Self { joint, found }
    }

    /// The suspects' names, kinds and numbers of contexts.
    fn suspects(&self) -> Vec<(String, SuspectKind, usize)> {
        (self.found.suspects.iter())
            .map(|finding| {
                let frame = self.joint.tree.frame(finding.contexts[0]);
                let function = self.joint.symbols.frame(frame).function;
                let name = self.joint.symbols.name(function).to_owned();
                (name, finding.kind, finding.contexts.len())
            })
            .collect()
    }
}

fn costs_of(set: &RunSet, metric: MetricId) -> Vec<RunCosts<'_>> {
    (set.runs.iter())
        .map(|run| RunCosts {
            cells: &run.cells,
            metric,
            calls: None,
            samples: None,
            factor: 1.0,
            quantum: 1.0,
        })
        .collect()
}

fn slower(mut program: Program, by: impl Fn(&[&str]) -> f64) -> Program {
    for (stack, samples) in &mut program {
        *samples *= by(stack);
    }
    program
}

fn compare(after: &Program, runs_each: usize, seed: u64) -> Compared {
    Compared::new(&runs(&program(), runs_each, seed), &runs(after, runs_each, seed + 1000))
}

#[test]
fn identical_code_has_no_suspects() {
    let mut alarms = 0;
    for seed in 0..100 {
        let compared = compare(&program(), 3, seed);
        alarms += u32::from(
            compared.found.verdict == Verdict::Regressed || !compared.found.suspects.is_empty(),
        );
    }
    assert!(alarms <= 5, "{alarms} false alarms in 100 comparisons");
}

#[test]
fn a_slower_function_is_named() {
    let after = slower(program(), |stack| if stack.ends_with(&["types"]) { 2.0 } else { 1.0 });
    let mut held = 0;
    for seed in 0..20 {
        let compared = compare(&after, 3, seed);
        assert_eq!(compared.found.verdict, Verdict::Regressed, "seed {seed}");
        assert_eq!(
            compared.suspects(),
            [("types".to_owned(), SuspectKind::Slower, 1)],
            "seed {seed}"
        );
        let suspect = &compared.found.suspects[0];
        held += u32::from(suspect.delta.low < 120.0 && suspect.delta.high > 120.0);
    }
    assert!(held >= 17, "the truth lies in {held} of 20 intervals of 95 %");
}

#[test]
fn one_function_in_two_contexts_is_one_suspect() {
    let after = slower(program(), |stack| if stack.ends_with(&["alloc"]) { 4.0 } else { 1.0 });
    assert_eq!(compare(&after, 3, 5).suspects(), [("alloc".to_owned(), SuspectKind::Slower, 2)]);
}

#[test]
fn a_new_call_answers_for_all_below_it() {
    let mut after = program();
    after.push((vec!["main", "emit", "code", "audit"], 70.0));
    after.push((vec!["main", "emit", "code", "audit", "read"], 60.0));
    after.push((vec!["main", "emit", "code", "audit", "lex"], 60.0));
    assert_eq!(compare(&after, 3, 5).suspects(), [("audit".to_owned(), SuspectKind::New, 1)]);
}

#[test]
fn a_call_made_twice_as_often_answers_for_all_below_it() {
    let after = slower(program(), |stack| if stack.contains(&"check") { 2.0 } else { 1.0 });
    assert_eq!(compare(&after, 5, 5).suspects(), [("check".to_owned(), SuspectKind::MoreCalls, 1)]);
}

/// Thirty functions that take little each, below one of two callees.
fn thin_program() -> Program {
    const NAMES: [&str; 30] = [
        "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b0", "b1", "b2", "b3", "b4",
        "b5", "b6", "b7", "b8", "b9", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9",
    ];
    let mut program = program();
    for name in NAMES {
        program.push((vec!["click", "sort", "render", name], 8.0));
        program.push((vec!["click", "filter", "refresh", "render", name], 8.0));
    }
    program
}

#[test]
fn costs_that_are_spread_thinly_below_one_callee_are_its() {
    let after = slower(thin_program(), |stack| if stack.contains(&"filter") { 4.0 } else { 1.0 });
    let compared = Compared::new(&runs(&thin_program(), 3, 1), &runs(&after, 3, 2));
    assert_eq!(compared.suspects(), [("render".to_owned(), SuspectKind::MoreCalls, 1)]);
}

#[test]
fn what_does_not_grow_with_a_chain_is_above_the_call_that_is_made_more_often() {
    let mut before = thin_program();
    before.push((vec!["click", "filter"], 12.0));
    before.push((vec!["click", "filter", "refresh"], 12.0));
    let after = slower(before.clone(), |stack| if stack.contains(&"refresh") { 4.0 } else { 1.0 });
    let compared = Compared::new(&runs(&before, 3, 1), &runs(&after, 3, 2));
    assert_eq!(compared.suspects(), [("refresh".to_owned(), SuspectKind::MoreCalls, 1)]);
}

#[test]
fn the_runtime_is_reported_and_never_blamed() {
    let after = slower(program(), |stack| if stack.ends_with(&["gc"]) { 6.0 } else { 1.0 });
    let compared = compare(&after, 3, 5);
    assert_eq!(compared.suspects(), []);
    let grown = compared.found.runtime.iter().map(|cost| cost.after - cost.before);
    assert!(grown.fold(0.0, f64::max) > 200.0, "{:?}", compared.found.runtime);
}

#[test]
fn a_cost_that_moved_is_no_slowdown() {
    let after = slower(program(), |stack| match stack {
        ["main", "check", "types"] => 0.4,
        ["main", "check", "names"] => 1.0 + 72.0 / 60.0,
        _ => 1.0,
    });
    let compared = compare(&after, 5, 5);
    assert_eq!(compared.suspects(), []);
    assert_ne!(compared.found.verdict, Verdict::Regressed);
    assert_eq!(compared.found.moved.len(), 1);
}

/// The loss is found in few of these cases, as its place costs more and so scatters more.
#[test]
fn a_small_cost_that_moved_is_no_slowdown() {
    let after = slower(program(), |stack| match stack {
        ["main", "check", "types"] => 0.75,
        ["main", "check", "names"] => 1.0 + 30.0 / 60.0,
        _ => 1.0,
    });
    let blamed = (0..40).filter(|seed| !compare(&after, 5, *seed).suspects().is_empty()).count();
    assert!(blamed <= 10, "{blamed} of 40");
}

#[test]
fn another_name_is_no_slowdown() {
    let mut after = program();
    for (stack, _) in &mut after {
        for name in stack.iter_mut().filter(|name| **name == "tree") {
            *name = "syntax";
        }
    }
    let compared = compare(&after, 5, 5);
    assert_eq!(compared.suspects(), []);
    assert_eq!(compared.found.verdict, Verdict::Unchanged);
}

#[test]
fn one_run_on_each_side_is_inconclusive_unless_the_difference_is_huge() {
    assert_eq!(compare(&program(), 1, 5).found.verdict, Verdict::Inconclusive);
    let little = slower(program(), |stack| if stack.ends_with(&["lex"]) { 1.2 } else { 1.0 });
    assert_eq!(compare(&little, 1, 5).found.verdict, Verdict::Inconclusive);
    let huge = slower(program(), |stack| if stack.ends_with(&["lex"]) { 20.0 } else { 1.0 });
    let compared = compare(&huge, 1, 5);
    assert_eq!(compared.found.verdict, Verdict::Regressed);
    assert_eq!(compared.suspects()[0].0, "lex");
    assert_eq!(compared.found.suspects[0].p_value, None, "chance is not excluded");
}

#[test]
fn swapping_the_sides_makes_suspects_improvements() {
    let after = slower(program(), |stack| if stack.ends_with(&["types"]) { 2.0 } else { 1.0 });
    let (old, new) = (runs(&program(), 4, 1), runs(&after, 4, 2));
    let (there, back) = (Compared::new(&old, &new), Compared::new(&new, &old));
    assert_eq!(there.found.verdict, Verdict::Regressed);
    assert_eq!(back.found.verdict, Verdict::Improved);
    let deltas = |findings: &[super::Finding]| -> Vec<i64> {
        findings.iter().map(|finding| finding.delta.value.abs().round() as i64).collect()
    };
    // Sides are scaled to the first, so that costs may differ by what whole runs do.
    let (grown, shrunk) = (deltas(&there.found.suspects), deltas(&back.found.improvements));
    assert_eq!(grown.len(), shrunk.len());
    assert!(grown.iter().zip(&shrunk).all(|(a, b)| (a - b).abs() < 20), "{grown:?} {shrunk:?}");
    assert_eq!(back.found.improvements[0].kind, SuspectKind::Faster);
}

#[test]
fn functions_that_got_faster_are_no_good_news_where_the_runtime_got_slower() {
    let mut before = program();
    before.push((vec!["main", "sweep"], 500.0));
    let after = slower(before.clone(), |stack| match stack.last() {
        Some(&"sweep") => 6.0,
        Some(&"types") => 0.4,
        _ => 1.0,
    });
    let compared = Compared::new(&runs(&before, 5, 1), &runs(&after, 5, 2));
    let found = &compared.found;
    assert!(found.suspects.is_empty() && !found.improvements.is_empty());
    assert_eq!(found.verdict, Verdict::Regressed);
    // The interval and the chance are those of the change that is told.
    assert!(found.change.low > 1_500.0 && found.p_value.unwrap() < 0.001, "{found:?}");
    // What is only faster is.
    let after = slower(before.clone(), |stack| if stack.ends_with(&["types"]) { 0.4 } else { 1.0 });
    let compared = Compared::new(&runs(&before, 5, 1), &runs(&after, 5, 2));
    assert_eq!(compared.found.verdict, Verdict::Improved);
}

#[test]
fn nothing_at_all_is_unchanged() {
    let empty = runs(&Vec::new(), 2, 1);
    let compared = Compared::new(&empty, &empty);
    assert_eq!(compared.found.verdict, Verdict::Unchanged);
    let nothing = Compared::new(&RunSet::default(), &RunSet::default());
    assert_eq!(nothing.found.verdict, Verdict::Unchanged);
    // All of it is new.
    let all = Compared::new(&empty, &runs(&program(), 2, 3));
    assert_eq!(all.found.verdict, Verdict::Regressed);
}
