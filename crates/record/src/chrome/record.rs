//! One run: a browser of its own, a page, what is to be done there, and the trace of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use perfblame_words::counted;
use serde_json::json;

use super::flow::{Flow, ReplayOptions, replay};
use super::load::{Rest, clock, load, rest, status};
use super::page::value_of;
use super::tracing::{Interval, Metadata, Recording, Written};
use super::{Browser, ChromeError, Launch, Page, PageSettings, Until};
use crate::RecordError;
use crate::record::scratch;

/// Where the browser comes from.
#[derive(Clone, Debug)]
pub enum Start {
    /// A fresh one.
    Launch(Launch),
    /// One that runs: its address, or where browsers listen usually.
    Attach(Option<String>),
}

/// What is done at a page.
#[derive(Clone, Debug)]
pub enum Task {
    /// Nothing but loading it.
    Load,
    /// JavaScript that runs in it once it is loaded.
    Script {
        /// What it is called in messages.
        name: String,
        /// Its text; `await` may stand anywhere.
        text: String,
    },
    /// Steps that are replayed; they say themselves where they go.
    Flow(Flow),
}

/// A visit to a page, to be repeated.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Where the browser comes from.
    pub start: Start,
    /// How the page is shown and run.
    pub page: PageSettings,
    /// Where it is.
    pub url: String,
    /// What is done there.
    pub task: Task,
    /// Recording begins once the page is loaded.
    pub skip_load: bool,
    /// The texts of scripts are in the trace.
    pub sources: bool,
    /// Microseconds between samples; the browser's own unless given.
    pub sampling_interval: Option<u32>,
    /// A visit that takes longer has failed.
    pub timeout: Duration,
    /// A page that is not at rest so long after it was loaded never will be.
    pub rest_limit: Duration,
    /// Bytes a trace may have before it is packed.
    pub max_size: Option<u64>,
}

impl Visit {
    /// The same at another address, where a flow starts too.
    #[must_use]
    pub fn at(&self, url: &str) -> Self {
        let task = match &self.task {
            Task::Flow(flow) => Task::Flow(flow.clone().starting_at(url)),
            task => task.clone(),
        };
        Self { url: url.to_owned(), task, ..self.clone() }
    }

    /// Where it begins: a flow says so itself.
    pub fn start_url(&self) -> &str {
        match &self.task {
            Task::Flow(flow) => flow.start().unwrap_or(&self.url),
            _ => &self.url,
        }
    }
}

/// A visit and what came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Visited {
    /// The trace, complete; none of a visit that was not recorded.
    pub trace: Option<PathBuf>,
    /// From the start of what was done to the end of the work it made; waiting is in it.
    pub took: Duration,
    /// How much was written.
    pub written: Option<Written>,
    /// The browser's name and version.
    pub browser: String,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

/// Visits a page once and records it as `folder/name.json.gz`, which is complete or not there. No process and no file is
/// left of a visit that failed.
pub fn record_visit(
    visit: &Visit,
    folder: &Path,
    name: &str,
    cancel: &AtomicBool,
) -> Result<Visited, RecordError> {
    let folder = &std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let target = folder.join(format!("{name}.json.gz"));
    if target.symlink_metadata().is_ok() {
        return Err(RecordError::Exists(target));
    }
    let scratch = scratch(folder, name)?;
    let unfinished = scratch.path().join("trace.json.gz");
    let mut visited = run(visit, Some((&unfinished, folder, name)), cancel)?;
    fs::rename(&unfinished, &target).map_err(RecordError::file("write", &target))?;
    visited.trace = Some(target);
    Ok(visited)
}

/// Visits a page once without recording: for warming up, and for what recording costs.
pub fn visit(visit: &Visit, cancel: &AtomicBool) -> Result<Visited, RecordError> {
    Ok(run(visit, None, cancel)?)
}

/// The file to write, and the folder and name of the run, which a screenshot is called after.
type Files<'a> = (&'a Path, &'a Path, &'a str);

fn run(
    visit: &Visit,
    trace: Option<Files<'_>>,
    cancel: &AtomicBool,
) -> Result<Visited, ChromeError> {
    // Starting a browser is not the page's time.
    let patient = Until::after(Duration::MAX, cancel);
    let browser = match &visit.start {
        Start::Launch(launch) => Browser::start(launch, patient)?,
        Start::Attach(address) => {
            Browser::attach(address.as_deref(), patient.at_most(Duration::from_secs(30)))?
        }
    };
    let until = Until::after(visit.timeout, cancel);
    let version = browser.version(until)?;
    let page = browser.open(&visit.page, until)?;
    let mut done = Done { version, ..Done::default() };
    let outcome = drive(visit, &page, trace, &mut done);
    let mut notes = done.notes;
    notes.extend(met(&page));
    match outcome {
        Ok((interval, written)) => Ok(Visited {
            trace: None,
            took: Duration::try_from_secs_f64(interval.done - interval.start).unwrap_or_default(),
            written,
            browser: done.version,
            notes,
        }),
        Err(error) => Err(explained(error, &page, &browser, &notes)),
    }
}

#[derive(Default)]
struct Done {
    version: String,
    notes: Vec<String>,
}

fn drive(
    visit: &Visit,
    page: &Page<'_>,
    trace: Option<Files<'_>>,
    done: &mut Done,
) -> Result<(Interval, Option<Written>), ChromeError> {
    let started = SystemTime::now();
    let record = || {
        trace.map(|_| Recording::start(page, visit.sources, visit.sampling_interval)).transpose()
    };
    let mut recording = None;
    if visit.skip_load {
        note(&load(page, &visit.url, visit.rest_limit)?, done);
        recording = record()?;
    } else if trace.is_some() {
        recording = record()?;
    }
    if let Some(recording) = &recording {
        recording.mark("start")?;
    }
    let start = clock(page)?.now;
    let mut end = start;
    if !visit.skip_load && !matches!(visit.task, Task::Flow(_)) {
        end = note(&load(page, &visit.url, visit.rest_limit)?, done);
    }
    match &visit.task {
        Task::Load => {}
        Task::Script { name, text } => {
            script(page, name, text)?;
            end = note(&rest(page, visit.rest_limit)?, done);
        }
        Task::Flow(flow) => {
            let mut options = ReplayOptions::default();
            // What takes longer by our doing may take longer.
            options.timeout =
                options.timeout.mul_f64(visit.page.cpu_throttle.unwrap_or(1.0).max(1.0));
            options.screenshots = trace.map(|(_, folder, name)| (folder.into(), name.to_owned()));
            done.notes.extend(replay(page, flow, &options)?.notes);
            end = note(&rest(page, visit.rest_limit)?, done);
        }
    }
    let last = clock(page)?.now;
    if let Some(recording) = &recording {
        recording.mark("end")?;
    }
    let interval = Interval { start, end: last, done: end.clamp(start, last) };
    let written = match (recording, trace) {
        (Some(recording), Some((path, ..))) => {
            let metadata = Metadata {
                started,
                url: visit.url.clone(),
                cpu_throttle: visit.page.cpu_throttle,
                interval,
                browser: done.version.clone(),
            };
            let written = recording.finish(path, &metadata, visit.max_size)?;
            if written.lost {
                done.notes.push(
                    "the browser lost a part of the trace, because its buffer was full".to_owned(),
                );
            }
            if written.unplaced > 0 {
                done.notes.push(format!(
                    "the samples of {} are missing, because the trace does not say which",
                    counted(written.unplaced as u64, "thread", "threads")
                ));
            }
            Some(written)
        }
        _ => None,
    };
    // Asked last, as asking runs in the page.
    done.notes.extend(status(page));
    Ok((interval, written))
}

fn note(rest: &Rest, done: &mut Done) -> f64 {
    if let Some(why) = rest.restless {
        let note = format!("the page never became idle: {why}; the recording ends at the limit");
        if !done.notes.contains(&note) {
            done.notes.push(note);
        }
    }
    rest.done
}

/// Runs a script in a page, to the end of what it promises.
fn script(page: &Page<'_>, name: &str, text: &str) -> Result<(), ChromeError> {
    // A name without a folder is taken for a script of the browser's own.
    let folder = if name.contains(['/', '\\']) { "" } else { "./" };
    let asked = json!({
        "expression": format!("{text}\n//# sourceURL={folder}{name}"),
        "awaitPromise": true,
        // So that `await` may stand anywhere.
        "replMode": true,
        "userGesture": true,
    });
    let answer = match page.session().call("Runtime.evaluate", asked) {
        Ok(answer) => answer,
        // A script ends with its page.
        Err(ChromeError::Refused { why, .. }) => {
            let why = format!("the page navigated away before the script was done ({why})");
            return Err(ChromeError::Script { script: name.to_owned(), why });
        }
        Err(ChromeError::TimedOut { after, why, .. }) => {
            return Err(ChromeError::TimedOut { doing: format!("running {name}"), after, why });
        }
        Err(error) => return Err(error),
    };
    value_of(answer, name)?;
    Ok(())
}

/// What a page did that nobody saw.
fn met(page: &Page<'_>) -> Vec<String> {
    let met = page.met();
    let mut notes = Vec::new();
    let counted = |count: u64, one: &str, many: &str| match count {
        1 => format!("1 {one} was"),
        count => format!("{count} {many} were"),
    };
    if met.dialogs > 0 {
        let last: String = met.last_dialog.chars().take(80).collect();
        let counted = counted(met.dialogs, "dialog of the page", "dialogs of the page");
        notes.push(format!("{counted} answered with yes; the last one: {last:?}"));
    }
    if met.downloads > 0 {
        notes.push(format!("{} refused", counted(met.downloads, "download", "downloads")));
    }
    if met.popups > 0 {
        notes.push(format!("{} opened by the page", counted(met.popups, "window", "windows")));
    }
    notes
}

/// Adds to an error what is known of its reasons.
fn explained(
    error: ChromeError,
    page: &Page<'_>,
    browser: &Browser,
    notes: &[String],
) -> ChromeError {
    match error {
        ChromeError::TimedOut { doing, after, why: known } => {
            let known = [known].into_iter().filter(|known| !known.is_empty());
            let mut why: Vec<String> = known.chain(notes.iter().cloned()).collect();
            let cancel = page.session().until().cancel;
            let soon = page.with(Until::after(Duration::from_secs(1), cancel));
            if let Err(ChromeError::TimedOut { .. }) = soon.evaluate("1") {
                why.push("the page no longer responds; it may be in an endless loop".to_owned());
            }
            ChromeError::TimedOut { doing, after, why: why.join("\n") }
        }
        ChromeError::Ended { .. } => ChromeError::Ended { why: browser.last_words() },
        error => error,
    }
}
