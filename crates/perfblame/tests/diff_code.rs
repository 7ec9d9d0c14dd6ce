//! `perfblame diff` with what is known of the code: two folders, or two revisions.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod repository;
mod run;

use repository::Repository;
use run::Folder;
use serde_json::Value;

/// A program whose function `parse` is what differs.
fn program(parse: &str) -> String {
    format!(
        "function lex(text) {{\n  return text.split(' ');\n}}\n\n\
         function parse(text) {{\n  {parse}\n}}\n\n\
         function main() {{\n  lex('a');\n  parse('b');\n}}\n"
    )
}

const FAST: &str = "return text.length;";
const SLOW: &str =
    "let sum = 0;\n  for (const letter of text) sum += letter.length;\n  return sum;";

/// Three runs of each side in folders, of which `parse` takes three times as long.
fn runs(folder: &Folder) {
    for run in 0..3 {
        let of = |parse: u32| format!("main;lex {}\nmain;parse {}\n", 400 + run, parse + run);
        folder.file(&format!("old/{run}.folded"), of(300));
        folder.file(&format!("new/{run}.folded"), of(900));
    }
}

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let output = folder.run(&[&["diff", "old", "new", "--format", "json"], arguments].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The function and the file of the change that explains the first suspect, which is `parse`.
fn first_change(answer: &Value) -> &Value {
    assert_eq!(answer["suspects"][0]["function"], "parse", "{answer:#}");
    let change = &answer["suspects"][0]["changes"][0];
    assert_eq!((&change["function"], &change["file"]), (&"parse".into(), &"lib/app.js".into()));
    assert_eq!(change["kind"], "modified");
    change
}

#[test]
fn changes_between_folders_explain_suspects() {
    let folder = Folder::new();
    runs(&folder);
    folder.file("before/lib/app.js", program(FAST));
    folder.file("after/lib/app.js", program(SLOW));
    folder.file("other/lib/app.js", program(FAST).replace("split(' ')", "split(',')"));
    let answer = json(&folder, &["--source", "before", "after"]);
    let change = first_change(&answer);
    assert_eq!(change["lines"], serde_json::json!([5, 9]));
    assert_eq!(change["hunks"], serde_json::json!(["@@ -6 +6,3 @@"]));
    assert_eq!(change["commit"], Value::Null);

    // Another function changed: nothing explains it, and that is said.
    let answer = json(&folder, &["--source", "before", "other"]);
    assert_eq!(answer["suspects"][0]["changes"], serde_json::json!([]), "{answer:#}");
    assert_eq!(answer["warnings"][0]["code"], "unexplained", "{answer:#}");

    // `parse` is what changed, so that its weight is not held against the common tree.
    let stages = json(&folder, &["--method", "stages", "--source", "before", "after"]);
    let compared = stages["weights"].to_string();
    assert!(compared.contains("\"lex\"") && !compared.contains("\"parse\""), "{stages:#}");
    let errors = folder.fails(&["diff", "old", "new", "--source", "before", "nowhere"]);
    assert_eq!(errors, "error: cannot read nowhere\n  there is no such folder\n");
}

#[test]
fn changes_between_revisions_come_with_their_commit() {
    let repository = Repository::new();
    repository.commit("Start", &[("lib/app.js", &program(FAST))]);
    repository.commit("Count letters", &[("lib/app.js", &program(SLOW))]);
    let commit = repository.git(&["rev-parse", "HEAD"]);
    repository.commit("Explain", &[("README.md", "It parses.\n")]);
    let folder = &repository.0;
    runs(folder);
    let answer = json(folder, &["--repo", ".", "--base", "HEAD~2", "--head", "HEAD"]);
    assert_eq!(first_change(&answer)["commit"], commit.as_str());
    let said = folder.run(&["diff", "old", "new", "--repo", ".", "--base", "HEAD~2"]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("lib/app.js") && said.contains("Count letters"), "{said}");

    // Before the change there is nothing that explains it.
    let answer = json(folder, &["--repo", ".", "--base", "HEAD~1", "--head", "HEAD"]);
    assert_eq!(answer["suspects"][0]["changes"], serde_json::json!([]), "{answer:#}");
    let errors = folder.fails(&["diff", "old", "new", "--repo", ".", "--base", "nowhere"]);
    assert!(errors.contains("nowhere"), "{errors}");
    let errors = folder.fails(&["diff", "old", "new", "--base", "HEAD"]);
    assert!(errors.contains("--repo"), "{errors}");
}

/// A hook that git starts has variables that point to the repository it was started in.
#[test]
fn the_environment_of_a_hook_changes_nothing() {
    let repository = Repository::new();
    let folder = &repository.0;
    runs(folder);
    repository.commit("Start", &[("lib/app.js", &program(FAST))]);
    repository.commit("Count letters", &[("lib/app.js", &program(SLOW))]);
    let arguments = ["diff", "old", "new", "--format", "json", "--repo", "."];
    let plain = folder.run(&arguments);
    let mut hooked = folder.perfblame(&arguments);
    for (name, value) in [
        ("GIT_DIR", "/nowhere/.git"),
        ("GIT_WORK_TREE", "/nowhere"),
        ("GIT_INDEX_FILE", "/nowhere/.git/index"),
        ("GIT_OBJECT_DIRECTORY", "/nowhere/.git/objects"),
        ("GIT_PREFIX", "nowhere/"),
        ("GIT_EXTERNAL_DIFF", "false"),
        ("GIT_PAGER", "false"),
    ] {
        hooked.env(name, value);
    }
    let hooked = hooked.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&hooked.stderr), String::from_utf8_lossy(&plain.stderr));
    assert_eq!(hooked.stdout, plain.stdout);
    let said = String::from_utf8_lossy(&plain.stdout);
    assert!(said.contains(&repository.git(&["rev-parse", "HEAD"])), "{said}");
}
