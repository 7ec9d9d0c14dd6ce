//! Python programs with py-spy, which watches from outside.
//!
//! py-spy can start a program itself, but then prints into its output, hides its status, and gives up where the
//! interpreter takes a while to appear. So we start the program and py-spy looks at it. To miss nothing meanwhile, the
//! first interpreter that starts waits at a gate: a `sitecustomize` in front of the search path that reports the
//! process, waits for py-spy, then removes every trace of itself and makes way for the user's own. Interpreters that
//! ignore the environment pass without waiting; py-spy then joins them a moment later.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::child::{end_helper, run_watched};
use crate::command::{locate, variable, with_words};
use crate::record::{Made, Run};
use crate::{RecordError, install};

const GATE: &str = include_str!("python/gate.py");

/// An interpreter that has not come to the gate by now ignores it.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How long py-spy may take to write its file after the program has ended.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// Runs a program and watches its Python processes.
pub fn record(run: &Run<'_>) -> Result<Made, RecordError> {
    let missing = || install::missing(run.profiler);
    let py_spy = locate(OsStr::new("py-spy"), run.program).ok_or_else(missing)?;
    let gate = Gate::build(run.scratch)?;
    let mut program = run.program.clone();
    let mut search = gate.folder.clone().into_os_string();
    match variable(run.program, "PYTHONPATH") {
        Some(before) => {
            program.environment.push(("PERFBLAME_PYTHONPATH".into(), before.clone()));
            if !before.is_empty() {
                search.push(":");
                search.push(before);
            }
        }
        // What is set to nothing is told apart from what is not set.
        None => program.environment.push(("PERFBLAME_NO_PYTHONPATH".into(), "1".into())),
    }
    program.environment.push(("PYTHONPATH".into(), search));
    let mut notes = Vec::new();
    if only_parents_may_trace() {
        program.environment.push(("PERFBLAME_ANYBODY_MAY_TRACE".into(), "1".into()));
        notes.push(
            "only the first Python process is recorded; `sudo sysctl kernel.yama.ptrace_scope=0` allows all".to_owned(),
        );
    }
    program.environment.push(("PERFBLAME_GATE".into(), gate.folder.clone().into()));
    let file = run.scratch.join("py-spy.json");
    let mut watcher = Watcher {
        run,
        py_spy,
        file: &file,
        gate,
        state: Attaching::Waiting(Instant::now()),
        waited: Duration::ZERO,
    };
    let mut command = with_words(&program, &program.command)?;
    let ended = run_watched(&mut command, run.limits, |id| watcher.tick(id));
    let waited = watcher.waited;
    let said = watcher.finish(ended.is_ok());
    let mut ended = ended?;
    ended.wall = ended.wall.saturating_sub(waited);
    let complete = file.metadata().is_ok_and(|data| data.len() > 0);
    let files = if complete { vec![file.clone()] } else { Vec::new() };
    let complaint = if said.is_empty() {
        "no Python process was recorded: no Python ran, or it ended at once".to_owned()
    } else {
        said
    };
    Ok(Made { notes, complaint, ..Made::of(ended, files) })
}

/// Where the kernel lets only a parent look into a process, as many distributions set it, a process can still allow
/// others to; its children each have to do so again.
fn only_parents_may_trace() -> bool {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    scope.is_ok_and(|scope| scope.trim() == "1") && !nix::unistd::geteuid().is_root()
}

/// Where the first interpreter waits.
struct Gate {
    folder: PathBuf,
    /// There once somebody waits.
    ready: PathBuf,
    /// A pipe it reads from until somebody opens it to write.
    go: PathBuf,
}

impl Gate {
    fn build(scratch: &Path) -> Result<Self, RecordError> {
        let folder = scratch.join("gate");
        fs::create_dir(&folder).map_err(RecordError::file("create", &folder))?;
        let hook = folder.join("sitecustomize.py");
        fs::write(&hook, GATE).map_err(RecordError::file("write", &hook))?;
        let go = folder.join("go");
        nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU)
            .map_err(|error| RecordError::file("create", &go)(error.into()))?;
        Ok(Self { ready: folder.join("ready"), go, folder })
    }

    /// True when somebody waits at the gate.
    fn waiting(&self) -> bool {
        self.ready.is_file()
    }

    /// Lets it through. Nobody waiting is no mistake: it may have been ended.
    fn open(&self) {
        let flags = nix::libc::O_NONBLOCK;
        if File::options().write(true).custom_flags(flags).open(&self.go).is_ok() {
            let _ = fs::remove_file(&self.ready);
        }
    }
}

enum Attaching {
    /// For an interpreter to come to the gate, since then.
    Waiting(Instant),
    /// For py-spy to have found its way around, since then.
    Joining {
        spy: Spy,
        since: Instant,
        at_gate: bool,
    },
    Watching(Spy),
}

struct Spy {
    process: Child,
    /// Its lines, of both outputs.
    lines: Receiver<String>,
    said: String,
}

struct Watcher<'a> {
    run: &'a Run<'a>,
    py_spy: PathBuf,
    file: &'a Path,
    gate: Gate,
    state: Attaching,
    /// How long the program waited at the gate.
    waited: Duration,
}

impl Watcher<'_> {
    fn tick(&mut self, id: u32) -> Result<(), RecordError> {
        match &mut self.state {
            Attaching::Waiting(since) => {
                let at_gate = self.gate.waiting();
                if at_gate || since.elapsed() >= PATIENCE {
                    // The root has all others below it.
                    let spy = self.start(id)?;
                    self.state = Attaching::Joining { spy, since: Instant::now(), at_gate };
                }
            }
            Attaching::Joining { spy, since, at_gate } => match spy.has_joined() {
                None => {}
                Some(true) => {
                    let since = *since;
                    let before = std::mem::replace(&mut self.state, Attaching::Waiting(since));
                    if let Attaching::Joining { spy, .. } = before {
                        self.state = Attaching::Watching(spy);
                    }
                    if self.gate.waiting() {
                        self.waited = since.elapsed();
                        self.gate.open();
                    }
                }
                Some(false) if *at_gate || refused(&spy.said) => {
                    let said = spy.said.clone();
                    return Err(self.cannot_join(&said));
                }
                // Nothing was Python yet, as when a build comes first.
                Some(false) => self.state = Attaching::Waiting(Instant::now()),
            },
            Attaching::Watching(spy) => {
                spy.listen();
                // An interpreter that came while py-spy was joining another.
                if self.gate.waiting() {
                    self.gate.open();
                }
            }
        }
        Ok(())
    }

    fn start(&self, id: u32) -> Result<Spy, RecordError> {
        let mut command = Command::new(&self.py_spy);
        command.args(["record", "--subprocesses", "--full-filenames", "--format", "speedscope"]);
        command.args(["--rate", &self.run.frequency.to_string(), "--pid", &id.to_string()]);
        command.args(&self.run.settings.extra).arg("--output").arg(self.file);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // An interrupt meant for us must not end it before it has written its file.
        command.process_group(0);
        let cannot = |source| RecordError::Start { program: "py-spy".to_owned(), source };
        let mut process = command.spawn().map_err(cannot)?;
        let (report, lines) = channel();
        let outputs: [Option<Box<dyn Read + Send>>; 2] = [
            process.stdout.take().map(|out| Box::new(out) as Box<dyn Read + Send>),
            process.stderr.take().map(|out| Box::new(out) as Box<dyn Read + Send>),
        ];
        for output in outputs.into_iter().flatten() {
            let report = report.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                    let _ = report.send(String::from_utf8_lossy(&line).into_owned());
                }
            });
        }
        Ok(Spy { process, lines, said: String::new() })
    }

    fn cannot_join(&self, said: &str) -> RecordError {
        let why = said.split("Stack backtrace").next().unwrap_or(said).trim().to_owned();
        if refused(said) {
            let help = "record as root (`sudo -E perfblame record …`), or run `sudo sysctl \
                        kernel.yama.ptrace_scope=0`; in a container, start it with `--cap-add SYS_PTRACE`";
            let (profiler, help) = (self.run.profiler, help.to_owned());
            return RecordError::NotPermitted { profiler, why, help };
        }
        let help = Some(
            "a newer py-spy may support this Python: `python3 -m pip install -U py-spy`".to_owned(),
        );
        RecordError::NoProfile { profiler: self.run.profiler, why, help }
    }

    /// Waits for py-spy to write its file when the program has ended by itself, and ends it otherwise; tells what it
    /// said.
    fn finish(self, whole: bool) -> String {
        let (Attaching::Joining { mut spy, .. } | Attaching::Watching(mut spy)) = self.state else {
            return String::new();
        };
        let ended = Instant::now();
        while whole && ended.elapsed() < LAST_WORDS && !self.run.limits.cancelled() {
            if let Err(RecvTimeoutError::Disconnected) = spy.hear(Duration::from_millis(20)) {
                break;
            }
        }
        end_helper(&mut spy.process);
        let lines = spy.said.lines().filter(|line| !line.trim().is_empty());
        lines.take(6).collect::<Vec<_>>().join("\n")
    }
}

fn refused(said: &str) -> bool {
    ["ermission", "permitted", "EPERM"].iter().any(|word| said.contains(word))
}

impl Spy {
    /// True once it samples, false once it has given up.
    fn has_joined(&mut self) -> Option<bool> {
        self.listen();
        if self.said.contains("Sampling process") {
            return Some(true);
        }
        let ended = !matches!(self.process.try_wait(), Ok(None));
        if ended {
            while self.hear(Duration::from_millis(200)).is_ok() {}
        }
        ended.then_some(false)
    }

    fn listen(&mut self) {
        while self.hear(Duration::ZERO).is_ok() {}
    }

    fn hear(&mut self, patience: Duration) -> Result<(), RecvTimeoutError> {
        let line = self.lines.recv_timeout(patience)?;
        self.said.push_str(&line);
        self.said.push('\n');
        Ok(())
    }
}

impl Drop for Spy {
    fn drop(&mut self) {
        end_helper(&mut self.process);
    }
}
