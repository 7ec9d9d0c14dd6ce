//! What compilers do not check, one module per check: documents that name files, files that open with what they are for,
//! samples that say where they come from, formats that are fuzzed, crates that depend on each other, words that users
//! stop at.

mod arrows;
mod fuzz_targets;
mod links;
mod machine_paths;
mod rust_files;
mod samples;
mod words;

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::shell;

/// A file that git knows, or would know.
struct TrackedFile {
    /// From the project's root, with `/` between folders.
    path: String,
    /// None where it is not UTF-8.
    text: Option<String>,
}

/// Says what is wrong with the files, a line each.
type Check = fn(&[TrackedFile]) -> Vec<String>;

const CHECKS: &[Check] = &[
    rust_files::check,
    links::check,
    machine_paths::check,
    samples::check,
    fuzz_targets::check,
    words::check,
    arrows::check,
];

pub fn run() -> Result<()> {
    let files = tracked_files(&shell::project())?;
    let mut findings = Vec::new();
    for check in CHECKS {
        findings.extend(check(&files));
    }
    if findings.is_empty() {
        eprintln!("\n== tidy: {} files are in order", files.len());
        return Ok(());
    }
    bail!("tidy found {}:\n  {}", findings.len(), findings.join("\n  "));
}

/// The files of the git repository at a folder. A git that refuses, and a repository without files, are errors: nothing
/// would be checked.
fn tracked_files(project: &Path) -> Result<Vec<TrackedFile>> {
    let mut git =
        shell::command("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    let output = git.current_dir(project).output().context("cannot start git")?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!("git does not list the files of {}: {why}", project.display());
    }
    let mut files = Vec::new();
    for path in output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let path = String::from_utf8_lossy(path).into_owned();
        // A file that was deleted and is not yet committed is still listed.
        let Ok(bytes) = std::fs::read(project.join(&path)) else { continue };
        files.push(TrackedFile { path, text: String::from_utf8(bytes).ok() });
    }
    if files.is_empty() {
        bail!("git lists no file of {}", project.display());
    }
    Ok(files)
}

/// The files with this extension that are text.
fn texts<'a>(
    files: &'a [TrackedFile],
    extension: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let has = move |path: &str| Path::new(path).extension().is_some_and(|end| end == extension);
    files.iter().filter(move |file| has(&file.path)).filter_map(TrackedFile::as_text)
}

/// The text of one file; empty where it is not, so that whoever looks for something finds nothing in it.
fn text_of<'a>(files: &'a [TrackedFile], path: &str) -> &'a str {
    let found = files.iter().find(|file| file.path == path);
    found.and_then(|file| file.text.as_deref()).unwrap_or_default()
}

impl TrackedFile {
    fn as_text(&self) -> Option<(&str, &str)> {
        Some((&self.path, self.text.as_deref()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own, gone at the end.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("perfblame-tidy-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_git_that_refuses_and_no_files_are_errors() {
        let folder = Folder::new("git");
        // Names a repository that is none, wherever the folder lies.
        std::fs::write(folder.0.join(".git"), "gitdir: nowhere\n").unwrap();
        let refused = tracked_files(&folder.0).err().unwrap().to_string();
        assert!(refused.starts_with("git does not list the files of"), "{refused}");
        std::fs::remove_file(folder.0.join(".git")).unwrap();
        let made = std::process::Command::new("git").args(["init", "-q"]).arg(&folder.0).status();
        assert!(made.unwrap().success());
        let empty = tracked_files(&folder.0).err().unwrap().to_string();
        assert!(empty.starts_with("git lists no file of"), "{empty}");
        std::fs::write(folder.0.join("a b.md"), "text\n").unwrap();
        let files = tracked_files(&folder.0).unwrap();
        assert_eq!(texts(&files, "md").collect::<Vec<_>>(), [("a b.md", "text\n")]);
    }
}
