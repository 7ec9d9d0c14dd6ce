//! Files as people write them, right and wrong.
use std::time::Duration;

use expect_test::{Expect, expect};
use perfblame_analysis::MinDelta;

use super::{Config, Output};

fn check_wrong(text: &str, expected: &Expect) {
    let error = Config::parse(text).unwrap_err();
    let help = error.help.map_or(String::new(), |help| format!("\nhelp: {help}"));
    expected.assert_eq(&format!("line {}: {}{help}", error.line, error.message));
}

#[test]
fn what_stands_at_the_top_holds_for_all() {
    let config = Config::parse(
        r#"
        build = "make"
        budget = "90s"
        environment = { A = "1", B = "2" }

        [[workload]]
        name = "parse"
        run = "./parse {input}"
        inputs = ["a.txt", "b.txt"]
        runs = { max = 9 }
        environment = { B = "3" }

        [[workload]]
        name = "print"
        run = ["./print", "--all"]
        build = ""
        output = "ignore"
        min-delta = "2%"

        [cache]
        trees = "2GB"
        "#,
    )
    .unwrap();
    let [parse, print] = &*config.workloads else { panic!("{config:?}") };
    assert_eq!((parse.min_runs, parse.max_runs), (3, 9));
    assert_eq!(parse.build.as_deref(), Some("make"));
    assert_eq!(parse.environment[1], ("B".to_owned(), "3".to_owned()));
    assert_eq!(parse.inputs, ["a.txt", "b.txt"]);
    assert_eq!((print.build.as_deref(), print.output), (None, Output::Ignore));
    assert_eq!(print.min_delta, Some(MinDelta::Share(0.02)));
    assert_eq!(print.budget, Duration::from_secs(90));
    assert_eq!(config.cache.trees, 2_000_000_000);
}

#[test]
fn mistakes_have_a_line_and_a_suggestion() {
    check_wrong(
        "[[workload]]\nname = \"a\"\nrun = \"a\"\nbugdet = \"1min\"\n",
        &expect!["line 4: unknown key `bugdet`; did you mean `budget`?"],
    );
    check_wrong(
        "colour = \"red\"\n",
        &expect![[r#"
            line 1: unknown key `colour`
            help: the keys here are workload, cache, build, directory, environment, profiler, runs, budget, warmup, output, min-delta, precision, metric"#]],
    );
    check_wrong(
        "[workload]\nname = 1\n",
        &expect![[r"
        line 1: `workload` must be a list
        help: write `[[workload]]`, in double brackets"]],
    );
    check_wrong(
        "[[workload]]\nname = 1\nrun = \"a\"\n",
        &expect!["line 2: `name` must be a string, not integer"],
    );
    check_wrong("[[workload]]\nname = \"a\"\n", &expect!["line 1: a workload needs `run`"]);
    check_wrong(
        "[[workload]]\nname = \"a\"\nrun = \"./a {input}\"\n",
        &expect!["line 3: `run` has `{input}`, but there are no `inputs`"],
    );
    check_wrong(
        "budget = \"soon\"\n",
        &expect![[r#"
            line 1: invalid value `soon` for `budget`
            help: as in `budget = "10min"`"#]],
    );
    check_wrong(
        "[[workload]]\nname = \"a\"\nrun = \"a\"\nruns = { min = 5, max = 4 }\n",
        &expect!["line 4: the `min` of `runs`, 5, is larger than its `max`, 4"],
    );
    check_wrong(
        "directory = \"../x\"\n",
        &expect!["line 1: `directory` must be below the root of the repository"],
    );
    check_wrong(
        "",
        &expect![[r"
        line 1: this file has no workload
        help: add `[[workload]]` with `name` and `run`"]],
    );
    check_wrong("a = [1,\n", &expect!["line 1: unclosed array, expected `]`"]);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(\\PC|\n){0,200}") {
        let _ = Config::parse(&text);
    }
}
