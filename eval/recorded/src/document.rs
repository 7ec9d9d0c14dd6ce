//! The tables, as text that is Markdown as well, and the document around them.

mod calibration;
mod noise;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use perfblame_analysis::Verdict;
use perfblame_eval_planted::answer::Tested;
use perfblame_eval_planted::plant::PlantedKind;
use perfblame_eval_planted::score::{Rate, Sum};
use perfblame_eval_planted::table::{grid, rate};

use crate::case::Spec;
use crate::evaluate::{CaseRow, EFFECTS, FACTORS, KINDS, RUNS, sum};
use crate::pool::Pool;

/// Effects that the summaries are about: those below drown in the noise of most programs.
const CLEAR: u32 = 50;

type Pick = fn(&Sum) -> Rate;

const COLUMNS: [(&str, Pick); 4] = [
    ("First suspect right", |sum| sum.first_right),
    ("Among the first three", |sum| sum.among_three),
    ("Node precision", |sum| sum.node_precision),
    ("Verdict `regressed`", |sum| sum.verdict_right),
];

/// All tables.
pub fn tables(rows: &[CaseRow], methods: &[Tested]) -> String {
    let mut text = String::new();
    summary(&mut text, rows, methods);
    false_alarms(&mut text, rows, methods);
    by_runs(&mut text, rows, methods);
    by_program_and_kind(&mut text, rows, methods);
    more_runs(&mut text, rows);
    factors(&mut text, rows);
    calibration::tables(&mut text, rows);
    worse_than_sorting(&mut text, rows);
    text
}

fn slower(spec: &Spec) -> bool {
    spec.kind.is_slower() && spec.per_mille <= EFFECTS[EFFECTS.len() - 1]
}

fn summary(text: &mut String, rows: &[CaseRow], methods: &[Tested]) {
    for runs in [3, 5] {
        let _ = writeln!(
            text,
            "## {runs} + {runs} runs, effects of {} % or more, all programs and kinds\n",
            CLEAR / 10
        );
        let heads = [
            "cases",
            "first right",
            "among three",
            "node precision",
            "verdict right",
            "inconclusive",
        ];
        grid(
            text,
            "method",
            &heads.map(str::to_owned),
            methods.iter().map(|tested| {
                let sum = sum(rows, *tested, |spec| {
                    slower(spec) && spec.per_mille >= CLEAR && spec.runs.0 == runs
                });
                let cells = vec![
                    sum.cases.to_string(),
                    rate(sum.first_right),
                    rate(sum.among_three),
                    rate(sum.node_precision),
                    rate(sum.verdict_right),
                    rate(sum.inconclusive),
                ];
                (tested.name().to_owned(), cells)
            }),
        );
    }
}

fn run_heads() -> Vec<String> {
    RUNS.iter().map(|runs| format!("{runs} + {runs}")).collect()
}

fn percent_heads() -> Vec<String> {
    EFFECTS.iter().map(|effect| format!("{} %", f64::from(*effect) / 10.0)).collect()
}

/// Programs with their conditions, in order.
fn programs(rows: &[CaseRow]) -> BTreeSet<(String, String)> {
    rows.iter().map(|row| (row.spec.condition.clone(), row.spec.program.clone())).collect()
}

fn is_of(spec: &Spec, (condition, program): &(String, String)) -> bool {
    spec.condition == *condition && spec.program == *program
}

fn false_alarms(text: &mut String, rows: &[CaseRow], methods: &[Tested]) {
    text.push_str("## False alarms on identical code\n\nBoth sides are recorded runs of the same code. A false alarm is any suspect, or the verdict `regressed`; with one run on each side, only the verdict. `self-sorted` always lists something.\n\n");
    let identical =
        |spec: &Spec, runs: usize| spec.kind == PlantedKind::Identical && spec.runs.0 == runs;
    let listed: Vec<&Tested> =
        methods.iter().filter(|tested| **tested != Tested::SelfSorted).collect();
    grid(
        text,
        "method",
        &run_heads(),
        listed.iter().map(|tested| {
            let of_runs =
                |runs: &usize| rate(sum(rows, **tested, |spec| identical(spec, *runs)).false_alarm);
            (tested.name().to_owned(), RUNS.iter().map(of_runs).collect())
        }),
    );
    text.push_str("The verdict of `suspects` is neither `regressed` nor `improved`:\n\n");
    grid(
        text,
        "method",
        &run_heads(),
        [Tested::Suspects].iter().map(|tested| {
            let of_runs = |runs: &usize| {
                rate(sum(rows, *tested, |spec| identical(spec, *runs)).verdict_right)
            };
            (tested.name().to_owned(), RUNS.iter().map(of_runs).collect())
        }),
    );
    text.push_str("False alarms of `suspects` by program:\n\n");
    let programs = programs(rows);
    grid(
        text,
        "program",
        &run_heads(),
        programs.iter().map(|program| {
            let of_runs = |runs: &usize| {
                let wanted = |spec: &Spec| identical(spec, *runs) && is_of(spec, program);
                rate(sum(rows, Tested::Suspects, wanted).false_alarm)
            };
            (format!("{}, {}", program.1, program.0), RUNS.iter().map(of_runs).collect())
        }),
    );
}

fn by_runs(text: &mut String, rows: &[CaseRow], methods: &[Tested]) {
    text.push_str("## Power by number of runs, all programs and kinds\n\n");
    for (title, pick) in COLUMNS {
        for tested in methods {
            let _ = writeln!(text, "{title}, `{}`:\n", tested.name());
            grid(
                text,
                "runs",
                &percent_heads(),
                RUNS.iter().map(|runs| {
                    let cell = |effect: &u32| {
                        rate(pick(&sum(rows, *tested, |spec| {
                            slower(spec) && spec.runs.0 == *runs && spec.per_mille == *effect
                        })))
                    };
                    (format!("{runs} + {runs}"), EFFECTS.iter().map(cell).collect())
                }),
            );
        }
    }
}

fn by_program_and_kind(text: &mut String, rows: &[CaseRow], methods: &[Tested]) {
    let heads: Vec<String> = methods.iter().map(|tested| tested.name().to_owned()).collect();
    let programs = programs(rows);
    for runs in [3, 5] {
        let wanted = |spec: &Spec| slower(spec) && spec.per_mille >= CLEAR && spec.runs.0 == runs;
        for (title, pick) in COLUMNS {
            let _ = writeln!(
                text,
                "## {title}: {runs} + {runs} runs, effects of {} % or more\n",
                CLEAR / 10
            );
            grid(
                text,
                "program",
                &heads,
                programs.iter().map(|program| {
                    let cell = |tested: &Tested| {
                        rate(pick(&sum(rows, *tested, |spec| wanted(spec) && is_of(spec, program))))
                    };
                    (format!("{}, {}", program.1, program.0), methods.iter().map(cell).collect())
                }),
            );
            grid(
                text,
                "kind",
                &heads,
                KINDS.iter().map(|kind| {
                    let cell = |tested: &Tested| {
                        rate(pick(&sum(rows, *tested, |spec| wanted(spec) && spec.kind == *kind)))
                    };
                    (kind.name().to_owned(), methods.iter().map(cell).collect())
                }),
            );
        }
    }
    text.push_str("## Weak effects: 0.5 to 2 %, first suspect right, all programs and kinds\n\n");
    grid(
        text,
        "runs",
        &heads,
        RUNS.iter().map(|runs| {
            let cell = |tested: &Tested| {
                let wanted =
                    |spec: &Spec| slower(spec) && spec.per_mille < CLEAR && spec.runs.0 == *runs;
                rate(sum(rows, *tested, wanted).first_right)
            };
            (format!("{runs} + {runs}"), methods.iter().map(cell).collect())
        }),
    );
}

/// Cases with more runs contain those with fewer: what is right with few should stay right.
fn more_runs(text: &mut String, rows: &[CaseRow]) {
    text.push_str("## More runs\n\nThe case with more runs has those of the case with fewer, and more. Of the cases that `suspects` answers rightly (first suspect) with fewer runs, so many it no longer answers with more; and the reverse. Effects of all sizes up to 50 %.\n\n");
    let heads = ["cases", "right with fewer, lost with more", "wrong with fewer, found with more"];
    let first_right = |row: &CaseRow| row.score(Tested::Suspects).is_some_and(|it| it.first_right);
    let slow: Vec<&CaseRow> = rows.iter().filter(|row| slower(&row.spec)).collect();
    let drawn = |spec: &Spec| Spec { runs: (0, 0), ..spec.clone() }.to_string();
    let by_name: std::collections::HashMap<(String, usize), bool> =
        slow.iter().map(|row| ((drawn(&row.spec), row.spec.runs.0), first_right(row))).collect();
    grid(
        text,
        "runs",
        &heads.map(str::to_owned),
        RUNS.windows(2).map(|pair| {
            let (mut cases, mut lost, mut found) = (0, Rate::default(), Rate::default());
            for row in slow.iter().filter(|row| row.spec.runs.0 == pair[0]) {
                let Some(more) = by_name.get(&(drawn(&row.spec), pair[1])) else { continue };
                cases += 1;
                if first_right(row) {
                    lost.add((!more).into(), 1);
                } else {
                    found.add((*more).into(), 1);
                }
            }
            (format!("{} → {}", pair[0], pair[1]), vec![cases.to_string(), rate(lost), rate(found)])
        }),
    );
}

fn factors(text: &mut String, rows: &[CaseRow]) {
    text.push_str("## Twice and four times as long\n\nThe planted cost makes the total twice or four times as long. `suspects` must neither find no difference nor leave it open:\n\n");
    let heads = ["cases", "first right", "regressed", "no difference", "inconclusive", "improved"];
    for effect in FACTORS {
        let _ = writeln!(text, "{} times as long:\n", effect / 1000 + 1);
        grid(
            text,
            "runs",
            &heads.map(str::to_owned),
            RUNS.iter().map(|runs| {
                let scores: Vec<_> = (rows.iter())
                    .filter(|row| row.spec.per_mille == effect && row.spec.runs.0 == *runs)
                    .filter_map(|row| row.score(Tested::Suspects))
                    .collect();
                let part = |wanted: &dyn Fn(&&&perfblame_eval_planted::score::Score) -> bool| {
                    let hits = scores.iter().filter(|score| wanted(score)).count();
                    rate(Rate { hits, of: scores.len() })
                };
                let cells = vec![
                    scores.len().to_string(),
                    part(&|score| score.first_right),
                    part(&|score| score.verdict == Verdict::Regressed),
                    part(&|score| score.verdict == Verdict::Unchanged),
                    part(&|score| score.verdict == Verdict::Inconclusive),
                    part(&|score| score.verdict == Verdict::Improved),
                ];
                (format!("{runs} + {runs}"), cells)
            }),
        );
    }
}

/// Where sorting by self time finds the cause more often.
fn worse_than_sorting(text: &mut String, rows: &[CaseRow]) {
    text.push_str("## Where sorting by self time is better\n\nPrograms, kinds and numbers of runs where `self-sorted` has the cause first more often than `suspects`, effects of all sizes up to 50 %, the largest gap first. Cells of a few cases each: a gap of one or two can be chance.\n\n");
    let mut worse: Vec<(usize, String, Vec<String>)> = Vec::new();
    for program in programs(rows) {
        for kind in KINDS {
            for runs in RUNS {
                let wanted = |spec: &Spec| {
                    slower(spec)
                        && is_of(spec, &program)
                        && spec.kind == kind
                        && spec.runs.0 == runs
                };
                let first = |tested| sum(rows, tested, wanted).first_right;
                let (ours, plain) = (first(Tested::Suspects), first(Tested::SelfSorted));
                let gap = plain.hits.saturating_sub(ours.hits);
                if gap >= 2 {
                    let name = format!("{}, {}", program.1, program.0);
                    let of = |rate: Rate| format!("{} of {}", rate.hits, rate.of);
                    let cells = vec![
                        kind.name().to_owned(),
                        format!("{runs} + {runs}"),
                        of(ours),
                        of(plain),
                    ];
                    worse.push((gap, name, cells));
                }
            }
        }
    }
    worse.sort_by_key(|row| std::cmp::Reverse(row.0));
    let heads = ["kind", "runs", "suspects", "self-sorted"];
    grid(
        text,
        "program",
        &heads.map(str::to_owned),
        worse.into_iter().take(30).map(|(_, name, cells)| (name, cells)),
    );
}

/// The tables with how they were made and what noise the runs have.
pub fn document(
    tables: &str,
    pools: &[Pool],
    folder: &Path,
    (cases, seed): (usize, u64),
) -> Result<String> {
    let noise = noise::table(pools, folder)?;
    Ok(format!(
        "# How often is it right on recorded runs?\n\n\
         Generated by `cargo xtask eval recorded --cases {cases} --seed {seed} --out docs/eval-recorded.md`.\n\n\
         {HOW}\n{FINDINGS}\n## The runs\n\n{noise}\n{tables}"
    ))
}

const HOW: &str = include_str!("how.md");
const FINDINGS: &str = include_str!("findings.md");
