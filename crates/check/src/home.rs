//! perfblame's folder in the git directory: built checkouts, profiles, logs, the last answer, and a lock over them.
//!
//! All working trees of a repository share it. One check at a time holds the lock: two at once would measure each
//! other. Whoever gets the lock first clears away what a killed check left behind.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::{Failure, Repository};

/// How often a lock is tried.
const PATIENCE: Duration = Duration::from_millis(200);

/// Logs that are kept.
const LOGS: usize = 40;

/// What to do while another check runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Busy {
    /// Wait for it.
    Wait,
    /// Say so and end.
    Refuse,
}

/// The folder.
#[derive(Clone, Debug)]
pub struct Home {
    path: PathBuf,
}

/// Nobody else runs a check of this repository while this is held.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Home {
    /// The folder of a repository, made when it is not there.
    pub fn of(git: &Repository) -> Result<Self, Failure> {
        let home = Self { path: git.common().join("perfblame") };
        for folder in [home.trees(), home.profiles(), home.logs(), home.last()] {
            std::fs::create_dir_all(&folder)
                .map_err(|error| Failure::io("make", &folder, &error))?;
        }
        Ok(home)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Built checkouts.
    pub fn trees(&self) -> PathBuf {
        self.path.join("trees")
    }

    /// Stored profiles.
    pub fn profiles(&self) -> PathBuf {
        self.path.join("profiles")
    }

    /// What builds and runs printed.
    pub fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// The last answer.
    pub fn last(&self) -> PathBuf {
        self.path.join("last")
    }

    /// Takes the lock. `waits` hears once who holds it.
    pub fn lock(
        &self,
        git: &Repository,
        busy: Busy,
        cancel: &AtomicBool,
        waits: &dyn Fn(&str),
    ) -> Result<Lock, Failure> {
        let path = self.path.join("lock");
        let failed = |error: std::io::Error| Failure::io("use", &path, &error);
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        let mut said = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            let mut holder = String::new();
            let _ = file.rewind().and_then(|()| file.read_to_string(&mut holder));
            let holder = match holder.trim() {
                "" => "another process".to_owned(),
                pid => format!("process {pid}"),
            };
            if busy == Busy::Refuse {
                let why = format!("{holder} is checking this repository");
                return Err(Failure::new("another check is running", why)
                    .help("remove `--no-wait` to wait for it"));
            }
            if !said {
                waits(&holder);
                said = true;
            }
            if cancel.load(Ordering::Relaxed) {
                return Err(Failure::cancelled());
            }
            std::thread::sleep(PATIENCE);
        }
        let _ = file.set_len(0);
        let _ = file.rewind().and_then(|()| write!(file, "{}", std::process::id()));
        self.clear_leftovers(git);
        Ok(Lock { _file: file })
    }

    /// Removes what a check left that was killed before it could: we hold the lock, so nobody uses it.
    fn clear_leftovers(&self, git: &Repository) {
        unregister(git, &self.trees());
        for entry in entries(&self.trees()) {
            let stamp = entry.with_extension("json");
            if entry.is_dir() && !stamp.is_file() {
                let _ = std::fs::remove_dir_all(&entry);
            }
        }
        for entry in entries(&self.path) {
            let name = entry.file_name().map(|name| name.to_string_lossy().into_owned());
            if name.is_some_and(|name| name.starts_with("index.") || name.starts_with("run.")) {
                let _ = std::fs::remove_file(&entry);
                let _ = std::fs::remove_dir_all(&entry);
            }
        }
        let mut logs: Vec<_> =
            entries(&self.logs()).into_iter().map(|path| (modified(&path), path)).collect();
        logs.sort();
        for (_, log) in logs.iter().take(logs.len().saturating_sub(LOGS)) {
            let _ = std::fs::remove_file(log);
        }
    }
}

/// Takes checkouts below a folder off git's list of working trees.
pub fn unregister(git: &Repository, below: &Path) {
    for entry in entries(&git.common().join("worktrees")) {
        let place = std::fs::read_to_string(entry.join("gitdir")).unwrap_or_default();
        if Path::new(place.trim()).starts_with(below) {
            let _ = std::fs::remove_dir_all(&entry);
        }
    }
    // An empty folder is one that git would not have made.
    let _ = std::fs::remove_dir(git.common().join("worktrees"));
}

/// What is in a folder, sorted.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// When a file was written, in nanoseconds since 1970.
pub fn modified(path: &Path) -> u128 {
    let time = path.metadata().and_then(|data| data.modified()).ok();
    time.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_nanos())
}

/// Bytes of a file or of all files below a folder; links count as themselves.
pub fn size(path: &Path) -> u64 {
    let mut bytes = 0u64;
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(data) = path.symlink_metadata() else { continue };
        if data.is_dir() {
            open.extend(entries(&path));
        } else {
            bytes = bytes.saturating_add(data.len());
        }
    }
    bytes
}

/// Marks a file as used now.
pub fn touch(path: &Path) {
    if let Ok(file) = File::options().append(true).open(path) {
        let _ = file.set_modified(std::time::SystemTime::now());
    }
}
