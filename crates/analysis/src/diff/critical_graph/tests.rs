//! The critical graph as an answer, with the fields that JSON has.

use super::*;
use crate::{Ask, Method, diff};
use expect_test::expect;
use perfblame_cct::{Grain, Profile, merge_runs};
use perfblame_fixtures::{outline, profile};

fn loaded(profiles: Vec<Profile>) -> Loaded {
    let names = (1..=profiles.len()).map(|run| format!("run {run}")).collect();
    Loaded { names, runs: merge_runs(profiles) }
}

fn compared(before: Vec<Profile>, after: Vec<Profile>, min_delta: Option<MinDelta>) -> Diff {
    let query = DiffQuery { method: Method::CriticalGraph, min_delta, ..DiffQuery::default() };
    diff(&loaded(before), &loaded(after), &query, &Ask::default()).unwrap()
}

fn drawn(diff: &Diff) -> String {
    let graph = diff.graph.as_ref().unwrap();
    let line = |node: &CriticalNode| {
        let parent = node.parent.map_or("-".to_owned(), |parent| parent.to_string());
        let component = node.function.component.as_deref().unwrap_or("-");
        let before = node.before.map_or("-".to_owned(), |before| before.to_string());
        let cause = if node.cause { " cause" } else { "" };
        format!(
            "{} {parent} {} {component} {before} {}{cause}\n",
            node.id, node.function.name, node.after
        )
    };
    let warnings = diff
        .warnings
        .iter()
        .filter(|warning| warning.code != "few-runs")
        .map(|warning| format!("{} × {}: {}\n", warning.count, warning.code, warning.message));
    let mut out: String = graph.nodes.iter().map(line).collect();
    out.extend(warnings);
    format!("{} {} pruned {}\n{out}", diff.verdict.name(), diff.threshold, graph.pruned)
}

fn web(text: &str) -> Profile {
    outline(text, Grain::Functions)
}

#[test]
fn the_graph_with_all_its_fields() {
    let before = web("
        [main]
        start@app.js 100
          x@app.js 50
            load@app.js 40
        [worker 3]
        scan@worker.js 10");
    let after = web("
        [main]
        start@app.js 260
          x@app.js 190
            load@app.js 40
            fetch@app.js 140
        [worker 4]
        scan@worker.js 90");
    let slower = compared(
        vec![before.clone(), before.clone()],
        vec![after.clone(), after, web("start@app.js 1")],
        None,
    );
    expect![[r#"
        regressed 50000000 pruned 4
        0 - (root) - 110000000 350000000
        1 0 start app.js 100000000 260000000
        2 1 fetch app.js - 140000000 cause
        3 0 worker # (thread) 10000000 90000000
        4 3 scan worker.js 10000000 90000000 cause
        1 × unpaired-runs: this method compares runs in pairs; only the first 2 of the 3 runs after have a partner, the rest were left out
    "#]].assert_eq(&drawn(&slower));
    let same = compared(vec![before.clone()], vec![before], None);
    expect![[r#"
        unchanged 50000000 pruned 2
        0 - (root) - 110000000 110000000
    "#]]
    .assert_eq(&drawn(&same));
}

#[test]
fn what_is_not_time_counts_from_a_share_of_the_total() {
    let drawing = |work: usize| {
        profile(&format!("main {}\nload {}", "main ".repeat(work), "work ".repeat(work)))
    };
    let one_percent = compared(vec![drawing(200)], vec![drawing(203)], None);
    expect![[r#"
        regressed 2.0100000000000002 pruned 0
        0 - (root) - 201 204
        1 0 main - 201 204
        2 1 work - 200 203 cause
    "#]]
    .assert_eq(&drawn(&one_percent));
    let less = compared(vec![drawing(200)], vec![drawing(202)], None);
    expect![[r#"
        unchanged 2.0100000000000002 pruned 0
        0 - (root) - 201 203
    "#]]
    .assert_eq(&drawn(&less));
    let asked = compared(vec![drawing(200)], vec![drawing(202)], Some(MinDelta::Absolute(2.0)));
    expect![[r#"
        regressed 2 pruned 0
        0 - (root) - 201 203
        1 0 main - 201 203
        2 1 work - 200 202 cause
    "#]]
    .assert_eq(&drawn(&asked));
}

#[test]
fn fractional_counts_are_those_that_users_see() {
    let counted = |decimals: u8, work: usize| {
        let mut profile = profile(&format!("{}\n{}", "main ".repeat(work), "work ".repeat(work)));
        profile.metrics[0].decimals = decimals;
        profile
    };
    // 10.0 before, 12.00 after: 2 more, where 1.5 count.
    let least = Some(MinDelta::Absolute(1.5));
    let diff = compared(vec![counted(1, 100)], vec![counted(2, 1200)], least);
    expect![[r#"
        regressed 1.5 pruned 0
        0 - (root) - 10 12
        1 0 main - 10 12
        2 1 work - 10 12 cause
    "#]]
    .assert_eq(&drawn(&diff));
}
