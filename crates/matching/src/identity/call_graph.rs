//! Who calls whom, and with how much weight, around the functions that names did not settle.

use hashbrown::HashMap;
use perfblame_cct::Side;

use super::work::{FunctionRow, NONE, Work};
use crate::SideTree;

/// Stands for the caller of roots.
pub(super) const ROOT: FunctionRow = NONE - 1;

/// Callers or callees of each function, for those that were open when the graph was made.
#[derive(Default)]
pub(super) struct Edges {
    start: Vec<u32>,
    ends: Vec<(FunctionRow, u64)>,
}

impl Edges {
    /// Edges sorted by their function.
    fn of(functions: usize, edges: &[(FunctionRow, FunctionRow, u64)]) -> Self {
        let mut start = vec![0u32; functions + 1];
        for (function, _, _) in edges {
            start[*function as usize + 1] += 1;
        }
        for row in 0..functions {
            start[row + 1] += start[row];
        }
        Self { start, ends: edges.iter().map(|(_, end, weight)| (*end, *weight)).collect() }
    }

    /// The neighbours of a function, with weights.
    pub fn of_function(&self, row: FunctionRow) -> &[(FunctionRow, u64)] {
        let row = row as usize;
        &self.ends[self.start[row] as usize..self.start[row + 1] as usize]
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }
}

/// The call graph of one side, as far as open functions are part of it. Direct recursion is a function that calls
/// itself.
pub(super) struct CallGraph {
    pub callers: Edges,
    pub callees: Edges,
    /// The weight that goes through each open function.
    through: Vec<u64>,
    /// The weight of the whole side.
    total: u64,
}

impl CallGraph {
    pub fn of(work: &Work<'_>, side: Side, its: &SideTree<'_>) -> Self {
        let functions = work.class[side].len();
        let open: Vec<bool> = work.class[side].iter().map(|class| *class == NONE).collect();
        let inclusive = its.tree.inclusive(its.weights);
        let function_of_frame: Vec<FunctionRow> =
            its.symbols.frames().map(|(_, frame)| frame.function.index() as FunctionRow).collect();
        let mut weights: HashMap<(FunctionRow, FunctionRow), u64> = HashMap::new();
        for node in its.tree.nodes() {
            let function = |node| function_of_frame[its.tree.frame(node).index()];
            let callee = function(node);
            let caller = its.tree.parent(node).map_or(ROOT, function);
            if open[callee as usize] || open.get(caller as usize).is_some_and(|open| *open) {
                // Every context counts, also one that was never seen on top.
                let weight = (inclusive[node.index()].max(0) as u64).saturating_add(1);
                let sum = weights.entry((caller, callee)).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
        let mut edges: Vec<(FunctionRow, FunctionRow, u64)> = weights
            .into_iter()
            .map(|((caller, callee), weight)| (caller, callee, weight))
            .collect();
        edges.sort_unstable();
        let total = its
            .tree
            .roots()
            .fold(1, |sum: u64, root| sum.saturating_add(inclusive[root.index()].max(0) as u64));
        let mut through = vec![0u64; functions];
        let is_open = |row: FunctionRow| open.get(row as usize).is_some_and(|open| *open);
        let calls: Vec<_> = edges.iter().copied().filter(|edge| is_open(edge.0)).collect();
        let callees = Edges::of(functions, &calls);
        let mut called: Vec<_> = (edges.iter().filter(|edge| is_open(edge.1)))
            .map(|(caller, callee, weight)| (*callee, *caller, *weight))
            .collect();
        called.sort_unstable();
        for (callee, caller, weight) in &called {
            if caller != callee {
                let sum = &mut through[*callee as usize];
                *sum = sum.saturating_add(*weight);
            }
        }
        Self { callers: Edges::of(functions, &called), callees, through, total }
    }

    /// The share of the side's weight that goes through an open function.
    pub fn share(&self, row: FunctionRow) -> f64 {
        self.through[row as usize] as f64 / self.total as f64
    }
}
