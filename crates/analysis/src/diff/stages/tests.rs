//! Stages as an answer: what is found where, and in which words.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use perfblame_cct::{
    Frame, Function, Grain, Metric, Profile, ProfileBuilder, Times, Unit, merge_runs,
};

use super::*;
use crate::{Ask, ChangedKind, CodePlace, DiffQuery, Loaded, Method, diff};

/// Stacks as `main:3 run:7 parse x5`: a name, the line it is at, and how many samples.
fn run(stacks: &str) -> Profile {
    let mut builder = ProfileBuilder::new(Grain::CallSites, Times::Drop);
    let metric = builder.metric(Metric::sampled("samples", Unit::Count));
    for line in stacks.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (mut stack, mut value) = (Vec::new(), 1);
        for word in line.split_whitespace() {
            if let Some(number) = word.strip_prefix('x').and_then(|text| text.parse().ok()) {
                value = number;
                continue;
            }
            let (name, line) = word.split_once(':').unwrap_or((word, "0"));
            let name = builder.string(name);
            let function = builder.function(Function::named(name));
            stack.push(builder.frame(Frame::of(function).at_line(line.parse().unwrap())));
        }
        builder.sample(&stack, None, metric, value);
    }
    builder.finish()
}

fn side(runs: &[&str]) -> Loaded {
    let names = (1..=runs.len()).map(|run| format!("run {run}")).collect();
    Loaded { names, runs: merge_runs(runs.iter().map(|text| run(text)).collect()) }
}

fn changed(kind: ChangedKind, name: &str) -> ChangedFunction {
    let place = Some(CodePlace { name: name.to_owned(), ..CodePlace::default() });
    let (before, after) = match kind {
        ChangedKind::Added => (None, place),
        ChangedKind::Deleted => (place, None),
        _ => (place.clone(), place),
    };
    ChangedFunction { kind, before, after, certainty: 1.0, ..ChangedFunction::default() }
}

fn answer(before: &[&str], after: &[&str], changes: Option<Vec<ChangedFunction>>) -> Diff {
    let query = DiffQuery { method: Method::Stages, changes, ..DiffQuery::default() };
    diff(&side(before), &side(after), &query, &Ask::default()).unwrap()
}

fn text(diff: &Diff) -> String {
    let stages = diff.stages.as_ref().unwrap();
    let mut out = String::new();
    let names = |path: &[FunctionView]| {
        path.iter().map(|view| view.name.as_str()).collect::<Vec<_>>().join(" > ")
    };
    let candidates = |list: &[Candidate]| {
        list.iter().map(|row| row.function.name.clone()).collect::<Vec<_>>().join(", ")
    };
    for (name, part) in [
        ("added", &stages.added),
        ("deleted", &stages.deleted),
        ("modified", &stages.modified),
        ("side effects", &stages.side_effects),
    ] {
        let PartTotal { subtrees, nodes, before, after } = part.total;
        let _ = writeln!(out, "{name}: {subtrees} subtrees, {nodes} nodes, {before} -> {after}");
        for row in &part.subtrees {
            let StagedSubtree { rank, side, nodes, cost, reason, .. } = row;
            let _ = writeln!(
                out,
                "  {rank}. {side:?} {}: {nodes} nodes, {cost}, {}, by [{}]",
                names(&row.path),
                reason.name(),
                candidates(&row.candidates)
            );
        }
    }
    let PartTotal { nodes, before, after, .. } = stages.common;
    let _ = writeln!(
        out,
        "common: {nodes} nodes ({:.2}, {:.2}), {before} -> {after}",
        stages.share_before, stages.share_after
    );
    let _ = writeln!(out, "overlaps {:.3?}, score {:.1}", stages.overlaps, stages.score);
    let _ = writeln!(out, "threshold {:.3?}, adjusted {:.3?}", stages.threshold, stages.adjusted);
    for row in &stages.weights {
        let _ = writeln!(
            out,
            "  {}. {}: {} -> {}, by [{}]",
            row.rank,
            names(&row.path),
            row.before,
            row.after,
            candidates(&row.candidates)
        );
    }
    for warning in &diff.warnings {
        let _ = writeln!(out, "{} ({})", warning.code, warning.count);
    }
    out
}

#[track_caller]
fn check(diff: &Diff, expected: &Expect) {
    expected.assert_eq(&text(diff));
}

const BEFORE: &str = "
    main:3 read x10
    main:4 work:10 parse x20
    main:4 work:11 format:5 pad x5
    main:5 log x3";

const AFTER: &str = "
    main:3 read x10
    main:4 work:10 parse x20
    main:4 work:12 check:9 parse x8
    main:4 work:13 format:5 pad x25
    main:4 work:13 format:6 intern x4
    main:6 flush x2";

#[test]
fn each_difference_has_its_stage() {
    let changes = [
        changed(ChangedKind::Added, "check"),
        changed(ChangedKind::Modified, "work"),
        changed(ChangedKind::Modified, "format"),
        changed(ChangedKind::Deleted, "log"),
        changed(ChangedKind::Modified, "elsewhere"),
    ];
    let found = answer(&[BEFORE], &[AFTER], Some(changes.to_vec()));
    check(
        &found,
        &expect![[r#"
        added: 1 subtrees, 2 nodes, 0 -> 8
          1. After main > work > check: 2 nodes, 8, added-method, by [work]
        deleted: 1 subtrees, 1 nodes, 3 -> 0
          1. Before main > log: 1 nodes, 3, deleted-method, by [main]
        modified: 1 subtrees, 1 nodes, 0 -> 4
          1. After main > work > format > intern: 1 nodes, 4, direct-modification, by [format, work]
        side effects: 1 subtrees, 1 nodes, 0 -> 2
          1. After main > flush: 1 nodes, 2, side-effect-or-non-determinism, by []
        common: 6 nodes (0.86, 0.60), 35 -> 55
        overlaps [("total", 0.688)], score 35.4
        threshold Threshold { overlap: 0.950, runs: None }, adjusted Some(1.000)
          1. main > work > format > pad: 5 -> 25, by [format, work]
        few-runs (1)
    "#]],
    );
    assert_eq!(found.stages.as_ref().unwrap().sampled, 4);
    // Whatever both sides cost is in one part.
    let stages = found.stages.unwrap();
    let parts = [&stages.added, &stages.deleted, &stages.modified, &stages.side_effects];
    let sum = |of: fn(&PartTotal) -> f64| {
        parts.iter().map(|part| of(&part.total)).sum::<f64>() + of(&stages.common)
    };
    assert!((sum(|part| part.before) - found.before.total.median).abs() < 1e-9);
    assert!((sum(|part| part.after) - found.after.total.median).abs() < 1e-9);
}

#[test]
fn without_a_word_about_the_code_only_added_and_deleted_are_told() {
    check(
        &answer(&[BEFORE], &[AFTER], None),
        &expect![[r#"
        added: 3 subtrees, 4 nodes, 0 -> 14
          1. After main > work > check: 2 nodes, 8, added-method, by [work]
          2. After main > work > format > intern: 1 nodes, 4, added-method, by [format]
          3. After main > flush: 1 nodes, 2, added-method, by [main]
        deleted: 1 subtrees, 1 nodes, 3 -> 0
          1. Before main > log: 1 nodes, 3, deleted-method, by [main]
        modified: 0 subtrees, 0 nodes, 0 -> 0
        side effects: 0 subtrees, 0 nodes, 0 -> 0
        common: 6 nodes (0.86, 0.60), 35 -> 55
        overlaps [("total", 0.688)], score 35.4
        threshold Threshold { overlap: 0.950, runs: None }, adjusted Some(1.000)
          1. main > work > format > pad: 5 -> 25, by []
        few-runs (1)
        changes-unknown (1)
    "#]],
    );
}

#[test]
fn a_side_effect_is_in_all_runs_and_chance_in_some() {
    let after = "main:3 read x10
                 main:4 read x5";
    let other = "main:3 read x10
                 main:4 read x5
                 main:9 read x1";
    let before = "main:3 read x10";
    check(
        &answer(&[before, before], &[after, other], Some(Vec::new())),
        &expect![[r#"
        added: 0 subtrees, 0 nodes, 0 -> 0
        deleted: 0 subtrees, 0 nodes, 0 -> 0
        modified: 0 subtrees, 0 nodes, 0 -> 0
        side effects: 2 subtrees, 2 nodes, 0 -> 5.5
          1. After main > read: 1 nodes, 5, side-effect, by []
          2. After main > read: 1 nodes, 0.5, non-determinism, by []
        common: 2 nodes (1.00, 0.50), 10 -> 10
        overlaps [("total", 1.000)], score 50.0
        threshold Threshold { overlap: 1.000, runs: Some(4) }, adjusted Some(1.000)
    "#]],
    );
}

#[test]
fn the_same_runs_match_in_full() {
    let found = answer(&[BEFORE, BEFORE], &[BEFORE, BEFORE], None);
    let stages = found.stages.unwrap();
    assert!((stages.score - 100.0).abs() < 1e-9);
    assert_eq!(stages.weights, []);
    assert_eq!(stages.threshold, Threshold { overlap: 1.0, runs: Some(4) });
}

#[test]
fn the_order_of_samples_is_no_difference() {
    let mut turned: Vec<&str> = BEFORE.lines().collect();
    turned.reverse();
    let stages = answer(&[BEFORE], &[&turned.join("\n")], None).stages.unwrap();
    assert!((stages.score - 100.0).abs() < 1e-9);
}
