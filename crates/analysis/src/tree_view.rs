//! The part of a tree that is worth showing: every context above a share of the whole, heaviest first.
//!
//! Inclusive cost never grows on the way down, so what lies above a threshold is connected; a limit on rows is a
//! threshold too. Stacks are deep, and most of their calls leave no choice: the middle of such a chain can be folded,
//! and then does not count against the limit.

use perfblame_cct::{CallSite, FunctionId, NodeId, Profile, Siblings};

use crate::show::FunctionView;

/// How much of a tree to show.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TreeLimits {
    /// Contexts below this share of the whole are left out.
    pub min_share: f64,
    /// Contexts at most, folded ones not counted.
    pub rows: usize,
    /// Whether the middle of a chain of calls is folded.
    pub chains: Chains,
}

/// What becomes of a chain of calls each of which has one callee worth showing and no cost of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Chains {
    /// Every call is shown.
    #[default]
    Whole,
    /// Long chains show their ends.
    Folded,
}

/// Calls that a chain may have before it is folded.
const CHAIN: usize = 7;

/// Calls shown at the start and at the end of a folded chain.
const CHAIN_ENDS: (usize, usize) = (3, 2);

/// Own cost that makes a call more than a link of a chain.
const LINK_SHARE: f64 = 0.02;

/// One context.
#[derive(Clone, PartialEq, Debug)]
pub struct TreeRow {
    /// The caller's row; none for a root.
    pub parent: Option<usize>,
    /// How deep it lies.
    pub depth: usize,
    /// Its function.
    pub function: FunctionView,
    /// Where in the caller it was called, in trees that tell call sites apart.
    pub call_site: Option<CallSite>,
    /// Its own cost.
    pub self_cost: i64,
    /// Its cost with everything below.
    pub inclusive: i64,
    /// Inclusive cost as a share of the whole.
    pub share: f64,
    /// On the hot path.
    pub hot: bool,
    /// In the middle of a chain that is folded.
    pub folded: bool,
    /// Stands for calls of the function by itself, too.
    pub recursive: bool,
    /// Callees left out as too small.
    pub hidden: usize,
    /// Their inclusive cost.
    pub hidden_cost: i64,
}

/// Contexts with callers before callees, of siblings the heaviest first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TreeView {
    /// The contexts.
    pub rows: Vec<TreeRow>,
    /// Contexts of the whole tree that are not in `rows`.
    pub hidden: usize,
}

impl TreeView {
    /// The part of a profile's tree within the limits. `whole` is what shares are of, `hot` the hot path, `recursive`
    /// the functions whose calls of themselves were folded.
    pub(crate) fn of(
        profile: &Profile,
        self_values: &[i64],
        whole: i64,
        hot: &[NodeId],
        recursive: impl Fn(FunctionId) -> bool,
        limits: TreeLimits,
    ) -> Self {
        let inclusive = profile.tree.inclusive(self_values);
        let mut threshold = threshold(&inclusive, whole, limits);
        loop {
            let values = Values { own: self_values, inclusive: &inclusive, whole };
            let mut view = Self::above(profile, &values, hot, &recursive, threshold);
            if limits.chains == Chains::Folded {
                view.fold_chains();
            }
            let mut costs: Vec<u64> = (view.rows.iter())
                .filter(|row| !row.folded)
                .map(|row| row.inclusive.unsigned_abs())
                .collect();
            if costs.len() <= limits.rows.max(1) {
                return view;
            }
            // What is shown becomes less with every turn, as the threshold grows.
            let (_, last, _) = costs.select_nth_unstable_by(limits.rows.max(1), |a, b| b.cmp(a));
            threshold = (*last).max(threshold) + 1;
        }
    }

    /// All contexts of at least `threshold`.
    fn above(
        profile: &Profile,
        values: &Values<'_>,
        hot: &[NodeId],
        recursive: &impl Fn(FunctionId) -> bool,
        threshold: u64,
    ) -> Self {
        let Values { own, inclusive, whole } = *values;
        let tree = &profile.tree;
        let shown = |node: NodeId| inclusive[node.index()].unsigned_abs() >= threshold;
        let sorted = |nodes: Siblings<'_>| {
            let mut shown: Vec<NodeId> = nodes.filter(|node| shown(*node)).collect();
            // Last first, as they are taken from the end; of equals the first by name, then the first seen.
            shown.sort_by(|a, b| {
                (inclusive[a.index()].cmp(&inclusive[b.index()]))
                    .then_with(|| profile.name_of(*b).cmp(profile.name_of(*a)))
                    .then(b.cmp(a))
            });
            shown
        };
        let left_out = |nodes: Siblings<'_>| {
            nodes
                .filter(|node| !shown(*node) && inclusive[node.index()] != 0)
                .fold((0, 0i64), |(count, cost), node| {
                    (count + 1, cost.saturating_add(inclusive[node.index()]))
                })
        };
        let mut view = Self::default();
        let mut todo: Vec<(NodeId, Option<usize>, usize)> =
            sorted(tree.roots()).into_iter().map(|node| (node, None, 0)).collect();
        while let Some((node, parent, depth)) = todo.pop() {
            let row = view.rows.len();
            let (hidden, hidden_cost) = left_out(tree.children(node));
            view.rows.push(TreeRow {
                parent,
                depth,
                function: FunctionView::of(&profile.symbols, profile.function_of(node)),
                call_site: profile.symbols.frame(tree.frame(node)).call_site,
                self_cost: own.get(node.index()).copied().unwrap_or(0),
                inclusive: inclusive[node.index()],
                share: share(inclusive[node.index()], whole),
                hot: hot.get(depth) == Some(&node),
                folded: false,
                recursive: recursive(profile.function_of(node)),
                hidden,
                hidden_cost,
            });
            let children = sorted(tree.children(node)).into_iter();
            todo.extend(children.map(|child| (child, Some(row), depth + 1)));
        }
        view.hidden = tree.len() - view.rows.len();
        view
    }

    /// Marks the middle of long chains.
    fn fold_chains(&mut self) {
        let mut callees = vec![0usize; self.rows.len()];
        for row in &self.rows {
            if let Some(parent) = row.parent {
                callees[parent] += 1;
            }
        }
        let link: Vec<bool> = (self.rows.iter().zip(callees))
            .map(|(row, callees)| {
                let own = row.share * (row.self_cost as f64 / row.inclusive as f64);
                callees == 1 && !row.recursive && own < LINK_SHARE
            })
            .collect();
        let mut at = 0;
        while at < link.len() {
            // Rows of one chain follow each other, as each has one callee.
            let length = link[at..].iter().take_while(|link| **link).count();
            if length > CHAIN {
                let (first, last) = CHAIN_ENDS;
                for row in &mut self.rows[at + first..at + length - last] {
                    row.folded = true;
                }
            }
            at += length.max(1);
        }
    }
}

#[derive(Clone, Copy)]
struct Values<'a> {
    own: &'a [i64],
    inclusive: &'a [i64],
    /// What shares are of.
    whole: i64,
}

/// The least cost that is shown; at least 1, so that contexts without cost are not. Of a tree with very many contexts
/// no more are looked at than could be shown if all chains were as long as stacks get.
fn threshold(inclusive: &[i64], whole: i64, limits: TreeLimits) -> u64 {
    const LONGEST_CHAIN: usize = 100;
    let least = (whole.unsigned_abs() as f64 * limits.min_share).ceil().max(1.0) as u64;
    let mut costs: Vec<u64> =
        inclusive.iter().map(|cost| cost.unsigned_abs()).filter(|cost| *cost >= least).collect();
    let most = match limits.chains {
        Chains::Whole => limits.rows.max(1),
        Chains::Folded => limits.rows.max(1).saturating_mul(LONGEST_CHAIN),
    };
    if costs.len() <= most {
        return least;
    }
    let (_, last, _) = costs.select_nth_unstable_by(most - 1, |a, b| b.cmp(a));
    *last
}

/// A part of a whole; nothing is no part of nothing.
pub(crate) fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
