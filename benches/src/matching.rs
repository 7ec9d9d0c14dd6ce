//! Matching of two large trees, at growing sizes: it must not cost more than n log n.

use perfblame_cct::{MetricId, Sides};
use perfblame_fixtures::synthetic_profile;
use perfblame_matching::{Identity, SideTree, match_anchored};

use crate::in_process::{DEPTH, fastest, row};
use crate::table::BenchRow;

/// Nodes of each side, from small to large.
const SIZES: [usize; 4] = [10_000, 100_000, 1_500_000, 3_000_000];

pub fn match_trees() -> Vec<BenchRow> {
    let mut rows = Vec::new();
    let mut first = None;
    for size in SIZES {
        // Two recordings of one program, a seed apart.
        let profiles = Sides::new(1, 2).map(|seed| synthetic_profile(size, DEPTH, seed));
        let weights = profiles.as_ref().map(|profile| profile.self_values(MetricId::new(0)));
        let trees = profiles.as_ref().zip(weights.as_ref());
        let Sides { before, after } = trees.map(|(profile, weights)| SideTree {
            symbols: &profile.symbols,
            tree: &profile.tree,
            weights,
        });
        let input = format!("{} and {} nodes", before.tree.len(), after.tree.len());
        let seconds = fastest(|| {
            let identity = Identity::of(&before, &after);
            match_anchored(&before, &after, &identity).pairs_count()
        });
        // Small trees have the names of all functions to compare, too.
        let limit = (0.6 * size as f64 / 1_500_000.0).max(0.05);
        rows.push(row("function identity and anchored matching", &input, seconds, "s", limit));
        let steps = size as f64 * (size as f64).log2();
        let growth = seconds / steps / *first.get_or_insert(seconds / steps);
        rows.push(row("the same, against n log n of the smallest", &input, growth, "×", 1.5));
    }
    rows
}
