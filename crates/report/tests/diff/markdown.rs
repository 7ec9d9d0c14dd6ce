//! Markdown: short, foldable, below the limit of a comment, and no name is markup.

use expect_test::{Expect, expect};
use perfblame_analysis::Diff;
use perfblame_report::diff_markdown;

use crate::answers;

fn written(diff: &Diff, limit: usize) -> String {
    let mut out = Vec::new();
    diff_markdown(diff, limit, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn check(diff: &Diff, expected: &Expect) {
    expected.assert_eq(&written(diff, 10));
}

#[test]
fn a_slowdown() {
    check(
        &answers::regressed(),
        &expect![[r#"
            🔴 **Slower**: 4.10 s → 6.30 s (+54 %): 87 % of the slowdown is <code>utf</code> under <code>layer</code> (new, 2 paths); 9.0 % is <code>(anonymous) in loop.js:19</code> (called more often); 3.0 % in 1 more function

            | # | function | change | share | before → after | how |
            |--:|---|--:|--:|---|---|
            | 1 | <code>utf</code> layer.js:120 | +1.92 s | 87 % | 0 s → 1.92 s | new, 2 contexts, <code>abc123</code> |
            | 2 | <code>(anonymous)</code> loop.js:19 | +200 ms | 9.0 % | 110 ms → 310 ms | called more often: 12 → 31 |
            | 3 | <code>parse</code> parse.js:3 | +66.0 ms | 3.0 % | 400 ms → 466 ms | slower |

            <details><summary>Call paths and runs</summary>

            1. <code>utf</code> layer.js:120: +1.84 s to +2.00 s, p = 0.008
               - path: <code>(root) › queryRenderedFeatures › rendered › query › layer › utf</code>
               - runs: 0 s, 0 s, 0 s → 1.88 s, 1.92 s, 1.98 s
               - modified <code>utf</code> in <code>src/layer.js:120-141</code>, commit <code>abc123</code> (Read names as UTF-8): the function itself, with a new loop
            2. <code>(anonymous)</code> loop.js:19: +192 ms to +208 ms, p = 0.008
               - path: <code>(root) › tick › (anonymous loop.js:19)</code>
               - runs: 108 ms, 110 ms, 113 ms → 304 ms, 310 ms, 319 ms
            3. <code>parse</code> parse.js:3: +63.4 ms to +68.6 ms
               - path: <code>(root) › load › parse</code>
               - runs: 392 ms, 400 ms, 412 ms → 457 ms, 466 ms, 480 ms
               - was <code>parseHeader</code> parse.js:3 before
               - matched by its callees, 80 % sure

            </details>

            <details><summary>What got faster</summary>

            | # | function | change | share | before → after | how |
            |--:|---|--:|--:|---|---|
            | 1 | <code>poll</code> loop.js:44 | −44.0 ms | 2.0 % | 44.0 ms → 0 s | gone |

            </details>

            <details><summary>Moved (not a slowdown)</summary>

            | # | function | change | share | before → after | how |
            |--:|---|--:|--:|---|---|
            | 1 | <code>read</code> io.js:30 | +56.0 ms |  | 5.00 ms → 61.0 ms | moved |

            </details>

            <details><summary>Self time by function</summary>

            | function | change | before → after |
            |---|--:|---|
            | <code>utf</code> layer.js:120 | +1.92 s | 0 s → 1.92 s |
            | <code>(anonymous)</code> loop.js:19 | +200 ms | 110 ms → 310 ms |
            | <code>(garbage collector)</code> (garbage collection) | +21.0 ms | 210 ms → 231 ms |
            | <code>poll</code> loop.js:44 | −44.0 ms | 44.0 ms → 0 s |

            31 more functions changed, +12.0 ms together.

            </details>

            <details><summary>Runtime (never blamed)</summary>

            | runtime | change | before → after |
            |---|--:|---|
            | <code>(garbage collector)</code> | +21.0 ms | 210 ms → 231 ms |
            | <code>(idle)</code> | −20.0 ms | 900 ms → 880 ms |

            </details>

            <sub>metric <code>wall</code> · 3 runs before, 3 after · +2.20 s (+2.07 s to +2.33 s) · p = 0.004 · 4 functions changed by too little to matter · threshold 40.0 ms</sub>

            > ⚠️ three runs on each side are few
        "#]],
    );
}

#[test]
fn no_difference() {
    check(
        &answers::unchanged(),
        &expect![[r#"
            ⚪ **No change**: 4.10 s → 4.20 s (+2.4 %); a slowdown of more than 3.2 % would show

            <sub>metric <code>wall</code> · 3 runs before, 3 after · +100 ms (−30.0 ms to +230 ms) · p = 0.41 · threshold 40.0 ms</sub>
        "#]],
    );
}

#[test]
fn an_improvement() {
    check(
        &answers::improved(),
        &expect![[r#"
            🟢 **Faster**: 6.31 s → 4.10 s (−35 %): 96 % of the speedup is <code>blit</code> under <code>render</code> (faster)

            | # | function | change | share | before → after | how |
            |--:|---|--:|--:|---|---|
            | 1 | <code>blit</code> render.c:88 | −2.15 s | 96 % | 2.60 s → 450 ms | faster |

            <details><summary>Call paths and runs of the improvements</summary>

            1. <code>blit</code> render.c:88: −2.24 s to −2.06 s, p = 0.008
               - path: <code>main › render › blit</code>
               - runs: 2.55 s, 2.60 s, 2.68 s → 441 ms, 450 ms, 464 ms

            </details>

            <sub>metric <code>wall</code> · 2 runs before, 3 after · −2.21 s (−2.34 s to −2.08 s) · p = 0.004 · threshold 40.0 ms</sub>
        "#]],
    );
}

#[test]
fn a_critical_graph() {
    check(
        &answers::critical_graph(),
        &expect![[r#"
            🔴 **Slower**: 400 ms → 560 ms (+40 %): 2 causes, the largest <code>utf</code> (+140 ms)

            <details><summary>Critical graph</summary>

            <pre>
              change   before    after    call (● cause)
             +160 ms   400 ms   560 ms    (root)
             +150 ms   100 ms   250 ms    ├─ queryRenderedFeatures  map.js:41
             +145 ms  60.0 ms   205 ms    │  layer  layer.js:77
             +140 ms      new   140 ms  ● │  utf  layer.js:120
            +60.0 ms  10.0 ms  70.0 ms  ● └─ tick  loop.js:5
            3 calls with no name or a one-letter name merged into their callers
            </pre>

            </details>

            <sub>metric <code>wall</code> · 1 run before, 1 after · +160 ms (+30.0 ms to +290 ms) · threshold 40.0 ms</sub>
        "#]],
    );
}

#[test]
fn ranked_paths() {
    check(
        &answers::paths(),
        &expect![[r#"
            🔴 **Slower**: 400 ms → 560 ms (+40 %): the path that changed most ends in <code>fsync</code> (+140 ms, new)

            | # | change | path |
            |--:|--:|---|
            | 1 | +140 ms | <code>main › send › fsync</code> (new) |
            | 2 | +20.0 ms | <code>main › read</code> |

            <sub>metric <code>wall</code> · 1 run before, 1 after · +160 ms (+30.0 ms to +290 ms) · p = 0.004 · threshold 40.0 ms</sub>
        "#]],
    );
}

#[test]
fn no_name_is_markup() {
    let text = written(&answers::evil(), 10);
    for markup in ["<img", "</script", "](", "|`", "*_", "\u{1b}", "\r"] {
        assert!(!text.contains(markup), "{markup} in {text}");
    }
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| 1 |")).collect();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].matches('|').count(), 7, "{}", rows[0]);
}

#[test]
fn a_comment_has_a_limit_and_says_what_it_left_out() {
    let mut many = answers::many();
    let first = many.suspects[0].clone();
    many.suspects = (1..=600)
        .map(|rank| perfblame_analysis::Suspect { rank, share: 1.0 / 600.0, ..first.clone() })
        .collect();
    many.improvements = many.suspects.clone();
    for limit in [10, 100, usize::MAX] {
        let text = written(&many, limit);
        assert!(text.len() <= 65_536, "{} at {limit}", text.len());
        let shown = text.matches("\n| ").count();
        assert!(shown >= limit.min(100), "{shown} at {limit}");
        assert!(text.contains("`perfblame diff --format json` shows all"), "{limit}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }
}

#[test]
fn stages() {
    check(
        &answers::stages(),
        &expect![[r#"
            🔴 **Slower**: 400 ms → 560 ms (+40 %): 88 % of the change is <code>utf</code>, which is new, called from <code>layer</code> (<code>src/layer.js:77-99, abc123</code>)

            | part | change | before → after | subtrees | contexts |
            |---|--:|---|--:|--:|
            | Added | +140 ms | 0 s → 140 ms | 1 | 3 |
            | Deleted | −30.0 ms | 30.0 ms → 0 s | 1 | 3 |
            | Modified | +20.0 ms | 0 s → 20.0 ms | 4 | 3 |
            | Side effects | 0 s | 5.00 ms → 5.00 ms | 2 | 6 |
            | Common tree | +30.0 ms | 365 ms → 395 ms |  | 90 |

            <details><summary>Added: calls of new methods</summary>

            | change | contexts | path | why | look at |
            |--:|--:|---|---|---|
            | +140 ms | 3 | <code>main › layer › utf</code> | new method, src/layer.js:120-141, abc123; called in line 80 | <code>layer</code> layer.js:77 (<code>src/layer.js:77-99, abc123</code>) |

            </details>

            <details><summary>Deleted: calls of deleted methods</summary>

            | change | contexts | path | why | look at |
            |--:|--:|---|---|---|
            | −30.0 ms | 3 | <code>main › layer › old&#60;b&#62;&#124;&#96;x&#96;</code> | deleted method; called in line 80 |  |

            </details>

            <details><summary>Modified: calls below a modified method, on one side only</summary>

            | change | contexts | path | why | look at |
            |--:|--:|---|---|---|
            | +20.0 ms | 3 | <code>main › layer › parse</code> | called only after, in line 80 | <code>layer</code> layer.js:77 (<code>src/layer.js:77-99, abc123</code>) |

            3 more subtrees; `perfblame diff --format json` shows more.

            </details>

            <details><summary>Side effects: calls on one side only, not below a modified method</summary>

            | change | contexts | path | why | look at |
            |--:|--:|---|---|---|
            | +5.00 ms | 3 | <code>main › tick</code> | only after, in all runs: a side effect; called in line 80 |  |
            | −5.00 ms | 3 | <code>main › gc</code> | only before, in some runs: chance; called in line 80 |  |

            </details>

            <details><summary>Common tree: the same calls at another cost</summary>

            | change | before → after | path | why | look at |
            |--:|---|---|---|---|
            | +30.0 ms | 30.0 ms → 60.0 ms | <code>main › layer</code> | modified itself; 8.0 % → 15 % of the common tree; 1,000 → 2,000 calls | <code>layer</code> layer.js:77 (<code>src/layer.js:77-99, abc123</code>) |

            </details>

            The trees score 57.1 of 100: numbers of calls overlap by 99 %, costs per call overlap by 95 %, costs overlap by 90 %, and 90 % of the contexts before and 75 % of those after are common; the score is the product. Without several runs of the same code, an overlap of 95 % counts as the same; with 1 context set aside, the overlap is 97 %.

            <sub>metric <code>wall</code> · 1 run before, 1 after · +160 ms (+30.0 ms to +290 ms) · threshold 40.0 ms</sub>
        "#]],
    );
}
