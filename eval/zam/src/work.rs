//! The work folder: what took time to make is kept there, whole or not at all.
//!
//! [`perfblame_eval_steps`] for paths: here what is kept belongs to an application or a case, which has a folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use perfblame_eval_steps::Work;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The result of a step: the one that is kept, or what `make` makes. A kept one that cannot be read is made again.
pub fn step<T: Serialize + DeserializeOwned>(
    path: &Path,
    make: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let (work, name) = within(path)?;
    work.step(&[name], make)
}

/// A folder that `fill` fills: it is there with all that belongs in it, or not at all.
pub fn folder(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let (work, name) = within(path)?;
    work.folder(&[name], fill)?;
    Ok(())
}

/// Writes a file that is there as a whole or not at all, and its folder.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let (work, name) = within(path)?;
    perfblame_eval_steps::write_whole(&work.place(&[name])?, bytes)
}

/// Beside a path, under a name that no finished one has.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    path.with_file_name(name)
}

fn within(path: &Path) -> Result<(Work, &str)> {
    let parts = path.parent().zip(path.file_name().and_then(|name| name.to_str()));
    let (folder, name) = parts.with_context(|| path.display().to_string())?;
    Ok((Work::at(folder)?, name))
}
