//! Rewrites what tests compare with: snapshots and generated documents. Review the difference as prose.

use anyhow::Result;

use crate::shell;

pub fn run() -> Result<()> {
    let mut tests =
        shell::command("cargo", &["test", "--workspace", "--all-features", "--no-fail-fast"])?;
    tests.env("UPDATE_EXPECT", "1");
    shell::run_command(tests)?;
    shell::run("cargo", &["fmt", "--all"])
}
