//! Java programs: the JVM's flight recorder, or perfblame's agent for exact counts.
//!
//! Where the command is the `java` launcher, options go right behind it. Build tools and start scripts begin the JVM
//! somewhere inside; they get the options through `JAVA_TOOL_OPTIONS`, which reaches every JVM they start, and what
//! those say about it is taken out again. Each JVM writes a file of its own, since the recorder is given a folder:
//! every JDK from 11 on names the file after the process then, while `%p` in a name needs a newer one.
//!
//! The recorder announces itself on standard output. From 17 on that is a log line that can be turned off; before, only
//! turning off all that the VM itself prints helps.

mod flight_recorder;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::child::{self, Ended};
use crate::command::{ProgramKind, find, locate, variable, with_words};
use crate::java_exact::{self, AgentOptions, Places};
use crate::output::Filter;
use crate::record::{Made, Run, files_in};
use crate::{Output, Profiler, Program, RecordError, install};

/// The first that logs the recorder's announcement.
const LOGS_ANNOUNCEMENT: u32 = 17;

/// The first with `-Xlog`.
const HAS_LOG: u32 = 9;

/// How long complaints may still arrive after a program has ended: a daemon it leaves behind may hold on to them.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Runs a program with a recorder in each of its JVMs.
pub fn record(run: &Run<'_>) -> Result<Made, RecordError> {
    let found = find(run.program)?;
    let (folder, _elsewhere) = speakable(run)?;
    let options = if run.profiler == Profiler::JavaExact {
        agent_options(run, &folder)?
    } else {
        let settings = folder.join("perfblame.jfc");
        let text = flight_recorder::settings(run.frequency);
        fs::write(&settings, text).map_err(RecordError::file("write", &settings))?;
        recorder_options(version(run.program, &found.path, &found.kind), &folder)
    };
    let options: Vec<OsString> =
        options.into_iter().chain(run.settings.extra.iter().cloned()).collect();
    let ended = match found.kind {
        ProgramKind::JavaLauncher => {
            let (java, rest) = run.program.command.split_at(1);
            launch(run, &[java, &options, rest].concat())?
        }
        ProgramKind::Jar => {
            let java = [OsString::from("java")];
            if locate(&java[0], run.program).is_none() {
                return Err(install::missing(run.profiler));
            }
            launch(run, &[&java, &*options, &["-jar".into()], &run.program.command].concat())?
        }
        _ => through_environment(run, &options)?,
    };
    let extension = if run.profiler == Profiler::JavaExact { "perfblame" } else { "jfr" };
    let mut files = files_in(&folder, extension, ended.id, |name| Some((process_of(name)?, 0)));
    if folder != run.scratch {
        for file in &mut files {
            let to = run.scratch.join(file.file_name().unwrap_or_default());
            fs::copy(&*file, &to).map_err(RecordError::file("write", &to))?;
            *file = to;
        }
    }
    let daemon = found.path.file_name().is_some_and(|name| {
        name.as_bytes().starts_with(b"gradle") || name.as_bytes().starts_with(b"mvnd")
    });
    let help = if daemon {
        "a daemon writes its recording only when it ends; add `--no-daemon`"
    } else {
        "a program that ends by `Runtime.halt` or a signal leaves no recording"
    };
    Ok(Made {
        complaint: "no JVM wrote a recording: no JVM ran, or it was killed, or it is still running"
            .to_owned(),
        help: Some(help.to_owned()),
        ..Made::of(ended, files)
    })
}

fn launch(run: &Run<'_>, words: &[OsString]) -> Result<Ended, RecordError> {
    child::run(&mut with_words(run.program, words)?, run.limits)
}

fn recorder_options(version: Option<u32>, folder: &Path) -> Vec<OsString> {
    let version = version.unwrap_or(LOGS_ANNOUNCEMENT);
    // Without it, samples between safepoints are credited to the next place with debug information.
    let mut options: Vec<OsString> =
        ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"].map(Into::into).to_vec();
    if version >= HAS_LOG {
        options.push("-Xlog:jfr*=error".into());
    }
    if version < LOGS_ANNOUNCEMENT {
        options.push("-XX:-DisplayVMOutput".into());
    }
    options.push("-XX:FlightRecorderOptions=stackdepth=1024".into());
    let mut start = OsString::from("-XX:StartFlightRecording=filename=");
    start.push(folder);
    start.push(",settings=");
    start.push(folder.join("perfblame.jfc"));
    // No limit: otherwise all but the last 250 MB would be dropped without a word.
    start.push(",dumponexit=true,maxsize=0");
    options.push(start);
    options
}

fn agent_options(run: &Run<'_>, folder: &Path) -> Result<Vec<OsString>, RecordError> {
    let exact = &run.settings.java_exact;
    let agent = java_exact::find_agent(exact.agent.as_deref(), &Places::of_this_process());
    let agent = agent.map_err(|missing| RecordError::NoProfile {
        profiler: run.profiler,
        why: missing.to_string(),
        help: Some(missing.help()),
    })?;
    let options = AgentOptions {
        out: folder.join("calls-%p.perfblame"),
        packages: exact.packages.clone(),
        ..AgentOptions::default()
    };
    Ok(java_exact::jvm_options(&agent, &options))
}

/// A folder whose name can stand in a list of options: the scratch folder, or one elsewhere where that has blanks,
/// commas or quotes in its path.
fn speakable(run: &Run<'_>) -> Result<(PathBuf, Option<Elsewhere>), RecordError> {
    let fits =
        |path: &Path| !path.as_os_str().as_bytes().iter().any(|byte| b" \t\n,'\"".contains(byte));
    if fits(run.scratch) {
        return Ok((run.scratch.to_owned(), None));
    }
    let name = perfblame_keys::hash(run.scratch.to_string_lossy().bytes());
    let path = std::env::temp_dir().join(format!("perfblame-{}-{name:x}", std::process::id()));
    fs::create_dir_all(&path).map_err(RecordError::file("create", &path))?;
    Ok((path.clone(), Some(Elsewhere(path))))
}

/// Goes when dropped.
struct Elsewhere(PathBuf);

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a wrapper whose JVMs find their options in the environment.
fn through_environment(run: &Run<'_>, options: &[OsString]) -> Result<Ended, RecordError> {
    const NAME: &str = "JAVA_TOOL_OPTIONS";
    let before = variable(run.program, NAME).filter(|value| !value.is_empty());
    let words = before.iter().chain(options).map(|word| word.as_bytes());
    let value = words.collect::<Vec<_>>().join(&b' ');
    let filter = || Filter::new(&value, before.as_deref().map(OsStr::as_bytes));
    let mut program = run.program.clone();
    program.environment.push((NAME.into(), OsString::from_vec(value.clone())));
    let mut command = with_words(&program, &program.command)?;
    match &program.stderr {
        Output::Discard => child::run(&mut command, run.limits),
        Output::File(path) => {
            let raw = run.scratch.join("stderr");
            command.stderr(File::create(&raw).map_err(RecordError::file("write", &raw))?);
            let ended = child::run(&mut command, run.limits);
            // What was said before a timeout is kept, too.
            let mut from = File::open(&raw).map_err(RecordError::file("read", &raw))?;
            let mut to = File::create(path).map_err(RecordError::file("write", path))?;
            filter().copy(&mut from, &mut to).map_err(RecordError::file("write", path))?;
            ended
        }
        Output::Inherit => {
            let cannot = |source| RecordError::Start { program: "a pipe".to_owned(), source };
            let (mut from, to) = io::pipe().map_err(cannot)?;
            command.stderr(to);
            let (report, copied) = channel();
            let filter = filter();
            std::thread::spawn(move || {
                let _ = filter.copy(&mut from, &mut io::stderr());
                let _ = report.send(());
            });
            let ended = child::run(&mut command, run.limits);
            drop(command);
            let _ = copied.recv_timeout(LAST_WORDS);
            ended
        }
    }
}

/// Out of `hotspot-pid-123-id-1-….jfr` and `calls-123.perfblame`.
fn process_of(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("hotspot-pid-").or_else(|| name.strip_prefix("calls-"))?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The version of the JVM that would run: of the launcher itself, or the one a wrapper is likely to find.
fn version(program: &Program, path: &Path, kind: &ProgramKind) -> Option<u32> {
    let java = if *kind == ProgramKind::JavaLauncher {
        path.to_owned()
    } else {
        let home = variable(program, "JAVA_HOME").map(|home| Path::new(&home).join("bin/java"));
        home.filter(|java| java.is_file()).or_else(|| locate(OsStr::new("java"), program))?
    };
    let real = fs::canonicalize(&java).unwrap_or_else(|_| java.clone());
    let release = real.parent()?.parent()?.join("release");
    let stated = fs::read_to_string(release).ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
        major(line.trim_matches('"'))
    });
    stated.or_else(|| {
        let output = Command::new(&java).arg("-version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        major(text.split('"').nth(1)?)
    })
}

/// 8 out of `1.8.0_402`, 17 out of `17.0.15` and `17-ea`.
fn major(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    match numbers.next()?.ok()? {
        1 => numbers.next()?.ok(),
        number => Some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_old_and_new() {
        assert_eq!(major("1.8.0_402"), Some(8));
        assert_eq!(major("17.0.15"), Some(17));
        assert_eq!(major("25-ea"), Some(25));
        assert_eq!(major("x"), None);
    }
}
