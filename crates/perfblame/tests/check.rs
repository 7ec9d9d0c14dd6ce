//! `perfblame check`, `init` and `hook` on real repositories, as far as no profiler is needed.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![cfg(unix)]

mod repository;
mod run;

use repository::{Repository, interrupt, until};

/// Two commits, of which `build` fails where it says so.
fn repository(build: &str) -> Repository {
    let repository = Repository::new();
    let config =
        format!("build = \"{build}\"\n[[workload]]\nname = \"app\"\nrun = \"./app\"\nruns = 2\n");
    repository.commit("Start", &[("state", "good\n"), ("perfblame.toml", &config)]);
    repository.commit("Change", &[("state", "bad\n")]);
    repository
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_build_that_fails_says_which_side_and_shows_its_log() {
    let repository = repository("echo looking; grep good state");
    let output = repository.run(&["check", "HEAD~1", "HEAD"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stdout);
    let first = said.lines().next().unwrap();
    assert!(first.starts_with("app: ") && first.contains("(“Change”) cannot be built; "), "{said}");
    assert!(first.contains("(“Start”) can"), "{said}");
    assert!(said.contains("\n  looking\n") && said.contains("full log: "), "{said}");
    let log = said.lines().find_map(|line| line.trim().strip_prefix("full log: ")).unwrap();
    assert!(std::fs::read_to_string(log).unwrap().contains("looking"));
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    // The side that could be built is kept, the other one is not.
    assert_eq!(repository.trees().len(), 2, "{:?}", repository.trees());

    let output = repository.run(&["check", "HEAD~1", "HEAD", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "perfblame.check/1");
    assert_eq!(json["workloads"][0]["name"], "app");
    assert!(json["workloads"][0]["failure"]["why"].as_str().unwrap().contains("looking"));
    for format in ["markdown", "sarif", "html"] {
        let output = repository.run(&["check", "HEAD~1", "HEAD", "--format", format]);
        assert_eq!(output.status.code(), Some(2), "{format}");
        assert!(text(&output.stdout).contains("cannot be built"), "{format}");
    }
}

#[test]
fn the_working_tree_is_checked_without_touching_it() {
    let repository = repository("grep good state");
    std::fs::write(repository.0.path().join("state"), "worse\n").unwrap();
    std::fs::write(repository.0.path().join("untracked"), "new\n").unwrap();
    let before = repository.git(&["status", "--porcelain"]);
    let said = text(&repository.run(&["check", "HEAD~1"]).stdout);
    assert!(said.starts_with("app: the working tree cannot be built"), "{said}");
    assert_eq!(repository.git(&["status", "--porcelain"]), before);
    assert_eq!(repository.git(&["stash", "list"]), "");
    assert_eq!(repository.git(&["branch", "--list"]), "* main");
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let repository = repository("touch ../../started; sleep 600");
    let list = repository.git(&["worktree", "list"]);
    let child = repository.start(&["check", "HEAD~1", "HEAD"]);
    let started = repository.0.path().join(".git/perfblame/started");
    until("the build starts", || started.exists());
    assert_ne!(repository.git(&["worktree", "list"]), list);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(repository.git(&["worktree", "list"]), list);
    assert_eq!(repository.trees(), Vec::<String>::new());
    let running = std::process::Command::new("ps").args(["-eo", "args"]).output();
    let cwd = repository.0.path().display().to_string();
    assert!(!running.is_ok_and(|all| text(&all.stdout).contains(&cwd)));
}

#[test]
fn what_a_killed_check_left_is_cleared_by_the_next() {
    let repository = repository("touch ../../started; test -e ../../fast || sleep 5; false");
    let list = repository.git(&["worktree", "list"]);
    let mut child = repository.start(&["check", "HEAD~1", "HEAD"]);
    let started = repository.0.path().join(".git/perfblame/started");
    until("the build starts", || started.exists());
    let refused = repository.run(&["check", "HEAD~1", "HEAD", "--no-wait"]);
    assert!(text(&refused.stderr).contains("another check is running"), "{refused:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(repository.git(&["worktree", "list"]), list);
    std::fs::write(repository.0.path().join(".git/perfblame/fast"), "").unwrap();
    let output = repository.run(&["check", "HEAD~1", "HEAD"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(repository.git(&["worktree", "list"]), list);
    assert_eq!(repository.trees(), Vec::<String>::new());
}

#[test]
fn mistakes_are_said_in_words() {
    let repository = repository("true");
    let fails = |arguments: &[&str]| repository.0.fails(arguments);
    assert!(fails(&["check", "nowhere"]).contains("unknown revision `nowhere`"));
    assert!(fails(&["check", "--workload", "x"]).contains("perfblame.toml has app"));
    assert!(fails(&["check", "--last"]).contains("there is no last check"));
    assert!(fails(&["bisect", "HEAD", "HEAD~1"]).contains("is not an ancestor of"));
    assert!(fails(&["init"]).contains("perfblame init --force"));
    repository.0.file("perfblame.toml", "bild = \"make\"\n");
    assert!(fails(&["check"]).contains("line 1: unknown key `bild`"));
    assert!(fails(&["check"]).contains("did you mean `build`?"));
    std::fs::remove_file(repository.0.path().join("perfblame.toml")).unwrap();
    assert!(fails(&["check"]).contains("`perfblame init` writes one"));
    // Equal content needs no run.
    repository.0.ok(&["init"]);
    let said = repository.0.ok(&["check", "HEAD", "HEAD"]);
    assert!(said.starts_with("nothing changed between the two revisions"), "{said}");
    assert!(repository.0.ok(&["check", "--last"]).starts_with("nothing changed"));
}

#[test]
fn hooks_of_others_are_respected() {
    let repository = repository("false");
    let hook = repository.0.path().join(".git/hooks/pre-push");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho mine\n").unwrap();
    repository.0.ok(&["hook", "install"]);
    repository.0.ok(&["hook", "install"]);
    let text_of = || std::fs::read_to_string(&hook).unwrap();
    assert!(text_of().starts_with("#!/bin/sh\necho mine\n"));
    assert_eq!(text_of().matches(">>> perfblame >>>").count(), 1);
    let post = hook.with_file_name("post-commit");
    assert!(post.exists());
    // The commit goes through, and the background check leaves its answer for the next.
    repository.commit("Another", &[("other", "1\n")]);
    let unseen = repository.0.path().join(".git/perfblame/last/unseen");
    until("the background check ends", || unseen.exists());
    assert!(std::fs::read_to_string(&unseen).unwrap().contains("cannot be built"));
    repository.0.ok(&["hook", "uninstall"]);
    assert_eq!(text_of(), "#!/bin/sh\necho mine\n");
    assert!(!post.exists());
    std::fs::write(&hook, "#!/usr/bin/env python3\n").unwrap();
    assert!(repository.0.fails(&["hook", "install"]).contains("is not a shell script"));
    assert!(!post.exists());
}
