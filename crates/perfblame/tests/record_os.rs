//! `perfblame record os` on real programs, as somebody meets them: stripped, with a plug-in that became slow.
//! `cargo xtask setup` installs perf and mounts tracefs; without them these tests fail rather than pretend. Nothing here
//! depends on how long anything takes.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::process::{Command, Stdio};

use run::Folder;
use serde_json::Value;

/// Loads a plug-in by name and has it draw.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static __attribute__((noinline)) unsigned own_work(unsigned x) {
    for (unsigned i = 0; i < 2000000; i++) x = x * 1664525u + 1013904223u;
    return x;
}
int main(int count, char **words) {
    void *plugin = dlopen("./plugin.so", RTLD_NOW);
    if (!plugin) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    unsigned (*draw)(unsigned) = (unsigned (*)(unsigned))dlsym(plugin, "plugin_draw");
    int rounds = count > 1 ? atoi(words[1]) : 40;
    unsigned x = 1;
    for (int i = 0; i < rounds; i++) x = draw(own_work(x));
    printf("%u\n", x);
    fflush(stdout);
    return 3;
}
"#;

/// Has a library of its own compute; `COST` is what became slow.
const BURNS: &str = r"
unsigned library_mix(unsigned x, unsigned cost);
unsigned plugin_shade(unsigned x) { return library_mix(x, COST) + 1; }
unsigned plugin_draw(unsigned x) { return plugin_shade(x) + 1; }
";

const LIBRARY: &str = r"
unsigned library_mix(unsigned x, unsigned cost) {
    for (unsigned i = 0; i < cost; i++) x = x * 22695477u + 1u;
    return x;
}
";

/// Waits for `COST` milliseconds.
const WAITS: &str = r"
#include <time.h>
__attribute__((noinline)) unsigned plugin_fetch(unsigned x) {
    struct timespec pause = { 0, COST * 1000000 };
    nanosleep(&pause, 0);
    return x + 1;
}
unsigned plugin_draw(unsigned x) { return plugin_fetch(x) + 1; }
";

/// Waits as long as ever, and computes `COST` times.
const MIXED: &str = r"
#include <time.h>
__attribute__((noinline)) unsigned plugin_fetch(unsigned x) {
    struct timespec pause = { 0, 3000000 };
    nanosleep(&pause, 0);
    return x + 1;
}
__attribute__((noinline)) unsigned plugin_shade(unsigned x) {
    for (unsigned i = 0; i < COST; i++) x = x * 22695477u + 1u;
    return x;
}
unsigned plugin_draw(unsigned x) { return plugin_fetch(plugin_shade(x)) + 1; }
";

fn compile(folder: &Folder, arguments: &[&str]) {
    let status = Command::new("cc").args(arguments).current_dir(folder.path()).status().unwrap();
    assert!(status.success(), "cc {arguments:?}");
}

/// Makes the plug-in under a name of its own.
fn plugin(folder: &Folder, source: &str, cost: &str, name: &str) {
    let cost = format!("-DCOST={cost}");
    let library = ["-L.", "-lmix", "-Wl,--as-needed,-rpath,$ORIGIN"];
    let words = ["-O1", "-g0", "-shared", "-fPIC", &cost, "-o", name, source];
    compile(folder, &[&words[..], &library[..]].concat());
}

fn install(folder: &Folder, name: &str) {
    std::fs::copy(folder.path().join(name), folder.path().join("plugin.so")).unwrap();
}

/// A stripped program with its plug-in, and the sources of other plug-ins.
fn made() -> Folder {
    let folder = Folder::new();
    folder.file("program.c", PROGRAM);
    folder.file("burns.c", BURNS);
    folder.file("waits.c", WAITS);
    folder.file("mixed.c", MIXED);
    folder.file("mix.c", LIBRARY);
    compile(&folder, &["-O1", "-s", "-o", "program", "program.c", "-ldl"]);
    compile(&folder, &["-O1", "-g0", "-shared", "-fPIC", "-o", "libmix.so", "mix.c"]);
    plugin(&folder, "burns.c", "1000000", "plugin.so");
    folder
}

/// Both plug-ins, for either side.
fn plugins(folder: &Folder, source: &str, costs: [&str; 2]) {
    for (side, cost) in SIDES.iter().zip(costs) {
        plugin(folder, source, cost, &format!("{side}.so"));
    }
}

const SIDES: [&str; 2] = ["before", "after"];

/// One more run of a side.
fn record(folder: &Folder, side: &str, run: usize, rounds: &str) {
    install(folder, &format!("{side}.so"));
    let mut words = vec!["record", "os", "--ignore-failure", "--output", side];
    if run > 1 {
        words.push("--append");
    }
    let done = folder.run(&[&words[..], &["--", "./program", rounds][..]].concat());
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(said.contains("stacks, which cost the traced threads"), "{said}");
    assert!(said.contains(&format!("next: perfblame infer {side}, or perfblame diff")), "{said}");
    assert_eq!(String::from_utf8(done.stdout).unwrap().lines().count(), 1, "{said}");
}

/// Three runs with each of two plug-ins, by turns, so that whatever else the machine does meets both.
fn before_and_after(folder: &Folder, source: &str, costs: [&str; 2], rounds: &str) -> Value {
    plugins(folder, source, costs);
    for run in 1..=3 {
        for side in SIDES {
            record(folder, side, run, rounds);
        }
    }
    let diff = json(folder, &["diff", "before", "after", "--format", "json"]);
    assert_eq!(diff["verdict"], "regressed", "{diff}");
    diff
}

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let output = folder.run(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn a_plug_in_that_waits_longer_is_named() {
    let folder = made();
    let diff = before_and_after(&folder, "waits.c", ["1", "300"], "10");
    let suspect = &diff["suspects"][0];
    assert_eq!(suspect["function"], "plugin_fetch", "{diff}");
    assert_eq!(suspect["kind"], "waits", "{diff}");
    assert_eq!(suspect["layer"], "plug-in", "{diff}");
    assert!(suspect["component"].as_str().unwrap().ends_with("/plugin.so"), "{diff}");
    let text = String::from_utf8(folder.run(&["diff", "before", "after"]).stdout).unwrap();
    assert!(text.contains("in plugin.so, a plug-in") && text.contains("waits: sleep"), "{text}");

    // The step that recording proposes.
    let infer = json(&folder, &["infer", "after", "--format", "json"]);
    assert_eq!(infer["functions"][0]["function"], "plugin_fetch", "{infer}");
    assert_eq!(infer["waiting"][0]["on"], "sleep", "{infer}");
    if std::path::Path::new("/var/lib/dpkg/info").is_dir() {
        assert!(infer["nodes"].to_string().contains("\"package\":\"libc6 "), "{infer}");
    }
}

#[test]
fn a_plug_in_that_computes_longer_in_a_library_is_named() {
    let folder = made();
    let diff = before_and_after(&folder, "burns.c", ["1000000", "12000000"], "40");
    let suspect = &diff["suspects"][0];
    assert_eq!(suspect["function"], "library_mix", "{diff}");
    // Known before as well, though the plug-in was replaced since.
    assert_eq!(suspect["kind"], "slower", "{diff}");
    assert_eq!(suspect["layer"], "library", "{diff}");
    assert!(suspect["path"].to_string().contains("plugin_shade"), "{diff}");

    // The program has no names, and the same places in every run; what dpkg knows comes with its package.
    let show =
        json(&folder, &["show", "before", "--functions", "--limit", "99", "--format", "json"]);
    let text = show.to_string();
    assert!(text.contains("[program+0x"), "{text}");
    if std::path::Path::new("/var/lib/dpkg/info").is_dir() {
        assert!(text.contains("\"package\":\"libc6 "), "{text}");
    }
}

/// Keeps processors busy until it is dropped.
struct Load(Vec<std::process::Child>);

impl Load {
    fn start(processes: usize) -> Self {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Self((0..processes).map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The machine becomes busy between the two: the plug-in that sleeps then gets its processor back late, which is neither
/// its doing nor a wait of its own.
#[test]
fn waiting_for_a_processor_is_not_blamed_on_who_sleeps() {
    let folder = made();
    plugins(&folder, "mixed.c", ["1000000", "8000000"]);
    for run in 1..=3 {
        record(&folder, "before", run, "40");
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let load = Load::start(processors);
    for run in 1..=3 {
        record(&folder, "after", run, "40");
    }
    drop(load);
    let diff = json(&folder, &["diff", "before", "after", "--format", "json"]);
    assert_eq!(diff["verdict"], "regressed", "{diff}");
    assert_eq!(diff["suspects"][0]["function"], "plugin_shade", "{diff}");
    let infer = json(&folder, &["infer", "after", "--format", "json"]);
    let queued = infer["time"]["run_queue"].as_i64().unwrap();
    assert!(queued > 0, "{infer}");
}

#[test]
fn the_program_is_what_it_is_without_us() {
    let folder = made();
    let done = folder.run(&["record", "os", "--output", "runs", "--", "./program", "3"]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("run 1 ended with status 3"), "{said}");
    let mut left: Vec<_> = std::fs::read_dir(folder.path().join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["objects", "run-1.perf.data"]);
}

#[test]
fn names_of_stripped_programs_are_found_by_build_id() {
    let folder = made();
    compile(&folder, &["-O1", "-Wl,--build-id=sha1", "-o", "full", "program.c", "-ldl"]);
    let strip = |arguments: &[&str]| {
        let status =
            Command::new("objcopy").args(arguments).current_dir(folder.path()).status().unwrap();
        assert!(status.success());
    };
    std::fs::create_dir(folder.path().join("debug")).unwrap();
    strip(&["--only-keep-debug", "full", "debug/full.debug"]);
    strip(&["--strip-all", "full", "program"]);
    folder.run(&["record", "os", "--output", "runs", "--", "./program"]);
    folder.ok(&["convert", "runs", "moved.perfblame"]);
    let before = folder.ok(&["show", "moved.perfblame", "--functions", "--limit", "99"]);
    assert!(before.contains("[program+0x") && !before.contains("own_work"), "{before}");
    folder.ok(&["symbolize", "moved.perfblame", "named.perfblame", "--debug-dir", "debug"]);
    let after = folder.ok(&["show", "named.perfblame", "--functions", "--limit", "99"]);
    assert!(after.contains("own_work"), "{after}");
}

#[test]
fn what_runs_already_is_traced_and_left_alone() {
    let folder = made();
    let mut running = Command::new(folder.path().join("program"))
        .arg("1000000")
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = running.id().to_string();
    let done = folder.run(&["record", "os", "--pid", &pid, "--duration", "1s", "--output", "runs"]);
    let said = String::from_utf8(done.stderr).unwrap();
    let alive = running.try_wait().unwrap().is_none();
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(alive);
    let show = folder.ok(&["show", "runs/run-1.perf.data", "--functions", "--limit", "99"]);
    assert!(show.contains("library_mix"), "{show}");

    let done = folder.run(&["record", "os", "--pid", "4194304", "--output", "none"]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no process 4194304"), "{said}");
    let done = folder.run(&["record", "native", "--pid", &pid]);
    assert!(String::from_utf8(done.stderr).unwrap().contains("perfblame record os"));
}
