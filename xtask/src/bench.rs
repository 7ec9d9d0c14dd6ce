//! Runs the benches on an otherwise idle machine; the ratios, not the seconds, are the result.

use anyhow::Result;

use crate::{setup, shell};

pub fn run(names: &[&str]) -> Result<()> {
    setup::run()?;
    setup::bench_tools()?;
    shell::run(
        "cargo",
        &["build", "--release", "--package", "perfblame", "--package", "perfblame-benches"],
    )?;
    let arguments =
        [&["run", "--release", "--quiet", "--package", "perfblame-benches", "--"][..], names]
            .concat();
    shell::run("cargo", &arguments)
}
