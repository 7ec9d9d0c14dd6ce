//! Subtrees that are gone in one place and new in another.
//!
//! Only what has no partner yet can move, and only what is no accident: helpers turn up everywhere, with the same few
//! callees below them. Equal subtrees come first, then those of one function with like children. Where several could be
//! it, the caller's function decides, and if it does not, nothing does.

use hashbrown::HashMap;
use perfblame_cct::NodeId;

use super::Found;
use super::local::Local;
use crate::Link;

/// A subtree this small says nothing.
const LEAST_SIZE: usize = 3;

/// Functions in so many contexts are helpers, unless they are heavy.
const MOST_CONTEXTS: u32 = 4;

/// Walks up from a moved node end here: whether it was wrapped is not worth more.
const MOST_STEPS_UP: usize = 64;

/// Turns for each likeness: what stands inside a moved subtree comes in the next one.
const MOST_TURNS: usize = 4;

/// Pairs what was moved, and what is below it.
pub(super) fn match_moved(found: &mut Found<'_>, local: &mut Local) {
    for likeness in Likeness::ALL {
        for _ in 0..MOST_TURNS {
            let moved = outermost(found, candidates(found, local, likeness));
            if moved.is_empty() {
                break;
            }
            for (before, after) in moved {
                let link = link(found, before, after);
                local.pair(found, before, after, link);
                local.match_below(found);
            }
        }
    }
}

/// What two subtrees must have in common, from the strictest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Likeness {
    /// Equal subtrees below nodes of one function.
    EqualBelowCaller,
    /// Equal subtrees.
    Equal,
    /// Subtrees of one function below nodes of another.
    AlikeBelowCaller,
    /// Subtrees of one function.
    Alike,
}

impl Likeness {
    const ALL: [Self; 4] =
        [Self::EqualBelowCaller, Self::Equal, Self::AlikeBelowCaller, Self::Alike];
}

/// Open nodes that are alone with what they must have in common, in the order of the before side.
fn candidates(found: &Found<'_>, local: &mut Local, likeness: Likeness) -> Vec<(NodeId, NodeId)> {
    let mut groups: HashMap<(u64, u32), [(NodeId, u32); 2]> = HashMap::new();
    let key = |side: usize, node: NodeId| {
        let parent = found.sides[side].tree.parent(node);
        let caller = parent.map_or(u32::MAX, |parent| found.class(side, parent));
        let hash = found.shapes[side].hash[node.index()];
        let class = u64::from(found.class(side, node));
        match likeness {
            Likeness::EqualBelowCaller => (hash, caller),
            Likeness::Equal => (hash, u32::MAX),
            Likeness::AlikeBelowCaller => (class, caller),
            Likeness::Alike => (class, u32::MAX),
        }
    };
    for side in 0..2 {
        let tree = found.sides[side].tree;
        for node in tree.nodes() {
            if found.is_open(side, node) && tree.subtree(node).len() >= LEAST_SIZE {
                let (first, count) =
                    &mut groups.entry(key(side, node)).or_insert([(node, 0); 2])[side];
                if *count == 0 {
                    *first = node;
                }
                *count += 1;
            }
        }
    }
    let mut pairs: Vec<(NodeId, NodeId)> = Vec::new();
    for node in found.sides[0].tree.nodes().filter(|node| found.is_open(0, *node)) {
        if let Some([(before, 1), (after, 1)]) = groups.get(&key(0, node))
            && *before == node
            && is_no_helper(found, local, *before, *after)
            && is_alike(found, *before, *after)
        {
            pairs.push((*before, *after));
        }
    }
    pairs
}

/// Those that stand inside no other on either side. Two that stand inside each other are both left out.
fn outermost(found: &Found<'_>, mut pairs: Vec<(NodeId, NodeId)>) -> Vec<(NodeId, NodeId)> {
    let mut inside = vec![false; pairs.len()];
    for side in 0..2 {
        let mut order: Vec<(usize, usize)> = (pairs.iter().enumerate())
            .map(|(row, pair)| (if side == 0 { pair.0 } else { pair.1 }.index(), row))
            .collect();
        order.sort_unstable();
        let mut end = 0;
        for (start, row) in order {
            inside[row] |= start < end;
            end = end.max(found.sides[side].tree.subtree(NodeId::new(start)).end);
        }
    }
    let mut inside = inside.into_iter();
    pairs.retain(|_| inside.next() == Some(false));
    pairs
}

fn is_no_helper(found: &Found<'_>, local: &mut Local, before: NodeId, after: NodeId) -> bool {
    let class = found.class(0, before) as usize;
    local.contexts(found).iter().all(|contexts| contexts[class] <= MOST_CONTEXTS)
        || found.is_heavy(before, after)
}

/// True when at least half of what is below either is below the other too.
fn is_alike(found: &Found<'_>, before: NodeId, after: NodeId) -> bool {
    if found.shapes[0].hash[before.index()] == found.shapes[1].hash[after.index()] {
        return true;
    }
    let mut classes: HashMap<u32, [i128; 2]> = HashMap::new();
    for (side, node) in [before, after].into_iter().enumerate() {
        let tree = found.sides[side].tree;
        for child in tree.children(node) {
            let mass =
                i128::from(found.weight(side, child).max(0)) + tree.subtree(child).len() as i128;
            classes.entry(found.class(side, child)).or_default()[side] += mass;
        }
    }
    let (mut common, mut all) = ([0; 2], [0; 2]);
    // Sums of integers do not know an order.
    for masses in classes.values() {
        for side in 0..2 {
            all[side] += masses[side];
            common[side] += if masses[1 - side] > 0 { masses[side] } else { 0 };
        }
    }
    (0..2).all(|side| common[side] > 0 && common[side] * 2 >= all[side])
}

/// How a node came to its new place: below the same caller with more or fewer frames between, or elsewhere.
fn link(found: &Found<'_>, before: NodeId, after: NodeId) -> Link {
    let nearest = |side: usize, node: NodeId| {
        let mut above = found.sides[side].tree.ancestors(node).skip(1).take(MOST_STEPS_UP);
        let first = found.sides[side].tree.parent(node);
        let matched = above.find(|node| !found.is_open(side, *node));
        matched.map(|node| (node, Some(node) == first))
    };
    match (nearest(0, before), nearest(1, after)) {
        (Some((caller, near)), Some((partner, nearby)))
            if found.matching.after(caller) == Some(partner) =>
        {
            match (near, nearby) {
                (true, false) => Link::Wrapped,
                (false, true) => Link::Unwrapped,
                _ => Link::Moved,
            }
        }
        _ => Link::Moved,
    }
}
