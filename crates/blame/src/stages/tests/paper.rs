//! The worked examples of `[parcs]`.

use super::*;

/// Figure 3: the method A calls F before C; the calls of I below C are different ones.
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
fn figure_3_definition_2_without_a_word_about_the_code() {
    // Rules 3 and 4: C is matched though F shifted it, I10 and I2 lie on different sides of H5 and H4.
    check(
        (FIGURE_3[0], ""),
        (FIGURE_3[1], ""),
        &expect![[r#"
        A = A
        B2 = B2
        D1 = D1
        E3 = E3
        C6 = C8
        H5 = H4
        - I10 SideEffect, nodes 1, weight 1, candidates []
        + F5 SideEffect, nodes 2, weight 2, candidates []
        + I2 SideEffect, nodes 1, weight 1, candidates []
    "#]],
    );
}

#[test]
fn figure_3_stage_1_reports_the_caller_of_an_added_method() {
    check(
        (FIGURE_3[0], ""),
        (FIGURE_3[1], "+F"),
        &expect![[r#"
        A = A
        B2 = B2
        D1 = D1
        E3 = E3
        C6 = C8
        H5 = H4
        - I10 SideEffect, nodes 1, weight 1, candidates []
        + F5 Added, nodes 2, weight 2, candidates ["A"]
        + I2 SideEffect, nodes 1, weight 1, candidates []
    "#]],
    );
}

#[test]
fn figure_3_stage_2_reports_the_modified_callers() {
    // A was changed to call F, and C to call I from elsewhere: C is nearer to I, and A the highest dominator.
    check(
        (FIGURE_3[0], "*A *C"),
        (FIGURE_3[1], "*A *C"),
        &expect![[r#"
        A = A
        B2 = B2
        D1 = D1
        E3 = E3
        C6 = C8
        H5 = H4
        - I10 Modified, nodes 1, weight 1, candidates ["C6", "A"]
        + F5 Modified, nodes 2, weight 2, candidates ["A"]
        + I2 Modified, nodes 1, weight 1, candidates ["C8", "A"]
    "#]],
    );
}

#[test]
fn section_3_2_a_deleted_method_and_an_added_one() {
    check(
        (
            "main
               run 1
                 old 1 5
                   helper 1
                 kept 2",
            "-old",
        ),
        (
            "main
               run 1
                 new 1 7
                   helper 1
                 kept 2",
            "+new",
        ),
        &expect![[r#"
            main = main
            run1 = run1
            kept2 = kept2
            - old1 Deleted, nodes 2, weight 6, candidates ["run1"]
            + new1 Added, nodes 2, weight 8, candidates ["run1"]
        "#]],
    );
}

/// Figure 6: `analyzeApplication` (19913) and `setComplete` (29744) are modified; the latter calls three methods more.
#[test]
fn figure_6_the_nearest_modified_method_comes_first() {
    check(
        (
            "main
               analyzeApplication 1
                 visit 3
                   setComplete 9
                     write 1",
            "*analyzeApplication *setComplete",
        ),
        (
            "main
               analyzeApplication 1
                 visit 3
                   setComplete 9
                     init 1
                     write 4
                     makeCrossMethod 5
                     equals 6
                       compare 1",
            "*analyzeApplication *setComplete",
        ),
        &expect![[r#"
            main = main
            analyzeApplication1 = analyzeApplication1
            visit3 = visit3
            setComplete9 = setComplete9
            write1 = write4
            + init1 Modified, nodes 1, weight 1, candidates ["setComplete9", "analyzeApplication1"]
            + makeCrossMethod5 Modified, nodes 1, weight 1, candidates ["setComplete9", "analyzeApplication1"]
            + equals6 Modified, nodes 2, weight 2, candidates ["setComplete9", "analyzeApplication1"]
        "#]],
    );
}

/// Section 4: the class initialiser of JavaVersion runs wherever the class is used first.
#[test]
fn section_4_stage_3_is_left_with_the_class_initialiser() {
    check(
        (
            "main
               one 1
                 clinit 1
               two 2",
            "",
        ),
        (
            "main
               one 1
               two 2
                 clinit 1",
            "",
        ),
        &expect![[r#"
            main = main
            one1 = one1
            two2 = two2
            - clinit1 SideEffect, nodes 1, weight 1, candidates []
            + clinit1 SideEffect, nodes 1, weight 1, candidates []
        "#]],
    );
}

/// Section 3.3: highest dominators are matched by signature and context, whatever order they were first called in.
#[test]
fn stage_2_matches_the_highest_dominators_by_context() {
    check(
        (
            "main
               listen 3
               parse 7
                 token 1
               parse 9",
            "*parse",
        ),
        (
            "main
               parse 9
               parse 7
                 token 1
                 skip 2
               listen 3",
            "*parse",
        ),
        &expect![[r#"
            main = main
            parse9 = parse9
            parse7 = parse7
            token1 = token1
            listen3 = listen3
            + skip2 Modified, nodes 1, weight 1, candidates ["parse7"]
        "#]],
    );
}

#[test]
fn an_unmatched_dominator_is_left_to_stage_3() {
    check(
        ("main\n a 1\n", ""),
        ("main\n a 1\n  m 1\n   x 1\n", "*m"),
        &expect![[r#"
        main = main
        a1 = a1
        + m1 SideEffect, nodes 2, weight 2, candidates []
    "#]],
    );
}

#[test]
fn what_stage_1_cuts_off_inside_of_another_difference_is_counted_once() {
    check(
        ("main\n a 1\n", ""),
        ("main\n a 1\n  b 1 10\n   new 1 20\n    c 1 40\n", "+new"),
        &expect![[r#"
            main = main
            a1 = a1
            + b1 SideEffect, nodes 1, weight 10, candidates []
            + new1 Added, nodes 2, weight 60, candidates ["b1"]
        "#]],
    );
}

#[test]
fn renamed_methods_are_one() {
    let (mut before, mut after) =
        (tree("main\n old 1\n  x 1\n", ""), tree("main\n new 1\n  x 1\n", ""));
    let (old, new) = (before.function("old"), after.function("new"));
    before.labels[old.index()] = Label::Renamed(new);
    let one_side =
        stages(&before.side(), &after.side(), SiblingOrder::FirstSeen, Wanted::default());
    after.labels[new.index()] = Label::Renamed(old);
    let staged = stages(&before.side(), &after.side(), SiblingOrder::FirstSeen, Wanted::default());
    for staged in [one_side, staged] {
        assert_eq!(drawn(&before, &after, &staged), "main = main\nold1 = new1\nx1 = x1\n");
    }
}

/// Figure 5 prints an overlap of 76 % for the common trees of figure 3; the figure's weights are not in the text, these
/// have the same overlap.
#[test]
fn figure_5_overlap_and_weight_matching() {
    // A B D E C H: shares of 100 and of 50.
    let before = [10.0, 20.0, 30.0, 20.0, 10.0, 10.0];
    let after = [5.0, 10.0, 3.0, 10.0, 5.0, 17.0];
    let pairs: Vec<(f64, f64)> = before.into_iter().zip(after).collect();
    let overlap = share_overlap(&pairs).unwrap();
    assert!((overlap - 0.76).abs() < 1e-12, "{overlap}");
    // H has 24 % more and D 24 % less; with both settled the others are alike.
    let found = match_weights(&pairs, 0.99, usize::MAX);
    let mut rows: Vec<usize> = found.adjusted.iter().map(|adjusted| adjusted.pair).collect();
    rows.sort_unstable();
    assert_eq!(rows, [2, 5]);
    assert!(found.overlap.unwrap() > 0.999_999, "{found:?}");
    // A threshold that is reached already leaves nothing to adjust.
    assert!(match_weights(&pairs, 0.76 - 1e-9, usize::MAX).adjusted.is_empty());
    assert_eq!(match_weights(&pairs, 1.0, 1).adjusted.len(), 1);
}

#[test]
fn one_slow_function_is_one_adjustment() {
    // All shares but one become less.
    let mut pairs = vec![(10.0, 10.0); 100];
    pairs[40].1 = 500.0;
    let found = match_weights(&pairs, 0.999, usize::MAX);
    assert_eq!(found.adjusted.len(), 1);
    assert_eq!(found.adjusted[0].pair, 40);
    assert_eq!(found.overlap, Some(1.0));
}

#[test]
fn weights_on_one_side_only_have_nothing_in_common() {
    assert_eq!(share_overlap(&[]), None);
    assert_eq!(share_overlap(&[(0.0, 0.0)]), None);
    assert_eq!(share_overlap(&[(1.0, 0.0)]), Some(0.0));
    assert_eq!(match_weights(&[(1.0, 0.0)], 0.9, 9).adjusted, []);
}
