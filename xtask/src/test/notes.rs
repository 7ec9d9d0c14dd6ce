//! What tests note about themselves: `crates/fixtures/src/notes.rs` writes a file per test and topic.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::shell;

/// A folder for notes, gone at the end.
pub struct Notes(PathBuf);

impl Notes {
    pub fn new() -> Result<Self> {
        let folder = shell::target()?.join(format!("test-notes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(Self(folder))
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// How many tests noted something on a topic.
    pub fn count(&self, topic: &str) -> usize {
        std::fs::read_dir(self.0.join(topic)).map_or(0, Iterator::count)
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
