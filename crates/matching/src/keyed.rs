//! Children match by function and occurrence: the n-th call of a function below a parent is the n-th call of that
//! function below the parent's partner.

use hashbrown::HashMap;
use perfblame_cct::NodeId;

use crate::{Identity, Link, Matching, Side};

/// Matches two trees from the roots down, by function and occurrence.
pub fn match_by_key(before: &Side<'_>, after: &Side<'_>, identity: &Identity) -> Matching {
    let mut matching = Matching::new(before.tree.len(), after.tree.len());
    // (partner of the parent, class, occurrence) of every node before.
    let mut known: HashMap<(Option<NodeId>, u32, u32), NodeId> = HashMap::new();
    let mut seen: HashMap<(Option<NodeId>, u32), u32> = HashMap::new();
    for node in before.tree.nodes() {
        let class = identity.before(before.function_of(node));
        let nth = seen.entry((before.tree.parent(node), class)).or_default();
        known.insert((before.tree.parent(node), class, *nth), node);
        *nth += 1;
    }
    seen.clear();
    for node in after.tree.nodes() {
        let parent = after.tree.parent(node);
        let class = identity.after(after.function_of(node));
        let nth = seen.entry((parent, class)).or_default();
        let occurrence = *nth;
        *nth += 1;
        let above = match parent {
            None => None,
            Some(parent) => match matching.before(parent) {
                Some(partner) => Some(partner),
                None => continue,
            },
        };
        if let Some(partner) = known.get(&(above, class, occurrence)) {
            matching.pair(*partner, node, Link::Same);
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
        let before = Side { symbols: &old.symbols, tree: &old.tree, weights: &weights };
        let after = Side { symbols: &new.symbols, tree: &new.tree, weights: &weights };
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
