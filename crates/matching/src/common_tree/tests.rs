//! The common trees of `[parcs]`, strict and relaxed: the worked examples of its figure 3, then the laws.
//!
//! Trees are drawn as outlines: a method, then its call site in its caller where that is known.

use std::fmt::Write as _;
use std::num::{NonZeroU32, NonZeroU64};

use crate::{
    Identity, Matching, Pair, SideTree, common_tree, match_relaxed, match_strict, matching_score,
    overlap,
};
use expect_test::{Expect, expect};
use perfblame_cct::{CallSite, Cct, Frame, Function, Grain, NodeId, Symbols};
use perfblame_fixtures::{any_samples, profile_of};
use proptest::prelude::*;

type Matcher = fn(&SideTree<'_>, &SideTree<'_>, &Identity) -> Matching;

struct Drawn {
    symbols: Symbols,
    tree: Cct,
}

impl Drawn {
    fn side(&self) -> SideTree<'_> {
        SideTree { symbols: &self.symbols, tree: &self.tree, weights: &[] }
    }

    fn text(&self, node: NodeId) -> String {
        let frame = self.symbols.frame(self.tree.frame(node));
        let site = match frame.call_site {
            Some(CallSite::Line(line, _)) => line.to_string(),
            Some(CallSite::Bytecode(index)) => format!("@{index}"),
            Some(CallSite::Address(address)) => format!("#{address}"),
            None => String::new(),
        };
        format!("{}{site}", self.symbols.name(frame.function))
    }
}

/// `name`, `name 5` (a line), `name @5` (a bytecode index) or `name #5` (an address), indented by depth.
fn tree(outline: &str) -> Drawn {
    let mut symbols = Symbols::default();
    let (mut parents, mut frames): (Vec<Option<NodeId>>, Vec<_>) = Default::default();
    let mut open: Vec<(usize, NodeId)> = Vec::new();
    for line in outline.lines().filter(|line| !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        while open.last().is_some_and(|(above, _)| *above >= indent) {
            open.pop();
        }
        let mut words = line.split_whitespace();
        let name = symbols.string(words.next().unwrap());
        let function = symbols.intern_function(Function::named(name));
        let call_site = words.next().map(|site| match site.split_at(1) {
            ("@", index) => CallSite::Bytecode(index.parse().unwrap()),
            ("#", address) => CallSite::Address(address.parse::<NonZeroU64>().unwrap()),
            _ => CallSite::Line(site.parse::<NonZeroU32>().unwrap(), None),
        });
        frames.push(symbols.intern_frame(Frame { call_site, ..Frame::of(function) }));
        parents.push(open.last().map(|(_, node)| *node));
        open.push((indent, NodeId::new(parents.len() - 1)));
    }
    Drawn { symbols, tree: Cct::from_preorder(Grain::CallSites, parents, frames) }
}

fn matched(matcher: Matcher, before: &Drawn, after: &Drawn) -> Matching {
    let (old, new) = (before.side(), after.side());
    matcher(&old, &new, &Identity::by_name(&old, &new))
}

#[track_caller]
fn check(matcher: Matcher, before: &str, after: &str, expected: &Expect) {
    let (before, after) = (tree(before), tree(after));
    let matching = matched(matcher, &before, &after);
    let lines = matching.pairs().map(|pair| match pair {
        Pair::Both(old, new) => format!("{} = {}\n", before.text(old), after.text(new)),
        Pair::OnlyBefore(node) => format!("- {}\n", before.text(node)),
        Pair::OnlyAfter(node) => format!("+ {}\n", after.text(node)),
    });
    expected.assert_eq(&lines.collect::<String>());
}

/// Figure 3: the method A was changed to call F before C; the calls of I below C are different ones.
const FIGURE_3: [&str; 2] = [
    "
    A
      B 2
        D 1
        E 3
      C 6
        H 5
        I 10",
    "
    A
      B 2
        D 1
        E 3
      F 5
        G 1
      C 8
        H 4
        I 2",
];

#[test]
fn figure_3a_strict() {
    check(
        match_strict,
        FIGURE_3[0],
        FIGURE_3[1],
        &expect![[r"
            A = A
            B2 = B2
            D1 = D1
            E3 = E3
            + F5
            + G1
            + C8
            + H4
            + I2
            - C6
            - H5
            - I10
        "]],
    );
}

#[test]
fn figure_3b_relaxed() {
    check(
        match_relaxed,
        FIGURE_3[0],
        FIGURE_3[1],
        &expect![[r"
            A = A
            B2 = B2
            D1 = D1
            E3 = E3
            + F5
            + G1
            C6 = C8
            H5 = H4
            + I2
            - I10
        "]],
    );
}

#[test]
fn a_call_on_the_wrong_side_leaves_its_partner_to_another() {
    check(
        match_relaxed,
        "A
           H 5
           I 10",
        "A
           H 4
           I 2
           I 9",
        &expect![[r"
            A = A
            H5 = H4
            + I2
            I10 = I9
        "]],
    );
}

#[test]
fn a_call_that_moved_to_the_end_costs_no_other_its_partner() {
    let expected = expect![[r"
        A = A
        X1 = X1
        Y2 = Y2
        Z3 = Z3
        + M9
        - M9
    "]];
    let (before, after) = (
        "A
           M 9
           X 1
           Y 2
           Z 3",
        "A
           X 1
           Y 2
           Z 3
           M 9",
    );
    check(match_relaxed, before, after, &expected);
}

#[test]
fn of_equal_chains_the_one_with_equal_call_sites_then_the_earliest() {
    check(
        match_relaxed,
        "
         A
           I 9
         B
           I 9",
        "
         A
           I 5
           I 9
         B
           I 1
           I 2",
        &expect![[r"
            A = A
            + I5
            I9 = I9
            B = B
            I9 = I1
            + I2
        "]],
    );
}

#[test]
fn where_call_sites_are_unknown_or_of_two_kinds_sibling_order_counts() {
    check(
        match_relaxed,
        "
         A
           H 5
           I 10
         B
           H @5
           I 10
         C
           H
           I 10",
        "
         A
           H 4
           I @2
         B
           H 4
           I 2
         C
           H 4
           I 2",
        &expect![[r"
            A = A
            H5 = H4
            I10 = I@2
            B = B
            H@5 = H4
            I10 = I2
            C = C
            H = H4
            I10 = I2
        "]],
    );
}

#[test]
fn addresses_tell_the_order_within_a_side_only() {
    check(
        match_relaxed,
        "A
           I #100
           K #200
           H #300",
        "A
           I #5100
           I #5150
           K #5200
           H #4000",
        &expect![[r"
            A = A
            I#100 = I#5100
            + I#5150
            K#200 = K#5200
            + H#4000
            - H#300
        "]],
    );
}

#[test]
fn long_lists_of_siblings_keep_their_order() {
    // 3,000 calls of 1,000 functions; every seventh is gone, and new ones stand between the others.
    let (mut before, mut after) = ("main\n".to_owned(), "main\n".to_owned());
    for call in 1..=3000 {
        let _ = writeln!(before, " f{} {call}", call % 1000);
        if call % 7 != 0 {
            let _ = writeln!(after, " f{} {}", call % 1000, call + 3);
        }
        if call % 10 == 0 {
            let _ = writeln!(after, " new{call} {}", call + 4);
        }
    }
    let (before, after) = (tree(&before), tree(&after));
    let matching = matched(match_relaxed, &before, &after);
    assert_eq!(common_tree(&matching).nodes, 1 + 3000 - 3000 / 7);
    assert_eq!(lawful(&matching, &before, &after), Ok(()));
}

#[test]
fn one_function_called_many_times_is_matched_from_both_ends() {
    let before = "main\n".to_owned() + &" f\n".repeat(20_000);
    let after = "main\n f\n g\n".to_owned() + &" f\n".repeat(20_000);
    let (before, after) = (tree(&before), tree(&after));
    let matching = matched(match_relaxed, &before, &after);
    assert_eq!(matching.pairs_count(), 20_001);
}

#[test]
fn how_much_is_in_common() {
    let (before, after) = (tree(FIGURE_3[0]), tree(FIGURE_3[1]));
    let matching = matched(match_relaxed, &before, &after);
    let common = common_tree(&matching);
    assert_eq!(common.nodes, 6);
    assert!((common.share_before - 6.0 / 7.0).abs() < 1e-12);
    assert!((common.share_after - 6.0 / 9.0).abs() < 1e-12);
    // A B D E C H (I) and A B D E (F G) C H (I): shares of 100 and of 50 in common.
    let weights = (&[10, 20, 30, 20, 10, 10, 99][..], &[5, 10, 5, 10, 70, 70, 15, 5, 70][..]);
    let overlap = overlap(&matching, weights.0, weights.1).unwrap();
    assert!((overlap - 0.80).abs() < 1e-12, "{overlap}");
    let score = matching_score(&[overlap], &common);
    assert!((score - 80.0 * 6.0 / 7.0 * 6.0 / 9.0).abs() < 1e-9, "{score}");
}

#[test]
fn nothing_in_common_has_no_overlap() {
    let (before, after) = (tree("A"), tree("B"));
    let matching = matched(match_relaxed, &before, &after);
    assert_eq!(overlap(&matching, &[1], &[1]), None);
    assert!(matching_score(&[1.0], &common_tree(&matching)).abs() < 1e-12);
    let empty = tree("");
    let common = common_tree(&matched(match_strict, &empty, &empty));
    assert_eq!((common.nodes, common.share_before, common.share_after), (0, 1.0, 1.0));
}

fn call_sites(samples: &[perfblame_fixtures::DrawnSample]) -> Drawn {
    let profile = profile_of(samples, Grain::CallSites);
    Drawn { symbols: profile.symbols, tree: profile.tree }
}

/// Sibling lists of a few functions with call sites in any order, which stacks seldom have.
fn any_siblings() -> impl Strategy<Value = String> {
    prop::collection::vec((0u8..3, 0u32..5), 0..9).prop_map(|children| {
        let mut outline = "main\n".to_owned();
        for (name, site) in children {
            let name = char::from(b'a' + name);
            let site = if site == 0 { String::new() } else { site.to_string() };
            let _ = writeln!(outline, " {name} {site}");
        }
        outline
    })
}

/// The four rules of definition 2.
fn lawful(matching: &Matching, before: &Drawn, after: &Drawn) -> Result<(), String> {
    let frame = |side: &Drawn, node| *side.symbols.frame(side.tree.frame(node));
    for node in after.tree.nodes() {
        let mut last: Option<(NodeId, NodeId)> = None;
        for child in after.tree.children(node) {
            let Some(partner) = matching.before(child) else { continue };
            let said = format!("{} = {}", before.text(partner), after.text(child));
            let names = [(before, partner), (after, child)]
                .map(|(side, node)| side.symbols.name(frame(side, node).function).to_owned());
            if names[0] != names[1] {
                return Err(format!("rule 1: {said}"));
            }
            if before.tree.parent(partner) != matching.before(node) {
                return Err(format!("rule 2: {said}"));
            }
            if let Some((old, new)) = last {
                if partner <= old {
                    return Err(format!("rule 3: {said}"));
                }
                let site = |side, node| match frame(side, node).call_site {
                    Some(CallSite::Line(line, _)) => Some(line),
                    _ => None,
                };
                let sites = (
                    site(before, old).zip(site(before, partner)),
                    site(after, new).zip(site(after, child)),
                );
                // Two calls in one line do not tell their order.
                if let (Some(one), Some(other)) = sites
                    && one.0 != one.1
                    && other.0 != other.1
                    && (one.0 < one.1) != (other.0 < other.1)
                {
                    return Err(format!("rule 4: {said}"));
                }
            }
            last = Some((partner, child));
        }
    }
    Ok(())
}

/// Length of the longest common subsequence of the roots' children.
fn longest(before: &Drawn, after: &Drawn) -> usize {
    let names = |side: &Drawn| -> Vec<String> {
        let children = side.tree.children(NodeId::new(0));
        children.map(|node| side.text(node)).collect()
    };
    let (old, new) = (names(before), names(after));
    let mut rows = vec![vec![0; new.len() + 1]; old.len() + 1];
    for (i, one) in old.iter().enumerate() {
        for (j, other) in new.iter().enumerate() {
            rows[i + 1][j + 1] =
                if one == other { rows[i][j] + 1 } else { rows[i][j + 1].max(rows[i + 1][j]) };
        }
    }
    rows[old.len()][new.len()]
}

fn mirrored(one: &Matching, other: &Matching, before: &Drawn, after: &Drawn) -> bool {
    before.tree.nodes().all(|node| one.after(node) == other.before(node))
        && after.tree.nodes().all(|node| one.before(node) == other.after(node))
}

proptest! {
    #[test]
    fn a_tree_matches_itself(samples in any_samples(), siblings in any_siblings()) {
        for drawn in [call_sites(&samples), tree(&siblings)] {
            for matcher in [match_strict as Matcher, match_relaxed] {
                let matching = matched(matcher, &drawn, &drawn);
                prop_assert!(drawn.tree.nodes().all(|node| matching.after(node) == Some(node)));
            }
        }
    }

    #[test]
    fn swapping_sides_mirrors_the_answer(
        stacks in (any_samples(), any_samples()),
        siblings in (any_siblings(), any_siblings()),
    ) {
        let siblings = (tree(&siblings.0), tree(&siblings.1));
        for (before, after) in [(call_sites(&stacks.0), call_sites(&stacks.1)), siblings] {
            for matcher in [match_strict as Matcher, match_relaxed] {
                let (there, back) = (matched(matcher, &before, &after), matched(matcher, &after, &before));
                prop_assert!(mirrored(&there, &back, &before, &after));
            }
        }
    }

    #[test]
    fn relaxed_pairs_keep_the_rules(
        stacks in (any_samples(), any_samples()),
        siblings in (any_siblings(), any_siblings()),
    ) {
        let siblings = (tree(&siblings.0), tree(&siblings.1));
        for (before, after) in [(call_sites(&stacks.0), call_sites(&stacks.1)), siblings] {
            let matching = matched(match_relaxed, &before, &after);
            prop_assert_eq!(lawful(&matching, &before, &after), Ok(()));
        }
    }

    #[test]
    fn without_call_sites_as_many_siblings_match_as_can(
        lists in (prop::collection::vec(0u8..4, 0..12), prop::collection::vec(0u8..4, 0..12)),
    ) {
        let draw = |list: &[u8]| {
            let children = list.iter().map(|name| format!(" {}\n", char::from(b'a' + name)));
            tree(&("main\n".to_owned() + &children.collect::<String>()))
        };
        let (before, after) = (draw(&lists.0), draw(&lists.1));
        let matching = matched(match_relaxed, &before, &after);
        prop_assert_eq!(matching.pairs_count(), 1 + longest(&before, &after));
    }

    #[test]
    fn overlap_is_a_share(samples in any_samples(), weights in prop::collection::vec(-5i64..50, 200)) {
        let drawn = call_sites(&samples);
        let matching = matched(match_relaxed, &drawn, &drawn);
        let same = overlap(&matching, &weights, &weights);
        prop_assert!(same.is_none_or(|same| (same - 1.0).abs() < 1e-9));
        let shifted: Vec<i64> = weights.iter().rev().copied().collect();
        let other = overlap(&matching, &weights, &shifted);
        prop_assert!(other.is_none_or(|other| (0.0..1.0 + 1e-9).contains(&other)));
    }
}
