//! What holds for any two trees and any labels.

use super::*;
use perfblame_fixtures::{DrawnSample, any_samples, profile_of};
use perfblame_matching::matching_score;
use proptest::prelude::*;

/// A tree with call sites, weights as sampled, and labels as numbers say.
fn labelled(samples: &[DrawnSample], numbers: &[u8]) -> Drawn {
    let profile = profile_of(samples, Grain::CallSites);
    let weights = profile.self_values(perfblame_cct::MetricId::new(0));
    let functions = profile.symbols.functions().len();
    let label = |row: usize| match numbers.get(row % numbers.len().max(1)) {
        Some(0 | 1) => Label::Added,
        Some(2 | 3) => Label::Deleted,
        Some(4 | 5) => Label::Modified,
        Some(6) => Label::Renamed(FunctionId::new(functions - 1 - row)),
        _ => Label::Unchanged,
    };
    let labels = (0..functions).map(label).collect();
    Drawn { symbols: profile.symbols, tree: profile.tree, weights, labels }
}

fn any_side() -> impl Strategy<Value = Drawn> {
    (any_samples(), prop::collection::vec(0u8..12, 1..8))
        .prop_map(|(samples, numbers)| labelled(&samples, &numbers))
}

fn any_order() -> impl Strategy<Value = SiblingOrder> {
    prop_oneof![Just(SiblingOrder::FirstSeen), Just(SiblingOrder::CallSite)]
}

impl std::fmt::Debug for Drawn {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let depths = self.tree.depths();
        for node in self.tree.nodes() {
            let indent = depths[node.index()] as usize;
            let function = self.side().tree.function_of(node);
            let label = self.side().label(function);
            writeln!(out, "{:indent$}{} {label:?}", "", self.text(node))?;
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn common_tree_and_excised_are_the_whole(before in any_side(), after in any_side(), order in any_order()) {
        let staged = stages(&before.side(), &after.side(), order, Wanted::default());
        for (which, side) in [(Side::Before, &before), (Side::After, &after)] {
            let excised = || staged.excised.iter().filter(|excised| excised.side == which);
            let has_partner = |node: &NodeId| staged.matching.partner(which, *node).is_some();
            let common = || side.tree.nodes().filter(has_partner);
            let nodes: usize = excised().map(|excised| excised.nodes).sum();
            prop_assert_eq!(common().count() + nodes, side.tree.len());
            let weight: i64 = common().map(|node| side.weights[node.index()]).sum();
            let cut: i64 = excised().map(|excised| excised.weight).sum();
            prop_assert_eq!(weight + cut, side.weights.iter().sum::<i64>());
            // Each node is in one part, and the parts say the same as the partners.
            let mut counted = vec![0; staged.excised.len()];
            for node in side.tree.nodes() {
                let part = staged.part_of(which, node);
                prop_assert_eq!(part.is_none(), has_partner(&node));
                if let Some(part) = part {
                    counted[part] += 1;
                    prop_assert!(side.tree.contains(staged.excised[part].root, node));
                }
            }
            for (excised, counted) in staged.excised.iter().zip(counted) {
                prop_assert!(excised.side != which || excised.nodes == counted);
            }
        }
        let common = staged.common_tree();
        prop_assert_eq!(common.nodes, staged.pairs().count());
    }

    #[test]
    fn reasons_are_what_stands_above(before in any_side(), after in any_side(), order in any_order()) {
        let staged = stages(&before.side(), &after.side(), order, Wanted::default());
        for excised in &staged.excised {
            let side = if excised.side == Side::Before { &before } else { &after };
            let label = |node| side.side().label(side.side().tree.function_of(node));
            let modified = |node: &NodeId| {
                staged.is_modified(excised.side, side.side().tree.function_of(*node))
            };
            let above: Vec<NodeId> = side.tree.ancestors(excised.root).skip(1).collect();
            match excised.reason {
                Reason::Added => prop_assert_eq!(label(excised.root), Label::Added),
                Reason::Deleted => prop_assert_eq!(label(excised.root), Label::Deleted),
                Reason::Modified => prop_assert!(above.iter().any(modified)),
                Reason::SideEffect => prop_assert!(!above.iter().any(modified)),
            }
            let candidates: Vec<_> = staged.candidates(&side.side().tree, excised).collect();
            let expected: Vec<_> = match excised.reason {
                Reason::Added | Reason::Deleted => above.into_iter().take(1).collect(),
                Reason::Modified => above.into_iter().filter(modified).collect(),
                Reason::SideEffect => Vec::new(),
            };
            prop_assert_eq!(candidates, expected);
        }
    }

    #[test]
    fn swapping_the_sides_mirrors_the_answer(before in any_side(), after in any_side(), order in any_order()) {
        let mirror = |drawn: Drawn| {
            let labels = drawn.labels.iter().map(|label| match label {
                Label::Added => Label::Deleted,
                Label::Deleted => Label::Added,
                // Which of several renamings wins is decided in the order of the functions before.
                Label::Renamed(_) => Label::Unchanged,
                other => *other,
            });
            Drawn { labels: labels.collect(), ..drawn }
        };
        let plain = |drawn: Drawn| mirror(mirror(drawn));
        let (before, after) = (plain(before), plain(after));
        let there = stages(&before.side(), &after.side(), order, Wanted::default());
        let (before, after) = (mirror(before), mirror(after));
        let back = stages(&after.side(), &before.side(), order, Wanted::default());
        let mut pairs: Vec<_> = back.pairs().map(|(old, new)| (new, old)).collect();
        pairs.sort_unstable_by_key(|pair| pair.1);
        prop_assert_eq!(there.pairs().collect::<Vec<_>>(), pairs);
        let turned = |excised: &Excised| Excised {
            side: excised.side.other(),
            reason: match excised.reason {
                Reason::Added => Reason::Deleted,
                Reason::Deleted => Reason::Added,
                other => other,
            },
            ..*excised
        };
        let mut turned: Vec<_> = back.excised.iter().map(turned).collect();
        turned.sort_by_key(|excised| (excised.side, excised.root));
        prop_assert_eq!(&there.excised, &turned);
    }

    #[test]
    fn a_tree_with_itself_is_all_in_common(side in any_side(), order in any_order(), modified in any::<bool>()) {
        let label = if modified { Label::Modified } else { Label::Unchanged };
        let side = Drawn { labels: vec![label; side.labels.len()], ..side };
        let staged = stages(&side.side(), &side.side(), order, Wanted::default());
        prop_assert_eq!(&staged.excised, &[]);
        let weights: Vec<f64> = side.weights.iter().map(|weight| *weight as f64).collect();
        let pairs = staged.pairs_of(&weights, &weights);
        let overlap = share_overlap(&pairs);
        prop_assert!(overlap.is_none_or(|overlap| overlap >= 1.0));
        let overlaps: Vec<f64> = overlap.into_iter().collect();
        prop_assert!(matching_score(&overlaps, &staged.common_tree()) >= 100.0);
        prop_assert!(match_weights(&pairs, 1.0, usize::MAX).adjusted.is_empty());
    }

    #[test]
    fn weights_are_adjusted_largest_first_until_the_threshold(
        pairs in prop::collection::vec((0u16..200, 0u16..200), 0..60),
        threshold in 0.0f64..1.0,
    ) {
        let pairs: Vec<(f64, f64)> = pairs.iter().map(|pair| (pair.0.into(), pair.1.into())).collect();
        let found = match_weights(&pairs, threshold, usize::MAX);
        let mut left: Vec<Option<(f64, f64)>> = pairs.iter().copied().map(Some).collect();
        for adjusted in &found.adjusted {
            let rest: Vec<_> = left.iter().flatten().copied().collect();
            let total = rest.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
            let apart = |pair: &(f64, f64)| (pair.0 / total.0 - pair.1 / total.1).abs();
            let most = rest.iter().map(apart).fold(0.0, f64::max);
            let taken = left[adjusted.pair].take();
            prop_assert!(taken.is_some(), "no pair is adjusted twice");
            let (taken, shares) = (taken.unwrap(), (adjusted.share_before, adjusted.share_after));
            prop_assert!((shares.0 - taken.0 / total.0).abs() < 1e-9 && (shares.1 - taken.1 / total.1).abs() < 1e-9);
            // The heap may be behind by what one side has lost more than the other.
            prop_assert!(apart(&taken) >= most - 1.0 / 32.0, "{} of {most}", apart(&taken));
        }
        let reached = found.overlap.is_none_or(|overlap| overlap >= threshold);
        let rest: Vec<_> = left.iter().flatten().copied().collect();
        let total = rest.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        prop_assert!(reached || total.0 == 0.0 || total.1 == 0.0, "{:?}", found);
        // The same the other way round.
        let swapped: Vec<(f64, f64)> = pairs.iter().map(|pair| (pair.1, pair.0)).collect();
        let back = match_weights(&swapped, threshold, usize::MAX);
        let rows = |found: &WeightMatching| found.adjusted.iter().map(|row| row.pair).collect::<Vec<_>>();
        prop_assert_eq!(rows(&found), rows(&back));
    }
}

#[test]
fn deep_trees_are_staged_without_recursion() {
    const DEPTH: usize = 100_000;
    let drawn = tree("f\ng\nh\n", "*g");
    let frames = (0..DEPTH).map(|depth| drawn.tree.frame(NodeId::new(depth % 3))).collect();
    let parents = (0..DEPTH).map(|depth| depth.checked_sub(1).map(NodeId::new)).collect();
    let tree = Cct::from_preorder(Grain::CallSites, parents, frames);
    let drawn = Drawn { tree, weights: vec![1; DEPTH], ..drawn };
    assert_eq!(
        stages(&drawn.side(), &drawn.side(), SiblingOrder::CallSite, Wanted::default()).excised,
        []
    );
}
