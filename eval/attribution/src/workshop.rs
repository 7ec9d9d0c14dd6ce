//! A checkout in which edits are tried: does it build, does it print the same, how much CPU time does it take?

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use perfblame_record::{Output, Program, run_plain};

use crate::functions::{Function, functions};
use crate::project::{BASE, Project, git, run};

/// The checkout.
pub struct Workshop<'a> {
    pub project: &'a Project,
    pub repository: PathBuf,
    pub root: PathBuf,
    /// What the base prints.
    pub expected: Vec<u8>,
}

impl<'a> Workshop<'a> {
    /// Opens a project's own, at the base, built.
    pub fn open(project: &'a Project, work: &Path) -> Result<Self> {
        let repository = project.repository(work)?;
        let root = work.join(project.name).join("workshop");
        if !root.exists() {
            let place = root.display().to_string();
            git(&repository, &["worktree", "prune"])?;
            git(&repository, &["worktree", "add", "-q", "--detach", &place, BASE])?;
        }
        let mut workshop = Self { project, repository, root, expected: Vec::new() };
        workshop.reset()?;
        workshop.build()?;
        workshop.run().context("the base does not run")?;
        workshop.expected = workshop.printed()?;
        Ok(workshop)
    }

    /// Back to the base; what was built stays.
    pub fn reset(&self) -> Result<()> {
        git(&self.root, &["checkout", "-q", "--force", "--detach", BASE])?;
        git(&self.root, &["clean", "-qfd"]).map(drop)
    }

    /// Builds what is there.
    pub fn build(&self) -> Result<()> {
        let Some(build) = self.project.build else { return Ok(()) };
        run(Command::new("sh").current_dir(&self.root).args(["-c", build])).map(drop)
    }

    /// The program, printing into a file.
    pub fn program(&self) -> Program {
        Program {
            directory: self.root.clone(),
            stdout: Output::File(self.output()),
            stderr: Output::Discard,
            timeout: Some(Duration::from_mins(1)),
            ..Program::new(self.project.run)
        }
    }

    fn output(&self) -> PathBuf {
        self.root.with_extension("output")
    }

    /// What the last run printed.
    pub fn printed(&self) -> Result<Vec<u8>> {
        Ok(std::fs::read(self.output())?)
    }

    /// The CPU time of a run.
    pub fn run(&self) -> Result<f64> {
        let ran = run_plain(&self.program(), &AtomicBool::new(false))?;
        if !ran.status.success() {
            bail!("the program failed: {}", ran.status);
        }
        Ok(ran.cpu.as_secs_f64())
    }

    /// The least CPU time of some runs. Other programs on the machine only ever add.
    pub fn cost(&self, runs: usize) -> Result<f64> {
        let mut least = f64::INFINITY;
        for _ in 0..runs {
            least = least.min(self.run()?);
        }
        Ok(least)
    }

    /// Builds, runs, and compares what is printed with what the base prints.
    pub fn works(&self) -> bool {
        let same = || Ok::<bool, anyhow::Error>(self.printed()? == self.expected);
        self.build().is_ok() && self.run().is_ok() && same().unwrap_or(false)
    }

    /// The source files, by path below the root, in their order.
    pub fn files(&self) -> Result<Vec<String>> {
        let listed = git(&self.root, &["ls-files", self.project.sources])?;
        let wanted = |path: &&str| {
            path.ends_with(self.project.language.ending())
                && !self.project.skip.iter().any(|skip| path.ends_with(skip))
        };
        Ok(listed.lines().filter(wanted).map(str::to_owned).collect())
    }

    /// The text of a file.
    pub fn text(&self, file: &str) -> Result<String> {
        std::fs::read_to_string(self.root.join(file)).with_context(|| file.to_owned())
    }

    /// Replaces a file.
    pub fn write(&self, file: &str, text: &str) -> Result<()> {
        Ok(std::fs::write(self.root.join(file), text)?)
    }

    /// The functions of a file.
    pub fn functions(&self, file: &str) -> Result<Vec<Function>> {
        Ok(functions(&self.text(file)?, self.project.language))
    }
}
