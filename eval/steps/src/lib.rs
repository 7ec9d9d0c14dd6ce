//! Experiments that take hours go on where they were interrupted: the work folder keeps results of steps, each under a
//! name made from what went into the step.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Where results are kept.
#[derive(Clone, Debug)]
pub struct Work {
    folder: PathBuf,
}

impl Work {
    /// The folder is made when it is not there.
    pub fn at(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let folder = std::path::absolute(folder)?;
        Ok(Self { folder })
    }

    /// The folder of an experiment in the user's cache, where nobody named another.
    pub fn usual_folder(experiment: &str) -> PathBuf {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")));
        cache
            .unwrap_or_else(std::env::temp_dir)
            .join("perfblame")
            .join(format!("eval-{experiment}"))
    }

    /// A place in the folder.
    pub fn path(&self, parts: &[&str]) -> PathBuf {
        parts.iter().fold(self.folder.clone(), |path, part| path.join(part))
    }

    /// A place in the folder, whose own folder is there.
    pub fn place(&self, parts: &[&str]) -> Result<PathBuf> {
        let path = self.path(parts);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        Ok(path)
    }

    /// The result of a step: the one that is kept, or what `make` makes. A kept one that cannot be read is made again.
    pub fn step<T: Serialize + DeserializeOwned>(
        &self,
        parts: &[&str],
        make: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let path = self.place(parts)?;
        if let Some(kept) = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok())
        {
            return Ok(kept);
        }
        let made = make()?;
        write_whole(&path, &serde_json::to_vec_pretty(&made)?)?;
        Ok(made)
    }

    /// A folder that `fill` fills: it is there with all that belongs in it, or not at all.
    pub fn folder(
        &self,
        parts: &[&str],
        fill: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let path = self.place(parts)?;
        if path.is_dir() {
            return Ok(path);
        }
        let unfinished = unfinished(&path);
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)?;
        }
        fs::create_dir_all(&unfinished)?;
        fill(&unfinished)?;
        fs::rename(&unfinished, &path).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

/// Writes a file that is there as a whole or not at all. Two threads may write the same one.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let mut unfinished = unfinished(path).into_os_string();
    unfinished.push(format!("-{}", WRITTEN.fetch_add(1, Ordering::Relaxed)));
    let unfinished = PathBuf::from(unfinished);
    fs::write(&unfinished, bytes).with_context(|| unfinished.display().to_string())?;
    fs::rename(&unfinished, path).with_context(|| path.display().to_string())
}

/// Beside a path, under a name that no finished one has. Versions have dots, so this is no matter of extensions.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    path.with_file_name(name)
}

/// A name for what went into a step. FNV-1a: it must be the same tomorrow, and nobody here wants two to be alike.
pub fn key(parts: &[&[u8]]) -> String {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = START;
    for part in parts {
        // The length keeps `ab`, `c` apart from `a`, `bc`.
        for byte in (part.len() as u64).to_le_bytes().iter().chain(*part) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }
    format!("{hash:016x}")
}

/// The key of a file's contents.
pub fn file_key(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    Ok(key(&[&bytes]))
}
