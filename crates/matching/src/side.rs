//! The tree of one side of a comparison, as matching sees it.

use perfblame_cct::{Cct, FunctionId, NodeId, Side, Sides, Symbols};

/// The tree of one side, its symbols, and how heavy each node is by itself.
#[derive(Clone, Copy, Debug)]
pub struct SideTree<'a> {
    /// Strings, functions, frames.
    pub symbols: &'a Symbols,
    /// The contexts.
    pub tree: &'a Cct,
    /// Self weight of each node, by row; all runs added up. Rows beyond its end weigh nothing.
    pub weights: &'a [i64],
}

impl SideTree<'_> {
    /// The function of a node.
    pub fn function_of(&self, node: NodeId) -> FunctionId {
        self.symbols.frame(self.tree.frame(node)).function
    }
}

/// Contexts of a tree that is worth a thread of its own.
const LARGE: usize = 20_000;

/// What `of` makes of each side; for trees of so many rows that it pays, at the same time.
pub fn for_both_sides<T: Send>(rows: usize, of: impl Fn(Side) -> T + Sync) -> Sides<T> {
    if rows < LARGE {
        return Sides::of(of);
    }
    std::thread::scope(|scope| {
        let before = scope.spawn(|| of(Side::Before));
        let after = of(Side::After);
        let before = before.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Sides { before, after }
    })
}
