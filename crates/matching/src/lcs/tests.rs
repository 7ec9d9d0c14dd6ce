//! The longest common subsequence against the full table.

use super::*;
use proptest::prelude::*;

fn pairs(before: &[u32], after: &[u32]) -> Option<Vec<(u32, u32)>> {
    let labels = before.iter().chain(after).max().map_or(0, |label| *label as usize + 1);
    let mut lcs = Lcs::new(labels);
    let by_name = |at_before: usize, at_after: usize| before[at_before].cmp(&after[at_after]);
    let mut pairs = Vec::new();
    let done = lcs.pair(before, after, by_name, &mut pairs);
    // What one pair of sequences leaves behind must not show in the next.
    let mut again = Vec::new();
    assert_eq!(lcs.pair(before, after, by_name, &mut again), done);
    assert_eq!(pairs, again);
    done.then_some(pairs)
}

/// The rule at the top of the module, spelled out over a whole table of lengths.
fn by_table(before: &[u32], after: &[u32]) -> Vec<(u32, u32)> {
    let common = |labels: &[u32], other: &[u32]| -> Vec<(u32, u32)> {
        let rows = (0u32..).zip(labels.iter().copied());
        rows.filter(|(_, label)| other.contains(label)).collect()
    };
    let skip = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    let (mut old, mut new) = (common(before, after), common(after, before));
    // Labels of the equal beginning do not count as something that both sides have later.
    old.retain(|(at, label)| (*at as usize) < skip || after[skip..].contains(label));
    new.retain(|(at, label)| (*at as usize) < skip || before[skip..].contains(label));
    let mut length = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            length[i][j] = if old[i].1 == new[j].1 {
                length[i + 1][j + 1] + 1
            } else {
                length[i + 1][j].max(length[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if old[i].1 == new[j].1 {
            out.push((old[i].0, new[j].0));
            (i, j) = (i + 1, j + 1);
        } else if length[i + 1][j] == length[i][j + 1] {
            if old[i].1 < new[j].1 { j += 1 } else { i += 1 }
        } else if length[i + 1][j] > length[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    out
}

#[test]
fn order_is_kept_and_strangers_are_set_aside() {
    assert_eq!(pairs(&[0, 1, 2, 3], &[0, 2, 9, 3]).unwrap(), [(0, 0), (2, 1), (3, 3)]);
    assert_eq!(pairs(&[0, 1], &[1, 0]).unwrap(), [(0, 1)], "of two heads the later name goes");
    assert_eq!(pairs(&[1, 0], &[0, 1]).unwrap(), [(1, 0)]);
    assert_eq!(pairs(&[5, 5, 5], &[5, 5]).unwrap(), [(0, 0), (1, 1)]);
    assert_eq!(pairs(&[], &[1]).unwrap(), []);
}

#[test]
fn long_sequences_that_are_near_each_other_are_matched_in_order() {
    let before: Vec<u32> = (0..200_000).collect();
    let mut after = before.clone();
    after.rotate_left(1);
    after.remove(70_000);
    let found = pairs(&before, &after).unwrap();
    assert_eq!(found.len(), 199_998);
    assert!(
        found
            .iter()
            .all(|(at_before, at_after)| before[*at_before as usize] == after[*at_after as usize])
    );
}

#[test]
fn the_width_grows_as_far_as_it_must() {
    // Distances from none to some hundred, over sequences of many words.
    for every in [2_000, 400, 40, 9, 7] {
        let before: Vec<u32> = (0..2_000).map(|number| number * 7 % 701).collect();
        let keep = |at: &u32| at % every != every - 1;
        let after: Vec<u32> =
            (0u32..).zip(&before).filter(|(at, _)| keep(at)).map(|(_, label)| *label).collect();
        let moved: Vec<u32> = (after.iter().skip(3).chain(&after[..3])).copied().collect();
        assert_eq!(pairs(&before, &moved).unwrap(), by_table(&before, &moved), "{every}");
    }
}

#[test]
fn long_sequences_in_another_order_are_too_much_work() {
    let before: Vec<u32> = (0..20_000).collect();
    let after: Vec<u32> = before.iter().rev().copied().collect();
    assert_eq!(pairs(&before, &after), None);
    assert!(pairs(&before[..5_000], &after[15_000..]).is_some());
}

fn sequences() -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
    let free = |labels: u32, most: usize| {
        let one = move || prop::collection::vec(0..labels, 0..most);
        (one(), one())
    };
    let edited = (
        prop::collection::vec(0u32..40, 0..400),
        prop::collection::vec((any::<prop::sample::Index>(), 0u32..60), 0..12),
    )
        .prop_map(|(before, edits)| {
            let mut after = before.clone();
            for (at, label) in edits {
                match label {
                    0..40 => after.insert(at.index(after.len() + 1), label),
                    _ if after.is_empty() => {}
                    _ => drop(after.remove(at.index(after.len()))),
                }
            }
            (before, after)
        });
    prop_oneof![free(4, 12), free(3, 300), free(200, 300), edited]
}

proptest! {
    #[test]
    fn the_answer_is_the_one_of_the_whole_table((before, after) in sequences()) {
        prop_assert_eq!(pairs(&before, &after).unwrap(), by_table(&before, &after));
    }

    #[test]
    fn swapping_the_sequences_mirrors_the_answer((before, after) in sequences()) {
        let mirrored: Vec<_> = pairs(&after, &before).unwrap().into_iter().map(|(a, b)| (b, a)).collect();
        prop_assert_eq!(pairs(&before, &after).unwrap(), mirrored);
    }

    #[test]
    fn a_sequence_matches_itself_whole((before, _) in sequences()) {
        let whole: Vec<_> = (0..before.len() as u32).map(|at| (at, at)).collect();
        prop_assert_eq!(pairs(&before, &before).unwrap(), whole);
    }
}
