//! The work folder: what took time to make is kept there, whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The user's cache folder, where nobody named another.
pub fn usual_folder() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("perfblame").join("eval-zam")
}

/// The result of a step: the one that is kept, or what `make` makes. A kept one that cannot be read is made again.
pub fn step<T: Serialize + DeserializeOwned>(
    path: &Path,
    make: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if let Some(kept) = fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()) {
        return Ok(kept);
    }
    let made = make()?;
    write_whole(path, &serde_json::to_vec_pretty(&made)?)?;
    Ok(made)
}

/// A folder that `fill` fills: it is there with all that belongs in it, or not at all.
pub fn folder(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let unfinished = unfinished(path);
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    fs::create_dir_all(&unfinished).with_context(|| unfinished.display().to_string())?;
    fill(&unfinished)?;
    fs::rename(&unfinished, path).with_context(|| path.display().to_string())
}

/// Writes a file that is there as a whole or not at all, and its folder.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let unfinished = unfinished(path);
    fs::write(&unfinished, bytes).with_context(|| unfinished.display().to_string())?;
    fs::rename(&unfinished, path).with_context(|| path.display().to_string())
}

/// Beside a path, under a name that no finished one has.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    path.with_file_name(name)
}
