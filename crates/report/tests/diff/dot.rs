//! Comparisons as graphs.

use expect_test::{Expect, expect};
use perfblame_analysis::Diff;
use perfblame_report::diff_dot;

use crate::answers;

pub fn dot(diff: &Diff) -> String {
    let mut out = Vec::new();
    diff_dot(diff, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn check(diff: &Diff, expected: &Expect) {
    expected.assert_eq(&dot(diff));
}

#[test]
fn a_critical_graph_with_its_causes_filled() {
    check(&answers::critical_graph(), &expect![[r#""#]]);
}

#[test]
fn the_paths_to_the_suspects() {
    check(&answers::regressed(), &expect![[r#""#]]);
}

#[test]
fn ranked_paths_share_their_beginning() {
    check(&answers::paths(), &expect![[r#""#]]);
    let mut many = answers::paths();
    many.paths = (0..200).map(|_| many.paths[0].clone()).collect();
    let text = dot(&many);
    assert!(text.contains("170 paths of the least difference are left out"), "{text}");
}

#[test]
fn no_difference_is_a_graph_too() {
    check(&answers::unchanged(), &expect![[r#""#]]);
}

#[test]
fn names_cannot_end_their_string() {
    let text = dot(&answers::evil());
    let boxes = text.lines().filter(|line| line.contains(" [label=")).count();
    assert_eq!(boxes, 302, "the title, the root and a path of 300 calls");
    for line in text.lines() {
        assert!(!line.chars().any(char::is_control), "{line:?}");
        let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
        assert!(quotes.is_multiple_of(2), "{line}");
    }
}
