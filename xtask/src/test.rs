//! The whole test run, in the order in which a mistake costs least.

use anyhow::Result;

use crate::{setup, shell, tidy};

/// Format, lints, unit tests, tidy checks; needs nothing but Rust.
pub fn unit() -> Result<()> {
    shell::run("cargo", &["fmt", "--all", "--check"])?;
    shell::run("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    tidy::run()?;
    shell::run("cargo", &["test", "--workspace"])
}

/// Everything CI runs.
pub fn everything() -> Result<()> {
    setup::run()?;
    shell::run("cargo", &["fmt", "--all", "--check"])?;
    shell::run("cargo", &["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])?;
    tidy::run()?;
    let e2e = ["--workspace", "--all-targets", "--all-features"];
    shell::run("cargo", &[&["clippy"][..], &e2e, &["--", "-D", "warnings"]].concat())?;
    // The release binary is what users run, and what the end-to-end tests drive where time matters.
    shell::run("cargo", &["build", "--release"])?;
    shell::run("cargo", &["test", "--workspace", "--all-features"])?;
    let mut docs = shell::command("cargo", &["doc", "--workspace", "--no-deps"])?;
    docs.env("RUSTDOCFLAGS", "-D warnings");
    shell::run_command(docs)?;
    // Fuzz targets must at least build; running them is `cargo xtask fuzz`.
    shell::run("cargo", &["check", "--manifest-path", "fuzz/Cargo.toml"])
}
