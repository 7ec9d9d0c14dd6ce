//! Lines of drawn stacks, and laws that hold for any.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use expect_test::{Expect, expect};
use perfblame_cct::{
    Frame, FrameId, Function, Metric, Profile, ProfileBuilder, Thread, Times, Unit, coarsen,
    merge_runs,
};
use perfblame_fixtures::{DrawnSample, any_samples};
use proptest::prelude::*;

use super::*;

/// A profile of stacks, one a row: frames from the outermost on, as `function@file:line`, a `~` before those that were
/// inlined, and what the stack costs behind `=`. A word with a `#` is the thread.
fn stacks(text: &str) -> Profile {
    let mut builder = ProfileBuilder::new(Grain::Frames, Times::Drop);
    let metric = builder.metric(Metric::exact("wall", Unit::Nanoseconds));
    for row in text.lines() {
        let (stack, cost) = row.rsplit_once('=').unwrap();
        let mut thread = None;
        let mut frames = Vec::new();
        for word in stack.split_whitespace() {
            if let Some(name) = word.strip_prefix('#') {
                let name = builder.string(name);
                thread = Some(builder.thread(Thread::named(name)));
            } else {
                frames.push(frame(&mut builder, word));
            }
        }
        builder.sample(&frames, thread, metric, cost.trim().parse().unwrap());
    }
    builder.finish()
}

/// `~name@file:line`; the line can be missing, and `name@file!other:line` is a line of another file in the function.
fn frame(builder: &mut ProfileBuilder, word: &str) -> FrameId {
    let inlined = word.starts_with('~');
    let (name, place) = word.trim_start_matches('~').split_once('@').unwrap();
    let (file, line) = place.split_once(':').unwrap_or((place, "0"));
    let (file, other) = file.split_once('!').map_or((file, None), |(file, at)| (file, Some(at)));
    let name = builder.string(name);
    let (component, file) = (builder.string("app"), builder.string(file));
    let other = other.map(|file| builder.string(file));
    let function = Function { file: Some(file), ..Function::named(name).in_component(component) };
    let function = builder.function(function);
    let at = Frame::of(function).at_line(line.parse().unwrap());
    builder.frame(Frame { inlined, file: other, ..at })
}

fn loaded(profiles: Vec<Profile>) -> Loaded {
    let names = (1..=profiles.len()).map(|run| format!("run {run}")).collect();
    Loaded { names, runs: merge_runs(profiles) }
}

fn of(file: &str) -> LinesQuery {
    LinesQuery { file: file.to_owned(), ..LinesQuery::default() }
}

/// The answer as text: lines with what they cost and whom they call, then functions.
fn drawn(costs: &FileCosts) -> String {
    let FileCosts { own, inclusive, whole, .. } = costs;
    let mut out =
        format!("{}: own {own}, with calls {inclusive}, of {whole}\n", costs.files.join(" "));
    for LineCost { line, cost, callees } in &costs.lines {
        let _ = write!(out, "  {line}: {} + {}", cost.own, cost.calls);
        for CalleeAtLine { function, cost, inlined } in callees {
            let how = if *inlined { "~" } else { "" };
            let _ = write!(out, ", {how}{} {cost}", function.name);
        }
        out.push('\n');
    }
    if costs.without_line != OwnAndCalls::default() {
        let OwnAndCalls { own, calls } = costs.without_line;
        let _ = writeln!(out, "  no line: {own} + {calls}");
    }
    for row in &costs.functions {
        let _ = write!(out, "  {}", row.function.name);
        if let Some((first, last)) = row.lines {
            let _ = write!(out, " {first}-{last}");
        }
        let _ = writeln!(
            out,
            ": {} ({:.0} %), own {:.0} %",
            row.cost,
            row.share * 100.0,
            row.own_share * 100.0
        );
        for (way, calls) in [("from", &row.callers), ("to", &row.callees)] {
            for CallCost { function, cost, share, lines } in calls {
                let _ = writeln!(
                    out,
                    "    {way} {} {lines:?}: {cost} ({:.0} %)",
                    function.name,
                    share * 100.0
                );
            }
        }
        for ThreadShare { thread, cost, share } in
            row.threads.iter().filter(|row| row.thread.is_some())
        {
            let name = thread.as_ref().map_or("", |thread| &thread.name);
            let _ = writeln!(out, "    on {name}: {cost} ({:.0} %)", share * 100.0);
        }
    }
    for warning in &costs.warnings {
        let _ = writeln!(out, "  {}: {}", warning.code, warning.message);
    }
    out
}

#[expect(clippy::needless_pass_by_value, reason = "expectations are written where they are used")]
fn check_lines(text: &str, file: &str, expected: Expect) {
    expected.assert_eq(&drawn(&lines(&loaded(vec![stacks(text)]), &of(file)).unwrap()));
}

const PARSER: &str = "\
main@main.c:3 parse@parse.c:10 = 1
main@main.c:3 parse@parse.c:11 next@lex.c:5 = 4
main@main.c:3 parse@parse.c:11 next@lex.c:6 = 2
main@main.c:4 parse@parse.c:11 = 1
main@main.c:5 = 2";

#[test]
fn a_line_has_its_own_cost_and_that_of_its_calls() {
    check_lines(
        PARSER,
        "parse.c",
        expect![[r#"
        parse.c: own 2, with calls 8, of 10
          10: 1 + 0
          11: 1 + 6, next 6
          parse 10-11: 8 (80 %), own 25 %
            from main [3, 4]: 8 (100 %)
            to next [11]: 6 (75 %)
    "#]],
    );
    check_lines(
        PARSER,
        "main.c",
        expect![[r#"
        main.c: own 2, with calls 10, of 10
          3: 0 + 7, parse 7
          4: 0 + 1, parse 1
          5: 2 + 0
          main 3-5: 10 (100 %), own 20 %
            to parse [3, 4]: 8 (80 %)
    "#]],
    );
}

#[test]
fn recursion_counts_a_stack_once_per_line_and_per_function() {
    check_lines(
        "\
main@walk.c:20 walk@walk.c:8 walk@walk.c:8 walk@walk.c:9 = 5
main@walk.c:20 walk@walk.c:8 walk@walk.c:8 = 1
main@walk.c:20 walk@walk.c:8 visit@visit.c:2 walk@walk.c:8 visit@visit.c:2 = 2",
        "walk.c",
        expect![[r#"
            walk.c: own 6, with calls 8, of 8
              8: 1 + 7, walk 6, visit 2
              9: 5 + 0
              20: 0 + 8, walk 8
              walk 8-9: 8 (100 %), own 75 %
                from main [20]: 8 (100 %)
                from walk [8]: 6 (75 %)
                from visit [2]: 2 (25 %)
                to walk [8]: 6 (75 %)
                to visit [8]: 2 (25 %)
              main 20-20: 8 (100 %), own 0 %
                to walk [20]: 8 (100 %)
        "#]],
    );
}

#[test]
fn inlined_code_belongs_to_its_own_file_and_the_call_to_the_line_that_has_it() {
    let text = "\
main@main.c:3 ~add@math.h:7 ~clamp@math.h:2 = 4
main@main.c:3 ~add@math.h:7 = 1
main@main.c:9 add@math.h:7 = 1
main@main.c:3 = 2";
    check_lines(
        text,
        "math.h",
        expect![[r#"
        math.h: own 6, with calls 6, of 8
          2: 4 + 0
          7: 2 + 4, ~clamp 4
          clamp 2-2: 4 (50 %), own 100 %
            from add [7]: 4 (100 %)
          add 7-7: 6 (75 %), own 33 %
            from main [3, 9]: 6 (100 %)
            to clamp [7]: 4 (67 %)
    "#]],
    );
    check_lines(
        text,
        "main.c",
        expect![[r#"
        main.c: own 2, with calls 8, of 8
          3: 2 + 5, ~add 5
          9: 0 + 1, add 1
          main 3-9: 8 (100 %), own 25 %
            to add [3, 9]: 6 (75 %)
    "#]],
    );
}

#[test]
fn a_macro_is_a_line_of_its_file_and_no_function_of_it() {
    let text = "\
main@main.c:3 = 1
main@main.c!macros.h:40 log@log.c:2 = 3";
    check_lines(
        text,
        "macros.h",
        expect![[r#"
        macros.h: own 0, with calls 3, of 4
          40: 0 + 3, log 3
    "#]],
    );
    check_lines(
        text,
        "main.c",
        expect![[r#"
        main.c: own 1, with calls 1, of 4
          3: 1 + 0
          main 3-3: 4 (100 %), own 25 %
            to log []: 3 (75 %)
    "#]],
    );
}

#[test]
fn threads_share_a_function() {
    check_lines(
        "\
#pool-1 run@pool.c:3 work@work.c:5 = 3
#pool-2 run@pool.c:3 work@work.c:5 = 1
run@pool.c:3 = 4",
        "work.c",
        expect![[r#"
            work.c: own 4, with calls 4, of 8
              5: 4 + 0
              work 5-5: 4 (50 %), own 100 %
                from run [3]: 4 (100 %)
                on pool-1: 3 (75 %)
                on pool-2: 1 (25 %)
        "#]],
    );
}

#[test]
fn a_part_of_the_runs_has_lines_too() {
    let runs = loaded(vec![stacks(PARSER), stacks("#io main@main.c:3 parse@parse.c:12 = 8")]);
    let ask = |part: Part| lines(&runs, &LinesQuery { part, ..of("parse.c") }).unwrap();
    let whole = ask(Part::default());
    assert_eq!((whole.runs, whole.whole, whole.inclusive), (2, 18, 16));
    let io = ask(Part { thread: Some("io".to_owned()), ..Part::default() });
    let costs: Vec<_> = io.lines.iter().map(|line| (line.line, line.cost.own)).collect();
    assert_eq!((io.whole, costs), (8, vec![(12, 8)]));
    let parse = ask(Part { root: Some("parse".to_owned()), ..Part::default() });
    assert_eq!((parse.whole, parse.inclusive), (16, 16));
}

#[test]
fn what_a_profile_does_not_know_is_a_warning() {
    let profile = stacks(PARSER);
    let coarse = loaded(vec![coarsen(&profile, Grain::Functions)]);
    expect![[r#"
        parse.c: own 2, with calls 8, of 10
          no line: 2 + 6
          parse: 8 (80 %), own 25 %
            from main []: 8 (100 %)
            to next []: 6 (75 %)
          no-lines: the profile has no line numbers for this file
    "#]]
    .assert_eq(&drawn(&lines(&coarse, &of("parse.c")).unwrap()));
    // As V8 does: only the innermost frame has a line.
    check_lines(
        "\
main@app.js work@app.js:4 = 3
main@app.js work@app.js call@app.js:9 = 2",
        "/home/me/app.js",
        expect![[r#"
            app.js: own 5, with calls 5, of 5
              4: 3 + 0
              9: 2 + 0
              no line: 0 + 5
              work 4-4: 5 (100 %), own 60 %
                from main []: 5 (100 %)
                to call []: 2 (40 %)
              call 9-9: 2 (40 %), own 100 %
                from work []: 2 (100 %)
              main: 5 (100 %), own 0 %
                to work []: 5 (100 %)
              no-call-lines: the profile has lines only for the code that was running, so calls have no line
        "#]],
    );
}

#[test]
fn a_file_is_one_file_or_an_error() {
    let runs = loaded(vec![stacks("main@/a/src/lib.rs:1 work@/b/src/lib.rs:1 = 1")]);
    let error = |file: &str| lines(&runs, &of(file)).unwrap_err();
    assert_eq!(error("src/main.rs").to_string(), "the profile has no code of `src/main.rs`");
    match error("src/lib.rs") {
        LinesError::SeveralFiles { files, .. } => {
            assert_eq!(files, ["/a/src/lib.rs", "/b/src/lib.rs"]);
        }
        other => panic!("{other}"),
    }
    assert_eq!(lines(&runs, &of("/home/b/src/lib.rs")).unwrap().files, ["/b/src/lib.rs"]);
    let wrong = LinesQuery { metric: Some("calls".to_owned()), ..of("/a/src/lib.rs") };
    assert!(matches!(lines(&runs, &wrong), Err(LinesError::Show(ShowError::Metric { .. }))));
    assert!(lines(&loaded(Vec::new()), &of("lib.rs")).is_err());
}

/// Functions with an even number are in `a.c`, the others in `b.c`; every third line is inlined.
fn in_files(samples: &[DrawnSample]) -> Profile {
    let row = |sample: &DrawnSample| {
        let frame = |(function, line): &(u8, u8)| {
            let file = ["a.c", "b.c"][usize::from(function % 2)];
            let how = if *line == 2 { "~" } else { "" };
            format!("{how}f{function}@{file}:{line}")
        };
        let stack: Vec<String> = sample.stack.iter().map(frame).collect();
        format!("{} = {}", stack.join(" "), sample.value)
    };
    stacks(&samples.iter().map(row).collect::<Vec<_>>().join("\n"))
}

proptest! {
    /// Counted stack by stack, as the words say it.
    #[test]
    fn lines_are_what_counting_stacks_gives(samples in any_samples()) {
        let Ok(costs) = lines(&loaded(vec![in_files(&samples)]), &of("a.c")) else {
            prop_assert!(samples.iter().all(|sample| sample.stack.iter().all(|(function, _)| function % 2 == 1)));
            return Ok(());
        };
        let mut own: BTreeMap<u8, i64> = BTreeMap::new();
        let mut passing: BTreeMap<u8, i64> = BTreeMap::new();
        let mut calls: BTreeMap<(u8, u8), i64> = BTreeMap::new();
        let mut functions: BTreeMap<u8, i64> = BTreeMap::new();
        let mut inclusive = 0;
        for DrawnSample { stack, value, .. } in &samples {
            let here = |(function, _): &&(u8, u8)| function % 2 == 0;
            let at: BTreeSet<u8> = stack.iter().filter(here).map(|(_, line)| *line).collect();
            inclusive += if at.is_empty() { 0 } else { *value };
            for line in &at {
                *passing.entry(*line).or_default() += value;
            }
            for function in stack.iter().map(|(function, _)| *function).collect::<BTreeSet<_>>() {
                *functions.entry(function).or_default() += value;
            }
            let pairs = stack.windows(2).filter(|pair| pair[0].0 % 2 == 0 && pair[0].1 > 0);
            for pair in pairs.map(|pair| (pair[0].1, pair[1].0)).collect::<BTreeSet<_>>() {
                *calls.entry(pair).or_default() += value;
            }
            if let Some((function, line)) = stack.last() && function % 2 == 0 {
                *own.entry(*line).or_default() += value;
            }
        }
        let of_line = |map: &BTreeMap<u8, i64>, line: u32| map.get(&(line as u8)).copied().unwrap_or(0);
        let shown: BTreeSet<u32> = costs.lines.iter().map(|line| line.line).collect();
        for (line, cost) in &passing {
            prop_assert!(*line == 0 || *cost == 0 || shown.contains(&u32::from(*line)));
        }
        for LineCost { line, cost, callees } in &costs.lines {
            prop_assert_eq!(cost.own, of_line(&own, *line));
            prop_assert_eq!(cost.own + cost.calls, of_line(&passing, *line));
            for callee in callees {
                let number: u8 = callee.function.name[1..].parse().unwrap();
                prop_assert_eq!(callee.cost, calls[&(*line as u8, number)]);
            }
            // Whatever does not end at the line left it by a call.
            let called: i64 = callees.iter().map(|callee| callee.cost).sum();
            prop_assert!(called >= cost.calls);
        }
        let without = costs.without_line;
        prop_assert_eq!((without.own, without.own + without.calls), (of_line(&own, 0), of_line(&passing, 0)));
        let lines: i64 = costs.lines.iter().map(|line| line.cost.own).sum();
        prop_assert_eq!(lines + without.own, costs.own);
        prop_assert_eq!(costs.inclusive, inclusive);
        for row in &costs.functions {
            let number: u8 = row.function.name[1..].parse().unwrap();
            prop_assert_eq!((number % 2, row.cost), (0, functions[&number]));
        }
        let of_functions: i64 = costs.functions.iter().map(|row| row.own).sum();
        prop_assert_eq!(of_functions, costs.own);
    }
}
