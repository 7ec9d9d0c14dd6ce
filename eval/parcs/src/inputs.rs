//! Inputs as files: fetched, unpacked, listed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::maven::{self, Artifact, Needs};
use crate::programs::{From, Input, Program};
use perfblame_eval_steps::{Work, key, write_whole};

/// An input that is there.
#[derive(Clone, Debug)]
pub struct Ready {
    pub name: &'static str,
    /// A file, or a folder of sources.
    pub path: PathBuf,
    /// Names its source files, a line each.
    pub list: Option<PathBuf>,
}

impl From {
    fn artifact(self) -> Option<Artifact> {
        let (coordinates, classifier) = match self {
            Self::Sources(artifact) => (artifact, Some("sources")),
            Self::Jar(artifact) | Self::Entry(artifact, _) => (artifact, None),
            Self::Ours(..) => return None,
        };
        Some(Artifact { coordinates: coordinates.to_owned(), classifier })
    }

    /// What it is, for the names of steps.
    pub fn identity(self) -> String {
        match self {
            Self::Ours(name, text) => format!("{name} {}", key(&[text.as_bytes()])),
            other => format!("{other:?}"),
        }
    }
}

/// Fetches what the inputs of a program are in.
pub fn prepare(work: &Work, program: &Program) -> Result<Vec<Ready>> {
    program.inputs.iter().map(|input| ready(work, input)).collect()
}

fn ready(work: &Work, input: &Input) -> Result<Ready> {
    let name = input.name;
    if let From::Ours(file, text) = input.from {
        let path = work.place(&["inputs", &key(&[text.as_bytes()]), file])?;
        if !path.is_file() {
            write_whole(&path, text.as_bytes())?;
        }
        return Ok(Ready { name, path, list: None });
    }
    let Some(artifact) = input.from.artifact() else { bail!("{name}: nothing to fetch") };
    let id = artifact.coordinates.replace(':', "-");
    let jars = work.folder(&["inputs", &jar_folder(&artifact)], |folder| {
        maven::fetch(std::slice::from_ref(&artifact), Needs::LeftOut, folder)
    })?;
    let jar = only_jar(&jars)?;
    if let From::Jar(_) = input.from {
        return Ok(Ready { name, path: jar, list: None });
    }
    let kind = artifact.classifier.unwrap_or("jar");
    let unpacked = work.folder(&["inputs", &format!("{id}-{kind}-unpacked")], |folder| {
        let status = Command::new("jar").arg("xf").arg(&jar).current_dir(folder).status();
        let status =
            status.context("jar, which unpacks archives, cannot be started; is a JDK there?")?;
        if !status.success() {
            bail!("{}: jar cannot unpack it", jar.display());
        }
        Ok(())
    })?;
    if let From::Entry(_, entry) = input.from {
        return Ok(Ready { name, path: unpacked.join(entry), list: None });
    }
    let mut files = Vec::new();
    java_files(&unpacked, &mut files)?;
    files.sort();
    let list = work.place(&["inputs", &format!("{id}-{kind}.list")])?;
    let lines: Vec<String> = files.iter().map(|file| format!("{}\n", file.display())).collect();
    write_whole(&list, lines.concat().as_bytes())?;
    Ok(Ready { name, path: unpacked, list: Some(list) })
}

fn jar_folder(artifact: &Artifact) -> String {
    let classifier = artifact.classifier.map_or(String::new(), |name| format!("-{name}"));
    format!("{}{classifier}", artifact.coordinates.replace(':', "-"))
}

fn only_jar(folder: &Path) -> Result<PathBuf> {
    let jars = jars(folder)?;
    jars.into_iter().next().with_context(|| format!("{}: no jar was fetched", folder.display()))
}

/// The jars of a folder in the order of their names.
pub fn jars(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut jars = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "jar") {
            jars.push(path);
        }
    }
    jars.sort();
    Ok(jars)
}

fn java_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let special = path.file_name().is_some_and(|name| name == "module-info.java");
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "java") && !special {
                files.push(path);
            }
        }
    }
    Ok(())
}
