//! Ranked paths as an answer, and what is folded.

use expect_test::{Expect, expect};
use perfblame_cct::merge_runs;

use crate::{Ask, Diff, DiffQuery, LoadOptions, Loaded, Method, Source, diff, load};

fn loaded(drawings: &[&str]) -> Loaded {
    let profiles = drawings.iter().map(|drawing| perfblame_fixtures::profile(drawing));
    let names = (1..).map(|run| format!("run {run}")).take(drawings.len()).collect();
    Loaded { names, runs: merge_runs(profiles.collect()) }
}

fn ranked(before: &Loaded, after: &Loaded) -> Diff {
    let query = DiffQuery { method: Method::Paths, ..DiffQuery::default() };
    diff(before, after, &query, &Ask::default()).expect("both sides have a metric in common")
}

fn text(answer: &Diff, paths: usize) -> String {
    let lines = answer.paths.iter().take(paths).map(|path| {
        let functions: Vec<_> = (path.functions.iter())
            .map(|on| format!("{} {}{:+}#{}", on.function.name, on.latency, on.delta, on.rank))
            .collect();
        let new = if path.new { " (new)" } else { "" };
        format!("{}. {:+}{new}: {}\n", path.rank, path.cost, functions.join(" > "))
    });
    lines.collect()
}

#[track_caller]
fn check(before: &[&str], after: &[&str], expected: &Expect) {
    let answer = ranked(&loaded(before), &loaded(after));
    expected.assert_eq(&text(&answer, usize::MAX));
    for path in &answer.paths {
        let sum: f64 = path.functions.iter().map(|function| function.delta).sum();
        assert!((sum - path.cost).abs() < 1e-9);
        assert_eq!(path.functions[path.hottest().unwrap()].rank, 1);
    }
}

#[test]
fn paths_cost_what_they_differ_by_in_a_typical_run() {
    check(
        &[
            "main main main
             a    a    b",
            "main main main main main
             a    a    a    a    b",
        ],
        &["main main main main main main
           a    a    b    b    b    c
           .    .    x    .    .    ."],
        &expect![[r"
            1. +3 (new): main 0+0#3 > b 2+2#1 > x 1+1#2
            2. +1 (new): main 0+0#2 > c 1+1#1
            3. -1: main 0+0#2 > a 2-1#1
        "]],
    );
}

#[test]
fn a_run_against_itself_has_paths_and_no_cost() {
    check(
        &["main main
           a    b"],
        &["main main
           a    b"],
        &expect![[r"
            1. +0: main 0+0#2 > a 1+0#1
            2. +0: main 0+0#2 > b 1+0#1
        "]],
    );
}

#[test]
fn what_is_folded_is_said() {
    let columns: Vec<String> = (0..1_200).map(|number| format!("f{number}")).collect();
    let after = format!("{}\n{}", "main ".repeat(1_200), columns.join(" "));
    let answer = ranked(&loaded(&["main"]), &loaded(&[&after]));
    assert_eq!(answer.paths.len(), 1_000);
    let warning = answer.warnings.iter().find(|warning| warning.code == "paths-folded").unwrap();
    assert_eq!(warning.count, 200);
    expect!["only the first 1,000 paths are listed; the others differ by 200 samples in total, none by more than 1"].assert_eq(&warning.message);
}

/// A recorded case: the slow run of jq puts elements before a list, and copies the list every time.
#[test]
fn the_recorded_root_cause_is_on_the_first_path() {
    let Some(folder) = perfblame_fixtures::recordings("corpus-native-sample") else { return };
    let side = |name: &str| {
        let file = Source::File(folder.join(format!("jq-prepend.{name}.perf-script.txt")));
        load(&[file], LoadOptions::default(), &Ask::default()).unwrap()
    };
    let answer = ranked(&side("base"), &side("buggy"));
    let first = &answer.paths[0];
    let names: Vec<_> = first.functions.iter().map(|on| on.function.name.as_str()).collect();
    assert!(names.contains(&"jv_array_concat"), "{names:?}");
    assert!(first.new && first.cost > 0.0);
}
