//! Running git so that nobody's settings change what it prints.
//!
//! Only commands made for scripts are used, with NUL between records. Settings that would run programs of the
//! repository's choosing are switched off, and nothing is ever written or locked.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::GitError;

/// A command in a repository.
pub(super) fn git<S: AsRef<OsStr>>(root: &Path, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(root)
        .args(["--no-pager", "--no-optional-locks", "--literal-pathspecs"])
        .args(["-c", "core.quotepath=off", "-c", "core.fsmonitor=false"])
        .args(["-c", "diff.ignoreSubmodules=none", "-c", "diff.renameLimit=2000"])
        .args(["-c", "core.preloadIndex=true", "-c", "log.showSignature=false"])
        .args(arguments)
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_EXTERNAL_DIFF")
        .env_remove("GIT_DIFF_OPTS");
    command
}

/// What a command prints; an error when it fails.
pub(super) fn output(mut command: Command, input: Vec<u8>) -> Result<Vec<u8>, GitError> {
    let shown = shown(&command);
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
    Err(GitError::Failed { command: shown, message })
}

/// The command as a person would type it, without our settings.
pub(super) fn shown(command: &Command) -> String {
    let words: Vec<String> =
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let names = ["rev-parse", "merge-base", "diff-tree", "diff-index", "ls-files", "ls-tree"];
    let names = [&names[..], &["log", "cat-file", "symbolic-ref", "for-each-ref"]].concat();
    let from = words.iter().position(|word| names.contains(&word.as_str())).unwrap_or(0);
    format!("git {}", words[from..].join(" "))
}
