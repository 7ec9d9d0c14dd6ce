//! Drawn sides that should not be compared, and some that should.

use perfblame_cct::{Grain, Layer, Metric, ProfileBuilder, Times, Unit, merge_runs};
use perfblame_fixtures::profile;

use crate::{Ask, DiffQuery, Loaded, Normalize, diff};

/// A run in which `main` calls each function so often.
fn side(calls: &[(&str, usize)]) -> Loaded {
    let names: Vec<&str> = calls.iter().flat_map(|(name, times)| vec![*name; *times]).collect();
    let run = profile(&format!("{}\n{}", "main ".repeat(names.len()), names.join(" ")));
    Loaded { names: Vec::new(), runs: merge_runs(vec![run]) }
}

fn codes(before: &Loaded, after: &Loaded, query: &DiffQuery) -> Vec<String> {
    let found = diff(before, after, query, &Ask::default()).unwrap();
    let codes = found.warnings.into_iter().map(|warning| warning.code);
    codes.filter(|code| code.starts_with("different")).collect()
}

const SHOP: [(&str, usize); 6] =
    [("order", 20), ("price", 30), ("taxes", 10), ("ship", 40), ("invoice", 20), ("total", 30)];

#[test]
fn another_program_has_other_functions() {
    let game =
        [("tick", 20), ("draw", 30), ("collide", 30), ("spawn", 10), ("score", 20), ("sound", 30)];
    let found = codes(&side(&SHOP), &side(&game), &DiffQuery::default());
    assert_eq!(found, ["different-programs"]);
}

#[test]
fn a_program_with_a_new_hot_function_is_the_same_one() {
    let mut after = SHOP.to_vec();
    after.push(("sleep", 3000));
    assert!(codes(&side(&SHOP), &side(&after), &DiffQuery::default()).is_empty());
}

#[test]
fn a_minified_build_is_the_same_program() {
    let minified = [("a", 20), ("b", 30), ("c", 10), ("d", 40), ("e", 20), ("f", 30)];
    assert!(codes(&side(&SHOP), &side(&minified), &DiffQuery::default()).is_empty());
}

#[test]
fn everything_scaled_by_one_factor_is_other_work() {
    let after = SHOP.map(|(name, times)| (name, times * 4));
    let query = DiffQuery::default();
    assert_eq!(codes(&side(&SHOP), &side(&after), &query), ["different-work"]);
    assert_eq!(codes(&side(&after), &side(&SHOP), &query), ["different-work"]);
    let normalised = DiffQuery { normalize: Normalize::Total, ..query };
    assert!(codes(&side(&SHOP), &side(&after), &normalised).is_empty());
}

#[test]
fn one_slow_function_is_not_other_work() {
    let after = SHOP.map(|(name, times)| (name, if name == "ship" { times * 20 } else { times }));
    assert!(codes(&side(&SHOP), &side(&after), &DiffQuery::default()).is_empty());
}

/// A run that counted its calls: each function costs a microsecond a call, and `slow` more.
fn counted(factor: i64, slow: i64) -> Loaded {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    let wall = builder.metric(Metric::exact("wall", Unit::Nanoseconds));
    let calls = builder.metric(Metric::exact("calls", Unit::Count));
    for (name, times) in SHOP {
        let frame = builder.named_frame(name, Layer::Application);
        let node = builder.root(frame);
        let times = times as i64 * factor;
        let each = if name == "ship" { slow } else { 1000 };
        builder.add(node, None, wall, times * each);
        builder.add(node, None, calls, times);
    }
    Loaded { names: Vec::new(), runs: merge_runs(vec![builder.finish()]) }
}

#[test]
fn calls_tell_the_work_whatever_they_cost() {
    let query = DiffQuery::default();
    assert_eq!(codes(&counted(1, 1000), &counted(3, 9000), &query), ["different-work"]);
    assert!(codes(&counted(1, 1000), &counted(1, 90_000), &query).is_empty());
}
