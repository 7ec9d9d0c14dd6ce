//! One run of a release with an input, plain or with the exact profiler.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use perfblame_record::{
    JavaExact, Output, Profiler, Program as Command, Recorded, Settings, record_run, run_plain,
};
use serde::{Deserialize, Serialize};

use crate::inputs::{Ready, jars};
use crate::programs::Program;
use perfblame_eval_steps::{Work, file_key, key};

/// What a run may take; programs at hand take a few seconds.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The same for all. One compiler, since runs of a few seconds on few cores are over before the second has paid off;
/// one collector thread, so that what other programs on the machine do matters less.
const JVM: &[&str] = &[
    "-Xmx2g",
    "-Xss8m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.awt.headless=true",
];

/// How to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Without a profiler, to see what profiling costs.
    Plain,
    /// With every call counted; the number tells runs apart.
    Exact(usize),
}

impl How {
    fn name(self) -> String {
        match self {
            Self::Plain => "plain".to_owned(),
            Self::Exact(number) => format!("exact-{number}"),
        }
    }
}

/// A run that has ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ran {
    pub wall: f64,
    pub cpu: f64,
    pub peak_memory: u64,
    pub exit_code: Option<i32>,
    /// The profile, beside this result.
    pub profile: Option<String>,
    /// Key of what it printed.
    pub printed: String,
    pub notes: Vec<String>,
    /// Names the run in steps that use it.
    pub key: String,
}

/// A release with its class path.
#[derive(Clone, Debug)]
pub struct Release<'a> {
    pub program: &'a Program,
    pub version: &'static str,
    pub class_path: PathBuf,
}

impl Release<'_> {
    /// The program's own jars.
    pub fn own_jars(&self) -> Result<Vec<PathBuf>> {
        let mut own = jars(&self.class_path)?;
        own.retain(|jar| {
            let name = jar.file_name().unwrap_or_default().to_string_lossy();
            self.program.jars.iter().any(|start| name.starts_with(start))
        });
        if own.is_empty() {
            bail!("{}: none of the program's own jars is there", self.class_path.display());
        }
        Ok(own)
    }
}

/// Runs once, or takes the run that is kept.
pub fn run(
    work: &Work,
    release: &Release<'_>,
    input: &Ready,
    how: How,
    agent: &Path,
    cancel: &AtomicBool,
) -> Result<Ran> {
    let program = release.program;
    let identity = program.inputs.iter().find(|known| known.name == input.name);
    let identity = identity.map(|known| known.from.identity()).unwrap_or_default();
    let agent_key = match how {
        How::Plain => String::new(),
        How::Exact(_) => file_key(agent)?,
    };
    let what = format!(
        "{:?} {:?} {:?} {:?} {} {}",
        JVM, program.jvm, program.arguments, program.packages, program.artifact, program.main
    );
    let key = key(&[
        what.as_bytes(),
        release.version.as_bytes(),
        identity.as_bytes(),
        agent_key.as_bytes(),
    ]);
    let name = format!("{}-{key}", how.name());
    let parts = ["runs", program.name, release.version, input.name];
    let folder = work.place(&[&parts[..], &["x"]].concat())?;
    let folder = folder.parent().map(Path::to_owned).unwrap_or_default();
    let file = format!("{name}.json");
    work.step(&[&parts[..], &[&file]].concat(), || {
        let out = folder.join(format!("{name}.out"));
        let _ = std::fs::remove_dir_all(&out);
        std::fs::create_dir_all(&out)?;
        let command = command(release, input, &out);
        let recorded = match how {
            How::Plain => run_plain(&command, cancel),
            How::Exact(_) => {
                // A start that was interrupted may have left one without its result.
                let _ = std::fs::remove_file(folder.join(format!("{name}.perfblame")));
                let packages = program.packages.iter().map(|&name| name.to_owned()).collect();
                let exact = JavaExact { agent: Some(agent.to_owned()), packages };
                let settings = Settings { java_exact: exact, ..Settings::default() };
                record_run(Profiler::JavaExact, &command, &settings, &folder, &name, cancel)
            }
        };
        let recorded = recorded
            .with_context(|| format!("{} {} with {}", program.name, release.version, input.name))?;
        finish(&recorded, release, input, &out, &name, how, &key)
    })
}

fn finish(
    recorded: &Recorded,
    release: &Release<'_>,
    input: &Ready,
    out: &Path,
    name: &str,
    how: How,
    key: &str,
) -> Result<Ran> {
    let program = release.program;
    let exit_code = recorded.status.code();
    let fine = exit_code
        .is_some_and(|code| program.exit_codes.is_empty() || program.exit_codes.contains(&code));
    if !fine {
        let said = std::fs::read_to_string(out.join("stderr")).unwrap_or_default();
        // Java says first what went wrong, after what libraries have to say.
        let told = |line: &&str| line.contains("Exception") || line.contains("rror");
        let mut lines = said.lines();
        let first = lines.find(told).or(said.lines().next()).unwrap_or("it says nothing");
        bail!(
            "{} {} with {} ended with {}: {first}",
            program.name,
            release.version,
            input.name,
            recorded.status
        );
    }
    let profile = recorded.profiles.first().and_then(|path| path.file_name());
    let profile = profile.map(|name| name.to_string_lossy().into_owned());
    if how != How::Plain && profile.is_none() {
        bail!("{} {} with {} left no profile", program.name, release.version, input.name);
    }
    let printed = file_key(&out.join("stdout"))?;
    let _ = std::fs::remove_dir_all(out);
    Ok(Ran {
        wall: recorded.wall.as_secs_f64(),
        cpu: recorded.cpu.as_secs_f64(),
        peak_memory: recorded.peak_memory,
        exit_code,
        profile,
        printed,
        notes: recorded.notes.clone(),
        key: format!("{name}-{key}"),
    })
}

fn command(release: &Release<'_>, input: &Ready, out: &Path) -> Command {
    let program = release.program;
    let mut words = vec!["java".to_owned()];
    words.extend(JVM.iter().chain(program.jvm).map(|&word| word.to_owned()));
    words.extend(["-cp".to_owned(), format!("{}/*", release.class_path.display())]);
    words.push(program.main.to_owned());
    let shown = |path: Option<&Path>| path.map_or(String::new(), |path| path.display().to_string());
    for argument in program.arguments {
        words.push(
            argument
                .replace("{input}", &shown(Some(&input.path)))
                .replace("{list}", &shown(input.list.as_deref()))
                .replace("{out}", &shown(Some(out))),
        );
    }
    Command {
        directory: out.to_owned(),
        stdout: Output::File(out.join("stdout")),
        stderr: Output::File(out.join("stderr")),
        timeout: Some(TIMEOUT),
        ..Command::new(words)
    }
}

/// The profile of a run.
pub fn profile_of(work: &Work, release: &Release<'_>, input: &str, ran: &Ran) -> Result<PathBuf> {
    let name = ran.profile.as_deref().context("a run without a profile")?;
    Ok(work.path(&["runs", release.program.name, release.version, input, name]))
}
