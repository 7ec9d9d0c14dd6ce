//! The tables: ours beside the paper's.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::answer::Method;
use crate::app::APPS;
use crate::bugs::BUGS;
use crate::case::InjectionKind;
use crate::evaluate::{CaseRow, Measured, PAIRS};
use crate::plan::TIMELINES;
use crate::score::{Score, Sum};

/// Why answers were wrong, a line for each case that was looked into: `app/case: reason`.
const REASONS: &str = include_str!("reasons.txt");

/// Scores of a method over rows that are wanted.
fn sum(rows: &[CaseRow], method: Method, pairs: usize, wanted: impl Fn(&CaseRow) -> bool) -> Sum {
    Sum::of(rows.iter().filter(|row| wanted(row)).filter_map(|row| scored(row, method, pairs)))
}

fn scored(row: &CaseRow, method: Method, pairs: usize) -> Option<&Score> {
    let is = |(of, count, _): &&(Method, usize, Score)| *of == method && *count == pairs;
    row.scores.iter().find(is).map(|(_, _, score)| score)
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1}", share * 100.0))
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

fn line(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn head(text: &mut String, cells: &[&str]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(cells.len()));
}

const RATES: [&str; 7] = [
    "node recall %",
    "path recall %",
    "node precision %",
    "path precision %",
    "first right %",
    "distance",
    "longest path",
];

fn rates(sum: &Sum) -> Vec<String> {
    vec![
        percent(sum.node_recall()),
        percent(sum.path_recall()),
        percent(sum.node_precision()),
        percent(sum.path_precision()),
        percent(sum.first_right()),
        number(sum.distance()),
        number(sum.longest()),
    ]
}

/// The document's tables.
pub fn tables(measured: &Measured, seed: u64) -> String {
    let rows = &measured.rows;
    let of_paper = |row: &CaseRow| row.truth.kind.is_of_paper();
    let mut text = String::new();
    let cases = rows.iter().filter(|row| of_paper(row)).count();
    let _ = writeln!(
        text,
        "## The paper's injections\n\n{cases} cases in {} applications, {PAIRS} pairs of timelines.\n",
        measured.bases.len()
    );
    head(&mut text, &[&["method", "base comparisons that are not empty"][..], &RATES].concat());
    line(
        &mut text,
        &["ZAM, the paper", "2 of 10", "86.67", "100", "41.16", "96.09", "-", "2.92", "8.57"]
            .map(str::to_owned),
    );
    for method in Method::ALL {
        let alarms = alarms(measured, method, PAIRS);
        let mut cells = vec![method.name().to_owned()];
        cells.push(format!("{} of {}", alarms.iter().filter(|n| **n > 0).count(), alarms.len()));
        cells.extend(rates(&sum(rows, method, PAIRS, of_paper)));
        line(&mut text, &cells);
    }
    let suspects = sum(rows, Method::Suspects, PAIRS, of_paper);
    let _ = writeln!(
        text,
        "\nOf the {} functions that `suspects` blames and that are not on a path to the injection, {} are also found between the two releases without any injection, so they did get slower. Without these, its path precision is {} %.\n",
        suspects.leaves - suspects.on_path,
        suspects.of_release,
        percent(suspects.path_precision_of_code())
    );
    variants(&mut text, rows);
    for method in [Method::Suspects, Method::CriticalGraph] {
        table_2(&mut text, measured, method);
    }
    figure_5(&mut text, measured);
    table_3(&mut text, rows);
    table_5(&mut text, measured);
    table_6(&mut text, rows);
    bugs(&mut text, measured);
    applications(&mut text, rows);
    misses(&mut text, measured, seed);
    text
}

fn alarms(measured: &Measured, method: Method, pairs: usize) -> Vec<usize> {
    let of = |base: &crate::evaluate::Base| {
        let mut of = base.alarms.iter();
        of.find(|(of, count, _)| *of == method && *count == pairs)
            .map(|(_, _, blamed)| blamed.len())
    };
    measured.bases.iter().filter_map(of).collect()
}

fn variants(text: &mut String, rows: &[CaseRow]) {
    text.push_str("## By kind of injection\n\n");
    let _ = writeln!(text, "{PAIRS} pairs. First right, then node recall, in %.\n");
    let mut heads = vec!["kind", "cases"];
    heads.extend(Method::ALL.iter().map(|method| method.name()));
    head(text, &heads);
    for kind in InjectionKind::ALL {
        let cases = rows.iter().filter(|row| row.truth.kind == kind).count();
        let mut cells = vec![kind.name().to_owned(), cases.to_string()];
        for method in Method::ALL {
            let sum = sum(rows, method, PAIRS, |row| row.truth.kind == kind);
            cells.push(format!("{} / {}", percent(sum.first_right()), percent(sum.node_recall())));
        }
        line(text, &cells);
    }
    text.push_str("\nAll variants that are not in the paper, together:\n\n");
    head(text, &[&["method"][..], &RATES].concat());
    for method in Method::ALL {
        let sum = sum(rows, method, PAIRS, |row| !row.truth.kind.is_of_paper());
        let mut cells = vec![method.name().to_owned()];
        cells.extend(rates(&sum));
        line(text, &cells);
    }
    text.push_str("\n`suspects` by kind:\n\n");
    head(text, &[&["kind"][..], &RATES].concat());
    for kind in InjectionKind::ALL {
        let mut cells = vec![kind.name().to_owned()];
        cells.extend(rates(&sum(rows, Method::Suspects, PAIRS, |row| row.truth.kind == kind)));
        line(text, &cells);
    }
    text.push('\n');
}

fn table_2(text: &mut String, measured: &Measured, method: Method) {
    let _ = writeln!(text, "## Table 2 with `{}`\n", method.name());
    head(text, &[&["application"][..], &RATES, &["paths in base comparison"]].concat());
    let of_paper = |row: &CaseRow| row.truth.kind.is_of_paper();
    for base in &measured.bases {
        let of = |row: &CaseRow| of_paper(row) && row.truth.app == base.app;
        let mut cells = vec![base.app.clone()];
        cells.extend(rates(&sum(&measured.rows, method, PAIRS, of)));
        let alarms = base.alarms.iter().find(|(of, count, _)| *of == method && *count == PAIRS);
        cells.push(alarms.map_or("-".to_owned(), |(_, _, blamed)| blamed.len().to_string()));
        line(text, &cells);
    }
    let mut cells = vec!["all".to_owned()];
    cells.extend(rates(&sum(&measured.rows, method, PAIRS, of_paper)));
    cells.push(alarms(measured, method, PAIRS).iter().sum::<usize>().to_string());
    line(text, &cells);
    line(
        text,
        &["the paper, all", "86.67", "100", "41.16", "96.09", "-", "2.92", "8.57", "2"]
            .map(str::to_owned),
    );
    text.push('\n');
}

fn figure_5(text: &mut String, measured: &Measured) {
    text.push_str("## Figure 5: the number of pairs\n\nThe paper's injections.\n\n");
    head(
        text,
        &[&["method", "pairs", "cases"][..], &RATES, &["paths in base comparisons"]].concat(),
    );
    for method in [Method::Suspects, Method::CriticalGraph, Method::Markers, Method::SelfDifference]
    {
        for pairs in 1..=TIMELINES {
            let sum = sum(&measured.rows, method, pairs, |row| row.truth.kind.is_of_paper());
            let mut cells =
                vec![method.name().to_owned(), pairs.to_string(), sum.cases.to_string()];
            cells.extend(rates(&sum));
            cells.push(alarms(measured, method, pairs).iter().sum::<usize>().to_string());
            line(text, &cells);
        }
    }
    for (pairs, path_precision, distance) in [("1", "91", "2.43"), ("5", "97", "3.10")] {
        let cells = ["ZAM, the paper", pairs, "60", "-", "100", "-", path_precision, "-", distance];
        line(
            text,
            &[&cells[..], &["-", "-"]].concat().iter().map(|c| (*c).to_owned()).collect::<Vec<_>>(),
        );
    }
    text.push('\n');
}

fn table_3(text: &mut String, rows: &[CaseRow]) {
    let phases: Vec<_> = rows.iter().filter_map(|row| row.phases).collect();
    let ordered: usize = phases.iter().map(|phases| phases.ordered).sum();
    let by_key: usize = phases.iter().map(|phases| phases.by_key).sum();
    let all = (ordered + by_key).max(1) as f64;
    let runs = phases.len().max(1) as f64;
    text.push_str("## Table 3: which matching\n\n");
    head(text, &["matching", "uses", "per run", "%", "the paper: uses", "per run", "%"]);
    for (name, uses, paper) in [
        ("in order", ordered, ["6583", "109.72", "95.88"]),
        ("by key", by_key, ["283", "4.72", "4.12"]),
    ] {
        let mut cells = vec![
            name.to_owned(),
            uses.to_string(),
            format!("{:.1}", uses as f64 / runs),
            format!("{:.2}", uses as f64 * 100.0 / all),
        ];
        cells.extend(paper.map(str::to_owned));
        line(text, &cells);
    }
    text.push('\n');
}

fn table_5(text: &mut String, measured: &Measured) {
    text.push_str("## Table 5: what is left to look at\n\nSums over the paper's injections; nodes of the first baseline timeline of each.\n\n");
    head(
        text,
        &["application", "nodes", "in critical graphs", "%", "in suspects' paths", "%", "suspects"],
    );
    let mut all = [0usize; 4];
    for base in &measured.bases {
        let of = |row: &CaseRow| row.truth.kind.is_of_paper() && row.truth.app == base.app;
        let graph = sum(&measured.rows, Method::CriticalGraph, PAIRS, of);
        let suspects = sum(&measured.rows, Method::Suspects, PAIRS, of);
        let row = [base.nodes * graph.cases, graph.nodes, suspects.nodes, suspects.leaves];
        for (all, one) in all.iter_mut().zip(row) {
            *all += one;
        }
        line(text, &compression(&base.app, row));
    }
    line(text, &compression("all", all));
    line(text, &["the paper, all", "76824", "1794", "2.34", "-", "-", "-"].map(str::to_owned));
    text.push('\n');
}

fn compression(name: &str, [nodes, graph, paths, suspects]: [usize; 4]) -> Vec<String> {
    let share = |part: usize| format!("{:.2}", part as f64 * 100.0 / nodes.max(1) as f64);
    vec![
        name.to_owned(),
        nodes.to_string(),
        graph.to_string(),
        share(graph),
        paths.to_string(),
        share(paths),
        suspects.to_string(),
    ]
}

type OfPhases = fn(&crate::evaluate::Phases) -> f64;

fn table_6(text: &mut String, rows: &[CaseRow]) {
    text.push_str("## Table 6: times\n\nMilliseconds for three pairs.\n\n");
    head(text, &["step", "mean", "median", "90th", "max", "the paper: mean", "max"]);
    let phases: Vec<_> = rows.iter().filter_map(|row| row.phases).collect();
    let steps: [(&str, OfPhases, [&str; 2]); 4] = [
        ("reading six files", |phases| phases.read, ["0.75", "3"]),
        ("comparison and aggregation, critical graph", |phases| phases.graph, ["9187.90", "69789"]),
        ("comparison, suspects", |phases| phases.suspects, ["-", "-"]),
        ("output", |phases| phases.write, ["2.20", "4"]),
    ];
    for (name, of, paper) in steps {
        let mut times: Vec<f64> = phases.iter().map(of).collect();
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            times
                .get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1)))
                .copied()
        };
        let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
        let mut cells = vec![name.to_owned()];
        cells.extend([Some(mean), at(0.5), at(0.9), times.last().copied()].map(number));
        cells.extend(paper.map(str::to_owned));
        line(text, &cells);
    }
    text.push('\n');
}

fn bugs(text: &mut String, measured: &Measured) {
    text.push_str("## Real slowdowns (RQ5)\n\n");
    head(
        text,
        &["issue", "releases", "cause", "the paper", "method", "row of the cause", "blamed"],
    );
    for bug in BUGS {
        let Some(row) = measured.bugs.iter().find(|row| row.name == bug.name) else { continue };
        for (method, found, blamed) in &row.found {
            let shown: Vec<String> = blamed
                .iter()
                .take(3)
                .map(|name| format!("`{}`", name.replace('|', "\\|")))
                .collect();
            let more = blamed.len().saturating_sub(3);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            line(
                text,
                &[
                    bug.issue.to_owned(),
                    format!("{} → {}", bug.releases.before, bug.releases.after),
                    bug.why.to_owned(),
                    bug.paper.to_owned(),
                    method.name().to_owned(),
                    found.map_or("-".to_owned(), |row| row.to_string()),
                    format!("{}{more}", shown.join(", ")),
                ],
            );
        }
    }
    text.push('\n');
}

fn applications(text: &mut String, rows: &[CaseRow]) {
    text.push_str("## Table 1: the applications\n\n");
    head(
        text,
        &["application", "what it is", "package", "before", "after", "visit", "changed functions"],
    );
    for app in APPS {
        let names: Vec<String> = (rows.iter())
            .filter(|row| row.truth.app == app.name && row.truth.kind.is_of_paper())
            .map(|row| format!("`{}`", row.truth.function.name))
            .collect();
        line(
            text,
            &[
                app.name.to_owned(),
                app.what.to_owned(),
                app.package.to_owned(),
                app.releases.before.to_owned(),
                app.releases.after.to_owned(),
                app.visit.to_owned(),
                names.join(", "),
            ],
        );
    }
    text.push('\n');
}

/// What `suspects` got wrong, each with what it was.
fn misses(text: &mut String, measured: &Measured, seed: u64) {
    // They are those of one seed; others draw other cases.
    let mut lines = REASONS.lines();
    let is_theirs = lines.next() == Some(&*format!("Seed {seed}"));
    let reasons: BTreeMap<&str, &str> =
        lines.filter(|_| is_theirs).filter_map(|line| line.split_once(": ")).collect();
    let _ = writeln!(
        text,
        "## What went wrong\n\nEvery case in which the first suspect is not the cause, or something else is blamed, with {PAIRS} pairs.\n"
    );
    head(text, &["case", "injected", "time in it after, ms", "outcome", "also blamed", "why"]);
    let mut shown = 0;
    for row in &measured.rows {
        let Some(score) = scored(row, Method::Suspects, PAIRS) else { continue };
        if score.first_right && score.wrong.is_empty() {
            continue;
        }
        shown += 1;
        let outcome = match (score.first_right, score.right, score.on_path) {
            (true, ..) => "first",
            (_, 1.., _) => "not first",
            (_, 0, 1..) => "on the path",
            _ if score.leaves > 0 => "missed",
            _ => "nothing blamed",
        };
        let case = format!("{}/{}", row.truth.app, row.truth.case);
        let median = {
            let mut measured = row.measured.clone();
            measured.sort_by(f64::total_cmp);
            measured.get(measured.len() / 2).copied().unwrap_or(0.0)
        };
        let wrong: Vec<String> = score
            .wrong
            .iter()
            .take(4)
            .map(|wrong| format!("`{}`", wrong.replace('|', "\\|")))
            .collect();
        line(
            text,
            &[
                case.clone(),
                row.truth.what.clone(),
                format!("{median:.0}"),
                outcome.to_owned(),
                wrong.join(", "),
                reasons.get(&*case).copied().unwrap_or_default().to_owned(),
            ],
        );
    }
    if shown == 0 {
        text.push_str("\nNone.\n");
    }
    text.push_str("\n## False alarms\n\nFunctions blamed between two sets of timelines of the same release, with 3 pairs.\n\n");
    head(text, &["method", "application", "blamed"]);
    for method in Method::ALL {
        for base in &measured.bases {
            let of = base.alarms.iter().find(|(of, count, _)| *of == method && *count == PAIRS);
            let Some((_, _, blamed)) = of.filter(|(_, _, blamed)| !blamed.is_empty()) else {
                continue;
            };
            let more = blamed.len().saturating_sub(4);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let blamed: Vec<String> = blamed
                .iter()
                .take(4)
                .map(|name| format!("`{}`", name.replace('|', "\\|")))
                .collect();
            line(
                text,
                &[
                    method.name().to_owned(),
                    base.app.clone(),
                    format!("{}{more}", blamed.join(", ")),
                ],
            );
        }
    }
    text.push_str(
        "\n## The releases without any injection\n\nThe answers of `suspects`, with 3 pairs.\n\n",
    );
    head(text, &["application", "blamed"]);
    for base in &measured.bases {
        let of = base.release.iter().find(|(method, _)| *method == Method::Suspects);
        let blamed: Vec<String> = of
            .map(|(_, blamed)| blamed.iter().map(|name| format!("`{name}`")).collect())
            .unwrap_or_default();
        let blamed = if blamed.is_empty() { "nothing".to_owned() } else { blamed.join(", ") };
        line(text, &[base.app.clone(), blamed]);
    }
}
