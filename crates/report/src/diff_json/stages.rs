//! `--method stages` as JSON: the parts of both trees, how alike they are, and what weighs other.

use std::collections::BTreeMap;

use perfblame_analysis::{Candidate, PartTotal, StagedSubtree, Stages, WeightChange};
use perfblame_cct::CallSite;
use serde::Serialize;

use super::{Amount, Change, Function, Scale, change, function, rounded};

#[derive(Serialize)]
pub(super) struct StagesRow<'a> {
    stages: Lists<'a>,
    overlap: BTreeMap<&'static str, f64>,
    common_tree: CommonTree,
    score: f64,
    weights: Vec<Weight<'a>>,
    weight_matching: Matching,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_functions: Option<Changed>,
}

#[derive(Serialize)]
struct Lists<'a> {
    added: Vec<Subtree<'a>>,
    deleted: Vec<Subtree<'a>>,
    modified: Vec<Subtree<'a>>,
    side_effects: Vec<Subtree<'a>>,
    totals: Totals,
}

#[derive(Serialize)]
struct Totals {
    added: Total,
    deleted: Total,
    modified: Total,
    side_effects: Total,
}

#[derive(Serialize)]
struct Total {
    subtrees: usize,
    nodes: usize,
    before: Amount,
    after: Amount,
    delta: Amount,
}

#[derive(Serialize)]
struct Subtree<'a> {
    rank: usize,
    side: &'static str,
    path: Vec<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_site: Option<Site>,
    nodes: usize,
    cost: Amount,
    reason: &'static str,
    candidates: Vec<CandidateRow<'a>>,
    changes: Vec<Change<'a>>,
}

#[derive(Serialize)]
struct Site {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytecode: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

#[derive(Serialize)]
struct CandidateRow<'a> {
    #[serde(flatten)]
    function: Function<'a>,
    changes: Vec<Change<'a>>,
}

#[derive(Serialize)]
struct CommonTree {
    nodes: usize,
    share_before: f64,
    share_after: f64,
    before: Amount,
    after: Amount,
    delta: Amount,
}

#[derive(Serialize)]
struct Weight<'a> {
    rank: usize,
    path: Vec<Function<'a>>,
    before: Amount,
    after: Amount,
    delta: Amount,
    share_before: f64,
    share_after: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<super::Calls>,
    overlap: f64,
    candidates: Vec<CandidateRow<'a>>,
}

#[derive(Serialize)]
struct Matching {
    threshold: f64,
    /// Runs it was measured with; none when it is the default.
    runs: Option<usize>,
    adjusted: Option<f64>,
}

#[derive(Serialize)]
struct Changed {
    given: usize,
    sampled: usize,
}

impl<'a> StagesRow<'a> {
    pub(super) fn of(stages: &'a Stages, scale: Scale) -> Self {
        let list = |rows: &'a [StagedSubtree]| -> Vec<Subtree<'a>> {
            rows.iter().map(|row| subtree(row, scale)).collect()
        };
        let total = |total: &PartTotal| Total {
            subtrees: total.subtrees,
            nodes: total.nodes,
            before: scale.amount(total.before),
            after: scale.amount(total.after),
            delta: scale.delta(total.before, total.after, total.delta()),
        };
        let Stages { added, deleted, modified, side_effects, common, .. } = stages;
        Self {
            stages: Lists {
                added: list(&added.subtrees),
                deleted: list(&deleted.subtrees),
                modified: list(&modified.subtrees),
                side_effects: list(&side_effects.subtrees),
                totals: Totals {
                    added: total(&added.total),
                    deleted: total(&deleted.total),
                    modified: total(&modified.total),
                    side_effects: total(&side_effects.total),
                },
            },
            overlap: stages.overlaps.iter().map(|(what, o)| (*what, rounded(*o))).collect(),
            common_tree: CommonTree {
                nodes: common.nodes,
                share_before: rounded(stages.share_before),
                share_after: rounded(stages.share_after),
                before: scale.amount(common.before),
                after: scale.amount(common.after),
                delta: scale.delta(common.before, common.after, common.delta()),
            },
            score: rounded(stages.score),
            weights: stages.weights.iter().map(|row| weight(row, scale)).collect(),
            weight_matching: Matching {
                threshold: rounded(stages.threshold.overlap),
                runs: stages.threshold.runs,
                adjusted: stages.adjusted.map(rounded),
            },
            changed_functions: (stages.changed)
                .map(|given| Changed { given, sampled: stages.sampled }),
        }
    }
}

fn subtree(row: &StagedSubtree, scale: Scale) -> Subtree<'_> {
    Subtree {
        rank: row.rank,
        side: row.side.name(),
        path: row.path.iter().map(function).collect(),
        call_site: row.call_site.map(site),
        nodes: row.nodes,
        cost: scale.amount(row.cost),
        reason: row.reason.name(),
        candidates: row.candidates.iter().map(candidate).collect(),
        changes: row.changes.iter().map(change).collect(),
    }
}

fn site(site: CallSite) -> Site {
    let none = Site { line: None, column: None, bytecode: None, address: None };
    match site {
        CallSite::Line(line, column) => {
            Site { line: Some(line.get()), column: column.map(std::num::NonZeroU32::get), ..none }
        }
        CallSite::Bytecode(index) => Site { bytecode: Some(index), ..none },
        CallSite::Address(address) => Site { address: Some(format!("{address:#x}")), ..none },
    }
}

fn candidate(row: &Candidate) -> CandidateRow<'_> {
    CandidateRow {
        function: function(&row.function),
        changes: row.changes.iter().map(change).collect(),
    }
}

fn weight(row: &WeightChange, scale: Scale) -> Weight<'_> {
    Weight {
        rank: row.rank,
        path: row.path.iter().map(function).collect(),
        before: scale.amount(row.before),
        after: scale.amount(row.after),
        delta: scale.delta(row.before, row.after, row.after - row.before),
        share_before: rounded(row.share_before),
        share_after: rounded(row.share_after),
        calls: row.calls.map(super::Calls::of),
        overlap: rounded(row.overlap),
        candidates: row.candidates.iter().map(candidate).collect(),
    }
}
