//! What the methods that have no suspects say explains a change: the critical graph, the ranked paths, the stages.

use perfblame_analysis::{CriticalNode, Diff, Method};

use super::GrowingLine;
use crate::diff_words::Words;
use crate::layout::clean;
use crate::numbers::in_percent;
use crate::stage_words::{self, lead};

/// Writes what explains the change; says whether anything does.
pub(super) fn explain(diff: &Diff, words: Words<'_>, line: &mut GrowingLine) -> bool {
    match diff.method {
        Method::Suspects => false,
        Method::CriticalGraph => explain_by_graph(diff, words, line),
        Method::Paths => explain_by_path(diff, words, line),
        Method::Stages => explain_by_stage(diff, words, line),
    }
}

fn explain_by_graph(diff: &Diff, words: Words<'_>, line: &mut GrowingLine) -> bool {
    let delta = |node: &CriticalNode| node.after - node.before.unwrap_or(0.0);
    let causes = diff.graph.iter().flat_map(|graph| &graph.nodes).filter(|node| node.cause);
    let largest = causes.clone().max_by(|a, b| delta(a).total_cmp(&delta(b)).then(b.id.cmp(&a.id)));
    let Some(largest) = largest else { return false };
    line.words(&match causes.count() {
        1 => "the cause is ".to_owned(),
        number => format!("{number} causes, the largest "),
    });
    let caller = diff.graph.iter().find_map(|graph| graph.nodes.get(largest.parent?));
    let alike = caller.is_some_and(|caller| caller.function.name == largest.function.name);
    let function = &largest.function;
    line.name(if alike { words.placed(function) } else { words.name(function) });
    line.words(&format!(" ({})", words.change(delta(largest))));
    true
}

fn explain_by_path(diff: &Diff, words: Words<'_>, line: &mut GrowingLine) -> bool {
    let first = diff.paths.first().and_then(|path| Some((path, path.functions.last()?)));
    let Some((path, leaf)) = first else { return false };
    line.words("the path that changed most ends in ");
    line.name(words.name(&leaf.function));
    let new = if path.new { ", new" } else { "" };
    line.words(&format!(" ({}{new})", words.change(path.cost)));
    true
}

/// The largest part of the change by stages, and the change of the code behind it.
fn explain_by_stage(diff: &Diff, words: Words<'_>, line: &mut GrowingLine) -> bool {
    let (Some((lead, delta)), Some(stages)) = (lead(diff), &diff.stages) else { return false };
    let Some(function) = lead.function() else { return false };
    let share = delta / stage_words::whole_change(stages);
    line.words(&match share {
        share if (0.0..=1.0).contains(&share) => format!("{} of the change is ", in_percent(share)),
        _ => format!("{} in ", words.change(delta)),
    });
    line.name(words.name(function));
    let (between, last) = lead.words(stages);
    let candidate = lead.candidate();
    if let Some(candidate) = candidate {
        line.words(between);
        line.name(words.name(&candidate.function));
    }
    line.words(last);
    let changes = candidate.map(|candidate| &candidate.changes);
    let own = match &lead {
        stage_words::Lead::Subtree(row) => row.changes.first(),
        stage_words::Lead::Weight(row) => {
            row.candidates.first().and_then(|row| row.changes.first())
        }
    };
    let change = changes.and_then(|changes| changes.first()).or(own);
    let place = change.map(stage_words::place).unwrap_or_default();
    if !place.is_empty() {
        line.words(" (");
        line.name(clean(&place).into_owned());
        line.words(")");
    }
    true
}
