//! From a [`Program`] to a command that can be started, and what kind of program it is.
//!
//! The kind is found by looking at what would run: the name of the launcher, the first line of a script, the first
//! bytes of a file, and for shell scripts (`gradlew`, `mvnw`, start scripts of distributions) the interpreter that they
//! end in.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Input, Output, Program, RecordError};

/// What would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// The `java` launcher itself.
    JavaLauncher,
    /// A jar that is not executable: `java -jar` starts it.
    Jar,
    /// A script or build tool that ends in Java.
    JavaWrapper,
    /// A Python interpreter, or a script that names one.
    Python,
    /// The `node` launcher itself.
    NodeLauncher,
    /// A script whose first line names Node.
    NodeScript,
    /// A script or package manager that ends in Node.
    NodeWrapper,
    /// A native program.
    Elf,
    /// A script of another language, or a shell script that ends in none of these.
    Script,
    /// Nothing that is known.
    Unknown,
}

/// A program that was found, with what it is and how that is known.
#[derive(Clone, Debug)]
pub struct Found {
    pub path: PathBuf,
    pub kind: ProgramKind,
    pub because: String,
}

/// Enough of a script to find what it ends in; real ones have some hundred lines.
const SCRIPT_HEAD: u64 = 64 << 10;

/// Finds what a program's command would run.
pub fn find(program: &Program) -> Result<Found, RecordError> {
    let name = program.command.first().ok_or(RecordError::NoCommand)?;
    let path = locate(name, program).ok_or_else(|| RecordError::Start {
        program: name.to_string_lossy().into_owned(),
        source: std::io::Error::new(
            std::io::ErrorKind::NotFound,
            "no such program, neither in this folder nor on the search path",
        ),
    })?;
    let (kind, because) = match seen_through(&path, program) {
        Some(inner) => inner,
        None => kind_of(&path),
    };
    Ok(Found { path, kind, because })
}

/// Programs that do nothing but start another one, named by their further arguments.
const STARTERS: &[&str] = &[
    "env", "nice", "ionice", "taskset", "time", "timeout", "nohup", "stdbuf", "setarch", "numactl",
    "chrt", "sudo", "xvfb-run",
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash"];

/// What a starter or a shell that is given a script starts. Options cannot be put behind the launcher then, so that it
/// counts as wrapped.
fn seen_through(path: &Path, program: &Program) -> Option<(ProgramKind, String)> {
    let name = path.file_name()?.to_str()?;
    let mut rest = program.command.iter().skip(1);
    let inner = if SHELLS.contains(&name) {
        if let Some(at) = rest.clone().position(|word| word == "-c") {
            let text = rest.nth(at + 1)?.to_string_lossy();
            let (kind, line) = ends_in(&text)?;
            return Some((kind, format!("the command has `{line}`")));
        }
        let file = rest.find(|word| !word.as_encoded_bytes().starts_with(b"-"))?;
        let (kind, line) = ends_in(&String::from_utf8_lossy(&head(&program.directory.join(file))))?;
        return Some((kind, format!("{} is a shell script with `{line}`", file.display())));
    } else if STARTERS.contains(&name) {
        let named = |word: &&OsString| {
            let bytes = word.as_encoded_bytes();
            !bytes.starts_with(b"-")
                && !bytes.contains(&b'=')
                && !bytes.iter().all(u8::is_ascii_digit)
        };
        rest.filter(named).find_map(|word| locate(word, program))?
    } else {
        return None;
    };
    let (kind, because) = kind_of(&inner);
    let kind = match kind {
        ProgramKind::JavaLauncher => ProgramKind::JavaWrapper,
        ProgramKind::NodeLauncher | ProgramKind::NodeScript => ProgramKind::NodeWrapper,
        kind => kind,
    };
    // What is no language's is started as it is.
    (!matches!(
        kind,
        ProgramKind::Elf | ProgramKind::Script | ProgramKind::Unknown | ProgramKind::Jar
    ))
    .then_some((kind, because))
}

/// The file a name stands for: a path as seen from the program's folder, or the first of that name on its search path.
pub fn locate(name: &OsStr, program: &Program) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        let path = program.directory.join(name);
        return path.is_file().then(|| absolute(path));
    }
    let set = program.environment.iter().rev().find(|(key, _)| key == "PATH");
    let search = set.map(|(_, value)| value.clone()).or_else(|| std::env::var_os("PATH"))?;
    let candidates = std::env::split_paths(&search).map(|folder| folder.join(name));
    let found =
        candidates.map(|path| program.directory.join(path)).find(|path| is_executable(path));
    // A jar in the folder is named without `./`, as it is for `java -jar`.
    let here = || Some(program.directory.join(name)).filter(|path| is_jar(path));
    found.or_else(here).map(absolute)
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn is_jar(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|end| end.eq_ignore_ascii_case("jar"))
}

fn kind_of(path: &Path) -> (ProgramKind, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let shown = path.display();
    if let Some(kind) = launcher(&name) {
        return (kind, format!("{shown} is a launcher by its name"));
    }
    if matches!(&*name, "gradle" | "gradlew" | "mvn" | "mvnw" | "mvnd" | "sbt" | "ant") {
        return (ProgramKind::JavaWrapper, format!("{name} is a build tool that runs in a JVM"));
    }
    if matches!(&*name, "uv" | "poetry" | "pipenv" | "hatch" | "pdm") {
        return (ProgramKind::Python, format!("{name} starts Python programs"));
    }
    let head = head(path);
    if is_jar(path) && !is_executable(path) {
        return (ProgramKind::Jar, format!("{shown} is a jar"));
    }
    if head.starts_with(b"\x7fELF") {
        return (ProgramKind::Elf, format!("{shown} is a native program"));
    }
    let Some(first_line) =
        head.strip_prefix(b"#!").and_then(|rest| rest.split(|b| *b == b'\n').next())
    else {
        return (ProgramKind::Unknown, format!("{shown} is neither a script nor a native program"));
    };
    let first_line = String::from_utf8_lossy(first_line).trim().to_owned();
    let because = format!("{shown} begins with `#!{first_line}`");
    match interpreter(&first_line).as_deref().map(|name| (launcher(name), name)) {
        Some((Some(ProgramKind::NodeLauncher), _)) => match &*name {
            "npm" | "npx" | "yarn" | "pnpm" => {
                (ProgramKind::NodeWrapper, format!("{name} starts further Node processes"))
            }
            _ => (ProgramKind::NodeScript, because),
        },
        Some((Some(ProgramKind::JavaLauncher), _)) => (ProgramKind::JavaWrapper, because),
        Some((Some(kind), _)) => (kind, because),
        Some((None, shell)) if SHELLS.contains(&shell) => {
            let text = String::from_utf8_lossy(&head);
            match ends_in(&text) {
                Some((kind, line)) => (kind, format!("{shown} is a shell script with `{line}`")),
                None => (ProgramKind::Script, format!("{shown} is a shell script")),
            }
        }
        _ => (ProgramKind::Script, because),
    }
}

/// What a launcher's name tells, whatever version stands behind it.
fn launcher(name: &str) -> Option<ProgramKind> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match bare {
        "java" => Some(ProgramKind::JavaLauncher),
        "node" | "nodejs" => Some(ProgramKind::NodeLauncher),
        "python" | "pypy" => Some(ProgramKind::Python),
        _ => None,
    }
}

/// The interpreter that a first line names, `env` seen through.
fn interpreter(line: &str) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let first = base(words.next()?);
    if first != "env" {
        return Some(first);
    }
    words.find(|word| !word.starts_with('-') && !word.contains('=')).map(base)
}

/// The language of the last line of a shell script that starts an interpreter, with that line.
fn ends_in(script: &str) -> Option<(ProgramKind, String)> {
    let lines = script.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let mut found = None;
    for line in lines {
        let words = line.split(|c: char| c.is_ascii_whitespace() || ";&|()=".contains(c));
        for word in words {
            let word = word.trim_matches(['"', '\'']);
            let base = word.rsplit('/').next().unwrap_or(word);
            let kind = match base {
                "java" | "$JAVACMD" | "${JAVACMD}" | "$JAVA" | "${JAVA}" | "$_RUNJAVA" => {
                    ProgramKind::JavaWrapper
                }
                "node" | "nodejs" | "npm" | "npx" => ProgramKind::NodeWrapper,
                "python" | "python3" | "python2" => ProgramKind::Python,
                _ => continue,
            };
            let mut shown: String = line.chars().take(60).collect();
            if shown.len() < line.len() {
                shown.push('…');
            }
            found = Some((kind, shown));
        }
    }
    found
}

fn head(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    // What cannot be read cannot be told; starting it says why.
    let _ = File::open(path).and_then(|file| file.take(SCRIPT_HEAD).read_to_end(&mut head));
    head
}

/// A command for a program, with its surroundings but without a profiler.
pub fn plain(program: &Program) -> Result<Command, RecordError> {
    let found = find(program)?;
    let words = match found.kind {
        ProgramKind::Jar => [vec!["java".into(), "-jar".into()], program.command.clone()].concat(),
        _ => program.command.clone(),
    };
    with_words(program, &words)
}

/// A command with other words in the program's surroundings.
pub fn with_words(program: &Program, words: &[OsString]) -> Result<Command, RecordError> {
    let (first, rest) = words.split_first().ok_or(RecordError::NoCommand)?;
    // Found by us, since the system looks from our folder and on our search path.
    let path = locate(first, program).unwrap_or_else(|| PathBuf::from(first));
    let mut command = Command::new(&path);
    command.arg0(first).args(rest).current_dir(&program.directory);
    command.envs(program.environment.iter().map(|(key, value)| (key, value)));
    command.stdin(match &program.stdin {
        Input::Empty => Stdio::null(),
        Input::Inherit => Stdio::inherit(),
        Input::File(path) => File::open(path).map_err(RecordError::file("read", path))?.into(),
    });
    command.stdout(stdio(&program.stdout)?);
    command.stderr(stdio(&program.stderr)?);
    Ok(command)
}

fn stdio(output: &Output) -> Result<Stdio, RecordError> {
    Ok(match output {
        Output::Inherit => Stdio::inherit(),
        Output::Discard => Stdio::null(),
        Output::File(path) => File::create(path).map_err(RecordError::file("write", path))?.into(),
    })
}

/// The value a program would see for a variable.
pub fn variable(program: &Program, name: &str) -> Option<OsString> {
    let set = program.environment.iter().rev().find(|(key, _)| key == name);
    set.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
}
