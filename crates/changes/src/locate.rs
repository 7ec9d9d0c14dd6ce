//! From a frame of a profile to the function in the source.
//!
//! Profiles know a file and line, a class and method, or a symbol; each in the spelling of its tool. What is sure is
//! answered as one definition, what is not as several, each with the chance that it is the one.

mod java;
mod path;
mod symbol;

use hashbrown::HashMap;

use crate::compare::FileVersion;
use crate::git::{GitError, Repository, Revision};
use crate::parallel::map_in_order;
use crate::source::{
    FunctionKind, NO_SYNTAX_TREES, SYNTAX_TREES, SourceFile, SourceFunction, source_file,
};
use crate::{Addition, Definition, Language};

use symbol::Symbol;

/// What a profile knows about a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameQuery<'a> {
    /// The function's name; empty when it has none.
    pub function: &'a str,
    /// Class, file, url, shared object or package.
    pub component: Option<&'a str>,
    /// Parameter types: a descriptor of the JVM, or what the tool prints.
    pub signature: Option<&'a str>,
    /// Source file: a path of any machine, a url, or a name alone.
    pub file: Option<&'a str>,
    /// A line in the function, or its first one; counted from 1.
    pub line: Option<u32>,
}

/// A function that a frame may stand for.
#[derive(Clone, PartialEq, Debug)]
pub struct Location {
    /// The function, or the class when the function is one that the compiler made.
    pub definition: Definition,
    /// The chance that it is this one, 0 to 1.
    pub certainty: f64,
    /// What spoke for it.
    pub why: Why,
}

/// What spoke for a definition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// File, line and name agree.
    FileLineAndName,
    /// File and line; the name says nothing or something else.
    FileAndLine,
    /// File and name.
    FileAndName,
    /// Class or module and name.
    FullName,
    /// The name alone.
    NameOnly,
    /// It is inside of this function: a lambda, closure or other part of it.
    Holder,
    /// The compiler made it for this class: default constructor, accessor, static data.
    MadeForType,
    /// It is the code of a whole file.
    WholeFile,
}

impl std::fmt::Display for Why {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::FileLineAndName => "file, line and name agree",
            Self::FileAndLine => "by file and line",
            Self::FileAndName => "by file and name",
            Self::FullName => "by its full name",
            Self::NameOnly => "by its name alone",
            Self::Holder => "the enclosing function",
            Self::MadeForType => "the class that the compiler generated it for",
            Self::WholeFile => "code of the file outside functions",
        })
    }
}

/// The functions of a revision, to be asked by what profiles know.
#[derive(Debug, Default)]
pub struct SourceIndex {
    files: Vec<IndexedFile>,
    /// Files by their last part.
    by_file_name: HashMap<String, Vec<usize>>,
    /// Functions by the last part of their names.
    by_last: HashMap<String, Vec<FunctionRow>>,
    /// Classes by their full names.
    types: HashMap<String, Vec<(usize, usize)>>,
    /// What could not be read.
    pub warnings: Vec<String>,
}

#[derive(Debug)]
struct IndexedFile {
    path: String,
    components: Vec<String>,
    source: SourceFile,
    /// Crate in Rust, import path in Go.
    package: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct FunctionRow {
    file: usize,
    function: usize,
}

impl SourceIndex {
    /// The functions of all source files of a revision.
    pub fn of(repository: &Repository, revision: &Revision) -> Result<Self, GitError> {
        let wanted = |path: &str| {
            Language::of_path(path).is_some()
                || path.ends_with("Cargo.toml")
                || path.ends_with("go.mod")
        };
        Ok(Self::of_files(&repository.texts(revision, wanted)?))
    }

    /// The functions of some files. `Cargo.toml` and `go.mod` among them say how packages are called.
    pub fn of_files(files: &[FileVersion]) -> Self {
        let packages = Packages::of(files);
        let parsed = map_in_order(files, |file| source_file(&file.path, &file.text));
        let mut index = Self::default();
        for (file, source) in files.iter().zip(parsed) {
            let Some(source) = source else { continue };
            if let Some(sentence) = &source.incomplete {
                index.warnings.push(format!("{} is incomplete: {sentence}", file.path));
            }
            let package = packages.of_path(&file.path, source.language);
            index.add(&file.path, source, package);
        }
        if !SYNTAX_TREES && files.iter().any(|file| Language::of_path(&file.path).is_some()) {
            index.warnings.push(NO_SYNTAX_TREES.to_owned());
        }
        index
    }

    fn add(&mut self, path: &str, source: SourceFile, package: Option<String>) {
        let file = self.files.len();
        let components = path::components(path);
        if let Some(name) = components.last() {
            self.by_file_name.entry(name.clone()).or_default().push(file);
        }
        for (function, it) in source.functions.iter().enumerate() {
            let last = symbol::symbol(&it.name).last().to_owned();
            self.by_last.entry(last).or_default().push(FunctionRow { file, function });
        }
        for (row, it) in source.types.iter().enumerate() {
            self.types.entry(it.name.clone()).or_default().push((file, row));
        }
        self.files.push(IndexedFile { path: path.to_owned(), components, source, package });
    }

    /// How many functions it knows.
    pub fn len(&self) -> usize {
        self.files.iter().map(|file| file.source.functions.len()).sum()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The functions that a frame may stand for, most likely first. Empty when it is none of this source; several
    /// when what the profile says does not tell them apart.
    pub fn locate(&self, frame: &FrameQuery) -> Vec<Location> {
        if frame.component.is_some_and(|it| it.starts_with("[kernel")) {
            return Vec::new();
        }
        let asked = symbol::symbol(frame.function);
        let file = frame.file.or(frame.component.filter(|it| path::is_source(it)));
        let (files, only_name) = file.map_or((Vec::new(), false), |file| self.files_of(file));
        let mut found = Vec::new();
        // A name alone is shared by many files: the class says which, and is asked first.
        let class = java::class_and_method(frame);
        if let Some((class, method)) = &class {
            found = self.in_class(class, method, frame);
        }
        let other_class = only_name
            && class.is_some()
            && file.and_then(Language::of_path) == Some(Language::Java);
        if found.is_empty() && !files.is_empty() && !other_class {
            found = self.in_files(&files, &asked, frame);
        }
        if found.is_empty() && files.is_empty() {
            found = self.by_symbol(&asked, frame);
        }
        found.sort_by(|one, other| {
            let by_certainty = other.certainty.total_cmp(&one.certainty);
            by_certainty.then_with(|| one.definition.cmp(&other.definition))
        });
        found.dedup_by(|one, other| one.definition == other.definition);
        found
    }

    /// What costs time in the body of a function that [`SourceIndex::locate`] found.
    pub fn costs(&self, definition: &Definition) -> &[Addition] {
        let path = definition.file.as_deref().unwrap_or_default();
        let name = path::components(path).pop().unwrap_or_default();
        let files = self.by_file_name.get(&name).into_iter().flatten();
        let file = files.map(|row| &self.files[*row]).find(|file| file.path == path);
        let functions = file.map_or(&[][..], |file| &file.source.functions);
        let is_it = |function: &&SourceFunction| {
            Some(function.lines) == definition.lines && function.name == definition.name
        };
        functions.iter().find(is_it).map_or(&[], |function| &function.costs)
    }

    fn function(&self, row: FunctionRow) -> Option<&SourceFunction> {
        self.files.get(row.file)?.source.functions.get(row.function)
    }

    fn location(&self, row: FunctionRow, certainty: f64, why: Why) -> Option<Location> {
        let file = self.files.get(row.file)?;
        let definition = self.function(row)?.definition(Some(&file.path), file.source.language);
        Some(Location { definition, certainty, why })
    }

    /// Equally likely functions.
    fn locations(&self, rows: &[FunctionRow], certainty: f64, why: Why) -> Vec<Location> {
        let each = certainty / rows.len().max(1) as f64;
        rows.iter().filter_map(|row| self.location(*row, each, why)).collect()
    }

    /// Files whose paths end alike, and whether only their names say so.
    fn files_of(&self, path: &str) -> (Vec<usize>, bool) {
        let asked = path::components(path);
        let Some(name) = asked.last() else { return (Vec::new(), false) };
        let Some(rows) = self.by_file_name.get(name) else { return (Vec::new(), false) };
        let shared = |row: &usize| path::shared_end(&asked, &self.files[*row].components);
        let best = rows.iter().map(shared).max().unwrap_or(0);
        let rows: Vec<usize> = rows.iter().copied().filter(|row| shared(row) == best).collect();
        let whole = rows.iter().any(|row| self.files[*row].components.len() == best);
        (rows, best == 1 && !whole)
    }

    fn in_files(&self, files: &[usize], asked: &Symbol, frame: &FrameQuery) -> Vec<Location> {
        let mut found = Vec::new();
        let whole = ["<module>", "(program)"].contains(&frame.function);
        for &file in files {
            let Some(indexed) = self.files.get(file) else { continue };
            let functions = &indexed.source.functions;
            if whole {
                found.push(Self::whole_file(indexed));
                continue;
            }
            let by_line = frame.line.and_then(|line| innermost(functions, line));
            let agrees = |row: usize| {
                functions.get(row).is_some_and(|it| {
                    let own = symbol::symbol(&it.name);
                    own.last() == asked.last() || shared_end(&own.parts, &asked.parts) > 0
                })
            };
            if let Some(function) = by_line {
                let row = FunctionRow { file, function };
                let nameless = asked.parts.is_empty() || is_part(asked.last());
                if agrees(function) {
                    found.extend(self.location(row, 0.99, Why::FileLineAndName));
                    continue;
                }
                // The function around may be meant: its line is one of an inner function.
                let mut holder = functions[function].holder;
                while let Some(row) = holder.filter(|row| !agrees(*row)) {
                    holder = functions[row].holder;
                }
                if let Some(function) = holder.filter(|_| !nameless) {
                    found.extend(self.location(
                        FunctionRow { file, function },
                        0.95,
                        Why::FileLineAndName,
                    ));
                    continue;
                }
                if nameless {
                    found.extend(self.location(row, 0.95, Why::FileAndLine));
                    continue;
                }
            }
            // By name; among several the nearest to the line.
            let mut named: Vec<usize> = (0..functions.len()).filter(|row| agrees(*row)).collect();
            if let Some(line) = frame.line {
                let distance = |row: &usize| {
                    let (first, last) = functions[*row].lines;
                    first.saturating_sub(line).max(line.saturating_sub(last))
                };
                named.sort_by_key(|row| (distance(row), *row));
                named.truncate(1);
            } else {
                let depth = |row: &usize| {
                    shared_end(&symbol::symbol(&functions[*row].name).parts, &asked.parts)
                };
                let best = named.iter().map(depth).max().unwrap_or(0);
                named.retain(|row| depth(row) == best);
            }
            let rows: Vec<FunctionRow> =
                named.iter().map(|it| FunctionRow { file, function: *it }).collect();
            found.extend(self.locations(&rows, 0.85, Why::FileAndName));
            if rows.is_empty()
                && let Some(function) = by_line
            {
                found.extend(self.location(FunctionRow { file, function }, 0.5, Why::FileAndLine));
            }
        }
        share(&mut found, files.len());
        found
    }

    fn whole_file(file: &IndexedFile) -> Location {
        let definition = Definition {
            name: "<module>".to_owned(),
            signature: None,
            file: Some(file.path.clone()),
            lines: Some((1, file.source.lines.max(1))),
            language: file.source.language,
        };
        Location { definition, certainty: 0.95, why: Why::WholeFile }
    }

    /// By symbol, where no file is known.
    fn by_symbol(&self, asked: &Symbol, frame: &FrameQuery) -> Vec<Location> {
        let native = frame.component.is_some_and(|component| {
            component.contains(".so") || component.starts_with('/') || component.contains(".dll")
        });
        let mut asked = asked.clone();
        let mut why = None;
        loop {
            if asked.parts.is_empty() {
                return Vec::new();
            }
            let (rows, whole) = self.best(&asked, native);
            if !rows.is_empty() {
                let (certainty, reason) =
                    if whole { (0.95, Why::FullName) } else { (0.6, Why::NameOnly) };
                let rows = narrowed_by_signature(self, rows, frame);
                let certainty = if why.is_some() { certainty * 0.8 } else { certainty };
                return self.locations(&rows, certainty, why.unwrap_or(reason));
            }
            // A method that the type takes over from its trait.
            if let Some(of_trait) = asked.of_trait.take()
                && let Some(method) = asked.parts.pop()
            {
                asked.parts = vec![of_trait, method];
                continue;
            }
            // A closure is found through what holds it.
            let last = asked.parts.pop().unwrap_or_default();
            let part = is_part(&last) || last == "operator()" || symbol::numbered(&last, "func");
            let number = !last.is_empty() && last.bytes().all(|digit| digit.is_ascii_digit());
            if !part && !number {
                return Vec::new();
            }
            why = Some(Why::Holder);
        }
    }

    /// The functions whose names agree best, and whether the names are whole.
    fn best(&self, asked: &Symbol, native: bool) -> (Vec<FunctionRow>, bool) {
        let Some(rows) = self.by_last.get(asked.last()) else { return (Vec::new(), false) };
        let mut best: (usize, bool) = (0, false);
        let mut found = Vec::new();
        for &row in rows {
            let (Some(file), Some(function)) = (self.files.get(row.file), self.function(row))
            else {
                continue;
            };
            let language = file.source.language;
            let compiled = [Language::Rust, Language::C, Language::Cpp, Language::Go];
            if native && !compiled.contains(&language) {
                continue;
            }
            let own = symbol::symbol(&function.name);
            let shared = shared_end(&own.parts, &asked.parts);
            let traits = match (&own.of_trait, &asked.of_trait) {
                (Some(own), Some(asked)) => own == asked,
                // Old symbols name a trait's method by the type or by the trait.
                (Some(_), None) => shared >= 2,
                (None, Some(_)) => false,
                (None, None) => true,
            };
            // The implementation of a trait stands where it likes; so does that of a type.
            let by_type = language == Language::Rust && shared >= 2;
            let whole = shared == own.parts.len();
            if !traits || !(whole || shared == asked.parts.len() || by_type) {
                continue;
            }
            let in_package = match (&file.package, language) {
                (Some(package), Language::Rust) => asked.parts.first() == Some(package),
                (Some(package), _) => asked.path.as_deref() == Some(package),
                (None, _) => false,
            };
            let enough = whole || by_type;
            let score = (2 * shared + usize::from(in_package), enough);
            match score.cmp(&best) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => found.push(row),
                std::cmp::Ordering::Greater => {
                    best = score;
                    found = vec![row];
                }
            }
        }
        (found, best.1)
    }
}

/// Which packages the files of a repository belong to.
struct Packages {
    /// Folder and name, longest folder first.
    crates: Vec<(String, String)>,
    modules: Vec<(String, String)>,
}

impl Packages {
    fn of(files: &[FileVersion]) -> Self {
        let (mut crates, mut modules) = (Vec::new(), Vec::new());
        for file in files {
            let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
            let text = String::from_utf8_lossy(&file.text);
            match name {
                "Cargo.toml" => {
                    crates.extend(crate_name(&text).map(|name| (folder.to_owned(), name)));
                }
                "go.mod" => {
                    let module = text.lines().find_map(|line| line.trim().strip_prefix("module "));
                    let module = module.map(|it| it.trim().trim_matches('"').to_owned());
                    modules.extend(module.map(|module| (folder.to_owned(), module)));
                }
                _ => {}
            }
        }
        for list in [&mut crates, &mut modules] {
            list.sort_by(|one, other| other.0.len().cmp(&one.0.len()).then(one.cmp(other)));
        }
        Self { crates, modules }
    }

    fn of_path(&self, path: &str, language: Language) -> Option<String> {
        let list = match language {
            Language::Rust => &self.crates,
            Language::Go => &self.modules,
            _ => return None,
        };
        let inside = |folder: &str| match folder {
            "" => Some(path),
            _ => path.strip_prefix(folder)?.strip_prefix('/'),
        };
        let (rest, name) = list.iter().find_map(|(folder, name)| Some((inside(folder)?, name)))?;
        match (language, rest.rsplit_once('/')) {
            (Language::Go, Some((folder, _))) => Some(format!("{name}/{folder}")),
            _ => Some(name.clone()),
        }
    }
}

/// The name under `[package]`, or `[lib]` if that has one, as symbols spell it.
fn crate_name(text: &str) -> Option<String> {
    let mut section = "";
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some((key, value)) = line.split_once('=')
            && key.trim() == "name"
            && (section == "[lib]" || (section == "[package]" && found.is_none()))
        {
            found = Some(value.trim().trim_matches(['"', '\'']).replace('-', "_"));
        }
    }
    found
}

/// Whether a part of a name is no function of its own in the eyes of its writer.
fn is_part(part: &str) -> bool {
    part.starts_with('{')
        || part.starts_with('<') && !["<init>", "<clinit>"].contains(&part)
        || part.starts_with("lambda$")
        || part.starts_with("(anonymous")
}

fn shared_end(one: &[String], other: &[String]) -> usize {
    path::shared_end(one, other)
}

/// The function that is deepest around a line.
fn innermost(functions: &[SourceFunction], line: u32) -> Option<usize> {
    let begun = functions.partition_point(|function| function.from_line <= line);
    let mut row = begun.checked_sub(1);
    // Functions begin in order: the last one that began is inside of all that are open.
    while let Some(at) = row {
        if functions[at].lines.1 >= line {
            return Some(at);
        }
        row = functions[at].holder;
    }
    None
}

/// Several files that fit share what is sure about each.
fn share(found: &mut [Location], files: usize) {
    if files > 1 && found.len() > 1 {
        let count = found.len() as f64;
        for location in found {
            location.certainty /= count;
        }
    }
}

/// Overloads that the signature excludes are left out, if any is left.
fn narrowed_by_signature(
    index: &SourceIndex,
    rows: Vec<FunctionRow>,
    frame: &FrameQuery,
) -> Vec<FunctionRow> {
    // Some tools print parameters with the name.
    let with_name = || frame.function.contains('(').then_some(frame.function);
    let signature = frame.signature.or_else(with_name).filter(|_| rows.len() > 1);
    let Some(signature) = signature else { return rows };
    let plain = |text: &str| -> String {
        let inside = text.split_once('(').map_or(text, |(_, rest)| rest);
        let inside = inside.rsplit_once(')').map_or(inside, |(inside, _)| inside);
        inside.replace(' ', "")
    };
    let asked = plain(signature);
    let same = |row: &FunctionRow| {
        let own = index.function(*row).and_then(|it| it.signature.as_deref());
        own.is_some_and(|own| plain(own) == asked)
    };
    let narrowed: Vec<FunctionRow> = rows.iter().copied().filter(same).collect();
    if narrowed.is_empty() { rows } else { narrowed }
}

#[cfg(all(test, feature = "syntax-trees"))]
mod tests;
