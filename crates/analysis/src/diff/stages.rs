//! The answer of `--method stages`: `[parcs]`, both trees taken apart by what changed in the code.
//!
//! Whatever the two sides cost is in exactly one part: the common tree, or one of the four lists of excised subtrees.

use perfblame_blame::{
    Excised, LabelledTree, Reason, RunCosts, Staged, match_weights, share_overlap,
};
use perfblame_cct::{CallSite, Layer, Measure, Metric, NodeId, Side, Sides, Warning};
use perfblame_matching::{SiblingOrder, SideTree, Wanted, matching_score};

use super::labels::Labels;
use super::{ChangedFunction, CodeChange, Diff, Verdict, suspect};
use crate::FunctionView;

/// A list holds so many subtrees or pairs at most.
const MOST: usize = 1_000;

/// A list's paths hold so many functions at most, all together: stacks can be very deep.
const MOST_FUNCTIONS: usize = 100_000;

/// What runs of the same code are taken to overlap by where there are none to tell. The paper measured 99.3 % for exact
/// times of one program and prints figures from 82 % for others; samples of a single run scatter more than that.
const DEFAULT_OVERLAP: f64 = 0.95;

/// Both trees, taken apart.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stages {
    /// Rooted at methods that are new.
    pub added: StagePart,
    /// Rooted at methods that are gone.
    pub deleted: StagePart,
    /// Below a modified method.
    pub modified: StagePart,
    /// Neither: an indirect effect of a change, or chance.
    pub side_effects: StagePart,
    /// What both trees have in common: nodes, and what they cost on each side.
    pub common: PartTotal,
    /// The common tree's part of the nodes before, 0 to 1.
    pub share_before: f64,
    /// The common tree's part of the nodes after, 0 to 1.
    pub share_after: f64,
    /// How alike the common tree's weights are distributed, 0 to 1, by what is weighed: `calls`, `mean`, `total`.
    pub overlaps: Vec<(&'static str, f64)>,
    /// How well the trees match, 0 to 100: the overlaps and the two shares multiplied.
    pub score: f64,
    /// The overlap up to which weights were adjusted.
    pub threshold: Threshold,
    /// Pairs of the common tree that make the difference in `total`, in the order of adjustment.
    pub weights: Vec<WeightChange>,
    /// The overlap of `total` with those pairs adjusted; none without weight.
    pub adjusted: Option<f64>,
    /// How many changed functions of the code were given; none when nothing was said about the code.
    pub changed: Option<usize>,
    /// How many of them are in either profile.
    pub sampled: usize,
}

/// One list of excised subtrees.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StagePart {
    /// The costliest first.
    pub subtrees: Vec<StagedSubtree>,
    /// All of them, also those that are not listed.
    pub total: PartTotal,
}

/// What a part of the trees adds up to.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PartTotal {
    /// Subtrees; pairs are one each in the common tree.
    pub subtrees: usize,
    /// Nodes, of both sides; of one side in the common tree.
    pub nodes: usize,
    /// Cost before in a typical run.
    pub before: f64,
    /// Cost after in a typical run.
    pub after: f64,
}

impl PartTotal {
    /// After minus before.
    pub fn delta(&self) -> f64 {
        self.after - self.before
    }
}

/// A subtree that is on one side only.
#[derive(Clone, PartialEq, Debug)]
pub struct StagedSubtree {
    /// Place in its list, from 1.
    pub rank: usize,
    /// The side it is on.
    pub side: Side,
    /// From the root of the tree to the root of the subtree.
    pub path: Vec<FunctionView>,
    /// Where in its caller the subtree's root is called.
    pub call_site: Option<CallSite>,
    /// How many nodes it has.
    pub nodes: usize,
    /// What it costs in a typical run of its side.
    pub cost: f64,
    /// Why it is there.
    pub reason: StageReason,
    /// The methods that most likely hold the change, the likeliest first.
    pub candidates: Vec<Candidate>,
    /// The change of the subtree's root itself, where it is known.
    pub changes: Vec<CodeChange>,
}

/// Why a subtree is on one side only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StageReason {
    /// Its root is a new method.
    AddedMethod,
    /// Its root is a method that is gone.
    DeletedMethod,
    /// A method above it was modified.
    DirectModification,
    /// No method above it was modified, and all runs of its side have it.
    SideEffect,
    /// No method above it was modified, and only some runs of its side have it.
    NonDeterminism,
    /// No method above it was modified; one run does not tell a side effect from chance.
    SideEffectOrNonDeterminism,
}

impl StageReason {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::AddedMethod => "added-method",
            Self::DeletedMethod => "deleted-method",
            Self::DirectModification => "direct-modification",
            Self::SideEffect => "side-effect",
            Self::NonDeterminism => "non-determinism",
            Self::SideEffectOrNonDeterminism => "side-effect-or-non-determinism",
        }
    }
}

/// A method that may hold the change, with its change where that is known.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The method.
    pub function: FunctionView,
    /// What changed in it.
    pub changes: Vec<CodeChange>,
}

/// A context that is on both sides and has another weight.
#[derive(Clone, PartialEq, Debug)]
pub struct WeightChange {
    /// Place in the list, from 1.
    pub rank: usize,
    /// From the root to the context itself.
    pub path: Vec<FunctionView>,
    /// Its own cost before.
    pub before: f64,
    /// Its own cost after.
    pub after: f64,
    /// Its share before of what was not adjusted until then.
    pub share_before: f64,
    /// Its share after, likewise.
    pub share_after: f64,
    /// Calls before and after, where they were counted.
    pub calls: Option<Sides<f64>>,
    /// The overlap once it is adjusted.
    pub overlap: f64,
    /// The modified methods on its path, nearest first, itself included.
    pub candidates: Vec<Candidate>,
}

/// The overlap that counts as the same.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Threshold {
    /// How much, 0 to 1.
    pub overlap: f64,
    /// How many runs it was measured with; none when it is the default.
    pub runs: Option<usize>,
}

/// Takes two sides apart.
pub(super) fn take_apart(
    sides: &Sides<SideTree<'_>>,
    labels: &Labels,
    metric: &Metric,
    wanted: Wanted<'_>,
) -> Staged {
    let Sides { before, after } =
        Sides::of(|side| LabelledTree { tree: sides[side], labels: &labels.of[side] });
    // Which of two siblings was sampled first is chance.
    let siblings = match metric.measure {
        Measure::Exact => SiblingOrder::FirstSeen,
        Measure::Sampled => SiblingOrder::CallSite,
    };
    perfblame_blame::stages(&before, &after, siblings, wanted)
}

/// What an answer is made of.
pub(super) struct Taken<'a> {
    pub(super) staged: &'a Staged,
    pub(super) sides: &'a Sides<SideTree<'a>>,
    pub(super) runs: &'a Sides<Vec<RunCosts<'a>>>,
    pub(super) labels: &'a Labels,
    pub(super) changes: Option<&'a [ChangedFunction]>,
}

/// Explains a difference by stages.
pub(super) fn explain(diff: &mut Diff, taken: &Taken<'_>) {
    let staged = taken.staged;
    let costs = Sides::of(|side| taken.costs(side, |_| true));
    let calls = Sides::of(|side| taken.calls(side));
    let calls = calls.as_ref().map(Option::as_deref);
    let common = staged.common_tree();
    let mut stages = Stages {
        common: PartTotal { subtrees: common.nodes, nodes: common.nodes, ..PartTotal::default() },
        share_before: common.share_before,
        share_after: common.share_after,
        threshold: taken.threshold(),
        changed: taken.changes.map(<[ChangedFunction]>::len),
        sampled: taken.labels.met,
        ..Stages::default()
    };
    let pairs = staged.pairs_of(&costs.before, &costs.after);
    (stages.common.before, stages.common.after) =
        pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    if let Sides { before: Some(before), after: Some(after) } = calls {
        let counts = staged.pairs_of(before, after);
        stages.overlaps.extend(share_overlap(&counts).map(|overlap| ("calls", overlap)));
        let mean = |costs: &[f64], calls: &[f64]| -> Vec<f64> {
            let each = costs.iter().zip(calls);
            each.map(|(cost, calls)| if *calls > 0.0 { cost / calls } else { 0.0 }).collect()
        };
        let means = staged.pairs_of(&mean(&costs.before, before), &mean(&costs.after, after));
        stages.overlaps.extend(share_overlap(&means).map(|overlap| ("mean", overlap)));
    }
    stages.overlaps.extend(share_overlap(&pairs).map(|overlap| ("total", overlap)));
    let overlaps: Vec<f64> = stages.overlaps.iter().map(|(_, overlap)| *overlap).collect();
    stages.score = matching_score(&overlaps, &common);
    let matched = match_weights(&pairs, stages.threshold.overlap, MOST);
    stages.adjusted = matched.overlap;
    let nodes: Vec<(NodeId, NodeId)> = {
        let mut wanted: Vec<usize> = matched.adjusted.iter().map(|row| row.pair).collect();
        wanted.sort_unstable();
        let mut wanted = wanted.into_iter().peekable();
        let all = staged.pairs().enumerate();
        all.filter(|(row, _)| wanted.next_if_eq(row).is_some()).map(|(_, pair)| pair).collect()
    };
    let mut order: Vec<usize> = (0..matched.adjusted.len()).collect();
    order.sort_by_key(|row| matched.adjusted[*row].pair);
    let mut pair_of: Vec<Option<(NodeId, NodeId)>> = vec![None; order.len()];
    for (row, pair) in order.into_iter().zip(nodes) {
        pair_of[row] = Some(pair);
    }
    let mut left = MOST_FUNCTIONS;
    for (adjusted, nodes) in matched.adjusted.iter().zip(pair_of) {
        let Some((old, new)) = nodes else { continue };
        let path = taken.path(Side::After, new);
        if path.len() > left {
            break;
        }
        left -= path.len();
        let (before, after) = pairs[adjusted.pair];
        let of = |calls: &[f64], node: NodeId| calls.get(node.index()).copied().unwrap_or(0.0);
        stages.weights.push(WeightChange {
            rank: stages.weights.len() + 1,
            path,
            before,
            after,
            share_before: adjusted.share_before,
            share_after: adjusted.share_after,
            calls: calls
                .before
                .zip(calls.after)
                .map(|(before, after)| Sides { before: of(before, old), after: of(after, new) }),
            overlap: adjusted.overlap,
            candidates: taken.modified_above(Side::After, new),
        });
    }
    drop(pairs);
    let left_out = matched.adjusted.len() - stages.weights.len();
    taken.lists(&mut stages, &costs);
    diff.warnings.extend(taken.warnings(&stages, left_out));
    let listed: f64 = stages.weights.iter().map(|row| row.after - row.before).sum();
    let change = diff.change.median;
    diff.unexplained = suspect::unexplained(change, change - (stages.common.delta() - listed));
    // The verdict is about the whole here: a function that became faster beyond chance does not make up for it.
    let against = match diff.verdict {
        Verdict::Regressed => diff.change.median < 0.0,
        Verdict::Improved => diff.change.median > 0.0,
        _ => false,
    };
    if against {
        diff.verdict = Verdict::Inconclusive;
    }
    // What the other methods found is no part of this one's answer.
    diff.suspects.clear();
    diff.improvements.clear();
    diff.moved.clear();
    diff.minor = (0, 0.0);
    diff.stages = Some(stages);
}

impl Taken<'_> {
    /// Own cost of every node in a typical run of a side, idle time left out.
    fn costs(&self, side: Side, of_run: impl Fn(usize) -> bool) -> Vec<f64> {
        let SideTree { symbols, tree, .. } = self.sides[side];
        let idle: Vec<bool> = (symbols.frames())
            .map(|(_, frame)| symbols.function(frame.function).layer == Layer::Idle)
            .collect();
        let runs = self.runs[side].iter().enumerate().filter(|(row, _)| of_run(*row));
        let count = runs.clone().count().max(1) as f64;
        let mut costs = vec![0.0; tree.len()];
        for (_, run) in runs {
            for (node, _, value) in run.cells.of(run.metric) {
                if !idle[tree.frame(node).index()] {
                    costs[node.index()] += value as f64 * run.factor / count;
                }
            }
        }
        costs
    }

    /// Calls of every node in a typical run; none where they were not counted.
    fn calls(&self, side: Side) -> Option<Vec<f64>> {
        let runs = &self.runs[side];
        let mut calls = vec![0.0; self.sides[side].tree.len()];
        for run in runs {
            for (node, _, value) in run.cells.of(run.calls?) {
                calls[node.index()] += value as f64 / runs.len() as f64;
            }
        }
        (!runs.is_empty()).then_some(calls)
    }

    /// How much the runs of one side overlap: every second against the others, so that the means are of as many runs as
    /// they can be. With two runs on a side that is the paper's overlap of two executions of one revision.
    fn threshold(&self) -> Threshold {
        let of_side = |side: Side| {
            if self.runs[side].len() < 2 {
                return None;
            }
            let halves = [0, 1].map(|half| self.costs(side, |run| run % 2 == half));
            let node = |(row, costs): (usize, (&f64, &f64))| {
                let common = self.staged.part_of(side, NodeId::new(row)).is_none();
                common.then_some((costs.0.max(0.0), costs.1.max(0.0)))
            };
            let pairs: Vec<(f64, f64)> =
                halves[0].iter().zip(&halves[1]).enumerate().filter_map(node).collect();
            Some((share_overlap(&pairs)?, self.runs[side].len()))
        };
        let found: Vec<(f64, usize)> = Side::BOTH.into_iter().filter_map(of_side).collect();
        if found.is_empty() {
            return Threshold { overlap: DEFAULT_OVERLAP, runs: None };
        }
        let overlap = found.iter().map(|(overlap, _)| overlap).sum::<f64>() / found.len() as f64;
        Threshold { overlap, runs: Some(found.iter().map(|(_, runs)| runs).sum()) }
    }

    /// Fills the four lists.
    fn lists(&self, stages: &mut Stages, costs: &Sides<Vec<f64>>) {
        let mut cost = vec![0.0; self.staged.excised.len()];
        for (which, costs) in costs.each() {
            for (row, own) in costs.iter().enumerate() {
                if let Some(part) = self.staged.part_of(which, NodeId::new(row)) {
                    cost[part] += own;
                }
            }
        }
        let seen = self.runs_with();
        let mut rows: [Vec<u32>; 4] = Default::default();
        for (row, excised) in (0u32..).zip(&self.staged.excised) {
            rows[excised.reason as usize].push(row);
            let total = match excised.reason {
                Reason::Added => &mut stages.added.total,
                Reason::Deleted => &mut stages.deleted.total,
                Reason::Modified => &mut stages.modified.total,
                Reason::SideEffect => &mut stages.side_effects.total,
            };
            total.subtrees += 1;
            total.nodes += excised.nodes;
            match excised.side {
                Side::Before => total.before += cost[row as usize],
                Side::After => total.after += cost[row as usize],
            }
        }
        let lists = [
            &mut stages.added,
            &mut stages.deleted,
            &mut stages.modified,
            &mut stages.side_effects,
        ];
        for (part, mut rows) in lists.into_iter().zip(rows) {
            rows.sort_unstable_by(|one, other| {
                let of =
                    |row: &u32| (cost[*row as usize] + 0.0, self.staged.excised[*row as usize]);
                let ((cost_one, one), (cost_other, other)) = (of(one), of(other));
                cost_other
                    .total_cmp(&cost_one)
                    .then(other.nodes.cmp(&one.nodes))
                    .then((one.side, one.root).cmp(&(other.side, other.root)))
            });
            let mut left = MOST_FUNCTIONS;
            for row in rows.into_iter().take(MOST) {
                let excised = &self.staged.excised[row as usize];
                let path = self.path(excised.side, excised.root);
                if path.len() > left {
                    break;
                }
                left -= path.len();
                let rank = part.subtrees.len() + 1;
                let seen = seen[row as usize] as usize;
                let (cost, side) = (cost[row as usize], excised.side);
                part.subtrees.push(self.subtree(rank, side, excised, path, cost, seen));
            }
        }
    }

    fn subtree(
        &self,
        rank: usize,
        which: Side,
        excised: &Excised,
        path: Vec<FunctionView>,
        cost: f64,
        seen: usize,
    ) -> StagedSubtree {
        let side = &self.sides[which];
        let runs = self.runs[which].len();
        let frame = side.symbols.frame(side.tree.frame(excised.root));
        let mut candidates = self.staged.candidates(side, excised);
        StagedSubtree {
            rank,
            side: which,
            path,
            call_site: frame.call_site,
            nodes: excised.nodes,
            cost,
            reason: match excised.reason {
                Reason::Added => StageReason::AddedMethod,
                Reason::Deleted => StageReason::DeletedMethod,
                Reason::Modified => StageReason::DirectModification,
                Reason::SideEffect if runs < 2 => StageReason::SideEffectOrNonDeterminism,
                Reason::SideEffect if seen < runs => StageReason::NonDeterminism,
                Reason::SideEffect => StageReason::SideEffect,
            },
            candidates: self.named(which, &mut candidates),
            changes: self.changes(which, excised.root),
        }
    }

    /// In how many runs of its side each excised subtree costs anything.
    fn runs_with(&self) -> Vec<u32> {
        let mut seen = vec![0u32; self.staged.excised.len()];
        let mut last = vec![0u32; self.staged.excised.len()];
        let mut number = 0;
        for which in Side::BOTH {
            for run in &self.runs[which] {
                number += 1;
                for (node, _, _) in run.cells.of(run.metric) {
                    if let Some(part) = self.staged.part_of(which, node)
                        && std::mem::replace(&mut last[part], number) != number
                    {
                        seen[part] += 1;
                    }
                }
            }
        }
        seen
    }

    fn view(&self, which: Side, node: NodeId) -> FunctionView {
        let side = &self.sides[which];
        FunctionView::of(side.symbols, side.function_of(node))
    }

    fn path(&self, which: Side, node: NodeId) -> Vec<FunctionView> {
        let path = self.sides[which].tree.path(node);
        path.into_iter().map(|node| self.view(which, node)).collect()
    }

    /// What changed in the function of a node.
    fn changes(&self, which: Side, node: NodeId) -> Vec<CodeChange> {
        let function = self.sides[which].function_of(node);
        let row = self.labels.change[which].get(function.index()).copied().flatten();
        let change = row.and_then(|row| self.changes?.get(row as usize));
        change.map(ChangedFunction::as_change).into_iter().collect()
    }

    /// Nodes as candidates, each function once.
    fn named(&self, which: Side, nodes: &mut dyn Iterator<Item = NodeId>) -> Vec<Candidate> {
        let side = &self.sides[which];
        let mut known = Vec::new();
        let mut candidates = Vec::new();
        for node in nodes {
            let function = side.function_of(node);
            if !known.contains(&function) {
                known.push(function);
                let changes = self.changes(which, node);
                candidates.push(Candidate { function: self.view(which, node), changes });
            }
        }
        candidates
    }

    fn modified_above(&self, which: Side, node: NodeId) -> Vec<Candidate> {
        let side = &self.sides[which];
        let modified = |node: &NodeId| self.staged.is_modified(which, side.function_of(*node));
        self.named(which, &mut side.tree.ancestors(node).filter(modified))
    }

    fn warnings(&self, stages: &Stages, weights_left_out: usize) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |code: &str, count: usize, message: String| {
            if count > 0 {
                let code = code.to_owned();
                warnings.push(Warning { code, message, count: count as u64 });
            }
        };
        if self.changes.is_none() {
            warn(
                "changes-unknown",
                1,
                "no code changes were given: functions on one side only count as added or deleted, which may be chance, and none counts as modified"
                    .to_owned(),
            );
        }
        warn(
            "changes-contradicted",
            self.labels.contradicted,
            "functions listed as added or deleted are in both profiles; they count as modified"
                .to_owned(),
        );
        if let Some(changed) = stages.changed
            && changed > 0
            && stages.sampled == 0
        {
            let message = format!(
                "none of the {changed} changed functions is in a profile, so no code change explains a difference"
            );
            warn("changes-not-reached", 1, message);
        }
        let has_sites =
            |side: &SideTree<'_>| side.symbols.frames().any(|(_, frame)| frame.call_site.is_some());
        if self.sides.iter().any(|side| side.tree.len() > 1 && !has_sites(side)) {
            let message = "a profile has no lines or addresses, so calls of one function from several places in its caller count as one";
            warn("no-call-sites", 1, message.to_owned());
        }
        let parts = [
            ("added", &stages.added),
            ("deleted", &stages.deleted),
            ("modified", &stages.modified),
            ("side_effects", &stages.side_effects),
        ];
        for (name, part) in parts {
            let left_out = part.total.subtrees - part.subtrees.len();
            let message = format!(
                "subtrees of `{name}` beyond the {} most expensive are counted but not listed",
                part.subtrees.len()
            );
            warn("subtrees-folded", left_out, message);
        }
        let message = "adjusted pairs on very long paths are not listed".to_owned();
        warn("weights-folded", weights_left_out, message);
        warnings
    }
}

#[cfg(test)]
mod tests;
