//! The words of `--method stages` that every rendering shares.

use std::fmt::Write as _;

use perfblame_analysis::{
    Candidate, CodeChange, Diff, FunctionView, Side, Sides, StagePart, StageReason, StagedSubtree,
    Stages, WeightChange,
};
use perfblame_cct::CallSite;

use crate::diff_words::Words;
use crate::numbers::{counted, in_percent};

/// The lists in order: their names, their words in JSON, and what they hold.
pub const PARTS: [(&str, &str, &str); 4] = [
    ("Added", "added", "calls of new methods"),
    ("Deleted", "deleted", "calls of deleted methods"),
    ("Modified", "modified", "calls below a modified method, on one side only"),
    ("Side effects", "side_effects", "calls on one side only, not below a modified method"),
];

/// The lists in the order of [`PARTS`].
pub fn parts(stages: &Stages) -> [&StagePart; 4] {
    [&stages.added, &stages.deleted, &stages.modified, &stages.side_effects]
}

/// What a subtree adds to the change: what is only before is taken away.
pub fn signed_cost(row: &StagedSubtree) -> f64 {
    match row.side {
        Side::Before => -row.cost,
        Side::After => row.cost,
    }
}

/// Why a subtree is on one side only, and where it is called; nobody reads bytecode or addresses.
pub fn why(row: &StagedSubtree) -> String {
    let mut text = match (row.reason, row.side) {
        (StageReason::AddedMethod, _) => "new method",
        (StageReason::DeletedMethod, _) => "deleted method",
        (StageReason::DirectModification, Side::After) => "called only after",
        (StageReason::DirectModification, Side::Before) => "called only before",
        (StageReason::SideEffect, Side::After) => "only after, in all runs: a side effect",
        (StageReason::SideEffect, Side::Before) => "only before, in all runs: a side effect",
        (StageReason::NonDeterminism, Side::After) => "only after, in some runs: chance",
        (StageReason::NonDeterminism, Side::Before) => "only before, in some runs: chance",
        (StageReason::SideEffectOrNonDeterminism, Side::After) => {
            "only after: a side effect or chance"
        }
        (StageReason::SideEffectOrNonDeterminism, Side::Before) => {
            "only before: a side effect or chance"
        }
    }
    .to_owned();
    if let Some(change) = row.changes.first() {
        let place = place(change);
        if !place.is_empty() {
            let _ = write!(text, ", {place}");
        }
    }
    if let Some(CallSite::Line(line, _)) = row.call_site {
        let called = if row.reason == StageReason::DirectModification { "," } else { "; called" };
        let _ = write!(text, "{called} in line {line}");
    }
    text
}

/// The likeliest methods, in a line; none when there is none.
pub fn by_candidates(candidates: &[Candidate], words: Words<'_>) -> Option<String> {
    /// More are in JSON.
    const FEW: usize = 3;
    if candidates.is_empty() {
        return None;
    }
    let named = candidates.iter().take(FEW).map(|candidate| {
        let name = words.name(&candidate.function);
        match candidate.changes.first().map(|change| (&change.kind, place(change))) {
            Some((kind, place)) if place.is_empty() => format!("{name} ({kind})"),
            Some((kind, place)) => format!("{name} ({kind}, {place})"),
            None => name,
        }
    });
    let mut text = format!("look at {}", named.collect::<Vec<_>>().join(", then "));
    if candidates.len() > FEW {
        let more = counted((candidates.len() - FEW) as u64, "more", "more");
        let _ = write!(text, ", and {more} above");
    }
    Some(text)
}

/// What is known of a context with another weight.
pub fn why_weight(row: &WeightChange, stages: &Stages, words: Words<'_>) -> String {
    let own = row.path.last();
    let first = row.candidates.first().map(|candidate| &candidate.function);
    let mut text = match (first, stages.changed) {
        (Some(first), _) if Some(first) == own => "modified itself".to_owned(),
        (Some(_), _) => "below a modified method".to_owned(),
        (None, Some(_)) => "no modified method on its path".to_owned(),
        (None, None) => String::new(),
    };
    let shares = format!(
        "{} {} {} of {}",
        in_percent(row.share_before),
        words.arrow(),
        in_percent(row.share_after),
        if row.rank == 1 { "the common tree" } else { "the rest of the common tree" }
    );
    if !text.is_empty() {
        text.push_str("; ");
    }
    text + &shares
}

/// How often it was called, where that is known.
pub fn calls_of(row: &WeightChange, words: Words<'_>) -> Option<String> {
    let Sides { before, after } = row.calls?;
    let shown = |calls: f64| crate::numbers::grouped(calls.round().max(0.0) as u64);
    Some(format!("{} {} {} calls", shown(before), words.arrow(), shown(after)))
}

/// `src/layer.py:120-141, abc123`.
pub fn place(change: &CodeChange) -> String {
    let mut text = change.file.clone();
    if let Some((from, to)) = change.lines.filter(|_| !text.is_empty()) {
        let _ = if from == to { write!(text, ":{from}") } else { write!(text, ":{from}-{to}") };
    }
    if let Some(commit) = &change.commit {
        let short: String = commit.chars().take(10).collect();
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}{short}");
    }
    text
}

/// How alike the two are, in one sentence.
pub fn score_sentence(stages: &Stages) -> String {
    let mut text = format!("The trees score {:.1} of 100: ", stages.score);
    for (what, overlap) in &stages.overlaps {
        let what = match *what {
            "calls" => "numbers of calls",
            "mean" => "costs per call",
            _ => "costs",
        };
        let _ = write!(text, "{what} overlap by {}, ", in_percent(*overlap));
    }
    let _ = write!(
        text,
        "and {} of the contexts before and {} of those after are common; the score is the product.",
        in_percent(stages.share_before),
        in_percent(stages.share_after)
    );
    let Some((_, total)) = stages.overlaps.iter().find(|(what, _)| *what == "total") else {
        return text;
    };
    let same = in_percent(stages.threshold.overlap);
    let measured = match stages.threshold.runs {
        Some(runs) => {
            let runs = counted(runs as u64, "run", "runs");
            format!("{runs} of the same code overlap by {same}")
        }
        None => format!(
            "Without several runs of the same code, an overlap of {same} counts as the same"
        ),
    };
    let adjusted = stages.weights.len();
    if *total >= stages.threshold.overlap {
        let _ = write!(text, " {measured}: no cost in the common tree stands out.");
    } else {
        let contexts = counted(adjusted as u64, "context", "contexts");
        let reached = stages.adjusted.unwrap_or(0.0);
        let _ = write!(
            text,
            " {measured}; with {contexts} set aside, the overlap is {}.",
            in_percent(reached)
        );
    }
    text
}

/// What explains most of a difference.
pub enum Lead<'a> {
    Subtree(&'a StagedSubtree),
    Weight(&'a WeightChange),
}

/// What the parts differ by together: the change from one mean run to the other, which they add up to. Totals are those
/// of median runs.
pub fn whole_change(stages: &Stages) -> f64 {
    stages.common.delta() + parts(stages).iter().map(|part| part.total.delta()).sum::<f64>()
}

/// The largest contribution to the change, and how much that is.
pub fn lead(diff: &Diff) -> Option<(Lead<'_>, f64)> {
    let stages = diff.stages.as_ref()?;
    let sign = if diff.after.total.median < diff.before.total.median { -1.0 } else { 1.0 };
    let subtrees = parts(stages)
        .into_iter()
        .flat_map(|part| &part.subtrees)
        .map(|row| (Lead::Subtree(row), signed_cost(row)));
    let weights = stages.weights.iter().map(|row| (Lead::Weight(row), row.after - row.before));
    let mut best: Option<(Lead<'_>, f64)> = None;
    for (lead, delta) in subtrees.chain(weights) {
        if best.as_ref().is_none_or(|(_, known)| delta * sign > known * sign) {
            best = Some((lead, delta));
        }
    }
    best.filter(|(_, delta)| delta * sign > 0.0)
}

impl Lead<'_> {
    /// The function it is about.
    pub fn function(&self) -> Option<&FunctionView> {
        match self {
            Self::Subtree(row) => row.path.last(),
            Self::Weight(row) => row.path.last(),
        }
    }

    /// The method that most likely holds the change, if that is another one, with where it is.
    pub fn candidate(&self) -> Option<&Candidate> {
        let candidates = match self {
            Self::Subtree(row) => &row.candidates,
            Self::Weight(row) => &row.candidates,
        };
        candidates.first().filter(|first| Some(&first.function) != self.function())
    }

    /// What stands between the function and the candidate, and what after both.
    pub fn words(&self, stages: &Stages) -> (&'static str, &'static str) {
        let one_side = |side: Side| match side {
            Side::After => ", called only after, below the modified ",
            Side::Before => ", called only before, below the modified ",
        };
        match self {
            Self::Subtree(row) => match row.reason {
                StageReason::AddedMethod => (", which is new, called from ", ""),
                StageReason::DeletedMethod => (", which is gone, called from ", ""),
                StageReason::DirectModification => (one_side(row.side), ""),
                _ if row.side == Side::After => {
                    ("", ", called only after, with no modified method above it")
                }
                _ => ("", ", called only before, with no modified method above it"),
            },
            Self::Weight(row) if !row.candidates.is_empty() => {
                let own = self.candidate().is_none();
                if own {
                    ("", ", which was modified")
                } else {
                    (" itself, below the modified ", "")
                }
            }
            Self::Weight(_) if stages.changed.is_some() => {
                (" itself", " itself, with no modified method on its path")
            }
            Self::Weight(_) => (" itself", " itself"),
        }
    }
}
