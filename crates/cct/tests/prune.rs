//! Leaving nodes out without losing what they cost.

use expect_test::expect;
use perfblame_cct::{
    Grain, MetricId, Profile, dump, fold_recursion, limit_depth, prune, thread_totals,
};
use perfblame_fixtures::{any_samples, draw, profile, profile_of};
use proptest::prelude::*;

fn drawn() -> Profile {
    profile(
        "main  main  main  main wrap
         wrap  wrap  wrap  .    .
         parse parse .     .    .
         .     alloc .     .    .",
    )
}

#[test]
fn children_and_cost_go_to_the_parent() {
    let profile = drawn();
    let pruned = prune(&profile, |node| profile.name_of(node) == "wrap");
    expect![[r"
        (pruned) 1 1
        main 4 2
          parse 2 1
            alloc 1 1
    "]]
    .assert_eq(&draw(&pruned));
}

#[test]
fn children_of_a_pruned_root_become_roots() {
    let profile = drawn();
    let pruned = prune(&profile, |node| profile.tree.parent(node).is_none());
    expect![[r"
        (pruned) 2 2
        wrap 3 1
          parse 2 1
            alloc 1 1
    "]]
    .assert_eq(&draw(&pruned));
}

#[test]
fn what_is_deeper_stays_visible() {
    expect![[r"
        main 4 1
          wrap 3 1
            (deeper) 2 2
        wrap 1 1
    "]]
    .assert_eq(&draw(&limit_depth(&drawn(), 2)));
    assert_eq!(draw(&limit_depth(&drawn(), 0)), "(deeper) 5 5\n");
}

#[test]
fn direct_recursion_folds() {
    let profile = profile(
        "main main main
         walk walk walk
         walk walk read
         walk read walk
         read .    .",
    );
    expect![[r"
        main 3 0
          walk 3 0
            read 3 2
              walk 1 1
    "]]
    .assert_eq(&draw(&fold_recursion(&profile)));
}

proptest! {
    #[test]
    fn totals_never_change(
        samples in any_samples(), names in prop::collection::vec(0u8..6, 0..4), depth in 0u32..8,
        grain in prop::sample::select(vec![Grain::Functions, Grain::CallSites, Grain::Frames]),
    ) {
        let profile = profile_of(&samples, grain);
        let names: Vec<String> = names.iter().map(|name| char::from(b'a' + name).to_string()).collect();
        let leave_out = |node| names.iter().any(|name| name == profile.name_of(node));
        let metric = MetricId::new(0);
        let pruned = prune(&profile, leave_out);
        for other in [&pruned, &limit_depth(&profile, depth), &fold_recursion(&profile)] {
            prop_assert_eq!(thread_totals(other, metric), thread_totals(&profile, metric));
            prop_assert_eq!(other.samples, profile.samples);
            prop_assert!(other.tree.len() <= profile.tree.len() + 1);
        }
        prop_assert!(!pruned.tree.nodes().any(|node| names.iter().any(|name| name == pruned.name_of(node))));
        let deep = limit_depth(&profile, depth).tree.depths().into_iter().max().unwrap_or(0);
        prop_assert!(deep <= depth);
        // Leaving out in two steps is leaving out at once.
        let one = prune(&profile, |node| names.first().is_some_and(|name| name == profile.name_of(node)));
        let two = prune(&one, |node| names.iter().any(|name| name == one.name_of(node)));
        prop_assert_eq!(dump(&two), dump(&pruned));
    }
}
