//! How much two trees have in common: the measures of `[parcs]` over any matching.
//!
//! | here | there |
//! |---|---|
//! | [`CommonTree::nodes`] | *|CT|*, the size of the common tree |
//! | [`CommonTree::share_before`], [`CommonTree::share_after`] | *|CT| / |CCT1|*, *|CT| / |CCT2|* |
//! | [`overlap`] | *overlap*, section 3.4 |
//! | [`matching_score`] | *score*, section 5 |

#[cfg(test)]
mod tests;

use crate::{Matching, Pair};

/// The size of what two trees have in common.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CommonTree {
    /// Nodes with a partner.
    pub nodes: usize,
    /// Their part of the tree before, 0 to 1; an empty tree is in common as a whole.
    pub share_before: f64,
    /// Their part of the tree after, 0 to 1.
    pub share_after: f64,
}

/// The size of the common tree of two matched trees.
pub fn common_tree(matching: &Matching) -> CommonTree {
    let (mut nodes, mut before, mut after) = (0, 0, 0);
    for pair in matching.pairs() {
        match pair {
            Pair::Both(_, _) => nodes += 1,
            Pair::OnlyBefore(_) => before += 1,
            Pair::OnlyAfter(_) => after += 1,
        }
    }
    let share =
        |rest: usize| if nodes + rest == 0 { 1.0 } else { nodes as f64 / (nodes + rest) as f64 };
    CommonTree { nodes, share_before: share(before), share_after: share(after) }
}

/// How much of the weight is distributed alike, 0 to 1: over all pairs, the sum of the lesser *pweight*, which is a
/// node's share of all weight of its common tree. Weights are by row; rows beyond their end and negative ones weigh
/// nothing. None when one of the sides has no weight at all, which the paper leaves out.
pub fn overlap(matching: &Matching, before: &[i64], after: &[i64]) -> Option<f64> {
    let weight =
        |weights: &[i64], row: usize| weights.get(row).map_or(0, |weight| *weight.max(&0)) as f64;
    let weights = matching.pairs().filter_map(|pair| match pair {
        Pair::Both(old, new) => Some((weight(before, old.index()), weight(after, new.index()))),
        _ => None,
    });
    let weights: Vec<_> = weights.collect();
    let total = weights.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    if total.0 == 0.0 || total.1 == 0.0 {
        return None;
    }
    Some(weights.iter().map(|pair| (pair.0 / total.0).min(pair.1 / total.1)).sum())
}

/// How well two trees match, 0 to 100: the product of the overlaps and of the shares that are in common.
pub fn matching_score(overlaps: &[f64], common: &CommonTree) -> f64 {
    overlaps.iter().product::<f64>() * common.share_before * common.share_after * 100.0
}
