//! Recursion: which nodes have their function on the path above them already.
//!
//! A recursive function is on one stack several times, and must be counted once. `[insitu]` (listing 3.3) looks for a
//! node's recursive parent by climbing to the root, which costs nodes times depth. Here one walk over the rows keeps,
//! for each function, the innermost node of it on the current path: O(nodes).

use crate::{Cct, NodeId, Profile};

/// For every node, by row, the nearest node above it of the same group: `n.recursiveParent` of `[insitu]`, section
/// 3.3.1, where `group` gives the function of each row. Groups are numbers below `groups`.
pub fn nearest_above(tree: &Cct, group: &[u32], groups: usize) -> Vec<Option<NodeId>> {
    let mut above: Vec<Option<NodeId>> = Vec::with_capacity(tree.len());
    let mut innermost: Vec<Option<NodeId>> = vec![None; groups];
    let mut path: Vec<NodeId> = Vec::new();
    for (node, group_of_node) in tree.nodes().zip(group) {
        let parent = tree.parent(node);
        while let Some(left) = path.pop_if(|last| Some(*last) != parent) {
            innermost[group[left.index()] as usize] = above[left.index()];
        }
        above.push(innermost[*group_of_node as usize].replace(node));
        path.push(node);
    }
    above
}

/// The recursive parent of every node, by row: the nearest node above it of the same function.
pub fn recursive_parents(profile: &Profile) -> Vec<Option<NodeId>> {
    let functions = profile.functions_of_rows();
    nearest_above(&profile.tree, &functions, profile.symbols.functions().len())
}
