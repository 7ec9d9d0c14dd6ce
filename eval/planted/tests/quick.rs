//! The promise, kept in every test run: with 5 + 5 runs the first suspect is right when the effect is 5 % or more of
//! the whole, and identical code raises no alarm. The full figures are in `docs/accuracy.md`.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use perfblame_eval_planted::answer::Tested;
use perfblame_eval_planted::base::{From, bases};
use perfblame_eval_planted::evaluate::{CaseRow, Plan, evaluate, quick_cases};
use perfblame_eval_planted::noise::Ranges;
use perfblame_eval_planted::plant::PlantedKind;
use perfblame_eval_planted::table::{CLEAR, sum};

#[test]
fn the_first_suspect_is_right_and_identical_code_is_quiet() {
    let plan = Plan {
        seed: 1,
        // Shorter runs than most are harder, and take less time.
        ranges: Ranges { samples: (500.0, 5_000.0), ..Ranges::default() },
        methods: vec![Tested::Suspects],
        keep: None,
        verbose: true,
        check_every: 0,
    };
    let rows = evaluate(&quick_cases(140), &bases(From::Samples).unwrap(), &plan).unwrap();
    // Of what does not stand out nobody can say what it is.
    let clear = |row: &&CaseRow| row.standard_errors.is_none_or(|errors| errors >= CLEAR);
    assert!(rows.iter().filter(clear).count() > rows.len() * 9 / 10);
    let rows: Vec<CaseRow> = rows.into_iter().filter(|row| clear(&row)).collect();
    let slower = sum(&rows, Tested::Suspects, |spec| spec.kind.is_slower());
    let identical = sum(&rows, Tested::Suspects, |spec| spec.kind == PlantedKind::Identical);
    let first_right = slower.first_right.value().unwrap();
    let false_alarms = identical.false_alarm.value().unwrap();
    assert!(first_right >= 0.95, "first suspect right in {first_right:.3} of the cases");
    assert!(false_alarms <= 0.05, "false alarms in {false_alarms:.3} of the cases");
}
