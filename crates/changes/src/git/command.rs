//! Running git so that neither settings nor variables change what it prints.
//!
//! Only commands made for scripts are used, with NUL between records. Settings that would run programs of the
//! repository's choosing are off, and nothing is locked that need not be. Git tells its hooks about the user's
//! repository by variables; a command that inherited them would look there, whatever folder it is started in.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::GitError;

/// Variables with which git would find another repository or other objects, as it sets them for hooks.
const OF_HOOKS: [&str; 13] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
];

/// Variables of users that change what git prints or how it reads names.
const OF_USERS: [&str; 8] = [
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_PAGER",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_DEFAULT_HASH",
    "GIT_REPLACE_REF_BASE",
];

/// What stands in front of every command.
const SETTINGS: [&str; 23] = [
    "--no-pager",
    "--no-optional-locks",
    "--literal-pathspecs",
    "-c",
    "core.quotePath=off",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.preloadIndex=true",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "advice.detachedHead=false",
    "-c",
    "diff.ignoreSubmodules=none",
    "-c",
    "diff.renameLimit=2000",
    "-c",
    "log.showSignature=false",
    "-c",
    "i18n.logOutputEncoding=UTF-8",
    "-c",
    "color.ui=false",
];

/// Frees a command of what git tells hooks about the user's repository.
pub fn without_git_variables(command: &mut Command) -> &mut Command {
    for name in OF_HOOKS {
        command.env_remove(name);
    }
    command
}

/// A command in a folder.
pub(super) fn git<S: AsRef<OsStr>>(
    folder: &Path,
    arguments: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new("git");
    without_git_variables(&mut command).arg("-C").arg(folder).args(SETTINGS).args(arguments);
    for name in OF_USERS {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
    command
}

/// What a command prints; an error when it fails.
pub(super) fn output(mut command: Command, input: Vec<u8>) -> Result<Vec<u8>, GitError> {
    let name = name(&command);
    let mut child = command
        .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| GitError::start(&error))?;
    // Both pipes can fill up: one thread feeds, one takes complaints, this one takes the answer.
    let feeder = child.stdin.take().map(|mut stdin| {
        thread::spawn(move || {
            let _ = stdin.write_all(&input);
        })
    });
    let complaints = child.stderr.take().map(|mut stderr| {
        thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.by_ref().take(1 << 16).read_to_end(&mut text);
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
            text
        })
    });
    let mut answer = Vec::new();
    let read = match child.stdout.take() {
        Some(mut stdout) => stdout.read_to_end(&mut answer),
        None => Ok(0),
    };
    if let Some(feeder) = feeder {
        let _ = feeder.join();
    }
    let complaints = complaints.and_then(|thread| thread.join().ok()).unwrap_or_default();
    let status = child.wait().map_err(|error| GitError::start(&error))?;
    read.map_err(|error| GitError::start(&error))?;
    if status.success() {
        return Ok(answer);
    }
    let message = String::from_utf8_lossy(&complaints).trim().to_owned();
    Err(GitError::Failed { command: name, message })
}

/// A text that a command prints, without the line break at its end.
pub(super) fn text(command: Command) -> Result<String, GitError> {
    let answer = output(command, Vec::new())?;
    Ok(String::from_utf8_lossy(&answer).trim_end_matches('\n').to_owned())
}

/// Which of git's commands it is: the word behind the folder and our settings.
pub(super) fn name(command: &Command) -> String {
    let word = command.get_args().nth(2 + SETTINGS.len());
    word.map(|word| word.to_string_lossy().into_owned()).unwrap_or_default()
}
