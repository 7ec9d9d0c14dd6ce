//! Changes and where they stand to what got slower.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use perfblame_cct::{Grain, merge_runs};
use perfblame_changes::{ChangeKind, FileChange, Hunk, Language};
use perfblame_fixtures::outline;

use super::*;
use crate::{Ask, DiffQuery, Loaded, diff_with_tree};

/// The functions that are in the sources, each with those it calls.
struct Drawn(&'static [(&'static str, &'static [&'static str])], Language);

impl Sources for Drawn {
    fn locate(&self, function: &FunctionView) -> Option<Located> {
        let (name, calls) = self.0.iter().find(|(name, _)| *name == function.name)?;
        let calls = calls.iter().map(|call| (*call).to_owned()).collect();
        Some(Located { definition: Definition { language: self.1, ..definition(name) }, calls })
    }
}

fn definition(name: &str) -> Definition {
    // One function a line, so that places differ.
    let line = name.bytes().fold(0, |sum: u32, byte| sum * 31 % 9_973 + u32::from(byte));
    Definition {
        name: name.to_owned(),
        file: Some("src/main.js".to_owned()),
        lines: Some((line, line)),
        language: Language::JavaScript,
        ..Definition::default()
    }
}

fn modified(name: &str, additions: &[Addition]) -> FunctionChange {
    let hunk = Hunk { old_start: 1, old_lines: 1, new_start: 1, new_lines: 2 };
    FunctionChange {
        kind: ChangeKind::Modified,
        before: Some(definition(name)),
        after: Some(definition(name)),
        other: None,
        hunks: vec![hunk],
        additions: additions.to_vec(),
        certainty: 1.0,
    }
}

fn added(name: &str) -> FunctionChange {
    FunctionChange { kind: ChangeKind::Added, before: None, ..modified(name, &[]) }
}

fn call(name: &str) -> Addition {
    Addition::Call(name.to_owned())
}

/// Both sides as outlines, three runs each of which the second and third are a little slower.
fn compared(before: &str, after: &str) -> (Diff, DiffTree) {
    let side = |text: &str| {
        let run = |factor: u64| {
            let scaled = |line: &str| match line.rsplit_once(' ') {
                Some((call, time)) if time.parse::<u64>().is_ok() => {
                    format!("{call} {}", time.parse::<u64>().unwrap() * 10 + factor)
                }
                _ => line.to_owned(),
            };
            let lines: Vec<String> = text.lines().map(scaled).collect();
            outline(&lines.join("\n"), Grain::Functions)
        };
        let names = (1..=3).map(|run| format!("run {run}")).collect();
        Loaded { names, runs: merge_runs((0..3).map(run).collect()) }
    };
    diff_with_tree(&side(before), &side(after), &DiffQuery::default(), &Ask::default()).unwrap()
}

#[track_caller]
fn check(
    answer: (Diff, DiffTree),
    sources: &'static [(&'static str, &'static [&'static str])],
    changes: &ChangeSet,
    expected: &Expect,
) {
    check_in(Language::JavaScript, answer, sources, changes, expected);
}

#[track_caller]
fn check_in(
    language: Language,
    (answer, tree): (Diff, DiffTree),
    sources: &'static [(&'static str, &'static [&'static str])],
    changes: &ChangeSet,
    expected: &Expect,
) {
    let sources = Drawn(sources, language);
    let mut changes = changes.clone();
    for change in &mut changes.functions {
        for side in [&mut change.before, &mut change.after].into_iter().flatten() {
            side.language = language;
        }
    }
    let changes = &changes;
    let commit = |_: &FunctionChange| None;
    let code = Code { changes, before: &sources, after: &sources, commit: &commit };
    let Findings { changes, attribution: found } = attribute(&answer, &tree, &code);
    let mut text =
        format!("{}, {} of {} reached\n", found.finding.name(), found.reached, found.changed);
    for (suspect, changes) in answer.suspects.iter().zip(changes) {
        writeln!(text, "{} ({})", suspect.function.name, suspect.kind.name()).unwrap();
        for change in changes {
            let (score, why) = (change.score.unwrap(), change.why.as_deref().unwrap());
            writeln!(text, "  {} {score:.2}: {why}", change.function).unwrap();
        }
    }
    expected.assert_eq(&text);
}

fn functions(changes: Vec<FunctionChange>) -> ChangeSet {
    ChangeSet { functions: changes, ..ChangeSet::default() }
}

const BEFORE: &str = "
main 100
  load 40
    parse 30
  show 50";

const SLOWER_PARSE: &str = "
main 160
  load 100
    parse 90
  show 50";

const SOURCES: &[(&str, &[&str])] = &[
    ("main", &["load", "show"]),
    ("load", &["parse", "skip"]),
    ("parse", &["next_token"]),
    ("show", &["print"]),
];

#[test]
fn the_function_itself_comes_before_its_callers_and_others_are_left_out() {
    check(
        compared(BEFORE, SLOWER_PARSE),
        SOURCES,
        &functions(vec![
            modified("main", &[]),
            modified("show", &[Addition::Loop]),
            modified("parse", &[Addition::Loop]),
        ]),
        &expect![[r#"
            explained, 3 of 3 reached
            parse (slower)
              parse 1.00: the function itself, with a new loop
              main 0.40: 2 calls above it
        "#]],
    );
}

#[test]
fn a_function_that_was_inlined_is_in_no_stack() {
    check(
        compared(BEFORE, SLOWER_PARSE),
        SOURCES,
        &functions(vec![modified("show", &[]), modified("next_token", &[Addition::Allocation])]),
        &expect![[r#"
            explained, 2 of 2 reached
            parse (slower)
              next_token 0.85: called by it and inlined, with a new allocation
        "#]],
    );
}

const CHAIN: &[(&str, &[&str])] =
    &[("main", &["load", "show"]), ("load", &["parse"]), ("parse", &["work"]), ("work", &["mix"])];

#[test]
fn functions_are_inlined_by_way_of_others() {
    // Neither `work` nor `mix` is in a stack, and there is no debug information.
    let mix = functions(vec![modified("mix", &[Addition::Loop])]);
    check_in(
        Language::C,
        compared(BEFORE, SLOWER_PARSE),
        CHAIN,
        &mix,
        &expect![[r#"
            explained, 1 of 1 reached
            parse (slower)
              mix 0.63: inlined through `work`, with a new loop
        "#]],
    );
    // Virtual machines show what they inline, so that `mix` did not run for long.
    check(
        compared(BEFORE, SLOWER_PARSE),
        CHAIN,
        &mix,
        &expect![[r#"
        not-reached, 0 of 1 reached
        parse (slower)
    "#]],
    );
}

#[test]
fn samples_in_a_function_that_was_inlined_can_count_as_the_callers() {
    // The virtual machine made `parse` a part of `load`, which is what seems to have grown.
    let after = "
main 160
  load 100
    parse 5
  show 50";
    let changes =
        functions(vec![modified("show", &[Addition::Loop]), modified("parse", &[Addition::Loop])]);
    check(
        compared(BEFORE, after),
        SOURCES,
        &changes,
        &expect![[r#"
            explained, 2 of 2 reached
            load (slower)
              parse 0.80: called below it, with a new loop
        "#]],
    );
    // Debug information of native code tells inlined functions apart.
    check_in(
        Language::C,
        compared(BEFORE, after),
        SOURCES,
        &changes,
        &expect![[r#"
        unexplained, 2 of 2 reached
        load (slower)
    "#]],
    );
}

/// `load` is called more often by what it looks like, with all that it calls; the growth is in `parse`.
fn all_of_load() -> (Diff, DiffTree) {
    let (mut answer, tree) = compared(BEFORE, SLOWER_PARSE);
    let row = tree.rows.iter().position(|row| tree.functions[row.function as usize].name == "load");
    let suspect = &mut answer.suspects[0];
    suspect.contexts = vec![row.unwrap()];
    suspect.function.name = "load".to_owned();
    (answer, tree)
}

#[test]
fn growth_below_another_changed_function_is_that_ones() {
    check(
        all_of_load(),
        SOURCES,
        &functions(vec![modified("load", &[call("log")]), modified("parse", &[Addition::Lock])]),
        &expect![[r#"
            explained, 2 of 2 reached
            load (slower)
              parse 0.90: called below it, with a new lock
        "#]],
    );
    // Unless the change is what calls it, or calls it again and again.
    check(
        all_of_load(),
        SOURCES,
        &functions(vec![modified("load", &[call("parse")]), modified("parse", &[])]),
        &expect![[r#"
            explained, 2 of 2 reached
            load (slower)
              load 1.00: the function itself, with a new call of `parse`
              parse 0.81: called below it
        "#]],
    );
    check(
        all_of_load(),
        SOURCES,
        &functions(vec![modified("load", &[Addition::Loop]), modified("parse", &[])]),
        &expect![[r#"
            explained, 2 of 2 reached
            load (slower)
              load 1.00: the function itself, with a new loop
              parse 0.81: called below it
        "#]],
    );
    // Both may be: what costs lies below, and a loop need not be around the call.
    check(
        all_of_load(),
        SOURCES,
        &functions(vec![modified("load", &[Addition::Loop]), modified("parse", &[Addition::Lock])]),
        &expect![[r#"
            explained, 2 of 2 reached
            load (slower)
              parse 0.90: called below it, with a new lock
              load 0.50: the function itself, with a new loop
        "#]],
    );
}

#[test]
fn whoever_makes_a_new_call_answers_for_it() {
    let after = "
main 160
  load 100
    parse 30
    memcpy 60
  show 50";
    check(
        compared(BEFORE, after),
        SOURCES,
        &functions(vec![
            modified("parse", &[Addition::Loop]),
            modified("load", &[call("memcpy")]),
            modified("main", &[call("log")]),
        ]),
        &expect![[r#"
            explained, 3 of 3 reached
            memcpy (new)
              load 0.95: calls it, with a new call of `memcpy`
              main 0.56: 2 calls above it, with a new call of `log`
        "#]],
    );
}

#[test]
fn a_new_function_comes_before_whoever_calls_it() {
    const WITH_CHECK: &[(&str, &[&str])] =
        &[("main", &["load"]), ("load", &["parse", "check_all"]), ("check_all", &[])];
    let after = "
main 160
  load 100
    parse 30
    check_all 60
  show 50";
    check(
        compared(BEFORE, after),
        WITH_CHECK,
        &functions(vec![modified("load", &[call("check_all")]), added("check_all")]),
        &expect![[r#"
            explained, 2 of 2 reached
            check_all (new)
              check_all 1.00: the function itself
              load 0.95: calls it, with a new call of `check_all`
        "#]],
    );
}

#[test]
fn a_change_that_the_runs_do_not_get_to_is_innocent() {
    check(
        compared(BEFORE, SLOWER_PARSE),
        SOURCES,
        &functions(vec![modified("print_help", &[Addition::Loop])]),
        &expect![[r"
            not-reached, 0 of 1 reached
            parse (slower)
        "]],
    );
}

#[test]
fn without_debug_information_nobody_knows_what_was_inlined() {
    // `next_token` may call it, and be part of `parse`: the drawn profile has names and no files.
    let deep = functions(vec![modified("read_byte", &[Addition::Loop])]);
    let expected = expect![[r"
        unknown, 1 of 1 reached
        parse (slower)
    "]];
    check_in(Language::C, compared(BEFORE, SLOWER_PARSE), SOURCES, &deep, &expected);
    // Nor where no function of the profile is in the sources.
    check(compared(BEFORE, SLOWER_PARSE), &[], &deep, &expected);
}

#[test]
fn a_change_elsewhere_explains_nothing() {
    check(
        compared(BEFORE, SLOWER_PARSE),
        SOURCES,
        &functions(vec![modified("show", &[Addition::Loop])]),
        &expect![[r"
            unexplained, 1 of 1 reached
            parse (slower)
        "]],
    );
}

#[test]
fn other_dependencies_are_candidates_when_no_function_is() {
    let file = |path: &str, kind| FileChange { path: path.to_owned(), kind, hunks: Vec::new() };
    let files = vec![file("README.md", FileKind::Other), file("Cargo.lock", FileKind::Dependency)];
    let changes = ChangeSet { files, ..ChangeSet::default() };
    check(
        compared(BEFORE, SLOWER_PARSE),
        SOURCES,
        &changes,
        &expect![[r"
            outside-of-functions, 0 of 0 reached
            parse (slower)
        "]],
    );
    check(
        compared(BEFORE, BEFORE),
        SOURCES,
        &changes,
        &expect![[r"
            nothing-to-explain, 0 of 0 reached
        "]],
    );
}

#[test]
fn names_are_compared_without_what_qualifies_them() {
    for (name, last) in [
        ("a::b::<T>::c", "c"),
        ("this.items.push", "push"),
        ("pkg.Outer$Inner.run(int)", "run"),
        ("node->next", "next"),
        ("std::map<int, A>::at(int)", "at"),
        ("collect::<Vec<_>>", "collect"),
        ("vec!", "vec"),
        ("main.(*T).Method", "Method"),
    ] {
        assert_eq!(last_part(name), last, "{name}");
    }
}
