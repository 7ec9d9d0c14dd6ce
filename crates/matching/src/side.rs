//! One side of a comparison, as matching sees it.

use perfblame_cct::{Cct, FunctionId, NodeId, Symbols};

/// The tree of one side, its symbols, and how heavy each node is by itself.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Strings, functions, frames.
    pub symbols: &'a Symbols,
    /// The contexts.
    pub tree: &'a Cct,
    /// Self weight of each node, by row; all runs added up. Rows beyond its end weigh nothing.
    pub weights: &'a [i64],
}

impl Side<'_> {
    /// The function of a node.
    pub fn function_of(&self, node: NodeId) -> FunctionId {
        self.symbols.frame(self.tree.frame(node)).function
    }
}

/// Contexts of a tree that is worth a thread of its own.
const LARGE: usize = 20_000;

/// What `of` makes of each side, 0 and 1; for trees of so many rows that it pays, at the same time.
pub fn for_both_sides<T: Send>(rows: usize, of: impl Fn(usize) -> T + Sync) -> [T; 2] {
    if rows < LARGE {
        return [0, 1].map(of);
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(|| of(0));
        let after = of(1);
        [other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), after]
    })
}
