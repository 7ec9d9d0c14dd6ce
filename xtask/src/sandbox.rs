//! A machine on which nobody has worked yet, as far as tests can see: an empty temporary folder, an empty home, and on
//! the search path only what `cargo xtask setup` asks for. What works on a used machine only fails here.
//!
//! Where the kernel permits it, a mount namespace covers `/tmp`, `/var/tmp` and the home, also for programs that look
//! there without asking; what is needed below them (the project, the corpus, the target folder, caches of packages)
//! stays where it is. Elsewhere variables point to empty folders. `PERFBLAME_SANDBOX` is `namespace` or `variables` to
//! demand one of them, or `off`. Mounts vanish with the last process that sees them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{setup, shell};

/// Folders with programs of the system itself.
const SYSTEM: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Where nothing lies on most machines; what is kept waits in one of these while its own place is covered.
const STAGES: [&str; 4] = ["/mnt", "/media", "/srv", "/opt"];

/// The script that covers folders, in the sandbox's own folder.
const ENTRY: &str = "enter.sh";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    /// Folders are covered.
    Namespace,
    /// Variables point elsewhere.
    Variables,
    /// Nothing is hidden.
    Off,
}

/// Prepared folders, gone at the end.
pub struct Sandbox {
    level: Level,
    /// Holds an empty home, an empty temporary folder, and links to programs.
    folder: PathBuf,
    places: Places,
}

/// What lies where on this machine.
struct Places {
    home: Option<PathBuf>,
    cargo: Option<PathBuf>,
    rustup: Option<PathBuf>,
    npm: Option<PathBuf>,
    /// Everything that must stay visible.
    kept: Vec<PathBuf>,
}

/// Runs a program as the tests run.
pub fn run(program: &str, arguments: &[&str]) -> Result<()> {
    let sandbox = Sandbox::new()?;
    shell::run_command(sandbox.command(program, arguments)?)
}

impl Sandbox {
    /// Prepares what the machine permits, or what `PERFBLAME_SANDBOX` demands.
    pub fn new() -> Result<Self> {
        let wanted = std::env::var("PERFBLAME_SANDBOX").unwrap_or_default();
        let folder = shell::target()?.join(format!("sandbox-{}", std::process::id()));
        let mut sandbox = Self { level: Level::Off, folder, places: Places::find()? };
        if wanted == "off" {
            eprintln!("\n== tests see this machine as it is: PERFBLAME_SANDBOX=off");
            return Ok(sandbox);
        }
        sandbox.prepare()?;
        sandbox.level = match wanted.as_str() {
            "" | "auto" if sandbox.can_mount() => Level::Namespace,
            "" | "auto" | "variables" => Level::Variables,
            "namespace" if sandbox.can_mount() => Level::Namespace,
            "namespace" => bail!("PERFBLAME_SANDBOX=namespace: this machine permits no mounts"),
            _ => bail!("PERFBLAME_SANDBOX={wanted}: not auto, namespace, variables or off"),
        };
        if sandbox.level == Level::Variables && sandbox.folder.starts_with(shell::project()) {
            // Projects that tests make would be taken for parts of this one.
            std::fs::remove_dir_all(&sandbox.folder)?;
            let name = format!("perfblame-sandbox-{}", std::process::id());
            sandbox.folder = std::env::temp_dir().join(name);
            sandbox.prepare()?;
        }
        let how = if sandbox.level == Level::Namespace { "covered" } else { "by variables alone" };
        eprintln!("\n== tests see an empty home and an empty temporary folder ({how})");
        Ok(sandbox)
    }

    /// A command that sees the empty machine.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Result<Command> {
        let mut command = match self.level {
            Level::Off => return shell::command(program, arguments),
            Level::Variables => shell::command(program, arguments)?,
            Level::Namespace => {
                let mut command = in_namespace(&self.folder.join(ENTRY));
                command.arg(program).args(arguments);
                command
            }
        };
        self.set_variables(&mut command)?;
        Ok(command)
    }

    fn prepare(&self) -> Result<()> {
        for folder in ["home", "tmp", "bin"].map(|name| self.folder.join(name)) {
            std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        // A machine without a free folder has no script, and then variables must do.
        if let Ok(script) = self.script() {
            std::fs::write(self.folder.join(ENTRY), script)?;
        }
        for (name, program) in programs()? {
            let link = self.folder.join("bin").join(name);
            std::os::unix::fs::symlink(&program, &link)
                .with_context(|| format!("{} to {}", link.display(), program.display()))?;
        }
        Ok(())
    }

    fn set_variables(&self, command: &mut Command) -> Result<()> {
        let tools = shell::tools()?;
        let own = [tools.join("bin"), tools.join("node_modules/.bin"), self.folder.join("bin")];
        let path = std::env::join_paths(own.into_iter().chain(SYSTEM.map(PathBuf::from)))?;
        command.env("PATH", path).env("PERFBLAME_TOOLS", tools);
        command.env("CARGO_TARGET_DIR", shell::target()?);
        for name in
            ["TMP", "TEMP", "TMPDIR", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "PERFBLAME_HOME"]
        {
            command.env_remove(name);
        }
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("XDG_") {
                command.env_remove(name);
            }
        }
        let kept = [
            ("CARGO_HOME", &self.places.cargo),
            ("RUSTUP_HOME", &self.places.rustup),
            ("npm_config_cache", &self.places.npm),
        ];
        for (name, folder) in kept {
            if let Some(folder) = folder {
                command.env(name, folder);
            }
        }
        if self.level == Level::Variables {
            command.env("HOME", self.folder.join("home")).env("TMPDIR", self.folder.join("tmp"));
        }
        Ok(())
    }

    /// Whether mounts are permitted, and do what they should.
    fn can_mount(&self) -> bool {
        let mut command = in_namespace(&self.folder.join(ENTRY));
        command.args(["sh", "-c", "test -z \"$(ls -A /tmp)\" || test \"$#\" -gt 0", "sh"]);
        // What is kept may lie below the temporary folder.
        command.args(self.places.kept.iter().filter(|kept| kept.starts_with("/tmp")));
        command.stdin(Stdio::null()).output().is_ok_and(|done| done.status.success())
    }

    /// What the shell does in the namespace before it becomes the program.
    fn script(&self) -> Result<String> {
        let mut hidden = vec![PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
        hidden.extend(self.places.home.clone().filter(|home| home.parent().is_some()));
        let mut kept = self.places.kept.clone();
        kept.push(self.folder.clone());
        let kept = below(&kept, &hidden);
        let stage = STAGES.iter().map(Path::new).find(|stage| {
            stage.is_dir() && kept.iter().chain(&hidden).all(|path| !path.starts_with(stage))
        });
        let stage = stage.context("no folder to keep things in")?;
        Ok(script(stage, &hidden, &kept, &shell::project()))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Programs may have made folders that they may not write to.
        if self.folder.is_dir() && std::fs::remove_dir_all(&self.folder).is_err() {
            let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&self.folder).status();
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

impl Places {
    fn find() -> Result<Self> {
        let set = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let home = set("HOME").and_then(|home| home.canonicalize().ok());
        let in_home =
            |name: &str| home.as_ref().map(|home| home.join(name)).filter(|path| path.exists());
        let cargo = set("CARGO_HOME").or_else(|| in_home(".cargo"));
        let rustup = set("RUSTUP_HOME").or_else(|| in_home(".rustup"));
        let npm = set("npm_config_cache").or_else(|| in_home(".npm"));
        let project = shell::project();
        let shared = project.parent().map(|above| above.join("shared"));
        let mut kept: Vec<PathBuf> =
            [project, shell::target()?, shell::tools()?, sysroot()?].into_iter().collect();
        kept.extend(
            [cargo.clone(), rustup.clone(), npm.clone(), shared, set("PERFBLAME_CORPUS")]
                .into_iter()
                .flatten(),
        );
        // Where packages come from: Maven has its settings beside its cache.
        kept.extend([in_home(".m2"), in_home(".npmrc")].into_iter().flatten());
        kept.extend(git_folder());
        kept.extend(pythons());
        // Links lead where they lead; both ends stay.
        let ends: Vec<PathBuf> = kept.iter().filter_map(|path| path.canonicalize().ok()).collect();
        kept.retain(|path| path.exists());
        kept.extend(ends);
        Ok(Self { home, cargo, rustup, npm, kept })
    }
}

/// The folder of the compiler that is used. The programs of rustup would put what else was ever installed with cargo
/// on the search path.
fn sysroot() -> Result<PathBuf> {
    let output = shell::command("rustc", &["--print", "sysroot"])?.output().context("rustc")?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// The installations that the tools' environments of Python were made of.
fn pythons() -> Vec<PathBuf> {
    let environments = shell::tools().ok().and_then(|tools| std::fs::read_dir(tools).ok());
    let environments = environments.into_iter().flatten().flatten();
    let programs = environments.filter_map(|it| it.path().join("bin/python3").canonicalize().ok());
    programs.filter_map(|program| program.ancestors().nth(2).map(Path::to_owned)).collect()
}

/// The folder of the repository, which lies elsewhere when the project is a work tree.
fn git_folder() -> Option<PathBuf> {
    let arguments = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let output = shell::command("git", &arguments).ok()?.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().into())
}

/// Programs that tests may use and that no folder of the system has: those of Rust, and those that set-up asks for.
fn programs() -> Result<Vec<(OsString, PathBuf)>> {
    let mut programs = Vec::new();
    let rust = sysroot()?.join("bin");
    for entry in std::fs::read_dir(&rust).with_context(|| rust.display().to_string())? {
        let path = entry?.path();
        if let (Some(name), false) =
            (path.file_name(), SYSTEM.iter().any(|own| rust == Path::new(own)))
        {
            programs.push((name.to_owned(), path.clone()));
        }
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let companions = ["java", "javac", "javap", "jcmd", "npx", "ar", "ld", "nm", "strip", "git"];
    let names = setup::debian_programs().chain(companions);
    for name in names.collect::<BTreeSet<_>>() {
        let find = |folders: &mut dyn Iterator<Item = PathBuf>| {
            folders.map(|folder| folder.join(name)).find(|program| program.is_file())
        };
        if find(&mut SYSTEM.iter().map(PathBuf::from)).is_none()
            && let Some(program) = find(&mut std::env::split_paths(&search))
        {
            programs.push((name.into(), program));
        }
    }
    Ok(programs)
}

/// The paths that lie below one of the folders, each with nothing of the list above it.
fn below(paths: &[PathBuf], folders: &[PathBuf]) -> Vec<PathBuf> {
    let inside = paths.iter().filter(|path| folders.iter().any(|folder| path.starts_with(folder)));
    let sorted: BTreeSet<&PathBuf> = inside.collect();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in sorted {
        if !kept.iter().any(|above| path.starts_with(above)) {
            kept.push(path.clone());
        }
    }
    kept
}

fn script(stage: &Path, hidden: &[PathBuf], kept: &[PathBuf], project: &Path) -> String {
    let waits: Vec<PathBuf> = (0..kept.len()).map(|row| stage.join(row.to_string())).collect();
    let mut lines =
        vec!["set -eu".to_owned(), format!("mount -t tmpfs perfblame {}", quoted(stage))];
    let place = |path: &Path, like: &Path| {
        let path = quoted(path);
        if like.is_dir() {
            format!("mkdir -p {path}")
        } else {
            format!("mkdir -p \"$(dirname {path})\"; : > {path}")
        }
    };
    for (path, waits) in kept.iter().zip(&waits) {
        lines.push(place(waits, path));
        lines.push(format!("mount --rbind {} {}", quoted(path), quoted(waits)));
    }
    for folder in hidden {
        let mode = if folder.ends_with("tmp") { "1777" } else { "0700" };
        lines.push(format!("mkdir -p {}", quoted(folder)));
        lines.push(format!("mount -t tmpfs -o mode={mode} perfblame {}", quoted(folder)));
    }
    for (path, waits) in kept.iter().zip(&waits) {
        lines.push(place(path, path));
        lines.push(format!("mount --rbind {} {}", quoted(waits), quoted(path)));
    }
    lines.push(format!("umount --lazy --recursive {}", quoted(stage)));
    lines.push(format!("cd {}", quoted(project)));
    lines.push("exec \"$@\"\n".to_owned());
    lines.join("\n")
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

/// A shell that runs the script in a namespace of its own; arguments that follow are the program. Whoever is not root
/// is it there while mounting, and then is who they were.
fn in_namespace(script: &Path) -> Command {
    let mut command = Command::new("unshare");
    let id = |option: &str| {
        let output = Command::new("id").arg(option).output().ok();
        output.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned()).unwrap_or_default()
    };
    let (user, group) = (id("-u"), id("-g"));
    if user == "0" {
        command.args(["--mount", "sh"]).arg(script);
    } else {
        command.args(["--user", "--map-root-user", "--mount", "sh"]).arg(script);
        command.args(["unshare", "--user"]);
        command.args([format!("--map-user={user}"), format!("--map-group={group}")]);
    }
    command.current_dir(shell::project());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_is_needed_below_a_covered_folder_stays() {
        let hidden = paths(&["/tmp", "/home/me"]);
        let needed = paths(&["/home/me/p/target", "/srv/p", "/home/me/p", "/tmp/c", "/tmpx"]);
        let kept = below(&needed, &hidden);
        assert_eq!(kept, paths(&["/home/me/p", "/tmp/c"]));
        let script = script(Path::new("/mnt"), &hidden, &kept, Path::new("/home/me/it's"));
        let at = |text: &str| script.find(text).unwrap_or_else(|| panic!("{text} in {script}"));
        let saved = at("mount --rbind '/tmp/c' '/mnt/1'");
        let covered = at("mount -t tmpfs -o mode=1777 perfblame '/tmp'");
        let back = at("mount --rbind '/mnt/1' '/tmp/c'");
        assert!(saved < covered && covered < back && back < at("cd '/home/me/it'\\''s'"));
    }

    /// Both ways, as far as this machine permits: the program sees nothing, and leaves nothing.
    #[test]
    fn a_program_sees_an_empty_machine() {
        let number = std::process::id();
        let folder = shell::target().unwrap().join(format!("sandbox-test-{number}"));
        let mut sandbox =
            Sandbox { level: Level::Variables, folder, places: Places::find().unwrap() };
        sandbox.prepare().unwrap();
        let name = format!("perfblame-sandbox-{number}");
        let left = std::env::temp_dir().join(&name);
        std::fs::write(&left, "left over").unwrap();
        let levels = [Level::Variables, Level::Namespace];
        let possible = if sandbox.can_mount() { &levels[..] } else { &levels[..1] };
        for level in possible {
            sandbox.level = *level;
            let look = format!(
                "test ! -e \"${{TMPDIR:-/tmp}}/{name}\" && : > \"${{TMPDIR:-/tmp}}/{name}-made\" && \
                 test ! -e ~/.profile && cargo --version && test -e xtask/src/sandbox.rs"
            );
            let output = sandbox.command("sh", &["-c", &look]).unwrap().output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{level:?}: {said}");
        }
        assert!(left.is_file() && !left.with_file_name(format!("{name}-made")).exists());
        std::fs::remove_file(&left).unwrap();
        let folder = sandbox.folder.clone();
        drop(sandbox);
        assert!(!folder.exists());
    }
}
