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
use perfblame_eval_planted::score::{Rate, Score, Sum};
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
    clear(&mut text, rows, methods);
    false_alarms(&mut text, rows, methods);
    against_sorting(&mut text, rows);
    by_runs(&mut text, rows, methods);
    by_program_and_kind(&mut text, rows, methods);
    more_runs(&mut text, rows);
    factors(&mut text, rows);
    calibration::tables(&mut text, rows);
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

/// An effect of so many standard errors can be told from chance among hundreds of places.
const STANDARD_ERRORS: f64 = 4.0;

/// The cases that somebody could answer who knows where to look.
fn clear(text: &mut String, rows: &[CaseRow], methods: &[Tested]) {
    text.push_str("## Cases that can be answered\n\nSome effects are hidden by the noise. Only cases in which the cost of the planted contexts differs by at least 4 standard errors, estimated from all 20 runs; effects of all sizes up to 50 %. First suspect right:\n\n");
    let is_clear = |row: &&CaseRow| {
        slower(&row.spec) && row.standard_errors.is_some_and(|errors| errors >= STANDARD_ERRORS)
    };
    let heads: Vec<String> = [String::from("of all cases")]
        .into_iter()
        .chain(methods.iter().map(|tested| tested.name().to_owned()))
        .collect();
    grid(
        text,
        "runs",
        &heads,
        RUNS.iter().map(|runs| {
            let all = rows.iter().filter(|row| slower(&row.spec) && row.spec.runs.0 == *runs);
            let clear: Vec<&CaseRow> =
                rows.iter().filter(is_clear).filter(|row| row.spec.runs.0 == *runs).collect();
            let mut cells = vec![rate(Rate { hits: clear.len(), of: all.count() })];
            for tested in methods {
                let mut right = Rate::default();
                for score in clear.iter().filter_map(|row| row.score(*tested)) {
                    right.add(score.first_right.into(), 1);
                }
                cells.push(rate(right));
            }
            (format!("{runs} + {runs}"), cells)
        }),
    );
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
    for effect in FACTORS {
        let _ = writeln!(text, "{} times as long:\n", effect / 1000 + 1);
        verdicts(text, rows, |row| row.spec.per_mille == effect);
    }
    doubled(text, rows);
}

/// What `suspects` says, by number of runs.
fn verdicts(text: &mut String, rows: &[CaseRow], wanted: impl Fn(&CaseRow) -> bool) {
    let heads = ["cases", "first right", "regressed", "no difference", "inconclusive", "improved"];
    grid(
        text,
        "runs",
        &heads.map(str::to_owned),
        RUNS.iter().map(|runs| {
            let scores: Vec<&Score> = (rows.iter())
                .filter(|row| wanted(row) && row.spec.runs.0 == *runs)
                .filter_map(|row| row.score(Tested::Suspects))
                .collect();
            let part = |hits: usize| rate(Rate { hits, of: scores.len() });
            let of = |verdict: Verdict| {
                part(scores.iter().filter(|score| score.verdict == verdict).count())
            };
            let cells = vec![
                scores.len().to_string(),
                part(scores.iter().filter(|score| score.first_right).count()),
                of(Verdict::Regressed),
                of(Verdict::Unchanged),
                of(Verdict::Inconclusive),
                of(Verdict::Improved),
            ];
            (format!("{runs} + {runs}"), cells)
        }),
    );
}

/// The law: where every run after takes at least twice as long as every run before, there is a difference.
fn doubled(text: &mut String, rows: &[CaseRow]) {
    text.push_str("Cases in which every run after takes at least twice as long as every run before, planted effects of all sizes:\n\n");
    verdicts(text, rows, |row| row.is_doubled && row.spec.kind.is_slower());
}

/// `suspects` next to sorting by self time, which it must not be worse than.
fn against_sorting(text: &mut String, rows: &[CaseRow]) {
    text.push_str("## Compared with sorting by self time\n\nEach cell has the rate of `suspects`, then that of `self-sorted`, effects of all sizes up to 50 %. Bold: `self-sorted` is better.\n\n");
    let cell = |pick: Pick, wanted: &dyn Fn(&Spec) -> bool| {
        let of = |tested| pick(&sum(rows, tested, |spec| slower(spec) && wanted(spec)));
        let (ours, plain) = (of(Tested::Suspects), of(Tested::SelfSorted));
        match (ours.value(), plain.value()) {
            (Some(one), Some(other)) => {
                let both = format!("{:.0} / {:.0} %", one * 100.0, other * 100.0);
                if ours.hits < plain.hits { format!("**{both}**") } else { both }
            }
            _ => "–".to_owned(),
        }
    };
    let by_runs = |pick: Pick, wanted: &dyn Fn(&Spec) -> bool| -> Vec<String> {
        RUNS.iter().map(|runs| cell(pick, &|spec| wanted(spec) && spec.runs.0 == *runs)).collect()
    };
    for (title, pick) in &COLUMNS[..2] {
        let _ = writeln!(text, "{title}, by kind:\n");
        let mut kinds: Vec<(String, Vec<String>)> = (KINDS.iter())
            .map(|kind| (kind.name().to_owned(), by_runs(*pick, &|spec| spec.kind == *kind)))
            .collect();
        kinds.push(("all kinds".to_owned(), by_runs(*pick, &|_| true)));
        grid(text, "kind", &run_heads(), kinds.into_iter());
        let _ = writeln!(text, "{title}, by effect:\n");
        let effects = EFFECTS.iter().zip(percent_heads());
        grid(
            text,
            "effect",
            &run_heads(),
            effects.map(|(effect, name)| (name, by_runs(*pick, &|spec| spec.per_mille == *effect))),
        );
    }
    let _ = writeln!(text, "{}, by program:\n", COLUMNS[0].0);
    let programs = programs(rows);
    grid(
        text,
        "program",
        &run_heads(),
        programs.iter().map(|program| {
            let cells = by_runs(COLUMNS[0].1, &|spec| is_of(spec, program));
            (format!("{}, {}", program.1, program.0), cells)
        }),
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
