//! The runs of one workload with one input on two checkouts.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perfblame_analysis::{Ask, Diff, DiffTree, Verdict};
use perfblame_cct::{NameKinds, Profile, Side, Sides, Warning, normalise, rename};
use perfblame_record::{
    Output as RecordOutput, Profiler, Program, RecordError, Settings, choose, frequency_for,
    record_run, run_plain,
};

use crate::attribution::ChangedCode;
use crate::config::{Output, Workload};
use crate::machine::surroundings;
use crate::sequential::{Budget, CollectedRuns, Reading, Runs, revision_name};
use crate::stored::{About, Shelf, alternating, read_profile};
use crate::watch::{CheckEvent, Watch};
use crate::{Built, Failure, Home, Snapshot, key};

/// What is run.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// One of its inputs.
    pub input: &'a str,
    /// The user's working tree, where inputs are looked for.
    pub root: &'a Path,
    /// Both revisions.
    pub revisions: Sides<&'a Snapshot>,
    /// Their checkouts.
    pub built: Sides<&'a Built>,
}

/// Where runs are kept, and who watches.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// perfblame's folder.
    pub home: &'a Home,
    /// Hears what happens.
    pub watch: &'a dyn Watch,
    /// Whether anybody still waits for the answer.
    pub ask: &'a Ask,
}

/// Makes the runs.
pub struct Bench<'a> {
    subject: Subject<'a>,
    around: Around<'a>,
    /// The profiler that is used.
    pub profiler: Profiler,
    settings: Settings,
    tried: Tried,
    programs: Sides<Program>,
    shelves: Sides<Shelf>,
    /// Number of this series of alternating runs.
    series: String,
    scratch: Scratch,
    outputs: Sides<BTreeSet<String>>,
    notes: BTreeSet<String>,
    budget: Budget,
    /// What the programs took, all together.
    pub spent: Duration,
    /// What changed in the code, when that is known.
    pub code: Option<&'a ChangedCode<'a>>,
}

/// What of the profiler works on this machine, kept so that it is tried out once and not by every check.
struct Tried {
    file: PathBuf,
    known: perfblame_record::Tried,
    kept: String,
}

impl Tried {
    fn of(home: &Home, machine: &[String]) -> Self {
        let parts: Vec<&str> = machine.iter().map(String::as_str).collect();
        let file = home.profiles().join(format!("{}.tried", key(&parts)));
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        let known = perfblame_record::Tried::default();
        known.take_up(&kept);
        Self { file, known, kept }
    }

    /// True when there was something that an earlier check had kept.
    fn forget(&mut self) -> bool {
        self.known.forget();
        let _ = std::fs::remove_file(&self.file);
        !std::mem::take(&mut self.kept).is_empty()
    }

    fn keep(&mut self) {
        let lines = self.known.lines();
        if lines != self.kept {
            let _ = perfblame_disk::write_bytes(&self.file, lines.as_bytes());
            self.kept = lines;
        }
    }
}

/// A folder that goes when this does.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl<'a> Bench<'a> {
    /// Finds the profiler and how often it samples.
    pub fn new(subject: Subject<'a>, around: Around<'a>) -> Result<Self, Failure> {
        let workload = subject.workload;
        let scratch = around.home.path().join(format!("run.{}", std::process::id()));
        let scratch = Scratch(scratch);
        let _ = std::fs::remove_dir_all(&scratch.0);
        std::fs::create_dir_all(&scratch.0)
            .map_err(|error| Failure::io("make", &scratch.0, &error))?;
        let log = around.home.logs().join(format!("run-{}.log", subject.built.after.key));
        let (input, content) = resolved(subject)?;
        let programs = Sides::of(|side| program(subject, side, &input, &scratch.0, &log));
        for (program, revision) in programs.iter().zip(subject.revisions) {
            if !program.directory.is_dir() {
                let what = format!(
                    "there is no folder `{}`",
                    workload.directory.as_deref().unwrap_or(".")
                );
                return Err(Failure::new(
                    what,
                    format!("in {}", crate::trees::described(revision)),
                ));
            }
        }
        let profiler = match &workload.profiler {
            Some(name) => Profiler::named(name).ok_or_else(|| unknown(name))?,
            None => choose(&programs.after).map_err(|error| cannot_record(&error))?.profiler,
        };
        let command = workload.run.with_input(&input);
        let mut same = vec![workload.directory.clone().unwrap_or_default(), content];
        same.extend(command);
        let machine = surroundings(profiler);
        let tried = Tried::of(around.home, &machine);
        let settings = Settings { tried: tried.known.clone(), ..Settings::default() };
        same.extend(machine);
        let texts: Vec<&str> = same.iter().map(String::as_str).collect();
        let mut bench = Self {
            subject,
            around,
            profiler,
            settings,
            tried,
            programs,
            shelves: Sides::of(|_| Shelf::of(around.home, "")),
            series: series(),
            scratch,
            outputs: Sides::default(),
            notes: BTreeSet::new(),
            budget: Budget { whole: workload.budget, spent: Duration::ZERO },
            spent: Duration::ZERO,
            code: None,
        };
        let of_base = [&texts[..], &[&subject.built.before.key]].concat();
        bench.settings.frequency = bench.frequency(&key(&of_base))?;
        let frequency = format!("{:?}", bench.settings);
        bench.shelves = Sides::of(|side| {
            let parts = [&texts[..], &[&subject.built[side].key, &frequency]].concat();
            let shelf = Shelf::of(around.home, &key(&parts));
            shelf.label(&About {
                tree: subject.revisions[side].tree.clone(),
                workload: workload.name.clone(),
                input: subject.input.to_owned(),
            });
            shelf
        });
        Ok(bench)
    }

    /// How often to sample: the first time, a run of the base without a profiler says how short the program is. Both
    /// sides, and all later checks against this base, sample as often.
    fn frequency(&mut self, key: &str) -> Result<Option<u32>, Failure> {
        let path = self.around.home.profiles().join(format!("{key}.frequency"));
        if let Ok(text) = std::fs::read_to_string(&path) {
            return Ok(text.trim().parse().ok());
        }
        self.running(Side::Before, 0);
        let ran = run_plain(&self.programs.before, self.around.ask.cancel_flag());
        let ran = ran.map_err(|error| cannot_record(&error))?;
        self.spent += ran.wall;
        self.ended_well(Side::Before, ran.status)?;
        let frequency = frequency_for(self.profiler, ran.cpu);
        let _ = std::fs::write(&path, frequency.map_or("usual".to_owned(), |it| it.to_string()));
        Ok(frequency)
    }

    /// Runs of earlier checks that can be used.
    pub fn stored(&mut self) -> Result<CollectedRuns, Failure> {
        let most = self.subject.workload.max_runs as usize;
        let stored = alternating(self.shelves.as_ref(), most, self.around.ask)?;
        let mut collected = CollectedRuns::default();
        for (side, runs) in Side::BOTH.into_iter().zip(stored) {
            for (number, run) in (1..).zip(runs) {
                self.outputs[side].insert(run.output);
                let name = format!("{} run {number}, kept", revision_name(side));
                collected.add(side, run.profile, name);
            }
        }
        Ok(collected)
    }

    /// Runs that are not counted.
    pub fn warm_up(&mut self) -> Result<(), Failure> {
        for _ in 0..self.subject.workload.warmup {
            for side in Side::BOTH {
                self.running(side, 0);
                let ran = run_plain(&self.programs[side], self.around.ask.cancel_flag());
                let ran = ran.map_err(|error| cannot_record(&error))?;
                self.spent += ran.wall;
                self.ended_well(side, ran.status)?;
            }
        }
        Ok(())
    }

    /// What was surprising.
    pub fn warnings(&self) -> Vec<Warning> {
        let warning =
            |code: &str, message: String| Warning { code: code.to_owned(), message, count: 1 };
        let mut all: Vec<Warning> =
            self.notes.iter().map(|note| warning("profiler", note.clone())).collect();
        if self.subject.workload.output == Output::Same
            && self.outputs.iter().any(|it| it.len() > 1)
        {
            let message = "the program's output varies from run to run, so perfblame did not check that both sides print the same; if this is intended, set `output = \"ignore\"`";
            all.push(warning("output-varies", message.to_owned()));
        }
        all
    }

    fn running(&self, side: Side, done: u32) {
        self.around.watch.event(&CheckEvent::Running {
            workload: &self.subject.workload.name,
            input: self.subject.input,
            revision: self.subject.revisions[side],
            done,
            most: self.subject.workload.max_runs,
        });
    }

    fn ended_well(&self, side: Side, status: std::process::ExitStatus) -> Result<(), Failure> {
        if status.success() {
            return Ok(());
        }
        let revision = crate::trees::described(self.subject.revisions[side]);
        let what = format!("`{}` fails on {revision}", self.subject.workload.name);
        let command = self.subject.workload.run.with_input(self.subject.input).join(" ");
        let failure = Failure::new(what, format!("`{command}` ended with {status}"));
        match &self.programs[side].stderr {
            RecordOutput::File(log) => Err(failure.with_log(log)),
            _ => Err(failure),
        }
    }

    /// Whether both sides print the same, as far as each always prints the same.
    fn same_output(&self) -> Result<(), Failure> {
        let Sides { before, after } = &self.outputs;
        let differs = before.len() == 1 && after.len() == 1 && before != after;
        if self.subject.workload.output == Output::Ignore || !differs {
            return Ok(());
        }
        let name = &self.subject.workload.name;
        let text = |side: Side| {
            let bytes =
                std::fs::read(self.scratch.0.join(format!("first-{side}"))).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let why = first_difference(&text(Side::Before), &text(Side::After));
        Err(Failure::new(format!("`{name}` printed different output before and after"), why).help(
            "programs that do different things cannot be compared; if this is intended, set `output = \"ignore\"` in perfblame.toml",
        ))
    }
}

impl Runs for Bench<'_> {
    fn run(&mut self, side: Side, number: u32) -> Result<Reading, Failure> {
        self.running(side, number);
        let started = Instant::now();
        let name = format!("profile-{side}-{number}");
        let record = || {
            let (program, scratch) = (&self.programs[side], &self.scratch.0);
            record_run(
                self.profiler,
                program,
                &self.settings,
                scratch,
                &name,
                self.around.ask.cancel_flag(),
            )
        };
        let mut recorded = record();
        // What worked for an earlier check may be forbidden now; trying it out anew tells why.
        if matches!(recorded, Err(RecordError::NoProfile { .. })) && self.tried.forget() {
            recorded = record();
        }
        let recorded = recorded.map_err(|error| cannot_record(&error))?;
        self.tried.keep();
        self.spent += recorded.wall;
        self.ended_well(side, recorded.status)?;
        self.notes.extend(recorded.notes);
        let output = self.scratch.0.join(format!("out-{side}"));
        let printed = content_key(&output);
        if self.outputs[side].is_empty() {
            let _ = std::fs::rename(&output, self.scratch.0.join(format!("first-{side}")));
        }
        self.outputs[side].insert(printed.clone());
        if number >= 1 {
            self.same_output()?;
        }
        self.budget.spent += started.elapsed();
        let (shelf, series) = (self.shelves[side].clone(), self.series.clone());
        let root = self.subject.built[side].path.clone();
        let (profiler, ask) = (self.profiler, self.around.ask.clone());
        Ok(Box::new(move || {
            let profile = read_all(&recorded.profiles, &root, profiler, &ask)?;
            shelf.keep(&series, number, &profile, &printed);
            Ok(profile)
        }))
    }

    fn has_time(&mut self, done: u32) -> bool {
        self.budget.spent.is_zero() || self.budget.fits(done)
    }

    fn cannot_differ(&mut self, diff: &Diff, tree: &DiffTree) -> bool {
        self.code.is_some_and(|code| code.is_unreached(diff, tree))
    }

    fn looked(&mut self, runs: u32, verdict: Verdict, clear: bool) {
        self.around.watch.event(&CheckEvent::Looked {
            workload: &self.subject.workload.name,
            input: self.subject.input,
            runs,
            verdict,
            clear,
        });
    }
}

/// The profile of a run. A program of several processes is one program: the others are read with the first.
fn read_all(
    paths: &[PathBuf],
    root: &Path,
    profiler: Profiler,
    ask: &Ask,
) -> Result<Profile, Failure> {
    let first = paths.first().ok_or_else(|| {
        Failure::new(format!("{} wrote no profile", profiler.name()), "the run is too short")
    })?;
    let profile = below_root(read_profile(first, ask)?, root);
    for path in paths {
        let _ = std::fs::remove_file(path);
    }
    Ok(profile)
}

/// The profile with files as the repository has them: where a checkout lies says nothing about the program. Only then
/// are names made alike that differ from run to run, since a checkout's folder looks like one of those.
fn below_root(profile: Profile, root: &Path) -> Profile {
    let root = format!("{}/", root.display());
    let address = format!("file://{root}");
    let profile = rename(profile, |text| {
        if text.contains(&root) {
            Cow::Owned(text.replace(&address, "").replace(&root, ""))
        } else {
            Cow::Borrowed(text)
        }
    });
    normalise(profile, NameKinds::default())
}

/// A number that no other series has.
fn series() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("{:024}", now.map_or(0, |now| now.as_nanos()))
}

fn program(subject: Subject<'_>, side: Side, input: &str, scratch: &Path, log: &Path) -> Program {
    let workload = subject.workload;
    let root = &subject.built[side].path;
    let directory = workload.directory.as_ref().map_or(root.clone(), |below| root.join(below));
    let os = |text: &String| OsString::from(text);
    Program {
        directory,
        environment: workload.environment.iter().map(|(name, it)| (os(name), os(it))).collect(),
        stdout: RecordOutput::File(scratch.join(format!("out-{side}"))),
        stderr: RecordOutput::File(log.to_owned()),
        ..Program::new(workload.run.with_input(input))
    }
}

/// The input as both sides get it, and its content: a file of the working tree is the same file for both, whatever a
/// commit did to it.
fn resolved(subject: Subject<'_>) -> Result<(String, String), Failure> {
    let folder = subject.workload.directory.as_deref().unwrap_or(".");
    let path = subject.root.join(folder).join(subject.input);
    if subject.input.is_empty() || !path.is_file() {
        return Ok((subject.input.to_owned(), String::new()));
    }
    let path = path.canonicalize().map_err(|error| Failure::io("read", &path, &error))?;
    Ok((path.display().to_string(), content_key(&path)))
}

/// A name for what a file holds.
fn content_key(path: &Path) -> String {
    perfblame_keys::content_key(&std::fs::read(path).unwrap_or_default())
}

fn first_difference(before: &str, after: &str) -> String {
    let (mut before, mut after) = (before.lines(), after.lines());
    let shown = |line: Option<&str>| match line {
        Some(line) => line.chars().take(200).collect::<String>(),
        None => "(end of output)".to_owned(),
    };
    for number in 1.. {
        let pair = (before.next(), after.next());
        if pair.0 != pair.1 {
            return format!("line {number}:\n- {}\n+ {}", shown(pair.0), shown(pair.1));
        }
        if pair == (None, None) {
            break;
        }
    }
    "only binary data differs".to_owned()
}

fn unknown(name: &str) -> Failure {
    let known: Vec<&str> = Profiler::ALL.iter().map(|profiler| profiler.name()).collect();
    Failure::new(format!("unknown profiler `{name}`"), "perfblame.toml sets it")
        .help(format!("the profilers are auto, {}", known.join(", ")))
}

fn cannot_record(error: &RecordError) -> Failure {
    if matches!(error, RecordError::Cancelled) {
        return Failure::cancelled();
    }
    Failure { help: error.help(), ..Failure::new(error.to_string(), error.why()) }
}
