//! The paper's running example first, then its rules one by one.

mod ours;

use super::*;
use expect_test::{Expect, expect};
use perfblame_cct::{
    Frame, Function, Grain, Metric, Profile, ProfileBuilder, Thread, Times, Unit, merge_runs,
};
use perfblame_fixtures::{any_samples, outline, profile_of};
use proptest::prelude::*;
use std::fmt::Write as _;

const MS: f64 = 1e6;

fn run_set(outlines: &[&str], grain: Grain) -> RunSet {
    merge_runs(outlines.iter().map(|text| outline(text, grain)).collect())
}

fn options(least: f64) -> CriticalOptions {
    CriticalOptions { least: LeastDelta::Absolute(least * MS), markers: Markers::LeftOut }
}

fn compared(before: &RunSet, after: &RunSet, options: &CriticalOptions) -> CriticalGraph {
    let side = |runs| Timelines { runs, metric: MetricId::new(0), scale: &[] };
    critical_graph(&side(before), &side(after), options, Wanted::default())
}

/// A line per node: milliseconds before and after, `*` for a cause.
fn drawn(graph: &CriticalGraph, after: &RunSet) -> String {
    let mut out = String::new();
    let mut depth: Vec<usize> = Vec::new();
    for node in &graph.nodes {
        let here = node.parent.map_or(0, |parent| depth[parent] + 1);
        depth.push(here);
        let name = match &node.call {
            Call::Root => "root",
            Call::Thread(role) => &format!("[{role}]"),
            Call::Function(function) => after.symbols.name(*function),
        };
        let before = node.before.map_or("new".to_owned(), |before| (before / MS).to_string());
        let cause = if node.cause { " *" } else { "" };
        let _ = writeln!(out, "{:>1$}{name} {before} → {2}{cause}", "", here * 2, node.after / MS);
    }
    out
}

/// Pairs of runs with every call on its own, µ = 50 ms.
fn check(before: &[&str], after: &[&str], expected: &Expect) {
    let (before, after) = (run_set(before, Grain::Frames), run_set(after, Grain::Frames));
    let graph = compared(&before, &after, &options(50.0));
    expected.assert_eq(&drawn(&graph, &after));
}

/// Figure 1 of the paper, as far as its text tells: which functions call which, that the order of the top-level functions
/// changed and `hover` is gone, that `d` and `layer` are slower by about 70 ms each time because of `utf`, which is new,
/// and that all this makes `queryRenderedFeatures` slower by 130 ms.
const BEFORE: &str = "
    evHandler@events.js 60
      handle@events.js 40
    queryRenderedFeatures@map.js 220
      f@map.js 170
        rendered@query.js 165
          query@query.js 160
            d@layer.js 75
              layer@layer.js 70
            d@layer.js 75
              layer@layer.js 70
      b@map.js 40
    hover@events.js 30
      pick@events.js 20
    promiseHandler@events.js 50
      then@events.js 30";

const AFTER: &str = "
    promiseHandler@events.js 55
      then@events.js 32
    queryRenderedFeatures@map.js 350
      f@map.js 310
        rendered@query.js 305
          query@query.js 300
            d@layer.js 146
              layer@layer.js 141
                utf@layer.js 70
            d@layer.js 144
              layer@layer.js 140
                utf@layer.js 70
      b@map.js 30
    evHandler@events.js 58
      handle@events.js 41";

#[test]
fn the_running_example() {
    check(
        &[BEFORE],
        &[AFTER],
        &expect![[r#"
        root 360 → 463
          queryRenderedFeatures 220 → 350
            rendered 165 → 305
              query 160 → 300
                layer 70 → 141
                  utf new → 70 *
                layer 70 → 140
                  utf new → 70 *
    "#]],
    );
}

#[test]
fn the_running_example_with_calls_of_one_function_added_up() {
    let (before, after) =
        (run_set(&[BEFORE], Grain::Functions), run_set(&[AFTER], Grain::Functions));
    let graph = compared(&before, &after, &options(50.0));
    expect![[r#"
        root 360 → 463
          queryRenderedFeatures 220 → 350
            rendered 165 → 305
              query 160 → 300
                layer 140 → 281
                  utf new → 140 *
    "#]]
    .assert_eq(&drawn(&graph, &after));
    assert_eq!(graph.pruned, 6, "d, f and b on both sides");
}

#[test]
fn a_call_that_is_gone_is_no_regression() {
    check(
        &["
           start 100
             old 90"],
        &["
           start 100
             next 45"],
        &expect![[r#"
            root 100 → 100
        "#]],
    );
}

#[test]
fn a_new_call_is_a_cause_whatever_it_calls() {
    check(
        &["start 100"],
        &["
           start 300
             fresh 200
               work 190"],
        &expect![[r#"
            root 100 → 300
              start 100 → 300
                fresh new → 200 *
        "#]],
    );
}

#[test]
fn what_lies_below_a_call_that_is_not_slower_is_not_looked_at() {
    check(
        &["
           start 100
             parse 10"],
        &["
           start 120
             parse 110"],
        &expect![[r#"
            root 100 → 120
        "#]],
    );
}

#[test]
fn top_level_functions_match_in_any_order() {
    check(
        &["
           one 10
           two 100
           one 100"],
        &["
           two 100
           one 80
           one 90"],
        &expect![[r#"
            root 210 → 270
              one 10 → 80 *
        "#]],
    );
}

#[test]
fn calls_below_them_match_in_order() {
    // `send` moved in front of `read`; in order, one of the two has no partner.
    check(
        &["
           start 500
             open 10
             read 200
             send 200"],
        &["
           start 600
             open 10
             send 210
             read 210"],
        &expect![[r#"
            root 500 → 600
              start 500 → 600
                send new → 210 *
        "#]],
    );
}

#[test]
fn repeated_calls_are_told_apart_by_their_order() {
    check(
        &["
           start 100
             step 10
             flush 5
             step 10"],
        &["
           start 200
             step 10
             flush 5
             step 110"],
        &expect![[r#"
            root 100 → 200
              start 100 → 200
                step 10 → 110 *
        "#]],
    );
}

#[test]
fn functions_of_one_name_in_two_components_are_two() {
    check(
        &["
           start 100
             run@https://one.example:80/a.js?v=1 20
             run@https://one.example:80/b.js?v=1 20"],
        &["
           start 200
             run@https://two.example/b.js?v=2 120
             run@https://two.example/c.js?v=2 20"],
        &expect![[r#"
            root 100 → 200
              start 100 → 200
                run 20 → 120 *
        "#]],
    );
}

#[test]
fn only_what_all_pairs_have_in_common_stays() {
    check(
        &[
            "
             start 100
               parse 50
                 scan 20
               draw 30",
            "
             start 110
               parse 50
                 scan 20
               draw 30",
        ],
        &[
            "
             start 300
               parse 150
                 scan 120
               draw 130",
            "
             start 210
               parse 160
                 trim 125
               draw 30",
        ],
        &expect![[r#"
            root 105 → 255
              start 105 → 255
                parse 50 → 155 *
        "#]],
    );
}

#[test]
fn a_call_with_a_partner_in_some_runs_only_counts_as_nothing_in_the_others() {
    check(
        &[
            "
             start 100
             load 40",
            "start 100",
        ],
        &[
            "
             start 200
             load 100",
            "
             start 200
             load 80",
        ],
        &expect![[r#"
            root 120 → 290
              start 100 → 200 *
              load 20 → 90 *
        "#]],
    );
}

proptest! {
    #[test]
    fn a_side_has_no_regression_against_itself(samples in any_samples(), least in 0i64..3) {
        let runs = merge_runs(vec![profile_of(&samples, Grain::Frames)]);
        let graph = compared(&runs, &runs, &options(least as f64 / MS));
        prop_assert_eq!(graph.nodes.len(), 1);
    }

    /// Definitions 2 and 3.
    #[test]
    fn every_node_is_slower_and_every_leaf_a_cause(
        old in prop::collection::vec(any_samples(), 1..3),
        new in prop::collection::vec(any_samples(), 1..3),
        least in 1i64..8,
    ) {
        let set = |runs: &[_]| merge_runs(runs.iter().map(|samples: &Vec<_>| long_names(samples)).collect());
        let (old, new) = (set(&old), set(&new));
        let graph = compared(&old, &new, &options(least as f64 / MS));
        let mut has_callees = vec![false; graph.nodes.len()];
        for (row, node) in graph.nodes.iter().enumerate().skip(1) {
            let parent = node.parent.unwrap();
            prop_assert!(parent < row);
            has_callees[parent] = true;
            prop_assert!(node.after - node.before.unwrap_or(0.0) >= graph.least - 1e-9);
            prop_assert!(parent == 0 || graph.nodes[parent].before.is_some());
        }
        for (node, has_callees) in graph.nodes.iter().zip(has_callees).skip(1) {
            prop_assert_eq!(node.cause, !has_callees);
        }
        prop_assert!(!graph.nodes[0].cause);
    }
}

/// [`profile_of`] has one-letter names, which would all be pruned.
fn long_names(samples: &[perfblame_fixtures::DrawnSample]) -> Profile {
    let profile = profile_of(samples, Grain::Frames);
    perfblame_cct::map_labels(profile, |symbols, frame| {
        let frame = *symbols.frame(frame);
        let function = *symbols.function(frame.function);
        let name = symbols.text(function.name).repeat(2);
        let name = symbols.string(&name);
        let function = symbols.intern_function(Function { name, ..function });
        symbols.intern_frame(Frame { function, ..frame })
    })
}
