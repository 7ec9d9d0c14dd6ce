//! What stands below matched parents: callees in the same place, and those with a frame more or less above them or with
//! another name.

use std::cmp::Reverse;

use hashbrown::HashMap;
use perfblame_cct::{NodeId, Side, Sides};

use super::Found;
use crate::Link;
use crate::identity::are_of_like_layers;

/// So many frames can be put between a caller and its callee at most.
const MOST_FRAMES_BETWEEN: usize = 3;

/// The best place must have so many quarters of the next one's weight; nearly equal ones leave it open.
const AHEAD_IN_QUARTERS: i128 = 5;

/// Pairs whose children are still to be matched, and tables that are used again for every pair.
pub(super) struct Local {
    todo: Vec<(NodeId, NodeId)>,
    /// Pairs whose children were looked at.
    done: usize,
    /// By class: who has it among the children being looked at.
    slots: Vec<Slot>,
    turn: u32,
    open: Sides<Vec<NodeId>>,
    children: Sides<Vec<NodeId>>,
    /// How many contexts each class has, by side; made when first asked for.
    contexts: Option<Sides<Vec<u32>>>,
}

#[derive(Clone, Copy)]
struct Slot {
    turn: u32,
    count: Sides<u32>,
    /// The last one on each side.
    node: Sides<NodeId>,
}

/// A pair that a frame between or another name kept apart.
struct Candidate {
    before: NodeId,
    after: NodeId,
    link: Link,
    weight: i128,
    /// What stands around the inner one of the two; none for those below the parents themselves.
    within: Option<(Side, NodeId)>,
}

impl Local {
    pub fn new(classes: usize) -> Self {
        let nobody = Slot { turn: 0, count: Sides::same(0), node: Sides::same(NodeId::new(0)) };
        Self {
            todo: Vec::new(),
            done: 0,
            slots: vec![nobody; classes],
            turn: 0,
            open: Sides::default(),
            children: Sides::default(),
            contexts: None,
        }
    }

    /// Pairs two nodes; what is below them comes later.
    pub fn pair(&mut self, found: &mut Found<'_>, before: NodeId, after: NodeId, link: Link) {
        if found.matching.pair(before, after, link) {
            self.todo.push((before, after));
        }
    }

    /// Matches everything below pairs that were made so far.
    pub fn match_below(&mut self, found: &mut Found<'_>) {
        let Sides { before: mut befores, after: mut afters } = std::mem::take(&mut self.children);
        while let Some((before, after)) = self.todo.pop() {
            self.done += 1;
            if found.wanted.ends_at(self.done) {
                self.todo.clear();
                break;
            }
            let (before, after) = match_only_children(found, before, after);
            befores.clear();
            befores.extend(found.sides.before.tree.children(before));
            afters.clear();
            afters.extend(found.sides.after.tree.children(after));
            self.match_children(found, &befores, &afters);
        }
        self.children = Sides { before: befores, after: afters };
    }

    /// Matches the children of two partners, or the roots.
    pub fn match_children(&mut self, found: &mut Found<'_>, before: &[NodeId], after: &[NodeId]) {
        if before.is_empty() || after.is_empty() {
            return;
        }
        self.turn += 1;
        for (side, nodes) in [(Side::Before, before), (Side::After, after)] {
            for node in nodes.iter().filter(|node| found.is_open(side, **node)) {
                let slot = &mut self.slots[found.class(side, *node) as usize];
                if slot.turn != self.turn {
                    *slot =
                        Slot { turn: self.turn, count: Sides::same(0), node: Sides::same(*node) };
                }
                slot.count[side] += 1;
                slot.node[side] = *node;
            }
        }
        let Sides { before: mut gone, after: mut new } = std::mem::take(&mut self.open);
        gone.clear();
        new.clear();
        let mut alike: Vec<u32> = Vec::new();
        for node in before {
            if !found.is_open(Side::Before, *node) {
                continue;
            }
            let class = found.class(Side::Before, *node);
            let slot = &mut self.slots[class as usize];
            match slot.count {
                Sides { before: 1, after: 1 } => {
                    let partner = slot.node.after;
                    found.pair_in_place(*node, partner);
                    self.todo.push((*node, partner));
                }
                Sides { after: 0, .. } => gone.push(*node),
                _ => alike.push(class),
            }
        }
        new.extend(after.iter().filter(|node| {
            found.is_open(Side::After, **node)
                && self.slots[found.class(Side::After, **node) as usize].count.before == 0
        }));
        if !alike.is_empty() {
            alike.sort_unstable();
            alike.dedup();
            self.match_alike(
                found,
                before,
                after,
                &alike,
                Sides { before: &mut gone, after: &mut new },
            );
        }
        if !gone.is_empty() && !new.is_empty() {
            self.match_displaced(found, &gone, &new);
        }
        self.open = Sides { before: gone, after: new };
    }

    /// Siblings of one class: equal subtrees first, then by weight, as nothing else tells them apart.
    fn match_alike(
        &mut self,
        found: &mut Found<'_>,
        before: &[NodeId],
        after: &[NodeId],
        classes: &[u32],
        left: Sides<&mut Vec<NodeId>>,
    ) {
        // Class, hash or none, and then what orders those that are equal so far.
        let sorted = |found: &Found<'_>, side: Side, nodes: &[NodeId], exact: bool| {
            let mut rows = Vec::new();
            for node in nodes.iter().filter(|node| found.is_open(side, **node)) {
                let class = found.class(side, *node);
                if classes.binary_search(&class).is_ok() {
                    let hash = if exact { found.shapes[side].hash[node.index()] } else { 0 };
                    let weight = Reverse(found.weight(side, *node));
                    let size = Reverse(found.sides[side].tree.subtree(*node).len());
                    rows.push(((class, hash), weight, size, *node));
                }
            }
            rows.sort_unstable();
            rows
        };
        for exact in [true, false] {
            let befores = sorted(found, Side::Before, before, exact);
            let mut afters = sorted(found, Side::After, after, exact).into_iter().peekable();
            for (key, _, _, node) in befores {
                while afters.next_if(|other| other.0 < key).is_some() {}
                if let Some((_, _, _, partner)) = afters.next_if(|other| other.0 == key) {
                    found.pair_in_place(node, partner);
                    self.todo.push((node, partner));
                }
            }
        }
        let lists = [(Side::Before, left.before, before), (Side::After, left.after, after)];
        for (side, left, nodes) in lists {
            left.extend(sorted(found, side, nodes, false).into_iter().map(|row| row.3));
        }
    }

    /// Nodes below matched parents whose classes the other side does not have there.
    fn match_displaced(&mut self, found: &mut Found<'_>, gone: &[NodeId], new: &[NodeId]) {
        let mut candidates = Vec::new();
        self.find_wrapped(found, gone, new, &mut candidates);
        self.find_renamed(found, gone, new, &mut candidates);
        // The best and the second best weight of each node, and the best of what is inside it: what has a partner
        // itself gives none away.
        let mut best: Sides<HashMap<NodeId, (i128, i128)>> = Sides::default();
        let mut inside: Sides<HashMap<NodeId, i128>> = Sides::default();
        for Candidate { before, after, weight, within, .. } in &candidates {
            for (best, node) in best.iter_mut().zip([before, after]) {
                let (first, second) = best.entry(*node).or_default();
                *second = (*second).max((*first).min(*weight));
                *first = (*first).max(*weight);
            }
            if let Some((side, top)) = within {
                let most = inside[*side].entry(*top).or_default();
                *most = (*most).max(*weight);
            }
        }
        for Candidate { before, after, link, weight, within } in candidates {
            let both = [(Side::Before, before), (Side::After, after)];
            let is_ahead = both.into_iter().all(|(side, node)| {
                let (first, second) = best[side].get(&node).copied().unwrap_or_default();
                first == weight
                    && second * AHEAD_IN_QUARTERS <= weight * 4
                    && inside[side].get(&node).is_none_or(|most| *most < weight)
            });
            let around = within.and_then(|(side, top)| best[side].get(&top));
            if is_ahead && around.is_none_or(|(first, _)| *first < weight) {
                self.pair(found, before, after, link);
            }
        }
    }

    /// Frames put between a caller and its callee, or taken away.
    fn find_wrapped(
        &mut self,
        found: &Found<'_>,
        gone: &[NodeId],
        new: &[NodeId],
        into: &mut Vec<Candidate>,
    ) {
        for (side, tops, inner_tops, link) in
            [(Side::Before, gone, new, Link::Wrapped), (Side::After, new, gone, Link::Unwrapped)]
        {
            let mut of_class: HashMap<u32, (NodeId, u32)> = HashMap::new();
            for node in tops {
                of_class.entry(found.class(side, *node)).or_insert((*node, 0)).1 += 1;
            }
            let other = side.other();
            let mut todo: Vec<_> = inner_tops.iter().map(|node| (*node, 0, *node)).collect();
            while let Some((node, depth, around)) = todo.pop() {
                if depth > 0
                    && let Some((top, 1)) = of_class.get(&found.class(other, node))
                    && found.is_open(other, node)
                {
                    let (before, after) = match side {
                        Side::Before => (*top, node),
                        Side::After => (node, *top),
                    };
                    if self.is_no_accident(found, before, after) {
                        let weight = weight_of_both(found, before, after);
                        let within = Some((other, around));
                        into.push(Candidate { before, after, link, weight, within });
                    }
                }
                if depth < MOST_FRAMES_BETWEEN {
                    let children = found.sides[other].tree.children(node);
                    todo.extend(children.map(|child| (child, depth + 1, around)));
                }
            }
        }
    }

    /// Another name for what calls the same: both functions are on one side only, and what they call is below no other
    /// node here.
    fn find_renamed(
        &mut self,
        found: &Found<'_>,
        gone: &[NodeId],
        new: &[NodeId],
        into: &mut Vec<Candidate>,
    ) {
        // By class of children: whose they are, on each side; several make it nobody's.
        let mut owner: HashMap<u32, Sides<Option<Result<NodeId, ()>>>> = HashMap::new();
        for (side, nodes) in [(Side::Before, gone), (Side::After, new)] {
            for node in nodes {
                for child in found.sides[side].tree.children(*node) {
                    let owner = &mut owner.entry(found.class(side, child)).or_default()[side];
                    *owner = match owner {
                        None => Some(Ok(*node)),
                        Some(Ok(same)) if same == node => continue,
                        _ => Some(Err(())),
                    };
                }
            }
        }
        // Weight, number and size of what two nodes call in common.
        let mut common: HashMap<(NodeId, NodeId), i128> = HashMap::new();
        for node in gone {
            for child in found.sides.before.tree.children(*node) {
                if let Some(Sides { before: Some(Ok(before)), after: Some(Ok(after)) }) =
                    owner.get(&found.class(Side::Before, child))
                    && before == node
                {
                    *common.entry((*before, *after)).or_default() +=
                        mass(found, Side::Before, child);
                }
            }
        }
        let mut common: Vec<((NodeId, NodeId), i128)> = common.into_iter().collect();
        common.sort_unstable();
        for ((before, after), mut shared) in common {
            let below = |side: Side, node: NodeId| -> i128 {
                found.sides[side].tree.children(node).map(|child| mass(found, side, child)).sum()
            };
            let classes: HashMap<u32, ()> = (found.sides.before.tree.children(before))
                .map(|child| (found.class(Side::Before, child), ()))
                .collect();
            let of_after: i128 = (found.sides.after.tree.children(after))
                .filter(|child| classes.contains_key(&found.class(Side::After, *child)))
                .map(|child| mass(found, Side::After, child))
                .sum();
            shared = shared.min(of_after);
            let all = below(Side::Before, before).min(below(Side::After, after));
            let sizes = [(Side::Before, before), (Side::After, after)]
                .map(|(side, node)| found.sides[side].tree.subtree(node).len());
            let [was, is] = [(Side::Before, before), (Side::After, after)].map(|(side, node)| {
                found.sides[side].symbols.function(found.sides[side].function_of(node)).layer
            });
            let contexts = self.contexts(found);
            let one_sided = contexts.after[found.class(Side::Before, before) as usize] == 0
                && contexts.before[found.class(Side::After, after) as usize] == 0;
            if one_sided
                && sizes[0].min(sizes[1]) >= 3
                && shared * 2 >= all
                && are_of_like_layers(was, is)
            {
                let weight = weight_of_both(found, before, after);
                let link = Link::Renamed;
                into.push(Candidate { before, after, link, weight, within: None });
            }
        }
    }

    /// How many contexts each class has, by side.
    pub fn contexts(&mut self, found: &Found<'_>) -> &Sides<Vec<u32>> {
        self.contexts.get_or_insert_with(|| {
            Sides::of(|side| {
                let mut counts = vec![0u32; found.identity.classes()];
                for class in &found.shapes[side].class {
                    counts[*class as usize] += 1;
                }
                counts
            })
        })
    }

    /// True when two contexts of one function have enough in common that it is no accident: a helper such as `malloc`
    /// turns up below new callers all the time. The function has no other context, or what it does below is seen on both
    /// sides, or it is heavy.
    fn is_no_accident(&mut self, found: &Found<'_>, before: NodeId, after: NodeId) -> bool {
        let class = found.class(Side::Before, before) as usize;
        let contexts = self.contexts(found);
        contexts.before[class] == 1 && contexts.after[class] == 1
            || (found.sides.before.tree.subtree(before).len() >= 2
                && found.sides.after.tree.subtree(after).len() >= 2)
            || (found.is_heavy(Side::Before, before) && found.is_heavy(Side::After, after))
    }
}

/// Pairs callees as long as both callers have one only and it is the same function: half of all contexts stand in such
/// a row. Gives back the pair at its end.
fn match_only_children(
    found: &mut Found<'_>,
    mut before: NodeId,
    mut after: NodeId,
) -> (NodeId, NodeId) {
    while let (Some(one), Some(other)) = (
        found.sides.before.tree.only_child(before).filter(|one| found.is_open(Side::Before, *one)),
        found.sides.after.tree.only_child(after).filter(|other| found.is_open(Side::After, *other)),
    ) && found.class(Side::Before, one) == found.class(Side::After, other)
    {
        found.pair_in_place(one, other);
        (before, after) = (one, other);
    }
    (before, after)
}

/// What a subtree weighs here: its weight, and its size for trees without weights.
pub(super) fn mass(found: &Found<'_>, side: Side, node: NodeId) -> i128 {
    i128::from(found.weight(side, node).max(0)) + found.sides[side].tree.subtree(node).len() as i128
}

fn weight_of_both(found: &Found<'_>, before: NodeId, after: NodeId) -> i128 {
    mass(found, Side::Before, before).min(mass(found, Side::After, after))
}
