//! The paper's ranking on small trees.

use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;

/// Nodes from an outline: name, own cost before and after; `-` where the context is not there.
fn nodes(outline: &str) -> (Vec<String>, Vec<PathNode>) {
    let (mut names, mut nodes) = (Vec::new(), Vec::new());
    let mut open: Vec<(usize, u32)> = Vec::new();
    for line in outline.lines().filter(|line| !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        while open.last().is_some_and(|(above, _)| *above >= indent) {
            open.pop();
        }
        let words: Vec<_> = line.split_whitespace().collect();
        let cost = |word: &str| word.parse().ok();
        names.push(words[0].to_owned());
        nodes.push(PathNode {
            parent: open.last().map(|(_, row)| *row),
            before: cost(words[1]),
            after: cost(words[2]),
            idle: words[0] == "(idle)",
        });
        open.push((indent, nodes.len() as u32 - 1));
    }
    (names, nodes)
}

fn rows_of(nodes: &[PathNode], leaf: u32) -> Vec<usize> {
    let above = |row: &usize| nodes[*row].parent.map(|parent| parent as usize);
    let mut rows: Vec<_> = std::iter::successors(Some(leaf as usize), above).collect();
    rows.reverse();
    rows
}

#[track_caller]
fn check(outline: &str, expected: &Expect) {
    let (names, nodes) = nodes(outline);
    let ranked = rank_paths(&nodes);
    let lines = ranked.paths.iter().map(|path| {
        let rows = rows_of(&nodes, path.leaf);
        let own: Vec<f64> = rows.iter().filter_map(|row| nodes[*row].after).collect();
        let functions = rows.iter().zip(rank_functions(&own));
        let text: Vec<_> = functions.map(|(row, rank)| format!("{}#{rank}", names[*row])).collect();
        format!("{:+} {}{}\n", path.cost, text.join(" > "), if path.new { " (new)" } else { "" })
    });
    expected.assert_eq(&lines.collect::<String>());
}

/// A program that is always busy compressing, and now also waits for a lock: compressing is costly on both sides and
/// no news.
#[test]
fn what_was_always_costly_is_no_news() {
    check(
        "main          1   1
           compress    2   2
             deflate 900 905
           save        1   1
             lock      3 400
           log         -   2",
        &expect![[r"
            +397 main#2 > save#3 > lock#1
            +5 main#3 > compress#2 > deflate#1
            +3 main#2 > log#1 (new)
        "]],
    );
}

/// Section 3.4.2: the latency before is taken as zero on the whole of a new path.
#[test]
fn a_new_path_counts_in_full() {
    check(
        "main     10 10
           parse  20 20
             utf   - 30
           draw   20 45",
        &expect![[r"
            +60 main#3 > parse#2 > utf#1 (new)
            +25 main#2 > draw#1
        "]],
    );
}

#[test]
fn a_path_that_ended_elsewhere_before_is_the_same_path() {
    check(
        "main     0  0
           parse 20 25
             old  5  -",
        &expect![[r"
            +5 main#2 > parse#1
        "]],
    );
}

#[test]
fn what_was_not_seen_and_idle_time_are_on_no_path() {
    check(
        "
         main       1 3
           allocs   0 0
           (idle)  10 9000
             poll   - 9
           faster  10 4
         (idle)     0 50",
        &expect![[r"
            -4 main#2 > faster#1
        "]],
    );
}

#[test]
fn the_first_paths_are_bounded_by_share_and_by_nodes() {
    let (_, nodes) = nodes(
        "
         a 0 5
           b 0 5
         c 0 3
         d 0 2",
    );
    let ranked = rank_paths(&nodes);
    assert_eq!(ranked.lengths, [2, 1, 1]);
    assert_eq!([0.0, 1.0, 34.0, 100.0, 900.0].map(|percent| ranked.top(percent)), [0, 1, 2, 3, 3]);
    assert_eq!(ranked.within(2, 100), 2);
    assert_eq!(ranked.within(100, 3), 2);
    assert_eq!(ranked.within(100, 1), 1);
    assert_eq!(RankedPaths::default().within(100, 1), 0);
}

#[test]
fn heat_goes_by_powers_of_ten() {
    let scale = HeatScale::of([0.0, -5.0, 1.0, 100.0, 10_000.0]);
    let heat = [-5.0, 0.0, 1.0, 100.0, 10_000.0].map(|cost| scale.heat(cost));
    assert_eq!(heat.map(|heat| (heat * 1000.0).round() as u32), [0, 0, 50, 525, 1000]);
    assert!((HeatScale::of([7.0]).heat(7.0) - 1.0).abs() < 1e-12);
    assert!(HeatScale::of([]).heat(7.0).abs() < 1e-12);
}

#[test]
fn very_deep_paths_are_walked_without_recursion() {
    let deep: Vec<_> = (0..200_000u32)
        .map(|row| PathNode {
            parent: row.checked_sub(1),
            before: Some(0.0),
            after: Some(1.0),
            idle: false,
        })
        .collect();
    let ranked = rank_paths(&deep);
    assert_eq!((ranked.paths.len(), ranked.lengths[0]), (1, 200_000));
    assert!((ranked.paths[0].cost - 200_000.0).abs() < 1e-6);
}

fn any_nodes() -> impl Strategy<Value = Vec<PathNode>> {
    let cost = || prop::option::of((0i32..50).prop_map(f64::from));
    let node = (prop::option::of(0u32..40), cost(), cost(), prop::bool::weighted(0.1));
    prop::collection::vec(node, 0..40).prop_map(|nodes| {
        let node = |(parent, before, after, idle)| PathNode { parent, before, after, idle };
        nodes.into_iter().map(node).collect()
    })
}

proptest! {
    /// Algorithm 3, word for word, over the nodes that are left.
    #[test]
    fn costs_are_those_of_the_algorithm(nodes in any_nodes()) {
        let above = |row: usize| nodes[row].parent.map(|parent| parent as usize).filter(|parent| *parent < row);
        for path in rank_paths(&nodes).paths {
            let rows: Vec<_> = std::iter::successors(Some(path.leaf as usize), |row| above(*row)).collect();
            prop_assert!(rows.iter().all(|row| nodes[*row].after.is_some() && !nodes[*row].idle));
            let after: f64 = rows.iter().filter_map(|row| nodes[*row].after).sum();
            let before: f64 = rows.iter().filter_map(|row| nodes[*row].before).sum();
            let new = nodes[path.leaf as usize].before.is_none();
            prop_assert_eq!(path.new, new);
            let cost = if new { after } else { after - before };
            prop_assert!((path.cost - cost).abs() < 1e-9);
        }
    }

    #[test]
    fn paths_are_in_order_and_end_in_different_leaves(nodes in any_nodes()) {
        let ranked = rank_paths(&nodes);
        let in_order = |one: &Path, other: &Path| {
            one.cost > other.cost || (one.cost >= other.cost && one.leaf < other.leaf)
        };
        prop_assert!(ranked.paths.is_sorted_by(in_order));
        prop_assert_eq!(ranked.paths.len(), ranked.lengths.len());
    }

    #[test]
    fn the_same_run_twice_has_no_cost(nodes in any_nodes()) {
        let same: Vec<_> = nodes.iter().map(|node| PathNode { before: node.after, ..*node }).collect();
        for path in rank_paths(&same).paths {
            prop_assert!(!path.new && path.cost.abs() < 1e-12);
        }
    }

    #[test]
    fn ranks_number_the_functions(own in prop::collection::vec(0u8..9, 0..20)) {
        let own: Vec<f64> = own.into_iter().map(f64::from).collect();
        let ranks = rank_functions(&own);
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        prop_assert!(sorted.into_iter().eq(1..=own.len()));
        for (one, place) in own.iter().zip(&ranks) {
            prop_assert!(own.iter().zip(&ranks).all(|(other, behind)| one <= other || place < behind));
        }
    }
}
