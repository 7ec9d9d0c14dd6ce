//! Time and memory of whole processes.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// What one process used.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Seconds from start to end.
    pub seconds: f64,
    /// Largest resident set, in bytes.
    pub peak: u64,
}

/// Runs a shell command once, its output thrown away.
pub fn process(shell_command: &str) -> Result<Usage> {
    let output = Command::new("/usr/bin/time")
        .args(["-f", "%e %M", "bash", "-c", shell_command])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context("/usr/bin/time")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{shell_command} failed: {errors}");
    }
    let last = errors.lines().next_back().unwrap_or_default();
    let (seconds, kilobytes) =
        last.split_once(' ').with_context(|| format!("time printed {last}"))?;
    Ok(Usage { seconds: seconds.parse()?, peak: kilobytes.parse::<u64>()? * 1024 })
}

/// The largest resident set of this process while some work is done, in bytes: what was there before is part of it.
/// None where the system does not tell.
pub fn peak_during(work: impl FnOnce()) -> Option<u64> {
    // Starts the high-water mark anew.
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    work();
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// Lets two commands take turns and returns the median use of each.
pub fn take_turns(ours: &str, peer: &str, rounds: usize) -> Result<(Usage, Usage)> {
    let (mut our_uses, mut peer_uses) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        our_uses.push(process(ours)?);
        peer_uses.push(process(peer)?);
    }
    Ok((median(our_uses), median(peer_uses)))
}

/// The use whose time is the median.
pub fn median(mut uses: Vec<Usage>) -> Usage {
    uses.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    uses[uses.len() / 2]
}

/// Runs a program that measures itself and prints seconds; the first it prints.
pub fn printed(program: &str, arguments: &[&str]) -> Result<f64> {
    let output =
        Command::new(program).args(arguments).output().with_context(|| program.to_owned())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().next().with_context(|| format!("{program} printed {errors}"))?;
    Ok(first.trim().parse()?)
}

/// The median of some seconds.
pub fn median_of(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
