//! `perfblame record`: runs of a program under a profiler.
//!
//! Standard output is the program's. What we say goes to standard error, and only what is worth it.

pub mod chrome;
mod os;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use perfblame_record::{
    CallGraph, Choice, Input, JavaExact, NativeEvent, Output, Profiler, Program, RecordError,
    Recorded, Running, Settings, choose, frequency_for, record_run, record_running, run_plain,
};
use perfblame_words::counted;

use crate::args::{CallGraphArg, EventArg, RecordArgs, WhatArg};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::terminal::{Terminal, complain};

/// Where recordings go that were given no place.
const RECORDINGS: &str = "perfblame-runs";

/// Records as many runs as asked for and says where they are.
pub fn run(args: &RecordArgs, terminal: &Terminal) -> anyhow::Result<ExitCode> {
    let cancel = output::cancel_on_signals().cancel_flag();
    args.check_chrome()?;
    if args.what == WhatArg::Chrome {
        return chrome::run(args, terminal, cancel);
    }
    let mut session = Session::new(args, terminal, cancel)?;
    let outcome = session.record_all();
    session.summary(terminal);
    match outcome {
        Ok(status) => Ok(status),
        Err(RecordError::Cancelled) => {
            complain("recording cancelled\n");
            Ok(ExitCode::from(output::INTERRUPTED))
        }
        Err(error) => Err(error.into()),
    }
}

struct Session<'a> {
    args: &'a RecordArgs,
    terminal: &'a Terminal,
    cancel: &'a AtomicBool,
    choice: Choice,
    program: Program,
    running: Option<Running>,
    settings: Settings,
    folder: PathBuf,
    /// True when we named the folder ourselves, and may take it away when it stays empty.
    own_folder: bool,
    runs: Vec<Recorded>,
    notes: Vec<String>,
}

impl<'a> Session<'a> {
    fn new(
        args: &'a RecordArgs,
        terminal: &'a Terminal,
        cancel: &'a AtomicBool,
    ) -> anyhow::Result<Self> {
        let mut program = Program::new(args.command.iter().cloned());
        program.timeout = args.timeout;
        program.stdin = match &args.input {
            Some(file) => Input::File(std::path::absolute(file)?),
            None if args.runs == 1 && args.warmup == 0 && !std::io::stdin().is_terminal() => {
                Input::Inherit
            }
            None => Input::Empty,
        };
        args.check_os()?;
        let running = args.running();
        if program.command.is_empty() && running.is_none() {
            return Err(RecordError::NoCommand.into());
        }
        let choice = args.choice(&program)?;
        let folder = args.folder()?;
        Ok(Self {
            args,
            terminal,
            cancel,
            choice,
            program,
            running,
            settings: args.settings(),
            own_folder: args.output.is_none(),
            folder,
            runs: Vec::new(),
            notes: Vec::new(),
        })
    }

    fn record_all(&mut self) -> Result<ExitCode, RecordError> {
        for number in 1..=self.args.warmup {
            let _progress = self.announce("warming up", number, self.args.warmup);
            let mut program = self.program.clone();
            (program.stdout, program.stderr) = (Output::Discard, Output::Discard);
            let warm = run_plain(&program, self.cancel)?;
            self.sample_short_programs_more(warm.cpu);
        }
        let first = if self.args.append { next_number(&self.folder) } else { 1 };
        let mut again = self.args.warmup == 0;
        let mut number = 0;
        while number < self.args.runs {
            let progress = self.announce("recording", number + 1, self.args.runs);
            let name = format!("run-{}", first + number);
            self.keep_output(&name)?;
            let run = self.record_one(&name)?;
            drop(progress);
            if std::mem::take(&mut again)
                && (run.status.success() || self.args.ignore_failure)
                && self.program.stdin != Input::Inherit
                && self.sample_short_programs_more(run.cpu)
            {
                remove(&run.profiles);
                self.note("recording the first run again".to_owned());
                continue;
            }
            for note in &run.notes {
                self.note(note.clone());
            }
            if self.choice.profiler == Profiler::OsTrace {
                for note in os::complete(&run, !self.args.without_binaries) {
                    self.note(note);
                }
            }
            let status = run.status;
            self.runs.push(run);
            number += 1;
            if !status.success() && !self.args.ignore_failure {
                self.note(format!("run {number} ended with {}", shown(status)));
                return Ok(ExitCode::from(code(status)));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn record_one(&self, name: &str) -> Result<Recorded, RecordError> {
        let (settings, folder) = (&self.settings, &*self.folder);
        if let Some(running) = self.running {
            return record_running(running, settings, folder, name, self.cancel);
        }
        record_run(self.choice.profiler, &self.program, settings, folder, name, self.cancel)
    }

    /// Raises the frequency for a program that ends before there are enough samples; true when that changes anything.
    fn sample_short_programs_more(&mut self, cpu: Duration) -> bool {
        if self.settings.frequency.is_some() {
            return false;
        }
        let Some(frequency) = frequency_for(self.choice.profiler, cpu) else { return false };
        self.settings.frequency = Some(frequency);
        self.note(format!(
            "the program computes for only {}, so perfblame takes {frequency} samples a second",
            time(cpu)
        ));
        true
    }

    fn keep_output(&mut self, name: &str) -> Result<(), RecordError> {
        if !self.args.keep_output {
            return Ok(());
        }
        // Not among the runs, each file of which is one.
        let folder = self.folder.join("output");
        fs::create_dir_all(&folder).map_err(|source| RecordError::File {
            what: "create",
            path: folder.clone(),
            source,
        })?;
        self.program.stdout = Output::File(folder.join(format!("{name}.stdout")));
        self.program.stderr = Output::File(folder.join(format!("{name}.stderr")));
        Ok(())
    }

    /// Progress where nothing of the program's gets in its way.
    fn announce(&self, doing: &str, number: u32, of: u32) -> Option<Progress> {
        let alone = self.args.keep_output && self.terminal.shows_progress();
        alone.then(|| Progress::waiting(&format!("{doing}, run {number} of {of}")))
    }

    /// Said at the end, once.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn summary(&self, terminal: &Terminal) {
        for note in &self.notes {
            terminal.note(note);
        }
        let profiles = self.runs.iter().filter(|run| !run.profiles.is_empty()).count();
        if profiles == 0 {
            if self.own_folder {
                remove_empty(&self.folder);
            }
            return;
        }
        let mut text = format!(
            "recorded {} with {}{}\n",
            counted(profiles as u64, "run", "runs"),
            self.choice.profiler.name(),
            self.runs.iter().find_map(|run| run.frequency).map_or_else(
                || ", every call".to_owned(),
                |frequency| {
                    let waits =
                        self.choice.profiler == Profiler::OsTrace && self.settings.os.events.sched;
                    let waits = if waits { ", and whenever a thread waits" } else { "" };
                    format!(", {frequency} samples a second{waits}")
                }
            ),
        );
        if self.args.what == WhatArg::Auto {
            let _ = writeln!(text, "  because {}", self.choice.because);
        }
        for run in &self.runs {
            let Some((first, others)) = run.profiles.split_first() else { continue };
            let more = match others.len() {
                0 => String::new(),
                count => format!(", plus {count} of other processes or workers"),
            };
            let _ = writeln!(text, "  {}  {}{more}", relative(first).display(), time(run.wall));
        }
        let _ = writeln!(text, "next: {}", self.next_command());
        terminal.say(&text);
    }

    fn next_command(&self) -> String {
        let trace = self.choice.profiler == Profiler::OsTrace;
        next_command(&self.folder, self.own_folder, if trace { "infer" } else { "show" })
    }
}

fn next_command(folder: &Path, own: bool, look: &str) -> String {
    let shown = quoted(&relative(folder));
    match previous(folder).filter(|_| own) {
        Some(before) => format!("perfblame diff {} {shown}", quoted(&relative(&before))),
        None => format!("perfblame {look} {shown}, or perfblame diff {shown} AFTER"),
    }
}

/// Takes the folders away that we named ourselves, when nothing came of them.
fn remove_empty(folder: &Path) {
    let _ = fs::remove_dir(folder);
    let _ = fs::remove_dir(RECORDINGS);
}

impl RecordArgs {
    fn choice(&self, program: &Program) -> Result<Choice, RecordError> {
        let because = "you chose it".to_owned();
        let mut choice = match self.what {
            WhatArg::Auto => choose(program)?,
            WhatArg::Java => Choice { profiler: Profiler::Jfr, because },
            WhatArg::Native => Choice { profiler: Profiler::Perf, because },
            WhatArg::Python => Choice { profiler: Profiler::PySpy, because },
            WhatArg::Node => Choice { profiler: Profiler::NodeCpuProf, because },
            WhatArg::Os => Choice { profiler: Profiler::OsTrace, because },
            // It has no command and went its own way.
            WhatArg::Chrome => return Err(RecordError::NoCommand),
        };
        if self.exact {
            choice.profiler = match choice.profiler {
                Profiler::Perf | Profiler::Uftrace => Profiler::Uftrace,
                Profiler::Jfr | Profiler::JavaExact => Profiler::JavaExact,
                sampled => {
                    return Err(RecordError::NoProfile {
                        profiler: sampled,
                        why: "it takes samples, so it does not see every call".to_owned(),
                        help: Some("remove `--exact`".to_owned()),
                    });
                }
            };
        }
        Ok(choice)
    }

    fn settings(&self) -> Settings {
        Settings {
            frequency: self.frequency,
            call_graph: match self.call_graph {
                CallGraphArg::Auto => CallGraph::Auto,
                CallGraphArg::FramePointers => CallGraph::FramePointers,
                CallGraphArg::Dwarf(stack) => CallGraph::Dwarf {
                    stack: stack.unwrap_or(if self.what == WhatArg::Os {
                        8 << 10
                    } else {
                        16 << 10
                    }),
                },
            },
            event: match self.event {
                EventArg::CpuClock => NativeEvent::CpuClock,
                EventArg::Cycles => NativeEvent::Cycles,
            },
            java_exact: JavaExact { agent: self.agent.clone(), packages: self.packages.clone() },
            os: self.os(),
            size_limit: self.max_size,
            extra: self.profiler_args.clone(),
            ..Settings::default()
        }
    }

    /// Where the runs go: never where runs are already, unless to join them.
    fn folder(&self) -> anyhow::Result<PathBuf> {
        let Some(folder) = &self.output else {
            let name = self.command.first().map(|word| Path::new(word).file_name());
            let name = name.flatten().unwrap_or(OsStr::new("program")).to_string_lossy();
            let name = match self.running() {
                None if self.what == WhatArg::Chrome => self.page_name(),
                Some(Running::Process(id)) => name_of(id).unwrap_or_else(|| "process".to_owned()),
                Some(Running::All) => "machine".to_owned(),
                None => name.into_owned(),
            };
            return new_folder(&name);
        };
        if !self.append && next_number(folder) > 1 {
            return Err(Failure {
                what: format!("{} already contains runs", folder.display()),
                why: String::new(),
                help: Some("choose another folder, or add to them with `--append`".to_owned()),
            }
            .into());
        }
        Ok(std::path::absolute(folder)?)
    }
}

/// A folder for recordings of `name` that is not there yet.
pub fn new_folder(name: &str) -> anyhow::Result<PathBuf> {
    let numbered = |number: u32| Path::new(RECORDINGS).join(format!("{name}-{number}"));
    let free = (1..u32::MAX).map(numbered).find(|folder| folder.symlink_metadata().is_err());
    Ok(std::path::absolute(free.unwrap_or_else(|| RECORDINGS.into()))?)
}

/// What a process is called.
fn name_of(process: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    let plain = |c: char| c.is_alphanumeric() || "._-+".contains(c);
    Some(name.trim().chars().map(|c| if plain(c) { c } else { '-' }).collect())
}

/// The number after that of the last run in a folder.
fn next_number(folder: &Path) -> u32 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let digits = name.strip_prefix("run-")?.split('.').next()?;
        digits.parse::<u32>().ok()
    });
    numbers.max().map_or(1, |last| last.saturating_add(1))
}

/// The recording of the same program before this one.
fn previous(folder: &Path) -> Option<PathBuf> {
    let (stem, number) = folder.file_name()?.to_str()?.rsplit_once('-')?;
    let before = number.parse::<u32>().ok()?.checked_sub(1)?;
    Some(folder.with_file_name(format!("{stem}-{before}"))).filter(|path| path.is_dir())
}

fn remove(profiles: &[PathBuf]) {
    for (index, path) in profiles.iter().enumerate() {
        let _ = fs::remove_file(path);
        if let (1.., Some(others)) = (index, path.parent()) {
            let _ = fs::remove_dir(others);
        }
    }
}

pub fn relative(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

/// As a shell takes it for one word.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1000.0) } else { format!("{seconds:.2} s") }
}

fn shown(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".to_owned(),
    }
}

/// As a shell would report it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    u8::try_from(code.unwrap_or(2)).unwrap_or(u8::MAX)
}
