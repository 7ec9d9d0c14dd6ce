//! What the critical graphs of all pairs of runs have in common, section 3.2 of `[zam]`: noise differs from pair to pair.

use perfblame_cct::{Cct, FrameId, NodeId};
use perfblame_matching::Matching;

/// The critical graph of a pair of runs without its root, or what those of several have in common, their times added up.
#[derive(Default)]
pub(super) struct SlowCalls {
    pub(super) tree: Cct,
    /// None where no pair has a partner.
    pub(super) before: Vec<Option<f64>>,
    pub(super) after: Vec<f64>,
}

impl SlowCalls {
    /// Those that `next` has too; `matching` says which. A leaf of either is one of the result.
    pub(super) fn in_common(&self, next: &Self, matching: &Matching) -> Self {
        let mut common = Self::default();
        let mut place: Vec<Option<NodeId>> = Vec::with_capacity(self.tree.len());
        let (mut parents, mut frames): (Vec<Option<NodeId>>, Vec<FrameId>) =
            (Vec::new(), Vec::new());
        for node in self.tree.nodes() {
            let Some(partner) = matching.after(node) else {
                place.push(None);
                continue;
            };
            place.push(Some(NodeId::new(frames.len())));
            parents.push(self.tree.parent(node).and_then(|parent| place[parent.index()]));
            frames.push(self.tree.frame(node));
            let before = match (self.before[node.index()], next.before[partner.index()]) {
                (None, None) => None,
                (sum, next) => Some(sum.unwrap_or(0.0) + next.unwrap_or(0.0)),
            };
            common.before.push(before);
            common.after.push(self.after[node.index()] + next.after[partner.index()]);
        }
        common.tree = Cct::from_preorder(self.tree.grain(), parents, frames);
        common
    }
}
