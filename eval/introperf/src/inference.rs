//! Table 3, figure 8 and the errors of latencies: what stacks at kernel events tell of a program whose every call is
//! known, in one and the same run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::exact::{
    Coverage, Exact, Guess, ToldApart, coverage, errors, is_seen, median, told_apart,
};
use crate::machine::{PROGRAMS_RUN_ON, Ticking};
use crate::plain;
use crate::programs::{Program, build};
use crate::script;
use perfblame_disk::Unfinished;
use perfblame_eval_steps::Work;

/// Which events stacks are taken at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Events {
    Calls,
    CallsAndSwitches,
    CallsSwitchesAndTicks,
}

impl Events {
    /// From few to many.
    pub const ALL: [Self; 3] = [Self::Calls, Self::CallsAndSwitches, Self::CallsSwitchesAndTicks];

    fn takes(self, kind: &str) -> bool {
        match kind {
            _ if kind.starts_with("raw_syscalls:") => true,
            _ if kind.starts_with("sched:") => self != Self::Calls,
            _ => self == Self::CallsSwitchesAndTicks,
        }
    }
}

/// What is found with some kinds of events.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Inferred {
    pub stacks: usize,
    pub coverage: Coverage,
    /// Median errors over the slowest calls, as shares of the truth.
    pub conservative: f64,
    pub aggressive: f64,
    pub estimate: f64,
    /// The same over those of them that are on a stack.
    pub of_seen: [f64; 3],
    /// By the paper, and by us.
    #[serde(default)]
    pub told_apart: [ToldApart; 2],
}

/// A program's row.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct InferenceRow {
    pub program: String,
    pub calls: usize,
    pub contexts: usize,
    /// System calls for each hundred calls.
    pub syscall_rate: f64,
    /// Stacks that do not reach `main`.
    pub broken: f64,
    /// By [`Events::ALL`].
    pub by_events: Vec<Inferred>,
}

/// Stacks that may break off, in percent, and how often a run is repeated for it.
const BROKEN: f64 = 5.0;
const ATTEMPTS: usize = 8;

/// Runs a program once with everything on, and measures.
pub fn row(work: &Work, program: &Program, perfblame: &Path) -> Result<InferenceRow> {
    let folder = build(work, program)?;
    let trace = folder.join("trace.data");
    let calls = folder.join("calls");
    // perf often cannot walk stacks of a program that another one started in its place; then once more.
    let mut attempts = 0;
    let (exact, text) = loop {
        if !trace.is_file() {
            record(program, &folder, &calls, &trace)?;
        }
        let (exact, text) = (dump(&calls)?, text(&trace)?);
        attempts += 1;
        if broken(&blocks_within(&text, &exact)) < BROKEN || attempts == ATTEMPTS {
            break (exact, text);
        }
        fs::remove_file(&trace)?;
    };
    let blocks = blocks_within(&text, &exact);
    if blocks.is_empty() {
        bail!("{}: no stacks of its threads", program.name);
    }
    let syscalls = blocks.iter().filter(|block| block.kind == "raw_syscalls:sys_enter").count();
    let mut row = InferenceRow {
        program: program.name.to_owned(),
        calls: exact.calls.len(),
        contexts: exact.contexts.len(),
        syscall_rate: 100.0 * syscalls as f64 / exact.calls.len().max(1) as f64,
        broken: broken(&blocks),
        by_events: Vec::new(),
    };
    let slowest = exact.slowest();
    for events in Events::ALL {
        let taken: Vec<&Block<'_>> =
            blocks.iter().filter(|block| events.takes(&block.kind)).collect();
        let mut times: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let mut chosen = String::new();
        for block in &taken {
            times.entry(block.thread).or_default().push(block.time);
            let _ = write!(chosen, "{}\n{}\n", block.header, block.frames);
        }
        for times in times.values_mut() {
            times.sort_unstable();
        }
        let [conservative, aggressive] = by_the_paper(&exact, &chosen);
        let file = folder.join(format!("{events:?}.perf-script.txt"));
        fs::write(&file, &chosen)?;
        let [ours, between_stacks] = by_perfblame(&exact, &file, perfblame)?;
        let error = |guesses| median(errors(&exact, &slowest, guesses));
        row.by_events.push(Inferred {
            stacks: taken.len(),
            coverage: coverage(&exact, &times),
            conservative: error(&conservative),
            aggressive: error(&aggressive),
            estimate: error(&ours),
            told_apart: [&conservative, &between_stacks].map(|calls| told_apart(&exact, calls)),
            of_seen: [&conservative, &aggressive, &ours].map(|guesses| {
                let seen: Vec<usize> = slowest
                    .iter()
                    .copied()
                    .filter(|call| is_seen(&exact.calls[*call], &times))
                    .collect();
                median(errors(&exact, &seen, guesses))
            }),
        });
    }
    Ok(row)
}

fn record(program: &Program, folder: &Path, calls: &Path, trace: &Path) -> Result<()> {
    let unfinished = Unfinished::beside(trace);
    // A buffer that never gets full: the tracer's own system calls would be the program's.
    let recorder = "-k mono --sample-cpu -m 32768 -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit \
                    -e sched:sched_switch -e cpu-clock/freq=997/ --call-graph dwarf,16384";
    let _ = fs::remove_dir_all(calls);
    let ticking = Ticking::start()?;
    let output = Command::new("taskset")
        .args(["-c", PROGRAMS_RUN_ON, "perf", "record"])
        .args(recorder.split_whitespace())
        .arg("-o")
        .arg(unfinished.path())
        .args(["--", "uftrace", "record", "-b", "512M", "--no-libcall", "-d"])
        .arg(calls)
        .arg("./program")
        .args(arguments(program, folder)?)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    drop(ticking);
    if !output.status.success() {
        bail!("{}: {}", program.name, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(unfinished.finish()?)
}

/// What the program is started with.
fn arguments(program: &Program, folder: &Path) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for argument in program.arguments {
        let Some(inner) = argument.strip_suffix("/*") else {
            all.push((*argument).to_owned());
            continue;
        };
        let mut files = Vec::new();
        for entry in fs::read_dir(folder.join(inner))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            // What an earlier run made has an extension.
            if !name.contains('.') {
                files.push(format!("{inner}/{name}"));
            }
        }
        files.sort();
        all.extend(files);
    }
    Ok(all)
}

fn dump(calls: &Path) -> Result<Exact> {
    let mut child = Command::new("uftrace")
        .args(["dump", "-d"])
        .arg(calls)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start uftrace")?;
    let out = child.stdout.take().context("no output")?;
    let exact = Exact::parse(BufReader::new(out).lines().map_while(Result::ok));
    child.wait()?;
    if exact.calls.is_empty() {
        bail!("{}: no calls", calls.display());
    }
    Ok(exact)
}

fn text(trace: &Path) -> Result<String> {
    let fields = "comm,pid,tid,cpu,time,event,trace,ip,sym,dso";
    let output = Command::new("perf")
        .args(["script", "--ns", "--no-inline", "-F", fields, "-i"])
        .arg(trace)
        .output()?;
    if !output.status.success() {
        bail!("{}: {}", trace.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// While calls are known.
fn span(exact: &Exact) -> std::ops::RangeInclusive<u64> {
    let first = exact.calls.iter().map(|call| call.start).min().unwrap_or(0);
    first..=exact.calls.iter().map(|call| call.end).max().unwrap_or(0)
}

/// Events of the threads and of the time whose calls are known.
fn blocks_within<'a>(text: &'a str, exact: &Exact) -> Vec<Block<'a>> {
    let known: BTreeSet<u32> = exact.calls.iter().map(|call| call.thread).collect();
    let span = span(exact);
    let mut blocks = blocks(text);
    blocks.retain(|block| known.contains(&block.thread) && span.contains(&block.time));
    blocks
}

/// Stacks that do not reach `main`, in percent.
fn broken(blocks: &[Block<'_>]) -> f64 {
    let broken = blocks.iter().filter(|block| !block.frames.contains(" main (")).count();
    100.0 * broken as f64 / blocks.len().max(1) as f64
}

/// An event as perf printed it.
struct Block<'a> {
    header: &'a str,
    thread: u32,
    time: u64,
    kind: String,
    frames: String,
}

/// The events of a text, without what the other tracer did.
fn blocks(text: &str) -> Vec<Block<'_>> {
    text.split("\n\n").filter_map(block).collect()
}

fn block(text: &str) -> Option<Block<'_>> {
    let text = text.trim_start_matches('\n');
    let (header, frames) = text.split_once('\n')?;
    let (thread, time, kind) = head(header)?;
    let tracer = |line: &str| line.contains("libmcount") || line.contains("__cyg_profile_func");
    let lines: Vec<&str> = frames.lines().collect();
    let mut kept = lines.clone();
    if let Some(last) = lines.iter().rposition(|line| tracer(line)) {
        let kernel = |line: &&&str| line.contains("([kernel.kallsyms])");
        if lines.iter().filter(kernel).any(|line| line.contains("entry_SYSCALL")) {
            // Its own system call, or its own waiting.
            return None;
        }
        // Interrupted within the tracer: the program is where it called it.
        let inner = lines.iter().take_while(|line| kernel(line)).copied();
        kept = inner.chain(lines[last + 1..].iter().copied()).collect();
    }
    let frames = kept.iter().fold(String::new(), |text, line| text + line + "\n");
    Some(Block { header, thread, time, kind, frames })
}

/// `comm pid/tid [cpu] time: event: …`
fn head(header: &str) -> Option<(u32, u64, String)> {
    let without_cpu = header.replacen(['[', ']'], " ", 2);
    let words: Vec<&str> = without_cpu.split_whitespace().collect();
    words.windows(4).find_map(|four| {
        let thread = four[0].split_once('/')?.1.parse().ok()?;
        let (seconds, nanos) = four[2].strip_suffix(':')?.split_once('.')?;
        let nanos: u64 = format!("{nanos:0<9}").parse().ok()?;
        let time = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)?;
        Some((thread, time, four[3].trim_end_matches(':').to_owned()))
    })
}

/// Contexts of exact calls, looked up step by step.
struct Contexts<'a>(HashMap<(Option<usize>, &'a str), usize>);

impl<'a> Contexts<'a> {
    fn of(exact: &'a Exact) -> Self {
        let entry = |(context, (parent, name)): (usize, &'a (Option<usize>, String))| {
            ((*parent, name.as_str()), context)
        };
        Self(exact.contexts.iter().enumerate().map(entry).collect())
    }

    /// The context that a frame adds, if it is one of the program's functions: then also true.
    fn step(&self, parent: Option<usize>, function: &str) -> (Option<usize>, bool) {
        match self.0.get(&(parent, function)) {
            Some(context) => (Some(*context), true),
            None => (parent, false),
        }
    }
}

type Guesses = BTreeMap<(u32, usize), Vec<Guess>>;

fn sorted(mut guesses: Guesses) -> Guesses {
    for of_one in guesses.values_mut() {
        of_one.sort_by_key(|guess| guess.start);
    }
    guesses
}

/// Both modes of the paper.
fn by_the_paper(exact: &Exact, text: &str) -> [Guesses; 2] {
    // The plain reader wants no processor and no fields.
    let text: Vec<String> = text
        .lines()
        .map(|line| match head(line) {
            Some((thread, time, kind)) if !line.starts_with(['\t']) => {
                let (seconds, nanos) = (time / 1_000_000_000, time % 1_000_000_000);
                format!("x {thread}/{thread} {seconds}.{nanos:09}: {kind}:")
            }
            _ => line.to_owned(),
        })
        .collect();
    let events = script::parse(&text.join("\n"));
    let mut calls = Vec::new();
    let tree = plain::infer_calls(&events, |call| calls.push(call));
    let contexts = Contexts::of(exact);
    let mut of_node: Vec<(Option<usize>, bool)> = Vec::with_capacity(tree.len());
    for node in 0..tree.len() {
        let (parent, frame) = tree.context(node);
        let above = parent.and_then(|parent| of_node[parent].0);
        of_node.push(contexts.step(above, frame.symbol.as_deref().unwrap_or_default()));
    }
    let mut modes = [Guesses::new(), Guesses::new()];
    for call in calls {
        if let (Some(context), true) = of_node[call.node] {
            let (start, width) = (call.start, call.aggressive);
            let latencies = [call.conservative, call.aggressive];
            for (mode, latency) in modes.iter_mut().zip(latencies) {
                let guesses = mode.entry((call.thread, context)).or_default();
                guesses.push(Guess { start, width, latency });
            }
        }
    }
    modes.map(sorted)
}

/// Our estimate, and the same calls from the first to the last stack that has them.
fn by_perfblame(exact: &Exact, trace: &Path, perfblame: &Path) -> Result<[Guesses; 2]> {
    let output = Command::new(perfblame)
        .arg("infer")
        .arg(trace)
        .args(["--instances", "--format", "json"])
        .output()
        .with_context(|| format!("cannot start {}", perfblame.display()))?;
    if !output.status.success() {
        bail!("perfblame infer: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let answer: Value =
        serde_json::from_slice(&output.stdout).context("JSON of perfblame infer")?;
    guesses(exact, &answer).context("JSON of perfblame infer")
}

fn guesses(exact: &Exact, answer: &Value) -> Option<[Guesses; 2]> {
    let contexts = Contexts::of(exact);
    let mut of_node: Vec<(Option<usize>, bool)> = Vec::new();
    for node in answer["nodes"].as_array()? {
        let parent = node["parent"].as_u64().and_then(|parent| of_node.get(parent as usize));
        let above = parent.and_then(|parent| parent.0);
        of_node.push(contexts.step(above, node["function"].as_str()?));
    }
    let mut found = [Guesses::new(), Guesses::new()];
    for call in answer["instances"].as_array()? {
        let number = |name: &str| call[name].as_u64();
        if let (Some(context), true) = *of_node.get(number("node")? as usize)? {
            let (start, width) = (number("start")?, number("aggressive")?);
            for (found, latency) in found.iter_mut().zip(["estimate", "conservative"]) {
                let guess = Guess { start, width, latency: number(latency)? };
                found.entry((number("tid")? as u32, context)).or_default().push(guess);
            }
        }
    }
    Some(found.map(sorted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_tracer_does_is_left_out() {
        let text = "\
lua 7/7 [001] 1.000000050: raw_syscalls:sys_enter: NR 1
\tff entry_SYSCALL_64 ([kernel.kallsyms])
\t1 write (libc.so.6)
\t2 [unknown] (libmcount.so)
\t3 f (program)
\t4 main (program)

lua 7/7 [001] 1.000000060: sched:sched_switch: prev_comm=lua
\tff schedule ([kernel.kallsyms])
\t2 [unknown] (libmcount.so)
\t3 f (program)
\t4 main (program)

lua 7/7 [001] 1.000000070: cpu-clock: 
\t4 main (program)
";
        let blocks = blocks(text);
        let shown: Vec<String> = (blocks.iter())
            .map(|block| {
                format!("{} {} {}", block.time, block.kind, block.frames.replace(['\t', '\n'], " "))
            })
            .collect();
        expect_test::expect![[r"
            1000000060 sched:sched_switch  ff schedule ([kernel.kallsyms])  3 f (program)  4 main (program) 
            1000000070 cpu-clock  4 main (program) "]]
        .assert_eq(&shown.join("\n"));
    }

    #[test]
    fn guesses_find_their_contexts_through_libraries() {
        let dump =
            "1.000000000  7: [entry] main(5) depth: 0\n1.000000010  7: [entry] less(6) depth: 1\n";
        let exact = Exact::parse(dump.lines().map(str::to_owned));
        let answer = serde_json::json!({
            "nodes": [
                { "id": 0, "parent": null, "function": "_start" },
                { "id": 1, "parent": 0, "function": "main" },
                { "id": 2, "parent": 1, "function": "qsort" },
                { "id": 3, "parent": 2, "function": "less" },
            ],
            "instances": [{ "node": 3, "tid": 7, "start": 5, "aggressive": 9, "estimate": 6, "conservative": 4 }],
        });
        let [found, between] = guesses(&exact, &answer).unwrap();
        assert_eq!(found[&(7, 1)], [Guess { start: 5, width: 9, latency: 6 }]);
        assert_eq!(between[&(7, 1)], [Guess { start: 5, width: 9, latency: 4 }]);
    }
}
