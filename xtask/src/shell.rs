//! Running other programs, loudly.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// The root of the project.
pub fn project() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The folder that cargo builds into: that of this program.
pub fn target() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    program.ancestors().nth(2).map(Path::to_owned).context("xtask lies in no target folder")
}

/// Where tools that are not Debian packages are installed: outside the project, shared by its clones.
pub fn tools() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("PERFBLAME_TOOLS") {
        return Ok(PathBuf::from(folder));
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache =
        cache.or_else(home).context("neither PERFBLAME_TOOLS, XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join("perfblame").join("tools"))
}

/// The search path with the tools' folder in front.
pub fn path_with_tools() -> Result<std::ffi::OsString> {
    let tools = tools()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [tools.join("bin"), tools.join("node_modules/.bin")]
        .into_iter()
        .chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(folders)?)
}

/// A command in the project's root that sees the installed tools.
pub fn command(program: &str, arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(project());
    command.env("PATH", path_with_tools()?).env("PERFBLAME_TOOLS", tools()?);
    Ok(command)
}

/// Runs a command, says what and how long, and fails when it fails.
pub fn run(program: &str, arguments: &[&str]) -> Result<()> {
    run_command(command(program, arguments)?)
}

/// Runs a prepared command, says what and how long, and fails when it fails.
pub fn run_command(mut command: Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let shown: Vec<_> =
        command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect();
    eprintln!("\n== {program} {}", shown.join(" "));
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} {} failed: {status}", shown.join(" "));
    }
    eprintln!("== done in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// True when the search path, tools included, has this program.
pub fn has(program: &str) -> Result<bool> {
    Ok(std::env::split_paths(&path_with_tools()?).any(|folder| folder.join(program).is_file()))
}
