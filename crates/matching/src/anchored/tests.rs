//! Drawn examples and laws of anchored matching.

use expect_test::{Expect, expect};
use perfblame_cct::{Grain, MetricId, NodeId, Profile};
use perfblame_fixtures::{DrawnSample, any_samples, profile, profile_of};
use proptest::prelude::*;
use std::fmt::Write as _;

use super::*;
use crate::{Joint, join};

/// Weights of a profile's first metric, and the side they make.
fn with_sides<T>(
    old: &Profile,
    new: &Profile,
    ask: impl Fn(&SideTree<'_>, &SideTree<'_>) -> T,
) -> T {
    let weights = [old, new].map(|profile| profile.self_values(MetricId::new(0)));
    let before = SideTree { symbols: &old.symbols, tree: &old.tree, weights: &weights[0] };
    let after = SideTree { symbols: &new.symbols, tree: &new.tree, weights: &weights[1] };
    ask(&before, &after)
}

fn match_profiles(old: &Profile, new: &Profile) -> Matching {
    with_sides(old, new, |before, after| {
        match_anchored(before, after, &Identity::of(before, after))
    })
}

fn joint_of(old: &Profile, new: &Profile) -> Joint {
    joint_with(old, new, Identity::of)
}

type IdentityOf = fn(&SideTree<'_>, &SideTree<'_>) -> Identity;

fn joint_with(old: &Profile, new: &Profile, identity: IdentityOf) -> Joint {
    with_sides(old, new, |before, after| {
        let identity = identity(before, after);
        join(before, after, &identity, &match_anchored(before, after, &identity))
    })
}

/// Both sides as one tree, with what became of each context.
fn check(before: &str, after: &str, expected: &Expect) {
    check_with(Identity::of, before, after, expected);
}

fn check_with(identity: IdentityOf, before: &str, after: &str, expected: &Expect) {
    let (old, new) = (profile(before), profile(after));
    let joint = joint_with(&old, &new, identity);
    let mut text = String::new();
    for node in joint.tree.nodes() {
        let depth = joint.tree.ancestors(node).count() * 2 - 2;
        let name = joint.symbols.name(joint.symbols.frame(joint.tree.frame(node)).function);
        let _ = write!(text, "{:depth$}{name}", "");
        let _ = match (
            joint.node.before[node.index()],
            joint.node.after[node.index()],
            joint.link[node.index()],
        ) {
            (None, _, _) => writeln!(text, " new"),
            (_, None, _) => writeln!(text, " gone"),
            (_, _, Link::Same) => writeln!(text),
            (Some(was), _, Link::Renamed) => writeln!(text, " was {}", old.name_of(was)),
            (_, _, Link::Wrapped) => writeln!(text, " wrapped"),
            (_, _, Link::Unwrapped) => writeln!(text, " unwrapped"),
            (_, _, Link::Moved) => writeln!(text, " moved"),
        };
    }
    expected.assert_eq(&text);
}

#[test]
fn a_frame_was_put_between() {
    check(
        "main main main
         run  run  run
         load load save
         read .    .",
        "main main main
         run  run  run
         try  try  save
         load load .
         read .    .",
        &expect![[r#"
            main
              run
                try new
                  load wrapped
                    read
                save
        "#]],
    );
}

#[test]
fn a_frame_was_taken_away() {
    check(
        "main main main
         try  try  save
         .    load .
         .    read .",
        "main main
         load save
         read .",
        &expect![[r#"
            main
              load unwrapped
                read
              save
              try gone
        "#]],
    );
}

#[test]
fn a_wrapper_around_everything() {
    check(
        "main main main
         a    b    c
         x    y    .",
        "main main main
         all  all  all
         a    b    c
         x    y    .",
        &expect![[r#"
            main
              all new
                a wrapped
                  x
                b wrapped
                  y
                c wrapped
        "#]],
    );
}

#[test]
fn a_subtree_was_moved() {
    check(
        "main  main  main  main
         left  left  left  right
         parse parse .     .
         lex   tree  .     .
         read  .     .     .",
        "main  main  main  main
         left  right right right
         .     parse parse .
         .     lex   tree  .
         .     read  .     .",
        &expect![[r#"
            main
              left
              right
                parse moved
                  lex
                    read
                  tree
        "#]],
    );
}

#[test]
fn helpers_are_not_moved() {
    check(
        "main   main
         left   right
         malloc .",
        "main   main
         left   right
         .      malloc",
        &expect![[r#"
            main
              left
                malloc gone
              right
                malloc new
        "#]],
    );
}

#[test]
fn another_name_for_what_calls_the_same() {
    check(
        "main main main main
         old  old  old  other
         lex  tree emit .
         read .    .    .",
        "main main main main
         new  new  new  other
         lex  tree emit .
         read .    .    .",
        &expect![[r#"
            main
              new was old
                lex
                  read
                tree
                emit
              other
        "#]],
    );
}

#[test]
fn callers_of_what_was_found_are_found() {
    // Functions alone do not tell that they are one.
    check_with(
        Identity::by_name,
        "main main main  main
         one  one  other other
         two  two  .     leaf
         lex  tree .     .
         read node .     .
         get  put  .     .",
        "main main main  main
         uno  uno  other other
         due  due  .     leaf
         lex  tree .     .
         read node .     .
         get  put  .     .",
        &expect![[r#"
            main
              uno was one
                due was two
                  lex
                    read
                      get
                  tree
                    node
                      put
              other
                leaf
        "#]],
    );
}

#[test]
fn recursion_of_another_depth() {
    check(
        "main main
         f    g
         f    f
         f    .",
        "main main
         f    g
         f    f
         f    .
         f    .",
        &expect![[r#"
            main
              f
                f
                  f
                    f new
              g
                f
        "#]],
    );
}

/// A chain of calls, with a frame more in the middle where wanted.
fn chain(depth: usize, extra: bool) -> Profile {
    let mut names: Vec<String> = (0..depth).map(|level| format!("f{}", level % 1000)).collect();
    if extra {
        names.insert(depth / 2, "between".to_owned());
    }
    profile(&names.join("\n"))
}

#[test]
fn trees_can_be_deep() {
    let (old, new) = (chain(100_000, false), chain(100_000, true));
    let matching = match_profiles(&old, &new);
    assert_eq!(matching.pairs_count(), 100_000);
    let wrapped = new.tree.nodes().filter(|node| matching.link(*node) == Link::Wrapped).count();
    assert_eq!(wrapped, 1);
    assert_eq!(match_profiles(&new, &new).pairs_count(), 100_001);
}

/// The path of a node, by function names and places.
fn content(profile: &Profile, node: NodeId) -> Vec<(String, Option<perfblame_cct::CallSite>)> {
    let path = profile.tree.path(node).into_iter();
    let frame = |node| *profile.symbols.frame(profile.tree.frame(node));
    path.map(|node| (profile.name_of(node).to_owned(), frame(node).call_site)).collect()
}

fn any_grain() -> impl Strategy<Value = Grain> {
    prop_oneof![Just(Grain::Functions), Just(Grain::CallSites), Just(Grain::Frames)]
}

/// A few samples changed: some dropped, some added.
fn any_two() -> impl Strategy<Value = (Vec<DrawnSample>, Vec<DrawnSample>)> {
    (any_samples(), any_samples(), any_samples()).prop_map(|(both, before, after)| {
        let with = |more: &[DrawnSample]| {
            both.iter().chain(&more[..more.len().min(4)]).cloned().collect::<Vec<_>>()
        };
        (with(&before), with(&after))
    })
}

fn mirrored(link: Link) -> Link {
    match link {
        Link::Wrapped => Link::Unwrapped,
        Link::Unwrapped => Link::Wrapped,
        same => same,
    }
}

proptest! {
    #[test]
    fn a_tree_matches_itself(samples in any_samples(), grain in any_grain()) {
        let profile = profile_of(&samples, grain);
        let matching = match_profiles(&profile, &profile);
        for node in profile.tree.nodes() {
            prop_assert_eq!(matching.link(node), Link::Same);
            let partner = matching.before(node).map(|node| content(&profile, node));
            prop_assert_eq!(partner, Some(content(&profile, node)));
        }
    }

    #[test]
    fn swapping_sides_mirrors_the_answer((old, new) in any_two()) {
        let (old, new) = (profile_of(&old, Grain::Functions), profile_of(&new, Grain::Functions));
        let there = match_profiles(&old, &new);
        let back = match_profiles(&new, &old);
        for node in new.tree.nodes() {
            let partner = there.before(node);
            prop_assert_eq!(partner, back.after(node));
            if let Some(partner) = partner {
                prop_assert_eq!(mirrored(there.link(node)), back.link(partner));
            }
        }
        prop_assert_eq!(there.pairs_count(), back.pairs_count());
    }

    #[test]
    fn sibling_order_does_not_matter((old, new) in any_two()) {
        let pairs = |old: &[DrawnSample], new: &[DrawnSample]| {
            let (old, new) = (profile_of(old, Grain::Functions), profile_of(new, Grain::Functions));
            let matching = match_profiles(&old, &new);
            let mut pairs: Vec<_> = (new.tree.nodes())
                .map(|node| {
                    let partner = matching.before(node).map(|node| content(&old, node));
                    (content(&new, node), partner, matching.link(node))
                })
                .collect();
            pairs.sort();
            pairs
        };
        let there = pairs(&old, &new);
        let reversed = |samples: &[DrawnSample]| samples.iter().rev().cloned().collect::<Vec<_>>();
        prop_assert_eq!(&there, &pairs(&reversed(&old), &new));
        prop_assert_eq!(&there, &pairs(&old, &reversed(&new)));
    }

    #[test]
    fn nobody_has_two_partners((old, new) in any_two(), grain in any_grain()) {
        let (old, new) = (profile_of(&old, grain), profile_of(&new, grain));
        let matching = match_profiles(&old, &new);
        for node in new.tree.nodes() {
            if let Some(partner) = matching.before(node) {
                prop_assert_eq!(matching.after(partner), Some(node));
            }
        }
        for node in old.tree.nodes() {
            if let Some(partner) = matching.after(node) {
                prop_assert_eq!(matching.before(partner), Some(node));
            }
        }
    }

    #[test]
    fn both_sides_are_whole_in_the_joint_tree((old, new) in any_two(), grain in any_grain()) {
        let (old, new) = (profile_of(&old, grain), profile_of(&new, grain));
        let joint = joint_of(&old, &new);
        let rows = joint.tree.len();
        // Every node of each side has exactly one row, and every row is somebody's.
        for (profile, row_of, node_of) in
            [(&old, &joint.row_of.before, &joint.node.before), (&new, &joint.row_of.after, &joint.node.after)]
        {
            prop_assert_eq!(node_of.iter().flatten().count(), profile.tree.len());
            for node in profile.tree.nodes() {
                prop_assert_eq!(node_of[row_of[node.index()].index()], Some(node));
            }
            // Sums over rows are sums over nodes.
            let values = profile.self_values(MetricId::new(0));
            let mut of_rows = vec![0; rows];
            for node in profile.tree.nodes() {
                of_rows[row_of[node.index()].index()] += values[node.index()];
            }
            let inclusive = joint.tree.inclusive(&of_rows);
            let total: i64 = joint.tree.roots().map(|root| inclusive[root.index()]).sum();
            prop_assert_eq!(total, values.iter().sum::<i64>());
        }
        prop_assert!((0..rows).all(|row| joint.node.before[row].is_some() || joint.node.after[row].is_some()));
        // The after side keeps its shape.
        for node in new.tree.nodes() {
            let parent = joint.tree.parent(joint.row_of.after[node.index()]);
            let expected = new.tree.parent(node).map(|parent| joint.row_of.after[parent.index()]);
            prop_assert_eq!(parent, expected);
        }
    }
}
