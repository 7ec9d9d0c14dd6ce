//! Recorded cases whose causes anybody sees who looks at the runs: the answer has to be the one a person would give.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use perfblame_analysis::{
    Ask, CompareQuestion, Diff, Sides, SuspectKind, Verdict, compare, expand,
};
use perfblame_fixtures::recordings;

fn answer(case: &str) -> Option<Diff> {
    let folder = recordings("corpus-answers")?.join(case);
    let sources = Sides::of(|side| expand(&[folder.join(side.name())]).unwrap());
    let question = CompareQuestion { sources, ..CompareQuestion::default() };
    Some(compare(&question, &Ask::default()).unwrap())
}

/// The first suspect is one of `causes`, or what one of them calls.
fn blames(case: &str, causes: &[&str]) -> Option<Diff> {
    let diff = answer(case)?;
    assert_eq!(diff.verdict, Verdict::Regressed, "{case}: {:?}", diff.change);
    let first = diff.suspects.first().unwrap_or_else(|| panic!("{case}: nobody is blamed"));
    let named = |name: &str| causes.iter().any(|cause| name.starts_with(cause));
    let path: Vec<&str> = first.path.iter().map(|call| call.name.as_str()).collect();
    let caller = path.len().checked_sub(2).map(|row| path[row]);
    assert!(named(&first.function.name) || caller.is_some_and(named), "{case}: {path:?}");
    Some(diff)
}

#[test]
fn eightfold() {
    blames("eightfold", &["PyLong_FromString"]);
}

#[test]
fn twelvefold() {
    blames("twelvefold", &["xmlXPathNodeSetMerge"]);
}

#[test]
fn sixfold() {
    blames("sixfold", &["RegExp: "]);
}

#[test]
fn a_steady_new_cost() {
    let Some(diff) = blames("steady-new-cost", &["sleep"]) else { return };
    // As it was recorded: 153, 155 and 152 ms.
    let after: Vec<f64> = diff.suspects[0].runs.after.iter().map(|cost| cost / 1e6).collect();
    assert!(after.iter().all(|cost| (150.0..158.0).contains(cost)), "{after:?}");
}

#[test]
fn a_new_function_has_not_moved() {
    let Some(diff) = blames("new-function", &["scanNonBreakingSpaces"]) else { return };
    assert_eq!(diff.moved, []);
}

#[test]
fn grown_from_nothing() {
    blames("grown-from-nothing", &["insertOrAppendPlacementNode"]);
}

#[test]
fn faster_and_slower() {
    let Some(diff) = blames("faster-and-slower", &["sleep"]) else { return };
    let sleep = &diff.suspects[0].delta;
    assert!((220e6..250e6).contains(&sleep.median), "{sleep:?}");
}

/// A database server, recorded for half a second and for more than one: its threads wait for work all along.
#[test]
fn threads_without_work_are_not_to_blame() {
    let Some(diff) = blames("idle-threads", &["handler::ha_rnd_next", "rr_sequential"]) else {
        return;
    };
    for suspect in &diff.suspects {
        assert_ne!(suspect.kind, SuspectKind::Waits, "{suspect:?}");
        let path: Vec<_> = suspect.path.iter().map(|call| call.name.as_str()).collect();
        assert!(path.contains(&"sub_select"), "{path:?}");
    }
    assert_eq!(diff.improvements, []);
}
