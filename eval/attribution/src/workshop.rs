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
    /// Another one that stays at the base, so that both can be measured in turns.
    pub base: PathBuf,
    /// What the base prints.
    pub expected: Vec<u8>,
}

impl<'a> Workshop<'a> {
    /// Opens a project's own, at the base, built.
    pub fn open(project: &'a Project, work: &Path) -> Result<Self> {
        let repository = project.repository(work)?;
        let root = work.join(project.name).join("workshop");
        let base = work.join(project.name).join("base");
        for folder in [&root, &base] {
            if !folder.exists() {
                let place = folder.display().to_string();
                git(&repository, &["worktree", "prune"])?;
                git(&repository, &["worktree", "add", "-q", "--detach", &place, BASE])?;
            }
        }
        let mut workshop = Self { project, repository, root, base, expected: Vec::new() };
        workshop.reset()?;
        workshop.build_in(&workshop.base)?;
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
        self.build_in(&self.root)
    }

    fn build_in(&self, folder: &Path) -> Result<()> {
        let Some(build) = self.project.build else { return Ok(()) };
        run(Command::new("sh").current_dir(folder).args(["-c", build])).map(drop)
    }

    /// The program, printing into a file.
    pub fn program(&self) -> Program {
        Program {
            directory: self.root.clone(),
            stdout: Output::File(self.output()),
            stderr: Output::Discard,
            timeout: Some(Duration::from_secs(60)),
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
        cost_of(&self.program())
    }

    /// CPU time of what is built here, in parts of the base's: the least of some runs of each, taken in turns. Other
    /// programs on the machine only ever add.
    pub fn ratio(&self, runs: usize) -> Result<f64> {
        let base = Program { directory: self.base.clone(), ..self.program() };
        let (mut before, mut after) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..runs {
            before = before.min(cost_of(&base)?);
            after = after.min(self.run()?);
        }
        Ok(after / before)
    }

    /// Builds, runs, and compares what is printed with what the base prints; true when all is well.
    pub fn works(&self) -> bool {
        self.build().is_ok()
            && self.run().is_ok()
            && self.printed().is_ok_and(|printed| printed == self.expected)
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

fn cost_of(program: &Program) -> Result<f64> {
    let ran = run_plain(program, &AtomicBool::new(false))?;
    if !ran.status.success() {
        bail!("the program failed: {}", ran.status);
    }
    Ok(ran.cpu.as_secs_f64())
}
