//! Both sides as one tree, over which costs before and after stand beside each other.
//!
//! It has the shape of the after side, with what is gone hung below where it was. A context that moved stands where it
//! is now: its cost before is counted there too, so that a cost that only changed its place is no difference.

use perfblame_cct::{Cct, FrameId, Import, NodeId, OpenNode, Symbols};

use crate::{Identity, Link, Matching, Side};

/// The union of two matched trees. Each column has a value per row of `tree`.
#[derive(Clone, Debug, Default)]
pub struct Joint {
    /// Symbols of the after side, and of what is gone; the former keep their numbers.
    pub symbols: Symbols,
    /// The contexts of both sides, with the frames of the after side where there is one.
    pub tree: Cct,
    /// The function's class, equal for what is one function on both sides.
    pub class: Vec<u32>,
    /// The node on the before side.
    pub before: Vec<Option<NodeId>>,
    /// The node on the after side.
    pub after: Vec<Option<NodeId>>,
    /// How the two differ in place or name.
    pub link: Vec<Link>,
    /// The row of each node of the before side.
    pub row_of_before: Vec<NodeId>,
    /// The row of each node of the after side.
    pub row_of_after: Vec<NodeId>,
}

/// Puts two matched trees into one.
pub fn join(
    before: &Side<'_>,
    after: &Side<'_>,
    identity: &Identity,
    matching: &Matching,
) -> Joint {
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
    let count = rows.len();
    let (tree, placement) = Cct::from_parents(after.tree.grain(), rows);
    let row_of_before: Vec<_> = open_of_before.iter().map(|open| placement.of(*open)).collect();
    let row_of_after: Vec<_> =
        (0..after.tree.len()).map(|row| placement.of(OpenNode::new(row))).collect();
    let mut joint = Joint {
        symbols,
        tree,
        class: vec![0; count],
        before: vec![None; count],
        after: vec![None; count],
        link: vec![Link::Same; count],
        row_of_before,
        row_of_after,
    };
    for node in before.tree.nodes() {
        let row = joint.row_of_before[node.index()].index();
        joint.before[row] = Some(node);
        joint.class[row] = identity.before(before.function_of(node));
    }
    for node in after.tree.nodes() {
        let row = joint.row_of_after[node.index()].index();
        joint.after[row] = Some(node);
        joint.class[row] = identity.after(after.function_of(node));
        joint.link[row] = matching.link(node);
    }
    joint
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
        let before = Side { symbols: &old.symbols, tree: &old.tree, weights: &[] };
        let after = Side { symbols: &new.symbols, tree: &new.tree, weights: &[] };
        let identity = Identity::by_name(&before, &after);
        let joint = join(&before, &after, &identity, &match_by_key(&before, &after, &identity));
        let text: Vec<_> = (joint.tree.nodes())
            .map(|node| {
                let function = joint.symbols.frame(joint.tree.frame(node)).function;
                let sides = (joint.before[node.index()], joint.after[node.index()]);
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
}
