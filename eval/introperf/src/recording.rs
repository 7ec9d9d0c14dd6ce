//! Cases made ready and traced.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::case::{Case, Workload};
use crate::cases::HEADER;
use crate::machine::{CLIENTS_RUN_ON, PROGRAMS_RUN_ON, Ticking, shell};
use perfblame_disk::Unfinished;
use perfblame_eval_steps::{Work, key};

/// What may be recorded at once; more is a mistake in a case.
const TIMEOUT: Duration = Duration::from_secs(90);

/// Without calls that take the caller's place: the function to find must be on the stack.
const BUILD: &str = "gcc -O2 -fno-optimize-sibling-calls -fPIC -shared";

/// How a trace is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Stacks at every system call, at its end and at every context switch, as in the paper.
    Switches,
    /// The same, and a stack at every thousandth of a second of the processor.
    Ticks,
    /// What `perfblame record os` does when nobody tells it more.
    Default,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Switches, Self::Ticks, Self::Default];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Switches => "switches",
            Self::Ticks => "ticks",
            Self::Default => "default",
        }
    }

    /// The words before the program's own.
    fn recorder(self, perfblame: &Path, file: &Path) -> Vec<String> {
        let perf = "perf record -k mono -m 32768 -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit \
                    -e sched:sched_switch";
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let file = file.display().to_string();
        match self {
            Self::Switches => {
                [words(perf), words("--call-graph dwarf,8192 -o"), vec![file]].concat()
            }
            Self::Ticks => {
                let ticks = "-e cpu-clock/freq=997/ --call-graph dwarf,8192 -o";
                [words(perf), words(ticks), vec![file]].concat()
            }
            Self::Default => {
                [vec![perfblame.display().to_string()], words("record os -o"), vec![file]].concat()
            }
        }
    }
}

/// The case's folder with its inputs and both plug-ins in it.
pub fn prepare(work: &Work, case: &Case) -> Result<PathBuf> {
    let what = [case.prepare, &format!("{:?}", case.plugin), HEADER.1, BUILD];
    let made_from = key(&what.map(str::as_bytes));
    work.folder(&["cases", &format!("{}-{made_from}", case.name)], |folder| {
        for side in Workload::BOTH {
            fs::create_dir_all(folder.join(side.name()))?;
        }
        if let Some(plugin) = case.plugin {
            for (name, text) in [plugin.source, HEADER] {
                fs::write(folder.join(name), text)?;
            }
            for side in Workload::BOTH {
                let define = if side == Workload::Buggy { "-DDELAYED" } else { "" };
                let built = format!("{}/{}", side.name(), plugin.object);
                let strip = if plugin.stripped { "strip" } else { "true" };
                let build = format!(
                    "{BUILD} {define} {} -o {built} {}; cp {built} {built}.named; {strip} {built}",
                    plugin.flags, plugin.source.0
                );
                shell(&build, folder)?;
            }
        }
        Ok(())
    })
    .and_then(|folder| {
        // Paths of the folder may be in what this makes, so it must have its final name.
        let done = folder.join("prepared");
        if !done.exists() {
            shell(case.prepare, &folder)?;
            fs::write(done, "")?;
        }
        Ok(folder)
    })
}

/// A trace that was made.
#[derive(Clone, Debug)]
pub struct Trace {
    pub file: PathBuf,
    /// Names it in steps that use it.
    pub key: String,
}

/// Records one side of a case, or takes the trace that is kept.
pub fn record(
    work: &Work,
    case: &Case,
    side: Workload,
    way: Way,
    perfblame: &Path,
) -> Result<Trace> {
    let folder = prepare(work, case)?;
    let command = case.command(side, &folder);
    let settings = case.settings(side);
    let made = folder.file_name().unwrap_or_default().to_string_lossy();
    let parts = [&case.identity(), &*made, side.name(), way.name()];
    let key = key(&parts.map(str::as_bytes));
    let name = format!("{}-{}-{key}.data", side.name(), way.name());
    let file = work.place(&["traces", case.name, &name])?;
    if file.exists() {
        return Ok(Trace { file, key });
    }
    let unfinished = Unfinished::beside(&file);
    let mut words = vec!["taskset".to_owned(), "-c".to_owned(), PROGRAMS_RUN_ON.to_owned()];
    words.extend(way.recorder(perfblame, unfinished.path()));
    words.push("--".to_owned());
    words.extend(command);
    let said = fs::File::create(file.with_extension("log"))?;
    let ticking = Ticking::start()?;
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .envs(settings)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(fs::File::create(folder.join(format!("{}.stdout", side.name())))?)
        .stderr(said)
        .spawn()
        .with_context(|| words.join(" "))?;
    if let Some(client) = case.client {
        let asked = Command::new("taskset")
            .args(["-c", CLIENTS_RUN_ON, "sh", "-c", client])
            .env("SIDE", side.name())
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output()?;
        if !asked.status.success() {
            let _ = child.kill();
            let _ = child.wait();
            bail!("{}: asking failed: {}", case.name, String::from_utf8_lossy(&asked.stderr));
        }
    }
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > TIMEOUT {
            let _ = child.kill();
            let _ = child.wait();
            bail!("{}: {} did not end", case.name, words.join(" "));
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    drop(ticking);
    if !unfinished.path().exists() {
        let said = fs::read_to_string(file.with_extension("log")).unwrap_or_default();
        bail!("{}: {status}: {}", case.name, said.trim());
    }
    unfinished.finish()?;
    Ok(Trace { file, key })
}
