//! Records programs again and again, and keeps what comparisons use of each run.
//!
//! The files of profilers stay in a work folder. The project gets one file for each program and condition: perfblame's
//! own, with all runs over one tree as a comparison would load them, and a table with how busy the machine was in each.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use perfblame_analysis::{Ask, DiffQuery, InputOptions, Loaded, expand, load};
use perfblame_cct::{Cells, MetricId, Profile, RunSet, Side, merge_runs};
use perfblame_eval_introperf::programs::fetch;
use perfblame_eval_planted::program::first_metric;
use perfblame_eval_steps::{Work, key, write_whole};
use perfblame_eval_zam::app::{APPS, App};
use perfblame_eval_zam::record::Recorder;
use perfblame_eval_zam::site::{self, Recipe};

use crate::machine::{BUSY, Condition, Load, load_average, wait_until_quiet, waited};
use crate::programs::{How, PROGRAMS, Recorded, preamble};

/// The beginning of the text in the folder of the runs.
const README: &str = "# Recorded runs

`cargo xtask eval recorded --record busy` (or `quiet`) made these files. Each `.perfblame` file holds 20 runs of one program, as `perfblame diff` loads them; `perfblame show FILE` shows them. The `.tsv` file next to it has a row for each run: when it started (seconds since 1970), the load average of the last minute at that time, how long something on the machine waited for a processor during the run, and how long the run took with its profiler. `eval/recorded/src/programs.rs` has the commands, and [eval-recorded.md](../../../docs/eval-recorded.md) says what the runs are for.

All runs are recordings of our own on a virtual machine with two cores. They hold names of functions and measured values, neither code nor data of the programs, and are under the licence of this project.

| file | program | profiler | versions |
|---|---|---|---|
";

/// Runs of each program.
pub const RUNS: usize = 20;

/// How to record.
pub struct Recording {
    pub work: Work,
    pub perfblame: PathBuf,
    /// The jar of the exact profiler for Java.
    pub agent: PathBuf,
    pub condition: Condition,
    /// Where runs are kept.
    pub folder: PathBuf,
}

/// What is known of a run in addition to its profile.
struct RunRow {
    started: u64,
    /// The load average of the last minute, when it started.
    load: f64,
    /// Milliseconds in which something waited for a processor.
    waited: f64,
    /// Milliseconds from start to end, the profiler included.
    took: f64,
}

impl Recording {
    /// Records the programs that are named, or all that have no runs yet.
    pub fn record(&self, named: &[String]) -> Result<()> {
        let unknown = named.iter().find(|name| !PROGRAMS.iter().any(|it| it.name == **name));
        if let Some(name) = unknown {
            bail!("unknown program {name}");
        }
        for program in PROGRAMS {
            let is_kept = self.file(program, "perfblame").exists();
            if if named.is_empty() { is_kept } else { !named.iter().any(|it| it == program.name) } {
                continue;
            }
            self.program(program).with_context(|| program.name.to_owned())?;
            write_whole(&self.folder.join("README.md"), self.readme().as_bytes())?;
        }
        Ok(())
    }

    /// What is in the folder of the runs.
    fn readme(&self) -> String {
        let mut text = String::from(README);
        for program in PROGRAMS {
            for condition in [Condition::Busy, Condition::Quiet] {
                let file = format!("{}/{}", condition.name(), program.name);
                let table = fs::read_to_string(self.folder.join(format!("{file}.tsv")));
                let Ok(table) = table else { continue };
                let version = table.lines().next().unwrap_or_default().trim_start_matches("# ");
                let Recorded { what, profiler, .. } = program;
                let _ = writeln!(text, "| `{file}` | {what} | {profiler} | {version} |");
            }
        }
        text
    }

    fn file(&self, program: &Recorded, extension: &str) -> PathBuf {
        self.folder.join(self.condition.name()).join(format!("{}.{extension}", program.name))
    }

    fn program(&self, program: &Recorded) -> Result<()> {
        let ready = Ready::make(self, program)?;
        if self.condition == Condition::Quiet {
            wait_until_quiet()?;
        }
        // A machine that others keep busy needs no more of it.
        let is_short_of_load = self.condition == Condition::Busy && load_average()? < BUSY;
        let load = if is_short_of_load { Some(Load::start()?) } else { None };
        let (started, load_before) = (Instant::now(), load_average()?);
        let raw = self.work.path(&["runs", self.condition.name(), program.name]);
        if raw.exists() {
            fs::remove_dir_all(&raw)?;
        }
        let mut rows = Vec::new();
        let mut profiles = Vec::new();
        // The first run fills caches that all later ones find full.
        for number in 0..=RUNS {
            let out = raw.join(format!("run-{number:02}"));
            fs::create_dir_all(&out)?;
            let row = run(&ready, &out)?;
            if number > 0 {
                rows.push(row);
                profiles.push(profile(&out)?);
            }
            fs::remove_dir_all(&out)?;
        }
        drop(load);
        let set = kept_metrics(merge_runs(profiles));
        let mut bytes = Vec::new();
        perfblame_file::write_runs(&set, &mut bytes)?;
        let file = self.file(program, "perfblame");
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        write_whole(&file, &bytes)?;
        write_whole(
            &self.file(program, "tsv"),
            table(&ready.version()?, load_before, &rows).as_bytes(),
        )?;
        eprintln!(
            "{} {}: {} runs, {} contexts, {} KB, {:.0} s",
            self.condition.name(),
            program.name,
            set.runs.len(),
            set.tree.len(),
            bytes.len() / 1000,
            started.elapsed().as_secs_f64()
        );
        Ok(())
    }
}

/// Records one run.
fn run(ready: &Ready<'_>, out: &Path) -> Result<RunRow> {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let (load, waited_before, clock) = (load_average()?, waited()?, Instant::now());
    ready.record(out)?;
    let took = clock.elapsed().as_secs_f64() * 1e3;
    Ok(RunRow { started, load, waited: waited()? - waited_before, took })
}

/// A program that can be recorded.
struct Ready<'a> {
    recording: &'a Recording,
    program: &'a Recorded,
    folder: PathBuf,
    app: Option<&'static App>,
}

impl<'a> Ready<'a> {
    fn make(recording: &'a Recording, program: &'a Recorded) -> Result<Self> {
        let work = &recording.work;
        match program.how {
            How::Page(name) => {
                let app = APPS.iter().find(|app| app.name == name).context("no such page")?;
                let packages = work.place(&["packages", "any"])?;
                let packages = packages.parent().unwrap_or(&packages).to_owned();
                let folder = work.place(&["sites", name])?;
                site::make(&packages, &Recipe::plain(app, Side::Before), &folder)?;
                Ok(Self { recording, program, folder, app: Some(app) })
            }
            How::Script { source, files, prepare, .. } => {
                let texts: Vec<&str> = files.iter().map(|(_, text)| *text).collect();
                let made_from = key(&[prepare, &texts.concat()].map(str::as_bytes));
                let parts = ["programs", &format!("{}-{made_from}", program.name)];
                let folder = work.folder(&parts, |folder| {
                    for (name, text) in files {
                        fs::write(folder.join(name), text)?;
                    }
                    let source = source.map(|source| fetch(work, source)).transpose()?;
                    let source = source.map(|source| source.display().to_string());
                    let variables = [("SOURCE", source.unwrap_or_default())];
                    script(prepare, folder, &variables).map(|_| ())
                })?;
                Ok(Self { recording, program, folder, app: None })
            }
        }
    }

    /// Records one run into a folder.
    fn record(&self, out: &Path) -> Result<()> {
        let recording = self.recording;
        if let Some(app) = self.app {
            let recorder = Recorder { perfblame: recording.perfblame.clone() };
            return recorder.record(&self.folder, app.flow, &[], &out.join("run-1.json.gz"));
        }
        let How::Script { record, .. } = self.program.how else { return Ok(()) };
        let variables = [
            ("OUT", out.display().to_string()),
            ("PERFBLAME", recording.perfblame.display().to_string()),
            ("AGENT", recording.agent.display().to_string()),
        ];
        script(record, &self.folder, &variables).map(|_| ())
    }

    /// What ran, in which version.
    fn version(&self) -> Result<String> {
        let text = match (self.app, self.program.how) {
            (Some(app), _) => {
                let page = format!("{} {}", app.package, app.releases.before);
                format!("{page}\n{}", script("chromium --version", &self.folder, &[])?)
            }
            (None, How::Script { version, .. }) => script(version, &self.folder, &[])?,
            (None, How::Page(_)) => String::new(),
        };
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Ok(lines.join("; ").replace("#define ", ""))
    }
}

/// Runs a shell script in a folder; fails with what it said.
fn script(text: &str, folder: &Path, variables: &[(&str, String)]) -> Result<String> {
    let output = Command::new("bash")
        .args(["-eu", "-c", &format!("{}\n{text}", preamble())])
        .current_dir(folder)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()
        .context("cannot start bash")?;
    if !output.status.success() {
        bail!("{text}\n{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The one run in a folder, read as `perfblame diff` reads it.
fn profile(folder: &Path) -> Result<Profile> {
    let sources = expand(&[folder.to_owned()])?;
    let options = DiffQuery::default().load_options(&InputOptions::default());
    let Loaded { runs, .. } = load(&sources, options, &Ask::default())
        .with_context(|| format!("reading {}", folder.display()))?;
    match runs.runs.len() {
        1 => runs.profile(0).context("the run"),
        count => bail!("{}: {count} runs where one was recorded", folder.display()),
    }
}

/// Metrics that comparisons look at next to the one that they compare.
const ALSO_USED: &[&str] = &["samples", "calls"];

/// The runs without metrics that no comparison uses: a flight recording has a dozen.
fn kept_metrics(set: RunSet) -> RunSet {
    let first = first_metric(&set);
    let used = |id: &MetricId| {
        let name = set.metrics[id.index()].name.as_str();
        Some(*id) == first || ALSO_USED.contains(&name) || name.starts_with("wait")
    };
    let kept: Vec<MetricId> = (0..set.metrics.len()).map(MetricId::new).filter(used).collect();
    let mut runs = set.runs.clone();
    for run in &mut runs {
        let has_value =
            |row: &usize| kept.iter().any(|metric| run.cells.column(*metric)[*row] != 0);
        let rows: Vec<usize> = (0..run.cells.len()).filter(has_value).collect();
        let all: Vec<_> = run.cells.keys().collect();
        let keys: Vec<_> = rows.iter().map(|row| all[*row]).collect();
        let column = |metric: &MetricId| {
            let values = run.cells.column(*metric);
            rows.iter().map(|row| values[*row]).collect::<Vec<i64>>()
        };
        let columns: Vec<Vec<i64>> = kept.iter().map(column).collect();
        run.cells = Cells::from_columns(&keys, &columns);
        run.periods = kept.iter().map(|metric| run.periods[metric.index()]).collect();
        run.timeline = None;
    }
    let metrics = kept.iter().map(|metric| set.metrics[metric.index()].clone()).collect();
    let all: Vec<usize> = (0..runs.len()).collect();
    let smaller = RunSet { metrics, runs, ..set }.subset(&all);
    // Merged again, so that names of what is gone go, too.
    merge_runs(all.iter().filter_map(|run| smaller.profile(*run)).collect())
}

fn table(version: &str, load_before: f64, rows: &[RunRow]) -> String {
    let mut text = format!(
        "# {version}\n# load average before the first run: {load_before:.2}\nrun\tstarted\tload\twaited ms\ttook ms\n"
    );
    for (number, row) in (1..).zip(rows) {
        let RunRow { started, load, waited, took } = row;
        let _ = writeln!(text, "{number}\t{started}\t{load:.2}\t{waited:.0}\t{took:.0}");
    }
    text
}
