//! Is an answer right as often as it says?

use std::fmt::Write as _;

use perfblame_eval_planted::answer::Tested;
use perfblame_eval_planted::plant::PlantedKind;
use perfblame_eval_planted::score::Rate;
use perfblame_eval_planted::table::{grid, rate};

use super::{run_heads, slower};
use crate::case::Spec;
use crate::evaluate::{CaseRow, RUNS};

/// How sure an answer is: one minus the p-value of the first suspect.
const SURE: [(&str, f64, f64); 5] = [
    ("99.9 % and more", 0.999, 1.01),
    ("99 to 99.9 %", 0.99, 0.999),
    ("95 to 99 %", 0.95, 0.99),
    ("90 to 95 %", 0.9, 0.95),
    ("less than 90 %", -0.01, 0.9),
];

type Wanted = fn(&Spec) -> bool;

pub fn tables(text: &mut String, rows: &[CaseRow]) {
    text.push_str("## Calibration\n\nAnswers of `suspects` by how sure they are: one minus the p-value of the first suspect. Right: it is the planted cause. On identical code every suspect is wrong. With one run on each side there is no p-value.\n\n");
    let heads =
        ["answers", "right, effects up to 50 %", "suspects on identical code"].map(str::to_owned);
    let identical = rows.iter().filter(|row| row.spec.kind == PlantedKind::Identical).count();
    grid(
        text,
        "sure",
        &heads,
        SURE.iter().map(|(name, low, high)| {
            let is_in = |row: &&CaseRow| {
                row.p_value.is_some_and(|p| (1.0 - p) >= *low && (1.0 - p) < *high)
            };
            let planted = rows.iter().filter(|row| slower(&row.spec)).filter(is_in);
            let mut right = Rate::default();
            for score in planted.filter_map(|row| row.score(Tested::Suspects)) {
                right.add(score.first_right.into(), 1);
            }
            let alarms = (rows.iter())
                .filter(|row| row.spec.kind == PlantedKind::Identical)
                .filter(is_in)
                .count();
            let cells = vec![
                (right.of + alarms).to_string(),
                rate(right),
                format!("{alarms} of {identical} comparisons"),
            ];
            ((*name).to_owned(), cells)
        }),
    );
    text.push_str(
        "The 95 % interval of the total holds the planted change (identical code: zero):\n\n",
    );
    let wanted: [(&str, Wanted); 4] = [
        ("identical code", |spec| spec.kind == PlantedKind::Identical),
        ("0.5 to 2 %", |spec| slower(spec) && spec.per_mille < 50),
        ("5 to 50 %", |spec| slower(spec) && spec.per_mille >= 50),
        ("twice and four times", |spec| spec.per_mille >= 1000),
    ];
    let of = |wanted: Wanted, runs: usize| {
        let mut holds = Rate::default();
        let rows = rows.iter().filter(|row| wanted(&row.spec) && row.spec.runs.0 == runs);
        for row in rows {
            if let Some(held) = row.holds {
                holds.add(held.into(), 1);
            }
        }
        holds
    };
    grid(
        text,
        "planted",
        &run_heads(),
        wanted.iter().map(|(name, wanted)| {
            let cells = RUNS.iter().map(|runs| rate(of(*wanted, *runs)));
            ((*name).to_owned(), cells.collect())
        }),
    );
    let _ = writeln!(text, "Comparisons whose answer has no interval are left out.\n");
}
