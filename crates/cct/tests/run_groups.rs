//! Some runs of a set: selected, grouped by label, on their own.

use expect_test::expect;
use perfblame_cct::{Grain, MetricId, Profile, RunSet, dump, merge_runs};
use perfblame_fixtures::{any_samples, draw, profile, profile_of};
use proptest::prelude::*;

fn labelled(drawing: &str, labels: &[(&str, &str)]) -> Profile {
    let mut profile = profile(drawing);
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    profile.info.labels = labels.iter().map(own).collect();
    profile
}

/// Four runs of two releases, on three hosts, one of which nobody named.
fn releases() -> RunSet {
    merge_runs(vec![
        labelled(
            "main  main
             parse draw",
            &[("host", "b"), ("release", "1.1")],
        ),
        labelled(
            "main
             parse",
            &[("host", "a"), ("release", "1.0")],
        ),
        labelled(
            "main  main
             parse parse
             .     alloc",
            &[("release", "1.1")],
        ),
        labelled(
            "main
             wait",
            &[("host", "a"), ("host", "b"), ("release", "1.0")],
        ),
    ])
}

fn check_groups(label: &str, expected: &[(Option<&str>, &[usize])]) {
    let groups = releases().group_by(label);
    let groups: Vec<_> =
        groups.iter().map(|group| (group.value.as_deref(), &*group.runs)).collect();
    assert_eq!(groups, expected);
}

#[test]
fn runs_are_grouped_by_the_values_of_a_label() {
    check_groups("release", &[(Some("1.0"), &[1, 3]), (Some("1.1"), &[0, 2])]);
}

#[test]
fn runs_without_the_label_come_last_and_several_values_are_one_group() {
    let hosts: &[(_, &[usize])] =
        &[(Some("a"), &[1]), (Some("a + b"), &[3]), (Some("b"), &[0]), (None, &[2])];
    check_groups("host", hosts);
    check_groups("branch", &[(None, &[0, 1, 2, 3])]);
    assert!(RunSet::default().group_by("host").is_empty());
}

#[test]
fn runs_are_selected_by_label_and_by_row() {
    let set = releases();
    assert_eq!(set.select(|_, run| run.label("host").any(|host| host == "b")), [0, 3]);
    assert_eq!(set.select(|row, _| row >= 2), [2, 3]);
    assert_eq!(set.select(|_, run| run.label("release").next() == Some("2.0")), [0; 0]);
}

#[test]
fn a_group_has_costs_of_its_own_in_the_tree_of_all() {
    let set = releases();
    let metric = MetricId::new(0);
    let costs = |runs: &[usize]| set.sum_of(runs).dense(metric, set.tree.len());
    // main, parse, alloc, draw, wait
    assert_eq!(costs(&[1, 3]), [0, 1, 0, 0, 1]);
    assert_eq!(costs(&[0, 2]), [0, 2, 1, 1, 0]);
    assert_eq!(costs(&[0, 1, 2, 3]), set.sum().self_values(metric));
    assert_eq!(costs(&[7]), [0; 5], "there is no such run");
}

#[test]
fn some_runs_are_a_set_of_their_own() {
    let set = releases().subset(&[3, 1]);
    assert_eq!(set.runs.len(), 2);
    expect![[r"
        main 2 0
          parse 1 1
          wait 1 1
    "]]
    .assert_eq(&draw(&set.sum()));
    expect![[r"
        main 1 0
          parse 0 0
          wait 1 1
    "]]
    .assert_eq(&draw(&set.profile(0).unwrap()));
}

#[test]
fn the_period_of_some_runs_is_the_one_they_agree_on() {
    let with = |period: Option<i64>| {
        let mut profile = profile("main");
        profile.metrics[0].period = period;
        profile
    };
    let set = merge_runs([Some(5), Some(7), Some(5), None].map(with).to_vec());
    let period = |runs: &[usize]| set.subset(runs).metrics[0].period;
    assert_eq!(period(&[0, 2]), Some(5));
    assert_eq!(period(&[0, 1]), None);
    assert_eq!(period(&[0, 3]), None);
    assert_eq!(set.metrics[0].period, None);
}

proptest! {
    #[test]
    fn a_part_of_the_runs_has_their_costs(
        runs in prop::collection::vec(any_samples(), 1..5),
        rows in prop::collection::vec(0usize..5, 0..4),
    ) {
        let profiles: Vec<_> = runs.iter().map(|samples| profile_of(samples, Grain::Functions)).collect();
        let set = merge_runs(profiles.clone());
        let part = set.subset(&rows);
        let chosen: Vec<_> = rows.iter().filter_map(|row| profiles.get(*row).cloned()).collect();
        prop_assert_eq!(part.runs.len(), chosen.len());
        let metric = MetricId::new(0);
        for (run, profile) in chosen.iter().enumerate() {
            prop_assert_eq!(part.runs[run].cells.total(metric), profile.cells.total(metric));
        }
        let again = merge_runs(chosen);
        prop_assert_eq!(part.tree.len(), again.tree.len());
        prop_assert_eq!(draw(&part.sum()), draw(&again.sum()));
        let whole: Vec<usize> = (0..set.runs.len()).collect();
        prop_assert_eq!(dump(&set.subset(&whole).sum()), dump(&set.sum()));
    }
}
