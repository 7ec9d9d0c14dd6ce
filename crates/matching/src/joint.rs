//! Both sides as one tree, over which costs before and after stand beside each other.
//!
//! It has the shape of the after side, with what is gone hung below where it was. A context that moved stands where it
//! is now: its cost before is counted there too, so that a cost that only changed its place is no difference.

use perfblame_cct::{Cct, FrameId, Import, NodeId, OpenNode, Sides, Symbols};

use crate::{Identity, Link, Matching, SideTree};

/// The union of two matched trees. Each column has a value per row of `tree`.
#[derive(Clone, Debug, Default)]
pub struct Joint {
    /// Symbols of the after side, and of what is gone; the former keep their numbers.
    pub symbols: Symbols,
    /// The contexts of both sides, with the frames of the after side where there is one.
    pub tree: Cct,
    /// The function's class, equal for what is one function on both sides.
    pub class: Vec<u32>,
    /// The node on each side; none where a side does not have it.
    pub node: Sides<Vec<Option<NodeId>>>,
    /// How the two differ in place or name.
    pub link: Vec<Link>,
    /// The row of each node of a side.
    pub row_of: Sides<Vec<NodeId>>,
}

/// Puts two matched trees into one.
pub fn join(
    before: &SideTree<'_>,
    after: &SideTree<'_>,
    identity: &Identity,
    matching: &Matching,
) -> Joint {
    let Layout { symbols, tree, row_of } =
        if before.tree.nodes().all(|node| matching.after(node).is_some()) {
            after_alone(after, matching, before.tree.len())
        } else {
            after_with_gone(before, after, matching)
        };
    let count = tree.len();
    let mut joint = Joint {
        symbols,
        tree,
        class: vec![0; count],
        node: Sides::same(vec![None; count]),
        link: vec![Link::Same; count],
        row_of,
    };
    for node in before.tree.nodes() {
        let row = joint.row_of.before[node.index()].index();
        joint.node.before[row] = Some(node);
        joint.class[row] = identity.before(before.function_of(node));
    }
    for node in after.tree.nodes() {
        let row = joint.row_of.after[node.index()].index();
        joint.node.after[row] = Some(node);
        joint.class[row] = identity.after(after.function_of(node));
        joint.link[row] = matching.link(node);
    }
    joint
}

/// The joint tree, and where the nodes of both sides stand in it.
struct Layout {
    symbols: Symbols,
    tree: Cct,
    row_of: Sides<Vec<NodeId>>,
}

/// Nothing is gone: the after side is the joint tree as it is.
fn after_alone(after: &SideTree<'_>, matching: &Matching, befores: usize) -> Layout {
    let place = |row| matching.after(NodeId::new(row)).unwrap_or(NodeId::new(0));
    Layout {
        symbols: after.symbols.clone(),
        tree: after.tree.clone(),
        row_of: Sides {
            before: (0..befores).map(place).collect(),
            after: after.tree.nodes().collect(),
        },
    }
}

/// The after side, with what is gone hung below where it was.
fn after_with_gone(before: &SideTree<'_>, after: &SideTree<'_>, matching: &Matching) -> Layout {
    // Most of the before side's symbols are the after side's too: only those of what is gone are looked up.
    let mut symbols = after.symbols.clone();
    let gone = before.tree.nodes().filter(|node| matching.after(*node).is_none()).count();
    let mut rows: Vec<(Option<OpenNode>, FrameId)> = Vec::with_capacity(after.tree.len() + gone);
    for node in after.tree.nodes() {
        let parent = after.tree.parent(node).map(|parent| OpenNode::new(parent.index()));
        rows.push((parent, after.tree.frame(node)));
    }
    let mut import = Import::new(before.symbols);
    let mut open_of_before: Vec<OpenNode> = Vec::with_capacity(before.tree.len());
    for node in before.tree.nodes() {
        let open = if let Some(partner) = matching.after(node) {
            OpenNode::new(partner.index())
        } else {
            let parent = before.tree.parent(node).map(|above| open_of_before[above.index()]);
            rows.push((parent, import.frame(&mut symbols, before.tree.frame(node))));
            OpenNode::new(rows.len() - 1)
        };
        open_of_before.push(open);
    }
    let (tree, placement) = Cct::from_parents(after.tree.grain(), rows);
    let row_of = Sides {
        before: open_of_before.iter().map(|open| placement.of(*open)).collect(),
        after: after.tree.nodes().map(|node| placement.of(OpenNode::new(node.index()))).collect(),
    };
    Layout { symbols, tree, row_of }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::match_by_key;
    use perfblame_fixtures::profile;

    #[test]
    fn what_is_gone_hangs_where_it_was() {
        let (old, new) = (
            profile(
                "main main
                 a    b
                 x    .",
            ),
            profile(
                "main main
                 c    b",
            ),
        );
        let before = SideTree { symbols: &old.symbols, tree: &old.tree, weights: &[] };
        let after = SideTree { symbols: &new.symbols, tree: &new.tree, weights: &[] };
        let identity = Identity::by_name(&before, &after);
        let joint = join(&before, &after, &identity, &match_by_key(&before, &after, &identity));
        let text: Vec<_> = (joint.tree.nodes())
            .map(|node| {
                let function = joint.symbols.frame(joint.tree.frame(node)).function;
                let sides = (joint.node.before[node.index()], joint.node.after[node.index()]);
                let mark = match sides {
                    (Some(_), Some(_)) => '=',
                    (Some(_), None) => '-',
                    _ => '+',
                };
                let depth = joint.tree.ancestors(node).count();
                format!("{:>depth$}{}", mark, joint.symbols.name(function))
            })
            .collect();
        assert_eq!(text, ["=main", " +c", " =b", " -a", "  -x"]);
    }

    #[test]
    fn without_anything_gone_it_is_the_after_side() {
        let (old, new) = (
            profile(
                "main main
                 a    b",
            ),
            profile(
                "main main main
                 b    c    a",
            ),
        );
        let before = SideTree { symbols: &old.symbols, tree: &old.tree, weights: &[] };
        let after = SideTree { symbols: &new.symbols, tree: &new.tree, weights: &[] };
        let identity = Identity::by_name(&before, &after);
        let matching = match_by_key(&before, &after, &identity);
        let joint = join(&before, &after, &identity, &matching);
        let rows = |tree: &Cct| -> Vec<_> {
            tree.nodes().map(|node| (tree.parent(node), tree.frame(node))).collect()
        };
        assert_eq!(rows(&joint.tree), rows(&new.tree));
        let layout = after_with_gone(&before, &after, &matching);
        assert_eq!(joint.row_of, layout.row_of);
        assert_eq!(rows(&joint.tree), rows(&layout.tree));
    }
}
