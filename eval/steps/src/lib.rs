//! Experiments that take hours go on where they were interrupted: the work folder keeps results of steps, each under a
//! name made from what went into the step.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use perfblame_disk::Scratch;
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
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let around = path.parent().unwrap_or(&path);
        // What a killed experiment left.
        Scratch::remove_abandoned(around, |process| {
            !Path::new(&format!("/proc/{process}")).exists()
        });
        let unfinished = Scratch::create(around, &name)?;
        fill(unfinished.path())?;
        unfinished.finish(&path).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

/// Writes a file that is there as a whole or not at all. Two threads may write the same one.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    perfblame_disk::write_bytes(path, bytes).with_context(|| path.display().to_string())
}

pub use perfblame_keys::key;

/// The key of a file's contents.
pub fn file_key(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    Ok(key(&[&bytes]))
}
