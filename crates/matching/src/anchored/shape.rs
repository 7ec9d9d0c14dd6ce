//! What a tree looks like when functions are classes: columns by row.

use perfblame_cct::FunctionId;

use crate::SideTree;

/// Classes, weights and hashes of one side's nodes.
pub(super) struct Shape {
    /// The class of the node's function.
    pub class: Vec<u32>,
    /// Weight of the node and everything below it.
    pub weight: Vec<i64>,
    /// Weight of the whole side.
    pub total: i128,
    /// Equal for subtrees of equal classes, whatever the order of siblings.
    pub hash: Vec<u64>,
}

impl Shape {
    pub fn of(side: &SideTree<'_>, class_of: impl Fn(FunctionId) -> u32) -> Self {
        let of_frame: Vec<u32> =
            side.symbols.frames().map(|(_, frame)| class_of(frame.function)).collect();
        let tree = side.tree;
        let class: Vec<u32> = tree.nodes().map(|node| of_frame[tree.frame(node).index()]).collect();
        let mut hash = vec![0u64; tree.len()];
        for node in tree.nodes().rev() {
            let row = node.index();
            // Below a row stands the sum of its children's hashes by now: sums do not know an order.
            let whole = mix(hash[row] ^ mix(u64::from(class[row]) + 1));
            hash[row] = whole;
            if let Some(parent) = tree.parent(node) {
                hash[parent.index()] = hash[parent.index()].wrapping_add(whole);
            }
        }
        let weight = tree.inclusive(side.weights);
        let total = tree.roots().map(|root| i128::from(weight[root.index()].max(0))).sum();
        Self { class, weight, total, hash }
    }
}

/// Spreads the bits of a number: the finaliser of SplitMix64.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
