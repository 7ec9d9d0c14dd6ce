//! Matching of contexts where names alone do not do.
//!
//! From the roots down, children that are alone with their function below their parent match by it. What is left under
//! matched parents is looked at there first: a frame more between caller and callee, a frame less, another name for
//! what calls the same. What is left then is gone in one place or new in another; large subtrees that are both were
//! moved. Every step looks at each node a few times, so the whole is linear in nodes but for sorting what is left.

mod local;
mod moves;
mod parents;
mod shape;

use perfblame_cct::{NodeId, Side, Sides};

use crate::{Identity, Link, Matching, SideTree, Wanted, for_both_sides};
use local::Local;
use shape::Shape;

/// One in so many of a side's weight is heavy: half a percent.
const HEAVY: i128 = 200;

/// Matches two trees from the roots down, then what was wrapped, unwrapped, renamed and moved.
pub fn match_anchored(
    before: &SideTree<'_>,
    after: &SideTree<'_>,
    identity: &Identity,
) -> Matching {
    match_anchored_while(before, after, identity, Wanted::default())
}

/// As [`match_anchored`], and ends early once nobody waits for the answer: then partners are missing.
pub fn match_anchored_while(
    before: &SideTree<'_>,
    after: &SideTree<'_>,
    identity: &Identity,
    wanted: Wanted<'_>,
) -> Matching {
    let sides = Sides { before, after };
    let shapes = for_both_sides(before.tree.len(), |side| {
        Shape::of(sides[side], |function| identity.class(side, function))
    });
    let mut found = Found {
        sides,
        shapes: &shapes,
        identity,
        wanted,
        matching: Matching::new(before.tree.len(), after.tree.len()),
    };
    let mut local = Local::new(identity.classes());
    let roots = sides.map(|side| side.tree.roots().collect::<Vec<_>>());
    local.match_children(&mut found, &roots.before, &roots.after);
    local.match_below(&mut found);
    if wanted.goes_on() {
        let moved = moves::match_moved(&mut found, &mut local);
        parents::match_parents(&mut found, &mut local, moved);
    }
    found.matching
}

/// What has been found so far, and what it is found in.
struct Found<'a> {
    sides: Sides<&'a SideTree<'a>>,
    shapes: &'a Sides<Shape>,
    identity: &'a Identity,
    wanted: Wanted<'a>,
    matching: Matching,
}

impl Found<'_> {
    fn class(&self, side: Side, node: NodeId) -> u32 {
        self.shapes[side].class[node.index()]
    }

    /// The weight of a node and everything below it.
    fn weight(&self, side: Side, node: NodeId) -> i64 {
        self.shapes[side].weight[node.index()]
    }

    fn is_open(&self, side: Side, node: NodeId) -> bool {
        self.matching.partner(side, node).is_none()
    }

    /// True when a node carries a part of its side that is worth knowing where it went.
    fn is_heavy(&self, side: Side, node: NodeId) -> bool {
        let total = self.shapes[side].total;
        total > 0 && i128::from(self.weight(side, node)) * HEAVY >= total
    }

    /// Makes two nodes partners in the same place.
    fn pair_in_place(&mut self, before: NodeId, after: NodeId) {
        let link = self.link_in_place(before, after);
        self.matching.pair(before, after, link);
    }

    /// How two nodes below partners differ: at most in name.
    fn link_in_place(&self, before: NodeId, after: NodeId) -> Link {
        let class = self.class(Side::After, after);
        let renamed = self.class(Side::Before, before) != class || self.identity.is_renamed(class);
        if renamed { Link::Renamed } else { Link::Same }
    }
}

#[cfg(test)]
mod tests;
