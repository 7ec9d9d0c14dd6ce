//! What changed in the code between the two sides of a comparison, wherever that is known from.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use perfblame_cct::Sides;
use perfblame_changes::{
    ChangeSet, ChangedFile, FileVersion, FunctionChange, GitError, History, Repository, Revision,
    SourceIndex, compare_sources,
};
use perfblame_classes::{ClassesError, class_changes};

use crate::ask::{Ask, Cancelled, Phase};
use crate::{ChangedFunction, Code, Diff, DiffError, DiffTree, Findings, Method, attribute};

/// Files beyond this are made by programs, not written.
const MOST_BYTES: u64 = 4 << 20;

/// Folders in which nobody changes code by hand.
const LEFT_OUT: &[&str] = &["node_modules", "target", "__pycache__", "venv"];

/// Beyond this many changed functions, whose commit it was is not looked up.
const MOST_COMMITS: usize = 200;

/// Where the changes of the code are known from.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum CodeSource {
    /// Nobody says.
    #[default]
    Unknown,
    /// Somebody lists them.
    Listed(Vec<ChangedFunction>),
    /// Two Java programs: folders, jars and class files of each.
    Classes(Sides<Vec<PathBuf>>),
    /// Two folders with sources.
    Folders(Sides<PathBuf>),
    /// Two sets of source files in memory.
    Files(Sides<Vec<FileVersion>>),
    /// Two revisions of a git repository.
    Revisions {
        /// The repository, or a folder in it.
        repository: PathBuf,
        /// The revision before; where the main branch was left when not given.
        base: Option<String>,
        /// The revision after; the files as they are when not given.
        head: Option<String>,
    },
}

/// What is known of the code.
#[derive(Debug, Default)]
pub struct CodeChanges {
    /// The changed functions; none when nobody says what changed.
    pub functions: Option<Vec<ChangedFunction>>,
    /// What was wrong with the code, in words.
    pub warnings: Vec<String>,
    /// The sources, where they are known.
    pub sources: Option<ChangedSources>,
}

/// The sources of both sides, and what changed between them.
#[derive(Debug)]
pub struct ChangedSources {
    /// What changed.
    pub changes: ChangeSet,
    /// The functions of each side.
    pub indexes: Sides<SourceIndex>,
    /// The newest commit of each change and its title, as far as they were looked up.
    pub commits: Vec<Option<(String, String)>>,
}

/// Code whose changes cannot be found out.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// A folder or file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Git gave no answer.
    #[error("{0}")]
    Git(#[from] GitError),
    /// Classes cannot be compared.
    #[error("{0}")]
    Classes(#[from] ClassesError),
    /// The method cannot make use of them.
    #[error("{0}")]
    Method(#[from] DiffError),
    /// Nobody wants to know any more.
    #[error("cancelled")]
    Cancelled,
}

impl From<Cancelled> for CodeError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Finds out what changed, for a method that must be able to make use of it.
pub fn code_changes(
    from: &CodeSource,
    method: Method,
    ask: &Ask,
) -> Result<CodeChanges, CodeError> {
    ask.enter(Phase::Code)?;
    if matches!(from, CodeSource::Listed(_) | CodeSource::Classes(_)) {
        method.goes_by_changes_alone()?;
    }
    let sources = match from {
        CodeSource::Unknown => return Ok(CodeChanges::default()),
        CodeSource::Listed(functions) => {
            return Ok(CodeChanges {
                functions: Some(functions.clone()),
                ..CodeChanges::default()
            });
        }
        CodeSource::Classes(paths) => {
            let changes = class_changes(&paths.before, &paths.after)?;
            let functions = changes.functions.iter().map(ChangedFunction::from).collect();
            return Ok(CodeChanges {
                functions: Some(functions),
                warnings: changes.warnings,
                sources: None,
            });
        }
        CodeSource::Folders(folders) => {
            let files = Sides::try_of(|side| files_below(&folders[side], ask))?;
            ChangedSources::of_files(files, ask)?
        }
        CodeSource::Files(files) => ChangedSources::of_files(files.clone(), ask)?,
        CodeSource::Revisions { repository, base, head } => {
            let repository = Repository::open(repository)?;
            let head = match head {
                Some(name) => repository.resolve(name)?,
                None => Revision::WorkingTree,
            };
            let base = match base {
                Some(name) => repository.resolve(name)?,
                None => repository.default_base(&head)?.revision,
            };
            let mut sources = ChangedSources::of_revisions(&repository, &base, &head, ask)?;
            sources.look_up_commits(&repository.history(&base, &head)?, ask)?;
            sources
        }
    };
    Ok(CodeChanges::of_sources(sources))
}

impl CodeChanges {
    /// What changed between sources.
    pub fn of_sources(sources: ChangedSources) -> Self {
        let mut functions: Vec<ChangedFunction> =
            sources.changes.functions.iter().map(ChangedFunction::from).collect();
        for (change, commit) in functions.iter_mut().zip(&sources.commits) {
            change.commit = commit.as_ref().map(|(id, _)| id.clone());
        }
        let warnings = sources.changes.warnings.clone();
        Self { functions: Some(functions), warnings, sources: Some(sources) }
    }
}

impl ChangedSources {
    /// What changed between files of the same paths. Without commits.
    pub fn of_files(files: Sides<Vec<FileVersion>>, ask: &Ask) -> Result<Self, Cancelled> {
        ask.go_on()?;
        let indexes = files.as_ref().map(|files| SourceIndex::of_files(files));
        ask.go_on()?;
        let mut changed: BTreeMap<String, ChangedFile> = BTreeMap::new();
        let Sides { before, after } = files;
        for file in before {
            let row = changed.entry(file.path.clone()).or_default();
            row.before = Some(file);
        }
        for file in after {
            let row = changed.entry(file.path.clone()).or_default();
            row.after = Some(file);
        }
        changed.retain(|_, file| file.before != file.after);
        let changed: Vec<ChangedFile> = changed.into_values().collect();
        let changes = compare_sources(&changed).changes;
        Ok(Self { changes, indexes, commits: Vec::new() })
    }

    /// What changed between two revisions. Without commits, as looking them up takes longest.
    pub fn of_revisions(
        repository: &Repository,
        base: &Revision,
        head: &Revision,
        ask: &Ask,
    ) -> Result<Self, CodeError> {
        ask.go_on()?;
        let changes = repository.changes(base, head)?;
        ask.go_on()?;
        let before = SourceIndex::of(repository, base)?;
        ask.go_on()?;
        let after = SourceIndex::of(repository, head)?;
        Ok(Self { changes, indexes: Sides { before, after }, commits: Vec::new() })
    }

    /// Looks up the newest commit of each change, where the changes are few.
    pub fn look_up_commits(&mut self, history: &History<'_>, ask: &Ask) -> Result<(), CodeError> {
        if self.changes.functions.len() > MOST_COMMITS {
            return Ok(());
        }
        let commit = |change: &FunctionChange| {
            ask.go_on()?;
            Ok(newest_commit(history, change)?)
        };
        self.commits =
            self.changes.functions.iter().map(commit).collect::<Result<_, CodeError>>()?;
        Ok(())
    }

    /// Which of the changes explain which suspect, with the commits that were looked up.
    pub fn findings(&self, diff: &Diff, tree: &DiffTree) -> Findings {
        self.findings_with(diff, tree, &|change| {
            let functions = &self.changes.functions;
            let row = functions.iter().position(|known| std::ptr::eq(known, change))?;
            self.commits.get(row)?.clone()
        })
    }

    /// Which of the changes explain which suspect. `commit` is asked for the commits of those that do.
    pub fn findings_with(
        &self,
        diff: &Diff,
        tree: &DiffTree,
        commit: &dyn Fn(&FunctionChange) -> Option<(String, String)>,
    ) -> Findings {
        let Sides { before, after } = &self.indexes;
        attribute(diff, tree, &Code { changes: &self.changes, before, after, commit })
    }
}

/// The newest commit that touched a changed function, and its title.
pub fn newest_commit(
    history: &History<'_>,
    change: &FunctionChange,
) -> Result<Option<(String, String)>, GitError> {
    let newest = history.newest(change)?;
    Ok(newest.and_then(|commit| Some((commit.id?, commit.title))))
}

/// The files below a folder, hidden ones and what programs made left out.
fn files_below(root: &Path, ask: &Ask) -> Result<Vec<FileVersion>, CodeError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| CodeError::Read { path, source }
    };
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        ask.go_on()?;
        for entry in std::fs::read_dir(&folder).map_err(failed(&folder))? {
            let entry = entry.map_err(failed(&folder))?;
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            // Links could lead round in circles.
            let kind = entry.file_type().map_err(failed(&path))?;
            if name.starts_with('.') || kind.is_symlink() {
                continue;
            }
            if kind.is_dir() {
                if !LEFT_OUT.contains(&&*name) {
                    open.push(path);
                }
                continue;
            }
            let about = entry.metadata().map_err(failed(&path))?;
            if !about.is_file() || about.len() > MOST_BYTES {
                continue;
            }
            let text = std::fs::read(&path).map_err(failed(&path))?;
            let path = path.strip_prefix(root).unwrap_or(&path);
            let path = path.to_string_lossy().replace('\\', "/");
            found.push(FileVersion { path, text });
        }
    }
    Ok(found)
}
