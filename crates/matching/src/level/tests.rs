//! Levels matched in order and by key, and the laws of both.

use super::*;
use crate::Pair;
use perfblame_cct::{Grain, Profile};
use perfblame_fixtures::{any_samples, profile, profile_of};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn levels(old: &Profile, new: &Profile, level: Level) -> LevelMatching {
    let before = SideTree { symbols: &old.symbols, tree: &old.tree, weights: &[] };
    let after = SideTree { symbols: &new.symbols, tree: &new.tree, weights: &[] };
    let identity = Identity::by_name(&before, &after);
    match_levels(&before, &after, &identity, |_| level)
}

fn check(level: Level, before: &str, after: &str) -> String {
    let (old, new) = (profile(before), profile(after));
    let matched = levels(&old, &new, level);
    let words = matched.matching.pairs().map(|pair| match pair {
        Pair::Both(_, node) => new.name_of(node).to_owned(),
        Pair::OnlyBefore(node) => format!("-{}", old.name_of(node)),
        Pair::OnlyAfter(node) => format!("+{}", new.name_of(node)),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn order_matters_where_it_is_no_chance() {
    let before = "main main main main
                  open read send close";
    let after = "main main main main
                 open send read close";
    assert_eq!(check(Level::Ordered, before, after), "main open +send read close -send");
    assert_eq!(check(Level::Keyed, before, after), "main open send read close");
    assert_eq!(
        check(Level::Skipped, before, after),
        "+main +open +send +read +close -main -open -read -send -close"
    );
}

#[test]
fn levels_in_another_order_altogether_are_matched_by_key() {
    let column = |names: &mut dyn Iterator<Item = u32>| {
        let names: Vec<_> = names.map(|number| format!("f{number}")).collect();
        format!("{}\n{}", "main ".repeat(names.len()), names.join(" "))
    };
    let (old, new) = (profile(&column(&mut (0..20_000))), profile(&column(&mut (0..20_000).rev())));
    let matched = levels(&old, &new, Level::Ordered);
    assert_eq!((matched.ordered, matched.keyed, matched.too_different), (1, 0, 1));
    assert_eq!(matched.matching.pairs_count(), 20_001);
}

#[test]
fn a_deep_tree_is_matched_without_recursion() {
    let deep = |name: &str| profile(&format!("{name}\n").repeat(100_000));
    let matched = levels(&deep("f"), &deep("f"), Level::Ordered);
    assert_eq!(matched.matching.pairs_count(), 100_000);
}

/// The partners as paths of names, where those say it all.
fn paths(
    old: &Profile,
    new: &Profile,
    matched: &LevelMatching,
) -> BTreeSet<(Vec<String>, Vec<String>)> {
    let path = |side: &Profile, node| -> Vec<String> {
        side.tree.path(node).into_iter().map(|node| side.name_of(node).to_owned()).collect()
    };
    let both = matched.matching.pairs().filter_map(|pair| match pair {
        Pair::Both(before, after) => Some((path(old, before), path(new, after))),
        _ => None,
    });
    both.collect()
}

proptest! {
    #[test]
    fn a_tree_matches_itself_whole(samples in any_samples()) {
        for grain in [Grain::Functions, Grain::Frames] {
            let tree = profile_of(&samples, grain);
            for level in [Level::Ordered, Level::Keyed] {
                let matched = levels(&tree, &tree, level).matching;
                prop_assert!(tree.tree.nodes().all(|node| matched.after(node) == Some(node)));
            }
        }
    }

    #[test]
    fn swapping_the_sides_mirrors_the_answer(old in any_samples(), new in any_samples()) {
        for grain in [Grain::Functions, Grain::Frames] {
            let (old, new) = (profile_of(&old, grain), profile_of(&new, grain));
            for level in [Level::Ordered, Level::Keyed] {
                let (there, back) = (levels(&old, &new, level).matching, levels(&new, &old, level).matching);
                prop_assert!(old.tree.nodes().all(|node| there.after(node) == back.before(node)));
                prop_assert!(new.tree.nodes().all(|node| there.before(node) == back.after(node)));
            }
        }
    }

    #[test]
    fn matching_by_key_ignores_the_order_of_siblings(old in any_samples(), new in any_samples(), turn in 0usize..24) {
        let tree = |samples: &[_]| profile_of(samples, Grain::Functions);
        let mut turned = new.clone();
        turned.reverse();
        turned.rotate_left(turn.min(new.len()));
        let (old, new, turned) = (tree(&old), tree(&new), tree(&turned));
        let straight = paths(&old, &new, &levels(&old, &new, Level::Keyed));
        prop_assert_eq!(straight, paths(&old, &turned, &levels(&old, &turned, Level::Keyed)));
    }

    #[test]
    fn partners_have_partners_above_them(old in any_samples(), new in any_samples()) {
        let (old, new) = (profile_of(&old, Grain::Frames), profile_of(&new, Grain::Frames));
        let matched = levels(&old, &new, Level::Ordered).matching;
        for pair in matched.pairs() {
            let Pair::Both(before, after) = pair else { continue };
            prop_assert_eq!(old.name_of(before), new.name_of(after));
            let above = new.tree.parent(after).map(|parent| matched.before(parent));
            prop_assert_eq!(above, old.tree.parent(before).map(Some));
        }
    }
}
