//! The experiment from fetching to figures, one program after the other.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use perfblame_cct::{Side, Sides};
use serde::{Deserialize, Serialize};

use crate::code::{Code, CodeCounts, compare_code};
use crate::compare::{Compared, compare};
use crate::inputs::{Ready, prepare};
use crate::maven::{self, Artifact, Needs};
use crate::programs::Program;
use crate::run::{How, Ran, Release, profile_of, run};
use crate::stored_sides;
use perfblame_eval_steps::{Work, file_key, key};

/// What is done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The exact profiler.
    pub agent: PathBuf,
    /// Runs of the release before and of the release after, with each input. Two after are what the threshold needs.
    pub runs: Sides<usize>,
}

/// All that is known of a program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    pub program: String,
    pub code: CodeCounts,
    pub inputs: Vec<Measurement>,
    /// What failed, in sentences.
    pub failed: Vec<String>,
}

/// A program with one input.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measurement {
    pub input: String,
    pub compared: Compared,
    pub cost: Cost,
}

/// What running took.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// CPU seconds of the release after, plain and profiled (the mean of its runs).
    pub cpu: [f64; 2],
    /// The same on the clock.
    pub wall: [f64; 2],
    /// Profiled runs of the releases before and after.
    #[serde(default, with = "stored_sides")]
    pub runs: Sides<usize>,
    /// Profiled runs of the release after, and those that printed what the plain run printed.
    pub printed: [usize; 2],
}

/// Runs and compares a program with all its inputs. What fails is said and left out.
pub fn measure(
    work: &Work,
    program: &Program,
    plan: &Plan,
    cancel: &AtomicBool,
) -> Result<Measured> {
    let mut measured = Measured { program: program.name.to_owned(), ..Measured::default() };
    let releases = Sides::try_of(|side| release(work, program, side))?;
    let inputs = prepare(work, program)?;
    let own = Sides::try_of(|side| releases[side].own_jars())?;
    let code = compare_code(&own.before, &own.after, program.packages)?;
    measured.code = code.counts.clone();
    for (number, input) in (1..).zip(&inputs) {
        let started = Instant::now();
        let result = measure_input(work, &releases, input, plan, &code, cancel);
        if cancel.load(Ordering::Relaxed) {
            bail!("stopped; the next start continues from here");
        }
        let seconds = started.elapsed().as_secs_f64();
        let place = format!("{} with {} ({number} of {})", program.name, input.name, inputs.len());
        match result {
            Ok(measurement) => {
                let Compared { nodes, staged, .. } = &measurement.compared;
                eprintln!(
                    "{place}: {} and {} contexts, score {:.1}, {seconds:.0} s",
                    nodes.before, nodes.after, staged.score
                );
                measured.inputs.push(measurement);
            }
            Err(error) => {
                eprintln!("{place}: failed after {seconds:.0} s: {error:#}");
                measured.failed.push(format!("with {}: {error:#}", input.name));
            }
        }
    }
    Ok(measured)
}

fn release<'a>(work: &Work, program: &'a Program, side: Side) -> Result<Release<'a>> {
    let version = program.releases[side];
    let class_path = work.folder(&["releases", program.name, version], |folder| {
        eprintln!("fetching {} {version}", program.name);
        let coordinates = format!("{}:{version}", program.artifact);
        maven::fetch(&[Artifact { coordinates, classifier: None }], Needs::Fetched, folder)
    })?;
    Ok(Release { program, version, class_path })
}

fn measure_input(
    work: &Work,
    releases: &Sides<Release<'_>>,
    input: &Ready,
    plan: &Plan,
    code: &Code,
    cancel: &AtomicBool,
) -> Result<Measurement> {
    let run = |side: Side, how: How| run(work, &releases[side], input, how, &plan.agent, cancel);
    let mut runs: Sides<Vec<Ran>> = Sides::default();
    for (side, number) in order(plan.runs) {
        runs[side].push(run(side, How::Exact(number))?);
    }
    let plain = run(Side::After, How::Plain)?;
    let profiles = |side: Side| -> Result<Vec<PathBuf>> {
        runs[side].iter().map(|ran| profile_of(work, &releases[side], input.name, ran)).collect()
    };
    let Sides { before, after } = Sides::try_of(profiles)?;
    let this_program = this_program()?;
    let keys: Vec<&[u8]> = (runs.iter().flatten().map(|ran| ran.key.as_bytes()))
        .chain([this_program.as_bytes()])
        .collect();
    let file = format!("{}-{}.json", input.name, key(&keys));
    let compared = work.step(&["compared", releases.before.program.name, &file], || {
        compare(&before, &after, code)
    })?;
    let mean = |of: fn(&Ran) -> f64| {
        runs.after.iter().map(of).sum::<f64>() / runs.after.len().max(1) as f64
    };
    let same = runs.after.iter().filter(|ran| ran.printed == plain.printed).count();
    let cost = Cost {
        cpu: [plain.cpu, mean(|ran| ran.cpu)],
        wall: [plain.wall, mean(|ran| ran.wall)],
        runs: runs.as_ref().map(Vec::len),
        printed: [runs.after.len(), same],
    };
    Ok(Measurement { input: input.name.to_owned(), compared, cost })
}

/// A B B A: what the machine does meanwhile falls on both.
pub fn order(runs: Sides<usize>) -> Vec<(Side, usize)> {
    let mut order = Vec::new();
    for number in 0..runs.before.max(runs.after) {
        let mut both = Side::BOTH;
        if number % 2 == 1 {
            both.reverse();
        }
        order.extend(
            both.into_iter().filter(|side| number < runs[*side]).map(|side| (side, number + 1)),
        );
    }
    order
}

/// Comparisons are made again when what compares has changed.
fn this_program() -> Result<String> {
    let path = std::env::current_exe().context("where this program is")?;
    file_key(&path)
}

/// Where the measurements of a program are kept, for tables without a new start.
pub fn kept(program: &str) -> [String; 2] {
    ["measured".to_owned(), format!("{program}.json")]
}

/// The agent's jar, built where it is not there.
pub fn agent(named: Option<&Path>) -> Result<PathBuf> {
    use perfblame_record::java_exact::{Places, find_agent};
    if let Ok(found) = find_agent(named, &Places::of_this_process()) {
        return Ok(found);
    }
    eprintln!("building the agent");
    let status = std::process::Command::new("mvn")
        .args(["--quiet", "--batch-mode", "--file", "agents/java/pom.xml", "package"])
        .status()
        .context("mvn, which builds the agent, cannot be started; is Maven installed?")?;
    if !status.success() {
        bail!("the agent cannot be built");
    }
    find_agent(named, &Places::of_this_process())
        .map_err(|none| anyhow::anyhow!("{none}; {}", none.help()))
}
