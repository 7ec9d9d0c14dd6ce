//! The projects: real releases, from the registries by the tools that everybody has, as commits of a repository of our
//! own, with a workload on top.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use perfblame_record::Profiler;

use crate::language::Language;

/// A project.
pub struct Project {
    /// Its name; also the folder with its workload.
    pub name: &'static str,
    pub language: Language,
    /// Where releases come from.
    pub registry: Registry,
    /// What it is called there.
    pub package: &'static str,
    /// The releases, oldest first.
    pub releases: &'static [&'static str],
    pub licence: &'static str,
    /// Where its source is, below the root.
    pub sources: &'static str,
    /// Files that are left alone: generated ones.
    pub skip: &'static [&'static str],
    /// Builds it.
    pub build: Option<&'static str>,
    /// Runs it.
    pub run: &'static [&'static str],
    pub profiler: Profiler,
    /// Calls of existing functions without consequences, by the end of the file's name; `step` counts.
    pub calls: &'static [(&'static str, &'static str)],
}

/// Where releases come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Registry {
    Npm,
    PyPi,
    Crates,
    Maven,
}

/// All projects.
pub const PROJECTS: &[Project] = &[
    Project {
        name: "js-yaml",
        language: Language::JavaScript,
        registry: Registry::Npm,
        package: "js-yaml",
        releases: &["4.0.0", "4.1.0"],
        licence: "MIT",
        sources: "lib",
        skip: &[],
        build: None,
        run: &["node", "bench/load.js"],
        profiler: Profiler::NodeCpuProf,
        calls: &[
            ("loader.js", "simpleEscapeSequence(step % 128)"),
            ("loader.js", "charFromCodepoint(step % 60000)"),
            ("dumper.js", "encodeHex(step % 256)"),
            ("dumper.js", "indentString('one\\ntwo', 2)"),
        ],
    },
    Project {
        name: "picomatch",
        language: Language::JavaScript,
        registry: Registry::Npm,
        package: "picomatch",
        releases: &["3.0.1", "4.0.2"],
        licence: "MIT",
        sources: "lib",
        skip: &[],
        build: None,
        run: &["node", "bench/match.js"],
        profiler: Profiler::NodeCpuProf,
        calls: &[
            ("parse.js", "utils.escapeRegex('a.b')"),
            ("parse.js", "utils.removeBackslashes('a\\\\b')"),
            ("picomatch.js", "utils.basename('a/b/c')"),
        ],
    },
    Project {
        name: "mistune",
        language: Language::Python,
        registry: Registry::PyPi,
        package: "mistune",
        releases: &["3.0.1", "3.0.2"],
        licence: "BSD-3-Clause",
        sources: "src/mistune",
        skip: &[],
        build: None,
        run: &["python3", "bench/render.py"],
        profiler: Profiler::PySpy,
        calls: &[
            ("inline_parser.py", "escape_url('/a b')"),
            ("inline_parser.py", "unikey('Some Key')"),
            ("block_parser.py", "expand_tab('a\\tb')"),
            ("block_parser.py", "unikey('Some Key')"),
            ("list_parser.py", "expand_leading_tab('\\ta')"),
            ("html.py", "striptags('<b>a</b>')"),
            ("html.py", "escape_text('a < b')"),
            ("helpers.py", "escape_url('/a b')"),
        ],
    },
    Project {
        name: "cmark-gfm",
        language: Language::C,
        registry: Registry::PyPi,
        package: "cmarkgfm",
        releases: &["2022.10.27", "2024.1.14"],
        licence: "BSD-2-Clause",
        sources: "third_party/cmark",
        skip: &["scanners.c", "main.c", "xml.c", "man.c", "latex.c", "plaintext.c"],
        build: Some("make -s -j2"),
        run: &["./bench/main"],
        profiler: Profiler::Perf,
        calls: &[
            ("inlines.c", "cmark_utf8proc_is_punctuation(0x2000 + (int)step)"),
            ("blocks.c", "cmark_utf8proc_is_punctuation(0x2000 + (int)step)"),
            ("html.c", "cmark_isalnum((char)step)"),
            ("commonmark.c", "cmark_utf8proc_is_space((int)step)"),
            ("render.c", "cmark_utf8proc_is_space((int)step)"),
            ("map.c", "cmark_utf8proc_is_punctuation(0x2000 + (int)step)"),
        ],
    },
    Project {
        name: "regex-lite",
        language: Language::Rust,
        registry: Registry::Crates,
        package: "regex-lite",
        releases: &["0.1.5", "0.1.6"],
        licence: "MIT OR Apache-2.0",
        sources: "src",
        skip: &[],
        build: Some("cargo build --release --offline --quiet"),
        run: &["./target/release/bench"],
        profiler: Profiler::Perf,
        calls: &[(".rs", "crate::utf8::decode_lossy([0xE2u8, 0x82, step as u8]).1")],
    },
    Project {
        name: "commonmark-java",
        language: Language::Java,
        registry: Registry::Maven,
        package: "org.commonmark:commonmark",
        releases: &["0.21.0", "0.22.0"],
        licence: "BSD-2-Clause",
        sources: "org",
        skip: &[],
        build: Some("sh build.sh"),
        run: &[
            "java",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xmx256m",
            "-cp",
            "classes",
            "Render",
        ],
        profiler: Profiler::Jfr,
        calls: &[
            (".java", "org.commonmark.internal.util.Escaping.escapeHtml(\"a < b\").isEmpty()"),
            (
                ".java",
                "org.commonmark.internal.util.Html5Entities.entityToString(\"&amp;\").isEmpty()",
            ),
        ],
    },
];

/// The revision that all cases are made from.
pub const BASE: &str = "base";

impl Project {
    /// Its repository below a folder, made when it is not there.
    pub fn repository(&self, work: &Path) -> Result<PathBuf> {
        let folder = work.join(self.name).join("repository");
        if git(&folder, &["rev-parse", "-q", "--verify", BASE]).is_ok() {
            return Ok(folder);
        }
        let downloads = work.join(self.name).join("downloads");
        std::fs::create_dir_all(&downloads)?;
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        git(&folder, &["init", "-q", "-b", "main"])?;
        for (row, release) in self.releases.iter().enumerate() {
            empty(&folder)?;
            self.unpack(release, &downloads, &folder)?;
            commit(&folder, &format!("{} {release}", self.package), row)?;
        }
        let workload = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects").join(self.name);
        copy(&workload, &folder)?;
        commit(&folder, "Measure with a benchmark", self.releases.len())?;
        git(&folder, &["tag", BASE])?;
        Ok(folder)
    }

    fn unpack(&self, release: &str, downloads: &Path, into: &Path) -> Result<()> {
        let archive = match self.registry {
            Registry::Npm => {
                let wanted = format!("{}@{release}", self.package);
                shell(downloads, "npm", &["pack", "--silent", &wanted])?;
                format!("{}-{release}.tgz", self.package)
            }
            Registry::PyPi => {
                let wanted = format!("{}=={release}", self.package);
                let options = ["-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"];
                shell(downloads, "python3", &[&options[..], &[&wanted]].concat())?;
                format!("{}-{release}.tar.gz", self.package)
            }
            Registry::Crates => return self.vendor(release, downloads, into),
            Registry::Maven => return self.sources_of(release, downloads, into),
        };
        let archive = downloads.join(archive).display().to_string();
        shell(into, "tar", &["xzf", &archive, "--strip-components=1"])?;
        Ok(())
    }

    /// What Maven Central has as the sources of an artifact.
    fn sources_of(&self, release: &str, downloads: &Path, into: &Path) -> Result<()> {
        const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";
        let artifact = format!("-Dartifact={}:{release}:jar:sources", self.package);
        let folder = format!("-DoutputDirectory={}", downloads.display());
        shell(downloads, "mvn", &["--quiet", "--batch-mode", COPY, &artifact, &folder])?;
        let name = self.package.rsplit(':').next().unwrap_or(self.package);
        let archive = downloads.join(format!("{name}-{release}-sources.jar"));
        shell(into, "jar", &["--extract", "--file", &archive.display().to_string()])?;
        Ok(())
    }

    /// A crate's sources, by a package that depends on nothing else.
    fn vendor(&self, release: &str, downloads: &Path, into: &Path) -> Result<()> {
        let manifest = format!(
            "[package]\nname = \"download\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\n\
             [dependencies]\n{} = \"={release}\"\n[workspace]\n",
            self.package
        );
        std::fs::write(downloads.join("Cargo.toml"), manifest)?;
        std::fs::write(downloads.join("lib.rs"), "")?;
        shell(downloads, "cargo", &["vendor", "-q", release])?;
        copy(&downloads.join(release).join(self.package), into)?;
        for left in
            ["Cargo.toml.orig", ".cargo-checksum.json", ".cargo_vcs_info.json", "Cargo.lock"]
        {
            let _ = std::fs::remove_file(into.join(left));
        }
        Ok(())
    }
}

fn empty(folder: &Path) -> Result<()> {
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.ends_with(".git") {
            continue;
        }
        if path.is_dir() {
            std::fs::remove_dir_all(path)?;
        } else {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, into: &Path) -> Result<()> {
    std::fs::create_dir_all(into)?;
    for entry in from.read_dir().with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = into.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Commits all that is there; the same content, the same commit.
pub fn commit(folder: &Path, message: &str, day: usize) -> Result<()> {
    let date = format!("2026-01-{:02}T00:00:00Z", day % 28 + 1);
    git(folder, &["add", "-A"])?;
    let mut command = Command::new("git");
    command.current_dir(folder).args(["commit", "-q", "--allow-empty", "-m", message]);
    command.envs([("GIT_AUTHOR_DATE", &date), ("GIT_COMMITTER_DATE", &date)]);
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "perfblame eval");
        command.env(format!("GIT_{who}_EMAIL"), "eval@perfblame.invalid");
    }
    run(&mut command).map(drop)
}

/// What git says.
pub fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    if !folder.exists() {
        bail!("there is no {}", folder.display());
    }
    run(Command::new("git").current_dir(folder).args(arguments))
}

fn shell(folder: &Path, program: &str, arguments: &[&str]) -> Result<String> {
    run(Command::new(program).current_dir(folder).args(arguments))
}

/// What a command prints; its complaints when it fails.
pub fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
