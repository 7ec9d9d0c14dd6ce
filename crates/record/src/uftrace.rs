//! Every call of a native program, with uftrace.
//!
//! uftrace ends with a status of its own; what the program ended with stands in its recording. Of its exports, only the
//! trace keeps calls and their order: folded stacks lose both, and put what comes after a switch of tasks in the wrong
//! place. It is large, so it is packed while it is written. Events of the scheduler are left out, as their beginnings
//! are missing in the export.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::command::{ProgramKind, find, locate, with_words};
use crate::record::{Made, Run};
use crate::{RecordError, child, elf, install};

/// Runs a program under uftrace and exports its calls.
pub fn record(run: &Run<'_>) -> Result<Made, RecordError> {
    let missing = || install::missing(run.profiler);
    let uftrace = locate(OsStr::new("uftrace"), run.program).ok_or_else(missing)?;
    let found = find(run.program)?;
    if found.kind != ProgramKind::Elf {
        return Err(RecordError::NoProfile {
            profiler: run.profiler,
            why: format!("{} is not a native program", found.path.display()),
            help: Some("give uftrace the program itself, not a script that starts it".to_owned()),
        });
    }
    let data = run.scratch.join("uftrace.data");
    let log = run.scratch.join("uftrace.log");
    let mut words: Vec<OsString> = vec![uftrace.clone().into()];
    words.extend(["record", "--no-pager", "--no-event", "--logfile"].map(Into::into));
    words.extend([log.clone().into(), "-d".into(), data.clone().into()]);
    let mut notes = Vec::new();
    if !elf::is_instrumented(&found.path) {
        words.extend(["-P".into(), ".".into()]);
        notes.push(
            "the program was patched while running, which misses the smallest functions; build it with `-pg` or `-finstrument-functions` to see all"
                .to_owned(),
        );
    }
    words.extend(run.settings.extra.iter().cloned());
    words.push("--".into());
    words.extend(run.program.command.iter().cloned());
    let mut ended = child::run(&mut with_words(run.program, &words)?, run.limits)?;
    let complaint = fs::read_to_string(&log).unwrap_or_default().trim().to_owned();
    let Some(status) = status(&uftrace, &data) else {
        let help = Some("build the program with `-pg` or `-finstrument-functions`".to_owned());
        return Err(RecordError::NoProfile { profiler: run.profiler, why: complaint, help });
    };
    ended.status = status;
    let file = run.scratch.join("calls.gz");
    let files = if export(&uftrace, &data, &file, run)? { vec![file] } else { Vec::new() };
    Ok(Made { notes, complaint, ..Made::of(ended, files) })
}

/// How the program ended, out of `exited with code: 3` or `terminated by signal: 6 (Aborted)`.
fn status(uftrace: &Path, data: &Path) -> Option<ExitStatus> {
    let mut command = Command::new(uftrace);
    command.args(["info", "--no-pager", "-d"]).arg(data).stdin(Stdio::null());
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.contains("exit status"))?;
    let number = |mark: &str| -> Option<i32> {
        let rest = line.split(mark).nth(1)?.trim_start();
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let exited = number("exited with code:").map(|code| ExitStatus::from_raw((code & 0xff) << 8));
    exited.or_else(|| number("signal:").map(|signal| ExitStatus::from_raw(signal & 0x7f)))
}

/// Writes the trace; false when there is nothing in it.
fn export(uftrace: &Path, data: &Path, file: &Path, run: &Run<'_>) -> Result<bool, RecordError> {
    let mut command = Command::new(uftrace);
    command.args(["dump", "--no-pager", "--no-event", "--chrome", "-d"]).arg(data);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let cannot = |source| RecordError::Start { program: "uftrace".to_owned(), source };
    let mut dump = command.spawn().map_err(cannot)?;
    let Some(mut from) = dump.stdout.take() else { return Ok(false) };
    let target = File::create(file).map_err(RecordError::file("write", file))?;
    let mut packed = GzEncoder::new(target, Compression::fast());
    let copied = copy(&mut from, &mut packed, run);
    drop(from);
    let _ = dump.wait();
    let bytes = copied.map_err(RecordError::file("write", file))?;
    packed.finish().map_err(RecordError::file("write", file))?;
    if run.limits.cancelled() {
        return Err(RecordError::Cancelled);
    }
    Ok(bytes > 0)
}

fn copy(from: &mut dyn io::Read, to: &mut dyn io::Write, run: &Run<'_>) -> io::Result<u64> {
    let mut buffer = vec![0; 256 << 10];
    let mut copied = 0;
    while !run.limits.cancelled() {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        to.write_all(buffer.get(..count).unwrap_or_default())?;
        copied += count as u64;
    }
    Ok(copied)
}
