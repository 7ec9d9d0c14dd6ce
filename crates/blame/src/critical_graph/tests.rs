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
    critical_graph(&side(before), &side(after), options)
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

#[test]
fn runs_that_have_no_partner_are_left_out() {
    let (before, after) = (
        run_set(&["start 100"], Grain::Frames),
        run_set(&["start 200", "start 10"], Grain::Frames),
    );
    let graph = compared(&before, &after, &options(50.0));
    assert_eq!(graph.pairs, 1);
    expect![[r#"
        root 100 → 200
          start 100 → 200 *
    "#]]
    .assert_eq(&drawn(&graph, &after));
    let none = compared(&RunSet::default(), &after, &options(50.0));
    assert_eq!((none.pairs, none.nodes.len()), (0, 1), "a root and nothing else");
}

#[test]
fn workers_are_roots_of_their_own() {
    check(
        &["
           [CrRendererMain]
           start 100
             decode 50
           [worker 1]
           decode 20
           parse 100
             scan 90
           [worker 2]
           parse 100
             scan 90"],
        &["
           [CrRendererMain]
           start 100
             decode 50
           [worker 7]
           parse 300
             scan 290
           decode 20"],
        &expect![[r#"
            root 320 → 420
              [worker #] 220 → 320
                parse 100 → 300
                  scan 90 → 290 *
        "#]],
    );
}

#[test]
fn a_single_thread_is_the_main_one_whatever_its_name() {
    check(
        &["[node]\nstart 10"],
        &["[node]\nstart 100"],
        &expect![[r#"
        root 10 → 100
          start 10 → 100 *
    "#]],
    );
}

#[test]
fn a_thread_is_no_function_of_the_same_name() {
    check(
        &["
           pool 10
           [pool]
           pool 20"],
        &["
           pool 10
           [pool]
           pool 120"],
        &expect![[r#"
            root 30 → 130
              [pool] 20 → 120
                pool 20 → 120 *
        "#]],
    );
}

const MARKED_BEFORE: &str = "
    (program) 100
    (idle) 500
    start 100
      (garbage collector) 10";
const MARKED_AFTER: &str = "
    (program) 300
    (idle) 900
    start 200
      (garbage collector) 100";

#[test]
fn markers_are_no_functions() {
    check(
        &[MARKED_BEFORE],
        &[MARKED_AFTER],
        &expect![[r#"
        root 100 → 200
          start 100 → 200 *
    "#]],
    );
}

#[test]
fn markers_stay_when_the_paper_is_to_be_reproduced() {
    let (before, after) =
        (run_set(&[MARKED_BEFORE], Grain::Frames), run_set(&[MARKED_AFTER], Grain::Frames));
    let kept = CriticalOptions { markers: Markers::Kept, ..options(50.0) };
    expect![[r#"
        root 700 → 1400
          (program) 100 → 300 *
          (idle) 500 → 900 *
          start 100 → 200
            (garbage collector) 10 → 100 *
    "#]]
    .assert_eq(&drawn(&compared(&before, &after, &kept), &after));
}

#[test]
fn functions_without_a_name_hand_their_callees_up() {
    check(
        &["
           @ 100
             start 90
               (anonymous) 80
                 x 70
                   work 60"],
        &["
           @ 200
             start 190
               (anonymous) 180
                 x 170
                   work 160"],
        &expect![[r#"
            root 100 → 200
              start 90 → 190
                work 60 → 160 *
        "#]],
    );
}

#[test]
fn the_least_difference_can_be_a_share_of_the_total() {
    let (before, after) = (
        run_set(&["(idle) 9000\none 900\ntwo 100"], Grain::Frames),
        run_set(&["(idle) 100\none 960\ntwo 140"], Grain::Frames),
    );
    let share = CriticalOptions { least: LeastDelta::Share(0.05), ..options(0.0) };
    let graph = compared(&before, &after, &share);
    expect![[r#"
        root 1000 → 1100
          one 900 → 960 *
    "#]]
    .assert_eq(&drawn(&graph, &after));
    assert!((graph.least - 50.0 * MS).abs() < 1.0, "{}", graph.least);
}

#[test]
fn runs_are_scaled() {
    let (before, after) =
        (run_set(&["start 100"], Grain::Frames), run_set(&["start 200"], Grain::Frames));
    let side = |runs, scale| Timelines { runs, metric: MetricId::new(0), scale };
    let graph = critical_graph(&side(&before, &[2.0]), &side(&after, &[]), &options(50.0));
    expect![[r#"
        root 200 → 200
    "#]]
    .assert_eq(&drawn(&graph, &after));
}

/// Calls of `start` one after the other, with times.
fn timed(names: &[&str], values: &[i64]) -> Profile {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Keep);
    let wall = builder.metric(Metric::sampled("wall", Unit::Nanoseconds));
    let name = builder.string("main");
    let thread = Some(builder.thread(Thread::named(name)));
    let start = builder.named_frame("start", perfblame_cct::Layer::Application);
    for (time, (name, value)) in (0..).zip(names.iter().zip(values)) {
        let frame = builder.named_frame(name, perfblame_cct::Layer::Application);
        let Some(call) = builder.stack(&[start, frame]) else { continue };
        builder.add(call, thread, wall, value * 1_000_000);
        builder.time_sample(time, call, thread, wall, value * 1_000_000);
    }
    builder.finish()
}

#[test]
fn each_run_has_its_own_order_where_times_are_known() {
    // In the shared tree of the before side `read` comes last, as the first run does not have it; in that order the
    // second runs would not match.
    let before = merge_runs(vec![
        timed(&["open", "send"], &[10, 10]),
        timed(&["open", "read", "send"], &[10, 100, 100]),
    ]);
    let after = merge_runs(vec![
        timed(&["open", "read", "send"], &[10, 10, 110]),
        timed(&["open", "read", "send"], &[10, 100, 200]),
    ]);
    let graph = compared(&before, &after, &options(50.0));
    expect![[r#"
        root 115 → 220
          start 115 → 220
            send 55 → 155 *
    "#]]
    .assert_eq(&drawn(&graph, &after));
}

#[test]
fn too_many_roles_share_a_node() {
    let text = |time: u32| -> String {
        let role = |number: u32| {
            char::from(b'a' + number as u8 % 26).to_string().repeat(2 + number as usize / 26)
        };
        let lines: Vec<_> =
            (0..150).map(|number| format!("[{}]\nwork {time}", role(number))).collect();
        lines.join("\n")
    };
    let (before, after) =
        (run_set(&[&text(1)], Grain::Frames), run_set(&[&text(2)], Grain::Frames));
    let graph = compared(&before, &after, &options(50.0));
    assert_eq!(graph.roles_together, 50);
    expect![[r#"
        root 150 → 300
          [(other threads)] 50 → 100 *
    "#]]
    .assert_eq(&drawn(&graph, &after));
}

#[test]
fn a_deep_tree_is_compared_without_recursion() {
    let deep = |value| {
        let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        let wall = builder.metric(Metric::sampled("wall", Unit::Nanoseconds));
        let frame = builder.named_frame("again", perfblame_cct::Layer::Application);
        builder.sample(&vec![frame; 100_000], None, wall, value);
        merge_runs(vec![builder.finish()])
    };
    let graph = compared(&deep(0x1_0000_0000), &deep(0x2_0000_0000), &options(50.0));
    assert_eq!(graph.nodes.len(), 100_001);
    assert_eq!(graph.nodes.iter().filter(|node| node.cause).count(), 1);
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
    perfblame_cct::map_labels(&profile, |symbols, frame| {
        let frame = *symbols.frame(frame);
        let function = *symbols.function(frame.function);
        let name = symbols.text(function.name).repeat(2);
        let name = symbols.string(&name);
        let function = symbols.intern_function(Function { name, ..function });
        symbols.intern_frame(Frame { function, ..frame })
    })
}
