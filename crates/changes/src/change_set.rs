//! The one shape in which every comparison of code answers.
//!
//! A change is about a function, since that is what profiles can be held against. What lies outside of functions is
//! kept per file: a changed lock file can be the cause, too.

/// What changed between two revisions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ChangeSet {
    /// Functions, in the order of their files and lines after (before for those that are gone).
    pub functions: Vec<FunctionChange>,
    /// Files that changed outside of functions, or that hold none.
    pub files: Vec<FileChange>,
    /// What could not be read, in sentences that name the file.
    pub warnings: Vec<String>,
}

/// A function that is not what it was.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionChange {
    /// How it changed.
    pub kind: ChangeKind,
    /// The function before; none when it is new.
    pub before: Option<Definition>,
    /// The function after; none when it is gone.
    pub after: Option<Definition>,
    /// For extracted and inlined ones: the function that the body came from or went to.
    pub other: Option<Definition>,
    /// Where the text differs, inside of the function; empty where no text was compared.
    pub hunks: Vec<Hunk>,
    /// What the change brought in that costs time.
    pub additions: Vec<Addition>,
    /// How sure the pairing of before and after is, 0 to 1.
    pub certainty: f64,
}

/// How a function changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Same name, other body.
    Modified,
    /// Other name, same body or nearly.
    Renamed,
    /// Same name, other file or class.
    Moved,
    /// It is new, and its body was part of another function.
    Extracted,
    /// It is gone, and its body is part of another function.
    Inlined,
}

/// A function as the code has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Definition {
    /// Full name with class, module, namespace or receiver, in the language's own spelling.
    pub name: String,
    /// What tells overloads apart: a descriptor or the parameters' types, erased; none where the language has none.
    pub signature: Option<String>,
    /// The file, from the root of the repository, of the folder or of the archive.
    pub file: Option<String>,
    /// First and last line, from 1.
    pub lines: Option<(u32, u32)>,
    /// What it is written in.
    pub language: Language,
}

/// A language whose functions are known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Language {
    /// Java, or another language of the JVM when only class files are seen.
    #[default]
    Java,
    /// JavaScript.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// Rust.
    Rust,
    /// C.
    C,
    /// C++.
    Cpp,
    /// Python.
    Python,
    /// Go.
    Go,
}

/// A stretch of lines that differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Hunk {
    /// First line before; the line above the gap when `old_lines` is 0, as git counts.
    pub old_start: u32,
    /// Number of lines before.
    pub old_lines: u32,
    /// First line after; the line above the gap when `new_lines` is 0.
    pub new_start: u32,
    /// Number of lines after.
    pub new_lines: u32,
}

impl std::fmt::Display for Hunk {
    /// As git prints it: `@@ -110,0 +120,22 @@`.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let part = |start: u32, lines: u32| match lines {
            1 => start.to_string(),
            _ => format!("{start},{lines}"),
        };
        let old = part(self.old_start, self.old_lines);
        let new = part(self.new_start, self.new_lines);
        write!(out, "@@ -{old} +{new} @@")
    }
}

/// Something that costs time and was not there before.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Addition {
    /// A call of this function, as the code spells it.
    Call(String),
    /// A loop.
    Loop,
    /// An allocation.
    Allocation,
    /// A lock.
    Lock,
    /// Something that waits: sleep, input, output.
    Wait,
}

/// A file that changed outside of functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileChange {
    /// Where it is after, or was.
    pub path: String,
    /// What it is for.
    pub kind: FileKind,
    /// Where the text differs; empty for files that are not text, new or gone.
    pub hunks: Vec<Hunk>,
}

/// What a file is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FileKind {
    /// Code outside of functions: constants, types, static data.
    Code,
    /// What the program is built from: manifests and lock files.
    Dependency,
    /// How it is built: compiler options, scripts, tool versions.
    Build,
    /// What it reads when it runs.
    Config,
    /// Anything else.
    Other,
}

#[cfg(test)]
mod tests {
    use super::Hunk;

    #[test]
    fn hunks_read_as_git_prints_them() {
        let hunk = Hunk { old_start: 110, old_lines: 0, new_start: 120, new_lines: 22 };
        assert_eq!(hunk.to_string(), "@@ -110,0 +120,22 @@");
        let hunk = Hunk { old_start: 7, old_lines: 1, new_start: 7, new_lines: 1 };
        assert_eq!(hunk.to_string(), "@@ -7 +7 @@");
    }
}
