//! `perfblame record` with real profilers on real programs: the planted function is found, and the program neither says
//! nor does anything else than without a profiler. `cargo xtask setup` installs the profilers; without them these tests
//! fail rather than pretend. Nothing here depends on how long anything takes.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::AtomicBool;

use perfblame_fixtures::search_path;
use perfblame_record::{Profiler, Program, Settings, record_run};
use run::Folder;
use serde_json::Value;

const NATIVE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) unsigned planted(unsigned x) {
    for (unsigned i = 0; i < 1000000; i++) x = x * 1664525u + 1013904223u;
    return x;
}
int main(int count, char **words) {
    int calls = count > 1 ? atoi(words[1]) : 400;
    unsigned x = 1;
    for (int i = 0; i < calls; i++) x = planted(x);
    printf("%u\n", x);
    fprintf(stderr, "complaint\n");
    if (count > 2) abort();
    return 3;
}
"#;

const JAVA: &str = r#"
public class Work {
    static int planted(int x) {
        for (int i = 0; i < 1000000; i++) x = (x * 31 + i) % 1000003;
        return x;
    }
    public static void main(String[] words) {
        int x = 1;
        for (int i = 0; i < 300; i++) x = planted(x);
        System.out.println(x + " " + System.getenv("JAVA_TOOL_OPTIONS"));
        System.err.println("complaint");
        System.exit(words.length);
    }
}
"#;

const NODE: &str = r"
const { Worker, isMainThread } = require('worker_threads');
const { spawnSync } = require('child_process');
function planted(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) % 1000003; return x; }
function inWorker(n) { return planted(n); }
function inChild(n) { return planted(n); }
if (!isMainThread) {
  console.log(inWorker(3e7));
} else if (process.argv[2] === 'child') {
  console.log(inChild(3e7));
} else {
  console.log(planted(3e7), process.argv.length);
  console.error('complaint');
  new Worker(__filename).on('exit', () => {
    spawnSync(process.execPath, [__filename, 'child'], { stdio: 'inherit' });
    process.exit(4);
  });
}
";

const PYTHON: &str = r#"
import os, subprocess, sys

def planted(n):
    x = 0
    for i in range(n):
        x = (x * 31 + i) % 1000003
    return x

def in_child(n):
    return planted(n)

if sys.argv[1:] == ["child"]:
    print(in_child(6000000))
    sys.exit(0)
print(planted(6000000))
print(sorted(name for name in os.environ if "PYTHON" in name or "PERFBLAME" in name), sys.path)
print("sitecustomize" in sys.modules, os.environ.get("PYTHONPATH"))
print("complaint", file=sys.stderr)
sys.stdout.flush()
subprocess.run([sys.executable, __file__, "child"])
sys.exit(5)
"#;

/// Compiles the native program.
fn compile(folder: &Folder, options: &[&str]) {
    folder.file("work.c", NATIVE);
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-g", "-o", "work", "work.c"]).args(options).current_dir(folder.path());
    assert!(compiler.status().unwrap().success());
}

fn script(folder: &Folder, name: &str, text: &str) {
    folder.file(name, text);
    let path = folder.path().join(name);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn record(folder: &Folder, arguments: &[&str]) -> Output {
    folder
        .perfblame(&[&["record"], arguments].concat())
        .env("PATH", search_path())
        .output()
        .unwrap()
}

fn plain(folder: &Folder, words: &[&str]) -> Output {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder.path()).stdin(Stdio::null());
    command.env("PATH", search_path()).output().unwrap()
}

/// Records a program, which must print and end as without a profiler.
fn check_same(folder: &Folder, what: &str, words: &[&str]) {
    let before = plain(folder, words);
    let after = record(folder, &[&["-q", what, "--output", "runs", "--"], words].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&after.stderr), text(&before.stderr), "{words:?}");
    assert_eq!(text(&after.stdout), text(&before.stdout), "{words:?}");
    assert_eq!(after.status.code(), before.status.code(), "{words:?}");
}

/// The functions of a profile with their inclusive values.
fn functions(folder: &Folder, file: &str, extra: &[&str]) -> Vec<(String, i64)> {
    let arguments = [&["show", file, "--format", "json", "--functions", "--limit", "1000"], extra];
    let json: Value = serde_json::from_str(&folder.ok(&arguments.concat())).unwrap();
    let rows = json["top"].as_array().unwrap().iter();
    rows.map(|row| {
        (row["function"].as_str().unwrap().to_owned(), row["inclusive"].as_i64().unwrap())
    })
    .collect()
}

#[track_caller]
fn check_has(folder: &Folder, file: &str, function: &str) {
    let functions = functions(folder, file, &[]);
    let found = functions.iter().any(|(name, cost)| name.contains(function) && *cost > 0);
    assert!(found, "{function} is not in {file}: {functions:?}");
}

/// Processes whose command line has this in it.
fn processes_with(marker: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(marker))
        .collect()
}

#[test]
fn native_with_perf() {
    let folder = Folder::new();
    compile(&folder, &[]);
    check_same(&folder, "auto", &["./work"]);
    assert_eq!(folder.files(), ["runs", "work", "work.c"]);
    check_has(&folder, "runs/run-1.perf.data", "planted");
    // Callers too, however the stacks were walked.
    check_has(&folder, "runs/run-1.perf.data", "main");
}

#[test]
fn what_was_recorded_can_be_compared() {
    let folder = Folder::new();
    compile(&folder, &[]);
    for (runs, calls) in [("before", "200"), ("after", "500")] {
        let options = ["native", "--ignore-failure", "--runs", "3", "--frequency", "999"];
        let rest = ["--output", runs, "--", "./work", calls];
        let output = record(&folder, &[&options[..], &rest].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let output = folder.run(&["diff", "before", "after", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["suspects"][0]["function"], "planted");
}

#[test]
fn signals_are_passed_on() {
    let folder = Folder::new();
    compile(&folder, &["-pg"]);
    for (what, runs) in [(&["native"][..], "a"), (&["native", "--exact"], "b")] {
        let rest = ["--output", runs, "--", "./work", "100", "abort"];
        let output = record(&folder, &[what, &rest].concat());
        assert_eq!(output.status.code(), Some(128 + 6), "{what:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("ended with signal 6"));
    }
}

#[test]
fn runs_have_names_of_their_own_and_replace_nothing() {
    let folder = Folder::new();
    compile(&folder, &[]);
    let words = ["--ignore-failure", "--", "./work"];
    let recorded = |options: &[&str]| record(&folder, &[&["native"], options, &words[..]].concat());
    let output = recorded(&["--runs", "2", "--frequency", "99", "--keep-output"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(output.stdout, b"");
    assert!(said.contains("recorded 2 runs with perf, 99 samples a second"), "{said}");
    assert!(said.contains("perfblame-runs/work-1/run-2.perf.data"), "{said}");
    let kept = |name: &str| {
        std::fs::read_to_string(folder.path().join("perfblame-runs/work-1/output").join(name))
            .unwrap()
    };
    assert_eq!(kept("run-1.stdout"), kept("run-2.stdout"));
    assert_eq!(kept("run-2.stderr"), "complaint\n");
    let output = recorded(&["--frequency", "99"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("perfblame diff perfblame-runs/work-1 perfblame-runs/work-2"), "{said}");
    let output = recorded(&["--frequency", "99", "--output", "perfblame-runs/work-1"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("already contains runs"), "{said}");
    let output = recorded(&["--frequency", "99", "--output", "perfblame-runs/work-1", "--append"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(folder.path().join("perfblame-runs/work-1/run-3.perf.data").is_file());
}

#[test]
fn short_programs_are_sampled_more_often() {
    let folder = Folder::new();
    compile(&folder, &[]);
    let output = record(&folder, &["native", "--ignore-failure", "-n", "2", "--", "./work", "10"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("samples a second"), "{said}");
    assert!(said.contains("recorded 2 runs"), "{said}");
}

#[test]
fn a_full_recording_stops_and_the_program_goes_on() {
    let folder = Folder::new();
    compile(&folder, &[]);
    let mut program = Program::new(["./work"]);
    program.directory = folder.path().to_owned();
    program.stdout = perfblame_record::Output::File(folder.path().join("printed"));
    program.stderr = perfblame_record::Output::Discard;
    let settings = Settings { size_limit: Some(1), ..Settings::default() };
    let cancel = AtomicBool::new(false);
    let run =
        record_run(Profiler::Perf, &program, &settings, folder.path(), "full", &cancel).unwrap();
    assert_eq!(run.status.code(), Some(3));
    assert!(run.notes.iter().any(|note| note.contains("recording stopped")), "{:?}", run.notes);
    let printed = std::fs::read(folder.path().join("printed")).unwrap();
    assert_eq!(printed, plain(&folder, &["./work"]).stdout);
}

#[test]
fn java_with_the_flight_recorder() {
    let folder = Folder::new();
    folder.file("Work.java", JAVA);
    assert_eq!(plain(&folder, &["javac", "Work.java"]).status.code(), Some(0));
    check_same(&folder, "auto", &["java", "-cp", ".", "Work", "a", "b"]);
    check_has(&folder, "runs/run-1.jfr", "planted");
}

#[test]
fn java_inside_a_script() {
    // Blanks and commas, since the recorder gets its folder in a list of options.
    let folder = Folder::new();
    folder.file("a, b/Work.java", JAVA);
    let inner = folder.path().join("a, b");
    let compiled = Command::new("javac").arg("Work.java").current_dir(&inner).status().unwrap();
    assert!(compiled.success());
    // Prints no environment, which has to differ here.
    let text =
        "#!/bin/sh\ncd 'a, b'\njava Work a | cut -d' ' -f1\nexec java Work | cut -d' ' -f1\n";
    script(&folder, "start", text);
    let before = plain(&folder, &["./start"]);
    let after = record(&folder, &["-q", "auto", "--output", "a, b/runs", "--", "./start"]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&after.stderr), text(&before.stderr));
    assert_eq!(text(&after.stdout), text(&before.stdout));
    assert_eq!(after.status.code(), before.status.code());
    check_has(&folder, "a, b/runs/run-1.jfr", "planted");
    // The script starts two.
    let others = std::fs::read_dir(inner.join("runs/run-1.others")).unwrap().count();
    assert_eq!(others, 1);
}

#[test]
fn node_with_workers_and_children() {
    let folder = Folder::new();
    folder.file("work.js", NODE);
    check_same(&folder, "auto", &["node", "work.js", "x"]);
    check_has(&folder, "runs/run-1.cpuprofile", "planted");
    // Workers and children are parts of the run.
    check_has(&folder, "runs/run-1.cpuprofile", "inWorker");
    check_has(&folder, "runs/run-1.cpuprofile", "inChild");
    let others: Vec<_> =
        std::fs::read_dir(folder.path().join("runs/run-1.others")).unwrap().collect();
    assert_eq!(others.len(), 2, "{others:?}");
    check_has(&folder, "runs/run-1.others", "inWorker");
    check_has(&folder, "runs/run-1.others", "inChild");
}

#[test]
fn node_inside_a_script() {
    let folder = Folder::new();
    folder.file("work.js", NODE);
    script(&folder, "start", "#!/bin/sh\nnode work.js child\nexit 0\n");
    check_same(&folder, "auto", &["./start"]);
    check_has(&folder, "runs/run-1.cpuprofile", "inChild");
    script(&folder, "tool", &format!("#!/usr/bin/env node\n{NODE}"));
    let output = record(&folder, &["-q", "auto", "--output", "tool-runs", "--", "./tool", "child"]);
    assert_eq!(output.status.code(), Some(0));
    check_has(&folder, "tool-runs/run-1.cpuprofile", "inChild");
}

#[test]
fn python_with_children() {
    let folder = Folder::new();
    folder.file("work.py", PYTHON);
    check_same(&folder, "auto", &["python3", "work.py"]);
    check_has(&folder, "runs/run-1.speedscope.json", "planted");
    check_has(&folder, "runs/run-1.speedscope.json", "in_child");
    // What differs from run to run stands in no stack.
    let functions = functions(&folder, "runs/run-1.speedscope.json", &[]);
    assert!(functions.iter().all(|(name, _)| !name.starts_with("process ")), "{functions:?}");
}

#[test]
fn pythons_own_customisation_is_kept() {
    let folder = Folder::new();
    folder.file("work.py", PYTHON);
    folder.file("custom/sitecustomize.py", "print('customised')\n");
    script(&folder, "start", "#!/bin/sh\nPYTHONPATH=$PWD/custom:$PYTHONPATH python3 work.py\n");
    let mut command = Command::new("python3");
    command.arg("work.py").env("PYTHONPATH", "custom").current_dir(folder.path());
    let before = command.env("PATH", search_path()).output().unwrap();
    let mut command = folder.perfblame(&["record", "-q", "python", "--", "python3", "work.py"]);
    let after = command.env("PATH", search_path()).env("PYTHONPATH", "custom").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(text(&before.stdout).starts_with("customised\n"));
    assert_eq!(text(&after.stdout), text(&before.stdout));
    assert_eq!(text(&after.stderr), text(&before.stderr));
    check_has(&folder, "perfblame-runs/python3-1/run-1.speedscope.json", "planted");
}

#[test]
fn every_call_of_a_native_program() {
    let folder = Folder::new();
    for (options, runs) in [(&["-pg"][..], "a"), (&["-finstrument-functions"], "b"), (&[], "c")] {
        compile(&folder, options);
        let before = plain(&folder, &["./work", "37"]);
        let arguments = ["-q", "native", "--exact", "--output", runs, "--", "./work", "37"];
        let after = record(&folder, &arguments);
        let said = String::from_utf8_lossy(&after.stderr).into_owned();
        assert_eq!(after.stdout, before.stdout, "{said}");
        assert_eq!(after.status.code(), Some(3), "{said}");
        assert_eq!(said, "complaint\n");
        let file = format!("{runs}/run-1.trace.json.gz");
        let calls = functions(&folder, &file, &["--metric", "calls"]);
        let planted = calls.iter().find(|(name, _)| name == "planted");
        assert_eq!(planted.map(|(_, calls)| *calls), Some(37), "{options:?}: {calls:?}");
    }
}

/// A program that starts another one which leaves its group, and both stay for long.
fn stubborn(folder: &Folder, name: &str) -> String {
    let marker = format!("77{}{}", std::process::id(), name.len());
    let text = format!("#!/bin/sh\nsetsid sleep {marker} &\necho started\nsleep {marker}\n");
    script(folder, name, &text);
    marker
}

#[test]
fn a_timeout_leaves_nothing_behind() {
    for what in ["native", "os", "python", "node", "java"] {
        let folder = Folder::new();
        let marker = stubborn(&folder, &format!("stubborn-{what}"));
        let command = format!("./stubborn-{what}");
        let rest = ["--timeout", "700ms", "--output", "runs", "--", &command];
        let output = record(&folder, &[&[what], &rest[..]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{what}: {said}");
        assert!(said.contains("exceeded the timeout of 0.7 s"), "{what}: {said}");
        assert_eq!(processes_with(&marker), [""; 0], "{what}");
        let left: Vec<_> = std::fs::read_dir(folder.path().join("runs")).unwrap().collect();
        assert!(left.is_empty(), "{what}: {left:?}");
    }
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    use std::io::{BufRead, BufReader};
    for what in ["native", "os", "python"] {
        let folder = Folder::new();
        let marker = stubborn(&folder, &format!("interrupted-{what}"));
        let command = format!("./interrupted-{what}");
        let mut perfblame = folder.perfblame(&["record", what, "--output", "runs", "--", &command]);
        perfblame.env("PATH", search_path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = perfblame.spawn().unwrap();
        // It has begun once it says so.
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "started\n");
        let interrupt =
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(interrupt.success());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{what}: {said}");
        assert_eq!(said, "recording cancelled\n", "{what}");
        assert_eq!(processes_with(&marker), [""; 0], "{what}");
        let left: Vec<_> = std::fs::read_dir(folder.path().join("runs")).unwrap().collect();
        assert!(left.is_empty(), "{what}: {left:?}");
    }
}

#[test]
fn what_is_missing_is_said_with_the_command_that_helps() {
    let folder = Folder::new();
    script(&folder, "start", "#!/bin/sh\n");
    for (what, help) in [("python", "python3 -m pip install py-spy"), ("native", "perf")] {
        let mut command = folder.perfblame(&["record", what, "--", "./start"]);
        let output = command.env("PATH", "/nowhere").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("is not installed"), "{said}");
        assert!(said.contains("help: install it: `") && said.contains(help), "{said}");
    }
    let output = record(&folder, &["auto", "--", "./absent"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.starts_with("error: cannot start ./absent"), "{said}");
    assert_eq!(folder.files(), ["start"]);
}
