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
    check(
        &answers::critical_graph(),
        &expect![[r#"
        digraph perfblame {
          graph [label="400 ms → 560 ms (+40 %): 2 causes, the largest utf (+140 ms)", labelloc=t];
          node [shape=box];
          n0 [label="(root)\n400 ms → 560 ms (+160 ms)", tooltip="(root)"];
          n1 [label="queryRenderedFeatures\nmap.js:41\n100 ms → 250 ms (+150 ms)", tooltip="queryRenderedFeatures\nmap.js:41"];
          n2 [label="layer\nlayer.js:77\n60.0 ms → 205 ms (+145 ms)", tooltip="layer\nlayer.js:77"];
          n3 [label="utf\nlayer.js:120\nnew, 140 ms", tooltip="utf\nlayer.js:120", style=filled, fillcolor=lightgrey];
          n4 [label="tick\nloop.js:5\n10.0 ms → 70.0 ms (+60.0 ms)", tooltip="tick\nloop.js:5", style=filled, fillcolor=lightgrey];
          n0 -> n1;
          n1 -> n2;
          n2 -> n3;
          n0 -> n4;
        }
    "#]],
    );
}

#[test]
fn the_paths_to_the_suspects() {
    check(
        &answers::regressed(),
        &expect![[r#"
            digraph perfblame {
              graph [label="4.10 s → 6.30 s (+54 %): 87 % of the slowdown is utf under layer (new, 2 paths); 9.0 % is\n(anonymous) in loop.js:19 (called more often); 3.0 % in 1 more function", labelloc=t];
              node [shape=box];
              n0 [label="(root)\n4.10 s → 6.30 s", tooltip="(root)"];
              n1 [label="queryRenderedFeatures\nmap.js:41", tooltip="queryRenderedFeatures\nmap.js:41"];
              n2 [label="rendered\nmap.js:112", tooltip="rendered\nmap.js:112"];
              n3 [label="query\nsource.js:9", tooltip="query\nsource.js:9"];
              n4 [label="layer\nlayer.js:77", tooltip="layer\nlayer.js:77"];
              n5 [label="utf\nlayer.js:120\n0 s → 1.92 s (+1.92 s)\n#1 new in 2 contexts, 87 % of the slowdown", tooltip="utf\nlayer.js:120", style=filled, fillcolor=lightgrey];
              n6 [label="tick\nloop.js:5", tooltip="tick\nloop.js:5"];
              n7 [label="(anonymous)\nloop.js:19\n110 ms → 310 ms (+200 ms)\n#2 called more often: 12 → 31, 9.0 % of the slowdown", tooltip="(anonymous)\nloop.js:19", style=filled, fillcolor=lightgrey];
              n8 [label="load\nio.js:1", tooltip="load\nio.js:1"];
              n9 [label="parse\nlib/parse.js:3\n400 ms → 466 ms (+66.0 ms)\n#3 slower, 3.0 % of the slowdown", tooltip="parse\nlib/parse.js:3", style=filled, fillcolor=lightgrey];
              n0 -> n1;
              n1 -> n2;
              n2 -> n3;
              n3 -> n4;
              n4 -> n5;
              n0 -> n6;
              n6 -> n7;
              n0 -> n8;
              n8 -> n9;
            }
        "#]],
    );
}

#[test]
fn ranked_paths_share_their_beginning() {
    check(
        &answers::paths(),
        &expect![[r#"
            digraph perfblame {
              graph [label="400 ms → 560 ms (+40 %): the path that changed most ends in fsync (+140 ms, new)\nred: after, blue: before", labelloc=t];
              node [shape=box];
              n0 [label="main\n15.5 ms → 170 ms", tooltip="main app"];
              n1 [label="send\n5.00 ms → 140 ms", tooltip="send libnet.so"];
              n2 [label="fsync\n0 s → 130 ms\nhottest of path 1", tooltip="fsync libc.so.6", style=filled, fillcolor=mistyrose];
              n3 [label="read\n10.0 ms → 30.0 ms\nhottest of path 2", tooltip="read libc.so.6", style=filled, fillcolor=mistyrose];
              n0 -> n1 [color=red, penwidth=7.39];
              n0 -> n1 [color=blue, penwidth=0.30, arrowsize=0.5];
              n1 -> n2 [color=red, penwidth=6.86];
              n0 -> n3 [color=red, penwidth=1.58];
              n0 -> n3 [color=blue, penwidth=0.53, arrowsize=0.5];
            }
        "#]],
    );
    let mut many = answers::paths();
    many.paths = (0..200).map(|_| many.paths[0].clone()).collect();
    let text = dot(&many);
    assert!(text.contains("170 paths with the smallest differences left out"), "{text}");
}

#[test]
fn no_difference_is_a_graph_too() {
    check(
        &answers::unchanged(),
        &expect![[r#"
            digraph perfblame {
              graph [label="no change: 4.10 s → 4.20 s (+2.4 %); a slowdown of more than 3.2 % would show", labelloc=t];
              node [shape=box];
              n0 [label="(root)\n4.10 s → 4.20 s", tooltip="(root)"];
            }
        "#]],
    );
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

#[test]
fn stages() {
    check(
        &answers::stages(),
        &expect![[r#"
            digraph perfblame {
              graph [label="400 ms → 560 ms (+40 %): 88 % of the change is utf, which is new, called from layer\n(src/layer.js:77-99, abc123)", labelloc=t];
              node [shape=box];
              n0 [label="(root)\n400 ms → 560 ms", tooltip="(root)"];
              n1 [label="main\napp.js:1", tooltip="main\napp.js:1"];
              n2 [label="layer\nlayer.js:77\n+30.0 ms\n30.0 ms → 60.0 ms,…0 % → 15 % of the common tree", tooltip="layer\nlayer.js:77", style=filled, fillcolor=lightgrey];
              n3 [label="utf\nlayer.js:120\n+140 ms\nnew method, src/la…called in line 80, 3 contexts", tooltip="utf\nlayer.js:120", style=filled, fillcolor=lightgrey];
              n4 [label="old<b>|`x`\nlayer.js:30\n−30.0 ms\ndeleted method; called in line 80, 3 contexts", tooltip="old<b>|`x`\nlayer.js:30", style=filled, fillcolor=lightgrey];
              n5 [label="parse\nlayer.js:140\n+20.0 ms\ncalled only after, in line 80, 3 contexts", tooltip="parse\nlayer.js:140", style=filled, fillcolor=lightgrey];
              n6 [label="tick\nloop.js:5\n+5.00 ms\nonly after, in all…called in line 80, 3 contexts", tooltip="tick\nloop.js:5", style=filled, fillcolor=lightgrey];
              n7 [label="gc\nvm\n−5.00 ms\nonly before, in so…called in line 80, 3 contexts", tooltip="gc\nvm", style=filled, fillcolor=lightgrey];
              n0 -> n1;
              n1 -> n2;
              n2 -> n3;
              n2 -> n4;
              n2 -> n5;
              n1 -> n6;
              n1 -> n7;
            }
        "#]],
    );
}
