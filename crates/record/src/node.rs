//! Node programs with V8's own sampler.
//!
//! `--cpu-prof` covers a process and its workers, a file each. Newer versions take it from `NODE_OPTIONS`, which reaches
//! every process the program starts, and package managers' too. Older ones refuse it there and would not start; they
//! get the option behind the launcher, and a preloaded script does the same for the processes below through the
//! inspector.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{ProgramKind, find, locate, variable, with_words};
use crate::record::{Made, Run, files_in};
use crate::{RecordError, child, install};

const PRELOAD: &str = include_str!("node/preload.cjs");

/// Runs a program with a sampler in each of its Node processes and workers.
pub fn record(run: &Run<'_>) -> Result<Made, RecordError> {
    let found = find(run.program)?;
    let launcher = match found.kind {
        ProgramKind::NodeLauncher => found.path.clone(),
        _ => locate(OsStr::new("node"), run.program)
            .or_else(|| locate(OsStr::new("nodejs"), run.program))
            .ok_or_else(|| install::missing(run.profiler))?,
    };
    let profiles = run.scratch.join("profiles");
    fs::create_dir(&profiles).map_err(RecordError::file("create", &profiles))?;
    let interval = (1_000_000 / run.frequency).max(1);
    let mut program = run.program.clone();
    let mut words = program.command.clone();
    let in_environment = takes_option_from_environment(&launcher);
    let mut options = if in_environment {
        format!("--cpu-prof --cpu-prof-interval={interval} --cpu-prof-dir={}", quoted(&profiles))
    } else {
        let preload = run.scratch.join("preload.cjs");
        fs::write(&preload, PRELOAD).map_err(RecordError::file("write", &preload))?;
        program.environment.push(("PERFBLAME_CPU_PROF_DIR".into(), profiles.clone().into()));
        program
            .environment
            .push(("PERFBLAME_CPU_PROF_INTERVAL".into(), interval.to_string().into()));
        if matches!(found.kind, ProgramKind::NodeLauncher | ProgramKind::NodeScript) {
            let mut directory = OsString::from("--cpu-prof-dir=");
            directory.push(&profiles);
            let options =
                ["--cpu-prof".into(), format!("--cpu-prof-interval={interval}").into(), directory];
            words = with_options(&words, &found.kind, &found.path, &launcher, &options);
        }
        format!("--require {}", quoted(&preload))
    };
    if !run.settings.extra.is_empty() {
        let extra: Vec<_> =
            run.settings.extra.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        options = format!("{options} {}", extra.join(" "));
    }
    if let Some(before) = variable(&program, "NODE_OPTIONS").filter(|value| !value.is_empty()) {
        options = format!("{} {options}", before.to_string_lossy());
    }
    program.environment.push(("NODE_OPTIONS".into(), options.into()));
    let ended = child::run(&mut with_words(&program, &words)?, run.limits)?;
    let files = files_in(&profiles, "cpuprofile", ended.id, owner);
    let complaint =
        "no Node process wrote a profile: no Node process ran, or a signal ended it".to_owned();
    Ok(Made { complaint, ..Made::of(ended, files) })
}

/// Process and thread out of `CPU.20261115.165330.29438.0.001.cpuprofile`.
fn owner(name: &str) -> Option<(u32, u32)> {
    let mut parts = name.split('.').skip(3);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The launcher with options, in place of the launcher or of a script that names it in its first line.
fn with_options(
    words: &[OsString],
    kind: &ProgramKind,
    script: &Path,
    launcher: &Path,
    options: &[OsString],
) -> Vec<OsString> {
    let (first, rest) = words.split_at(1);
    if *kind == ProgramKind::NodeLauncher {
        return [first, options, rest].concat();
    }
    let launcher = [launcher.as_os_str().to_owned()];
    [&launcher, options, &[script.as_os_str().to_owned()], rest].concat()
}

/// Versions that do not know the option there end with a status of their own before they do anything.
fn takes_option_from_environment(launcher: &Path) -> bool {
    let mut command = Command::new(launcher);
    command.arg("--version").env("NODE_OPTIONS", "--cpu-prof").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// As `NODE_OPTIONS` wants paths with blanks.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}
