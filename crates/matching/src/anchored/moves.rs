//! Subtrees that are gone in one place and new in another.
//!
//! Only what has no partner yet can move, and only what is no accident: helpers turn up everywhere, with the same few
//! callees below them. Equal subtrees come first, then those of one function with like children. Where several could be
//! it, the caller's function decides, and if it does not, nothing does.

use hashbrown::HashMap;
use perfblame_cct::{NodeId, Side, Sides};

use super::Found;
use super::local::{Local, mass};
use crate::Link;

/// A subtree smaller than this says nothing.
const LEAST_SIZE: usize = 3;

/// A light one must be larger: what is seen a few times is seen here in one recording and there in another.
const LEAST_LIGHT_SIZE: usize = 10;

/// Light functions in more contexts are helpers.
const MOST_CONTEXTS: u32 = 4;

/// Walks up from a moved node end here: whether it was wrapped is not worth more.
const MOST_STEPS_UP: usize = 64;

/// Turns for each likeness: what stands inside a moved subtree comes in the next one.
const MOST_TURNS: usize = 4;

/// Pairs what was moved, and what is below it; returns the pairs whose links are not those of their callers.
pub(super) fn match_moved(found: &mut Found<'_>, local: &mut Local) -> Vec<(NodeId, NodeId)> {
    let mut all = Vec::new();
    let mut open = movable(found, local);
    for likeness in Likeness::ALL {
        for _ in 0..MOST_TURNS {
            let moved = outermost(found, candidates(found, &open, likeness));
            if moved.is_empty() || !found.wanted.goes_on() {
                break;
            }
            for (before, after) in moved {
                let link = link(found, before, after);
                local.pair(found, before, after, link);
                local.match_below(found);
                all.push((before, after));
            }
            for (side, open) in open.each_mut() {
                open.retain(|node| found.is_open(side, *node));
            }
        }
    }
    all
}

/// Open nodes, by side, whose turning up elsewhere would be no accident: the subtree has some size, the function is on
/// both sides and in few contexts, or it is heavy.
fn movable(found: &Found<'_>, local: &mut Local) -> Sides<Vec<NodeId>> {
    let contexts = local.contexts(found);
    Sides::of(|side| {
        let tree = found.sides[side].tree;
        let is_movable = |node: &NodeId| {
            let class = found.class(side, *node) as usize;
            let counts = contexts.as_ref().map(|contexts| contexts[class]);
            let size = tree.subtree(*node).len();
            found.is_open(side, *node)
                && size >= LEAST_SIZE
                && counts[side.other()] > 0
                && (found.is_heavy(side, *node)
                    || (size >= LEAST_LIGHT_SIZE
                        && counts.iter().all(|count| *count <= MOST_CONTEXTS)))
        };
        tree.nodes().filter(is_movable).collect()
    })
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

/// Movable nodes that are alone with what they must have in common.
fn candidates(
    found: &Found<'_>,
    open: &Sides<Vec<NodeId>>,
    likeness: Likeness,
) -> Vec<(NodeId, NodeId)> {
    let key = |side: Side, node: NodeId| {
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
    let mut rows: Vec<((u64, u32), Side, NodeId)> = Vec::new();
    for (side, nodes) in open.each() {
        rows.extend(nodes.iter().map(|node| (key(side, *node), side, *node)));
    }
    rows.sort_unstable();
    let groups = rows.chunk_by(|one, other| one.0 == other.0);
    let pairs = groups.filter_map(|group| match group {
        [(_, Side::Before, before), (_, Side::After, after)] => Some((*before, *after)),
        _ => None,
    });
    pairs.filter(|(before, after)| is_alike(found, *before, *after)).collect()
}

/// Those that stand inside no other on either side. Two that stand inside each other are both left out.
fn outermost(found: &Found<'_>, mut pairs: Vec<(NodeId, NodeId)>) -> Vec<(NodeId, NodeId)> {
    let mut inside = vec![false; pairs.len()];
    for side in Side::BOTH {
        let mut order: Vec<(usize, usize)> = (pairs.iter().enumerate())
            .map(|(row, pair)| (if side == Side::Before { pair.0 } else { pair.1 }.index(), row))
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

/// True when at least half of what is below either is below the other too.
fn is_alike(found: &Found<'_>, before: NodeId, after: NodeId) -> bool {
    if found.shapes.before.hash[before.index()] == found.shapes.after.hash[after.index()] {
        return true;
    }
    let mut classes: HashMap<u32, Sides<i128>> = HashMap::new();
    for (side, node) in [(Side::Before, before), (Side::After, after)] {
        let tree = found.sides[side].tree;
        for child in tree.children(node) {
            classes.entry(found.class(side, child)).or_default()[side] += mass(found, side, child);
        }
    }
    let (mut common, mut all) = (Sides::same(0), Sides::same(0));
    // Sums of integers do not know an order.
    for masses in classes.values() {
        for side in Side::BOTH {
            all[side] += masses[side];
            common[side] += if masses[side.other()] > 0 { masses[side] } else { 0 };
        }
    }
    Side::BOTH.into_iter().all(|side| common[side] > 0 && common[side] * 2 >= all[side])
}

/// How a node came to its new place: below the same caller with more or fewer frames between, or elsewhere.
fn link(found: &Found<'_>, before: NodeId, after: NodeId) -> Link {
    let nearest = |side: Side, node: NodeId| {
        let mut above = found.sides[side].tree.ancestors(node).skip(1).take(MOST_STEPS_UP);
        let first = found.sides[side].tree.parent(node);
        let matched = above.find(|node| !found.is_open(side, *node));
        matched.map(|node| (node, Some(node) == first))
    };
    match (nearest(Side::Before, before), nearest(Side::After, after)) {
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
