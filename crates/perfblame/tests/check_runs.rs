//! `perfblame check` and `bisect` with real profilers on real programs. Effects are huge, so that a busy machine cannot
//! hide them.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod repository;
mod run;

use perfblame_fixtures::{Schema, invalid};
use repository::{Repository, interrupt, until};
use serde_json::Value;

const CONFIG: &str = "build = \"cc -g -O1 -o app app.c\"\nbudget = \"20min\"\nruns = { max = 5 }\n\
                      [[workload]]\nname = \"app\"\nrun = \"./app\"\n";

/// A program in C whose function `parse` costs so much, in rounds.
fn program(parse: u32, comment: &str) -> String {
    format!(
        "#include <stdio.h>\n\
         static volatile unsigned sink;\n\
         \n\
         __attribute__((noinline)) void lex(void) {{ for (int i = 0; i < 20000; i++) sink += i; }}\n\
         \n\
         __attribute__((noinline)) void parse(void) {{\n  for (int i = 0; i < {parse}; i++) sink += i;\n}}\n\
         \n\
         __attribute__((noinline)) void unused(void) {{ sink += {}; }}\n\
         \n\
         int main(void) {{\n  /* {comment} */\n  for (int i = 0; i < 2000; i++) {{ lex(); parse(); }}\n\
         \n  puts(\"done\");\n  return 0;\n}}\n",
        comment.len()
    )
}

/// Programs that run at the same time measure each other.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn json(repository: &Repository, arguments: &[&str]) -> (Value, Option<i32>) {
    let output = repository.run(&[arguments, &["--format", "json"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    (json, output.status.code())
}

#[test]
fn a_planted_slowdown_is_found_and_its_function_named() {
    let _alone = alone();
    let repository = Repository::new();
    let slow = program(90_000, "now");
    repository.commit("Start", &[("app.c", &program(20_000, "")), ("perfblame.toml", CONFIG)]);
    repository.commit("Parse more", &[("app.c", &slow)]);
    let (answer, status) = json(&repository, &["check", "HEAD~1", "HEAD"]);
    assert_eq!((&answer["verdict"], status), (&Value::from("regressed"), Some(1)), "{answer:#}");
    let suspect = &answer["suspects"][0];
    assert_eq!(suspect["function"], "parse");
    assert_eq!(suspect["workload"], "app");
    let change = &suspect["changes"][0];
    assert_eq!((&change["function"], &change["file"]), (&"parse".into(), &"app.c".into()));
    assert_eq!(change["commit"], repository.git(&["rev-parse", "HEAD"]));
    let first = repository.run(&["check", "--last"]);
    let first = String::from_utf8(first.stdout).unwrap();
    assert!(first.lines().next().unwrap().contains("app.c:6-8 in parse"), "{first}");

    // The same question again is answered by what is kept, in every format.
    let runs = answer["workloads"][0]["diff"]["before"]["runs"].clone();
    let (again, _) = json(&repository, &["check", "HEAD~1", "HEAD"]);
    assert_eq!(again["workloads"][0]["diff"]["before"]["runs"], runs);
    let inputs = &again["workloads"][0]["diff"]["before"]["inputs"][0];
    assert!(inputs.as_str().unwrap().ends_with(", kept"), "{inputs}");
    for format in ["json", "sarif", "markdown", "html"] {
        let name = format!("out.{format}");
        let output =
            repository.run(&["check", "HEAD~1", "HEAD", "--format", format, "--output", &name]);
        assert_eq!(output.status.code(), Some(1), "{format}");
    }
    let file = |name: &str| repository.0.path().join(name);
    assert_eq!(invalid(&[file("out.sarif")], Schema::Sarif), "");
    assert_eq!(invalid(&[file("out.json")], Schema::Check), "");
    let sarif: Value = serde_json::from_slice(&std::fs::read(file("out.sarif")).unwrap()).unwrap();
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "app.c");
    assert_eq!(place["region"]["startLine"], 7);
    let markdown = std::fs::read_to_string(file("out.markdown")).unwrap();
    assert!(markdown.starts_with("### 🔴 Slower\n\n- 🔴 app: "), "{markdown}");
}

#[test]
fn an_innocent_change_is_not_blamed() {
    let _alone = alone();
    let repository = Repository::new();
    repository.commit("Start", &[("app.c", &program(20_000, "")), ("perfblame.toml", CONFIG)]);
    repository.commit("Explain", &[("app.c", &program(20_000, "longer"))]);
    let (answer, status) = json(&repository, &["check"]);
    assert_ne!(answer["verdict"], "regressed", "{answer:#}");
    assert_eq!(status, Some(0));
    let code = &answer["workloads"][0]["code"];
    assert_eq!((&code["changed"], &code["reached"]), (&1.into(), &0.into()), "{code:#}");
    let said = String::from_utf8(repository.run(&["check", "--last"]).stdout).unwrap();
    if answer["verdict"] == "unchanged" {
        assert!(said.contains("your change does not reach this workload"), "{said}");
    }
}

#[test]
fn runs_that_fail_or_print_something_else_are_said() {
    let _alone = alone();
    let repository = Repository::new();
    let printing = |text: &str, status: u32| {
        program(20_000, "")
            .replace("\"done\"", &format!("\"{text}\""))
            .replace("return 0", &format!("return {status}"))
    };
    repository.commit("Start", &[("app.c", &printing("one", 0)), ("perfblame.toml", CONFIG)]);
    repository.commit("Other", &[("app.c", &printing("two", 0))]);
    repository.commit("Fail", &[("app.c", &printing("two", 3))]);
    let said = |arguments: &[&str]| {
        let output = repository.run(arguments);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stdout).unwrap()
    };
    let other = said(&["check", "HEAD~2", "HEAD~1"]);
    assert!(other.starts_with("app: `app` printed different output before and after"), "{other}");
    assert!(
        other.contains("line 1:") && other.contains("- one") && other.contains("+ two"),
        "{other}"
    );
    let fails = said(&["check", "HEAD~1", "HEAD"]);
    assert!(fails.contains("`app` fails on") && fails.contains("exit status: 3"), "{fails}");
}

#[test]
fn an_interrupt_ends_the_program_that_runs() {
    let _alone = alone();
    let repository = Repository::new();
    let config =
        "[[workload]]\nname = \"wait\"\nrun = \"sh -c 'touch ../../running; sleep 654'\"\n";
    repository.commit("Start", &[("a", "1"), ("perfblame.toml", config)]);
    repository.commit("Change", &[("a", "2")]);
    let child = repository.start(&["check", "HEAD~1", "HEAD"]);
    let running = repository.0.path().join(".git/perfblame/running");
    until("the program runs", || running.exists());
    interrupt(&child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    let all = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&all.stdout).contains("sleep 654"));
    let left = std::fs::read_dir(repository.0.path().join(".git/perfblame")).unwrap();
    let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("run.")), "{left:?}");
}

#[test]
fn bisect_finds_the_commit() {
    let _alone = alone();
    let repository = Repository::new();
    let (fast, slow) = (20_000, 100_000);
    repository.commit("Start", &[("app.c", &program(fast, "")), ("perfblame.toml", CONFIG)]);
    repository.commit("Write a manual", &[("MANUAL.md", "It parses.\n")]);
    repository.commit("Comment", &[("app.c", &program(fast, "a"))]);
    repository.commit("Break the build", &[("app.c", "int main(void) { return }\n")]);
    repository.commit("Mend the build", &[("app.c", &program(fast, "ab"))]);
    repository.commit("Parse more", &[("app.c", &program(slow, "ab"))]);
    let culprit = repository.git(&["rev-parse", "HEAD"]);
    repository.commit("Extend the manual", &[("MANUAL.md", "It parses more.\n")]);
    repository.commit("Comment more", &[("app.c", &program(slow, "abc"))]);
    let first = repository.git(&["rev-list", "--max-parents=0", "HEAD"]);
    let (answer, status) = json(&repository, &["bisect", &first, "HEAD"]);
    assert_eq!(answer["schema"], "perfblame.bisect/1");
    let file = repository.0.path().join("bisect.json");
    std::fs::write(&file, answer.to_string()).unwrap();
    assert_eq!(invalid(&[file], Schema::Bisect), "");
    let commits = answer["commits"].as_array().unwrap();
    assert_eq!(commits.len(), 1, "{answer:#}");
    assert_eq!((&commits[0]["commit"], status), (&culprit.into(), Some(1)));
    assert_eq!(answer["check"]["suspects"][0]["function"], "parse");
    assert_eq!(answer["check"]["suspects"][0]["changes"][0]["file"], "app.c");
    let states: Vec<&str> = answer["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["state"].as_str())
        .collect();
    assert!(states.contains(&"innocent") && states.contains(&"good"), "{states:?}");
}
