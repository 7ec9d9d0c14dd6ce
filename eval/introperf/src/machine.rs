//! The machine: what must be installed, how timed parts get their turn, and a small process that interrupts.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The processor that programs run on; whoever asks them and everything else runs on the others.
pub const PROGRAMS_RUN_ON: &str = "1";

/// The other one.
pub const CLIENTS_RUN_ON: &str = "0";

/// How often the small process wakes up.
const TICK: Duration = Duration::from_millis(4);

/// Lets this process and what it starts go before the rest of the machine, if the kernel lets it.
pub fn go_first() {
    let _ = std::fs::write("/proc/self/autogroup", "-15");
}

/// Sleeps and wakes until its input ends. The kernel takes stacks of a program that computes only when something else
/// gets its processor, and on a quiet machine nothing would.
pub fn tick() {
    let (end, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = end.send(());
    });
    while ended.recv_timeout(TICK) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {}
}

/// The process that runs [`tick`], ended when dropped.
#[derive(Debug)]
pub struct Ticking(Child);

impl Ticking {
    /// Starts it on the processor of the programs.
    pub fn start() -> Result<Self> {
        let me = std::env::current_exe()?;
        let mut command = Command::new("taskset");
        command.args(["-c", PROGRAMS_RUN_ON]).arg(me).arg("--tick").stdin(Stdio::piped());
        Ok(Self(command.spawn().context("cannot start taskset")?))
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// What the machine is, in general words.
pub fn description() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().nth(1).unwrap_or("unknown").to_owned();
    format!(
        "a virtual machine with {cores} cores that had other work to do (load {load} when this was written); trust the ratios more than the times"
    )
}

/// Runs a shell script in a folder and fails with what it said.
pub fn shell(script: &str, folder: &Path) -> Result<String> {
    let output = Command::new("sh").args(["-eu", "-c", script]).current_dir(folder).output()?;
    if !output.status.success() {
        bail!("{script}\n{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Installs the packages that are missing, and mounts what perf needs.
pub fn install(packages: &[&str]) -> Result<()> {
    let here = Path::new("/");
    let missing: Vec<&str> = packages
        .iter()
        .copied()
        .filter(|package| {
            let status = format!("dpkg-query -W -f='${{db:Status-Status}}' {package}");
            shell(&status, here).ok().as_deref() != Some("installed")
        })
        .collect();
    if !missing.is_empty() {
        eprintln!("installing {}", missing.join(" "));
        let names = missing.join(" ");
        let install = format!("apt-get install -y -qq --no-install-recommends {names}");
        let whole = format!(
            "export DEBIAN_FRONTEND=noninteractive; {install} >&2 || {{ apt-get update -qq >&2; {install} >&2; }}"
        );
        shell(&whole, here)?;
    }
    shell(
        "test -e /sys/kernel/tracing/events || mount -t tracefs tracefs /sys/kernel/tracing",
        here,
    )?;
    Ok(())
}
