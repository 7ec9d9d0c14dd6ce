//! What changed in the code, from wherever the user says: a file, class files, folders with source, a repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfblame_analysis::{Blame, ChangedFunction, Code, Diff, DiffTree, attribute};
use perfblame_cct::Warning;
use perfblame_changes::{
    ChangeSet, ChangedFile, FileVersion, FunctionChange, Repository, Revision, SourceIndex,
    compare_sources,
};
use perfblame_classes::class_changes;

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

/// What is known of the code.
#[derive(Default)]
pub struct CodeChanges {
    /// The changed functions; none when nothing was said about the code.
    pub functions: Option<Vec<ChangedFunction>>,
    sources: Option<SourceSides>,
}

/// The sources of both sides, and what changed between them.
struct SourceSides {
    set: ChangeSet,
    before: SourceIndex,
    after: SourceIndex,
    /// The newest commit of each change and its title, as far as they were looked up.
    commits: Vec<Option<(String, String)>>,
}

impl CodeChanges {
    /// True where changes can be held against suspects.
    pub fn has_sources(&self) -> bool {
        self.sources.is_some()
    }

    /// Gives suspects the changes that explain them, where sources tell which function is which.
    pub fn attribute(&self, diff: &mut Diff, tree: &DiffTree) {
        let Some(sides) = &self.sources else { return };
        let commit = |change: &FunctionChange| {
            let row = sides.set.functions.iter().position(|known| std::ptr::eq(known, change))?;
            sides.commits.get(row)?.clone()
        };
        let code = Code {
            changes: &sides.set,
            before: &sides.before,
            after: &sides.after,
            commit: &commit,
        };
        let found = attribute(diff, tree, &code).put_into(diff);
        let message = match found.finding {
            Blame::Nothing | Blame::Explained => return,
            Blame::Outside => format!(
                "no changed function explains the slowdown; changed outside functions: {}",
                found.outside.iter().map(|change| &*change.file).collect::<Vec<_>>().join(", ")
            ),
            Blame::NotReached => format!(
                "these runs do not reach the change: none of its {} functions is in a stack or called from a function in one",
                found.changed
            ),
            Blame::Unexplained => {
                "no code change explains this: none is near the functions that got slower".to_owned()
            }
            Blame::Unknown => "cannot tell whether a change explains this: the functions of the runs are not in the sources, or native code was built without debug information (`-g`)"
                .to_owned(),
            Blame::Unchanged => "no code changed between the two revisions".to_owned(),
        };
        diff.warnings.push(Warning { code: found.finding.name().to_owned(), message, count: 1 });
    }
}

/// What changed, from wherever the user says.
pub fn read(args: &CodeArgs, terminal: &Terminal) -> anyhow::Result<CodeChanges> {
    if let Some(path) = &args.changes {
        return Ok(CodeChanges { functions: Some(changes_file::read(path)?), sources: None });
    }
    let (set, sources) = if let [before, after] = &*args.classes {
        (class_changes(&split(before), &split(after))?, None)
    } else {
        let sides = if let [before, after] = &*args.source {
            between_folders(before, after)?
        } else if let Some(folder) = &args.repo {
            in_repository(folder, args.base.as_deref(), args.head.as_deref())?
        } else {
            return Ok(CodeChanges::default());
        };
        (sides.set.clone(), Some(sides))
    };
    for warning in &set.warnings {
        terminal.note(warning);
    }
    let mut changed: Vec<ChangedFunction> =
        set.functions.iter().map(ChangedFunction::from).collect();
    let commits = sources.iter().flat_map(|sides| &sides.commits);
    for (change, commit) in changed.iter_mut().zip(commits) {
        change.commit = commit.as_ref().map(|(id, _)| id.clone());
    }
    terminal.log(&format!("{} functions changed", changed.len()));
    Ok(CodeChanges { functions: Some(changed), sources })
}

/// A class path: several places with the system's separator between.
fn split(text: &Path) -> Vec<PathBuf> {
    std::env::split_paths(text).collect()
}

fn between_folders(before: &Path, after: &Path) -> anyhow::Result<SourceSides> {
    let (before, after) = (sources(before)?, sources(after)?);
    let indexes = [&before, &after].map(|files| SourceIndex::of_files(files));
    let mut files: BTreeMap<String, ChangedFile> = BTreeMap::new();
    for file in before {
        let row = files.entry(file.path.clone()).or_default();
        row.before = Some(file);
    }
    for file in after {
        let row = files.entry(file.path.clone()).or_default();
        row.after = Some(file);
    }
    files.retain(|_, file| file.before != file.after);
    let files: Vec<ChangedFile> = files.into_values().collect();
    let [before, after] = indexes;
    Ok(SourceSides { set: compare_sources(&files).changes, before, after, commits: Vec::new() })
}

/// The files below a folder, hidden ones and what programs made left out.
fn sources(root: &Path) -> anyhow::Result<Vec<FileVersion>> {
    let failed = |path: &Path, error: &std::io::Error| Failure {
        what: format!("cannot read {}", path.display()),
        why: match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            std::io::ErrorKind::NotADirectory => "it is not a folder".to_owned(),
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
) -> anyhow::Result<SourceSides> {
    let repository = Repository::open(folder)?;
    let head = match head {
        Some(name) => repository.resolve(name)?,
        None => Revision::WorkingTree,
    };
    let base = match base {
        Some(name) => repository.resolve(name)?,
        None => repository.default_base(&head)?.revision,
    };
    let set = repository.changes(&base, &head)?;
    let history = repository.history(&base, &head)?;
    let commit = |function: &FunctionChange| {
        let newest = history.newest(function)?;
        Ok::<_, anyhow::Error>(newest.and_then(|commit| Some((commit.id?, commit.title))))
    };
    let commits = if set.functions.len() > MOST_COMMITS {
        Vec::new()
    } else {
        set.functions.iter().map(commit).collect::<Result<_, _>>()?
    };
    let before = SourceIndex::of(&repository, &base)?;
    let after = SourceIndex::of(&repository, &head)?;
    Ok(SourceSides { set, before, after, commits })
}
