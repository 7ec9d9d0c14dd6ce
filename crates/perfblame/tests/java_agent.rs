//! The exact profiler for Java in real JVMs: programs do what they do without it, and every call is counted.
//!
//! Needs a JDK on the path and the agent's jar in `agents/java/target`; `cargo xtask setup` installs the one and builds
//! the other, and without them these tests fail rather than pretend.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use perfblame_cct::{CallSite, Grain, NodeId, Profile, Times};
use perfblame_readers::{Input, ReadOptions, read};
use run::Folder;

fn agent() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let jar = root.join("agents/java/target/perfblame-agent.jar");
    assert!(jar.is_file(), "{} is missing: `cargo xtask setup` builds it", jar.display());
    jar
}

fn source(class: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java").join(format!("{class}.java"))
}

fn compile(folder: &Folder, source: &Path) {
    let mut command = Command::new("javac");
    let done = command.arg("-d").arg(folder.path()).arg(source).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The option for the agent; the profile is `run.perfblame`.
fn agent_option(options: &str) -> String {
    format!("-javaagent:{}=out=run.perfblame{options}", agent().display())
}

fn java(folder: &Folder, flags: &[&str], arguments: &[&str]) -> Output {
    let mut command = Command::new("java");
    command.args(flags).args(["-cp", "."]).args(arguments).current_dir(folder.path());
    command.output().unwrap()
}

/// Runs a program with and without the agent: it must do and say the same.
fn check_same(folder: &Folder, arguments: &[&str], options: &str) -> Output {
    let without = java(folder, &[], arguments);
    let with = java(folder, &[&agent_option(options)], arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&with.stdout), text(&without.stdout));
    assert_eq!(text(&with.stderr), text(&without.stderr));
    assert_eq!(with.status.code(), without.status.code());
    with
}

fn profile(folder: &Folder, file: &str) -> Profile {
    let options =
        ReadOptions { grain: Grain::CallSites, times: Times::Drop, ..ReadOptions::default() };
    let profile = read(Input::open(&folder.path().join(file)).unwrap(), &options).unwrap();
    assert_eq!(profile.tree.grain(), Grain::CallSites);
    profile
}

fn values(profile: &Profile, metric: &str) -> Vec<i64> {
    profile.self_values(profile.metric(metric).unwrap())
}

/// Calls of each function.
fn calls(profile: &Profile) -> BTreeMap<String, i64> {
    let mut calls = BTreeMap::new();
    for (node, count) in profile.tree.nodes().zip(values(profile, "calls")) {
        *calls.entry(profile.name_of(node).to_owned()).or_default() += count;
    }
    calls
}

fn warnings(profile: &Profile) -> Vec<(&str, u64)> {
    profile.warnings.iter().map(|warning| (warning.code.as_str(), warning.count)).collect()
}

fn call_site(profile: &Profile, node: NodeId) -> Option<CallSite> {
    profile.symbols.frame(profile.tree.frame(node)).call_site
}

/// The children of a context, from the root down, by name.
fn below<'a>(profile: &'a Profile, path: &[&str]) -> Vec<(NodeId, &'a str)> {
    let (last, before) = path.split_last().unwrap();
    let mut at: Vec<NodeId> = profile.tree.roots().collect();
    for name in before {
        let found = at.iter().find(|node| profile.name_of(**node) == *name).unwrap();
        at = profile.tree.children(*found).collect();
    }
    let found = at.iter().find(|node| profile.name_of(**node) == *last).unwrap();
    profile.tree.children(*found).map(|node| (node, profile.name_of(node))).collect()
}

#[test]
fn a_nasty_program_does_what_it_does_without_the_agent() {
    let folder = Folder::new();
    compile(&folder, &source("Nasty"));
    let output = check_same(&folder, &["Nasty"], "");
    assert_eq!(output.status.code(), Some(7));
    let profile = profile(&folder, "run.perfblame");
    assert_eq!(warnings(&profile), []);
    let calls = calls(&profile);
    assert_eq!(calls["Nasty.throwsDeep"], 5 + 3);
    assert_eq!(calls["Nasty.leave"], 4, "calls that never returned count");
    assert_eq!(calls["Nasty$Alone.square"], 4, "of a class loader that hides everything");
}

#[test]
fn a_compiler_makes_the_same_classes() {
    let folder = Folder::new();
    let nasty = source("Nasty").display().to_string();
    let option = format!("-J{}", agent_option(",packages=com.sun.tools.javac"));
    let compile = |to: &str, options: &[&str]| {
        let mut command = Command::new("javac");
        command.args(options).args(["-Xlint:all", "-d", to, &nasty]).current_dir(folder.path());
        command.output().unwrap()
    };
    let without = compile("without", &[]);
    let with = compile("with", &[&option]);
    assert_eq!(String::from_utf8_lossy(&with.stderr), String::from_utf8_lossy(&without.stderr));
    assert_eq!((with.stdout, with.status), (without.stdout, without.status));
    let classes = |of: &str| -> BTreeMap<_, _> {
        let entries = std::fs::read_dir(folder.path().join(of)).unwrap().map(Result::unwrap);
        entries.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect()
    };
    assert!(classes("without").len() > 10);
    assert!(classes("with") == classes("without"), "the classes differ");
    let profile = profile(&folder, "run.perfblame");
    assert!(profile.tree.len() > 10_000, "{} contexts", profile.tree.len());
    assert_eq!(warnings(&profile), []);
}

#[test]
fn every_call_is_counted() {
    let folder = Folder::new();
    compile(&folder, &source("Counted"));
    for options in ["", ",tiny=time", ",sites=line,overhead=keep"] {
        let output = check_same(&folder, &["Counted"], options);
        let profile = profile(&folder, "run.perfblame");
        let calls = calls(&profile);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.lines().count() > 10);
        for (name, count) in printed.lines().filter_map(|line| line.split_once(' ')) {
            assert_eq!(calls.get(name).copied(), count.parse().ok(), "{name} with {options:?}");
        }
        assert_eq!(warnings(&profile), [], "{options:?}");
        let threads: Vec<_> =
            profile.threads.iter().map(|thread| profile.symbols.text(thread.name)).collect();
        assert!(threads.contains(&"main") && threads.contains(&"worker-2"), "{threads:?}");
        assert!(threads.len() < 150, "{threads:?}");
    }
}

#[test]
fn call_sites_are_told_apart_and_recursion_is_folded() {
    let folder = Folder::new();
    compile(&folder, &source("Counted"));
    let text = std::fs::read_to_string(source("Counted")).unwrap();
    let line_of =
        |code: &str| text.lines().position(|line| line.contains(code)).unwrap() as u32 + 1;
    check_same(&folder, &["Counted"], "");
    let by_bytecode = profile(&folder, "run.perfblame");
    check_same(&folder, &["Counted"], ",sites=line");
    let by_line = profile(&folder, "run.perfblame");

    let path = ["Counted.main", "Counted.work", "Counted.f"];
    let names =
        |profile| below(profile, &path).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    let (g, h) = ("Counted.g", "Counted.h");
    assert_eq!(names(&by_bytecode), [g, g, h, h, h]);
    assert_eq!(names(&by_line), [g, g, h]);
    let lines: Vec<_> = below(&by_line, &path)
        .into_iter()
        .map(|(node, _)| match call_site(&by_line, node) {
            Some(CallSite::Line(line, None)) => line.get(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lines, [line_of("g(n);"), line_of("g(n + 1);"), line_of("h(n); h(n + 1)")]);

    let calls = values(&by_bytecode, "calls");
    let work = below(&by_bytecode, &path[..2]);
    let of = |name: &str| work.iter().find(|(_, found)| *found == name).unwrap().0;
    let recursive = of("Counted.recursive");
    assert_eq!(by_bytecode.tree.children(recursive).count(), 0);
    assert_eq!(calls[recursive.index()], (1..=10).sum::<i64>());
    // even → odd → even is one node of each.
    let even = of("Counted.even");
    assert_eq!(by_bytecode.tree.subtree(even).len(), 2);
}

#[test]
fn bounds_hold_and_are_told() {
    let folder = Folder::new();
    compile(&folder, &source("Counted"));
    check_same(&folder, &["Counted"], "");
    let whole = profile(&folder, "run.perfblame");
    let all: i64 = values(&whole, "calls").iter().sum();
    let (mut deepest, mut warned) = (Vec::new(), Vec::new());
    for options in [",depth=3", ",nodes=60", ",thread-nodes=10", ",min-calls=20"] {
        check_same(&folder, &["Counted"], options);
        let profile = profile(&folder, "run.perfblame");
        assert_eq!(values(&profile, "calls").iter().sum::<i64>(), all, "{options}");
        assert!(profile.tree.len() < whole.tree.len(), "{options}");
        let not_kept = calls(&profile)["(calls not kept)"];
        assert!(not_kept > 0);
        deepest.push(profile.tree.depths().into_iter().max().unwrap());
        let warnings = warnings(&profile);
        assert_eq!(warnings.len(), 1, "{options}: {warnings:?}");
        if warnings[0].0 != "contexts-too-rare" {
            assert_eq!(warnings[0].1, not_kept as u64, "{options}");
        }
        warned.push(warnings[0].0.to_owned());
    }
    assert_eq!(deepest[0], 3, "three contexts and what is not kept of them");
    let many = "contexts-too-many";
    assert_eq!(warned, ["contexts-too-deep", many, many, "contexts-too-rare"]);
    let shown = folder.ok(&["show", "run.perfblame"]);
    assert!(shown.contains("min-calls"), "{shown}");
}

#[test]
fn a_method_that_would_grow_too_large_is_left_alone() {
    let folder = Folder::new();
    let mut body = String::new();
    for _ in 0..7_000 {
        body.push_str("n = add(n);\n");
    }
    let mut text = "public class Large {\n".to_owned();
    text.push_str("static int calls; static int add(int n) { calls++; return n + 1; }\n");
    writeln!(text, "static int large(int n) {{\n{body}return n;\n}}").unwrap();
    text.push_str(
        "public static void main(String[] a) { System.out.println(large(1) + add(calls)); } }",
    );
    folder.file("Large.java", text);
    compile(&folder, &folder.path().join("Large.java"));
    check_same(&folder, &["Large"], "");
    let profile = profile(&folder, "run.perfblame");
    assert_eq!(warnings(&profile), [("methods-too-large", 1)]);
    assert_eq!(calls(&profile)["Large.add"], 7_001);
    assert!(!calls(&profile).contains_key("Large.large"));
}

#[test]
fn a_profile_can_be_had_before_the_end() {
    let folder = Folder::new();
    compile(&folder, &source("Waiting"));
    let option = agent_option(",trigger=now");
    let arguments = ["Waiting", "now", "run.perfblame", "kept.perfblame"];
    let output = java(&folder, &[&option], &arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "after\n");
    let profile = profile(&folder, "kept.perfblame");
    let calls = calls(&profile);
    assert_eq!(calls.get("Waiting.ask"), Some(&1), "a call that is still under way");
    assert_eq!(calls.get("Waiting.after"), None);
    let wall: i64 = values(&profile, "wall").iter().sum();
    assert!(wall > 1_000_000, "the time of calls under way: {wall} ns");
    // `Runtime.halt` leaves no time for a second one.
    assert!(!folder.files().contains(&"run.perfblame".to_owned()), "{:?}", folder.files());
}

#[test]
fn only_the_packages_chosen_are_counted() {
    let folder = Folder::new();
    compile(&folder, &source("Counted"));
    check_same(&folder, &["Counted"], ",packages=Counted:other,exclude=Counted$Box");
    let all = calls(&profile(&folder, "run.perfblame"));
    assert!(all.contains_key("Counted.f") && all.contains_key("Counted$Super.<init>"), "{all:?}");
    assert!(!all.keys().any(|name| name.starts_with("Counted$Box")), "{all:?}");
    let output = java(&folder, &[&agent_option(",pakages=x")], &["Counted"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`pakages` is not an option; the options are out, packages"), "{said}");
}

#[test]
fn profiles_are_shown_and_compared() {
    let folder = Folder::new();
    compile(&folder, &source("Counted"));
    for file in ["before.perfblame", "after.perfblame"] {
        check_same(&folder, &["Counted"], "");
        std::fs::rename(folder.path().join("run.perfblame"), folder.path().join(file)).unwrap();
    }
    let shown = folder.ok(&["show", "before.perfblame", "--metric", "calls", "--call-sites"]);
    assert!(shown.contains("Counted.work  Counted.java:"), "{shown}");
    let same = folder.ok(&["diff", "before.perfblame", "after.perfblame", "--metric", "calls"]);
    assert!(!same.is_empty());
}
