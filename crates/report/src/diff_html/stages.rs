//! What the page is told about stages.

use perfblame_analysis::{Candidate, CodeChange, StagedSubtree, Stages, WeightChange};
use serde::Serialize;

use super::data::{ChangeData, Known, change_data};
use crate::diff_words::Words;
use crate::numbers::counted;
use crate::stage_words::{PARTS, calls_of, parts, score_sentence, signed_cost, why, why_weight};

/// Rows of each list that are on the page.
const ROWS: usize = 200;

/// Name, subtrees (none in the common tree), contexts, cost before, cost after.
type Total = (&'static str, Option<usize>, usize, f64, f64);

#[derive(Serialize)]
pub(super) struct StagesData<'a> {
    totals: Vec<Total>,
    /// How alike the trees are.
    score: String,
    /// Title, rows, and how many more there are.
    lists: Vec<(String, Vec<RowData<'a>>, usize)>,
}

#[derive(Serialize)]
struct RowData<'a> {
    rank: usize,
    delta: f64,
    /// Contexts of the subtree, or costs before and after.
    side: String,
    path: Vec<usize>,
    why: String,
    candidates: Vec<(usize, Vec<ChangeData<'a>>)>,
    changes: Vec<ChangeData<'a>>,
}

pub(super) fn stages_data<'a>(
    stages: &'a Stages,
    words: Words<'_>,
    known: &mut Known<'a>,
) -> StagesData<'a> {
    let mut totals: Vec<Total> = Vec::new();
    let mut lists = Vec::new();
    for ((name, _, about), part) in PARTS.iter().zip(parts(stages)) {
        let total = &part.total;
        totals.push((name, Some(total.subtrees), total.nodes, total.before, total.after));
        let rows: Vec<_> = part.subtrees.iter().take(ROWS).map(|row| subtree(row, known)).collect();
        let left = total.subtrees - rows.len();
        lists.push((format!("{name}: {about}"), rows, left));
    }
    let common = &stages.common;
    totals.push(("Common tree", None, common.nodes, common.before, common.after));
    let rows: Vec<_> =
        stages.weights.iter().take(ROWS).map(|row| weight(row, stages, words, known)).collect();
    let left = stages.weights.len() - rows.len();
    lists.push(("Common tree: the same calls at another cost".to_owned(), rows, left));
    StagesData { totals, score: score_sentence(stages), lists }
}

fn subtree<'a>(row: &'a StagedSubtree, known: &mut Known<'a>) -> RowData<'a> {
    RowData {
        rank: row.rank,
        delta: signed_cost(row),
        side: counted(row.nodes as u64, "context", "contexts"),
        path: row.path.iter().map(|function| known.number(function)).collect(),
        why: why(row),
        candidates: candidates(&row.candidates, known),
        changes: changes(&row.changes),
    }
}

fn weight<'a>(
    row: &'a WeightChange,
    stages: &Stages,
    words: Words<'_>,
    known: &mut Known<'a>,
) -> RowData<'a> {
    let mut why = why_weight(row, stages, words);
    if let Some(calls) = calls_of(row, words) {
        why = format!("{why}; {calls}");
    }
    RowData {
        rank: row.rank,
        delta: row.after - row.before,
        side: words.costs(row.before, row.after),
        path: row.path.iter().map(|function| known.number(function)).collect(),
        why,
        candidates: candidates(&row.candidates, known),
        changes: Vec::new(),
    }
}

fn candidates<'a>(
    list: &'a [Candidate],
    known: &mut Known<'a>,
) -> Vec<(usize, Vec<ChangeData<'a>>)> {
    list.iter().map(|row| (known.number(&row.function), changes(&row.changes))).collect()
}

fn changes(list: &[CodeChange]) -> Vec<ChangeData<'_>> {
    list.iter().map(change_data).collect()
}
