//! `perfblame check` and `init` on small projects of several languages, with their real profilers and builds. Effects
//! are several times the whole, so that a busy machine cannot hide them.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod repository;
mod run;

use perfblame_fixtures::{Schema, invalid};
use repository::Repository;
use serde_json::Value;

/// Programs that run at the same time measure each other.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What is in front of the workload where a test writes the file itself.
const RUNS: &str = "budget = \"20min\"\nruns = { max = 5 }\n";

fn check(repository: &Repository, arguments: &[&str]) -> (Value, Option<i32>) {
    let output = repository.run(&[&["check", "--format", "json"], arguments].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    let answer: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    let file = repository.0.path().join(".git/answer.json");
    std::fs::write(&file, &output.stdout).unwrap();
    assert_eq!(invalid(&[file], Schema::Check), "");
    (answer, output.status.code())
}

/// A commit that makes `parse` several times slower is blamed, and one that changes what nobody calls is not.
fn check_slow_and_innocent(
    file: &str,
    config: &str,
    program: impl Fn(u32, &str) -> String,
) -> (Repository, Value) {
    let repository = Repository::new();
    repository.commit(
        "Start",
        &[(file, &program(1, "one")), ("perfblame.toml", &format!("{RUNS}{config}"))],
    );
    repository.commit("Say something else", &[(file, &program(1, "another"))]);
    repository.commit("Parse more", &[(file, &program(6, "another"))]);

    let (answer, status) = check(&repository, &["HEAD~1", "HEAD"]);
    assert_eq!((&answer["verdict"], status), (&"regressed".into(), Some(1)), "{answer:#}");
    let suspect = &answer["suspects"][0];
    assert_eq!(suspect["function"], "parse", "{answer:#}");
    let change = &suspect["changes"][0];
    assert_eq!((&change["function"], &change["file"]), (&"parse".into(), &file.into()));
    assert_eq!(change["commit"], repository.git(&["rev-parse", "HEAD"]));

    let (innocent, _) = check(&repository, &["HEAD~2", "HEAD~1"]);
    let code = &innocent["workloads"][0]["code"];
    assert_eq!((&code["changed"], &code["reached"]), (&1.into(), &0.into()), "{code:#}");
    for suspect in innocent["suspects"].as_array().unwrap() {
        assert_eq!(suspect["changes"], serde_json::json!([]), "{innocent:#}");
    }
    (repository, answer)
}

fn script(parse: u32, said: &str) -> String {
    format!(
        "let sink = 0;\n\
         function lex() {{\n  for (let i = 0; i < 3e7; i++) sink = (sink * 31 + i) % 65521;\n}}\n\n\
         function parse() {{\n  for (let i = 0; i < {parse} * 3e7; i++) sink = (sink * 31 + i) % 65521;\n}}\n\n\
         function unused() {{\n  console.log('{said}');\n}}\n\n\
         function main(help) {{\n  lex();\n  parse();\n  if (help) (0, eval)('unu' + 'sed')();\n  console.log('done');\n}}\n\
         main(false);\n"
    )
}

#[test]
fn node_is_compared_by_samples_and_the_hunk_named() {
    let _alone = alone();
    let config = "[[workload]]\nname = \"main\"\nrun = \"node lib/main.js\"\n";
    let (repository, answer) = check_slow_and_innocent("lib/main.js", config, script);
    let workload = &answer["workloads"][0];
    assert_eq!(workload["profiler"], "node-cpu-prof");
    assert_eq!(workload["diff"]["metric"]["name"], "samples");
    let warnings = workload["diff"]["warnings"].to_string();
    assert!(warnings.contains("metric-chosen"), "{warnings}");
    // Kept runs answer for another metric, too.
    let (wall, _) = check(&repository, &["HEAD~1", "HEAD", "--metric", "wall"]);
    assert_eq!(wall["workloads"][0]["diff"]["metric"]["name"], "wall");
    assert!(!wall["workloads"][0]["diff"]["warnings"].to_string().contains("metric-chosen"));
}

fn python(parse: u32, said: &str) -> String {
    format!(
        "def lex():\n    total = 0\n    for step in range(3000000):\n        total = (total * 31 + step) % 65521\n    return total\n\n\n\
         def parse():\n    total = 0\n    for step in range({parse} * 3000000):\n        total = (total * 31 + step) % 65521\n    return total\n\n\n\
         def unused():\n    print('{said}')\n\n\n\
         def main():\n    lex()\n    parse()\n    print('done')\n\n\n\
         main()\n"
    )
}

#[test]
fn python_is_sampled_and_the_hunk_named() {
    let _alone = alone();
    let config = "[[workload]]\nname = \"main\"\nrun = \"python3 main.py\"\n";
    let (_, answer) = check_slow_and_innocent("main.py", config, python);
    assert_eq!(answer["workloads"][0]["profiler"], "py-spy");
}

/// `init` writes a file with which `check` makes runs and compares them.
fn check_init(files: &[(&str, &str)], change: (&str, &str), kind: &str) {
    let _alone = alone();
    let repository = Repository::new();
    repository.commit("Start", files);
    let output = repository.run(&["init"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains(kind), "{said}");
    repository.commit("Measure", &[]);
    repository.commit("Change", &[change]);
    let (answer, _) = check(&repository, &["HEAD~1", "HEAD", "--runs", "2"]);
    let workload = &answer["workloads"][0];
    assert_eq!(workload["failure"], Value::Null, "{answer:#}");
    assert_eq!(workload["diff"]["after"]["runs"], 2, "{answer:#}");
}

#[test]
fn init_knows_npm_packages() {
    let package = r#"{"name":"tool","version":"1.0.0","scripts":{"bench":"node bench/main.js","test":"false"}}"#;
    let script = script(1, "one").replace("3e7", "3e6");
    let files = [("package.json", package), ("bench/main.js", &*script)];
    check_init(&files, ("bench/main.js", &script.replace("'one'", "'two'")), "an npm package");
    // A program with a name of its own, and nothing to measure with.
    let package = r#"{"name":"tool","version":"1.0.0","bin":{"tool":"cli.js"}}"#;
    let files = [("package.json", package), ("cli.js", &*script)];
    check_init(&files, ("cli.js", &script.replace("'one'", "'two'")), "an npm package");
}

#[test]
fn init_knows_python_projects() {
    let manifest = "[project]\nname = \"my-tool\"\nversion = \"1.0\"\n";
    let program = python(1, "one").replace("3000000", "500000");
    let change = program.replace("'one'", "'two'");
    let files = [
        ("pyproject.toml", manifest),
        ("src/my_tool/__init__.py", ""),
        ("src/my_tool/__main__.py", &*program),
    ];
    check_init(&files, ("src/my_tool/__main__.py", &change), "a Python project");
    let files = [("pyproject.toml", manifest), ("main.py", &*program)];
    check_init(&files, ("main.py", &change), "a Python project");
}

#[test]
fn init_knows_cargo_projects() {
    let manifest = "[package]\nname = \"tool\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\n\
                    [[bin]]\nname = \"shop\"\npath = \"src/shop.rs\"\n";
    let program = "fn main() {\n    let mut sum = 0u64;\n    for step in 0..200_000_000u64 {\n        sum = std::hint::black_box(sum * 31 + step) % 65521;\n    }\n    println!(\"{sum}\");\n}\n";
    let files = [
        ("Cargo.toml", manifest),
        ("src/shop.rs", program),
        (".gitignore", "target/\nCargo.lock\n"),
    ];
    let change = program.replace("% 65521", "% (65520 + 1)");
    check_init(&files, ("src/shop.rs", &change), "a Cargo project");
}

#[test]
fn init_knows_maven_projects() {
    let pom = "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n  <modelVersion>4.0.0</modelVersion>\n  \
               <groupId>org.example</groupId>\n  <artifactId>shop</artifactId>\n  <version>1.0</version>\n  \
               <properties>\n    <maven.compiler.source>17</maven.compiler.source>\n    \
               <maven.compiler.target>17</maven.compiler.target>\n    \
               <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>\n  </properties>\n</project>\n";
    let program = "package org.example;\n\npublic class Shop {\n    public static void main(String[] arguments) {\n        long sum = 0;\n        for (long step = 0; step < 300_000_000L; step++) {\n            sum = (sum * 31 + step) % 65521;\n        }\n        System.out.println(sum);\n    }\n}\n";
    let path = "src/main/java/org/example/Shop.java";
    let files = [("pom.xml", pom), (path, program), (".gitignore", "target/\n")];
    check_init(&files, (path, &program.replace("% 65521", "% (65520 + 1)")), "a Maven project");
}

#[test]
fn changes_between_classes_take_trees_apart() {
    let folder = run::Folder::new();
    let program = |parse: &str| {
        format!(
            "class Shop {{\n  static int lex() {{ return 1; }}\n  static int parse() {{ {parse} }}\n  \
             public static void main(String[] a) {{ lex(); parse(); }}\n}}\n"
        )
    };
    let slow = "int sum = 0; for (int i = 0; i < 9; i++) sum += lex(); return sum;";
    for (side, parse) in [("before", "return 2;"), ("after", slow)] {
        folder.file(&format!("{side}/Shop.java"), program(parse));
        let mut javac = std::process::Command::new("javac");
        let javac = javac.arg("Shop.java").current_dir(folder.path().join(side)).status();
        assert!(javac.unwrap().success());
    }
    for run in 0..3 {
        folder.file(
            &format!("old/{run}.folded"),
            format!("Shop.main;Shop.lex {}\nShop.main;Shop.parse {}\n", 400 + run, 300 + run),
        );
        folder.file(
            &format!("new/{run}.folded"),
            format!(
                "Shop.main;Shop.lex {}\nShop.main;Shop.parse {}\nShop.main;Shop.parse;Shop.lex {}\n",
                400 + run,
                310 + run,
                600 + run
            ),
        );
    }
    let arguments = ["diff", "old", "new", "--method", "stages", "--classes", "before", "after"];
    let output = folder.run(&[&arguments[..], &["--format", "json"]].concat());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let modified = answer["stages"]["modified"].to_string();
    assert!(modified.contains("parse"), "{answer:#}");
    let errors = folder.fails(&["diff", "old", "new", "--classes", "before", "after"]);
    assert!(errors.contains("--method stages"), "{errors}");
    let errors = folder.fails(&[&arguments[..6], &["before", "nowhere"]].concat());
    assert!(errors.contains("nowhere"), "{errors}");
}
