//! Text: on a narrow and a wide terminal, in ASCII, and what must hold for every answer.

use expect_test::{Expect, expect};
use perfblame_analysis::Diff;
use perfblame_report::{DiffLook, Look, diff_text};

use crate::answers;

fn drawn(diff: &Diff, look: Look, limit: usize) -> String {
    let mut out = Vec::new();
    diff_text(diff, DiffLook { look, limit }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn check(diff: &Diff, width: usize, expected: &Expect) {
    let look = Look { width, unicode: true, colour: false };
    expected.assert_eq(&drawn(diff, look, 10));
}

#[test]
fn a_slowdown_at_80_columns() {
    check(
        &answers::regressed(),
        80,
        &expect![[r#"
            4.10 s → 6.30 s (+54 %): 87 % of the slowdown is utf under layer (new, 2 paths);
            9.0 % is (anonymous) in loop.js:19 (called more often); 3.0 % in 1 more function

              before    3 runs, 4.08 s to 4.19 s  ⡄⡀                    old
              after     3 runs, 6.29 s to 6.31 s                     ⢰  new
              change    +2.20 s (+2.07 s to +2.33 s), p = 0.004
              metric    wall; changes under 40.0 ms are ignored

            Suspects
            #  share    change  function
            1   87 %   +1.92 s  utf  layer.js:120
               new, in 2 contexts, 0 s → 1.92 s (+1.84 s to +2.00 s), p = 0.008
               │⡆       │       ⣠│
               (root) › queryRenderedFeatures › rendered › query › layer › utf
               code: modified utf, src/layer.js:120-141, commit abc123 (Read names as
               UTF-8): the function itself, with a new loop
            2  9.0 %   +200 ms  (anonymous)  loop.js:19
               called more often: 12 → 31, 110 ms → 310 ms (+192 ms to +208 ms), p = 0.008
               │⡆       │       ⣄│
               (root) › tick › (anonymous loop.js:19)
            3  3.0 %  +66.0 ms  parse  lib/parse.js:3
               slower, 400 ms → 466 ms (+63.4 ms to +68.6 ms)  │⣀⢀      │     ⢀⢀⢀│
               (root) › load › parse
               was parseHeader before
               matched by its callees, 80 % sure

            Improvements
            #  share    change  function
            1  2.0 %  −44.0 ms  poll  loop.js:44
               gone, 44.0 ms → 0 s (−45.8 ms to −42.2 ms), p = 0.008  │       ⣠│⡆       │
               (root) › tick › poll

            Moved (not a slowdown)
            #  share    change  function
            1         +56.0 ms  read  io.js:30
               moved, 5.00 ms → 61.0 ms (+53.8 ms to +58.2 ms), p = 0.008
               │⡆       │       ⣠│
               (root) › load › read

            4 more functions changed by too little to matter, +7.00 ms together.

            Self time by function
                change   before   after  function
               +1.92 s      0 s  1.92 s  utf  layer.js:120
               +200 ms   110 ms  310 ms  (anonymous)  loop.js:19
              +21.0 ms   210 ms  231 ms  (garbage collector)  garbage collection
              −44.0 ms  44.0 ms     0 s  poll  loop.js:44
            31 more functions changed, +12.0 ms together.

            Runtime (never blamed)
              +21.0 ms  210 ms → 231 ms  (garbage collector)
              −20.0 ms  900 ms → 880 ms  (idle)

            warning: three runs on each side are few
        "#]],
    );
}

#[test]
fn a_slowdown_at_200_columns() {
    check(
        &answers::regressed(),
        200,
        &expect![[r#"
            4.10 s → 6.30 s (+54 %): 87 % of the slowdown is utf under layer (new, 2 paths); 9.0 % is (anonymous) in loop.js:19 (called more often); 3.0 % in 1 more
            function

              before    3 runs, 4.08 s to 4.19 s  ⡄⡀                    old
              after     3 runs, 6.29 s to 6.31 s                     ⢰  new
              change    +2.20 s (+2.07 s to +2.33 s), p = 0.004
              metric    wall; changes under 40.0 ms are ignored

            Suspects
            #  share    change   before   after      function
            1   87 %   +1.92 s  │⡆       │       ⣠│  utf  layer.js:120
                                                     new, in 2 contexts, 0 s → 1.92 s (+1.84 s to +2.00 s), p = 0.008
                                                     (root) › queryRenderedFeatures › rendered › query › layer › utf
                                                     code: modified utf, src/layer.js:120-141, commit abc123 (Read names as UTF-8): the function itself, with a new loop
            2  9.0 %   +200 ms  │⡆       │       ⣄│  (anonymous)  loop.js:19
                                                     called more often: 12 → 31, 110 ms → 310 ms (+192 ms to +208 ms), p = 0.008
                                                     (root) › tick › (anonymous loop.js:19)
            3  3.0 %  +66.0 ms  │⣀⢀      │     ⢀⢀⢀│  parse  lib/parse.js:3
                                                     slower, 400 ms → 466 ms (+63.4 ms to +68.6 ms)
                                                     (root) › load › parse
                                                     was parseHeader before
                                                     matched by its callees, 80 % sure

            Improvements
            #  share    change   before   after      function
            1  2.0 %  −44.0 ms  │       ⣠│⡆       │  poll  loop.js:44
                                                     gone, 44.0 ms → 0 s (−45.8 ms to −42.2 ms), p = 0.008
                                                     (root) › tick › poll

            Moved (not a slowdown)
            #  share    change   before   after      function
            1         +56.0 ms  │⡆       │       ⣠│  read  io.js:30
                                                     moved, 5.00 ms → 61.0 ms (+53.8 ms to +58.2 ms), p = 0.008
                                                     (root) › load › read

            4 more functions changed by too little to matter, +7.00 ms together.

            Self time by function
                change   before   after  function
               +1.92 s      0 s  1.92 s  utf  layer.js:120
               +200 ms   110 ms  310 ms  (anonymous)  loop.js:19
              +21.0 ms   210 ms  231 ms  (garbage collector)  garbage collection
              −44.0 ms  44.0 ms     0 s  poll  loop.js:44
            31 more functions changed, +12.0 ms together.

            Runtime (never blamed)
              +21.0 ms  210 ms → 231 ms  (garbage collector)
              −20.0 ms  900 ms → 880 ms  (idle)

            warning: three runs on each side are few
        "#]],
    );
}

#[test]
fn a_slowdown_in_ascii() {
    let look = Look { width: 80, unicode: false, colour: false };
    let text = drawn(&answers::regressed(), look, 10);
    assert!(text.is_ascii(), "{text}");
    expect![[r#"
        4.10 s -> 6.30 s (+54 %): 87 % of the slowdown is utf under layer (new, 2
        paths); 9.0 % is (anonymous) in loop.js:19 (called more often); 3.0 % in 1 more
        function

          before    3 runs, 4.08 s to 4.19 s  :.                    old
          after     3 runs, 6.29 s to 6.31 s                     3  new
          change    +2.20 s (+2.07 s to +2.33 s), p = 0.004
          metric    wall; changes under 40.0 ms are ignored

        Suspects
        #  share    change  function
        1   87 %   +1.92 s  utf  layer.js:120
           new, in 2 contexts, 0 s -> 1.92 s (+1.84 s to +2.00 s), p = 0.008
           |3       |       3|
           (root) > queryRenderedFeatures > rendered > query > layer > utf
           code: modified utf, src/layer.js:120-141, commit abc123 (Read names as
           UTF-8): the function itself, with a new loop
        2  9.0 %   +200 ms  (anonymous)  loop.js:19
           called more often: 12 -> 31, 110 ms -> 310 ms (+192 ms to +208 ms), p = 0.008
           |3       |      .:|
           (root) > tick > (anonymous loop.js:19)
        3  3.0 %  +66.0 ms  parse  lib/parse.js:3
           slower, 400 ms -> 466 ms (+63.4 ms to +68.6 ms)  |...     |     ...|
           (root) > load > parse
           was parseHeader before
           matched by its callees, 80 % sure

        Improvements
        #  share    change  function
        1  2.0 %  -44.0 ms  poll  loop.js:44
           gone, 44.0 ms -> 0 s (-45.8 ms to -42.2 ms), p = 0.008  |       3|3       |
           (root) > tick > poll

        Moved (not a slowdown)
        #  share    change  function
        1         +56.0 ms  read  io.js:30
           moved, 5.00 ms -> 61.0 ms (+53.8 ms to +58.2 ms), p = 0.008
           |3       |       3|
           (root) > load > read

        4 more functions changed by too little to matter, +7.00 ms together.

        Self time by function
            change   before   after  function
           +1.92 s      0 s  1.92 s  utf  layer.js:120
           +200 ms   110 ms  310 ms  (anonymous)  loop.js:19
          +21.0 ms   210 ms  231 ms  (garbage collector)  garbage collection
          -44.0 ms  44.0 ms     0 s  poll  loop.js:44
        31 more functions changed, +12.0 ms together.

        Runtime (never blamed)
          +21.0 ms  210 ms -> 231 ms  (garbage collector)
          -20.0 ms  900 ms -> 880 ms  (idle)

        warning: three runs on each side are few
    "#]]
    .assert_eq(&text);
}

#[test]
fn no_difference() {
    check(
        &answers::unchanged(),
        80,
        &expect![[r#"
            no change: 4.10 s → 4.20 s (+2.4 %); a slowdown of more than 3.2 % would show

              before    3 runs, 4.00 s to 4.30 s       ⡀    ⡀        ⢀  old
              after     3 runs, 3.90 s to 4.25 s  ⡀             ⢀  ⡀    new
              change    +100 ms (−30.0 ms to +230 ms), p = 0.41
              metric    wall; changes under 40.0 ms are ignored
        "#]],
    );
}

#[test]
fn an_improvement() {
    check(
        &answers::improved(),
        80,
        &expect![[r#"
            6.31 s → 4.10 s (−35 %): 96 % of the speedup is blit under render (faster)

              before    2 runs, 6.29 s to 6.31 s                     ⢠  old
              after     3 runs, 4.08 s to 4.19 s  ⡄⡀                    new
              change    −2.21 s (−2.34 s to −2.08 s), p = 0.004
              metric    wall; changes under 40.0 ms are ignored

            Improvements
            #  share   change  function
            1   96 %  −2.15 s  blit  render.c:88
               faster, 2.60 s → 450 ms (−2.24 s to −2.06 s), p = 0.008  │       ⣄│⡆       │
               main › render › blit
        "#]],
    );
}

#[test]
fn too_few_runs() {
    check(
        &answers::inconclusive(),
        80,
        &expect![[r#"
            cannot tell: 4.10 s → 4.30 s (+4.9 %) may still be noise (p = 0.21); 6 runs on
            each side would tell; best guess: render under main (slower, +160 ms)

              before    2 runs, 4.00 s to 4.10 s  ⡀     ⢀               old
              after     2 runs, 4.08 s to 4.30 s       ⡀             ⢀  new
              change    +200 ms (+70.0 ms to +330 ms), p = 0.21
              metric    wall; changes under 40.0 ms are ignored

            Best guesses
            #  share   change  function
            1   80 %  +160 ms  render  render.c:20
               slower, 900 ms → 1.06 s (+154 ms to +166 ms), p = 0.30  │⣀⢀      │     ⢀⢀⢀│
               main › render
        "#]],
    );
    check(
        &answers::one_run(),
        80,
        &expect![[r#"
            cannot tell: 4.00 s → 4.30 s (+7.5 %) with one run on each side may be noise; 3
            runs on each side would tell; the largest change is in render (+260 ms)

              before    1 run, 4.00 s  ⡀                     old/run-1.json
              after     1 run, 4.30 s                     ⢀  new/run-1.json
              change    +300 ms
              metric    wall

            Self time by function
            A guess: with one run on each side, any of these changes may be noise. Three or
            more runs on each side show which are real.
               change  before   after  function
              +260 ms  900 ms  1.16 s  render  render.c:20
        "#]],
    );
}

#[test]
fn about_the_same_overall() {
    check(
        &answers::same_overall(),
        80,
        &expect![[r#"
        About the same overall (931 ms → 878 ms), but sleep under generateElement is new
        and costs 243 ms; 296 ms were saved elsewhere

          before    3 runs, 929 ms to 950 ms                 ⣀   ⢀  old
          after     3 runs, 860 ms to 900 ms  ⡀   ⡀   ⢀             new
          change    −53.0 ms (−183 ms to +77.0 ms), p = 0.004
          metric    wall; changes under 40.0 ms are ignored

        Suspects
        #  share   change  function
        1  100 %  +243 ms  sleep
           new, 0 s → 243 ms (+233 ms to +253 ms), p = 0.008  │⡆       │       ⣠│
           (root) › generateElement › sleep
    "#]],
    );
}

#[test]
fn warnings_about_the_comparison_come_first() {
    check(
        &answers::different(),
        80,
        &expect![[r#"
        warning: these look like profiles of two different programs

        no change: 4.10 s → 4.20 s (+2.4 %); a slowdown of more than 3.2 % would show

          before    3 runs, 4.00 s to 4.30 s       ⡀    ⡀        ⢀  old
          after     3 runs, 3.90 s to 4.25 s  ⡀             ⢀  ⡀    new
          change    +100 ms (−30.0 ms to +230 ms), p = 0.41
          metric    wall; changes under 40.0 ms are ignored

        warning: something else
    "#]],
    );
}

#[test]
fn unexplained_is_a_part_of_the_change() {
    let mut diff = answers::improved();
    diff.unexplained = diff.change.median * 0.2;
    let text = drawn(&diff, Look { width: 120, unicode: true, colour: false }, 10);
    let expected =
        "Unexplained: −442 ms, 20 % of the change, is spread too thinly to name a function.";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_critical_graph() {
    check(
        &answers::critical_graph(),
        80,
        &expect![[r#"
            400 ms → 560 ms (+40 %): 2 causes, the largest utf (+140 ms)

              before    1 run, 400 ms  ⡀                     old/run-1.json
              after     1 run, 560 ms                     ⢀  new/run-1.json
              change    +160 ms (+30.0 ms to +290 ms)
              metric    wall; changes under 40.0 ms are ignored

            Critical graph
              change   before    after    call (● cause)
             +160 ms   400 ms   560 ms    (root)
             +150 ms   100 ms   250 ms    ├─ queryRenderedFeatures  map.js:41
             +145 ms  60.0 ms   205 ms    │  layer  layer.js:77
             +140 ms      new   140 ms  ● │  utf  layer.js:120
            +60.0 ms  10.0 ms  70.0 ms  ● └─ tick  loop.js:5
            3 calls with no name or a one-letter name merged into their callers
        "#]],
    );
}

#[test]
fn ranked_paths() {
    check(
        &answers::paths(),
        80,
        &expect![[r#"
            400 ms → 560 ms (+40 %): the path that changed most ends in fsync (+140 ms, new)

              before    1 run, 400 ms  ⡀                     old/run-1.json
              after     1 run, 560 ms                     ⢀  new/run-1.json
              change    +160 ms (+30.0 ms to +290 ms), p = 0.004
              metric    wall; changes under 40.0 ms are ignored

            Paths by difference
            #    change  path
            1   +140 ms  main › send › fsync
                         new; slowest: fsync 130 ms (+130 ms), send 10.0 ms (+5.00 ms), main
                         500 µs (0 s)
            2  +20.0 ms  main › read
                         slowest: read 30.0 ms (+20.0 ms), main 500 µs (0 s)

            Heat map of these paths
            1   2  1▒ 0█
            2   1  0▓
            0 marks the hottest function of a path; other numbers are distances from it.
        "#]],
    );
}

#[test]
fn what_is_folded_is_said() {
    let look = Look { width: 80, unicode: true, colour: false };
    expect![[r#"
        4.00 s → 6.00 s (+50 %): 30 % of the slowdown is
        alloc::collecti…:BTreeMap<K,V>::insert_1 under level_30 (slower); 15 % is
        alloc::collecti…:BTreeMap<K,V>::insert_2 (slower); 53 % in 12 more functions

          before    5 runs, 4.00 s  ⡇                     old
          after     5 runs, 6.00 s                     ⢸  new
          change    +2.00 s (+1.87 s to +2.13 s), p = 0.004
          metric    wall; changes under 40.0 ms are ignored

        Suspects
        #  share   change  function
        1   30 %  +600 ms  alloc::collections::btree::map::BTreeMap<K,V>::insert_1
           slower, 10.0 ms → 610 ms (+576 ms to +624 ms), p = 0.008  │⡆       │       ⣠│
           level_1 › level_2 › level_3 › level_4 › level_5 › ⋮ 17 calls › level_23
           › level_24 › level_25 › level_26 › level_27 › level_28 › level_29 › level_30
           › alloc::collections::…::map::BTreeMap<K,V>::insert_1
        2   15 %  +300 ms  alloc::collections::btree::map::BTreeMap<K,V>::insert_2
           slower, 10.0 ms → 310 ms (+288 ms to +312 ms), p = 0.008  │⡆       │       ⣠│
           level_1 › level_2 › level_3 › level_4 › level_5 › ⋮ 17 calls › level_23
           › level_24 › level_25 › level_26 › level_27 › level_28 › level_29 › level_30
           › alloc::collections::…::map::BTreeMap<K,V>::insert_2
        12 more suspects, 53 % together: --limit 0 shows all

        Unexplained: +300 ms, 15 % of the change, is spread too thinly to name a
        function.

        Calls in the middle of long paths are folded; --format json shows them all.
    "#]]
    .assert_eq(&drawn(&answers::many(), look, 2));
    let all = drawn(&answers::many(), look, usize::MAX);
    assert!(all.contains("insert_14") && !all.contains("--limit 0"));
}

#[test]
fn nothing_is_wider_than_the_terminal_or_speaks_to_it() {
    for (name, diff) in answers::all() {
        for width in [40, 60, 80, 120, 200] {
            let text = drawn(&diff, Look { width, unicode: true, colour: false }, 10);
            for line in text.lines() {
                let columns = line.chars().count();
                assert!(columns <= width, "{name} at {width}: {columns} columns: {line}");
            }
            assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{name}");
        }
    }
}

#[test]
fn colours_are_the_only_difference_they_make() {
    for (name, diff) in answers::all() {
        let look = Look { width: 100, unicode: true, colour: false };
        let plain = drawn(&diff, look, 10);
        let coloured = drawn(&diff, Look { colour: true, ..look }, 10);
        assert_ne!(plain, coloured, "{name}");
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain, "{name}");
    }
}

#[test]
fn the_example_in_the_documents_is_what_is_printed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diff.md");
    let document = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    let (_, rest) = document.split_once("```text\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let look = Look { width: 80, unicode: true, colour: false };
    let printed = drawn(&answers::regressed(), look, 10);
    assert!(printed.starts_with(example), "{printed}");
}

#[test]
fn stages() {
    check(
        &answers::stages(),
        100,
        &expect![[r#"
            400 ms → 560 ms (+40 %): 88 % of the change is utf, which is new, called from layer
            (src/layer.js:77-99, abc123)

              before    1 run, 400 ms  ⡀                     old/run-1.json
              after     1 run, 560 ms                     ⢀  new/run-1.json
              change    +160 ms (+30.0 ms to +290 ms)
              metric    wall; changes under 40.0 ms are ignored

            Where the change is
            part            change   before    after  subtrees  nodes
            Added          +140 ms      0 s   140 ms         1      3
            Deleted       −30.0 ms  30.0 ms      0 s         1      3
            Modified      +20.0 ms      0 s  20.0 ms         4      3
            Side effects       0 s  5.00 ms  5.00 ms         2      6
            Common tree   +30.0 ms   365 ms   395 ms               90

            Added: calls of new methods
            #   change  nodes  path
            1  +140 ms      3  main › layer › utf
                               new method, src/layer.js:120-141, abc123; called in line 80
                               look at layer (modified, src/layer.js:77-99, abc123)

            Deleted: calls of deleted methods
            #    change  nodes  path
            1  −30.0 ms      3  main › layer › old<b>|`x`
                                deleted method; called in line 80

            Modified: calls below a modified method, on one side only
            #    change  nodes  path
            1  +20.0 ms      3  main › layer › parse
                                called only after, in line 80
                                look at layer (modified, src/layer.js:77-99, abc123)
            3 more subtrees, 0 s together: --limit 0 shows all

            Side effects: calls on one side only, not below a modified method
            #    change  nodes  path
            1  +5.00 ms      3  main › tick
                                only after, in all runs: a side effect; called in line 80
            2  −5.00 ms      3  main › gc
                                only before, in some runs: chance; called in line 80

            Common tree: the same calls at another cost
            #    change   before    after  path
            1  +30.0 ms  30.0 ms  60.0 ms  main › layer
                                           modified itself; 8.0 % → 15 % of the common tree
                                           1,000 → 2,000 calls
                                           look at layer (modified, src/layer.js:77-99, abc123)

            The trees score 57.1 of 100: numbers of calls overlap by 99 %, costs per call overlap by 95 %, costs
            overlap by 90 %, and 90 % of the contexts before and 75 % of those after are common; the score is
            the product. Without several runs of the same code, an overlap of 95 % counts as the same; with 1
            context set aside, the overlap is 97 %.
        "#]],
    );
}
