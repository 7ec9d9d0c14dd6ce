//! The same recordings read by us and by the real perf, stack by stack.
//!
//! Differences that are meant, and made equal before comparing:
//! - what has no name is `[object+offset]` here and `[unknown]` there;
//! - we look up callers one byte before their return address, perf does so only for stacks it walks itself. A call that
//!   does not return and ends its function is the one case where this shows, so the rest of the stack must be equal;
//! - where a walk breaks off, perf ends the stack in `[unknown]`; here the stack is kept below the truncated root;
//! - stubs without a symbol are `@plt` in perf;
//! - parts of V8 that are in the binary and in the log of code made at run time have the binary's names here, the log's
//!   there;
//! - perf leaves out what compilers appended to C++ names (`.part.0`), we keep it as for C.
//!
//! `cargo xtask setup` installs perf and what is recorded; where perf is missing or may not record, the tests fail.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use perfblame_cct::{Grain, NodeId, Profile, TRUNCATED};
use perfblame_fixtures::tool;
use perfblame_readers::{Input, ReadOptions, read};

/// Inlining, recursion, callbacks from libc, and time in the kernel.
const PROGRAM: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static volatile uint64_t sink;
static inline __attribute__((always_inline)) uint64_t mix(uint64_t x) {
    x ^= x >> 33; x *= 0xff51afd7ed558ccdULL; x ^= x >> 33;
    return x;
}
static inline __attribute__((always_inline)) uint64_t mix_twice(uint64_t x) {
    return mix(mix(x) + 1);
}
static int __attribute__((noinline)) compare(const void *a, const void *b) {
    uint32_t x = mix_twice(*(const uint32_t *)a), y = mix_twice(*(const uint32_t *)b);
    return x < y ? -1 : x > y;
}
static uint64_t __attribute__((noinline)) tree(int depth) {
    if (depth <= 0) return mix(depth + sink);
    uint64_t first = tree(depth - 1);
    return first + tree(depth - 2);
}
static void __attribute__((noinline)) sort_some(uint32_t *numbers, size_t count, uint32_t seed) {
    for (size_t i = 0; i < count; i++) numbers[i] = (uint32_t)mix(i + seed);
    qsort(numbers, count, sizeof *numbers, compare);
    sink += numbers[count / 2];
}
static void __attribute__((noinline)) kernel_some(void) {
    FILE *f = fopen("/dev/zero", "r");
    char buffer[65536];
    for (int i = 0; i < 200; i++) sink += fread(buffer, 1, sizeof buffer, f);
    fclose(f);
}
int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    uint32_t *numbers = malloc(20000 * sizeof *numbers);
    for (int i = 0; i < rounds; i++) {
        sort_some(numbers, 20000, i);
        sink += tree(20);
        kernel_some();
    }
    return sink == 1;
}
"#;

/// A folder of its own per test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("perf-data").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a command that must succeed, and returns what it prints.
fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    output.stdout
}

/// Builds the program and records it.
fn record(name: &str, options: &[&str], rounds: &str) -> PathBuf {
    record_program(name, PROGRAM, options, rounds)
}

fn record_program(name: &str, program: &str, options: &[&str], rounds: &str) -> PathBuf {
    let folder = folder(name);
    std::fs::write(folder.join("work.c"), program).unwrap();
    let mut compile = Command::new(tool("gcc"));
    compile.args(["-O2", "-g", "-fno-optimize-sibling-calls", "-o", "work", "work.c"]);
    run(compile.current_dir(&folder));
    let mut perf = Command::new(tool("perf"));
    perf.args(["record", "-q", "-e", "cpu-clock", "-F", "2000"]).args(options);
    run(perf.args(["-o", "perf.data", "--", "./work", rounds]).current_dir(&folder));
    folder.join("perf.data")
}

fn read_exactly(path: &Path) -> Profile {
    let options = ReadOptions { grain: Grain::Frames, ..ReadOptions::default() };
    read(Input::open(path).unwrap(), &options).unwrap()
}

#[derive(Clone, Copy, PartialEq)]
enum Inlines {
    Shown,
    Hidden,
}

/// Stacks with the number of samples in them, outermost frame first.
type Folded = BTreeMap<String, i64>;

fn ours(profile: &Profile, inlines: Inlines) -> Folded {
    let values = profile.self_values(profile.metric("samples").unwrap());
    let mut folded = Folded::new();
    for (row, value) in values.iter().enumerate().filter(|row| *row.1 != 0) {
        let mut names = Vec::new();
        let mut at = Some(NodeId::new(row));
        while let Some(node) = at {
            let frame = profile.symbols.frame(profile.tree.frame(node));
            let name = profile.symbols.name(frame.function);
            if name != TRUNCATED && (inlines == Inlines::Shown || !frame.inlined) {
                names.push(comparable(name));
            }
            at = profile.tree.parent(node);
        }
        end_at_unknown(&mut names);
        *folded.entry(names.join(";")).or_default() += value;
    }
    folded
}

fn comparable(name: &str) -> &str {
    let nameless = (name.starts_with('[') && name.contains("+0x")) || name == "@plt";
    if nameless {
        return "[unknown]";
    }
    if let Some(handler) = name.strip_prefix("BytecodeHandler:") {
        return handler;
    }
    if let Some(of_v8) = ["Builtins_", "Builtin:"].iter().find_map(|start| name.strip_prefix(start))
    {
        return of_v8.strip_suffix("Handler").unwrap_or(of_v8);
    }
    let appended =
        [".part.", ".constprop.", ".isra.", ".cold"].iter().filter_map(|end| name.find(end));
    appended.min().and_then(|end| name.get(..end)).unwrap_or(name)
}

/// Turns a stack so that the outermost frame comes first, without what marks a walk that broke off.
fn end_at_unknown(names: &mut Vec<&str>) {
    while names.len() > 1 && names.last() == Some(&"[unknown]") {
        names.pop();
    }
    names.reverse();
}

fn perfs(path: &Path, options: &[&str]) -> Folded {
    let mut script = Command::new(tool("perf"));
    script.args(["script", "-F", "comm,tid,ip,sym", "--max-stack", "4096"]).args(options);
    let text = String::from_utf8(run(script.arg("-i").arg(path))).unwrap();
    let mut folded = Folded::new();
    let with_stacks = text.contains("\n\n");
    for sample in text.split(if with_stacks { "\n\n" } else { "\n" }) {
        // Without stacks the one frame stands behind the name and the number of the thread.
        let frames: Vec<String> = if with_stacks {
            sample.lines().filter(|line| line.starts_with(['\t', ' '])).map(str::to_owned).collect()
        } else {
            vec![sample.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")]
        };
        let mut names: Vec<&str> = (frames.iter())
            .filter_map(|line| line.trim().split_once(' '))
            .map(|(_, name)| comparable(name.trim_end_matches("(inlined)").trim()))
            .collect();
        end_at_unknown(&mut names);
        if !names.is_empty() {
            *folded.entry(names.join(";")).or_default() += 1;
        }
    }
    folded
}

/// The share of perf's samples that have the same stack here.
fn equal_share(ours: &Folded, perfs: &Folded) -> f64 {
    let total: i64 = perfs.values().sum();
    let equal: i64 =
        perfs.iter().map(|(stack, count)| (*ours.get(stack).unwrap_or(&0)).min(*count)).sum();
    if std::env::var_os("PERFBLAME_SHOW_DIFFERENCES").is_some() {
        for (stack, count) in perfs.iter().filter(|row| ours.get(row.0) != Some(row.1)) {
            eprintln!("perf {count} ours {:?}: {stack}", ours.get(stack));
        }
        for (stack, count) in ours.iter().filter(|row| !perfs.contains_key(row.0)) {
            eprintln!("ours alone {count}: {stack}");
        }
    }
    equal as f64 / total.max(1) as f64
}

fn check(name: &str, options: &[&str], least: f64) {
    let path = record(name, options, "60");
    let profile = read_exactly(&path);
    let ours = ours(&profile, Inlines::Hidden);
    let perfs = perfs(&path, &["--no-inline"]);
    assert_eq!(ours.values().sum::<i64>(), perfs.values().sum::<i64>(), "{name}: samples");
    assert!(perfs.values().sum::<i64>() > 100, "{name}: enough samples to compare");
    let share = equal_share(&ours, &perfs);
    assert!(share >= least, "{name}: {share} of the stacks are equal");
}

#[test]
fn stacks_walked_with_unwind_tables() {
    check("dwarf", &["--call-graph", "dwarf,8192"], 0.98);
}

#[test]
fn stacks_walked_by_the_kernel() {
    check("fp", &["-g"], 0.98);
}

#[test]
fn samples_without_stacks() {
    check("flat", &[], 0.99);
}

#[test]
fn compressed_recordings() {
    check("compressed", &["-z", "--call-graph", "dwarf,4096"], 0.98);
}

/// The program's own functions. With inlines perf takes the names of debug information for all frames, without what
/// the compiler appended; libc's aliases differ too.
fn of_program(folded: &Folded) -> Folded {
    const OWN: [&str; 7] =
        ["main", "sort_some", "compare", "mix_twice", "mix", "tree", "kernel_some"];
    let mut own = Folded::new();
    for (stack, count) in folded {
        let names: Vec<&str> = stack
            .split(';')
            .map(|name| name.split('.').next().unwrap_or(name))
            .filter(|name| OWN.contains(name))
            .collect();
        *own.entry(names.join(";")).or_default() += count;
    }
    own
}

#[test]
fn inlined_functions() {
    let path = record("inlines", &["--call-graph", "dwarf,4096"], "10");
    let ours = of_program(&ours(&read_exactly(&path), Inlines::Shown));
    let perfs = of_program(&perfs(&path, &["--inline"]));
    assert!(ours.keys().any(|stack| stack.ends_with("compare;mix_twice;mix")));
    let share = equal_share(&ours, &perfs);
    assert!(share >= 0.95, "{share} of the stacks are equal");
}

/// Records to a pipe.
fn record_pipe(name: &str, options: &[&str]) -> PathBuf {
    let whole = record(name, options, "1");
    let piped = whole.with_file_name("pipe.data");
    let mut perf = Command::new(tool("perf"));
    perf.args(["record", "-q", "-e", "cpu-clock", "-F", "2000"]).args(options);
    perf.args(["-o", "-", "--", "./work", "60"]).current_dir(whole.parent().unwrap());
    std::fs::write(&piped, run(&mut perf)).unwrap();
    piped
}

#[test]
fn recordings_from_a_pipe() {
    for (name, options) in
        [("pipe", &["--call-graph", "dwarf,4096"][..]), ("pipe-compressed", &["-z", "-g"][..])]
    {
        let path = record_pipe(name, options);
        let ours = ours(&read_exactly(&path), Inlines::Hidden);
        let perfs = perfs(&path, &["--no-inline"]);
        assert_eq!(ours.values().sum::<i64>(), perfs.values().sum::<i64>(), "{name}: samples");
        let share = equal_share(&ours, &perfs);
        assert!(share >= 0.98, "{name}: {share} of the stacks are equal");
    }
}

#[test]
fn a_binary_that_changed_is_not_used() {
    // A build that no earlier recording has left in perf's cache of binaries.
    let program = PROGRAM.replace("kernel_some", &format!("kernel_{}", std::process::id()));
    let options = ["-g", "--no-buildid-cache"];
    let path = record_program("changed", &program, &options, "20");
    let folder = path.parent().unwrap();
    std::fs::write(folder.join("work.c"), PROGRAM.replace("tree", "other")).unwrap();
    let mut compile = Command::new(tool("gcc"));
    compile.args(["-O1", "-o", "work", "work.c"]).current_dir(folder);
    run(&mut compile);
    let profile = read_exactly(&path);
    assert!(profile.warnings.iter().any(|warning| warning.code == "changed-binaries"));
    let of_work: Vec<&str> = (profile.symbols.functions())
        .filter(|(id, _)| profile.symbols.component(*id).is_some_and(|c| c.ends_with("/work")))
        .map(|(id, _)| profile.symbols.name(id))
        .collect();
    assert!(!of_work.is_empty());
    assert!(of_work.iter().all(|name| name.starts_with("[work+0x")), "{of_work:?}");
}

/// Distributions leave the functions that dynamic symbols lack in a packed section of stripped binaries. This perf does
/// not look there, so the program's own functions are what must come out.
#[test]
fn symbols_packed_into_a_stripped_binary() {
    const PACK: &str = "nm -D work --format=posix --defined-only | cut -d' ' -f1 | sort > dynamic
        nm work --format=posix --defined-only | grep ' [Tt] ' | cut -d' ' -f1 | sort > all
        comm -13 dynamic all > keep
        objcopy -S --keep-symbols=keep work mini && xz -f mini && strip --strip-all work &&
        objcopy --add-section .gnu_debugdata=mini.xz work";
    // Every function runs for many ticks of the clock, or chance would say which are seen.
    let program = PROGRAM.replace("tree(20)", "tree(27)");
    let whole = record_program("mini", &program, &["-g"], "1");
    let folder = whole.parent().unwrap();
    let mut perf = Command::new(tool("perf"));
    perf.args(["record", "-q", "-e", "cpu-clock", "-F", "2000", "--call-graph", "dwarf,4096"]);
    perf.args(["--no-buildid-cache", "-o", "perf.data", "--", "./work", "20"]);
    for program in ["nm", "objcopy", "strip", "xz"] {
        tool(program);
    }
    run(Command::new("sh").args(["-ec", PACK]).current_dir(folder));
    run(perf.current_dir(folder));
    let profile = read_exactly(&whole);
    let mut own: Vec<&str> = (profile.symbols.functions())
        .filter(|(id, _)| profile.symbols.component(*id).is_some_and(|c| c.ends_with("/work")))
        .map(|(id, _)| comparable(profile.symbols.name(id)))
        .filter(|name| !name.ends_with("@plt") && *name != "_start")
        .collect();
    own.sort_unstable();
    own.dedup();
    assert_eq!(own, ["compare", "kernel_some", "main", "sort_some", "tree"]);
}

/// Records a program that is compiled while it runs.
fn record_node(name: &str, options: &[&str], node_option: &str) -> PathBuf {
    let folder = folder(name);
    let script = "function busy(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s }
        let t = 0; for (let i = 0; i < 3000; i++) t += busy(50000); if (t === 1) console.log(t)";
    std::fs::write(folder.join("busy.js"), script).unwrap();
    let mut perf = Command::new(tool("perf"));
    perf.args(["record", "-q", "-e", "cpu-clock", "-F", "2000", "-g"]).args(options);
    perf.args(["-o", "perf.data", "--"])
        .arg(tool("node"))
        .args([node_option, "busy.js"])
        .current_dir(&folder);
    run(&mut perf);
    folder.join("perf.data")
}

/// A log of the code is read where the recording is, and the objects that `perf inject` makes of it: both name what
/// perf names from those objects.
#[test]
fn logs_of_code_made_at_run_time() {
    let path = record_node("jitdump", &["-k", "mono"], "--perf-prof");
    let injected = path.with_file_name("injected.data");
    let mut inject = Command::new(tool("perf"));
    inject.args(["inject", "-j", "-i"]).arg(&path).arg("-o").arg(&injected);
    run(inject.current_dir(path.parent().unwrap()));
    let perfs = perfs(&injected, &["--no-inline"]);
    let busy = |folded: &Folded| -> i64 {
        let inner = |stack: &str| stack.rsplit(';').next().is_some_and(|n| n.contains("busy "));
        folded.iter().filter(|row| inner(row.0)).map(|row| row.1).sum()
    };
    assert!(busy(&perfs) > 50, "{} samples of perf's are in the function", busy(&perfs));
    for path in [&path, &injected] {
        let profile = read_exactly(path);
        let jitted = profile.symbols.functions().filter(|(_, f)| {
            f.component.is_some_and(|component| profile.symbols.text(component) == "[JIT]")
        });
        assert!(jitted.count() > 1);
        let ours = ours(&profile, Inlines::Hidden);
        assert_eq!(busy(&ours), busy(&perfs));
        let share = equal_share(&ours, &perfs);
        assert!(share >= 0.95, "{share} of the stacks are equal");
    }
}

#[test]
fn code_made_at_run_time() {
    let path = record_node("jit", &[], "--perf-basic-prof");
    let profile = read_exactly(&path);
    let busy = (profile.symbols.functions())
        .find(|(id, _)| profile.symbols.name(*id).contains("busy "))
        .map(|(id, _)| profile.symbols.component(id).unwrap());
    assert_eq!(busy, Some("[JIT]"));
    let ours = ours(&profile, Inlines::Hidden);
    let share = equal_share(&ours, &perfs(&path, &["--no-inline"]));
    assert!(share >= 0.95, "{share} of the stacks are equal");
}
