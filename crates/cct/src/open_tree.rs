//! A tree under construction: nodes only get added, each after its parent, and a parent has one child per label.
//!
//! Builders, merges and every operation that makes one tree of another ask the same question over and over, "the
//! child of this node with that label?", once per frame of every stack. The answer comes from one table with the key
//! inside the slot, so that it costs one cache miss, where a general map costs two or three.

use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

use crate::{Cct, FrameId, Grain, NodeId, OpenNode};

/// A tree that grows.
#[derive(Clone, Debug, Default)]
pub struct OpenTree {
    nodes: Vec<OpenRow>,
    index: ChildIndex,
}

/// Parent and label side by side, as they are compared together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OpenRow {
    parent: Option<OpenNode>,
    label: FrameId,
}

impl OpenTree {
    /// Finds or adds the child of `parent` with this label; a root when there is no parent.
    pub fn child(&mut self, parent: Option<OpenNode>, label: FrameId) -> OpenNode {
        let row = OpenRow { parent, label };
        if let Some(node) = self.row_after(row) {
            return node;
        }
        let next = OpenNode::new(self.nodes.len());
        // The node added last has no child yet, and its first will be found beside it: the index need not know it.
        if parent.map_or(0, |parent| parent.index() + 1) == self.nodes.len() {
            self.nodes.push(row);
            return next;
        }
        let node = self.index.find_or_insert(row, next);
        if node == next {
            self.nodes.push(row);
        }
        node
    }

    /// As [`OpenTree::child`], for whoever walks another tree in pre-order and found `last` before: in a tree that was
    /// grown from a similar one, the node is most often among the next few rows, which are in the cache already.
    pub(crate) fn child_after(
        &mut self,
        last: OpenNode,
        parent: Option<OpenNode>,
        label: FrameId,
    ) -> OpenNode {
        /// Two lines of the cache: a skipped stack leaves a gap of a few rows.
        const NEAR: usize = 16;
        let row = OpenRow { parent, label };
        let start = last.index() + 1;
        let end = self.nodes.len().min(start + NEAR);
        match self.nodes.get(start..end).and_then(|near| near.iter().position(|near| *near == row))
        {
            Some(gap) => OpenNode::new(start + gap),
            None => self.child(parent, label),
        }
    }

    /// Finds the child of `parent` with this label without adding it.
    pub fn find(&self, parent: Option<OpenNode>, label: FrameId) -> Option<OpenNode> {
        let row = OpenRow { parent, label };
        self.row_after(row).or_else(|| self.index.find(row))
    }

    /// The row after the parent's, when it is the one. A stack that is new adds its frames one after the other, so the
    /// first child of most nodes is found right beside them, in the same cache line.
    fn row_after(&self, row: OpenRow) -> Option<OpenNode> {
        let after = row.parent.map_or(0, |parent| parent.index() + 1);
        (self.nodes.get(after) == Some(&row)).then(|| OpenNode::new(after))
    }

    /// The caller's node; none for a root.
    pub fn parent(&self, node: OpenNode) -> Option<OpenNode> {
        self.nodes[node.index()].parent
    }

    /// The label of a node.
    pub fn label(&self, node: OpenNode) -> FrameId {
        self.nodes[node.index()].label
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True before the first node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Renumbers the labels by their first use and returns them in that order, so that frames that label no node can be
    /// left out.
    pub(crate) fn number_labels(&mut self) -> Vec<FrameId> {
        let mut used: Vec<FrameId> = Vec::new();
        let highest = self.nodes.iter().map(|row| row.label.index() + 1).max();
        let mut number: Vec<Option<FrameId>> = vec![None; highest.unwrap_or(0)];
        for row in &mut self.nodes {
            row.label = *number[row.label.index()].get_or_insert_with(|| {
                used.push(row.label);
                FrameId::new(used.len() - 1)
            });
        }
        // The index knows the labels by their old numbers.
        self.index = ChildIndex::default();
        used
    }

    /// Sorts into pre-order and freezes; siblings keep the order in which they came.
    pub fn freeze(self, grain: Grain) -> (Cct, Placement) {
        drop(self.index);
        let Preorder { rows, row_of } = preorder(&self.nodes);
        let place = |node: OpenNode| NodeId::new(row_of[node.index()] as usize);
        let parent = rows.iter().map(|open| self.nodes[*open as usize].parent.map(place)).collect();
        let frame = rows.iter().map(|open| self.nodes[*open as usize].label).collect();
        (Cct::from_preorder(grain, parent, frame), Placement { row_of })
    }
}

impl From<&Cct> for OpenTree {
    /// The same tree, ready to grow: open nodes are its rows. Of siblings with the same label, which no other open tree
    /// has, the first is found.
    fn from(tree: &Cct) -> Self {
        let mut open = Self::default();
        for node in tree.nodes() {
            let parent = tree.parent(node).map(|parent| OpenNode::new(parent.index()));
            let row = OpenRow { parent, label: tree.frame(node) };
            let next = OpenNode::new(open.nodes.len());
            // As in `child`: the row after the parent's is found beside it.
            if parent.map_or(0, |parent| parent.index() + 1) != open.nodes.len() {
                open.index.find_or_insert(row, next);
            }
            open.nodes.push(row);
        }
        open
    }
}

impl Cct {
    /// Sorts rows of which every parent precedes its children into pre-order; siblings keep their order, and equal
    /// ones stay apart. A parent that does not precede its child makes the child a root.
    pub fn from_parents(
        grain: Grain,
        rows: impl IntoIterator<Item = (Option<OpenNode>, FrameId)>,
    ) -> (Self, Placement) {
        let row = |(row, (parent, label)): (usize, (Option<OpenNode>, FrameId))| OpenRow {
            parent: parent.filter(|parent| parent.index() < row),
            label,
        };
        let nodes = rows.into_iter().enumerate().map(row).collect();
        OpenTree { nodes, index: ChildIndex::default() }.freeze(grain)
    }
}

/// Where the nodes of an [`OpenTree`] ended up in the frozen tree.
#[derive(Clone, Debug)]
pub struct Placement {
    row_of: Vec<u32>,
}

impl Placement {
    /// The frozen tree's node.
    pub fn of(&self, node: OpenNode) -> NodeId {
        NodeId::new(self.row_of[node.index()] as usize)
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.row_of.len()
    }

    /// True when there is no node.
    pub fn is_empty(&self) -> bool {
        self.row_of.is_empty()
    }
}

struct Preorder {
    /// Open node of each row.
    rows: Vec<u32>,
    /// Row of each open node.
    row_of: Vec<u32>,
}

/// Orders nodes of which every parent precedes its children so that subtrees become ranges; siblings keep their order.
fn preorder(nodes: &[OpenRow]) -> Preorder {
    let count = nodes.len();
    let mut size = vec![1u32; count];
    for node in (0..count).rev() {
        if let Some(parent) = nodes[node].parent {
            size[parent.index()] += size[node];
        }
    }
    // The next free row below each node; the forest's own is `next_root`.
    let mut next = vec![0u32; count];
    let mut next_root = 0;
    let mut row_of = vec![0u32; count];
    let mut rows = vec![0u32; count];
    for (node, row) in nodes.iter().enumerate() {
        let slot = match row.parent {
            Some(parent) => &mut next[parent.index()],
            None => &mut next_root,
        };
        let row = *slot;
        *slot += size[node];
        row_of[node] = row;
        rows[row as usize] = node as u32;
        next[node] = row + 1;
    }
    Preorder { rows, row_of }
}

/// (parent, label) → node: open addressing with linear probing, at most half full.
#[derive(Clone, Debug)]
struct ChildIndex {
    slots: Vec<Option<Slot>>,
    used: usize,
    /// Differs per table, so that no file can be made to collide.
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    row: OpenRow,
    node: OpenNode,
}

impl Default for ChildIndex {
    fn default() -> Self {
        let seed = DefaultHashBuilder::default().hash_one(0u64) | 1;
        Self { slots: Vec::new(), used: 0, seed }
    }
}

impl ChildIndex {
    fn find(&self, row: OpenRow) -> Option<OpenNode> {
        if self.slots.is_empty() {
            return None;
        }
        let mut at = self.home(row);
        loop {
            let slot = self.slots[at]?;
            if slot.row == row {
                return Some(slot.node);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    fn find_or_insert(&mut self, row: OpenRow, next: OpenNode) -> OpenNode {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let mut at = self.home(row);
        loop {
            match self.slots[at] {
                Some(slot) if slot.row == row => return slot.node,
                Some(_) => at = (at + 1) & (self.slots.len() - 1),
                None => {
                    self.slots[at] = Some(Slot { row, node: next });
                    self.used += 1;
                    return next;
                }
            }
        }
    }

    /// The slot where the search begins: a multiplication folded in half, whose top bits depend on all bits of the key.
    fn home(&self, row: OpenRow) -> usize {
        let above = row.parent.map_or(0, |node| node.index() as u64 + 1);
        let key = (above << 32 | row.label.index() as u64) ^ self.seed;
        let product = u128::from(key) * 0x9e37_79b9_7f4a_7c15;
        let folded = (product >> 64) as u64 ^ product as u64;
        (folded >> (64 - self.slots.len().trailing_zeros())) as usize
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        let before = std::mem::replace(&mut self.slots, vec![None; size]);
        for slot in before.into_iter().flatten() {
            let mut at = self.home(slot.row);
            while self.slots[at].is_some() {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = Some(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_parent_has_one_child_per_label(steps in prop::collection::vec((0usize..200, 0usize..4), 0..400)) {
            let mut tree = OpenTree::default();
            let mut known = std::collections::BTreeMap::new();
            for (above, label) in steps {
                let parent = (above < tree.len()).then(|| OpenNode::new(above));
                let label = FrameId::new(label);
                let before = tree.find(parent, label);
                let node = tree.child_after(OpenNode::new(above / 2), parent, label);
                prop_assert_eq!(before, known.get(&(parent, label)).copied());
                prop_assert_eq!(*known.entry((parent, label)).or_insert(node), node);
                prop_assert_eq!(tree.find(parent, label), Some(node));
            }
            prop_assert_eq!(known.len(), tree.len());
            let open = tree.clone();
            let (frozen, place) = tree.freeze(Grain::Functions);
            prop_assert_eq!(frozen.len(), open.len());
            for row in 0..open.len() {
                let node = OpenNode::new(row);
                prop_assert_eq!(frozen.frame(place.of(node)), open.label(node));
                prop_assert_eq!(frozen.parent(place.of(node)), open.parent(node).map(|node| place.of(node)));
            }
            for node in frozen.nodes() {
                let siblings: Vec<_> = frozen.children(node).collect();
                prop_assert!(siblings.is_sorted());
                prop_assert!(siblings.iter().all(|child| frozen.parent(*child) == Some(node)));
            }
        }
    }
}
