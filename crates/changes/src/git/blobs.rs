//! Contents of many files from one git process.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;

use super::GitError;
use super::command::{git, shown};

/// A process that answers one question after the other.
#[derive(Debug)]
pub(super) struct Blobs {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Blobs {
    pub fn start(root: &Path) -> Result<Self, GitError> {
        let mut child = git(root, ["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| GitError::start(&error))?;
        let stdout = child.stdout.take();
        let stdout = stdout.ok_or_else(|| GitError::Start("no output".to_owned()))?;
        Ok(Self { stdin: child.stdin.take(), stdout: BufReader::new(stdout), child })
    }

    /// Contents by id; none for what is missing or larger than `limit`.
    pub fn get(&mut self, id: &str, limit: u64) -> Result<Option<Vec<u8>>, GitError> {
        if let Some(stdin) = &mut self.stdin {
            let asked = writeln!(stdin, "{id}").and_then(|()| stdin.flush());
            asked.map_err(|error| GitError::start(&error))?;
        }
        blob(&mut self.stdout, limit).map_err(|error| GitError::start(&error))
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        // Without questions it ends by itself.
        self.stdin = None;
        let _ = self.child.wait();
    }
}

/// Contents in the order of their ids; none for what is missing or larger than `limit`.
pub(super) fn read_blobs(
    root: &Path,
    ids: &[&str],
    limit: u64,
) -> Result<Vec<Option<Vec<u8>>>, GitError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut command = git(root, ["cat-file", "--batch", "--buffer"]);
    let shown = shown(&command);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| GitError::start(&error))?;
    let asked: String = ids.iter().flat_map(|id| [id, "\n"]).collect();
    let feeder = child.stdin.take().map(|mut stdin| {
        // Answers are read while questions are still being written, or both sides would wait.
        thread::spawn(move || {
            let _ = stdin.write_all(asked.as_bytes());
        })
    });
    let mut answers = Vec::with_capacity(ids.len());
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = BufReader::with_capacity(1 << 16, stdout);
        for _ in ids {
            match blob(&mut stdout, limit) {
                Ok(answer) => answers.push(answer),
                Err(_) => break,
            }
        }
    }
    if let Some(feeder) = feeder {
        let _ = feeder.join();
    }
    let _ = child.wait();
    if answers.len() < ids.len() {
        let message = format!("{} of {} files were read", answers.len(), ids.len());
        return Err(GitError::Failed { command: shown, message });
    }
    Ok(answers)
}

/// One answer: `<id> <kind> <size>`, the contents and a line end; or `<id> missing`.
fn blob(from: &mut impl BufRead, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    from.by_ref().take(4096).read_until(b'\n', &mut head)?;
    if !head.ends_with(b"\n") {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.trim_end().split(' ');
    let (_, kind, size) = (words.next(), words.next(), words.next());
    let Some(size) = size.and_then(|size| size.parse::<u64>().ok()) else { return Ok(None) };
    let mut text = Vec::new();
    let kept = if size <= limit { size } else { 0 };
    from.by_ref().take(kept).read_to_end(&mut text)?;
    let rest = size - kept + 1;
    std::io::copy(&mut from.by_ref().take(rest), &mut std::io::sink())?;
    Ok((kind == Some("blob") && size <= limit).then_some(text))
}
