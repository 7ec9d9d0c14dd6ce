//! Lines of recorded programs, beside what other tools say of the same files.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use expect_test::expect;
use perfblame_analysis::{Ask, FileCosts, LineCost, LinesQuery, LoadOptions, Source, lines, load};
use perfblame_fixtures::samples;

fn asked(sample: &str, file: &str, metric: Option<&str>) -> FileCosts {
    let query = LinesQuery {
        file: file.to_owned(),
        metric: metric.map(str::to_owned),
        ..LinesQuery::default()
    };
    let options: LoadOptions = query.load_options();
    let sources = [Source::File(samples().join(sample))];
    let loaded = load(&sources, options, &Ask::default()).unwrap();
    lines(&loaded, &query).unwrap()
}

/// Line, own cost, cost with calls, in parts of `unit`.
fn table(costs: &FileCosts, unit: i64) -> Vec<(u32, i64, i64)> {
    let row = |line: &LineCost| {
        (line.line, line.cost.own / unit, (line.cost.own + line.cost.calls) / unit)
    };
    costs.lines.iter().map(row).collect()
}

/// A line each: its own cost, that of its calls, and whom it calls.
fn rows(costs: &FileCosts) -> String {
    let row = |line: &LineCost| {
        let callees = line.callees.iter().map(|callee| {
            let how = if callee.inlined { "~" } else { "" };
            format!(" {how}{}", callee.function.name)
        });
        let callees: String = callees.collect();
        format!("{}: {} + {}{callees}\n", line.line, line.cost.own, line.cost.calls)
    };
    costs.lines.iter().map(row).collect()
}

/// Flat and cumulative milliseconds of `go tool pprof -top -lines -nodefraction=0` (Go 1.26) on the same files.
#[test]
fn a_go_program_has_the_lines_that_pprof_gives_it() {
    let sample = "pprof/google-report-sample.cpu.pb.gz";
    let file = "/home/me/pprof/internal/report/testdata/sample/sample.go";
    let costs = asked(sample, file, Some("cpu"));
    let expected = [(26, 0, 1760), (32, 0, 130), (35, 50, 50), (36, 50, 1420), (37, 50, 160)];
    assert_eq!(table(&costs, 1_000_000), expected);
    let inlined = asked(sample, "math/abs.go", Some("cpu"));
    assert_eq!(table(&inlined, 1_000_000), [(16, 100, 100), (19, 10, 10)]);
    let caller = costs.lines.iter().find(|line| line.line == 37).unwrap();
    let abs: Vec<_> = (caller.callees.iter())
        .map(|callee| (&*callee.function.name, callee.cost / 1_000_000, callee.inlined))
        .collect();
    assert_eq!(abs, [("math.Abs", 110, true)]);
    let simple = asked("pprof/speedscope-simple.prof", "programs/go/simple.go", Some("cpu"));
    let expected = [
        (11, 480, 480),
        (18, 390, 390),
        (25, 220, 220),
        (28, 0, 220),
        (29, 0, 140),
        (34, 270, 270),
        (48, 0, 260),
        (49, 0, 250),
        (50, 0, 580),
        (51, 0, 270),
    ];
    assert_eq!(table(&simple, 1_000_000), expected);
}

/// `tower` calls itself at line 12, and `mix` is inlined into `leaf` and `tower`.
#[test]
fn a_c_program_with_recursion_and_inlined_code() {
    let costs = asked("perf-data/tower.perf.data.gz", "tower.c", None);
    expect![[r#"
        4: 12000000 + 0
        8: 8000000 + 12000000 ~mix
        12: 0 + 20000000 leaf tower
        16: 0 + 20000000 tower
        25: 0 + 20000000 main_loop
    "#]]
    .assert_eq(&rows(&costs));
    let own: i64 = costs.lines.iter().map(|line| line.cost.own).sum();
    assert_eq!(own + costs.without_line.own, costs.own);
}

#[test]
fn java_knows_files_by_their_classes() {
    let costs = asked("jfr/jdk21.jfr.gz", "/home/me/src/main/java/Busy.java", None);
    assert!(costs.files.iter().all(|class| class == "Busy" || class.starts_with("Busy$$Lambda")));
    expect![[r#"
        13: 8 + 0 Busy.fib
        14: 0 + 3 Busy.fib Busy.deep
        17: 0 + 5 java.lang.invoke.Invokers$Holder.linkToTargetMethod
        20: 0 + 7 Busy.names java.util.stream.IntPipeline.sum
        32: 0 + 1 java.lang.invoke.MethodHandleNatives.linkCallSite
        33: 0 + 15 Busy$$Lambda.run
        43: 0 + 6 Busy.fib Busy.start
        44: 0 + 3 Busy.deep
    "#]]
    .assert_eq(&rows(&costs));
}

/// Chrome writes the line of each sample, and not at which line a caller was.
#[test]
fn scripts_have_lines_where_they_were_running() {
    let costs = asked("chrome-trace/chrome141-no-arg-data.json.gz", "example-3.js", None);
    expect![[r#"
        128: 1200000 + 0
    "#]]
    .assert_eq(&rows(&costs));
    assert!(costs.warnings.iter().any(|warning| warning.code == "no-call-lines"));
}

/// V8's own files count the ticks of a line and do not say which samples they are.
#[test]
fn functions_have_costs_where_lines_are_unknown() {
    let costs = asked("cpuprofile/node20.cpuprofile", "/srv/s/work.js", None);
    assert!(costs.lines.is_empty());
    let functions: Vec<_> = (costs.functions.iter())
        .map(|row| (row.function.line.unwrap_or(0), &*row.function.name, row.cost / 1000))
        .collect();
    let expected = [
        (1, "(anonymous)", 51_988),
        (1, "parse", 9_383),
        (2, "build", 1_521),
        (3, "hash", 11_402),
        (4, "main", 41_774),
    ];
    assert_eq!(functions, expected);
    let codes: Vec<_> = costs.warnings.iter().map(|warning| &*warning.code).collect();
    assert_eq!(codes, ["no-lines"]);
}
