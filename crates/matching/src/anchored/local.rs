//! What stands below matched parents: callees in the same place, and those with a frame more or less above them or with
//! another name.

use std::cmp::Reverse;

use hashbrown::HashMap;
use perfblame_cct::NodeId;

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
    /// By class: who has it among the children being looked at.
    slots: Vec<Slot>,
    turn: u32,
    open: [Vec<NodeId>; 2],
    children: [Vec<NodeId>; 2],
    /// How many contexts each class has, by side; made when first asked for.
    contexts: Option<[Vec<u32>; 2]>,
}

#[derive(Clone, Copy)]
struct Slot {
    turn: u32,
    count: [u32; 2],
    /// The last one on each side.
    node: [NodeId; 2],
}

/// A pair that a frame between or another name kept apart.
struct Candidate {
    before: NodeId,
    after: NodeId,
    link: Link,
    weight: i128,
    /// What stands around the inner one of the two; none for those below the parents themselves.
    within: Option<(usize, NodeId)>,
}

impl Local {
    pub fn new(classes: usize) -> Self {
        let nobody = Slot { turn: 0, count: [0; 2], node: [NodeId::new(0); 2] };
        Self {
            todo: Vec::new(),
            slots: vec![nobody; classes],
            turn: 0,
            open: [Vec::new(), Vec::new()],
            children: [Vec::new(), Vec::new()],
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
        let [mut befores, mut afters] = std::mem::take(&mut self.children);
        while let Some((before, after)) = self.todo.pop() {
            let (before, after) = match_only_children(found, before, after);
            befores.clear();
            befores.extend(found.sides[0].tree.children(before));
            afters.clear();
            afters.extend(found.sides[1].tree.children(after));
            self.match_children(found, &befores, &afters);
        }
        self.children = [befores, afters];
    }

    /// Matches the children of two partners, or the roots.
    pub fn match_children(&mut self, found: &mut Found<'_>, before: &[NodeId], after: &[NodeId]) {
        if before.is_empty() || after.is_empty() {
            return;
        }
        self.turn += 1;
        for (side, nodes) in [before, after].into_iter().enumerate() {
            for node in nodes.iter().filter(|node| found.is_open(side, **node)) {
                let slot = &mut self.slots[found.class(side, *node) as usize];
                if slot.turn != self.turn {
                    *slot = Slot { turn: self.turn, count: [0; 2], node: [*node; 2] };
                }
                slot.count[side] += 1;
                slot.node[side] = *node;
            }
        }
        let [mut gone, mut new] = std::mem::take(&mut self.open);
        gone.clear();
        new.clear();
        let mut alike: Vec<u32> = Vec::new();
        for node in before {
            if !found.is_open(0, *node) {
                continue;
            }
            let class = found.class(0, *node);
            let slot = &mut self.slots[class as usize];
            match slot.count {
                [1, 1] => {
                    let partner = slot.node[1];
                    found.pair_in_place(*node, partner);
                    self.todo.push((*node, partner));
                }
                [_, 0] => gone.push(*node),
                _ => alike.push(class),
            }
        }
        new.extend(after.iter().filter(|node| {
            found.is_open(1, **node) && self.slots[found.class(1, **node) as usize].count[0] == 0
        }));
        if !alike.is_empty() {
            alike.sort_unstable();
            alike.dedup();
            self.match_alike(found, before, after, &alike, [&mut gone, &mut new]);
        }
        if !gone.is_empty() && !new.is_empty() {
            self.match_displaced(found, &gone, &new);
        }
        self.open = [gone, new];
    }

    /// Siblings of one class: equal subtrees first, then by weight, as nothing else tells them apart.
    fn match_alike(
        &mut self,
        found: &mut Found<'_>,
        before: &[NodeId],
        after: &[NodeId],
        classes: &[u32],
        left: [&mut Vec<NodeId>; 2],
    ) {
        // Class, hash or none, and then what orders those that are equal so far.
        let sorted = |found: &Found<'_>, side: usize, nodes: &[NodeId], exact: bool| {
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
            let befores = sorted(found, 0, before, exact);
            let mut afters = sorted(found, 1, after, exact).into_iter().peekable();
            for (key, _, _, node) in befores {
                while afters.next_if(|other| other.0 < key).is_some() {}
                if let Some((_, _, _, partner)) = afters.next_if(|other| other.0 == key) {
                    found.pair_in_place(node, partner);
                    self.todo.push((node, partner));
                }
            }
        }
        for ((side, left), nodes) in left.into_iter().enumerate().zip([before, after]) {
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
        let mut best: [HashMap<NodeId, (i128, i128)>; 2] = [HashMap::new(), HashMap::new()];
        let mut inside: [HashMap<NodeId, i128>; 2] = [HashMap::new(), HashMap::new()];
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
            let is_ahead = [before, after].into_iter().enumerate().all(|(side, node)| {
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
            [(0, gone, new, Link::Wrapped), (1, new, gone, Link::Unwrapped)]
        {
            let mut of_class: HashMap<u32, (NodeId, u32)> = HashMap::new();
            for node in tops {
                of_class.entry(found.class(side, *node)).or_insert((*node, 0)).1 += 1;
            }
            let other = 1 - side;
            let mut todo: Vec<_> = inner_tops.iter().map(|node| (*node, 0, *node)).collect();
            while let Some((node, depth, around)) = todo.pop() {
                if depth > 0
                    && let Some((top, 1)) = of_class.get(&found.class(other, node))
                    && found.is_open(other, node)
                {
                    let (before, after) = if side == 0 { (*top, node) } else { (node, *top) };
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
        let mut owner: HashMap<u32, [Option<Result<NodeId, ()>>; 2]> = HashMap::new();
        for (side, nodes) in [gone, new].into_iter().enumerate() {
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
            for child in found.sides[0].tree.children(*node) {
                if let Some([Some(Ok(before)), Some(Ok(after))]) = owner.get(&found.class(0, child))
                    && before == node
                {
                    *common.entry((*before, *after)).or_default() += mass(found, 0, child);
                }
            }
        }
        let mut common: Vec<((NodeId, NodeId), i128)> = common.into_iter().collect();
        common.sort_unstable();
        for ((before, after), mut shared) in common {
            let below = |side: usize, node: NodeId| -> i128 {
                found.sides[side].tree.children(node).map(|child| mass(found, side, child)).sum()
            };
            let classes: HashMap<u32, ()> = (found.sides[0].tree.children(before))
                .map(|child| (found.class(0, child), ()))
                .collect();
            let of_after: i128 = (found.sides[1].tree.children(after))
                .filter(|child| classes.contains_key(&found.class(1, *child)))
                .map(|child| mass(found, 1, child))
                .sum();
            shared = shared.min(of_after);
            let all = below(0, before).min(below(1, after));
            let sizes = [(0, before), (1, after)]
                .map(|(side, node): (usize, NodeId)| found.sides[side].tree.subtree(node).len());
            let [was, is] = [(0, before), (1, after)].map(|(side, node): (usize, NodeId)| {
                found.sides[side].symbols.function(found.sides[side].function_of(node)).layer
            });
            let contexts = self.contexts(found);
            let one_sided = contexts[1][found.class(0, before) as usize] == 0
                && contexts[0][found.class(1, after) as usize] == 0;
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
    pub fn contexts(&mut self, found: &Found<'_>) -> &[Vec<u32>; 2] {
        self.contexts.get_or_insert_with(|| {
            [0, 1].map(|side: usize| {
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
        let class = found.class(0, before) as usize;
        let contexts = self.contexts(found);
        contexts[0][class] == 1 && contexts[1][class] == 1
            || (found.sides[0].tree.subtree(before).len() >= 2
                && found.sides[1].tree.subtree(after).len() >= 2)
            || (found.is_heavy(0, before) && found.is_heavy(1, after))
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
        found.sides[0].tree.only_child(before).filter(|one| found.is_open(0, *one)),
        found.sides[1].tree.only_child(after).filter(|other| found.is_open(1, *other)),
    ) && found.class(0, one) == found.class(1, other)
    {
        found.pair_in_place(one, other);
        (before, after) = (one, other);
    }
    (before, after)
}

/// What a subtree weighs here: its weight, and its size for trees without weights.
pub(super) fn mass(found: &Found<'_>, side: usize, node: NodeId) -> i128 {
    i128::from(found.weight(side, node).max(0)) + found.sides[side].tree.subtree(node).len() as i128
}

fn weight_of_both(found: &Found<'_>, before: NodeId, after: NodeId) -> i128 {
    mass(found, 0, before).min(mass(found, 1, after))
}
