//! Traces of what the operating system sees: stacks at context switches and at ticks of CPU time, at system calls on
//! request; of a program, of a process that runs already or of the whole machine, with Linux perf.
//!
//! The usual way, three tracepoints with a copy of the stack each, makes a busy server three to four times slower, and
//! most of its stacks say what the one before said. What decides where time went is when a thread waits, and what it
//! runs while it does not: the usual events are therefore each context switch, with the stack that waits, and ticks of
//! CPU time. `docs/record-os.md` has the measurements behind that. Threads that switch more often than is good for them
//! are held to a part of their switches while they do ([`rate`]).
//!
//! The program is perf's direct child: wrappers that replace themselves leave broken stacks behind.

mod delays;
mod events;
mod family;
pub mod permit;
mod rate;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::child::{Limits, run_watched};
use crate::command::{find, locate, with_words};
use crate::perf::control::Control;
use crate::perf::{self, call_graph_of, has_samples};
use crate::record::{Made, Run};
use crate::{Profiler, RecordError, elf, install};
pub use delays::RunDelay;
use events::Plan;
use permit::paranoid;
use rate::{Rate, Watched};

/// What to trace, besides what [`crate::Settings`] says of every profiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OsTrace {
    /// The kinds of events.
    pub events: OsEvents,
    /// Every event, however much that costs.
    pub full: bool,
    /// Recording ends after this long; a program that was started goes on.
    pub duration: Option<Duration>,
}

/// Kinds of events that stacks are taken at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsEvents {
    /// System calls.
    pub syscalls: bool,
    /// Context switches.
    pub sched: bool,
    /// Ticks of CPU time.
    pub cpu: bool,
}

impl Default for OsEvents {
    /// What together accounts for all time, at the least cost.
    fn default() -> Self {
        Self { syscalls: false, sched: true, cpu: true }
    }
}

/// What runs already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// A process, with its threads and with those it starts from now on.
    Process(u32),
    /// Everything on this machine.
    All,
}

/// Enough of each stack for nearly all programs; twice that takes half as long again to copy.
const STACK: u32 = 8 << 10;

/// Packed, this is some twenty times as much.
const SIZE_LIMIT: u64 = 512 << 20;

/// How long to watch what runs already, unless told.
const DURATION: Duration = Duration::from_secs(10);

/// Of memory for each processor, so that perf may be late where processors are busy; ordinary users get less.
const BUFFER: &str = "8M";

/// Runs a program and traces it.
pub fn record(run: &Run<'_>) -> Result<Made, RecordError> {
    let found = find(run.program)?;
    let mut notes = Vec::new();
    let walk = call_graph_of(run, STACK, &mut notes, || {
        found.kind == crate::command::ProgramKind::Elf && elf::keeps_frame_pointers(&found.path)
    });
    let tracer = Tracer::prepare(run, Scope::Task, &walk, &mut notes)?;
    let words = [
        vec![tracer.perf.clone().into_os_string()],
        tracer.options.clone(),
        run.settings.extra.clone(),
        vec!["-o".into(), tracer.file.clone().into_os_string(), "--".into()],
        run.program.command.clone(),
    ]
    .concat();
    let mut command = with_words(run.program, &words)?;
    let started = Instant::now();
    let mut watch = tracer.watch(run, Watched::ChildrenOf);
    let mut ended = run_watched(&mut command, run.limits, |id| {
        let over = run.settings.os.duration.is_some_and(|most| started.elapsed() >= most);
        watch.look(id, over);
        Ok(())
    })?;
    ended.cpu = ended.cpu.saturating_sub(watch.own_cpu);
    let own = watch.own_cpu;
    let delays = watch.conclude(&mut notes);
    let files = tracer.files();
    let complaint = "the recording is empty".to_owned();
    Ok(Made { notes, complaint, tracer_cpu: Some(own), delays, ..Made::of(ended, files) })
}

/// Traces what runs already. An interrupt ends the recording and keeps it.
pub fn record_running(run: &Run<'_>, running: Running) -> Result<Made, RecordError> {
    let mut notes = Vec::new();
    let (scope, target): (_, Vec<OsString>) = match running {
        Running::Process(id) => {
            if !Path::new(&format!("/proc/{id}")).is_dir() {
                return Err(RecordError::NoProcess(id));
            }
            (Scope::Task, vec!["-p".into(), id.to_string().into()])
        }
        Running::All => (Scope::All, vec!["-a".into()]),
    };
    let walk = call_graph_of(run, STACK, &mut notes, || match running {
        Running::Process(id) => mapped_files(id).is_some_and(|files| {
            !files.is_empty() && files.iter().all(|file| elf::file_keeps_frame_pointers(file))
        }),
        Running::All => false,
    });
    let tracer = Tracer::prepare(run, scope, &walk, &mut notes)?;
    let log = run.scratch.join("perf.log");
    let mut command = Command::new(&tracer.perf);
    command.args(&tracer.options).args(&run.settings.extra);
    command.arg("-o").arg(&tracer.file).args(target);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::create(&log).map_err(RecordError::file("write", &log))?);
    let watched = match running {
        Running::Process(id) => Watched::Process(id),
        Running::All => Watched::All,
    };
    let mut watch = tracer.watch(run, watched);
    let most = run.settings.os.duration.unwrap_or(DURATION);
    let (mut greeted, mut began) = (false, None);
    let (mut asked, mut tries) = (false, 0);
    // Being cancelled is one more way to end in order.
    let never = AtomicBool::new(false);
    let limits = Limits { timeout: None, cancel: &never };
    let ended = run_watched(&mut command, limits, |id| {
        watch.look(id, false);
        if began.is_none() {
            // It answers once it records, which can take a second on a busy machine.
            let records = tracer.control.as_ref().is_none_or(|control| {
                greeted = greeted || control.say("ping");
                control.answered()
            });
            began = records.then(Instant::now);
        }
        let over = began.is_some_and(|began| began.elapsed() >= most)
            || run.limits.cancel.load(Ordering::Relaxed)
            || watch.stopped;
        if over {
            // Once more where the first came before perf was ready for it.
            if !asked || tries == 250 {
                asked = true;
                let _ = kill(Pid::from_raw(id.cast_signed()), Signal::SIGINT);
            }
            tries += 1;
        }
        Ok(())
    })?;
    let delays = watch.conclude(&mut notes);
    let files = tracer.files();
    let said = fs::read_to_string(&log).unwrap_or_default();
    if files.is_empty() && !said.trim().is_empty() {
        return Err(perf::refusal(said.trim().to_owned(), paranoid()));
    }
    let complaint = "nothing happened while recording".to_owned();
    let mut made =
        Made { notes, complaint, tracer_cpu: Some(ended.cpu), delays, ..Made::of(ended, files) };
    // perf ends with the signal we sent it.
    made.ended.status = std::process::ExitStatus::default();
    Ok(made)
}

/// Whether perf sees single threads or whole processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scope {
    Task,
    All,
}

/// perf with all it is to be told.
struct Tracer {
    perf: PathBuf,
    options: Vec<OsString>,
    file: PathBuf,
    control: Option<Control>,
    /// The event that is switched off where there are too many.
    dense: Option<&'static str>,
}

impl Tracer {
    fn prepare(
        run: &Run<'_>,
        scope: Scope,
        walk: &str,
        notes: &mut Vec<String>,
    ) -> Result<Self, RecordError> {
        let perf = locate(OsStr::new("perf"), run.program)
            .ok_or_else(|| install::missing(Profiler::Perf))?;
        let Plan { events, dense } = {
            let permits = permit::Permits::here();
            events::plan(&run.settings.os, run.frequency, scope, &permits, notes)?
        };
        let mut options: Vec<OsString> =
            ["record", "-q", "--no-buildid-cache", "--no-bpf-event", "-k", "mono"]
                .map(OsString::from)
                .to_vec();
        options.extend(events.into_iter().map(OsString::from));
        options.extend(["--call-graph".into(), walk.into()]);
        if nix::unistd::geteuid().is_root() {
            options.extend(["-m".into(), BUFFER.into()]);
        }
        let control = Control::create(run.scratch);
        // Whoever looks for names later finds the right files by these numbers, on any machine.
        let optional = [
            Some("--buildid-mmap".into()),
            perf::compresses(&perf, run).then(|| "-z=1".into()),
            control.as_ref().map(Control::option),
        ];
        let (options, _) = perf::probe(&perf, run, options, &optional)?;
        Ok(Self { perf, options, file: run.scratch.join("perf.data"), control, dense })
    }

    /// What there is in the end.
    fn files(&self) -> Vec<PathBuf> {
        if has_samples(&self.file) { vec![self.file.clone()] } else { Vec::new() }
    }

    fn watch<'a>(&'a self, run: &Run<'_>, watched: Watched) -> Watch<'a> {
        Watch {
            tracer: self,
            size: run.settings.size_limit.unwrap_or(SIZE_LIMIT),
            duration: run.settings.os.duration,
            rate: Rate::new(watched),
            stopped: false,
            own_cpu: Duration::ZERO,
            why: None,
        }
    }
}

/// Looks after a recording while it grows.
struct Watch<'a> {
    tracer: &'a Tracer,
    size: u64,
    duration: Option<Duration>,
    rate: Rate,
    stopped: bool,
    /// CPU time of perf itself.
    own_cpu: Duration,
    why: Option<String>,
}

impl Watch<'_> {
    fn look(&mut self, perf: u32, over: bool) {
        if let Some(used) = family::cpu_of(perf) {
            self.own_cpu = used;
        }
        let control = self.tracer.control.as_ref();
        if self.stopped {
            return;
        }
        let large = fs::metadata(&self.tracer.file).map_or(0, |data| data.len()) >= self.size;
        if (large || over) && control.is_none_or(|control| control.say("disable")) {
            self.stopped = true;
            self.why = Some(match (large, self.duration) {
                (false, Some(time)) => format!("after {:.1} s", time.as_secs_f64()),
                _ => format!("at {} MB", self.size >> 20),
            });
        }
        let order = self.rate.order(perf);
        if let (Some(order), Some(dense), Some(control)) = (order, self.tracer.dense, control) {
            control.say(&format!("{} {dense}", order.word()));
        }
    }

    /// Says what became of the recording, and hands out how long threads waited for processors.
    fn conclude(self, notes: &mut Vec<String>) -> Vec<RunDelay> {
        if let Some(why) = &self.why {
            notes.push(format!(
                "recording stopped {why}, the limit set by `--duration` or `--max-size`"
            ));
        }
        if let Some(most) = self.rate.thinned().filter(|_| self.tracer.dense.is_some()) {
            notes.push(format!(
                "there were up to {most} context switches a second; at such times perfblame recorded one in {}; `--full` records all",
                events::SPARSE
            ));
        }
        if self.rate.delays.full {
            notes.push(
                "the time that threads waited for processors is known only for a part of the recording"
                    .to_owned(),
            );
        }
        self.rate.delays.into_found()
    }
}

/// Files with code that a process has mapped.
fn mapped_files(id: u32) -> Option<Vec<PathBuf>> {
    let maps = fs::read_to_string(format!("/proc/{id}/maps")).ok()?;
    let mut files: Vec<PathBuf> = maps
        .lines()
        .filter(|line| line.split_ascii_whitespace().nth(1).is_some_and(|p| p.contains('x')))
        .filter_map(|line| line.find('/').and_then(|at| line.get(at..)))
        .filter(|path| !path.contains("/ld-linux"))
        .map(PathBuf::from)
        .collect();
    files.sort();
    files.dedup();
    Some(files)
}
