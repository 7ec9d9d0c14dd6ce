//! Children match by function and occurrence: the n-th call of a function below a parent is the n-th call of that
//! function below the parent's partner.
//!
//! Children are looked up among the children of one pair of parents, never in a table of the whole tree: there the
//! search would be a cache miss for every node, here it is a look at the neighbouring rows.

use perfblame_cct::{NodeId, Siblings, Side, Sides};

use crate::{Identity, Link, Matching, SideTree};

/// Matches two trees from the roots down, by function and occurrence.
pub fn match_by_key(before: &SideTree<'_>, after: &SideTree<'_>, identity: &Identity) -> Matching {
    let mut matching = Matching::new(before.tree.len(), after.tree.len());
    let trees = Sides { before, after };
    // The class of every frame's function.
    let classes = trees.map_with_side(|side, tree| -> Vec<u32> {
        tree.symbols.frames().map(|(_, frame)| identity.class(side, frame.function)).collect()
    });
    let mut lists: Sides<Vec<(u32, NodeId)>> = Sides::default();
    let mut pair_all = |matching: &mut Matching, old: Siblings<'_>, new: Siblings<'_>| {
        for (side, siblings) in [(Side::Before, old), (Side::After, new)] {
            let tree = trees[side].tree;
            lists[side].clear();
            lists[side]
                .extend(siblings.map(|node| (classes[side][tree.frame(node).index()], node)));
        }
        let Sides { before: old, after: new } = &mut lists;
        // The usual case: the same calls in the same order.
        let alike = old.iter().map(|child| child.0).eq(new.iter().map(|child| child.0));
        if !alike {
            // Rows tell occurrences apart.
            old.sort_unstable();
            new.sort_unstable();
        }
        let (mut old, mut new) = (&**old, &**new);
        while let ([(one, before), old_rest @ ..], [(other, after), new_rest @ ..]) = (old, new) {
            if one == other {
                matching.pair(*before, *after, Link::Same);
            }
            if one <= other {
                old = old_rest;
            }
            if other <= one {
                new = new_rest;
            }
        }
    };
    pair_all(&mut matching, before.tree.roots(), after.tree.roots());
    for node in after.tree.nodes() {
        if let Some(partner) = matching.before(node) {
            pair_all(&mut matching, before.tree.children(partner), after.tree.children(node));
        }
    }
    matching
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pair;
    use perfblame_fixtures::profile;

    #[test]
    fn children_match_by_function() {
        let (old, new) = (
            profile(
                "main main main
                 a    b    c",
            ),
            profile(
                "main main main
                 c    a    d",
            ),
        );
        let weights = [];
        let before = SideTree { symbols: &old.symbols, tree: &old.tree, weights: &weights };
        let after = SideTree { symbols: &new.symbols, tree: &new.tree, weights: &weights };
        let identity = Identity::by_name(&before, &after);
        let matching = match_by_key(&before, &after, &identity);
        let names: Vec<_> = (matching.pairs())
            .map(|pair| match pair {
                Pair::Both(old_node, new_node) => {
                    format!("{}={}", old.name_of(old_node), new.name_of(new_node))
                }
                Pair::OnlyBefore(node) => format!("-{}", old.name_of(node)),
                Pair::OnlyAfter(node) => format!("+{}", new.name_of(node)),
            })
            .collect();
        assert_eq!(names, ["main=main", "c=c", "a=a", "+d", "-b"]);
    }
}
