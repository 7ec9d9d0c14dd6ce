//! What is special about traces of the operating system: what runs already can be traced, and what tracing cost is
//! said.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perfblame_disk::Unfinished;
use perfblame_readers::Input;
use perfblame_readers::perf_data::objects::{self, Object, Role, RunDelay};
use perfblame_readers::perf_data::{Contents, Mapped, contents};
use perfblame_record::{OsEvents, OsTrace, Recorded, Running, origins_of};
use perfblame_words::counted;

use crate::args::{OsEventArg, RecordArgs, WhatArg};
use crate::failure::Failure;

/// Taking a stack costs the thread this much, and as much again for each KiB that is copied: measured in
/// `docs/record-os.md`.
const NANOS_PER_STACK: u64 = 2_000;
const NANOS_PER_KIB: u64 = 500;

impl RecordArgs {
    /// What to trace.
    pub fn os(&self) -> OsTrace {
        let has = |kind| self.events.contains(&kind);
        let events = if self.events.is_empty() {
            OsEvents { syscalls: self.full, ..OsEvents::default() }
        } else {
            OsEvents {
                syscalls: has(OsEventArg::Syscalls),
                sched: has(OsEventArg::Sched),
                cpu: has(OsEventArg::Cpu),
            }
        };
        OsTrace { events, full: self.full, duration: self.duration }
    }

    /// What runs already and is to be traced.
    pub fn running(&self) -> Option<Running> {
        self.pid.map(Running::Process).or(self.all.then_some(Running::All))
    }

    /// Options that say something of traces only.
    pub fn check_os(&self) -> Result<(), Failure> {
        let of_traces = self.pid.is_some()
            || self.all
            || self.duration.is_some()
            || !self.events.is_empty()
            || self.full;
        if self.what == WhatArg::Os || !of_traces {
            return Ok(());
        }
        Err(Failure {
            what: "`--pid`, `--all`, `--duration`, `--events` and `--full` need `record os`"
                .to_owned(),
            why: String::new(),
            help: Some("run `perfblame record os …`".to_owned()),
        })
    }
}

/// Copies of binaries take this much beside the runs of one recording; all of most programs, not of a browser.
const MOST_COPIED: u64 = 256 << 20;

/// Adds to a recording what is known here and now alone: whose code was mapped, which packages brought it, and the
/// binaries themselves, which the next update replaces. Returns what tracing cost and lost, in a sentence each.
pub fn complete(run: &Recorded, with_binaries: bool) -> Vec<String> {
    let Some(path) = run.profiles.first() else { return Vec::new() };
    let Some(contents) = contents_of(path) else { return Vec::new() };
    let mut said = vec![cost(&contents, run.wall, run.tracer_cpu)];
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let delays = run.delays.iter().map(|delay| RunDelay {
        time: signed(delay.time),
        thread: delay.thread.into(),
        nanos: signed(delay.nanos),
    });
    if let Err(error) = objects::append(path, &described(&contents.mapped), delays) {
        said.push(format!("cannot store layers and packages in {}: {error}", path.display()));
    }
    if with_binaries && let Some(folder) = path.parent() {
        match bring(&contents.mapped, &folder.join(objects::FOLDER)) {
            Ok(0) => {}
            Ok(1) => said.push(
                "1 binary is too large to copy; read the runs before this binary changes"
                    .to_owned(),
            ),
            Ok(left) => said.push(format!(
                "{left} binaries are too large to copy; read the runs before these binaries change"
            )),
            Err(error) => said.push(format!("cannot copy binaries next to the runs: {error}")),
        }
    }
    if contents.lost > 0 {
        let all = contents.samples.saturating_add(contents.switches).saturating_add(contents.lost);
        said.push(format!(
            "{} lost ({:.1} % of all), because perf could not keep up; try a lower `--frequency` or no `--full`",
            counted(contents.lost, "event was", "events were"),
            100.0 * contents.lost as f64 / all as f64
        ));
    }
    said
}

fn described(mapped: &[Mapped]) -> Vec<(String, Object)> {
    let files: Vec<PathBuf> = mapped.iter().map(|file| PathBuf::from(&file.path)).collect();
    let rows = mapped.iter().zip(origins_of(&files));
    rows.map(|(file, origin)| {
        let role = match (file.program, origin.needed) {
            (_, true) => Role::Needed,
            (true, false) => Role::Program,
            (false, false) => Role::Loaded,
        };
        let layer = objects::layer_by_role(&file.path, role);
        (file.path.clone(), Object { layer, package: origin.package })
    })
    .collect()
}

/// Copies binaries into a folder, those that are there already left alone. Returns how many were left out.
fn bring(mapped: &[Mapped], folder: &Path) -> std::io::Result<usize> {
    fs::create_dir_all(folder)?;
    let entries = fs::read_dir(folder)?.flatten().filter_map(|entry| entry.metadata().ok());
    let mut total: u64 = entries.map(|data| data.len()).sum();
    let mut left_out = 0;
    for file in mapped {
        let (path, Some(build_id)) = (Path::new(&file.path), &file.build_id) else { continue };
        let to = folder.join(objects::file_name(&file.path, build_id));
        let size = fs::metadata(path).map_or(0, |data| data.len());
        if size > 0 && !to.exists() {
            if total.saturating_add(size) > MOST_COPIED {
                left_out += 1;
                continue;
            }
            total += size;
            let unfinished = Unfinished::beside(&to);
            fs::copy(path, unfinished.path())?;
            unfinished.finish()?;
        }
    }
    Ok(left_out)
}

fn contents_of(path: &Path) -> Option<Contents> {
    contents(Input::open(path).ok()?).ok()
}

fn cost(contents: &Contents, wall: Duration, tracer: Option<Duration>) -> String {
    let stacks = contents.samples.saturating_mul(NANOS_PER_STACK);
    let copied = (contents.copied >> 10).saturating_mul(NANOS_PER_KIB);
    let taken = Duration::from_nanos(stacks.saturating_add(copied));
    let span = contents.span.map_or(wall, |(first, last)| Duration::from_nanos(last - first));
    let share = 100.0 * taken.as_secs_f64() / span.as_secs_f64().max(1e-3);
    let own = tracer.map_or_else(String::new, |own| {
        format!("; perf itself took {} of CPU time", super::time(own))
    });
    format!(
        "perf took {}, which cost the traced threads about {} ({share:.1} % of the recorded time){own}",
        counted(contents.samples, "stack", "stacks"),
        super::time(taken)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_estimated_from_what_was_recorded() {
        let contents = Contents {
            samples: 1000,
            copied: 8 << 20,
            span: Some((5, 1_000_000_005)),
            ..Contents::default()
        };
        assert_eq!(
            cost(&contents, Duration::ZERO, Some(Duration::from_millis(150))),
            "perf took 1,000 stacks, which cost the traced threads about 6 ms (0.6 % of the recorded time); \
             perf itself took 150 ms of CPU time"
        );
    }
}
