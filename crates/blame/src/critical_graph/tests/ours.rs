//! What the paper leaves open, and where we depart from it: threads, markers, shares, scales, the order of each run.

use super::*;

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
    let graph = critical_graph(
        &side(&before, &[2.0]),
        &side(&after, &[]),
        &options(50.0),
        Wanted::default(),
    );
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
