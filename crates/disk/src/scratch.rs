//! A folder for files that other programs make, until they are whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A hidden folder beside the target, on the same file system so that a name is given in one step. Goes when dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new one in a folder, which is made if it is missing.
    pub fn create(folder: &Path, name: &str) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(folder)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".{name}.{}-{number}.unfinished", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Gives all of it the target's name, for folders that are there whole or not at all.
    pub fn finish(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.0, target)
        // Dropping finds nothing to remove.
    }

    /// Removes what processes left in a folder that were killed; `is_gone` knows which.
    pub fn remove_abandoned(folder: &Path, is_gone: impl Fn(i32) -> bool) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let process = name.to_str().and_then(|name| {
                let (_, owner) =
                    name.strip_prefix('.')?.strip_suffix(".unfinished")?.rsplit_once('.')?;
                owner.split_once('-')?.0.parse::<i32>().ok()
            });
            if process.is_some_and(&is_gone) {
                let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
