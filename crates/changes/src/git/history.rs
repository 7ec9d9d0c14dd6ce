//! Which commits touched a function.
//!
//! `git log -L` starts a diff of every commit for every question. Here the commits of a range and the files that each
//! changed are listed once; a question then follows the function's lines from child to parent, and only contents of
//! the files they are in are read and compared.

mod deleted;

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

use hashbrown::{HashMap, HashSet};

use super::blobs::{Blobs, Content};
use super::command::{git, output};
use super::raw::{Entry, Mode, RawChange, record};
use super::{GitError, Repository, Revision, lossy};
use crate::source::MAX_FILE_BYTES;
use crate::{Definition, FunctionChange, LineMap};

/// A commit, or what is not committed yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    /// The full id; none for what is only in the working tree.
    pub id: Option<String>,
    /// First line of the message.
    pub title: String,
    /// Who wrote it.
    pub author: String,
    /// When it was committed, in seconds since 1970; 0 for what is only in the working tree.
    pub time: i64,
}

impl Commit {
    fn uncommitted() -> Self {
        let title = "not committed yet".to_owned();
        Self { id: None, title, author: String::new(), time: 0 }
    }
}

/// The commits of a range with the files that they changed.
#[derive(Debug)]
pub struct History<'a> {
    repository: &'a Repository,
    /// Children before parents.
    commits: Vec<Step>,
    /// Changes in the working tree that are in no commit.
    uncommitted: Option<Vec<RawChange>>,
    base: String,
    head: String,
    reader: RefCell<Option<Blobs>>,
    /// Maps that were made already, by both contents.
    maps: RefCell<Maps>,
}

#[derive(Debug)]
struct Step {
    commit: Commit,
    id: String,
    /// Each parent with what changed since; a first commit has one without a name.
    parents: Vec<(String, Vec<RawChange>)>,
}

/// Line maps by the ids of both contents; none for what cannot be read.
type Maps = HashMap<(String, String), Option<Rc<LineMap>>>;

/// Lines of a file that are followed.
type Stretch = (Vec<u8>, (u32, u32));

impl<'a> History<'a> {
    pub(super) fn of(
        repository: &'a Repository,
        base: &Revision,
        head: &Revision,
    ) -> Result<Self, GitError> {
        let (from, to) = (repository.commit_of(base)?, repository.commit_of(head)?);
        // The byte in front tells a commit from a file that it changed.
        let format = "--format=%x01%H%x00%P%x00%an%x00%ct%x00%s";
        let range = format!("{from}..{to}");
        let list = ["log", "-z", "--topo-order", "--no-color", "--no-show-signature", format];
        let files = ["--raw", "-r", "--no-abbrev", "-M", "--root", "--diff-merges=off"];
        let list = [&list[..], &files, &["--no-ext-diff", "--no-textconv", &range]].concat();
        let list = output(git(&repository.root, list), Vec::new())?;
        let mut commits = steps(&list)?;
        // A merge has a list for each of its parents.
        let mut asked = String::new();
        for step in commits.iter().filter(|step| step.parents.len() > 1) {
            for (parent, _) in &step.parents {
                let _ = writeln!(asked, "{} {parent}", step.id);
            }
        }
        if !asked.is_empty() {
            let options = ["diff-tree", "--stdin", "--always", "--root", "-r", "-z", "--raw"];
            let options = [&options[..], &["--no-abbrev", "-M", "--no-ext-diff", "--no-color"]];
            let answer = output(git(&repository.root, options.concat()), asked.into_bytes())?;
            add_changes(&mut commits, &answer)?;
        }
        let uncommitted = match head {
            Revision::WorkingTree => {
                let committed = Revision::Commit(to.clone());
                Some(repository.raw_changes(&committed, &Revision::WorkingTree)?)
            }
            Revision::Commit(_) => None,
        };
        let (reader, maps) = (RefCell::new(None), RefCell::new(HashMap::new()));
        Ok(Self { repository, commits, uncommitted, base: from, head: to, reader, maps })
    }

    /// All commits of the range, children before parents.
    pub fn commits(&self) -> impl Iterator<Item = &Commit> {
        self.commits.iter().map(|step| &step.commit)
    }

    /// The commit behind a change: the newest that touched the function, or the one that deleted it. Where neither is
    /// found, it was the only commit of the range, if there is only one.
    pub fn newest(&self, change: &FunctionChange) -> Result<Option<Commit>, GitError> {
        let found = match (&change.after, &change.before) {
            (Some(after), _) => self.touching(after)?.into_iter().next(),
            (None, Some(before)) => self.deleting(before)?,
            (None, None) => None,
        };
        let mut all = self.commits();
        let only = all.next().filter(|_| all.next().is_none());
        Ok(found.or_else(|| only.cloned()))
    }

    /// The commits that touched a function as the head of the range has it, newest first.
    pub fn touching(&self, function: &Definition) -> Result<Vec<Commit>, GitError> {
        let (Some(file), Some(lines)) = (&function.file, function.lines) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        let mut start = vec![(file.clone().into_bytes(), lines)];
        if let Some(changes) = &self.uncommitted {
            let (before, touched) = self.step_back(&start, changes)?;
            if touched {
                found.push(Commit::uncommitted());
            }
            start = before;
        }
        self.plan(&start)?;
        let mut followed: HashMap<&str, Vec<Stretch>> = HashMap::new();
        followed.insert(&self.head, start);
        for step in &self.commits {
            let Some(mut stretches) = followed.remove(step.id.as_str()) else { continue };
            stretches.sort();
            stretches.dedup();
            let mut touched_by_all = true;
            for (parent, changes) in &step.parents {
                let (before, touched) = self.step_back(&stretches, changes)?;
                // A merge has touched only what is like none of its parents.
                touched_by_all &= touched;
                followed.entry(parent).or_default().extend(before);
            }
            if touched_by_all {
                found.push(step.commit.clone());
            }
        }
        Ok(found)
    }

    /// Where stretches were before some changes, and whether any was touched.
    fn step_back(
        &self,
        stretches: &[Stretch],
        changes: &[RawChange],
    ) -> Result<(Vec<Stretch>, bool), GitError> {
        let mut before = Vec::new();
        let mut touched = false;
        for (path, lines) in stretches {
            let change = changes
                .iter()
                .find(|change| change.new.as_ref().is_some_and(|new| new.path == *path));
            let Some(change) = change else {
                before.push((path.clone(), *lines));
                continue;
            };
            let Some(old) = change.old.as_ref().filter(|old| old.mode == Mode::File) else {
                touched = true;
                continue;
            };
            let Some(map) = self.map(change)? else {
                before.push((old.path.clone(), *lines));
                continue;
            };
            let (was, changed) = map.reversed().stretch(*lines);
            touched |= changed;
            if was.0 <= was.1 {
                before.push((old.path.clone(), was));
            }
        }
        Ok((before, touched))
    }

    /// The lines of a changed file; none when the contents are the same or cannot be read.
    fn map(&self, change: &RawChange) -> Result<Option<Rc<LineMap>>, GitError> {
        let (Some(old), Some(new)) = (&change.old, &change.new) else { return Ok(None) };
        if old.id.is_some() && old.id == new.id {
            return Ok(None);
        }
        let key = old.id.clone().zip(new.id.clone());
        if let Some(known) = key.as_ref().and_then(|key| self.maps.borrow().get(key).cloned()) {
            return Ok(known);
        }
        let (after, before) = (self.text(new)?, self.text(old)?);
        let map = before.zip(after).map(|(before, after)| LineMap::between(&before, &after));
        let map = map.map(Rc::new);
        if let Some(key) = key {
            self.maps.borrow_mut().insert(key, map.clone());
        }
        Ok(map)
    }

    /// Tells the reader what following these stretches will want, newest first.
    fn plan(&self, stretches: &[Stretch]) -> Result<(), GitError> {
        let mut paths: HashSet<&[u8]> = stretches.iter().map(|(path, _)| path.as_slice()).collect();
        let mut ids = Vec::new();
        for change in self.commits.iter().flat_map(|step| &step.parents).flat_map(|it| &it.1) {
            let (Some(old), Some(new)) = (&change.old, &change.new) else { continue };
            if paths.contains(new.path.as_slice()) && old.mode == Mode::File && old.id != new.id {
                paths.insert(&old.path);
                let key = old.id.clone().zip(new.id.clone());
                if key.is_none_or(|key| !self.maps.borrow().contains_key(&key)) {
                    ids.extend([&new.id, &old.id].into_iter().flatten().cloned());
                }
            }
        }
        ids.dedup();
        if !ids.is_empty() {
            self.with_reader(|reader| {
                reader.plan(ids);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn text(&self, entry: &Entry) -> Result<Content, GitError> {
        let Some(id) = &entry.id else {
            return Ok(self.repository.read_file(&entry.path).map(Rc::from));
        };
        self.with_reader(|reader| reader.get(id))
    }

    fn with_reader<T>(
        &self,
        work: impl FnOnce(&mut Blobs) -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let mut reader = self.reader.borrow_mut();
        match &mut *reader {
            Some(reader) => work(reader),
            none => work(none.insert(Blobs::start(&self.repository.root, MAX_FILE_BYTES as u64)?)),
        }
    }
}

/// The commits of a log, with the changes of those that are no merges.
fn steps(log: &[u8]) -> Result<Vec<Step>, GitError> {
    let mut commits: Vec<Step> = Vec::new();
    let mut parts = log.split(|byte| *byte == 0);
    while let Some(part) = parts.next() {
        let part = part.strip_prefix(b"\n").unwrap_or(part);
        if part.is_empty() {
            continue;
        }
        let Some(id) = part.strip_prefix(b"\x01") else {
            let change = record(part, &mut parts)?;
            let changes = commits.last_mut().and_then(|step| step.parents.first_mut());
            let (_, changes) =
                changes.ok_or_else(|| GitError::Unexpected(lossy(part).into_owned()))?;
            changes.push(change);
            continue;
        };
        let id = lossy(id).into_owned();
        let mut field = || lossy(parts.next().unwrap_or_default()).into_owned();
        let (parents, author, time, title) = (field(), field(), field(), field());
        let mut parents: Vec<(String, Vec<RawChange>)> =
            parents.split_whitespace().map(|parent| (parent.to_owned(), Vec::new())).collect();
        if parents.is_empty() {
            parents.push((String::new(), Vec::new()));
        }
        let time = time.parse().unwrap_or(0);
        let commit = Commit { id: Some(id.clone()), title, author, time };
        commits.push(Step { commit, id, parents });
    }
    Ok(commits)
}

/// Gives each parent of each merge its changes, which come in the order in which they were asked for.
fn add_changes(commits: &mut [Step], answer: &[u8]) -> Result<(), GitError> {
    let mut parts = answer.split(|byte| *byte == 0).filter(|part| !part.is_empty()).peekable();
    for step in commits.iter_mut().filter(|step| step.parents.len() > 1) {
        for (_, changes) in &mut step.parents {
            let head = parts.next().map(lossy).unwrap_or_default();
            if !head.trim().starts_with(step.id.as_str()) {
                return Err(GitError::Unexpected(head.into_owned()));
            }
            while let Some(head) = parts.next_if(|part| part.starts_with(b":")) {
                changes.push(record(head, &mut parts)?);
            }
        }
    }
    Ok(())
}
