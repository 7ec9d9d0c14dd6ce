//! Recursive parents, in one walk.

use perfblame_cct::{Grain, NodeId, Profile, recursive_parents};
use perfblame_fixtures::{any_samples, profile, profile_of};
use proptest::prelude::*;

/// Names and recursive parents of the nodes that have one, numbered per name in the order of rows.
fn recursive(profile: &Profile) -> Vec<(String, String)> {
    let label = |node: NodeId| {
        let name = profile.name_of(node);
        let alike = profile.tree.nodes().take(node.index() + 1);
        format!("{name}{}", alike.filter(|node| profile.name_of(*node) == name).count())
    };
    let parents = profile.tree.nodes().zip(recursive_parents(profile));
    parents.filter_map(|(node, parent)| Some((label(node), label(parent?)))).collect()
}

/// `[insitu]`, figure 3.6: the recursive nodes are a2, c2 and c3.
#[test]
fn figure_3_6() {
    let profile = profile(
        "a a a
         b b d
         c c .
         a c .
         c . .",
    );
    let expected = [("a2", "a1"), ("c2", "c1"), ("c3", "c1")];
    assert_eq!(recursive(&profile), expected.map(|(n, p)| (n.to_owned(), p.to_owned())));
}

proptest! {
    /// Listing 3.3 of `[insitu]`, which climbs to the root for every node, says the same.
    #[test]
    fn the_walk_agrees_with_climbing(samples in any_samples()) {
        let profile = profile_of(&samples, Grain::Frames);
        let parents = recursive_parents(&profile);
        for node in profile.tree.nodes() {
            let mut above = profile.tree.ancestors(node).skip(1);
            let climbed = above.find(|above| profile.function_of(*above) == profile.function_of(node));
            prop_assert_eq!(parents[node.index()], climbed);
        }
    }
}
