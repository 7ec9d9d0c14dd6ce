//! What changed in the code, from wherever the user says: a file, class files, folders with source, a repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfblame_analysis::ChangedFunction;
use perfblame_changes::{
    ChangeSet, ChangedFile, FileVersion, Repository, Revision, class_changes, compare_sources,
};

use crate::args::CodeArgs;
use crate::changes_file;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Files beyond this are made by programs, not written.
const MOST_BYTES: u64 = 4 << 20;

/// Folders in which nobody changes code by hand.
const LEFT_OUT: &[&str] = &["node_modules", "target", "__pycache__", "venv"];

/// Beyond this many changed functions, whose commit it was is not looked up.
const MOST_COMMITS: usize = 200;

/// The changed functions; none when nothing was said about the code.
pub fn read(args: &CodeArgs, terminal: &Terminal) -> anyhow::Result<Option<Vec<ChangedFunction>>> {
    if let Some(path) = &args.changes {
        return changes_file::read(path).map(Some);
    }
    let (set, commits) = if let [before, after] = &*args.classes {
        (class_changes(&split(before), &split(after))?, Vec::new())
    } else if let [before, after] = &*args.source {
        (between_folders(before, after)?, Vec::new())
    } else if let Some(folder) = &args.repo {
        in_repository(folder, args.base.as_deref(), args.head.as_deref())?
    } else {
        return Ok(None);
    };
    for warning in &set.warnings {
        terminal.note(warning);
    }
    let mut changed: Vec<ChangedFunction> =
        set.functions.iter().map(ChangedFunction::from).collect();
    for (change, commit) in changed.iter_mut().zip(commits) {
        change.commit = commit;
    }
    terminal.log(&format!("{} functions changed", changed.len()));
    Ok(Some(changed))
}

/// A class path: several places with the system's separator between.
fn split(text: &Path) -> Vec<PathBuf> {
    std::env::split_paths(text).collect()
}

fn between_folders(before: &Path, after: &Path) -> anyhow::Result<ChangeSet> {
    let mut files: BTreeMap<String, ChangedFile> = BTreeMap::new();
    for file in sources(before)? {
        let row = files.entry(file.path.clone()).or_default();
        row.before = Some(file);
    }
    for file in sources(after)? {
        let row = files.entry(file.path.clone()).or_default();
        row.after = Some(file);
    }
    files.retain(|_, file| file.before != file.after);
    let files: Vec<ChangedFile> = files.into_values().collect();
    Ok(compare_sources(&files).changes)
}

/// The files below a folder, hidden ones and what programs made left out.
fn sources(root: &Path) -> anyhow::Result<Vec<FileVersion>> {
    let failed = |path: &Path, error: &std::io::Error| Failure {
        what: format!("cannot read {}", path.display()),
        why: match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            std::io::ErrorKind::NotADirectory => "it is no folder".to_owned(),
            _ => error.to_string(),
        },
        help: None,
    };
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| failed(&folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| failed(&folder, &error))?;
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            // Links could lead round in circles.
            let kind = entry.file_type().map_err(|error| failed(&path, &error))?;
            if name.starts_with('.') || kind.is_symlink() {
                continue;
            }
            if kind.is_dir() {
                if !LEFT_OUT.contains(&&*name) {
                    open.push(path);
                }
                continue;
            }
            let about = entry.metadata().map_err(|error| failed(&path, &error))?;
            if !about.is_file() || about.len() > MOST_BYTES {
                continue;
            }
            let text = std::fs::read(&path).map_err(|error| failed(&path, &error))?;
            let path = path.strip_prefix(root).unwrap_or(&path);
            let path = path.to_string_lossy().replace('\\', "/");
            found.push(FileVersion { path, text });
        }
    }
    Ok(found)
}

/// The changes, and the newest commit of each where they are few.
fn in_repository(
    folder: &Path,
    base: Option<&str>,
    head: Option<&str>,
) -> anyhow::Result<(ChangeSet, Vec<Option<String>>)> {
    let repository = Repository::open(folder)?;
    let base = match base {
        Some(name) => repository.resolve(name)?,
        None => repository.default_base()?,
    };
    let head = match head {
        Some(name) => repository.resolve(name)?,
        None => Revision::WorkingTree,
    };
    let set = repository.changes(&base, &head)?;
    if set.functions.len() > MOST_COMMITS {
        return Ok((set, Vec::new()));
    }
    let history = repository.history(&base, &head)?;
    let commit = |function: &perfblame_changes::FunctionChange| {
        let Some(after) = &function.after else { return Ok(None) };
        let newest = history.touching(after)?.into_iter().next();
        Ok::<_, anyhow::Error>(newest.and_then(|commit| commit.id))
    };
    let commits = set.functions.iter().map(commit).collect::<Result<_, _>>()?;
    Ok((set, commits))
}
