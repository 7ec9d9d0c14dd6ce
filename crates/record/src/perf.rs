//! Native programs with Linux perf.
//!
//! perf and the program share standard error, and perf cannot write its messages elsewhere; so it is told to be quiet,
//! and whether it can work at all is found out before, with a program that says nothing. Nothing is lost by its
//! silence: what the buffers dropped stands in the file. The program is perf's direct child, since going through a
//! shell leaves broken stacks behind.
//!
//! Unless compressed, stacks to be unwound by DWARF take 17 KB a sample at 16 KiB of stack each; compressed, 1 KB.
//! Recording stops beyond a limit of bytes through perf's control pipe, so that the program goes on undisturbed
//! (`--max-size` would end it).

pub mod control;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::PoisonError;
use std::time::Duration;

use crate::child::Limits;
use crate::command::{ProgramKind, find, locate, with_words};
use crate::os::permit::paranoid;
use crate::profiler::WhatWorks;
use crate::record::{Made, Run};
use crate::{CallGraph, NativeEvent, Profiler, RecordError, child, elf, install};
use control::Control;

/// Deep enough for all but deep recursion, and a fifth of a millisecond to copy.
const STACK: u32 = 16 << 10;

/// A recording that takes minutes to read tells no more than a part of it.
const SIZE_LIMIT: u64 = 2 << 30;

/// Runs a program under perf.
pub fn record(run: &Run<'_>) -> Result<Made, RecordError> {
    let missing = || install::missing(run.profiler);
    let perf = locate(OsStr::new("perf"), run.program).ok_or_else(missing)?;
    let found = find(run.program)?;
    let mut notes = Vec::new();
    let event = event(&perf, run, &mut notes);
    let frequency = frequency(run.frequency, &mut notes);
    let mut options: Vec<OsString> =
        ["record", "-q", "--no-buildid-cache", "--no-bpf-event", "-e", event]
            .map(OsString::from)
            .to_vec();
    options.extend(["-F".into(), frequency.to_string().into()]);
    options.push("--call-graph".into());
    let walk = call_graph_of(run, STACK, &mut notes, || {
        found.kind == ProgramKind::Elf && elf::keeps_frame_pointers(&found.path)
    });
    options.push(walk.into());
    let control = Control::create(run.scratch);
    let optional =
        [compresses(&perf, run).then(|| "-z=1".into()), control.as_ref().map(Control::option)];
    let (options, own) = probe(&perf, run, options, &optional)?;
    let file = run.scratch.join("perf.data");
    let words = [
        vec![perf.into_os_string()],
        options,
        run.settings.extra.clone(),
        vec!["-o".into(), file.clone().into_os_string(), "--".into()],
        run.program.command.clone(),
    ]
    .concat();
    let mut limit = Limit { most: run.settings.size_limit.unwrap_or(SIZE_LIMIT), met: false };
    let mut command = with_words(run.program, &words)?;
    let mut ended = child::run_watched(&mut command, run.limits, |_| {
        limit.watch(&file, control.as_ref());
        Ok(())
    })?;
    ended.cpu = ended.cpu.saturating_sub(own);
    if limit.met {
        notes.push(format!(
            "recording stopped at {} MB while the program continued; sample less often to record all of it",
            limit.most >> 20
        ));
    }
    if kernel_is_hidden() {
        notes.push(
            "time in the kernel is not recorded; `sudo sysctl kernel.perf_event_paranoid=1` allows it"
                .to_owned(),
        );
    }
    let files = if has_samples(&file) { vec![file] } else { Vec::new() };
    let complaint = "the recording is empty".to_owned();
    Ok(Made { notes, complaint, ..Made::of(ended, files) })
}

/// The event to count, by what the machine can.
fn event(perf: &Path, run: &Run<'_>, notes: &mut Vec<String>) -> &'static str {
    if run.settings.event == NativeEvent::CpuClock {
        return "cpu-clock";
    }
    let mut stat = Command::new(perf);
    stat.args(["stat", "-x,", "-e", "cycles", "true"]).stdin(Stdio::null());
    let counted = stat.output().is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        output.status.success() && text.starts_with(|first: char| first.is_ascii_digit())
    });
    if counted {
        return "cycles";
    }
    notes.push("this machine cannot count cycles; perfblame samples CPU time instead".to_owned());
    "cpu-clock"
}

/// The kernel refuses more than it is set to.
fn frequency(wanted: u32, notes: &mut Vec<String>) -> u32 {
    let most = fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
    let most: u32 = most.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(u32::MAX);
    if wanted > most {
        notes.push(format!(
            "the kernel allows {most} samples a second; `sudo sysctl kernel.perf_event_max_sample_rate={wanted}` allows more"
        ));
    }
    wanted.min(most).max(1)
}

/// How to walk stacks, as perf wants to hear it.
pub fn call_graph_of(
    run: &Run<'_>,
    usual: u32,
    notes: &mut Vec<String>,
    keeps_frame_pointers: impl FnOnce() -> bool,
) -> String {
    let stack = match run.settings.call_graph {
        CallGraph::FramePointers => return "fp".to_owned(),
        CallGraph::Dwarf { stack } => stack.clamp(8, 65_528) / 8 * 8,
        CallGraph::Auto => {
            if keeps_frame_pointers() {
                notes.push(
                    "stacks are unwound by frame pointers, which all of its code keeps".to_owned(),
                );
                return "fp".to_owned();
            }
            usual
        }
    };
    format!("dwarf,{stack}")
}

/// True when this perf can pack what it writes.
pub fn compresses(perf: &Path, run: &Run<'_>) -> bool {
    let key = vec![perf.as_os_str().to_owned(), "version".into()];
    let mut tried = run.settings.tried.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, works)) = tried.iter().find(|(known, _)| *known == key) {
        return works.optional;
    }
    let output =
        Command::new(perf).args(["version", "--build-options"]).stdin(Stdio::null()).output();
    let optional = output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().any(|line| line.contains("zstd") && line.contains("on "))
    });
    tried.push((key, WhatWorks { optional, own: Duration::ZERO }));
    optional
}

/// Tries the options on a program that does nothing, and without the optional ones when perf is too old for them.
/// Hands back those that work, and the CPU time that takes.
pub fn probe(
    perf: &Path,
    run: &Run<'_>,
    options: Vec<OsString>,
    optional: &[Option<OsString>],
) -> Result<(Vec<OsString>, Duration), RecordError> {
    let with: Vec<OsString> =
        options.iter().cloned().chain(optional.iter().flatten().cloned()).collect();
    let key = [&[perf.as_os_str().to_owned()], &*options].concat();
    let mut tried = run.settings.tried.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, works)) = tried.iter().find(|(known, _)| *known == key) {
        return Ok((if works.optional { with } else { options }, works.own));
    }
    let first = match try_out(perf, run, &with)? {
        Ok(own) => {
            tried.push((key, WhatWorks { optional: true, own }));
            return Ok((with, own));
        }
        Err(complaint) => complaint,
    };
    let complaint = match try_out(perf, run, &options)? {
        Ok(own) => {
            tried.push((key, WhatWorks { optional: false, own }));
            return Ok((options, own));
        }
        Err(complaint) => complaint,
    };
    let complaint = if complaint.trim().is_empty() { first } else { complaint };
    Err(refusal(complaint, paranoid()))
}

/// What perf's complaint means.
pub fn refusal(why: String, paranoid: i32) -> RecordError {
    let profiler = Profiler::Perf;
    let refused = ["permission", "Permission", "permitted", "paranoid", "EPERM", "EACCES"];
    if !refused.iter().any(|word| why.contains(word)) {
        let help = Some("check whether `perf record -- true` works here".to_owned());
        return RecordError::NoProfile { profiler, why, help };
    }
    let help = if paranoid > 1 {
        "run `sudo sysctl kernel.perf_event_paranoid=1`, or record as root"
    } else {
        "in a container, start it with `--cap-add PERFMON` (or `--security-opt seccomp=unconfined`)"
    };
    RecordError::NotPermitted { profiler, why, help: help.to_owned() }
}

/// The CPU time it took, or what perf complains about.
fn try_out(
    perf: &Path,
    run: &Run<'_>,
    options: &[OsString],
) -> Result<Result<Duration, String>, RecordError> {
    let (file, log) = (run.scratch.join("probe.data"), run.scratch.join("probe.log"));
    let mut command = Command::new(perf);
    command.args(options).args(&run.settings.extra).arg("-o").arg(&file).args(["--", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::create(&log).map_err(RecordError::file("write", &log))?);
    // The time is the program's.
    let ended = child::run(&mut command, Limits { timeout: None, ..run.limits })?;
    let _ = fs::remove_file(&file);
    if ended.status.success() {
        return Ok(Ok(ended.cpu));
    }
    let said = fs::read_to_string(&log).unwrap_or_default();
    // It explains at length; the beginning says what is wrong.
    let lines = said.lines().map(str::trim_end).filter(|line| !line.is_empty());
    Ok(Err(lines.take(6).collect::<Vec<_>>().join("\n")))
}

fn kernel_is_hidden() -> bool {
    paranoid() > 1 && !nix::unistd::geteuid().is_root()
}

/// Watches a recording grow.
struct Limit {
    most: u64,
    met: bool,
}

impl Limit {
    fn watch(&mut self, file: &Path, control: Option<&Control>) {
        if self.met || file.metadata().map_or(0, |data| data.len()) < self.most {
            return;
        }
        self.met = control.is_some_and(|control| control.say("disable"));
    }
}

/// True for a file with a header and something behind it; perf fills in the size of the data last.
pub fn has_samples(file: &Path) -> bool {
    const DATA_SIZE: usize = 48;
    let mut header = [0; 104];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut header));
    let size = header.get(DATA_SIZE..DATA_SIZE + 8).and_then(|bytes| bytes.try_into().ok());
    read.is_ok() && header.starts_with(b"PERFILE2") && size.map_or(0, u64::from_le_bytes) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_comes_with_what_permits_it() {
        let said = "Error:\nAccess to performance monitoring and observability operations is limited.\n\
                    Consider adjusting /proc/sys/kernel/perf_event_paranoid setting";
        let help =
            |why: &str, paranoid| refusal(why.to_owned(), paranoid).help().unwrap_or_default();
        assert!(help(said, 3).contains("sysctl kernel.perf_event_paranoid=1"));
        assert!(
            help("sys_perf_event_open: Operation not permitted", 1).contains("--cap-add PERFMON")
        );
        assert!(help("event syntax error: 'x'", 3).contains("perf record -- true"));
    }

    #[test]
    fn only_complete_files_hold_samples() {
        let file = std::env::temp_dir().join(format!("perfblame-perf-{}", std::process::id()));
        let mut bytes = b"PERFILE2".to_vec();
        bytes.resize(104, 0);
        fs::write(&file, &bytes).unwrap();
        assert!(!has_samples(&file));
        bytes[48] = 1;
        fs::write(&file, &bytes).unwrap();
        assert!(has_samples(&file));
        fs::write(&file, &bytes[..60]).unwrap();
        assert!(!has_samples(&file));
        fs::remove_file(&file).unwrap();
        assert!(!has_samples(&file));
    }
}
