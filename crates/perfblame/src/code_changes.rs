//! Where the user says that the changes of the code are known from.

use std::path::{Path, PathBuf};

use perfblame_analysis::{AskError, CodeSource, Method};
use perfblame_cct::Sides;

use crate::args::CodeArgs;
use crate::changes_file;

impl CodeArgs {
    /// Where the changes are known from. A list is not read for a method that cannot use it.
    pub fn source(&self, method: Method) -> anyhow::Result<CodeSource> {
        Ok(if let Some(path) = &self.changes {
            method.goes_by_changes_alone().map_err(AskError::from)?;
            CodeSource::Listed(changes_file::read(path)?)
        } else if let [before, after] = &*self.classes {
            CodeSource::Classes(Sides::new(class_path(before), class_path(after)))
        } else if let [before, after] = &*self.source {
            CodeSource::Folders(Sides::new(before.clone(), after.clone()))
        } else if let Some(repository) = self.repo.clone() {
            CodeSource::Revisions { repository, base: self.base.clone(), head: self.head.clone() }
        } else {
            CodeSource::Unknown
        })
    }
}

/// Several places with the system's separator between.
fn class_path(text: &Path) -> Vec<PathBuf> {
    std::env::split_paths(text).collect()
}
