//! The machine while runs are recorded: how busy it is, and how it is made busy.

use std::hint::black_box;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How busy the machine is meant to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub enum Condition {
    /// Nothing else runs.
    Quiet,
    /// Something else computes and moves memory all the time.
    Busy,
}

impl Condition {
    /// The name of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Busy => "busy",
        }
    }
}

/// A machine with a higher load average is not quiet.
pub const QUIET: f64 = 0.7;

/// A machine with a higher load average is busy without help.
pub const BUSY: f64 = 4.0;

/// How long to wait for the load that earlier recordings left to go away.
const PATIENCE: Duration = Duration::from_secs(300);

/// The load average of the last minute.
pub fn load_average() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").context("/proc/loadavg")?;
    let first = text.split_whitespace().next().context("/proc/loadavg is empty")?;
    Ok(first.parse()?)
}

/// For how many milliseconds since the start of the machine something waited for a processor.
pub fn waited() -> Result<f64> {
    let path = "/proc/pressure/cpu";
    let text = std::fs::read_to_string(path).context(path)?;
    let total = text.lines().find(|line| line.starts_with("some"));
    let total = total.and_then(|line| line.split("total=").nth(1)).context(path)?;
    Ok(total.trim().parse::<f64>()? / 1e3)
}

/// Returns once the machine is quiet; fails where it stays busy.
pub fn wait_until_quiet() -> Result<()> {
    let started = Instant::now();
    while load_average()? > QUIET {
        if started.elapsed() > PATIENCE {
            bail!(
                "the load average is {:.2}: this machine is not quiet. Stop what runs, or record with `--record busy`",
                load_average()?
            );
        }
        std::thread::sleep(Duration::from_secs(5));
    }
    Ok(())
}

/// Processes that make the machine busy, ended when dropped.
pub struct Load(Vec<Child>);

/// What a process of the load does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum LoadKind {
    /// Computes.
    Cpu,
    /// Moves memory, half of the time.
    Memory,
}

impl Load {
    /// Starts one that computes and one that moves memory.
    pub fn start() -> Result<Self> {
        let me = std::env::current_exe()?;
        let mut load = Self(Vec::new());
        for kind in ["cpu", "memory"] {
            let mut command = Command::new(&me);
            command.args(["--load", kind]).stdin(Stdio::piped());
            load.0.push(command.spawn().context("cannot start the load")?);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Each ends with its input.
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// Keeps the machine busy until the input ends.
pub fn be_load(kind: LoadKind) {
    let (end, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = end.send(());
    });
    let running = || ended.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty);
    match kind {
        LoadKind::Cpu => {
            let mut number = 1u64;
            while running() {
                for _ in 0..1_000_000 {
                    number =
                        black_box(number.wrapping_mul(6_364_136_223_846_793_005) ^ (number >> 9));
                }
            }
        }
        LoadKind::Memory => {
            // More than caches hold.
            let mut memory = vec![1u8; 64 << 20];
            while running() {
                let started = Instant::now();
                let half = memory.len() / 2;
                let (from, to) = memory.split_at_mut(half);
                to[..half].copy_from_slice(from);
                black_box(to);
                std::thread::sleep(started.elapsed());
            }
        }
    }
}
