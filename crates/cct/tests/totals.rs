//! What profiles add up to, and how they look from one function.

use expect_test::{Expect, expect};
use perfblame_cct::{
    Grain, Layer, Metric, MetricId, Neighbour, Profile, ProfileBuilder, StringId, Thread, Times,
    Unit, callees, callers, callers_tree, component_totals, function_totals, hot_path,
    layer_totals, role_totals, rooted_at, thread_group_totals, thread_totals,
};
use perfblame_fixtures::{any_samples, draw, profile, profile_of};
use proptest::prelude::*;
use std::fmt::Write as _;

/// The metric of drawings.
fn samples() -> MetricId {
    MetricId::new(0)
}

fn functions(profile: &Profile) -> String {
    let totals = function_totals(profile, &profile.self_values(samples()));
    let mut out = String::new();
    for ((id, _), total) in profile.symbols.functions().zip(totals) {
        let name = profile.symbols.name(id);
        let _ = writeln!(out, "{name} {} {}", total.inclusive, total.self_value);
    }
    out
}

fn neighbours(profile: &Profile, list: &[Neighbour]) -> String {
    list.iter().fold(String::new(), |mut out, neighbour| {
        let name = neighbour.function.map_or("-", |id| profile.symbols.name(id));
        let _ = writeln!(out, "{name} {}", neighbour.value);
        out
    })
}

fn check_neighbours(drawing: &str, function: &str, who_calls: &Expect, whom_it_calls: &Expect) {
    let profile = profile(drawing);
    let values = profile.self_values(samples());
    let function = profile.functions_named(function);
    who_calls.assert_eq(&neighbours(&profile, &callers(&profile, &values, &function)));
    whom_it_calls.assert_eq(&neighbours(&profile, &callees(&profile, &values, &function)));
}

#[test]
fn a_recursive_function_counts_once_per_stack() {
    let profile = profile(
        "main main main
         walk walk walk
         walk walk read
         walk read .",
    );
    expect![[r"
        main 3 0
        walk 3 1
        read 2 2
    "]]
    .assert_eq(&functions(&profile));
}

#[test]
fn callers_and_callees_of_a_function() {
    check_neighbours(
        "main  main  main  idle parse
         parse parse draw  .    .
         read  alloc alloc .    .",
        "parse",
        &expect![[r"
            main 2
            - 1
        "]],
        &expect![[r"
            read 1
            alloc 1
        "]],
    );
}

#[test]
fn callers_of_a_recursive_function_count_each_stack_once() {
    // The inner call of `m` from `p` is below another one, with `q` between: its sample belongs to that one already.
    check_neighbours(
        "p
         m
         q
         m
         p
         m",
        "m",
        &expect![[r"
            p 1
            q 1
        "]],
        &expect![[r"
            p 1
            q 1
        "]],
    );
}

#[test]
fn the_hot_path_ends_where_no_child_dominates() {
    let profile = profile(
        "main  main  main  main other
         parse parse parse draw .
         read  alloc free  .    .",
    );
    let inclusive = profile.inclusive_values(samples());
    let path = hot_path(&profile.tree, &inclusive, 0.5);
    let names: Vec<_> = path.iter().map(|node| profile.name_of(*node)).collect();
    assert_eq!(names, ["main", "parse"]);
}

#[test]
fn a_function_as_the_root() {
    let profile = profile(
        "main  main  main  other
         parse parse draw  parse
         read  parse .     read
         .     alloc .     .",
    );
    let parse = profile.functions_named("parse");
    expect![[r"
        parse 3 0
          parse 1 0
            alloc 1 1
          read 2 2
    "]]
    .assert_eq(&draw(&rooted_at(&profile, &parse)));
    expect![[r"
        parse 3 0
          main 2 2
          other 1 1
    "]]
    .assert_eq(&draw(&callers_tree(&profile, &parse)));
}

#[test]
fn threads_of_one_role_and_components_and_layers_add_up() {
    let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
    let metric = builder.metric(Metric::sampled("samples", Unit::Count));
    let main = builder.named_frame("main", Layer::Application);
    let read = builder.named_frame("read", Layer::Kernel);
    let main_thread = builder.string("main");
    let mut thread = |name: &str| {
        let name: StringId = builder.string(name);
        let group = Some(builder.string("pool")).filter(|_| name != main_thread);
        builder.thread(Thread { group, ..Thread::named(name) })
    };
    let [one, two, other] = ["worker-1", "worker-2", "main"].map(&mut thread);
    for (thread, stack) in
        [(one, &[main, read][..]), (one, &[main]), (two, &[main]), (other, &[main])]
    {
        builder.sample(stack, Some(thread), metric, 1);
    }
    let profile = builder.finish();
    let values = profile.self_values(metric);
    let roles: Vec<_> = (role_totals(&profile, metric).into_iter())
        .map(|role| (role.role, role.threads.len(), role.value))
        .collect();
    assert_eq!(roles, [("worker-#".to_owned(), 2, 3), ("main".to_owned(), 1, 1)]);
    assert_eq!(thread_totals(&profile, metric), [(Some(one), 2), (Some(two), 1), (Some(other), 1)]);
    let groups: Vec<_> = (thread_group_totals(&profile, metric).into_iter())
        .map(|(group, value)| (group.map(|id| profile.symbols.text(id)), value))
        .collect();
    assert_eq!(groups, [(Some("pool"), 3), (None, 1)]);
    let layers: Vec<_> = (layer_totals(&profile, &values).into_iter())
        .map(|(layer, total)| (layer, total.inclusive, total.self_value))
        .collect();
    assert_eq!(layers, [(Layer::Application, 4, 3), (Layer::Kernel, 1, 1)]);
    let components = component_totals(&profile, &values);
    assert_eq!(components.len(), 1);
    assert_eq!((components[0].1.inclusive, components[0].1.self_value), (4, 4));
}

proptest! {
    #[test]
    fn functions_add_up(drawn in any_samples()) {
        let profile = profile_of(&drawn, Grain::Functions);
        let values = profile.self_values(samples());
        let totals = function_totals(&profile, &values);
        let whole: i64 = drawn.iter().map(|sample| sample.value).sum();
        prop_assert_eq!(totals.iter().map(|total| total.self_value).sum::<i64>(), whole);
        for ((id, _), total) in profile.symbols.functions().zip(&totals) {
            // Once per stack, counted from the samples themselves.
            let letter = profile.symbols.name(id).as_bytes()[0] - b'a';
            let on_stack = |sample: &&perfblame_fixtures::DrawnSample| {
                sample.stack.iter().any(|(name, _)| *name == letter)
            };
            let expected: i64 = drawn.iter().filter(on_stack).map(|sample| sample.value).sum();
            prop_assert_eq!(total.inclusive, expected);
            prop_assert!(total.inclusive >= total.self_value);
            for view in [rooted_at(&profile, &[id]), callers_tree(&profile, &[id])] {
                prop_assert_eq!(view.cells.total(samples()), expected);
            }
            let split: i64 = callers(&profile, &values, &[id]).iter().map(|n| n.value).sum();
            prop_assert!(split >= expected);
        }
        let threads: i64 = thread_totals(&profile, samples()).iter().map(|(_, value)| value).sum();
        prop_assert_eq!(threads, whole);
        let roles: i64 = role_totals(&profile, samples()).iter().map(|role| role.value).sum();
        prop_assert_eq!(roles, whole);
    }

    #[test]
    fn inclusive_is_self_and_all_below(drawn in any_samples()) {
        let profile = profile_of(&drawn, Grain::Functions);
        let values = profile.self_values(samples());
        let inclusive = profile.tree.inclusive(&values);
        for node in profile.tree.nodes() {
            let below: i64 = profile.tree.children(node).map(|child| inclusive[child.index()]).sum();
            prop_assert_eq!(inclusive[node.index()], values[node.index()] + below);
            prop_assert!(inclusive[node.index()] >= values[node.index()]);
        }
        let roots: i64 = profile.tree.roots().map(|root| inclusive[root.index()]).sum();
        prop_assert_eq!(roots, values.iter().sum::<i64>());
    }
}
