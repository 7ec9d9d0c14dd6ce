//! Packages of npm, unpacked once, and the two minifiers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::work;

/// The minifiers, of which each side gets another one.
pub const MINIFIERS: [&str; 2] = ["terser@5.31.0", "esbuild@0.21.5"];

/// The folder of a package's release.
pub fn package(packages: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let path = packages.join(format!("{}-{version}", name.replace(['/', '@'], "_")));
    work::folder(&path, |folder| {
        let spec = format!("{name}@{version}");
        run(folder, "npm", ["pack", "--silent", "--ignore-scripts", &spec])?;
        let packed = std::fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension() == Some(OsStr::new("tgz")))
            .with_context(|| format!("npm packed nothing for {spec}"))?;
        run(folder, "tar", [OsStr::new("xzf"), packed.as_os_str()])?;
        std::fs::remove_file(packed)?;
        Ok(())
    })?;
    Ok(path.join("package"))
}

/// A folder with tools of npm installed in it.
pub fn tools(packages: &Path, name: &str, specs: &[&str]) -> Result<PathBuf> {
    let path = packages.join(name);
    work::folder(&path, |folder| {
        let flags =
            ["install", "--silent", "--no-audit", "--no-fund", "--no-save", "--prefix", "."];
        run(folder, "npm", flags.iter().chain(specs))
    })?;
    Ok(path)
}

/// A folder with packages as they were released in it, and what they depend on.
pub fn installed(packages: &Path, name: &str, specs: &[&str]) -> Result<PathBuf> {
    let path = packages.join(name);
    work::folder(&path, |folder| {
        // Old packages want peers that they do not work with, or run what no longer works.
        let flags =
            ["install", "--silent", "--no-audit", "--no-fund", "--no-save", "--prefix", "."];
        let lenient = ["--legacy-peer-deps", "--ignore-scripts"];
        run(folder, "npm", flags.iter().chain(&lenient).chain(specs))
    })?;
    Ok(path)
}

/// Runs a program to its end.
pub fn run<S: AsRef<OsStr>>(
    folder: &Path,
    program: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Result<()> {
    let output = (Command::new(program).args(arguments).current_dir(folder))
        .output()
        .with_context(|| format!("cannot start {program}; `cargo xtask setup` installs it"))?;
    if !output.status.success() {
        bail!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
