//! The tables, as text that is Markdown as well.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::answer::Tested;
use crate::case::Spec;
use crate::evaluate::{CaseRow, OTHER_RUNS, PERCENTS, USUAL_RUNS};
use crate::plant::PlantedKind;
use crate::score::{Rate, Sum};

/// What stands out by at least so many standard errors can be told from chance among hundreds of places.
pub const CLEAR: f64 = 4.0;

/// Scores of a method over the cases that are wanted.
pub fn sum(rows: &[CaseRow], tested: Tested, wanted: impl Fn(&Spec) -> bool) -> Sum {
    sum_rows(rows, tested, |row| wanted(&row.spec))
}

fn sum_rows(rows: &[CaseRow], tested: Tested, wanted: impl Fn(&CaseRow) -> bool) -> Sum {
    let mut sum = Sum::default();
    for row in rows.iter().filter(|row| wanted(row)) {
        for (_, score) in row.scores.iter().filter(|(method, _)| *method == tested) {
            sum.add(score);
        }
    }
    sum
}

/// All tables.
pub fn tables(rows: &[CaseRow], methods: &[Tested]) -> String {
    let mut text = String::new();
    let usual = |spec: &Spec| spec.runs == USUAL_RUNS;
    let slower = |spec: &Spec| spec.kind.is_slower();

    text.push_str("## 5 + 5 runs, effects of 5 % or more, all kinds\n\n");
    method_table(&mut text, methods, |tested| {
        sum(rows, tested, |spec| usual(spec) && slower(spec) && spec.percent >= 5)
    });

    text.push_str(
        "The same without cases where the effect is below 4 standard errors even for an observer who knows where to look:\n\n",
    );
    method_table(&mut text, methods, |tested| {
        sum_rows(rows, tested, |row| {
            let spec = &row.spec;
            let clear = row.standard_errors.is_some_and(|errors| errors >= CLEAR);
            clear && usual(spec) && slower(spec) && spec.percent >= 5
        })
    });

    text.push_str("## False alarms on identical code\n\nAny suspect, or the verdict `regressed`; with one run on each side, only the verdict.\n\n");
    let mut all_runs = vec![USUAL_RUNS];
    all_runs.extend(OTHER_RUNS);
    all_runs.sort_unstable();
    let heads: Vec<String> =
        all_runs.iter().map(|runs| format!("{} + {}", runs.0, runs.1)).collect();
    grid(
        &mut text,
        "method",
        &heads,
        methods.iter().map(|tested| {
            let cells = all_runs.iter().map(|runs| {
                rate(
                    sum(rows, *tested, |spec| {
                        spec.kind == PlantedKind::Identical && spec.runs == *runs
                    })
                    .false_alarm,
                )
            });
            (tested.name().to_owned(), cells.collect())
        }),
    );

    text.push_str("## 5 + 5 runs by size of the effect, all kinds\n\n");
    for percent in PERCENTS {
        let _ = writeln!(text, "### {percent} % of the total\n");
        method_table(&mut text, methods, |tested| {
            sum(rows, tested, |spec| usual(spec) && slower(spec) && spec.percent == percent)
        });
    }

    let sizes: Vec<String> = PERCENTS.iter().map(|percent| format!("{percent} %")).collect();
    for tested in methods {
        let _ = writeln!(text, "## 5 + 5 runs by kind: `{}`\n", tested.name());
        for (title, pick) in COLUMNS {
            let _ = writeln!(text, "{title}:\n");
            grid(
                &mut text,
                "kind",
                &sizes,
                PlantedKind::SLOWER.iter().map(|kind| {
                    let cells = PERCENTS.iter().map(|percent| {
                        rate(pick(&sum(rows, *tested, |spec| {
                            usual(spec) && spec.kind == *kind && spec.percent == *percent
                        })))
                    });
                    (kind.name().to_owned(), cells.collect())
                }),
            );
        }
    }

    for tested in methods {
        let _ = writeln!(text, "## By number of runs, all kinds: `{}`\n", tested.name());
        for (title, pick) in COLUMNS.iter().chain(&[VERDICT, INCONCLUSIVE]) {
            let _ = writeln!(text, "{title}:\n");
            grid(
                &mut text,
                "runs",
                &sizes,
                all_runs.iter().map(|runs| {
                    let cells = PERCENTS.iter().map(|percent| {
                        rate(pick(&sum(rows, *tested, |spec| {
                            slower(spec) && spec.runs == *runs && spec.percent == *percent
                        })))
                    });
                    (format!("{} + {}", runs.0, runs.1), cells.collect())
                }),
            );
        }
    }

    text.push_str("## Nothing is slower, 5 + 5 runs\n\nFalse alarms: any suspect, or the verdict `regressed`. Blamed: the function that was moved, wrapped or renamed, or that got its neighbour's cost, is a suspect.\n\n");
    let mut quiet: BTreeSet<(PlantedKind, u32)> = BTreeSet::new();
    for row in rows.iter().filter(|row| usual(&row.spec) && !slower(&row.spec)) {
        quiet.insert((row.spec.kind, row.spec.percent));
    }
    for tested in methods {
        let _ = writeln!(text, "`{}`:\n", tested.name());
        let heads = ["cases", "false alarms", "blamed", "verdict right", "inconclusive"];
        grid(
            &mut text,
            "kind",
            &heads.map(str::to_owned),
            quiet.iter().map(|(kind, percent)| {
                let sum = sum(rows, *tested, |spec| {
                    usual(spec) && spec.kind == *kind && spec.percent == *percent
                });
                let name = if *percent == 0 {
                    kind.name().to_owned()
                } else {
                    format!("{}, {percent} %", kind.name())
                };
                let cells = vec![
                    sum.cases.to_string(),
                    rate(sum.false_alarm),
                    rate(sum.decoy_blamed),
                    rate(sum.verdict_right),
                    rate(sum.inconclusive),
                ];
                (name, cells)
            }),
        );
    }

    text.push_str(
        "## Moved, wrapped or renamed in addition to a real cause, 5 + 5 runs: wrongly blamed\n\n",
    );
    let disguised =
        [PlantedKind::Renamed, PlantedKind::Moved, PlantedKind::Wrapped, PlantedKind::Minified];
    let heads: Vec<String> = disguised.iter().map(|kind| kind.name().to_owned()).collect();
    grid(
        &mut text,
        "method",
        &heads,
        methods.iter().map(|tested| {
            let cells = disguised.iter().map(|kind| {
                rate(sum(rows, *tested, |spec| usual(spec) && spec.kind == *kind).decoy_blamed)
            });
            (tested.name().to_owned(), cells.collect())
        }),
    );
    text
}

type Pick = fn(&Sum) -> Rate;

const COLUMNS: [(&str, Pick); 3] = [
    ("First suspect right", |sum| sum.first_right),
    ("Node recall", |sum| sum.node_recall),
    ("Node precision", |sum| sum.node_precision),
];
const VERDICT: (&str, Pick) = ("Verdict `regressed`", |sum| sum.verdict_right);
const INCONCLUSIVE: (&str, Pick) = ("Verdict `inconclusive`", |sum| sum.inconclusive);

/// A row for each method, a column for each metric.
pub fn method_table(text: &mut String, methods: &[Tested], of: impl Fn(Tested) -> Sum) {
    let heads = [
        "cases",
        "node recall",
        "path recall",
        "node precision",
        "path precision",
        "distance",
        "first right",
        "verdict right",
        "inconclusive",
    ];
    grid(
        text,
        "method",
        &heads.map(str::to_owned),
        methods.iter().map(|tested| {
            let sum = of(*tested);
            let cells = vec![
                sum.cases.to_string(),
                rate(sum.node_recall),
                rate(sum.path_recall),
                rate(sum.node_precision),
                rate(sum.path_precision),
                sum.distance.value().map_or_else(|| "–".to_owned(), |mean| format!("{mean:.2}")),
                rate(sum.first_right),
                rate(sum.verdict_right),
                rate(sum.inconclusive),
            ];
            (tested.name().to_owned(), cells)
        }),
    );
}

/// A table with a name and cells in each row.
pub fn grid(
    text: &mut String,
    corner: &str,
    heads: &[String],
    rows: impl Iterator<Item = (String, Vec<String>)>,
) {
    let _ = writeln!(text, "| {corner} | {} |", heads.join(" | "));
    let _ = writeln!(text, "|---|{}", "--:|".repeat(heads.len()));
    for (name, cells) in rows {
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text.push('\n');
}

/// `97.5 % (94–99)`: the rate and where the true one lies with 95 % confidence.
pub fn rate(rate: Rate) -> String {
    match (rate.value(), rate.interval()) {
        (Some(value), Some((low, high))) => {
            format!("{:.1} % ({:.0}–{:.0})", value * 100.0, low * 100.0, high * 100.0)
        }
        _ => "–".to_owned(),
    }
}

/// The tables with how they were made.
pub fn document(tables: &str, rows: &[CaseRow], bases: &[&str], seed: u64, cases: usize) -> String {
    let mut trees = String::new();
    for base in bases {
        let count = rows.iter().filter(|row| row.base == *base).count();
        let _ = writeln!(trees, "- `{base}`: {count} cases");
    }
    format!(
        "# How often is it right?\n\n\
         Generated by `cargo run --release -p perfblame-eval-planted -- --cases {cases} --seed {seed} --out docs/accuracy.md`.\n\n\
         {HOW}\n{trees}\n{tables}"
    )
}

const HOW: &str = include_str!("how.md");
