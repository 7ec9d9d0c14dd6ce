//! `--method stages` for a pull request: what each part adds up to, then the costliest rows of all parts.

use std::fmt::Write as _;

use perfblame_analysis::{Candidate, StagePart, Stages};

use super::{Page, code, escaped, path, placed};
use crate::numbers::{counted, grouped};
use crate::stage_words::{
    PARTS, calls_of, parts, place, score_sentence, signed_cost, why, why_weight,
};

impl Page<'_> {
    pub(super) fn stages(&mut self, limit: usize) {
        let diff = self.diff;
        let Some(stages) = &diff.stages else { return };
        let words = self.words;
        let mut table =
            "\n| part | change | before → after | subtrees | contexts |\n|---|--:|---|--:|--:|\n"
                .to_owned();
        let named = PARTS.iter().map(|(name, ..)| *name).zip(parts(stages).map(|part| &part.total));
        for (name, total) in named.chain([("Common tree", &stages.common)]) {
            let subtrees =
                if name == "Common tree" { String::new() } else { grouped(total.subtrees as u64) };
            let _ = writeln!(
                table,
                "| {name} | {} | {} | {subtrees} | {} |",
                words.change(total.delta()),
                escaped(&words.costs(total.before, total.after)),
                grouped(total.nodes as u64)
            );
        }
        self.add(&table);
        for ((name, _, about), part) in PARTS.iter().zip(parts(stages)) {
            self.subtrees(&format!("{name}: {about}"), part, limit);
        }
        self.weights(stages, limit);
        let text = format!("\n{}\n", escaped(&score_sentence(stages)));
        self.add(&text);
    }

    fn subtrees(&mut self, name: &str, part: &StagePart, limit: usize) {
        if part.subtrees.is_empty() {
            return;
        }
        let mut body =
            "| change | contexts | path | why | look at |\n|--:|--:|---|---|---|\n".to_owned();
        let shown = part.subtrees.len().min(limit);
        for row in &part.subtrees[..shown] {
            let _ = writeln!(
                body,
                "| {} | {} | {} | {} | {} |",
                self.words.change(signed_cost(row)),
                grouped(row.nodes as u64),
                path(&row.path),
                escaped(&why(row)),
                look_at(&row.candidates)
            );
        }
        let hidden = part.total.subtrees - shown;
        if hidden > 0 {
            let more = counted(hidden as u64, "more subtree", "more subtrees");
            let _ = write!(body, "\n{more}; `perfblame diff --format json` shows more.\n");
        }
        self.folded(&escaped(name), &body);
    }

    fn weights(&mut self, stages: &Stages, limit: usize) {
        if stages.weights.is_empty() {
            return;
        }
        let mut body =
            "| change | before → after | path | why | look at |\n|--:|---|---|---|---|\n"
                .to_owned();
        let shown = stages.weights.len().min(limit);
        for row in &stages.weights[..shown] {
            let mut why = why_weight(row, stages, self.words);
            if let Some(calls) = calls_of(row, self.words) {
                let _ = write!(why, "; {calls}");
            }
            let _ = writeln!(
                body,
                "| {} | {} | {} | {} | {} |",
                self.words.change(row.after - row.before),
                escaped(&self.words.costs(row.before, row.after)),
                path(&row.path),
                escaped(&why),
                look_at(&row.candidates)
            );
        }
        if shown < stages.weights.len() {
            let more =
                counted((stages.weights.len() - shown) as u64, "more context", "more contexts");
            let _ = write!(body, "\n{more}; `perfblame diff --format json` shows all.\n");
        }
        self.folded("Common tree: the same calls at another cost", &body);
    }
}

/// The likeliest methods with their changes.
fn look_at(candidates: &[Candidate]) -> String {
    /// More are in JSON.
    const FEW: usize = 3;
    let named = candidates.iter().take(FEW).map(|candidate| {
        let name = placed(&candidate.function);
        match candidate.changes.first().map(place) {
            Some(place) if !place.is_empty() => format!("{name} ({})", code(&place)),
            _ => name,
        }
    });
    named.collect::<Vec<_>>().join(", ")
}
