//! Many profiles as one: runs of a program beside each other in one tree, and profiles added up.
//!
//! Runs are kept apart, as only their spread tells a difference from noise; they share symbols, threads, metrics and
//! one tree, the union of theirs, so that a context has the same id in all of them. [`merge`] adds up instead, is
//! associative and commutative (up to the order of siblings, which [`dump`](crate::dump()) ignores), and loses
//! nothing: uploads from many hosts can arrive in any order.

use crate::union::{Union, sum};
use crate::{
    Cct, Cells, Info, Metric, MetricId, Profile, RunSetBuilder, Symbols, Thread, Timeline, Warning,
};

/// One profile of a [`RunSet`].
#[derive(Clone, Debug)]
pub struct Run {
    /// What its file says about itself, labels included.
    pub info: Info,
    /// Its self values, over the nodes, threads and metrics of the set.
    pub cells: Cells,
    /// How many samples were taken.
    pub samples: u64,
    /// What one sample stood for in this run, by metric of the set: runs at different rates stay comparable.
    pub periods: Vec<Option<i64>>,
    /// Its samples and calls by time, where they were kept; runs do not share a clock.
    pub timeline: Option<Timeline>,
    /// What went wrong on reading it.
    pub warnings: Vec<Warning>,
}

impl Run {
    /// What the run is labelled with, sorted by key.
    pub fn labels(&self) -> &[(String, String)] {
        &self.info.labels
    }
}

/// Runs over one tree.
#[derive(Clone, Debug, Default)]
pub struct RunSet {
    /// Strings, functions, frames of all runs.
    pub symbols: Symbols,
    /// Threads of all runs; the thread of one name is one thread in all of them.
    pub threads: Vec<Thread>,
    /// Metrics of all runs. The period is the runs' own where they agree.
    pub metrics: Vec<Metric>,
    /// The union of the runs' trees.
    pub tree: Cct,
    /// The runs, in the order they were given.
    pub runs: Vec<Run>,
}

/// Puts profiles beside each other as runs, each with its own values. The tree has the coarsest of their grains.
///
/// Thread ids differ from run to run, so threads of different runs are one when process, group and name are equal; of
/// several such threads in one run, the first by id is the first of the others. Metrics are one when name and unit are
/// equal or the units can be converted.
pub fn merge_runs(profiles: Vec<Profile>) -> RunSet {
    let coarsest = profiles.iter().map(|profile| profile.tree.grain()).min();
    let mut builder = RunSetBuilder::with_grain(coarsest);
    for profile in profiles {
        builder.add(profile);
    }
    builder.finish()
}

/// Adds up two profiles. Threads stay apart unless everything known of them is equal. Times are dropped, as the two
/// need not share a clock, and a warning says so.
pub fn merge(first: &Profile, second: &Profile) -> Profile {
    let both = [first, second];
    let mut union = Union::of(both);
    let mut set = RunSet::default();
    let parts = both.map(|profile| union.add(&mut set, profile, |thread| (thread, 0)));
    let (tree, placement) = union.tree.freeze(union.grain);
    let RunSet { symbols, threads, metrics, .. } = set;
    let cells = [0, 1].map(|row: usize| parts[row].cells(&both[row].cells, &placement, &metrics));
    let dropped = both.iter().filter(|profile| profile.timeline.is_some()).count();
    let warnings = first.warnings.iter().chain(&second.warnings).cloned();
    Profile {
        symbols,
        threads,
        cells: sum(&cells, metrics.len()),
        metrics,
        tree,
        samples: first.samples.saturating_add(second.samples),
        timeline: None,
        info: merge_info(&first.info, &second.info),
        warnings: merge_warnings(warnings.chain(times_dropped(dropped))),
    }
}

impl RunSet {
    /// All runs added up.
    pub fn sum(&self) -> Profile {
        let infos = self.runs.iter().map(|run| run.info.clone());
        let (timeline, dropped) = match &*self.runs {
            [only] => (only.timeline.clone(), 0),
            runs => (None, runs.iter().filter(|run| run.timeline.is_some()).count()),
        };
        let warnings = self.runs.iter().flat_map(|run| &run.warnings).cloned();
        Profile {
            symbols: self.symbols.clone(),
            threads: self.threads.clone(),
            metrics: self.metrics.clone(),
            tree: self.tree.clone(),
            cells: sum(self.runs.iter().map(|run| &run.cells), self.metrics.len()),
            samples: self.runs.iter().fold(0, |sum, run| sum.saturating_add(run.samples)),
            timeline,
            info: infos.reduce(|a, b| merge_info(&a, &b)).unwrap_or_default(),
            warnings: merge_warnings(warnings.chain(times_dropped(dropped))),
        }
    }

    /// One run as a profile of its own, over the tree of the set.
    pub fn profile(&self, run: usize) -> Option<Profile> {
        let run = self.runs.get(run)?;
        let periods = self.metrics.iter().zip(&run.periods);
        Some(Profile {
            symbols: self.symbols.clone(),
            threads: self.threads.clone(),
            metrics: periods
                .map(|(metric, period)| Metric { period: *period, ..metric.clone() })
                .collect(),
            tree: self.tree.clone(),
            cells: run.cells.clone(),
            samples: run.samples,
            timeline: run.timeline.clone(),
            info: run.info.clone(),
            warnings: run.warnings.clone(),
        })
    }

    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<MetricId> {
        self.metrics.iter().position(|metric| metric.name == name).map(MetricId::new)
    }
}

/// What two files say about themselves, together: durations add up, texts that differ stand beside each other, sorted.
/// Each field is merged by an associative and commutative rule.
fn merge_info(first: &Info, second: &Info) -> Info {
    let texts = |first: &Option<String>, second: &Option<String>| match (first, second) {
        (Some(first), Some(second)) => Some(both_texts(first, second)),
        (one, none) => one.as_ref().or(none.as_ref()).cloned(),
    };
    let mut labels: Vec<_> = first.labels.iter().chain(&second.labels).cloned().collect();
    labels.sort();
    labels.dedup();
    Info {
        format: both_texts(&first.format, &second.format),
        producer: texts(&first.producer, &second.producer),
        command: texts(&first.command, &second.command),
        duration: match (first.duration, second.duration) {
            (Some(first), Some(second)) => Some(first.saturating_add(second)),
            (one, none) => one.or(none),
        },
        started: match (first.started, second.started) {
            (Some(first), Some(second)) => Some(first.min(second)),
            (one, none) => one.or(none),
        },
        labels,
    }
}

/// Stands between texts that differ; what it separates is a set, so that merging again changes nothing.
pub(crate) const BESIDE: &str = " + ";

fn both_texts(first: &str, second: &str) -> String {
    if first == second {
        return first.to_owned();
    }
    let mut texts: Vec<_> = first.split(BESIDE).chain(second.split(BESIDE)).collect();
    texts.retain(|text| !text.is_empty());
    texts.sort_unstable();
    texts.dedup();
    texts.join(BESIDE)
}

fn times_dropped(count: usize) -> Option<Warning> {
    (count > 0).then(|| Warning {
        code: "times-dropped".to_owned(),
        message: "times were left out when profiles were added up, because profiles may not share a clock"
            .to_owned(),
        count: count as u64,
    })
}

/// Equal warnings become one, with their counts added up.
pub(crate) fn merge_warnings(warnings: impl Iterator<Item = Warning>) -> Vec<Warning> {
    let mut merged: Vec<Warning> = Vec::new();
    for warning in warnings {
        let alike =
            |known: &&mut Warning| known.code == warning.code && known.message == warning.message;
        match merged.iter_mut().find(alike) {
            Some(known) => known.count = known.count.saturating_add(warning.count),
            None => merged.push(warning),
        }
    }
    merged
}
