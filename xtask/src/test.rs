//! The whole test run, in the order in which a mistake costs least.

mod left_out;
mod notes;

use anyhow::Result;

use crate::sandbox::Sandbox;
use crate::{fuzz, setup, shell, tidy};
use notes::Notes;

/// Format, lints, unit tests, tidy checks; needs nothing but Rust and a C compiler.
pub fn unit() -> Result<()> {
    shell::run("cargo", &["fmt", "--all", "--check"])?;
    shell::run("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    tidy::run()?;
    tests(&[])?;
    let count = left_out::end_to_end_tests(&shell::project())?;
    eprintln!("== {count} end-to-end tests were left out: `cargo xtask test` runs them");
    Ok(())
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
    tests(&["--all-features"])?;
    // Front ends can leave out the syntax trees.
    let without = ["-p", "perfblame-changes", "-p", "perfblame-analysis", "--no-default-features"];
    shell::run("cargo", &[&["test", "--lib"][..], &without].concat())?;
    let mut docs = shell::command("cargo", &["doc", "--workspace", "--no-deps"])?;
    docs.env("RUSTDOCFLAGS", "-D warnings");
    shell::run_command(docs)?;
    fuzz::briefly()
}

/// Runs the tests of the workspace, and says what they noted about themselves.
fn tests(options: &[&str]) -> Result<()> {
    let notes = Notes::new()?;
    let sandbox = Sandbox::new()?;
    let mut tests = sandbox.command("cargo", &[&["test", "--workspace"][..], options].concat())?;
    tests.env("PERFBLAME_TEST_NOTES", notes.folder());
    shell::run_command(tests)?;
    match notes.count("without-corpus") {
        0 => {}
        1 => eprintln!("== 1 test ran on the samples only: no corpus"),
        count => eprintln!("== {count} tests ran on the samples only: no corpus"),
    }
    Ok(())
}
