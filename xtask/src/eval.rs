//! Runs the evaluations: how right are the answers?

use anyhow::Result;

use crate::{setup, shell};

/// Planted slowdowns. Without options all cases are run and the document is rewritten.
pub fn planted(options: &[&str]) -> Result<()> {
    shell::run("cargo", &["build", "--release", "--package", "perfblame"])?;
    let run = ["run", "--release", "--quiet", "--package", "perfblame-eval-planted", "--"];
    let options = if options.is_empty() { &["--out", "docs/accuracy.md"][..] } else { options };
    shell::run("cargo", &[&run[..], options].concat())
}

/// Slowdowns planted into recorded runs. Without options all cases are run and the document is rewritten; `--record`
/// records the runs.
pub fn recorded(options: &[&str]) -> Result<()> {
    if options.iter().any(|option| option.starts_with("--record")) {
        // Every kind of profiler takes part.
        setup::run()?;
        setup::browser()?;
    }
    shell::run("cargo", &["build", "--release", "--package", "perfblame"])?;
    let run = ["run", "--release", "--quiet", "--package", "perfblame-eval-recorded", "--"];
    let document = &["--out", "docs/eval-recorded.md"][..];
    let options = if options.is_empty() { document } else { options };
    shell::run("cargo", &[&run[..], options].concat())
}

/// The experiment of the PARCS paper. Without options all programs are run and the document is rewritten; a start that
/// was interrupted goes on.
pub fn parcs(options: &[&str]) -> Result<()> {
    let run = ["run", "--release", "--quiet", "--package", "perfblame-eval-parcs", "--"];
    let options = if options.is_empty() { &["--out", "docs/eval-parcs.md"][..] } else { options };
    shell::run("cargo", &[&run[..], options].concat())
}

/// Commits with a slowdown in real projects. Without options all are made and checked, and the document is rewritten; a
/// start that was interrupted goes on.
pub fn attribution(options: &[&str]) -> Result<()> {
    shell::run("cargo", &["build", "--release", "--package", "perfblame"])?;
    let run = ["run", "--release", "--quiet", "--package", "perfblame-eval-attribution", "--"];
    let document = &["--out", "docs/eval-attribution.md"][..];
    let options = if options.is_empty() { document } else { options };
    shell::run("cargo", &[&run[..], options].concat())
}

/// The experiments of the IntroPerf paper. Without options all are run and the document is rewritten; a start that was
/// interrupted goes on.
pub fn introperf(options: &[&str]) -> Result<()> {
    shell::run("cargo", &["build", "--release", "--package", "perfblame"])?;
    let run = ["run", "--release", "--quiet", "--package", "perfblame-eval-introperf", "--"];
    let document = &["--out", "docs/eval-introperf.md"][..];
    let options = if options.is_empty() { document } else { options };
    shell::run("cargo", &[&run[..], options].concat())
}

/// The experiment of the ZAM paper. Without options all is recorded and asked, and the document is rewritten; a start that
/// was interrupted goes on.
pub fn zam(options: &[&str]) -> Result<()> {
    setup::browser()?;
    shell::run("cargo", &["build", "--release", "--package", "perfblame"])?;
    let run = ["run", "--release", "--quiet", "--package", "perfblame-eval-zam", "--"];
    let options = if options.is_empty() { &["--out", "docs/eval-zam.md"][..] } else { options };
    shell::run("cargo", &[&run[..], options].concat())
}
