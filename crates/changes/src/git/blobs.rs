//! Contents of many files from one git process.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::rc::Rc;
use std::thread;

use super::GitError;
use super::command::{git, name};

/// How many questions may wait for their answer: git works on the next while we look at the last. They fit into the
/// pipe, so that asking never blocks.
const AHEAD: usize = 24;
/// Contents that are kept: those that were asked for ahead and a few that may be wanted again.
const KEPT: usize = 2 * AHEAD;
const KEPT_BYTES: usize = 64 << 20;

/// A process that answers one question after the other.
#[derive(Debug)]
pub(super) struct Blobs {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    limit: u64,
    /// What will be asked for, in this order as far as one can know.
    planned: VecDeque<String>,
    /// What was asked and not answered yet.
    asked: VecDeque<String>,
    /// Answers, oldest first.
    kept: VecDeque<(String, Content)>,
}

/// What a blob holds; none for what is missing or too large.
pub(super) type Content = Option<Rc<[u8]>>;

impl Blobs {
    /// Contents larger than `limit` are not kept.
    pub fn start(root: &Path, limit: u64) -> Result<Self, GitError> {
        let mut child = git(root, ["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| GitError::start(&error))?;
        let stdout = child.stdout.take();
        let stdout = stdout.ok_or_else(|| GitError::Start("no output".to_owned()))?;
        let stdout = BufReader::with_capacity(1 << 16, stdout);
        let (planned, asked, kept) = Default::default();
        Ok(Self { stdin: child.stdin.take(), stdout, child, limit, planned, asked, kept })
    }

    /// Says what will be wanted next, in place of what was said before.
    pub fn plan(&mut self, ids: impl IntoIterator<Item = String>) {
        self.planned = ids.into_iter().collect();
    }

    /// Contents by id.
    pub fn get(&mut self, id: &str) -> Result<Content, GitError> {
        let found = self.kept.iter().rev().find(|(known, _)| known == id);
        let mut found = found.map(|(_, content)| content.clone());
        let failed = |error: std::io::Error| GitError::start(&error);
        if found.is_none() && !self.asked.iter().any(|asked| asked == id) {
            self.ask(id.to_owned()).map_err(failed)?;
        }
        while self.asked.len() < AHEAD
            && let Some(next) = self.planned.pop_front()
        {
            let known = self.kept.iter().any(|(known, _)| *known == next);
            if !known && !self.asked.contains(&next) {
                self.ask(next).map_err(failed)?;
            }
        }
        while found.is_none() {
            let Some(answered) = self.asked.pop_front() else { return Ok(None) };
            let content = blob(&mut self.stdout, self.limit).map_err(failed)?.map(Rc::from);
            if answered == id {
                found = Some(content.clone());
            }
            self.kept.push_back((answered, content));
        }
        let size = |kept: &VecDeque<(String, Content)>| {
            kept.iter()
                .filter_map(|(_, content)| content.as_ref())
                .map(|it| it.len())
                .sum::<usize>()
        };
        while self.kept.len() > KEPT || (self.kept.len() > 2 && size(&self.kept) > KEPT_BYTES) {
            self.kept.pop_front();
        }
        Ok(found.flatten())
    }

    fn ask(&mut self, id: String) -> std::io::Result<()> {
        if let Some(stdin) = &mut self.stdin {
            stdin.write_all(format!("{id}\n").as_bytes())?;
        }
        self.asked.push_back(id);
        Ok(())
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
    let name = name(&command);
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
        return Err(GitError::Failed { command: name, message });
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
