//! Trees matched level by level: the children of two partners against each other, in order or by key.
//!
//! Order tells repeated calls of one function apart and is lost when a level was rearranged altogether, or was chance
//! from the beginning. Whether a level can be matched in order is a question of how much work that is, so that the
//! answer is the same on every machine; what is too much is matched by key.

use std::cmp::Ordering;

use perfblame_cct::NodeId;

use crate::lcs::Lcs;
use crate::{Identity, Link, Matching, SideTree, component_key};

/// How the children of two partners are matched.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// By function and occurrence, whatever their order.
    Keyed,
    /// By their longest common subsequence; by key when that is too much work.
    Ordered,
    /// Not at all.
    Skipped,
}

/// Partners, and how many levels were matched in which way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LevelMatching {
    /// The partners.
    pub matching: Matching,
    /// Levels matched in order.
    pub ordered: usize,
    /// Levels matched by key because their order is chance.
    pub keyed: usize,
    /// Levels matched by key because their order would have been too much work.
    pub too_different: usize,
}

/// Matches two trees from the roots down. `choose` says how to match the children of two partners, and, when there are
/// none, the roots.
pub fn match_levels(
    before: &SideTree<'_>,
    after: &SideTree<'_>,
    identity: &Identity,
    mut choose: impl FnMut(Option<(NodeId, NodeId)>) -> Level,
) -> LevelMatching {
    let matching = Matching::new(before.tree.len(), after.tree.len());
    let mut levels = LevelMatching { matching, ..LevelMatching::default() };
    let mut todo: Vec<Option<(NodeId, NodeId)>> = vec![None];
    let mut matcher = Matcher::new(identity.classes());
    while let Some(parents) = todo.pop() {
        let level = choose(parents);
        if level == Level::Skipped {
            continue;
        }
        let calls = |side: &SideTree<'_>, parent: Option<NodeId>, into: &mut Vec<NodeId>| {
            into.clear();
            match parent {
                Some(parent) => into.extend(side.tree.children(parent)),
                None => into.extend(side.tree.roots()),
            }
        };
        calls(before, parents.map(|(parent, _)| parent), &mut matcher.nodes_before);
        calls(after, parents.map(|(_, parent)| parent), &mut matcher.nodes_after);
        if matcher.nodes_before.is_empty() || matcher.nodes_after.is_empty() {
            continue;
        }
        let ordered = matcher.run(before, after, identity, level);
        match (level, ordered) {
            (Level::Ordered, true) => levels.ordered += 1,
            (Level::Ordered, false) => levels.too_different += 1,
            _ => levels.keyed += 1,
        }
        for (at_before, at_after) in &matcher.pairs {
            let pair = (
                matcher.nodes_before[*at_before as usize],
                matcher.nodes_after[*at_after as usize],
            );
            levels.matching.pair(pair.0, pair.1, Link::Same);
            todo.push(Some(pair));
        }
    }
    levels
}

/// Memory for one level after the other.
struct Matcher {
    nodes_before: Vec<NodeId>,
    nodes_after: Vec<NodeId>,
    classes_before: Vec<u32>,
    classes_after: Vec<u32>,
    /// Positions among the nodes.
    pairs: Vec<(u32, u32)>,
    lcs: Lcs,
    /// By class: the first and the last position before that is still to be had.
    left: Vec<Option<(u32, u32)>>,
    /// By position before: the next one of the same class.
    next: Vec<u32>,
}

impl Matcher {
    fn new(classes: usize) -> Self {
        Self {
            nodes_before: Vec::new(),
            nodes_after: Vec::new(),
            classes_before: Vec::new(),
            classes_after: Vec::new(),
            pairs: Vec::new(),
            lcs: Lcs::new(classes),
            left: vec![None; classes],
            next: Vec::new(),
        }
    }

    /// Matches the nodes at hand; says whether it was done in order.
    fn run(
        &mut self,
        before: &SideTree<'_>,
        after: &SideTree<'_>,
        identity: &Identity,
        level: Level,
    ) -> bool {
        let Self { nodes_before, nodes_after, classes_before, classes_after, pairs, lcs, .. } =
            self;
        classes_before.clear();
        classes_before
            .extend(nodes_before.iter().map(|node| identity.before(before.function_of(*node))));
        classes_after.clear();
        classes_after
            .extend(nodes_after.iter().map(|node| identity.after(after.function_of(*node))));
        pairs.clear();
        if level == Level::Ordered {
            let by_name = |at_before: usize, at_after: usize| {
                by_name(before, nodes_before[at_before], after, nodes_after[at_after])
            };
            if lcs.pair(classes_before, classes_after, by_name, pairs) {
                return true;
            }
        }
        self.by_key();
        false
    }

    /// Algorithm 3, lines 4 to 21 of `[zam]`. Line 16 as printed takes the index of the call after; what is meant is
    /// the first index that is left.
    fn by_key(&mut self) {
        let Self { classes_before, classes_after, pairs, left, next, .. } = self;
        next.clear();
        next.resize(classes_before.len(), 0);
        for (position, class) in (0u32..).zip(classes_before.iter()) {
            let slot = &mut left[*class as usize];
            match slot {
                Some((_, last)) => {
                    next[*last as usize] = position;
                    *last = position;
                }
                None => *slot = Some((position, position)),
            }
        }
        for (position, class) in (0u32..).zip(classes_after.iter()) {
            let slot = &mut left[*class as usize];
            if let Some((first, last)) = *slot {
                pairs.push((first, position));
                *slot = (first != last).then(|| (next[first as usize], last));
            }
        }
        for class in classes_before.iter() {
            left[*class as usize] = None;
        }
    }
}

/// Which of two functions sorts first, by what users call them: neither side's numbering may decide.
fn by_name(
    before: &SideTree<'_>,
    node_before: NodeId,
    after: &SideTree<'_>,
    node_after: NodeId,
) -> Ordering {
    name(before, node_before).cmp(&name(after, node_after))
}

fn name<'a>(side: &SideTree<'a>, node: NodeId) -> (&'a str, Option<&'a str>) {
    let function = side.function_of(node);
    (side.symbols.name(function), side.symbols.component(function).map(component_key))
}

#[cfg(test)]
mod tests;
