//! Differences by the code change behind them: sections 3.3 to 3.5 of `[parcs]`.
//!
//! | here | there |
//! |---|---|
//! | [`Label`] | what the comparison of the code says about a method, section 3.2 |
//! | [`Reason`] | reasons 1 to 4 for topological differences, section 3.3 |
//! | [`Excised`] | a subtree that a stage cuts off |
//! | the matching's pairs | the common tree, *n1 ≡R n2* |
//! | dominators | modified nodes; the highest have none above them |
//! | [`match_weights`] | the iterative weight matching of section 3.4 |
//!
//! Stage 1 cuts off what is rooted at added and deleted methods. Stage 2 matches the highest modified dominators by
//! method and context and compares what is below them. Stage 3 compares the rest. All three are one walk from the roots
//! down: equivalence is defined by equivalent parents, so that what lies below a pair does not depend on what else is
//! compared, and the stage of a difference is told by what stands above it. Every node of either tree ends up in the
//! common tree or in exactly one excised subtree.
//!
//! Where we depart, and why:
//! - Two dominators have the same context when their callers are equivalent. The paper does not define it further; so
//!   the common tree stays a tree.
//! - Overlaps are of self weights: nested times would count a leaf's change once for every caller.

mod weights;

use perfblame_cct::{FunctionId, NodeId, Side, Sides};
use perfblame_matching::{
    CommonTree, Identity, Matching, RelaxedRules, SiblingOrder, SideTree, Wanted, common_tree,
    match_relaxed_by,
};

pub use weights::{Adjusted, WeightMatching, match_weights, share_overlap};

/// What the comparison of the code says about a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Label {
    /// Nothing.
    #[default]
    Unchanged,
    /// It is only in the code after.
    Added,
    /// It is only in the code before.
    Deleted,
    /// Its body is another one.
    Modified,
    /// It is this function of the other side.
    Renamed(FunctionId),
}

/// The tree of one side with what is known about its code.
#[derive(Clone, Copy, Debug)]
pub struct LabelledTree<'a> {
    /// The tree, with call sites where the profile has them; its weights are what excised subtrees are weighed with.
    pub tree: SideTree<'a>,
    /// By row of the function; unchanged beyond its end.
    pub labels: &'a [Label],
}

impl LabelledTree<'_> {
    fn label(&self, function: FunctionId) -> Label {
        self.labels.get(function.index()).copied().unwrap_or_default()
    }
}

/// Why a subtree is on one side only, as far as the trees tell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// It is rooted at a method that is new: reason 1, stage 1.
    Added,
    /// It is rooted at a method that is gone: reason 1, stage 1.
    Deleted,
    /// A modified method is above it: reason 2, stage 2.
    Modified,
    /// No modified method is above it: a side effect or chance, reasons 3 and 4, stage 3.
    SideEffect,
}

/// A subtree without a partner. What an earlier stage cut off inside of it is not part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Excised {
    /// The side it is on.
    pub side: Side,
    /// Its root.
    pub root: NodeId,
    /// Why it is there.
    pub reason: Reason,
    /// How many nodes it has.
    pub nodes: usize,
    /// Their self weights added up.
    pub weight: i64,
}

/// Two trees, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Staged {
    /// Which functions are one: by signature, and as the labels say.
    pub identity: Identity,
    /// The common tree.
    pub matching: Matching,
    /// What was cut off, before first, in the order of the trees.
    pub excised: Vec<Excised>,
    /// By side and row: 0 in the common tree, else the excised subtree's row + 1.
    part: Sides<Vec<u32>>,
    /// By class.
    modified: Vec<bool>,
}

impl Staged {
    /// The excised subtree that a node belongs to, as its row in `excised`; none in the common tree.
    pub fn part_of(&self, side: Side, node: NodeId) -> Option<usize> {
        (self.part[side][node.index()] as usize).checked_sub(1)
    }

    /// The size of what both trees have in common.
    pub fn common_tree(&self) -> CommonTree {
        common_tree(&self.matching)
    }

    /// Whether a function's body is another one.
    pub fn is_modified(&self, side: Side, function: FunctionId) -> bool {
        self.modified[self.identity.class(side, function) as usize]
    }

    /// The nodes whose methods most likely hold the change, the likeliest first, as section 3.5 has it: the caller for
    /// stage 1, the modified nodes above for stage 2, nearest first. None for stage 3.
    pub fn candidates<'a>(
        &'a self,
        side: &'a SideTree<'a>,
        excised: &Excised,
    ) -> impl Iterator<Item = NodeId> + 'a {
        let Excised { side: which, root, reason, .. } = *excised;
        let above = side.tree.ancestors(root).skip(1).enumerate();
        let kept = above.filter(move |(steps, node)| match reason {
            Reason::Added | Reason::Deleted => *steps == 0,
            Reason::Modified => self.is_modified(which, side.function_of(*node)),
            Reason::SideEffect => false,
        });
        let most = if matches!(reason, Reason::Added | Reason::Deleted) { 1 } else { usize::MAX };
        kept.map(|(_, node)| node).take(most)
    }

    /// The weights of every pair of the common tree, in the order of the after side; rows beyond the end of the
    /// weights and negative ones weigh nothing.
    pub fn pairs_of(&self, before: &[f64], after: &[f64]) -> Vec<(f64, f64)> {
        let weight = |weights: &[f64], node: NodeId| {
            weights.get(node.index()).map_or(0.0, |weight| weight.max(0.0))
        };
        let pairs = self.pairs().map(|(old, new)| (weight(before, old), weight(after, new)));
        pairs.collect()
    }

    /// The pairs of the common tree, in the order of the after side.
    pub fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let rows = (0..self.part.after.len()).map(NodeId::new);
        rows.filter_map(|after| Some((self.matching.before(after)?, after)))
    }
}

/// Takes two trees apart by what changed in the code. Once nobody waits for the answer, it ends with one that is not
/// complete.
pub fn stages(
    before: &LabelledTree<'_>,
    after: &LabelledTree<'_>,
    siblings: SiblingOrder,
    wanted: Wanted<'_>,
) -> Staged {
    let renamed = renamed(before, after);
    let identity = Identity::by_signature(&before.tree, &after.tree, &renamed);
    // A modified function is the same one on both sides, so that either side may say so.
    let mut modified = vec![false; identity.classes()];
    for (which, side) in [(Side::Before, before), (Side::After, after)] {
        for (id, _) in side.tree.symbols.functions() {
            let class = identity.class(which, id) as usize;
            modified[class] |= side.label(id) == Label::Modified;
        }
    }
    let is_cut = |side: &LabelledTree<'_>, label: Label| -> Vec<bool> {
        side.tree.symbols.functions().map(|(id, _)| side.label(id) == label).collect()
    };
    let cut = Sides { before: is_cut(before, Label::Deleted), after: is_cut(after, Label::Added) };
    let cut_by_side = cut.as_ref().map(Vec::as_slice);
    let rules = RelaxedRules { siblings, cut: cut_by_side, dominators: &modified, wanted };
    let matching = match_relaxed_by(&before.tree, &after.tree, &identity, &rules);
    let mut staged =
        Staged { identity, matching, excised: Vec::new(), part: Sides::default(), modified };
    staged.excise(Side::Before, &before.tree, &cut.before);
    staged.excise(Side::After, &after.tree, &cut.after);
    staged
}

impl Staged {
    /// Gives every node of a side its part, from the roots down.
    fn excise(&mut self, which: Side, side: &SideTree<'_>, cut: &[bool]) {
        let tree = side.tree;
        let mut part: Vec<u32> = Vec::with_capacity(tree.len());
        // By row: the node or one above it is modified.
        let mut dominated: Vec<bool> = Vec::with_capacity(tree.len());
        for node in tree.nodes() {
            let function = side.function_of(node);
            let above = tree.parent(node).map(NodeId::index);
            let below_modified = above.is_some_and(|above| dominated[above]);
            let outer = above.map_or(0, |above| part[above]);
            let reason_above = outer.checked_sub(1).map(|row| self.excised[row as usize].reason);
            let partner = self.matching.partner(which, node);
            let reason = match reason_above {
                Some(Reason::Added | Reason::Deleted) => None,
                _ if cut[function.index()] => Some(match which {
                    Side::Before => Reason::Deleted,
                    Side::After => Reason::Added,
                }),
                None if partner.is_none() && below_modified => Some(Reason::Modified),
                None if partner.is_none() => Some(Reason::SideEffect),
                _ => None,
            };
            let here = match reason {
                Some(reason) => {
                    let root = node;
                    self.excised.push(Excised { side: which, root, reason, nodes: 0, weight: 0 });
                    self.excised.len() as u32
                }
                None => outer,
            };
            if let Some(row) = here.checked_sub(1) {
                let excised = &mut self.excised[row as usize];
                excised.nodes += 1;
                let weight = side.weights.get(node.index()).copied().unwrap_or(0);
                excised.weight = excised.weight.saturating_add(weight);
            }
            part.push(here);
            dominated.push(below_modified || self.is_modified(which, function));
        }
        self.part[which] = part;
    }
}

/// Functions of both sides that are one under two names, each once.
fn renamed(before: &LabelledTree<'_>, after: &LabelledTree<'_>) -> Vec<(FunctionId, FunctionId)> {
    let known = Sides { before, after }.map(|side| side.tree.symbols.functions().len());
    let mut pairs: Vec<(FunctionId, FunctionId)> = Vec::new();
    for (id, _) in before.tree.symbols.functions() {
        if let Label::Renamed(partner) = before.label(id) {
            pairs.push((id, partner));
        }
    }
    for (id, _) in after.tree.symbols.functions() {
        if let Label::Renamed(partner) = after.label(id) {
            pairs.push((partner, id));
        }
    }
    pairs.retain(|(old, new)| old.index() < known.before && new.index() < known.after);
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

#[cfg(test)]
mod tests;
