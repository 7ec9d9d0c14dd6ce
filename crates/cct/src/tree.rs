//! The calling context tree: a table in pre-order, frozen.

use std::ops::Range;

use crate::{FrameId, NodeId};

/// How much of a frame tells two contexts apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Grain {
    /// The function alone: what people call a calling context tree.
    #[default]
    Functions,
    /// The function and the place in its caller that called it, as `[parcs]` wants.
    CallSites,
    /// The whole frame, line and address included: nothing is lost on conversion.
    Frames,
}

/// Calling context tree in pre-order: a parent's row precedes its children's.
///
/// A tree may have several roots. Siblings stand in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub struct Cct {
    parent: Vec<Option<NodeId>>,
    frame: Vec<FrameId>,
    /// One past the last descendant's row, so a subtree is a range of rows.
    subtree_end: Vec<u32>,
    grain: Grain,
}

impl Cct {
    /// Freezes rows that are in pre-order already. A parent that does not precede its child, or whose subtree the
    /// child would interrupt, makes the child a root: no table of rows is an invalid tree.
    pub fn from_preorder(
        grain: Grain,
        mut parent: Vec<Option<NodeId>>,
        mut frame: Vec<FrameId>,
    ) -> Self {
        let rows = parent.len().min(frame.len());
        parent.truncate(rows);
        frame.truncate(rows);
        let mut subtree_end: Vec<u32> = vec![0; rows];
        let mut open: Vec<usize> = Vec::new();
        for (row, parent) in parent.iter_mut().enumerate() {
            let above = parent.map(NodeId::index);
            while let Some(last) = open.last() {
                if Some(*last) == above {
                    break;
                }
                subtree_end[*last] = row as u32;
                open.pop();
            }
            if open.is_empty() {
                *parent = None;
            }
            open.push(row);
        }
        for row in open {
            subtree_end[row] = rows as u32;
        }
        Self { parent, frame, subtree_end, grain }
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.frame.len()
    }

    /// True for a tree without nodes.
    pub fn is_empty(&self) -> bool {
        self.frame.is_empty()
    }

    /// What tells its contexts apart.
    pub fn grain(&self) -> Grain {
        self.grain
    }

    /// The caller's node; none for a root.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.parent[node.index()]
    }

    /// The code location of a node.
    pub fn frame(&self, node: NodeId) -> FrameId {
        self.frame[node.index()]
    }

    /// All nodes, parents first.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator + use<> {
        (0..self.len()).map(NodeId::new)
    }

    /// Rows of a node and everything below it.
    pub fn subtree(&self, node: NodeId) -> Range<usize> {
        node.index()..self.subtree_end[node.index()] as usize
    }

    /// True when `below` is `node` or lies below it.
    pub fn contains(&self, node: NodeId, below: NodeId) -> bool {
        self.subtree(node).contains(&below.index())
    }

    /// The nodes without a caller, in order.
    pub fn roots(&self) -> Siblings<'_> {
        Siblings { tree: self, rows: 0..self.len() }
    }

    /// The callees of a node, in order.
    pub fn children(&self, node: NodeId) -> Siblings<'_> {
        let rows = self.subtree(node);
        Siblings { tree: self, rows: rows.start + 1..rows.end }
    }

    /// The callee of a node that has no other.
    pub fn only_child(&self, node: NodeId) -> Option<NodeId> {
        let below = self.subtree(node);
        let first = below.start + 1;
        (self.subtree_end.get(first)? == &self.subtree_end[node.index()] && first < below.end)
            .then(|| NodeId::new(first))
    }

    /// The nodes from `node` up to its root, `node` first.
    pub fn ancestors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(node), |node| self.parent(*node))
    }

    /// The nodes from the root down to `node`, which is the last.
    pub fn path(&self, node: NodeId) -> Vec<NodeId> {
        let mut path: Vec<_> = self.ancestors(node).collect();
        path.reverse();
        path
    }

    /// How deep each node lies; roots are at 0.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0; self.len()];
        for (row, parent) in self.parent.iter().enumerate() {
            if let Some(parent) = parent {
                depths[row] = depths[parent.index()] + 1;
            }
        }
        depths
    }

    /// Memory behind the tree, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.parent.capacity() * size_of::<Option<NodeId>>()
            + self.frame.capacity() * size_of::<FrameId>()
            + self.subtree_end.capacity() * size_of::<u32>()
    }

    /// Inclusive values from self values: each node's own and all below it.
    pub fn inclusive(&self, self_values: &[i64]) -> Vec<i64> {
        let mut total = self_values.to_vec();
        total.resize(self.len(), 0);
        for row in (0..total.len()).rev() {
            if let Some(parent) = self.parent[row] {
                total[parent.index()] = total[parent.index()].saturating_add(total[row]);
            }
        }
        total
    }
}

/// The children of one node, or the roots, in order.
#[derive(Clone, Debug)]
pub struct Siblings<'a> {
    tree: &'a Cct,
    rows: Range<usize>,
}

impl Iterator for Siblings<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let row = self.rows.start;
        if self.rows.is_empty() {
            return None;
        }
        self.rows.start = self.tree.subtree_end[row] as usize;
        Some(NodeId::new(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_table_of_rows_is_an_invalid_tree(parents in prop::collection::vec(prop::option::of(0usize..20), 0..20)) {
            let frames = vec![FrameId::new(0); parents.len()];
            let rows: Vec<_> = parents.iter().map(|row| row.map(NodeId::new)).collect();
            let tree = Cct::from_preorder(Grain::Functions, rows.clone(), frames);
            let mut visited = Vec::new();
            let mut todo: Vec<_> = tree.roots().collect();
            todo.reverse();
            while let Some(node) = todo.pop() {
                visited.push(node);
                let mut children: Vec<_> = tree.children(node).collect();
                let only = children.first().copied().filter(|_| children.len() == 1);
                prop_assert_eq!(tree.only_child(node), only);
                prop_assert!(children.iter().all(|child| tree.parent(*child) == Some(node)));
                children.reverse();
                todo.extend(children);
            }
            prop_assert!(visited.into_iter().eq(tree.nodes()));
            for node in tree.nodes() {
                // A parent is the one that was asked for, or the row became a root.
                let parent = tree.parent(node);
                prop_assert!(parent.is_none() || parent == rows[node.index()]);
                for below in tree.nodes() {
                    let above = tree.ancestors(below).any(|above| above == node);
                    prop_assert_eq!(tree.contains(node, below), above);
                }
            }
        }

        #[test]
        fn inclusive_values_never_overflow(values in prop::collection::vec(any::<i64>(), 0..10)) {
            let parents = (0..10).map(|row: usize| row.checked_sub(1).map(NodeId::new)).collect();
            let tree = Cct::from_preorder(Grain::Functions, parents, vec![FrameId::new(0); 10]);
            let inclusive = tree.inclusive(&values);
            prop_assert_eq!(inclusive.len(), 10);
        }
    }
}
