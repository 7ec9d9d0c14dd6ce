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
