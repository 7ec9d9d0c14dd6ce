//! Revisions of a repository, through the `git` command.
//!
//! Whoever has a repository has git, in the version that wrote it. What is asked for needs few processes: one for the
//! list of files that differ, one for all contents.

mod base;
mod blobs;
mod command;
mod error;
mod history;
mod raw;
mod snapshot;

pub use base::DefaultBase;
pub use command::without_git_variables;
pub use error::GitError;
pub use history::{Commit, History};
pub use snapshot::Snapshot;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::compare::{ChangedFile, FileVersion, SourceComparison, compare_sources, file_kind};
use crate::source::MAX_FILE_BYTES;
use crate::{ChangeSet, Definition, FileChange, FileKind, LineMap};

use blobs::read_blobs;
use command::{git, output};
use raw::{Entry, Mode, RawChange, records};

/// A state of the files.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Revision {
    /// A commit by its full id.
    Commit(String),
    /// The files as they are now, untracked ones included, ignored ones not.
    WorkingTree,
}

impl std::fmt::Display for Revision {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Commit(id) => out.write_str(id.get(..12).unwrap_or(id)),
            Self::WorkingTree => out.write_str("working tree"),
        }
    }
}

/// A git repository.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
    /// The git directory that all working trees share.
    common: PathBuf,
    bare: bool,
}

impl Repository {
    /// The repository that a folder is in.
    pub fn open(folder: &Path) -> Result<Self, GitError> {
        let inside = |question: &str| {
            output(git(folder, ["rev-parse", question]), Vec::new()).map(|text| one_line(&text))
        };
        let none = |error| match error {
            GitError::Failed { message, .. } => {
                GitError::NoRepository { folder: folder.to_owned(), message }
            }
            error => error,
        };
        let bare = inside("--is-bare-repository").map_err(none)? == b"true";
        let question = if bare { "--absolute-git-dir" } else { "--show-toplevel" };
        let root = inside(question).map_err(none)?;
        let common = folder.join(path_of(&inside("--git-common-dir").map_err(none)?));
        let common = common.canonicalize().unwrap_or(common);
        Ok(Self { root: path_of(&root), common, bare })
    }

    /// The top folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The git directory that all working trees of the repository share.
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// What a name such as `HEAD~3`, `v1.2` or `abc123` means.
    pub fn resolve(&self, name: &str) -> Result<Revision, GitError> {
        let unknown = || GitError::NoRevision(name.to_owned());
        if name.is_empty() || name.starts_with('-') || name.contains('\0') {
            return Err(unknown());
        }
        let name = format!("{name}^{{commit}}");
        let command = git(&self.root, ["rev-parse", "--verify", "--quiet", &name]);
        match output(command, Vec::new()) {
            Ok(id) => Ok(Revision::Commit(String::from_utf8_lossy(&one_line(&id)).into_owned())),
            Err(GitError::Failed { .. }) => Err(unknown()),
            Err(error) => Err(error),
        }
    }

    /// The commit that `HEAD` is.
    pub fn head(&self) -> Result<Revision, GitError> {
        self.resolve("HEAD")
    }

    /// What changed between two revisions.
    pub fn changes(&self, base: &Revision, head: &Revision) -> Result<ChangeSet, GitError> {
        Ok(self.compare(base, head)?.changes)
    }

    /// What changed between two revisions, refactorings included.
    pub fn compare(&self, base: &Revision, head: &Revision) -> Result<SourceComparison, GitError> {
        let (files, stepped) = self.files_between(base, head)?;
        let mut found = compare_sources(&files);
        stepped.add_to(&mut found.changes);
        Ok(found)
    }

    /// The files that differ between two revisions.
    #[cfg(all(test, feature = "syntax-trees"))]
    pub(crate) fn changed_sources(
        &self,
        base: &Revision,
        head: &Revision,
    ) -> Result<Vec<ChangedFile>, GitError> {
        Ok(self.files_between(base, head)?.0)
    }

    fn files_between(
        &self,
        base: &Revision,
        head: &Revision,
    ) -> Result<(Vec<ChangedFile>, Stepped), GitError> {
        let raw = self.raw_changes(base, head)?;
        let mut stepped = Stepped::default();
        let raw: Vec<RawChange> = raw.into_iter().filter_map(|it| stepped.sort_out(it)).collect();
        let files = self.changed_files(&raw, &mut stepped)?;
        Ok((files, stepped))
    }

    /// Where the lines of a file in one revision are in another, and under which path. None when it is gone.
    pub fn line_map(
        &self,
        base: &Revision,
        head: &Revision,
        path: &str,
    ) -> Result<Option<(String, LineMap)>, GitError> {
        let raw = self.raw_changes(base, head)?;
        let of_path = |change: &RawChange| {
            change.old.as_ref().is_some_and(|old| String::from_utf8_lossy(&old.path) == path)
        };
        let Some(change) = raw.into_iter().find(of_path) else {
            return Ok(Some((path.to_owned(), LineMap::default())));
        };
        if change.new.is_none() {
            return Ok(None);
        }
        let files = self.changed_files(&[change], &mut Stepped::default())?;
        Ok(files.into_iter().next().and_then(|file| {
            let (before, after) = (file.before?, file.after?);
            Some((after.path, LineMap::between(&before.text, &after.text)))
        }))
    }

    /// The commits from base to head that touched a function as head has it, newest first.
    pub fn commits_touching(
        &self,
        function: &Definition,
        base: &Revision,
        head: &Revision,
    ) -> Result<Vec<Commit>, GitError> {
        self.history(base, head)?.touching(function)
    }

    /// The commits from base to head, for many questions about functions.
    pub fn history(&self, base: &Revision, head: &Revision) -> Result<History<'_>, GitError> {
        History::of(self, base, head)
    }

    /// All source files of a revision with their text, in the order of their paths.
    pub fn sources(&self, revision: &Revision) -> Result<Vec<FileVersion>, GitError> {
        self.texts(revision, |path| crate::Language::of_path(path).is_some())
    }

    /// All files of a revision that are wanted, with their text, in the order of their paths.
    pub fn texts(
        &self,
        revision: &Revision,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<FileVersion>, GitError> {
        let mut entries = match revision {
            Revision::Commit(id) => self.tree(id)?,
            Revision::WorkingTree => {
                let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
                let paths = output(git(&self.root, list), Vec::new())?;
                let paths = paths.split(|byte| *byte == 0).filter(|path| !path.is_empty());
                paths
                    .map(|path| Entry { path: path.to_vec(), mode: Mode::File, id: None })
                    .collect()
            }
        };
        entries.retain(|it| it.mode == Mode::File && wanted(&String::from_utf8_lossy(&it.path)));
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        entries.dedup_by(|one, other| one.path == other.path);
        let texts = self.read(&entries.iter().collect::<Vec<_>>())?;
        let versions = entries.iter().zip(texts).filter_map(|(entry, text)| {
            Some(FileVersion { path: lossy(&entry.path).into_owned(), text: text? })
        });
        Ok(versions.collect())
    }

    fn tree(&self, id: &str) -> Result<Vec<Entry>, GitError> {
        let list = output(git(&self.root, ["ls-tree", "-r", "-z", "--full-tree", id]), Vec::new())?;
        let mut entries = Vec::new();
        for line in list.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let bad = || GitError::Unexpected(lossy(line).into_owned());
            let tab = line.iter().position(|byte| *byte == b'\t').ok_or_else(bad)?;
            let mut words = line[..tab].split(|byte| *byte == b' ');
            let (mode, _, id) = (words.next(), words.next(), words.next());
            let (Some(mode), Some(id)) = (mode.and_then(Mode::of), id) else { continue };
            let id = Some(lossy(id).into_owned());
            entries.push(Entry { path: line[tab + 1..].to_vec(), mode, id });
        }
        Ok(entries)
    }

    fn commit_of(&self, revision: &Revision) -> Result<String, GitError> {
        match revision {
            Revision::Commit(id) => Ok(id.clone()),
            Revision::WorkingTree => match self.head()? {
                Revision::Commit(id) => Ok(id),
                Revision::WorkingTree => Err(GitError::NoRevision("HEAD".to_owned())),
            },
        }
    }

    /// Files that differ, in the order of their paths.
    fn raw_changes(&self, base: &Revision, head: &Revision) -> Result<Vec<RawChange>, GitError> {
        let options = ["-r", "-z", "--raw", "--no-abbrev", "-M", "--no-ext-diff", "--no-textconv"];
        let options = [&options[..], &["--no-color", "--ignore-submodules=none"]].concat();
        let mut found = match (base, head) {
            (Revision::Commit(base), Revision::Commit(head)) => {
                let command = [&["diff-tree"], &options[..], &[base, head]].concat();
                records(&output(git(&self.root, command), Vec::new())?)?
            }
            (Revision::Commit(base), Revision::WorkingTree) => self.since(base, &options)?,
            (Revision::WorkingTree, Revision::Commit(head)) => {
                self.since(head, &options)?.into_iter().map(RawChange::reversed).collect()
            }
            (Revision::WorkingTree, Revision::WorkingTree) => Vec::new(),
        };
        let path = |change: &RawChange| {
            change.new.as_ref().or(change.old.as_ref()).map(|entry| entry.path.clone())
        };
        found.sort_by_cached_key(path);
        Ok(found)
    }

    /// What the working tree has changed since a commit.
    fn since(&self, commit: &str, options: &[&str]) -> Result<Vec<RawChange>, GitError> {
        if self.bare {
            return Err(GitError::NoRevision("the working tree of a bare repository".to_owned()));
        }
        let command = [&["diff-index"], options, &[commit]].concat();
        let mut found = records(&output(git(&self.root, command), Vec::new())?)?;
        let list = ["ls-files", "-z", "--others", "--exclude-standard"];
        let others = output(git(&self.root, list), Vec::new())?;
        for path in others.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            // Git ends the name of a repository inside with a slash; it is no file.
            if path.ends_with(b"/") {
                continue;
            }
            // Taken out of the index and still there: it is changed, not new.
            let known = found.iter_mut().find(|change| {
                change.new.is_none() && change.old.as_ref().is_some_and(|old| old.path == path)
            });
            let entry = Entry { path: path.to_vec(), mode: Mode::File, id: None };
            match known {
                Some(change) => change.new = Some(entry),
                None => found.push(RawChange { old: None, new: Some(entry) }),
            }
        }
        Ok(found)
    }

    /// Texts of entries, from the object store or the working tree; none when missing or too large.
    fn read(&self, entries: &[&Entry]) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        let ids: Vec<&str> = entries.iter().filter_map(|entry| entry.id.as_deref()).collect();
        let mut blobs = read_blobs(&self.root, &ids, MAX_FILE_BYTES as u64)?.into_iter();
        let read = |entry: &&Entry| match entry.id {
            Some(_) => blobs.next().flatten(),
            None => self.read_file(&entry.path),
        };
        Ok(entries.iter().map(read).collect())
    }

    fn read_file(&self, path: &[u8]) -> Option<Vec<u8>> {
        let path = self.root.join(path_of(path));
        let about = std::fs::symlink_metadata(&path).ok()?;
        if !about.is_file() || about.len() > MAX_FILE_BYTES as u64 {
            return None;
        }
        std::fs::read(path).ok()
    }

    fn changed_files(
        &self,
        raw: &[RawChange],
        stepped: &mut Stepped,
    ) -> Result<Vec<ChangedFile>, GitError> {
        let entries: Vec<&Entry> = raw.iter().flat_map(|it| [&it.old, &it.new]).flatten().collect();
        let mut texts = self.read(&entries)?.into_iter();
        let mut files = Vec::with_capacity(raw.len());
        for change in raw {
            let mut version = |entry: &Option<Entry>| {
                let entry = entry.as_ref()?;
                let path = lossy(&entry.path).into_owned();
                let text = texts.next().flatten();
                if text.is_none() {
                    stepped.unread.push(path.clone());
                }
                Some(FileVersion { path, text: text? })
            };
            let (before, after) = (version(&change.old), version(&change.new));
            let unread =
                before.is_some() != change.old.is_some() || after.is_some() != change.new.is_some();
            if !unread {
                files.push(ChangedFile { before, after });
            }
        }
        Ok(files)
    }
}

/// What was not compared.
#[derive(Default)]
struct Stepped {
    submodules: Vec<String>,
    links: u32,
    unread: Vec<String>,
}

impl Stepped {
    /// Takes out what is no file.
    fn sort_out(&mut self, change: RawChange) -> Option<RawChange> {
        let is = |mode| [&change.old, &change.new].into_iter().flatten().any(|it| it.mode == mode);
        if is(Mode::Submodule) {
            let entry = change.new.as_ref().or(change.old.as_ref());
            self.submodules.extend(entry.map(|entry| lossy(&entry.path).into_owned()));
            return None;
        }
        if is(Mode::Link) {
            self.links += 1;
            return None;
        }
        Some(change)
    }

    fn add_to(self, changes: &mut ChangeSet) {
        for path in self.submodules {
            changes.warnings.push(format!(
                "{path} is a submodule that points to another commit; perfblame does not look for changes in it"
            ));
            changes.files.push(FileChange { path, kind: FileKind::Dependency, hunks: Vec::new() });
        }
        if self.links > 0 {
            changes
                .warnings
                .push(format!("{} symbolic links changed and were skipped", self.links));
        }
        for path in self.unread {
            changes.warnings.push(format!(
                "{path} was not compared: it cannot be read or is larger than {} MB",
                MAX_FILE_BYTES >> 20
            ));
            let kind = file_kind(&path);
            changes.files.push(FileChange { path, kind, hunks: Vec::new() });
        }
        changes.files.sort_by(|one, other| one.path.cmp(&other.path));
    }
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Output without its line end. A path may end with a blank.
fn one_line(output: &[u8]) -> Vec<u8> {
    output.strip_suffix(b"\n").unwrap_or(output).to_vec()
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests;
