//! What the user named, as a list of inputs: a file, each file of a folder, whatever a pattern matches, standard input,
//! or bytes that somebody holds already.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::load::{LoadError, LoadErrorKind};

/// One input, which is one run.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// A file that was named or matched.
    File(PathBuf),
    /// A file found in a folder that was named; one that is no profile is left out, not an error.
    Found(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory; clones share them.
    Bytes {
        /// What users call it.
        name: String,
        /// A file's content, packed or not.
        bytes: Arc<[u8]>,
    },
}

impl fmt::Debug for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => out.debug_tuple("File").field(path).finish(),
            Self::Found(path) => out.debug_tuple("Found").field(path).finish(),
            Self::Stdin => out.write_str("Stdin"),
            // The bytes themselves would fill the screen.
            Self::Bytes { name, bytes } => {
                out.debug_struct("Bytes").field("name", name).field("size", &bytes.len()).finish()
            }
        }
    }
}

impl Source {
    /// Bytes in memory.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Bytes { name: name.into(), bytes: bytes.into() }
    }

    /// The name users know it by.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) | Self::Found(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
            Self::Bytes { name, .. } => name.clone(),
        }
    }

    /// What further processes and workers of the same run left, in name order.
    pub(crate) fn others(&self) -> Vec<Self> {
        let (Self::File(path) | Self::Found(path)) = self else { return Vec::new() };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // `run-1` of `run-1.trace.json.gz`.
        let Some((run, _)) = name.split_once('.').filter(|(run, _)| !run.is_empty()) else {
            return Vec::new();
        };
        let folder = path.with_file_name(format!("{run}.others"));
        let mut files: Vec<PathBuf> = (folder.read_dir().into_iter().flatten().flatten())
            .map(|entry| entry.path())
            .filter(|path| path.is_file())
            .collect();
        files.sort();
        files.into_iter().map(Self::Found).collect()
    }

    /// Its size, where that is known beforehand.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::File(path) | Self::Found(path) => {
                path.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len())
            }
            Self::Stdin => None,
            Self::Bytes { bytes, .. } => Some(bytes.len() as u64),
        }
    }
}

/// The inputs that arguments stand for, in the order given; the files of a folder in name order.
pub fn expand(arguments: &[PathBuf]) -> Result<Vec<Source>, LoadError> {
    let mut sources = Vec::new();
    for argument in arguments {
        if argument.as_os_str() == "-" {
            if sources.contains(&Source::Stdin) {
                return Err(LoadError::new("standard input", LoadErrorKind::NamedTwice));
            }
            sources.push(Source::Stdin);
        } else if argument.is_dir() {
            sources.extend(folder(argument)?);
        } else if argument.exists() {
            sources.push(Source::File(argument.clone()));
        } else {
            sources.extend(pattern(argument)?);
        }
    }
    Ok(sources)
}

fn folder(path: &Path) -> Result<Vec<Source>, LoadError> {
    let failed = |error| LoadError::new(path.display(), LoadErrorKind::Read(error));
    let mut files = Vec::new();
    for entry in path.read_dir().map_err(|error| failed(error.into()))? {
        let entry = entry.map_err(|error| failed(error.into()))?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // Followed, as `path.is_file` does: folders of runs are often made of links.
        if !hidden && entry.path().is_file() {
            files.push(entry.path());
        }
    }
    if files.is_empty() {
        return Err(LoadError::new(path.display(), LoadErrorKind::EmptyFolder));
    }
    files.sort();
    Ok(files.into_iter().map(Source::Found).collect())
}

/// Shells leave a pattern as it is when it is quoted, or on Windows.
fn pattern(argument: &Path) -> Result<Vec<Source>, LoadError> {
    let file = vec![Source::File(argument.to_owned())];
    let Some(text) = argument.to_str().filter(|text| text.contains(['*', '?', '['])) else {
        return Ok(file);
    };
    let Ok(matches) = glob::glob(text) else { return Ok(file) };
    let mut files: Vec<PathBuf> = matches.filter_map(Result::ok).filter(|p| p.is_file()).collect();
    if files.is_empty() {
        return Err(LoadError::new(argument.display(), LoadErrorKind::NoMatch));
    }
    files.sort();
    Ok(files.into_iter().map(Source::File).collect())
}
